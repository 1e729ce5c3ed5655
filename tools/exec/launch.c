#include "tools/exec/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/exec/fence.h"
#include "tools/exec/namespace.h"
#include "tools/exec/serve.h"
#include "tools/exec/supervise.h"

#define EXIT_USAGE   2
#define EXIT_NO_CAGE 126
#define EXIT_NO_RUN  127

struct launch {
	bool fenced, open, namespaces, network, inside;
	const char *workspace;
	struct namespace_plan folders;
	const char *const *program; /* with its arguments */
	char tmp[SCRATCH_SIZE];
	pid_t above[2];
};

/* --- The command line ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t flag; /* offset of the bool, or of nothing: */
	int how;     /* then a folder follows */
} options[] = {
	{ "--fenced", offsetof(struct launch, fenced), -1 },
	{ "--open", offsetof(struct launch, open), -1 },
	{ "--namespaces", offsetof(struct launch, namespaces), -1 },
	{ "--network", offsetof(struct launch, network), -1 },
	{ SERVE_INSIDE, offsetof(struct launch, inside), -1 },
	{ "--workspace", 0, NAMESPACE_WRITE },
	{ "--write", 0, NAMESPACE_WRITE },
	{ "--read", 0, NAMESPACE_READ },
	{ "--hide", 0, NAMESPACE_HIDE },
};

/* One option at *argv, which is moved on past it. */
static int take_option(struct launch *l, const char *const **argv, struct err *e)
{
	const char *word = *(*argv)++;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strcmp(word, options[i].name) != 0)
			continue;
		if (options[i].how < 0) {
			*(bool *)((char *)l + options[i].flag) = true;
			return 0;
		}
		if (!**argv || ***argv != '/')
			return err_set(e, E_FORMAT, "%s wants an absolute path", word);
		if (strcmp(word, "--workspace") == 0)
			l->workspace = **argv;
		return namespace_add(&l->folders, *(*argv)++, options[i].how, e);
	}
	return err_set(e, E_FORMAT, "there is no option %s", word);
}

static int parse(struct launch *l, const char *const *argv, struct err *e)
{
	while (*argv && strcmp(*argv, "--") != 0)
		if (take_option(l, &argv, e) < 0)
			return -1;
	if (!*argv || !argv[1])
		return err_set(e, E_FORMAT, "there is no program after \"--\"");
	if (l->fenced == l->open)
		return err_set(e, E_FORMAT, "one of --fenced and --open is needed");
	if (!l->workspace)
		return err_set(e, E_FORMAT, "--workspace is needed");
	if (fcntl(LAUNCH_LIFELINE_FD, F_GETFD) < 0)
		return err_set(e, E_FORMAT, "descriptor %d is to be the lifeline",
			LAUNCH_LIFELINE_FD);
	l->program = argv + 1;
	l->folders.start = l->workspace;
	l->folders.network = l->network || l->open;
	l->folders.open = l->open;
	l->folders.programs = true;
	return 0;
}

/* --- The way inside --------------------------------------------------------------------------- */

/* Returns only when it fails. */
static int go_inside(struct launch *l, const char *const *argv, struct err *e)
{
	const char *words[NAMESPACE_ARGV] = { "supervise", SERVE_INSIDE };
	size_t n = 2;

	for (; *argv && n < NAMESPACE_ARGV - 1; argv++)
		words[n++] = *argv;
	if (*argv)
		return err_set(e, E_FULL, "more than %d arguments", NAMESPACE_ARGV - 3);
	if (l->fenced && getuid() == 0)
		supervise_first();
	supervise_expendable();
	return namespace_exec(&l->folders, words, e);
}

/* --- The program ------------------------------------------------------------------------------ */

static int enter_fence(const struct launch *l, struct err *e)
{
	static struct roots roots;
	const struct fence_plan plan = {
		.roots = &roots,
		.kind = FENCE_PROGRAMS,
		.network = l->network,
		.namespaces = l->namespaces,
		.above = { l->above[0], l->above[1] },
	};
	struct fence fence;

	for (int i = 0; i < l->folders.n; i++) {
		const struct namespace_folder *f = &l->folders.folders[i];

		if (f->how != NAMESPACE_HIDE &&
			roots_add(&roots, view_of(f->path), f->how == NAMESPACE_WRITE, e) < 0)
			return -1;
	}
	if (!l->namespaces && roots_add(&roots, view_of(l->tmp), true, e) < 0)
		return -1;
	return fence_enter(&plan, &fence, e);
}

static int run_program(const struct launch *l, const struct supervise *watch)
{
	union {
		const char *const *given;
		char *const *wanted; /* execvp changes nothing */
	} argv = { .given = l->program };
	struct err e = ERR_INIT;

	cgroup_enter(&watch->group);
	if (supervise_child(l->above[0], &e) < 0 || setenv("TMPDIR", l->tmp, 1) < 0 ||
		chdir(l->workspace) < 0 || (l->fenced && enter_fence(l, &e) < 0)) {
		(void)fprintf(stderr, "kairo-tool: %s\n", e.code ? e.msg : strerror(errno));
		return EXIT_NO_CAGE;
	}
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	(void)execvp(argv.wanted[0], argv.wanted);
	(void)fprintf(stderr, "kairo-tool: %s: %s\n", argv.given[0], strerror(errno));
	return EXIT_NO_RUN;
}

/* What the program is done with must not stay open through us. */
static void let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		(void)close(null);
}

static int run_here(struct launch *l, struct err *e)
{
	struct supervise watch = { .lifeline = LAUNCH_LIFELINE_FD, .inside = l->namespaces };
	int code;

	l->above[0] = getpid();
	l->above[1] = getppid();
	if (l->fenced && l->namespaces && getuid() == 0)
		watch.processes = FENCE_PROCESSES;
	if (supervise_prepare(e) < 0 || scratch_make(l->tmp, l->fenced && !l->namespaces, e) < 0)
		return -1;
	if (!l->namespaces)
		cgroup_make(&watch.group, l->fenced ? FENCE_PROCESSES : 0);
	watch.child = fork();
	if (watch.child == 0)
		_exit(run_program(l, &watch));
	if (watch.child < 0)
		return err_sys(e, "a process for %s", l->program[0]);
	let_go();
	code = supervise_run(&watch);
	scratch_remove(l->tmp);
	return code;
}

int launch_main(const char *const *argv)
{
	static struct launch l;
	struct err e = ERR_INIT;
	int rc = -1;

	if (parse(&l, argv, &e) < 0) {
		(void)fprintf(stderr, "kairo-tool supervise: %s\n", e.msg);
		return EXIT_USAGE;
	}
	(void)close_range(LAUNCH_LIFELINE_FD + 1, ~0U, 0);
	if (l.fenced && !l.inside && become_owner(l.workspace, &e) < 0)
		rc = -1;
	else if (l.namespaces && !l.inside)
		rc = go_inside(&l, argv, &e);
	else
		rc = run_here(&l, &e);
	if (rc >= 0)
		return rc;
	(void)fprintf(stderr, "kairo-tool supervise: %s\n", e.msg);
	return EXIT_NO_CAGE;
}
