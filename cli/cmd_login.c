/* login, logout */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "channel/ilink/ilink.h"
#include "cli/app.h"
#include "cli/hooks.h"
#include "cli/qr.h"
#include "cli/workspace.h"

enum { QR_TEXT_MAX = 128 << 10 };

struct session {
	const struct home *home;
	struct loop *loop;
	struct login *login;
	struct timer *tick;
	struct watch *keys;
	struct config *cfg;
	char workspace[PATH_SIZE];
	int64_t dead_at; /* monotonic: when the code shown will be too old */
	bool counting;   /* down, on the screen */
	bool mid_line;   /* what is printed next must begin a line of its own */
	bool tty;
	char typed[32]; /* of the line that is being typed; more is no number */
	size_t ntyped;
	int code; /* of the command */
};

/* What follows begins a line of its own. */
static void close_line(struct session *s)
{
	if (s->mid_line)
		putchar('\n');
	s->mid_line = false;
	fflush(stdout);
}

static void end(struct session *s, int code)
{
	s->code = code;
	timer_disarm(s->tick);
	close_line(s);
	loop_stop(s->loop);
}

static void fail(struct session *s, const struct err *e)
{
	int code;

	close_line(s);
	code = say_err(e);
	if (e->code == E_NET || e->code == E_TIMEOUT)
		fputs("kairo doctor looks at each step of the way there\n", stderr);
	end(s, code);
}

static void on_tick(void *arg)
{
	struct session *s = arg;
	int64_t left = (s->dead_at - loop_now(s->loop)) / 1000;

	if (s->counting && s->tty) {
		printf("\rthe code lives for about %lld more seconds \b",
			(long long)(left > 0 ? left : 0));
		fflush(stdout);
		s->mid_line = true;
	}
	timer_arm(s->tick, 1000);
}

static void say(struct session *s, const char *text)
{
	close_line(s);
	s->counting = false;
	puts(text);
	fflush(stdout);
}

/* Columns of the window; where there is none, nothing is too wide. */
static size_t window_columns(void)
{
	struct winsize w = { 0 };

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : SIZE_MAX;
}

/* A line that wraps makes a code unreadable, so signs give way to blocks, half as wide. */
static void draw(const char *link)
{
	struct str drawing = STR_INIT(QR_TEXT_MAX);
	size_t room = window_columns();
	enum qr_style style = qr_style_for_stdout();
	struct err e = ERR_INIT;
	int rc = qr_draw(link, style, &drawing, &e);

	if (rc == 0 && style == QR_ASCII && qr_columns(str_view(&drawing)) > room) {
		str_reset(&drawing);
		rc = qr_draw(link, QR_BLOCKS, &drawing, &e);
	}
	if (rc < 0)
		say_err(&e);
	else if (qr_columns(str_view(&drawing)) > room)
		printf("(this window is too narrow for the code: make it at least %zu columns wide "
		       "and run this again)\n",
			qr_columns(str_view(&drawing)));
	else
		fputs(str_cstr(&drawing), stdout);
	str_release(&drawing);
}

static void show_qr(struct session *s, const struct login_report *r)
{
	struct str link = STR_INIT(8192);

	str_add(&link, r->text);
	say(s, "Scan this code with WeChat (me > settings > plugins, or the camera):");
	draw(str_cstr(&link));
	printf("or open this link on the phone:\n");
	print_safe(stdout, r->text);
	putchar('\n');
	fflush(stdout);
	s->dead_at = loop_now(s->loop) + r->left_ms;
	s->counting = true;
	timer_arm(s->tick, 0);
	str_release(&link);
}

static void prompt(struct session *s)
{
	fputs("number: ", stdout);
	fflush(stdout);
	s->mid_line = true;
}

/* Standard input has ended, or is of a kind that cannot be waited for. */
static void nobody_types(struct session *s)
{
	struct err e = ERR_INIT;

	watch_free(&s->keys);
	err_set(&e, E_IO, "nobody can type the number: run kairo login in a terminal");
	fail(s, &e);
}

