/* Login by QR code (wire reference, 2). Every step ends with its report, so that whoever hears it
 * may free the login. */
#include "channel/ilink/ilink.h"

#include <stdlib.h>
#include <string.h>

#include "base/testhook.h"
#include "channel/ilink/api.h"

#define CODE_POLL_MS   35000
#define CODE_GAP_MS    1000
#define CODE_LIFE_MS   100000 /* replaced ahead of its expiry at about 120 s */
#define CODE_ASK_MS    15000
#define CODE_TRIES     3 /* of one request for a code, on transport failures */
#define CODE_RETRY_MS  2000
#define TOTAL_MS       480000
#define CODES_MAX      3
#define TOKENS_MAX     10
#define NUMBER_MAX     16
#define TOKENS_REFUSED (-3)

enum login_state {
	LOGIN_ASKING,  /* for a code, or about to */
	LOGIN_POLLING, /* its status is asked for, or about to be */
	LOGIN_NUMBER,  /* the person is asked for the number on the phone */
	LOGIN_OVER
};

struct login {
	struct api api;
	login_cb *cb;
	void *arg;
	enum login_state state;
	struct http_call *call;
	struct timer *next, *total;
	char base[ACCOUNT_URL_MAX + 1]; /* the fixed host */
	char host[ACCOUNT_URL_MAX + 1]; /* where this code is polled */
	char *tokens[TOKENS_MAX];
	size_t ntokens;
	char key[WIRE_QR_KEY_MAX + 1]; /* of the code */
	char number[NUMBER_MAX + 1];   /* pending verify code */
	int64_t shown, deadline;
	int codes, codes_max, tries;
	bool scanned, told; /* this code: keep it; the person knows */
	char trouble[160];  /* the cause told last */
};

static void login_ask(struct login *l);
static void login_poll(struct login *l);

/* --- Reports: each the last thing its caller does --------------------------------------------- */
static void report(struct login *l, enum login_event event, struct view text)
{
	struct login_report r = { .event = event, .text = text };

	l->cb(l->arg, &r);
}

static void finish(struct login *l)
{
	l->state = LOGIN_OVER;
	http_cancel(&l->call);
	timer_disarm(l->next);
	timer_disarm(l->total);
}

static void fail(struct login *l, enum err_code code, const char *msg)
{
	struct err e = ERR_INIT;
	struct login_report r = { .event = LOGIN_FAILED, .err = &e };

	err_set(&e, code, "%s", msg);
	finish(l);
	l->cb(l->arg, &r);
}

static void poll_again(struct login *l)
{
	timer_arm(l->next, test_pause(CODE_GAP_MS));
}

/* A failed poll is the same as "wait"; its cause is shown once. */
static void trouble(struct login *l, const char *why)
{
	struct view v = view_cut(view_of(why), sizeof(l->trouble) - 1);

	poll_again(l);
	if (view_eqs(v, l->trouble))
		return;
	(void)copy_z(l->trouble, sizeof(l->trouble), v);
	log_info(l->api.log, "login", "%s", why);
	report(l, LOGIN_TROUBLE, view_of(why));
}

/* --- A code ----------------------------------------------------------------------------------- */
static const char no_more_tries[] =
	"too many wrong numbers were entered: wait a few minutes, then run"
	" `kairo login` again";
static const char no_more_codes[] =
	"no code was confirmed in time: run `kairo login` again; if the"
	" phone shows no page to confirm, update WeChat (8.0.70 or newer)";

/* Take a new code, if there is one left, and say why. */
static void replace(struct login *l, enum login_event why)
{
	l->number[0] = '\0';
	if (l->codes >= l->codes_max) {
		fail(l, E_TIMEOUT, why == LOGIN_BLOCKED ? no_more_tries : no_more_codes);
		return;
	}
	l->state = LOGIN_ASKING;
	l->tries = 0;
	timer_arm(l->next, 0);
	if (why != LOGIN_SHOW_QR)
		report(l, why, VIEW_NONE);
}

