/* config get|set|unset|list */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "channel/daemon.h"
#include "cli/app.h"

enum { SECRET_MAX = 4096, VALUE_MAX = 32 << 10 };

static int unknown_key(const char *name)
{
	if (config_is_secret(name)) {
		fprintf(stderr,
			"kairo: %.60s is never shown: it is a file of its own (kairo(1), FILES), and gone "
			"when that is removed and the setting unset that names it, if one does\n",
			name);
		return EXIT_USAGE;
	}
	fputs("kairo: no setting \"", stderr);
	print_safe(stderr, view_of(name));
	fprintf(stderr, "\"; did you mean %s? (kairo config list shows all)\n",
		config_nearest(name));
	return EXIT_USAGE;
}

static int print_value(const struct config *c, const char *name, struct err *e)
{
	struct str v = STR_INIT(64 << 10);
	int rc = config_get(c, name, &v, e);

	if (rc == 0) {
		print_safe(stdout, str_view(&v));
		putchar('\n');
	}
	str_release(&v);
	return rc;
}

static int list(const struct home *h, const struct config *c, struct err *e)
{
	const struct config_key *k;
	const char *source = "";

	for (size_t i = 0; (k = config_at(i)); i++) {
		if (config_source(h->dir, k->name, &source, e) < 0)
			return -1;
		printf("# %s (%s)\n%s = ", k->help, source, k->name);
		if (print_value(c, k->name, e) < 0)
			return -1;
	}
	return 0;
}

static int show(const struct home *h, const char *name)
{
	struct config *c = NULL;
	struct err e = ERR_INIT;
	int rc = config_load(&c, h->dir, &e);

	if (rc == 0)
		rc = name ? print_value(c, name, &e) : list(h, c, &e);
	config_free(&c);
	return rc < 0 ? say_err(&e) : EXIT_DONE;
}

/* A running daemon takes over what can change live; for the rest it must be started anew. */
static int tell_daemon(const struct home *h, const char *name)
{
	struct err e = ERR_INIT;
	pid_t pid;

	if (daemon_find(h->dir, &pid, &e) != 1)
		return EXIT_DONE;
	if (config_find(name)->live && kill(pid, SIGHUP) == 0)
		puts("the running daemon takes it over");
	else
		puts("the running daemon takes it over with: kairo restart");
	return EXIT_DONE;
}

/* A key would go to where it does not belong. */
static void look_at_provider(const struct home *h)
{
	struct config *c = NULL;
	struct err e = ERR_INIT;
	const char *other = config_load(&c, h->dir, &e) == 0 ? config_other_provider(c) : NULL;

	if (other)
		fprintf(stderr,
			"kairo: model.base_url is an address of %s, model.provider is %s: kairo config "
			"unset model.base_url\n",
			other, c->model.provider);
	config_free(&c);
}

/* A secret that is typed is not shown. Line ends belong to the last line, not to the value. */
static int read_value(const char *name, bool secret, struct str *v, struct err *e)
{
	bool typed = isatty(STDIN_FILENO);
	char prompt[128];
	int rc;

	if (typed && secret) {
		(void)snprintf(prompt, sizeof(prompt), "%s (not shown), then Enter: ", name);
		return read_hidden(prompt, SECRET_MAX, v, e);
	}
	if (typed)
		fprintf(stderr, "value of %s, then Enter and Ctrl-D: ", name);
	rc = read_stdin(secret ? SECRET_MAX : VALUE_MAX, v, e);
	while (v->n && (v->p[v->n - 1] == '\n' || v->p[v->n - 1] == '\r'))
		str_truncate(v, v->n - 1);
	if (rc == 0 && view_find(str_view(v), '\0') != v->n)
		rc = err_set(e, E_FORMAT, "standard input holds a NUL");
	return rc;
}

static int set_from_stdin(const struct home *h, const char *name)
{
	struct str v = STR_SECRET(VALUE_MAX + 2);
	bool secret = config_is_secret(name);
	struct err e = ERR_INIT;
	int rc;

	if (!secret && !config_find(name))
		return unknown_key(name);
	rc = read_value(name, secret, &v, &e);
	if (rc == 0)
		rc = secret ? config_set_secret(h->dir, name, str_view(&v), &e)
		            : config_set(h->dir, name, str_cstr(&v), &e);
	str_release(&v);
	return rc < 0 ? say_err(&e) : tell_daemon(h, secret ? "model.api_key_file" : name);
}

static int refuse_secret(const char *name)
{
	char why[160];

	(void)snprintf(why, sizeof(why),
		"a key does not belong on a command line: kairo config set %.60s --stdin", name);
	return say_usage("config", why);
}

static int set(const struct home *h, const char *name, const char *value)
{
	struct err e = ERR_INIT;

	if (!strcmp(value, "--stdin"))
		return set_from_stdin(h, name);
	if (config_is_secret(name))
		return refuse_secret(name);
	if (!config_find(name))
		return unknown_key(name);
	if (config_set(h->dir, name, value, &e) < 0)
		return say_err(&e);
	if (!strcmp(name, "model.provider") || !strcmp(name, "model.base_url"))
		look_at_provider(h);
	return tell_daemon(h, name);
}

static int unset(const struct home *h, const char *name)
{
	struct err e = ERR_INIT;

	if (!config_find(name))
		return unknown_key(name);
	return config_unset(h->dir, name, &e) < 0 ? say_err(&e) : tell_daemon(h, name);
}

/* Reading leaves no trace; a change makes the folder it is kept in. */
static int change(const struct home *h, int argc, char **argv)
{
	struct home made;
	struct err e = ERR_INIT;

	if (home_find(&made, h->account[0] ? h->account : NULL, true, &e) < 0)
		return say_err(&e);
	return argc == 4 ? set(&made, argv[2], argv[3]) : unset(&made, argv[2]);
}

int cmd_config(const struct home *h, int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "list";

	if (!strcmp(what, "list") && argc <= 2)
		return show(h, NULL);
	if (!strcmp(what, "get") && argc == 3)
		return config_find(argv[2]) ? show(h, argv[2]) : unknown_key(argv[2]);
	if ((!strcmp(what, "set") && argc == 4) || (!strcmp(what, "unset") && argc == 3))
		return change(h, argc, argv);
	return say_usage("config", NULL);
}