static void on_line(struct session *s)
{
	struct view line = view_trim((struct view){ s->typed, s->ntyped });
	struct err e = ERR_INIT;

	s->ntyped = 0;
	s->mid_line = !isatty(STDIN_FILENO); /* a terminal has shown the Enter */
	if (line.n && login_number(s->login, line, &e) == 0) {
		watch_free(&s->keys);
		return;
	}
	close_line(s);
	if (line.n)
		say_err(&e);
	prompt(s);
}

/* One byte at a time: from a pipe a line comes in pieces, or with the next one behind it, which is
 * left for the next question. */
static void on_key(void *arg, int fd, int what)
{
	struct session *s = arg;
	char c;
	ssize_t n = read(fd, &c, 1);

	(void)what;
	if (n <= 0 && s->ntyped == 0)
		nobody_types(s);
	else if (n <= 0 || c == '\n')
		on_line(s);
	else if (s->ntyped < sizeof(s->typed))
		s->typed[s->ntyped++] = c;
}

static void ask_number(struct session *s, const char *text)
{
	struct err e = ERR_INIT;

	say(s, text);
	prompt(s);
	if (!s->keys && watch_new(&s->keys, s->loop, STDIN_FILENO, WATCH_READ, on_key, s, &e) < 0)
		nobody_types(s);
}

static int store(struct session *s, const struct account_login *l)
{
	const struct clock *clk = s->loop ? loop_clock(s->loop) : clock_system();
	struct account_login full = *l;
	struct err e = ERR_INIT;

	full.workspace = s->workspace;
	if (account_store_login(s->home->dir, &full, clk, &e) < 0)
		return say_err(&e);
	fputs("connected. The agent works in ", stdout);
	print_safe(stdout, view_of(s->workspace));
	putchar('\n');
	if (!full.user_id[0])
		puts("The server named no owner, so nobody is served yet: kairo config set "
		     "allowed_users '[\"USER ID\"]'");
	if (!s->cfg->model.base_url[0] || !s->cfg->model.name[0])
		puts("Next: kairo config set model.provider NAME (or model.base_url and model.name);\n"
		     "      kairo config set model.api_key --stdin");
	puts("Then: kairo start (or kairo restart, when it runs already)");
	return EXIT_DONE;
}

static void on_report(void *arg, const struct login_report *r)
{
	struct session *s = arg;

	switch (r->event) {
	case LOGIN_SHOW_QR: show_qr(s, r); break;
	case LOGIN_SCANNED: say(s, "scanned; now confirm on the phone"); break;
	case LOGIN_NEED_NUMBER: ask_number(s, "The phone shows a number. Type it here."); break;
	case LOGIN_WRONG_NUMBER: ask_number(s, "That was not the number on the phone."); break;
	case LOGIN_BLOCKED: say(s, "too many wrong numbers; a new code follows"); break;
	case LOGIN_QR_EXPIRED: say(s, "the code is too old; a new one follows"); break;
	case LOGIN_REDIRECTED:
		say(s, "the account lives in another data centre; going there");
		break;
	case LOGIN_TROUBLE:
		close_line(s);
		fputs("trouble, trying again: ", stdout);
		print_safe(stdout, r->text);
		putchar('\n');
		fflush(stdout);
		break;
	case LOGIN_DONE:
		close_line(s);
		end(s, store(s, &r->result));
		break;
	case LOGIN_ALREADY:
		say(s, "this machine is already connected; kairo login --force makes a new connection");
		end(s, EXIT_DONE);
		break;
	case LOGIN_FAILED: fail(s, r->err); break;
	}
}

static void on_interrupt(void *arg, int signo)
{
	struct session *s = arg;

	(void)signo;
	say(s, "interrupted; nothing was changed");
	end(s, EXIT_FAILED);
}