static void show(struct login *l, const struct wire_qr *qr)
{
	struct login_report r = { .event = LOGIN_SHOW_QR };
	int64_t now = loop_now(l->api.loop);

	(void)copy_z(l->key, sizeof(l->key), view_of(qr->key));
	(void)copy_z(l->host, sizeof(l->host),
		view_of(l->base)); /* a redirect was the old scan's */
	l->codes++;
	l->shown = now;
	l->scanned = l->told = false;
	l->trouble[0] = '\0';
	l->state = LOGIN_POLLING;
	timer_arm(l->next, 0);
	r.text = view_of(qr->text);
	r.left_ms = l->deadline - now < CODE_LIFE_MS ? l->deadline - now : CODE_LIFE_MS;
	l->cb(l->arg, &r);
}

static void forget_tokens(struct login *l)
{
	for (size_t i = 0; i < l->ntokens; i++) {
		explicit_bzero(l->tokens[i], strlen(l->tokens[i]));
		free(l->tokens[i]);
	}
	l->ntokens = 0;
}

/* Waiting does not mend an address, a certificate or a path that is wrong. */
static bool is_lasting(const struct http_result *r)
{
	if (r->fail == HTTP_OK_)
		return r->status == 403 || r->status == 404;
	return r->fail == HTTP_FAIL_URL || r->fail == HTTP_FAIL_TLS || r->fail == HTTP_FAIL_PEER;
}

static void ask_failed(struct login *l, enum err_code code, const char *why, bool lasting)
{
	char msg[256];

	if (!lasting && ++l->tries < CODE_TRIES) {
		log_info(l->api.log, "login", "asking for a code failed: %s", why);
		timer_arm(l->next, test_pause(CODE_RETRY_MS));
		return;
	}
	snprintf(msg, sizeof(msg), "cannot get a login code: %.200s", why);
	fail(l, code, msg);
}

static void login_on_code(void *arg, const struct http_result *r)
{
	struct login *l = arg;
	struct wire_qr qr;
	struct err e = ERR_INIT;
	char why[256];

	l->call = NULL;
	if (api_failed(r, why, sizeof(why))) {
		ask_failed(l, r->fail == HTTP_OK_ ? E_NET : r->err->code, why, is_lasting(r));
		return;
	}
	if (wire_read_qr(r->body, &qr, &e) < 0) {
		ask_failed(l, e.code, e.msg, false);
	} else if (qr.code.code == TOKENS_REFUSED && l->ntokens) {
		forget_tokens(l);
		timer_arm(l->next, 0);
	} else if (qr.code.code != 0) {
		api_refusal(&qr.code, NULL, NULL, why, sizeof(why));
		ask_failed(l, E_DENIED, why, false);
	} else {
		show(l, &qr);
	}
	explicit_bzero(&qr, sizeof(qr));
}

static void login_ask(struct login *l)
{
	struct str body = STR_INIT((size_t)TOKENS_MAX * (ACCOUNT_TOKEN_MAX + 16) * 2);
	struct err e = ERR_INIT;
	struct api_call c = { .http = l->api.api_http,
		.base = l->base,
		.endpoint = "ilink/bot/get_bot_qrcode?bot_type=3",
		.timeout_ms = CODE_ASK_MS,
		.done = login_on_code,
		.arg = l };
	int rc = wire_write_qr(&body, (const char *const *)l->tokens, l->ntokens, &e);

	if (rc == 0) {
		c.body = str_view(&body);
		rc = api_post(&l->call, &l->api, &c, &e);
	}
	str_wipe(&body);
	if (rc < 0)
		fail(l, e.code, e.msg);
}

/* --- Its status ------------------------------------------------------------------------------- */
static void need_number(struct login *l)
{
	enum login_event ev = l->number[0] ? LOGIN_WRONG_NUMBER : LOGIN_NEED_NUMBER;

	l->number[0] = '\0';
	l->scanned = true;
	l->state = LOGIN_NUMBER; /* the next poll waits for the person */
	report(l, ev, VIEW_NONE);
}

static void scanned(struct login *l)
{
	bool first = !l->told || l->number[0];

	l->number[0] = '\0';
	l->scanned = l->told = true;
	poll_again(l);
	if (first)
		report(l, LOGIN_SCANNED, VIEW_NONE);
}

