/* One call of a tool from the start of kairo-tool to its end, with the namespaces and without. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CALLS 200

static char folder[] = "/var/tmp/kairo-bench-XXXXXX";

struct call {
	const char *tool, *args;
	bool namespaces;
};

static const struct call calls[] = {
	{ "read_file", "{\"path\":\"note.txt\"}", false },
	{ "read_file", "{\"path\":\"note.txt\"}", true },
	{ "write_file", "{\"path\":\"new.txt\",\"content\":\"milk\\n\"}", false },
	{ "write_file", "{\"path\":\"new.txt\",\"content\":\"milk\\n\"}", true },
	{ "shell", "{\"command\":\"true\"}", false },
	{ "shell", "{\"command\":\"true\"}", true },
	{ "web_page",
		"{\"type\":\"text/html\",\"url\":\"https://example.org/\","
		"\"body\":\"PGgxPk1pbGs8L2gxPjxwPmFuZCBicmVhZA==\"}",
		true },
	{ "picture", "{\"path\":\"dot.png\"}", true },
};

/* A PNG of one red pixel. */
static const unsigned char dot[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I',
	'H', 'D', 'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12,
	'I', 'D', 'A', 'T', 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92,
	0xef, 0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82 };

/* The process with the request on 3 and the events on 4; our ends. */
static pid_t begin(int *request, int *events)
{
	static char name[] = "kairo-tool", mode[] = "call", lang[] = "LANG=C.UTF-8";
	char *const argv[] = { name, mode, NULL }, *const env[] = { lang, NULL };
	posix_spawn_file_actions_t fa;
	int down[2], up[2];
	pid_t pid = -1;

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		abort();
	/* Out of the way of 3 and 4. */
	int in = fcntl(down[0], F_DUPFD_CLOEXEC, 100), out = fcntl(up[1], F_DUPFD_CLOEXEC, 100);

	(void)posix_spawn_file_actions_init(&fa);
	(void)posix_spawn_file_actions_adddup2(&fa, in, 3);
	(void)posix_spawn_file_actions_adddup2(&fa, out, 4);
	if (posix_spawn(&pid, KAIRO_TOOL, &fa, NULL, argv, env) != 0)
		abort();
	(void)posix_spawn_file_actions_destroy(&fa);
	(void)close(in);
	(void)close(out);
	(void)close(down[0]);
	(void)close(up[1]);
	*request = down[1];
	*events = up[0];
	return pid;
}

/* Seconds to the result and to the end; a negative one: there was none. */
static void call_once(const struct call *c, double *result, double *end)
{
	char line[1024], said[65536];
	double from = bench_now();
	int request, events, status;
	pid_t pid = begin(&request, &events);
	size_t n = 0;
	ssize_t got;

	*result = -1;
	int len = snprintf(line, sizeof(line),
		"{\"tool\":\"%s\",\"args\":%s,\"workspace\":\"%s\",\"required\":%s,\"namespaces\":%s}\n",
		c->tool, c->args, folder, c->namespaces ? "true" : "false",
		c->namespaces ? "true" : "false");
	if (write(request, line, (size_t)len) != len)
		abort();
	while (n < sizeof(said) - 1 && (got = read(events, said + n, sizeof(said) - 1 - n)) > 0) {
		n += (size_t)got;
		said[n] = '\0';
		if (*result < 0 && strstr(said, "\"event\":\"result\",\"ok\":true"))
			*result = bench_now() - from;
	}
	(void)waitpid(pid, &status, 0);
	*end = bench_now() - from;
	(void)close(request);
	(void)close(events);
}

static void measure(const struct call *c)
{
	static double result[CALLS], end[CALLS];
	char what[80];

	for (size_t i = 0; i < CALLS; i++) {
		call_once(c, &result[i], &end[i]);
		if (result[i] < 0) {
			printf("  %s %s: it has no result here\n", c->tool,
				c->namespaces ? "in namespaces" : "without them");
			return;
		}
	}
	(void)snprintf(what, sizeof(what), "%s, %s", c->tool,
		c->namespaces ? "in namespaces" : "without them");
	bench_latency(what, result, CALLS);
	bench_latency("  to the end of the process", end, CALLS);
}

static const struct {
	const char *name;
	const void *content;
	size_t n;
} files[] = {
	{ "note.txt", "milk\nbread\n", 11 }, { "dot.png", dot, sizeof(dot) },
	{ "new.txt", "", 0 }, /* which is written */
};

static const char *path_of(size_t i)
{
	static char path[100];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
	return path;
}

int main(void)
{
	const size_t n = sizeof(files) / sizeof(files[0]);

	bench_title("A call of a tool, from its start to its result");
	if (!mkdtemp(folder))
		return EXIT_FAILURE;
	for (size_t i = 0; i < n; i++) {
		FILE *f = fopen(path_of(i), "we");

		if (!f || fwrite(files[i].content, 1, files[i].n, f) != files[i].n ||
			fclose(f) != 0)
			return EXIT_FAILURE;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		measure(&calls[i]);
	for (size_t i = 0; i < n; i++)
		(void)unlink(path_of(i));
	return rmdir(folder) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
