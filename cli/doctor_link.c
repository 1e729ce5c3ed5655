/* doctor: the way to WeChat: login, server, clock, token, and the daemon on it. */
#include "cli/doctor-private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "channel/ilink/ilink.h"
#include "cli/client.h"

enum { CLOCK_SKEW_S = 300 };

static void check_tls(struct doctor *d, const char *url)
{
	struct doctor_answer a;

	doctor_reach(d, d->ilink_http, url, NULL, &a, NULL);
	if (a.fail) {
		say_bad(d, true, "tls", doctor_advice(d, a.fail), "%s", a.err.msg);
		return;
	}
	d->reached = true;
	say_ok("tls", "%s",
		strncmp(url, "https:", 6) ? "none: plain http" : "the certificate is good");
}

static void check_clock(struct doctor *d)
{
	int64_t now = clock_wall(clock_system()) / 1000;
	int64_t skew = d->server_time ? now - d->server_time : 0;

	if (!d->server_time)
		say_ok("clock", "not compared: %s",
			d->reached ? "the server gives no time" : "no server answered");
	else if (llabs(skew) > CLOCK_SKEW_S)
		say_bad(d, true, "clock", "set the clock (timedatectl set-ntp true)",
			"%lld s away from the server's time", (long long)skew);
	else
		say_ok("clock", "within %lld s of the server's", (long long)llabs(skew));
}

struct probe_wait {
	struct doctor *doctor;
	struct err err;
};

static void on_probe(void *arg, const struct err *result, const char *date)
{
	struct probe_wait *w = arg;
	struct tm tm = { 0 };

	w->err = *result;
	if (date && strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		w->doctor->server_time = timegm(&tm);
	loop_stop(w->doctor->loop);
}

static void check_token(struct doctor *d)
{
	struct probe_wait w = { .doctor = d };
	struct ilink_probe *p = NULL;
	const struct ilink_env env = {
		.loop = d->loop,
		.poll_http = d->ilink_http,
		.api_http = d->ilink_http,
		.loopback = d->cfg->network.allow_loopback,
		.client_version =
			d->cfg->ilink.client_version[0] ? d->cfg->ilink.client_version : NULL,
		.bot_agent = d->cfg->ilink.bot_agent[0] ? d->cfg->ilink.bot_agent : NULL,
		.route_tag = d->cfg->ilink.route_tag[0] ? d->cfg->ilink.route_tag : NULL,
	};

	if (ilink_probe_start(&p, &env, d->account, on_probe, &w, &w.err) == 0)
		loop_run(d->loop, &w.err);
	ilink_probe_free(&p);
	if (w.err.code == E_OK)
		say_ok("token", "the server accepts it");
	else if (w.err.code == E_AUTH)
		say_bad(d, true, "token", "kairo login --force, then kairo restart",
			"the login has expired");
	else
		say_bad(d, true, "token", "try again; if it stays, kairo login --force", "%s",
			w.err.msg);
}

void doctor_account(struct doctor *d)
{
	struct err e = ERR_INIT;
	const char *url;

	if (account_load(&d->account, d->home->dir, &e) < 0) {
		say_bad(d, true, "login",
			e.code == E_DENIED ? "do as it says; or kairo login, for a new one"
					   : "kairo login",
			"%s", e.code == E_NOTFOUND ? "nobody is logged in" : e.msg);
		url = ACCOUNT_LOGIN_URL;
	} else {
		say_ok("login", "bot %s, owner %s", account_bot_id(d->account),
			account_user_id(d->account)[0] ? account_user_id(d->account) : "unknown");
		url = account_base_url(d->account);
	}
	if (doctor_host(d, "ilink", url))
		check_tls(d, url);
	if (d->account && d->reached)
		check_token(d);
	check_clock(d);
}

/* --- The daemon ------------------------------------------------------------------------------- */

static void check_window(struct doctor *d, const struct json *j)
{
	const struct json *sends = json_member(j, "sends");
	int64_t left = answer_int(sends, "window_left_s"), used = answer_int(sends, "used");

	if (left <= 0)
		say_bad(d, false, "window", "write anything to the bot on the phone",
			"the reply window is closed: nothing can be sent before the next message");
	else if (used >= 8)
		say_bad(d, false, "window", "write anything to the bot on the phone",
			"%lld of 10 sends are used up", (long long)used);
	else
		say_ok("window", "open for %lld min, %lld of 10 sends used", (long long)left / 60,
			(long long)used);
}

void doctor_daemon(struct doctor *d)
{
	struct str answer = STR_INIT(1 << 20);
	const struct client_call call = { .method = "GET",
		.path = "/v1/status",
		.answer = &answer };
	struct json *j = NULL;
	struct view state = VIEW_NONE, why = VIEW_NONE;
	struct err e = ERR_INIT;

	if (client_request(d->home, &call, &e) < 0 ||
		json_read(&j, str_view(&answer), &json_limits_config, &e) < 0) {
		say_bad(d, false, "daemon", e.code == E_NOTFOUND ? "kairo start" : "kairo restart",
			"%s", e.code == E_NOTFOUND ? "not running" : e.msg);
		goto out;
	}
	const struct json *link = json_member(j, "link");
	json_get_str(link, "state", JSON_OPTIONAL, 0, 64, &state, &e);
	json_get_str(link, "why", JSON_OPTIONAL, 0, 512, &why, &e);
	if (view_eqs(state, "up") || view_eqs(state, "starting"))
		say_ok("daemon", "running, link %.*s", VIEW_FMT(state));
	else
		say_bad(d, true, "daemon", "kairo logs shows more", "link %.*s: %.*s",
			VIEW_FMT(state), VIEW_FMT(why));
	check_window(d, j);
out:
	json_free(&j);
	str_release(&answer);
}