/* "host", or in development "host:port" with the scheme of the base. */
static void redirect(struct login *l, const char *host)
{
	struct view h = view_of(host);
	struct http_url base;
	struct err e = ERR_INIT;
	bool plain = view_find(h, ':') < h.n &&
	             http_url_parse(view_of(l->base), &base, NULL) == 0 && !base.tls;
	char url[ACCOUNT_URL_MAX + 1], why[256];

	l->scanned = true;
	if (!host[0]) {
		poll_again(l);
		return;
	}
	if (account_check_host(h, l->api.loopback, &e) < 0) {
		snprintf(why, sizeof(why),
			"the server names another host that is not allowed: %.160s", e.msg);
		trouble(l, why);
		return;
	}
	snprintf(url, sizeof(url), "%s://%s", plain ? "http" : "https", host);
	poll_again(l);
	if (strcmp(url, l->host) == 0)
		return;
	(void)copy_z(l->host, sizeof(l->host), view_of(url));
	report(l, LOGIN_REDIRECTED, h);
}

static void bound_already(struct login *l)
{
	if (l->ntokens == 0) { /* nothing of ours was offered, so nothing of ours is bound */
		fail(l, E_CONFLICT,
			"the server says this bot is bound already, but no login is stored"
			" here: run `kairo login --force`");
		return;
	}
	finish(l);
	report(l, LOGIN_ALREADY, VIEW_NONE);
}

static void confirmed(struct login *l, const struct wire_scanned *s)
{
	struct login_report r = { .event = LOGIN_DONE };
	const char *base = s->base_url[0] ? s->base_url : l->base;
	struct err e = ERR_INIT;

	if (account_check_url(view_of(base), l->api.loopback, &e) < 0) {
		err_wrap(&e, "the login names an address that is not allowed");
		fail(l, e.code, e.msg);
		return;
	}
	api_hide(&l->api, s->token);
	r.result = (struct account_login){ .bot_id = s->bot_id,
		.user_id = s->user_id,
		.token = s->token,
		.base_url = base };
	finish(l);
	l->cb(l->arg, &r);
}

static void take_status(struct login *l, const struct wire_scanned *s)
{
	switch (s->status) {
	case WIRE_SCAN_SCANNED: scanned(l); break;
	case WIRE_SCAN_NEED_NUMBER: need_number(l); break;
	case WIRE_SCAN_BLOCKED: replace(l, LOGIN_BLOCKED); break;
	case WIRE_SCAN_EXPIRED: replace(l, LOGIN_QR_EXPIRED); break;
	case WIRE_SCAN_REDIRECT: redirect(l, s->redirect_host); break;
	case WIRE_SCAN_BOUND: bound_already(l); break;
	case WIRE_SCAN_CONFIRMED: confirmed(l, s); break;
	case WIRE_SCAN_UNKNOWN:
	case WIRE_SCAN_WAIT: poll_again(l); break;
	}
}

static void login_on_status(void *arg, const struct http_result *r)
{
	struct login *l = arg;
	struct wire_scanned s;
	struct err e = ERR_INIT;
	char why[256];

	l->call = NULL;
	if (r->fail == HTTP_FAIL_TIMEOUT && r->request_sent) {
		poll_again(l); /* the server may hold a poll this long */
		return;
	}
	if (api_failed(r, why, sizeof(why))) {
		trouble(l, why);
		return;
	}
	if (wire_read_scanned(r->body, &s, &e) < 0) {
		if (s.status == WIRE_SCAN_CONFIRMED)
			fail(l, e.code, e.msg);
		else
			trouble(l, e.msg);
	} else if (s.code.code != 0) {
		api_refusal(&s.code, l->key, NULL, why, sizeof(why));
		trouble(l, why);
	} else {
		take_status(l, &s);
	}
	explicit_bzero(&s, sizeof(s));
}

static int64_t code_left(const struct login *l)
{
	return l->shown + CODE_LIFE_MS - loop_now(l->api.loop);
}

/* Somebody who has scanned keeps the code; the last one is used to its end. */
static bool may_replace(const struct login *l)
{
	return !l->scanned && !l->number[0] && l->codes < l->codes_max;
}

