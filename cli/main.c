#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

static const struct command table[] = {
	{ "run", "", "run in the foreground, log to standard error", cmd_run, true },
	{ "start", "", "start the daemon", cmd_start, true },
	{ "stop", "", "stop the daemon", cmd_stop, false },
	{ "restart", "", "stop and start the daemon", cmd_restart, true },
	{ "status", "[--json]", "what the daemon does and how the link is", cmd_status, false },
	{ "logs", "[-n N] [-f]", "the newest lines of the log", cmd_logs, false },
	{ "login", "[--force] [--base-url URL] [--import DIR]", "connect a WeChat account",
		cmd_login, true },
	{ "logout", "", "forget the WeChat account's credentials", cmd_logout, false },
	{ "doctor", "", "check every layer and say what to do", cmd_doctor, false },
	{ "config", "get|set|unset|list ...", "read and change settings", cmd_config, false },
	{ "ask", "[PROMPT]", "put a task to the agent from the terminal", cmd_ask, true },
	{ "send", "TEXT [--to USER]", "send a text to the phone", cmd_send, false },
	{ "version", "", "print the version", cmd_version, false },
	{ "help", "[COMMAND]", "this list", cmd_help, false },
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
	fprintf(stderr, "usage: kairo [--account NAME] %s%s%s\n", command, c && *c->args ? " " : "",
		c ? c->args : "");
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
		if (str_add(out, (struct view){ buf, (size_t)n }) < 0)
			return err_set(e, E_NOMEM, "standard input");
	}
	return 0;
}

int cmd_version(const struct home *h, int argc, char **argv)
{
	(void)h, (void)argc, (void)argv;
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
	if (argc > 1) {
		const struct command *c = find_command(argv[1]);

		if (!c)
			return say_usage("help", "no such command");
		describe(c, "kairo ");
		return EXIT_DONE;
	}
	puts("Kairo puts an AI agent on this machine behind a WeChat contact.\n\n"
	     "usage: kairo [--account NAME] COMMAND ...\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		describe(&table[i], "  ");
	puts("\nFirst steps: kairo login; kairo config set model.base_url URL;\n"
	     "kairo config set model.name NAME; kairo config set model.api_key --stdin; kairo start");
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
		} else if (a[9] == '\0' && *argc > 2) {
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

int main(int argc, char **argv)
{
	const char *account = NULL;
	struct home h;
	struct err e = ERR_INIT;

	umask(077);
	signal(SIGPIPE, SIG_IGN);
#ifndef KAIRO_TEST_HOOKS
	prctl(PR_SET_DUMPABLE, 0); /* keys are in memory; no core file, no ptrace by siblings */
#endif
	if (take_account(&argc, &argv, &account) < 0)
		return say_usage("help", "--account wants a name");
	if (argc < 2) {
		cmd_help(NULL, 1, argv);
		return EXIT_USAGE;
	}
	const struct command *c = find_command(argv[1]);
	if (!c) {
		fprintf(stderr, "kairo: no command \"");
		print_safe(stderr, view_of(argv[1]));
		fprintf(stderr, "\"; see kairo help\n");
		return EXIT_USAGE;
	}
	if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) {
		describe(c, "kairo ");
		return EXIT_DONE;
	}
	if (home_find(&h, account, c->makes_home, &e) < 0) {
		int code = say_err(&e);
		return e.code == E_FORMAT ? EXIT_USAGE : code;
	}
	return c->run(&h, argc - 1, argv + 1);
}
