#include "cli/app-private.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "channel/ilink/ilink.h"
#include "cli/ears.h"
#include "cli/policy.h"

enum { SHUTDOWN_GRACE_MS = 5000 }; /* for the running turn to end */

#define MIB ((int64_t)1 << 20)

struct control *app_control(struct app *a)
{
	return a->control;
}

struct loop *app_loop(struct app *a)
{
	return a->loop;
}

const struct config *app_config(const struct app *a)
{
	return a->cfg;
}

int64_t ask_ms_from(const struct config *c)
{
	return c->policy.ask_minutes * 60000;
}

static void control_settings_from(struct control_settings *s, const struct config *c)
{
	*s = (struct control_settings){
		.language = !strcmp(c->language, "zh")   ? LANG_ZH
		            : !strcmp(c->language, "en") ? LANG_EN
		                                         : LANG_AUTO,
		.text_limit = (size_t)c->text_limit,
		.mode = !strcmp(c->render_mode, "plain") ? FORMAT_PLAIN : FORMAT_NATIVE,
		.queue_limit = (int)c->queue_limit,
		.allowed_users = (const char *const *)c->allowed_users,
		.ask_ms = ask_ms_from(c),
		.media_max = c->media.max_mb * MIB,
		.media_days = (int)c->media.days,
		.media_keep = c->media.keep_mb * MIB,
		.merge_ms = c->media.merge_ms,
		.file_max = c->files.max_mb << 20,
	};
}

static void show_policy(void *arg, bool zh, struct str *out)
{
	struct app *a = arg;

	policy_text(a->shop.policy, a->cfg, zh, out);
}

/* --- Ending ----------------------------------------------------------------------------------- */

static void on_channel_stopped(void *arg)
{
	struct app *a = arg;

	loop_stop(a->loop);
}

static void on_control_done(void *arg)
{
	struct app *a = arg;

	a->channel->ops->stop(a->channel, on_channel_stopped, a);
}

static void app_end(struct app *a, int code)
{
	if (a->state == APP_ENDING)
		return;
	a->state = APP_ENDING;
	a->exit_code = code;
	control_shutdown(a->control, SHUTDOWN_GRACE_MS, on_control_done, a);
}