static void login_poll(struct login *l)
{
	struct str path = STR_INIT(8192);
	struct err e = ERR_INIT;
	struct api_call c = { .http = l->api.poll_http,
		.base = l->host,
		.timeout_ms = CODE_POLL_MS,
		.done = login_on_status,
		.arg = l };
	int rc;

	if (may_replace(l)) {
		if (code_left(l) <= 0) {
			replace(l, LOGIN_SHOW_QR);
			return;
		}
		if (code_left(l) < c.timeout_ms)
			c.timeout_ms = code_left(l);
	}
	str_adds(&path, "ilink/bot/get_qrcode_status?qrcode=");
	http_query_escape(view_of(l->key), &path);
	if (l->number[0]) {
		str_adds(&path, "&verify_code=");
		http_query_escape(view_of(l->number), &path);
	}
	c.endpoint = str_cstr(&path);
	rc = str_ok(&path) ? api_get(&l->call, &l->api, &c, &e)
	                   : err_set(&e, E_NOMEM, "no memory to ask for the code's status");
	str_wipe(&path);
	if (rc < 0)
		fail(l, e.code, e.msg);
}

/* --- From outside ----------------------------------------------------------------------------- */
static void login_on_next(void *arg)
{
	struct login *l = arg;

	if (l->state == LOGIN_ASKING)
		login_ask(l);
	else if (l->state == LOGIN_POLLING)
		login_poll(l);
}

static void login_on_total(void *arg)
{
	fail(arg, E_TIMEOUT, "the login was not confirmed in time: run `kairo login` again");
}

static bool is_number(struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] < '0' || v.p[i] > '9')
			return false;
	return v.n >= 1 && v.n <= NUMBER_MAX;
}

int login_number(struct login *l, struct view digits, struct err *e)
{
	digits = view_trim(digits);
	if (l->state != LOGIN_NUMBER)
		return err_set(e, E_CONFLICT, "no number is asked for now");
	if (!is_number(digits))
		return err_set(e, E_FORMAT, "the number on the phone has 1 to %d digits",
			NUMBER_MAX);
	(void)copy_z(l->number, sizeof(l->number), digits);
	l->state = LOGIN_POLLING;
	timer_arm(l->next, 0);
	return 0;
}

static int copy_tokens(struct login *l, const struct login_opts *o, struct err *e)
{
	for (size_t i = 0; !o->force && i < o->ntokens && l->ntokens < TOKENS_MAX; i++) {
		l->tokens[l->ntokens] = strdup(o->tokens[i]);
		if (!l->tokens[l->ntokens])
			return err_set(e, E_NOMEM, "no memory for the login");
		l->ntokens++;
	}
	return 0;
}

static int login_init(struct login *l, const struct ilink_env *env, const struct login_opts *o,
	struct err *e)
{
	const char *base = o->base_url ? o->base_url : ACCOUNT_LOGIN_URL;
	int64_t total = o->total_ms > 0 ? o->total_ms : TOTAL_MS;

	if (api_init(&l->api, env, e) < 0 ||
		account_check_url(view_of(base), env->loopback, e) < 0 || copy_tokens(l, o, e) < 0)
		return -1;
	if (copy_z(l->base, sizeof(l->base), view_of(base)) < 0)
		return err_set(e, E_FORMAT, "the login address is longer than %d bytes",
			ACCOUNT_URL_MAX);
	if (timer_new(&l->next, env->loop, login_on_next, l, e) < 0 ||
		timer_new(&l->total, env->loop, login_on_total, l, e) < 0)
		return -1;
	l->codes_max = o->max_codes > 0 ? o->max_codes : CODES_MAX;
	l->deadline = loop_now(env->loop) + (total < 1000 ? 1000 : total);
	l->state = LOGIN_ASKING;
	timer_arm(l->next, 0);
	timer_arm(l->total, l->deadline - loop_now(env->loop));
	return 0;
}

int login_start(struct login **out, const struct ilink_env *env, const struct login_opts *o,
	login_cb *cb, void *arg, struct err *e)
{
	struct login *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return err_set(e, E_NOMEM, "no memory for the login");
	l->cb = cb;
	l->arg = arg;
	if (login_init(l, env, o, e) < 0) {
		login_free(&l);
		return -1;
	}
	*out = l;
	return 0;
}

void login_free(struct login **lp)
{
	struct login *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	http_cancel(&l->call);
	timer_free(&l->next);
	timer_free(&l->total);
	forget_tokens(l);
	explicit_bzero(l, sizeof(*l));
	free(l);
}
