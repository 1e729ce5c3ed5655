/* cli/cli.h: what the commands share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

/* Exit codes, as documented in kairo(1). */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_RUNNING = 3,
	EXIT_LOGIN_NEEDED = 4
};

/* Where everything of one account lives. */
struct home {
	char root[PATH_SIZE]; /* $KAIRO_HOME, default ~/.kairo; symlinks resolved */
	char dir[PATH_SIZE];  /* root, or root/accounts/NAME */
	char account[33];     /* "" for the unnamed one */
};

/* Finds and, with create, makes the folders (0700). name: 1..32 of A-Za-z0-9_-, or NULL. Without
 * create a folder that does not exist is no error: dir is then where it would be. */
int home_find(struct home *h, const char *name, bool create, struct err *e);

/* The user's home folder by $HOME, else by the system's list of users; NULL: unknown. */
const char *user_home(void);

enum home_use { HOME_NONE, HOME_FIND, HOME_MAKE };

struct command {
	const char *name;
	const char *args;                                        /* for help: "[-n N] [-f]" */
	const char *help;                                        /* one line */
	int (*run)(const struct home *h, int argc, char **argv); /* argv[0] is the command's name */
	enum home_use home;
	bool own_options; /* looks at them itself; else those in args are all there are */
};

const struct command *commands(size_t *n);

int cmd_run(const struct home *h, int argc, char **argv);
int cmd_start(const struct home *h, int argc, char **argv);
int cmd_stop(const struct home *h, int argc, char **argv);
int cmd_restart(const struct home *h, int argc, char **argv);
int cmd_status(const struct home *h, int argc, char **argv);
int cmd_audit(const struct home *h, int argc, char **argv);
int cmd_hooks(const struct home *h, int argc, char **argv);
int cmd_logs(const struct home *h, int argc, char **argv);
int cmd_login(const struct home *h, int argc, char **argv);
int cmd_logout(const struct home *h, int argc, char **argv);
int cmd_doctor(const struct home *h, int argc, char **argv);
int cmd_config(const struct home *h, int argc, char **argv);
int cmd_ask(const struct home *h, int argc, char **argv);
int cmd_send(const struct home *h, int argc, char **argv);
int cmd_version(const struct home *h, int argc, char **argv);
int cmd_help(const struct home *h, int argc, char **argv);

/* "kairo: MESSAGE" on stderr, safe for a terminal. Returns EXIT_FAILED, or what the code means
 * (E_AUTH: EXIT_LOGIN_NEEDED). */
int say_err(const struct err *e);
int say_usage(const char *command, const char *what); /* returns EXIT_USAGE */
/* Untrusted text to a stream, made safe for a terminal. */
void print_safe(FILE *f, struct view v);
/* All of standard input, at most max bytes. */
int read_stdin(size_t max, struct str *out, struct err *e);
/* One line from the terminal that is standard input, not shown. E_CANCELLED: Ctrl-C, or nothing. */
int read_hidden(const char *prompt, size_t max, struct str *out, struct err *e);

#endif