static void on_term(void *arg, int signo)
{
	struct app *a = arg;

	if (a->state == APP_ENDING) {
		log_warn(a->log, "app", "signal %d again: ending at once", signo);
		loop_stop(a->loop);
		return;
	}
	log_info(a->log, "app", "signal %d: ending", signo);
	app_end(a, EXIT_DONE);
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* A terminal that closes takes along what runs in it, but for what was told to stay (nohup). */
static bool ends_with_terminal(const struct app *a)
{
	struct sigaction before;

	return !a->opts.background && sigaction(SIGHUP, NULL, &before) == 0 &&
	       before.sa_handler != SIG_IGN && has_terminal();
}

static void on_hangup(struct app *a)
{
	if (a->state == APP_ENDING)
		return;
	log_info(a->log, "app", "the terminal is gone: ending");
	app_end(a, EXIT_DONE);
}

/* On failure nothing has changed. */
static int reload(struct app *a, struct str *waits, struct err *e)
{
	struct config *fresh = NULL;
	struct control_settings s;
	enum log_level level;
	int rc = -1;

	if (config_load(&fresh, a->home->dir, e) < 0)
		return -1;
	control_settings_from(&s, fresh);
	if (workshop_apply(&a->shop, fresh, e) < 0 || control_apply(a->control, &s, e) < 0)
		goto out;
	if (log_level_parse(fresh->log_level, &level) == 0)
		log_set_level(a->log, level);
	config_adopt(a->cfg, fresh, waits);
	rc = 0;
out:
	config_free(&fresh);
	return rc;
}

static void on_hup(void *arg, int signo)
{
	struct app *a = arg;
	struct str waits = STR_INIT(2048);

	(void)signo;
	if (a->in_terminal && !has_terminal()) {
		on_hangup(a);
		return;
	}
	err_clear(&a->reload);
	if (reload(a, &waits, &a->reload) < 0)
		log_error(a->log, "app", "reload: %s; the old settings stay", a->reload.msg);
	else
		log_info(a->log, "app", "settings reloaded");
	if (waits.n)
		log_warn(a->log, "app", "changed, but not in force before kairo restart: %s",
			str_cstr(&waits));
	str_release(&waits);
}

/* --- Events of the channel -------------------------------------------------------------------- */

static int on_batch(void *arg, const struct chan_msg *msgs, size_t n, struct err *e)
{
	struct app *a = arg;
	struct chan_events ev;

	control_events(a->control, &ev);
	return ev.batch(ev.arg, msgs, n, e);
}

static int on_settle(void *arg, struct err *e)
{
	struct app *a = arg;
	struct chan_events ev;

	control_events(a->control, &ev);
	return ev.settle(ev.arg, e);
}

static void on_link(void *arg, const struct chan_status *s)
{
	struct app *a = arg;
	struct chan_events ev;

	control_events(a->control, &ev);
	if (ev.link)
		ev.link(ev.arg, s);
	if (s->link != CHAN_LINK_REPLACED)
		return;
	log_error(a->log, "app",
		"the account was replaced or logged out: this daemon ends without touching it; "
		"kairo start serves the new login");
	app_end(a, EXIT_FAILED);
}

/* --- Beginning -------------------------------------------------------------------------------- */

static int open_log(struct app *a, struct err *e)
{
	char dir[PATH_SIZE], path[PATH_SIZE];
	enum log_level level = LOG_INFO;

	log_level_parse(a->cfg->log_level, &level);
	if (!a->opts.background)
		return log_open_fd(&a->log, STDERR_FILENO, level, e);
	if (path_join(dir, a->home->dir, "logs", e) < 0 || file_mkdir_private(dir, e) < 0 ||
		path_join(path, dir, "kairo.log", e) < 0)
		return -1;
	return log_open_file(&a->log, path, level, 0, e);
}

static int load_settings(struct app *a, struct err *e)
{
	if (config_load(&a->cfg, a->home->dir, e) < 0 || config_load_key(a->cfg, e) < 0 ||
		check_ca_file(a->cfg, e) < 0)
		return -1;
	if (account_load(&a->account, a->home->dir, e) == 0)
		return 0;
	if (e->code == E_NOTFOUND)
		err_set(e, E_AUTH, "nobody is logged in: run kairo login first");
	return -1;
}

static int open_channel(struct app *a, struct err *e)
{
	struct http_rules rules;

	rules_for_ilink(&rules, a->cfg);
	if (http_open(&a->poll_http, a->loop, &rules, a->log, e) < 0 ||
		http_open(&a->api_http, a->loop, &rules, a->log, e) < 0)
		return -1;
	if (a->cfg->ilink.cdn_direct)
		rules.proxy = NULL;
	if (http_open(&a->cdn_http, a->loop, &rules, a->log, e) < 0)
		return -1;
	const struct ilink_env env = {
		.loop = a->loop,
		.log = a->log,
		.poll_http = a->poll_http,
		.api_http = a->api_http,
		.cdn_http = a->cdn_http,
		.cdn_url = a->cfg->ilink.cdn_url[0] ? a->cfg->ilink.cdn_url : NULL,
		.loopback = a->cfg->network.allow_loopback,
		.client_version =
			a->cfg->ilink.client_version[0] ? a->cfg->ilink.client_version : NULL,
		.bot_agent = a->cfg->ilink.bot_agent[0] ? a->cfg->ilink.bot_agent : NULL,
		.route_tag = a->cfg->ilink.route_tag[0] ? a->cfg->ilink.route_tag : NULL,
	};
	return ilink_open(&a->channel, &env, a->account, e);
}

static int open_control(struct app *a, struct err *e)
{
	struct control_settings s;
	char media[PATH_SIZE];
	const struct control_env env = {
		.loop = a->loop,
		.log = a->log,
		.db = a->shop.db,
		.channel = a->channel,
		.engine = a->shop.engine,
		.deadline_ms = a->cfg->turn_minutes * 60 * 1000,
		.workspace = a->shop.workspace,
		.outgoing = a->outgoing,
		.bot_id = account_bot_id(a->account),
		.owner = account_user_id(a->account),
		.media = media,
		.more_status = app_more_status,
		.policy = show_policy,
		.more_arg = a,
		.ears = ears_hand(a->ears),
	};

	if (path_join(media, a->home->dir, "media", e) < 0 || file_mkdir_private(media, e) < 0 ||
		path_join(a->outgoing, a->home->dir, "outgoing", e) < 0)
		return -1;
	control_settings_from(&s, a->cfg);
	return control_open(&a->control, &env, &s, e);
}

static int open_signals(struct app *a, struct err *e)
{
	a->in_terminal = ends_with_terminal(a);
	if (sigwatch_new(&a->term, a->loop, SIGTERM, on_term, a, e) < 0 ||
		sigwatch_new(&a->intr, a->loop, SIGINT, on_term, a, e) < 0)
		return -1;
	return sigwatch_new(&a->hup, a->loop, SIGHUP, on_hup, a, e);
}

static int app_open(struct app *a, struct err *e)
{
	struct err none = ERR_INIT;

	/* Who runs is decided before anything is opened that two could spoil. */
	if (daemon_claim(&a->claim, a->home->dir, e) < 0 || load_settings(a, e) < 0 ||
		open_log(a, e) < 0 || loop_open(&a->loop, NULL, e) < 0 || open_signals(a, e) < 0)
		return -1;
	a->started_ms = loop_now(a->loop);
	if (file_sweep(a->home->dir, loop_clock(a->loop), &none) < 0)
		log_warn(a->log, "app", "leftovers of killed writers stay: %s", none.msg);
	if (log_add_secret(a->log, account_token(a->account), e) < 0 ||
		workshop_open(&a->shop, a->home, a->cfg, a->loop, a->log, e) < 0 ||
		open_channel(a, e) < 0 ||
		ears_open(&a->ears, a->home, a->cfg, a->loop, a->log, a->shop.tools, e) < 0 ||
		open_control(a, e) < 0)
		return -1;
	return app_socket_open(&a->socket, &a->socket_hold, a, a->home, a->loop, a->log, e);
}

static int app_start(struct app *a, struct err *e)
{
	const struct chan_events ev = { .batch = on_batch,
		.settle = on_settle,
		.link = on_link,
		.arg = a };
	struct str engine = STR_INIT(1024);

	a->state = APP_RUNNING;
	a->shop.engine->ops->describe(a->shop.engine, false, &engine);
	log_info(a->log, "app", "kairo %s runs, pid %d, workspace %s, %s", KAIRO_VERSION, getpid(),
		a->shop.workspace, str_cstr(&engine));
	str_release(&engine);
	if (a->channel->ops->start(a->channel, &ev, e) < 0)
		return -1;
	control_run(a->control);
	return 0;
}

static void app_close(struct app *a)
{
	httpd_close(&a->socket);
	if (a->socket_hold >= 0)
		close(a->socket_hold);
	control_close(&a->control);
	ears_close(&a->ears);
	if (a->channel)
		a->channel->ops->close(&a->channel);
	workshop_close(&a->shop);
	http_close(&a->cdn_http);
	http_close(&a->api_http);
	http_close(&a->poll_http);
	sigwatch_free(&a->term);
	sigwatch_free(&a->intr);
	sigwatch_free(&a->hup);
	account_free(&a->account);
	loop_close(&a->loop);
	log_close(&a->log);
	config_free(&a->cfg);
	daemon_release(&a->claim);
}

/* Tell the process that started us, once. */
static void report(struct app *a, const char *line)
{
	size_t n = strlen(line);

	if (a->opts.ready_fd < 0)
		return;
	if (write(a->opts.ready_fd, line, n) != (ssize_t)n)
		log_warn(a->log, "app", "the starter did not wait for us");
	close(a->opts.ready_fd);
	a->opts.ready_fd = -1;
}

int app_run(const struct home *h, const struct app_opts *o)
{
	struct app a = { .home = h, .opts = *o, .exit_code = EXIT_FAILED };
	struct err e = ERR_INIT;
	bool second;
	int rc;

	a.shop.workspace_fd = -1;
	a.socket_hold = -1;
	mallopt(M_ARENA_MAX, 1); /* one thread: a second arena would only cost memory */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = app_open(&a, &e);
	if (rc == 0)
		rc = app_start(&a, &e);
	if (rc == 0) {
		report(&a, APP_READY);
		rc = loop_run(a.loop, &e);
	}
	if (rc < 0)
		log_error(a.log, "app", "%s", e.msg);
	else
		log_info(a.log, "app", "kairo ended");
	second = !a.claim && e.code == E_BUSY;
	app_close(&a);
	/* Said when the lock is free again, so that whoever hears it may try anew at once. */
	if (rc < 0) {
		char line[sizeof(e.msg) + 8];

		snprintf(line, sizeof(line), "%d %s\n",
			e.code == E_AUTH ? EXIT_LOGIN_NEEDED : EXIT_FAILED, e.msg);
		report(&a, second ? APP_SECOND : line);
		a.exit_code = say_err(&e);
	}
	return a.exit_code;
}
