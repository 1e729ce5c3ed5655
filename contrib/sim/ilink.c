#include "ilink.h"

#include <string.h>

static const struct endpoint {
	const char *path, *name, *method;
	int want;
	bool known_only; /* an unknown or void token is told so before anything else */
	void (*handle)(struct call *c);
} endpoints[] = {
	{ "/ilink/bot/get_bot_qrcode", "get_bot_qrcode", NULL, WANT_POST, false, get_bot_qrcode },
	{ "/ilink/bot/get_qrcode_status", "get_qrcode_status", "GET", 0, false, get_qrcode_status },
	{ "/ilink/bot/msg/notifystart", "notifystart", "POST",
		WANT_POST | WANT_TOKEN | WANT_BASE_INFO, true, notifystart },
	{ "/ilink/bot/msg/notifystop", "notifystop", "POST",
		WANT_POST | WANT_TOKEN | WANT_BASE_INFO, true, notifystop },
	{ "/ilink/bot/getupdates", "getupdates", "POST", WANT_POST | WANT_TOKEN | WANT_BASE_INFO,
		true, getupdates },
	{ "/ilink/bot/sendmessage", "sendmessage", "POST", WANT_POST | WANT_TOKEN | WANT_BASE_INFO,
		true, sendmessage },
	{ "/ilink/bot/getconfig", "getconfig", "POST", WANT_POST | WANT_TOKEN | WANT_BASE_INFO,
		true, getconfig },
	{ "/ilink/bot/sendtyping", "sendtyping", "POST", WANT_POST | WANT_TOKEN | WANT_BASE_INFO,
		true, sendtyping },
	{ "/ilink/bot/getuploadurl", "getuploadurl", "POST",
		WANT_POST | WANT_TOKEN | WANT_BASE_INFO, true, getuploadurl },
};

static const struct endpoint *endpoint_of(const char *path)
{
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
		if (!strcmp(path, endpoints[i].path))
			return &endpoints[i];
	return NULL;
}

static void answer_404(struct call *c, int status)
{
	c->status = status;
	c->type = "text/plain";
	str_adds(&c->out, "no such thing here\n");
	call_answer(c);
}

/* The whole request as the client wrote it, for a fault's "match". */
static struct view request_text(struct call *c)
{
	struct view body = hreq_body(c->req);

	return body.n ? body : view_of(hreq_query(c->req));
}

static void find_bot(struct call *c)
{
	const char *v = hreq_header(c->req, "Authorization");

	if (v && !strncmp(v, "Bearer ", 7))
		c->bot = bot_by_token(c->sim, view_of(v + 7));
}

/* 0, or -1 when the body is no JSON object. An absent body is fine where none is needed. */
static int read_body(struct call *c, const struct endpoint *ep)
{
	struct view body = hreq_body(c->req);
	struct json_limits lim = json_limits_wire;
	struct err e = ERR_INIT;

	if (!body.n && !(ep->want & WANT_BASE_INFO))
		return 0;
	lim.bytes = SIM_BODY_MAX;
	if (json_read(&c->body, body, &lim, &e) < 0) {
		violation(c, "body_not_json", "%s", e.msg);
		return -1;
	}
	if (json_type(c->body) == JSON_OBJECT)
		return 0;
	violation(c, "body_not_json", "the body is no object");
	return -1;
}

/* Since the headers decide the answer only when a test says so. */
static bool strict_refusal(struct call *c)
{
	const char *id = hreq_header(c->req, "iLink-App-Id");
	const char *version = hreq_header(c->req, "iLink-App-ClientVersion");
	bool bad = !id || !*id || !version || !*version || !strcmp(version, "0");

	if (!c->sim->set.strict_headers || !bad)
		return false;
	call_errcode(c, -14, "session timeout");
	return true;
}

static bool token_refusal(struct call *c, const struct endpoint *ep)
{
	if (!ep->known_only || (c->bot && bot_live(c->sim, c->bot)))
		return false;
	call_errcode(c, -14, "session timeout");
	return true;
}

void ilink_on_request(void *arg, struct hreq *r)
{
	struct sim *s = arg;
	const struct endpoint *ep = endpoint_of(hreq_path(r));
	struct call *c = call_new(s, r, ep ? ep->name : "unknown");
	int bad;

	if (!c)
		return;
	sim_count(s, T_REQUESTS);
	if (!ep) {
		violation(c, "unknown_path", "%.100s", hreq_path(r));
		answer_404(c, 404);
		return;
	}
	if (ep->method && strcmp(ep->method, hreq_method(r)) != 0) {
		violation(c, "method", "%.10s instead of %s", hreq_method(r), ep->method);
		answer_404(c, 405);
		return;
	}
	find_bot(c);
	bad = read_body(c, ep);
	check_headers(c, !strcmp(hreq_method(r), "GET") ? ep->want & ~WANT_POST : ep->want);
	c->fault = faults_take(s->faults, ep->name, WHEN_REQUEST, request_text(c));
	if (call_fault_first(c) || strict_refusal(c))
		return;
	if (bad)
		call_refuse(c, -2, "invalid arguments");
	else if (!token_refusal(c, ep))
		ep->handle(c);
}

static void answer_ok(struct call *c)
{
	str_adds(&c->out, "{\"ret\":0,\"errmsg\":\"\"}");
	call_answer(c);
}

void notifystart(struct call *c)
{
	c->bot->started = true;
	sim_count(c->sim, T_NOTIFYSTART);
	answer_ok(c);
}

void notifystop(struct call *c)
{
	c->bot->started = false;
	sim_count(c->sim, T_NOTIFYSTOP);
	answer_ok(c);
}
