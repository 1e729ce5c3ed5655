#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

static const struct command table[] = {
	{ "run", "", "run in the foreground, log to standard error", cmd_run, HOME_MAKE, true },
	{ "start", "", "start the daemon", cmd_start, HOME_MAKE, false },
	{ "stop", "", "stop the daemon", cmd_stop, HOME_FIND, false },
	{ "restart", "", "stop and start the daemon", cmd_restart, HOME_MAKE, false },
	{ "status", "[--json]", "what the daemon does and how the link is", cmd_status, HOME_FIND,
		false },
	{ "logs", "[-n N] [-f]", "the newest lines of the log", cmd_logs, HOME_FIND, true },
	{ "audit", "[-n N] [--json]", "what tools were asked, decided and done", cmd_audit,
		HOME_FIND, true },
	{ "login", "[--force] [--base-url URL] [--import DIR]", "connect a WeChat account",
		cmd_login, HOME_MAKE, true },
	{ "logout", "", "forget the WeChat account's credentials", cmd_logout, HOME_FIND, false },
	{ "doctor", "[--engine]", "check every layer and say what to do", cmd_doctor, HOME_FIND,
		false },
	{ "config", "[list] | get KEY | set KEY VALUE | set KEY --stdin | unset KEY",
		"read and change settings", cmd_config, HOME_FIND, false },
	{ "hooks", "[status|install|remove]", "the plugin that tells of Kimi's background work",
		cmd_hooks, HOME_FIND, false },
	{ "ask", "[PROMPT]", "put a task to the agent from the terminal", cmd_ask, HOME_MAKE,
		false },
	{ "send", "[--file PATH]... [TEXT] [--to USER]", "send a text or files to the phone",
		cmd_send, HOME_FIND, true },
	{ "version", "", "print the version", cmd_version, HOME_NONE, false },
	{ "help", "[COMMAND]", "this list", cmd_help, HOME_NONE, false },
};

const struct command *commands(size_t *n)
{
	*n = sizeof(table) / sizeof(table[0]);
	return table;
}

static const struct command *find_command(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

void print_safe(FILE *f, struct view v)
{
	struct str s = STR_INIT((size_t)64 << 20);

	if (text_safe(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, &s) == 0)
		fwrite(str_cstr(&s), 1, s.n, f);
	str_release(&s);
}

int say_err(const struct err *e)
{
	fputs("kairo: ", stderr);
	print_safe(stderr, view_of(e->msg));
	fputc('\n', stderr);
	return e->code == E_AUTH ? EXIT_LOGIN_NEEDED : EXIT_FAILED;
}

int say_usage(const char *command, const char *what)
{
	const struct command *c = find_command(command);

	if (what)
		fprintf(stderr, "kairo: %s\n", what);
	fprintf(stderr, "usage: kairo [--account NAME] %s%s%s\n", c ? c->name : "COMMAND",
		!c || *c->args ? " " : "", c ? c->args : "...");
	return EXIT_USAGE;
}

int read_stdin(size_t max, struct str *out, struct err *e)
{
	char buf[8192];
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "standard input");
		if (out->n + (size_t)n > max)
			return err_set(e, E_FORMAT, "standard input is longer than %zu bytes", max);
		int rc = str_add(out, (struct view){ buf, (size_t)n });
		explicit_bzero(buf, (size_t)n); /* it may be a secret */
		if (rc < 0)
			return err_set(e, E_NOMEM, "standard input");
	}
	return 0;
}

static int unknown_command(const char *name)
{
	fputs("kairo: no command \"", stderr);
	print_safe(stderr, view_of(name));
	fputs("\"; see kairo help\n", stderr);
	return EXIT_USAGE;
}

int cmd_version(const struct home *h, int argc, char **argv)
{
	(void)h, (void)argv;
	if (argc > 1)
		return say_usage("version", "version takes no arguments");
	puts("kairo " KAIRO_VERSION);
	return EXIT_DONE;
}

static void describe(const struct command *c, const char *indent)
{
	printf("%s%s%s%s\n", indent, c->name, *c->args ? " " : "", c->args);
	printf("        %s\n", c->help);
}

int cmd_help(const struct home *h, int argc, char **argv)
{
	(void)h;
	if (argc > 2)
		return say_usage("help", "help takes the name of one command");
	if (argc > 1) {
		const struct command *c = find_command(argv[1]);

		if (!c)
			return unknown_command(argv[1]);
		describe(c, "kairo ");
		return EXIT_DONE;
	}
	puts("Kairo puts an AI agent on this machine behind a WeChat contact.\n\n"
	     "usage: kairo [--account NAME] COMMAND ...\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		describe(&table[i], "  ");
	puts("\nFirst steps: kairo login; kairo config set model.provider NAME (as kimi, deepseek);\n"
	     "kairo config set model.api_key --stdin; kairo start");
	return EXIT_DONE;
}

/* --account NAME or --account=NAME before the command. */
static int take_account(int *argc, char ***argv, const char **account)
{
	while (*argc > 1 && !strncmp((*argv)[1], "--account", 9)) {
		char *a = (*argv)[1];
		int used = 1;

		if (a[9] == '=') {
			*account = a + 10;
		} else if (a[9] != '\0') {
			return 0; /* another word */
		} else if (*argc > 2) {
			*account = (*argv)[2];
			used = 2;
		} else {
			return -1;
		}
		*argc -= used;
		*argv += used;
	}
	return 0;
}

static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] && !strpbrk(arg, " \t\n");
}

