#include "channel/ilink/notify.h"

#include <stdlib.h>

#include "base/file.h"

struct notify {
	struct api *api;
	const struct account *acc;
	struct http_call *call;
	struct timer *again;    /* the next try of notifystart */
	struct timer *patience; /* the caller waits no longer than this */
	bool stopping;
	int failures;
	notify_cb *cb; /* NULL: told already */
	void *arg;
};

static void say(struct notify *n);

/* The caller may free us from its callback: nothing follows it. */
static void settle(struct notify *n)
{
	notify_cb *cb = n->cb;

	n->cb = NULL;
	timer_disarm(n->patience);
	if (cb)
		cb(n->arg);
}

static void notify_on_again(void *arg)
{
	say(arg);
}

static void notify_on_patience(void *arg)
{
	struct notify *n = arg;

	if (n->stopping)
		http_cancel(&n->call);
	settle(n);
}

static void failed(struct notify *n, const char *why)
{
	n->failures++;
	log_msg(n->api->log, n->failures == 1 ? LOG_WARN : LOG_DEBUG, "ilink", NULL,
		"%s failed: %s", n->stopping ? "notifystop" : "notifystart", why);
	if (!n->stopping)
		timer_arm(n->again, backoff_ms(n->failures, rand_u64()));
}

static void notify_on_done(void *arg, const struct http_result *r)
{
	struct notify *n = arg;
	struct wire_code code;
	struct err e = ERR_INIT;
	char why[256];

	n->call = NULL;
	if (api_failed(r, why, sizeof(why))) {
		failed(n, why);
	} else if (wire_read_code(r->body, &code, &e) < 0) {
		failed(n, e.msg);
	} else if (code.code != 0) {
		api_refusal(&code, account_token(n->acc), NULL, why, sizeof(why));
		failed(n, why);
	} else {
		n->failures = 0;
	}
	settle(n);
}

static void say(struct notify *n)
{
	struct str body = STR_INIT(4096);
	struct err e = ERR_INIT;
	struct api_call c = { .http = n->api->api_http, .done = notify_on_done, .arg = n };

	c.endpoint = n->stopping ? "ilink/bot/msg/notifystop" : "ilink/bot/msg/notifystart";
	c.timeout_ms = n->stopping ? NOTIFY_PATIENCE_MS : API_CONFIG_MS;
	if (api_call_account(&n->call, n->api, n->acc, wire_write_notify(&body, &n->api->me, &e),
		    &body, c, &e) < 0) {
		failed(n, e.msg);
		timer_arm(n->patience, 0);
	}
}

static void begin(struct notify *n, bool stopping, notify_cb *cb, void *arg)
{
	notify_cancel(n);
	n->stopping = stopping;
	n->cb = cb;
	n->arg = arg;
	timer_arm(n->patience, NOTIFY_PATIENCE_MS);
	say(n);
}

void notify_start(struct notify *n, notify_cb *cb, void *arg)
{
	begin(n, false, cb, arg);
}

void notify_stop(struct notify *n, notify_cb *cb, void *arg)
{
	begin(n, true, cb, arg);
}

void notify_cancel(struct notify *n)
{
	http_cancel(&n->call);
	timer_disarm(n->again);
	timer_disarm(n->patience);
	n->failures = 0;
	n->cb = NULL;
}

int notify_new(struct notify **out, struct api *api, const struct account *acc, struct err *e)
{
	struct notify *n = calloc(1, sizeof(*n));

	*out = NULL;
	if (!n)
		return err_set(e, E_NOMEM, "no memory for notifystart");
	n->api = api;
	n->acc = acc;
	if (timer_new(&n->again, api->loop, notify_on_again, n, e) < 0 ||
		timer_new(&n->patience, api->loop, notify_on_patience, n, e) < 0) {
		notify_free(&n);
		return -1;
	}
	*out = n;
	return 0;
}

void notify_free(struct notify **np)
{
	struct notify *n = *np;

	*np = NULL;
	if (!n)
		return;
	http_cancel(&n->call);
	timer_free(&n->again);
	timer_free(&n->patience);
	free(n);
}
