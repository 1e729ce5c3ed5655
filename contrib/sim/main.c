/* kairo-sim: an iLink server, a demo model and a phone, on loopback. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sim.h"

static const char usage[] =
	"usage: kairo-sim [--dir DIR] [--tls] [--auto-confirm] [--hold-ms N] [--port-base N]\n"
	"                 [--user ID] [--model-delay-ms N] [--verbose]\n"
	"\n"
	"Plays WeChat's bot API, a language model and a phone on 127.0.0.1, prints where they are\n"
	"as one line of JSON, and runs until it is interrupted.\n"
	"\n"
	"  --dir DIR            folder (made if missing) for sim.json and, with --tls, ca.pem\n"
	"  --tls                bot API and CDN speak https, certified by DIR/ca.pem\n"
	"  --auto-confirm       a login is confirmed without the page\n"
	"  --hold-ms N          a poll without news is answered after N ms (25000)\n"
	"  --port-base N        use ports N to N+5; default: free ones\n"
	"  --user ID            the person who owns the phone (" USER_OWNER ")\n"
	"  --model-delay-ms N   pause between the pieces of a demo answer (25)\n"
	"  --verbose            a line for each request on standard error\n";

static void on_signal(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg);
}

static int number(const char *text, long long max, int64_t *out)
{
	unsigned long long n;

	if (parse_u64(view_of(text), &n) < 0 || n > (unsigned long long)max) {
		fprintf(stderr, "kairo-sim: \"%s\" is no number from 0 to %lld\n", text, max);
		return -1;
	}
	*out = (int64_t)n;
	return 0;
}

/* 0: go on; 1: done; -1: wrong usage. */
static int read_options(int argc, char **argv, struct sim_opts *o)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "tls", no_argument, NULL, 't' },
		{ "auto-confirm", no_argument, NULL, 'a' },
		{ "hold-ms", required_argument, NULL, 'h' },
		{ "port-base", required_argument, NULL, 'p' },
		{ "user", required_argument, NULL, 'u' },
		{ "model-delay-ms", required_argument, NULL, 'm' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'H' },
		{ NULL, 0, NULL, 0 },
	};
	int64_t port = 0;
	int c, rc = 0;

	while (rc == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd': o->dir = optarg; break;
		case 't': o->tls = true; break;
		case 'a': o->auto_confirm = true; break;
		case 'h': rc = number(optarg, 600000, &o->hold_ms); break;
		case 'p': rc = number(optarg, 65000, &port); break;
		case 'u': o->user = optarg; break;
		case 'm': rc = number(optarg, 60000, &o->model_delay_ms); break;
		case 'v': o->verbose = true; break;
		case 'H': fputs(usage, stdout); return 1;
		default: return -1;
		}
	}
	o->port_base = (int)port;
	return rc < 0 || optind != argc ? -1 : 0;
}

/* An absolute path, the folder made. */
static int prepare_dir(struct sim_opts *o, char path[PATH_SIZE], struct err *e)
{
	char cwd[PATH_SIZE];

	if (!o->dir)
		return 0;
	if (o->dir[0] == '/') {
		if (copy_z(path, PATH_SIZE, view_of(o->dir)) < 0)
			return err_set(e, E_FORMAT, "--dir: too long");
	} else if (!getcwd(cwd, sizeof(cwd))) {
		return err_sys(e, "the current folder");
	} else if (path_join(path, cwd, o->dir, e) < 0) {
		return -1;
	}
	o->dir = path;
	return file_mkdirs(path, 0700, e);
}

static int run(struct sim_opts *o, char path[PATH_SIZE], struct err *e)
{
	struct str line = STR_INIT(8192);
	struct loop *l = NULL;
	struct sigwatch *term = NULL, *intr = NULL;
	struct sim *s = NULL;
	int rc = -1;

	if (prepare_dir(o, path, e) < 0 || loop_open(&l, NULL, e) < 0 ||
		sigwatch_new(&term, l, SIGTERM, on_signal, l, e) < 0 ||
		sigwatch_new(&intr, l, SIGINT, on_signal, l, e) < 0 || sim_open(&s, l, o, e) < 0 ||
		sim_ready_line(s, &line, e) < 0)
		goto out;
	fputs(str_cstr(&line), stdout);
	fflush(stdout);
	rc = loop_run(l, e);
out:
	sim_close(&s);
	if (l)
		(void)loop_step(l, 0,
			NULL); /* libevent lets go of the connections in its own time */
	sigwatch_free(&intr);
	sigwatch_free(&term);
	loop_close(&l);
	str_release(&line);
	return rc;
}

int main(int argc, char **argv)
{
	struct sim_opts o = { .hold_ms = -1, .model_delay_ms = -1 };
	struct err e = ERR_INIT;
	char path[PATH_SIZE];
	int rc = read_options(argc, argv, &o);

	if (rc < 0) {
		fputs(usage, stderr);
		return 2;
	}
	if (rc > 0)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	if (run(&o, path, &e) < 0) {
		fprintf(stderr, "kairo-sim: %s\n", e.msg);
		return 1;
	}
	return 0;
}