/* Is it one of those in the command's usage? */
static bool has_option(const struct command *c, const char *arg)
{
	char shown[32];

	return snprintf(shown, sizeof(shown), "[%s]", arg) < (int)sizeof(shown) &&
	       strstr(c->args, shown);
}

/* What stands behind the command's name up to the first word: 0, or 1 where there is nothing more
 * to do, and *code. "--" is taken out for commands that do not do it themselves. */
static int look_at_options(const struct command *c, int *argc, char **argv, int *code)
{
	int i;

	for (i = 1; i < *argc && is_option(argv[i]); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			describe(c, "kairo ");
			*code = EXIT_DONE;
			return 1;
		}
		if (!strcmp(argv[i], "--"))
			break;
		if (!c->own_options && !has_option(c, argv[i])) {
			fputs("kairo: no option \"", stderr);
			print_safe(stderr, view_of(argv[i]));
			fputs("\"; a word that begins with - stands behind --\n", stderr);
			*code = say_usage(c->name, NULL);
			return 1;
		}
	}
	if (i < *argc && !c->own_options && !strcmp(argv[i], "--"))
		memmove(&argv[i], &argv[i + 1], (size_t)((*argc)-- - i) * sizeof(*argv));
	return 0;
}

/* A descriptor of ours must never become what is taken for standard output or standard error. */
static int fill_std_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

/* What was printed must have arrived; that nobody read it to the end is no news to anybody. */
static int finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE)
		return code;
	fputs("kairo: the output could not be written\n", stderr);
	return code == EXIT_DONE ? EXIT_FAILED : code;
}

/* What a busy daemon has open at once, with room for its guests. */
#define FILES_MIN  64
#define FILES_WANT 1024

static int allow_files(struct err *e)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= FILES_WANT)
		return 0;
	r.rlim_cur = r.rlim_max < FILES_WANT ? r.rlim_max : FILES_WANT;
	if (r.rlim_cur >= FILES_MIN && setrlimit(RLIMIT_NOFILE, &r) == 0)
		return 0;
	return err_set(e, E_FULL,
		"only %llu files may be open at once here, %d are needed: raise the limit (ulimit -Hn)",
		(unsigned long long)r.rlim_max, FILES_MIN);
}

/* What a message says to type is meant for this account, and would else be done to another one. */
static int remind(const struct home *h, int code)
{
	if (h->account[0] && code != EXIT_DONE && code != EXIT_USAGE)
		fprintf(stderr, "kairo: each command for this account takes --account %s\n",
			h->account);
	return code;
}

static int run(int argc, char **argv)
{
	static char program[] = "kairo";
	const char *account = NULL;
	struct home h = { .account = "" };
	struct err e = ERR_INIT;
	int code = EXIT_DONE;

	if (take_account(&argc, &argv, &account) < 0)
		return say_usage("", "--account wants a name");
	if (argc < 2) {
		cmd_help(NULL, 1, argv);
		return EXIT_USAGE;
	}
	const struct command *c = find_command(argv[1]);
	if (!c)
		return unknown_command(argv[1]);
	argc--;
	argv++;
	/* Behind the command's name it is heard as well. */
	if (take_account(&argc, &argv, &account) < 0)
		return say_usage(c->name, "--account wants a name");
	argv[0] = program; /* getopt's complaints begin with it */
	if (look_at_options(c, &argc, argv, &code))
		return code;
	if (c->home != HOME_NONE && allow_files(&e) < 0)
		return say_err(&e);
	if (c->home != HOME_NONE && home_find(&h, account, c->home == HOME_MAKE, &e) < 0) {
		code = say_err(&e);
		return e.code == E_FORMAT ? EXIT_USAGE : code;
	}
	return remind(&h, c->run(&h, argc, argv));
}

int main(int argc, char **argv)
{
	if (fill_std_fds() < 0)
		return EXIT_FAILED;
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take away how children ended */
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is to us like a full disk */
#ifndef KAIRO_TEST_HOOKS
	prctl(PR_SET_DUMPABLE, 0); /* keys are in memory; no core file, no ptrace by siblings */
#endif
	return finish(run(argc, argv));
}