static int by_qr(struct session *s, const char *base_url, bool force, struct err *e)
{
	struct account *old = NULL;
	struct http_rules rules;
	struct http *http = NULL;
	struct sigwatch *intr = NULL, *term = NULL;
	const char *tokens[10];
	struct err none = ERR_INIT;
	int rc = -1;

	if (account_can_store(s->home->dir, e) < 0)
		return -1;
	if (account_load(&old, s->home->dir, &none) < 0)
		old = NULL;
	rules_for_ilink(&rules, s->cfg);
	if (check_ca_file(s->cfg, e) < 0 || loop_open(&s->loop, NULL, e) < 0 ||
		http_open(&http, s->loop, &rules, NULL, e) < 0 ||
		timer_new(&s->tick, s->loop, on_tick, s, e) < 0 ||
		sigwatch_new(&intr, s->loop, SIGINT, on_interrupt, s, e) < 0 ||
		sigwatch_new(&term, s->loop, SIGTERM, on_interrupt, s, e) < 0)
		goto out;
	const struct ilink_env env = {
		.loop = s->loop,
		.poll_http = http,
		.api_http = http,
		.loopback = s->cfg->network.allow_loopback,
		.client_version =
			s->cfg->ilink.client_version[0] ? s->cfg->ilink.client_version : NULL,
		.bot_agent = s->cfg->ilink.bot_agent[0] ? s->cfg->ilink.bot_agent : NULL,
		.route_tag = s->cfg->ilink.route_tag[0] ? s->cfg->ilink.route_tag : NULL,
	};
	const struct login_opts o = {
		.base_url = base_url,
		.tokens = tokens,
		.ntokens = old ? account_known_tokens(old, tokens) : 0,
		.force = force,
	};
	rc = login_start(&s->login, &env, &o, on_report, s, e);
	if (rc == 0)
		rc = loop_run(s->loop, e);
out:
	login_free(&s->login);
	watch_free(&s->keys);
	timer_free(&s->tick);
	sigwatch_free(&intr);
	sigwatch_free(&term);
	http_close(&http);
	loop_close(&s->loop);
	account_free(&old);
	return rc;
}

static int by_import(struct session *s, const char *dir, struct err *e)
{
	struct account_import imp = { 0 };

	if (account_import_find(&imp, dir, s->cfg->network.allow_loopback, e) < 0)
		return -1;
	printf("taking over the login of %s\n", imp.source);
	s->code = store(s, &imp.login);
	account_import_release(&imp);
	if (s->code == EXIT_DONE)
		puts("Stop the other program for good: two pollers on one token steal each other's "
		     "messages.");
	return 0;
}

int cmd_login(const struct home *h, int argc, char **argv)
{
	static const struct option longs[] = { { "force", no_argument, NULL, 'f' },
		{ "base-url", required_argument, NULL, 'b' },
		{ "import", required_argument, NULL, 'i' }, { NULL, 0, NULL, 0 } };
	struct session s = { .home = h, .tty = isatty(STDOUT_FILENO), .code = EXIT_FAILED };
	const char *base_url = NULL, *import = NULL;
	bool force = false;
	struct err e = ERR_INIT;
	int opt, rc = -1;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'f')
			force = true;
		else if (opt == 'b')
			base_url = optarg;
		else if (opt == 'i')
			import = optarg;
		else
			return say_usage("login", NULL);
	}
	if (optind != argc)
		return say_usage("login", "login takes options only");
	if (import && (force || base_url))
		return say_usage("login", "--import goes with no other option");
	if (config_load(&s.cfg, h->dir, &e) == 0 &&
		workspace_find(s.workspace, s.cfg->workspace, h->root, true, &e) == 0)
		rc = import ? by_import(&s, import, &e) : by_qr(&s, base_url, force, &e);
	config_free(&s.cfg);
	if (rc == 0 && s.code == EXIT_DONE)
		hooks_offer(h);
	return rc < 0 ? say_err(&e) : s.code;
}

int cmd_logout(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;

	(void)argv;
	if (argc > 1)
		return say_usage("logout", "logout takes no arguments");
	if (account_logout(h->dir, &e) < 0)
		return say_err(&e);
	puts("the credentials of this account are gone from this machine; a running daemon ends by itself");
	return EXIT_DONE;
}
