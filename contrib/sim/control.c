#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "fault.h"
#include "ilink.h"
#include "journal.h"
#include "model.h"
#include "watch.h"
#include "world.h"

#define OUT_MAX  ((size_t)128 << 20)
#define TIME_MAX (INT64_MAX / 4) /* ms: the clock and any two of them still add up */

/* --- Requests and answers --------------------------------------------------------------------- */
struct ask {
	struct sim *sim;
	struct hreq *req;
	struct json *j;    /* the body; NULL on GET */
	struct json_out w; /* inside the answer's object */
	struct err e;
};

static void send_json(struct hreq **r, int status, const struct str *s)
{
	hreq_reply(r, &(struct hreply){ .status = status,
			      .body = str_view(s),
			      .extra = "Cache-Control: no-store\r\n" });
}

static void send_error(struct hreq **r, const struct err *e)
{
	struct str s = STR_INIT(4096);
	struct json_out w;
	int status = e->code == E_NOTFOUND ? 404 : e->code == E_CONFLICT ? 409 : 400;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_bool(&w, "ok", false);
	json_put_z(&w, "error", e->msg);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	send_json(r, status, &s);
	str_release(&s);
}

static uint64_t param_u64(const struct ask *a, const char *name, uint64_t otherwise)
{
	struct str s = STR_INIT(64);
	unsigned long long n = otherwise;

	if (hreq_param(a->req, name, &s) == 1 && parse_u64(str_view(&s), &n) < 0)
		n = otherwise;
	str_release(&s);
	return n;
}

/* --- Looking ---------------------------------------------------------------------------------- */
static int get_sent(struct ask *a)
{
	uint64_t since = param_u64(a, "since", 0), all = param_u64(a, "all", 0);
	struct str to = STR_INIT(256);
	const struct delivery *d;

	(void)hreq_param(a->req, "to", &to);
	json_put_u64(&a->w, "last", delivery_last(a->sim));
	json_open_array(&a->w, "sent");
	while ((d = delivery_after(a->sim, since))) {
		since = d->n;
		if ((all || d->shown) && (!to.n || view_eqs(str_view(&to), d->to)))
			delivery_json(a->sim, d, &a->w);
	}
	json_close_array(&a->w);
	str_release(&to);
	return 0;
}

static int get_requests(struct ask *a)
{
	struct str ep = STR_INIT(64);

	(void)hreq_param(a->req, "endpoint", &ep);
	json_open_array(&a->w, "requests");
	journal_print_requests(a->sim->journal, &a->w, param_u64(a, "since", 0), str_view(&ep));
	json_close_array(&a->w);
	str_release(&ep);
	return 0;
}

static int get_violations(struct ask *a)
{
	uint64_t since = param_u64(a, "since", 0);

	json_put_u64(&a->w, "last", journal_last(a->sim->journal, BREACH_VIOLATION));
	json_open_array(&a->w, "violations");
	journal_print_breaches(a->sim->journal, &a->w, BREACH_VIOLATION, since);
	json_close_array(&a->w);
	json_open_array(&a->w, "notes");
	journal_print_breaches(a->sim->journal, &a->w, BREACH_NOTE, param_u64(a, "notes_since", 0));
	json_close_array(&a->w);
	return 0;
}

static void put_peers(struct sim *s, const struct bot *b, struct json_out *w)
{
	json_open_array(w, "peers");
	for (const struct peer *p = b->peers; p; p = p->next) {
		json_open(w, NULL);
		json_put_z(w, "user", p->user);
		json_put_int(w, "used", p->used);
		json_put_int(w, "limit", s->set.quota);
		json_put_int(w, "window_left_ms",
			p->last_in ? p->last_in + s->set.window_ms - sim_now(s) : 0);
		json_put_bool(w, "typing", p->typing_until > sim_now(s));
		json_put_z(w, "token", peer_token(p));
		json_close(w);
	}
	json_close_array(w);
}

static void put_bots(struct sim *s, struct json_out *w)
{
	json_open_array(w, "bots");
	for (struct bot *b = bots_first(s); b; b = b->next) {
		json_open(w, NULL);
		json_put_z(w, "id", b->id);
		json_put_z(w, "token", b->token);
		json_put_z(w, "user", b->user);
		json_put_bool(w, "live", bot_live(s, b));
		json_put_bool(w, "started", b->started);
		json_put_u64(w, "inbound", b->last);
		put_peers(s, b, w);
		json_close(w);
	}
	json_close_array(w);
}

static int get_state(struct ask *a)
{
	struct sim *s = a->sim;

	json_put_int(&a->w, "now_ms", sim_now(s));
	json_put_z(&a->w, "user", s->user);
	json_open(&a->w, "counts");
	for (int t = 0; t < T_ALL; t++)
		json_put_u64(&a->w, tally_name((enum tally)t), s->tally[t]);
	json_put_u64(&a->w, "notes", journal_last(s->journal, BREACH_NOTE));
	json_close(&a->w);
	put_bots(s, &a->w);
	json_open_array(&a->w, "logins");
	logins_json(s, &a->w);
	json_close_array(&a->w);
	json_open_array(&a->w, "faults");
	faults_print(s->faults, &a->w);
	json_close_array(&a->w);
	return 0;
}

/* Both sides of the conversation with one person, in order. */
static int get_chat(struct ask *a)
{
	uint64_t since = param_u64(a, "since", 0), after = 0;
	struct bot *b = bot_newest(a->sim);
	const struct inbound *m = b ? b->in : NULL;
	const struct delivery *d = delivery_after(a->sim, 0);

	json_open_array(&a->w, "chat");
	while (m || d) {
		if (m && (!d || m->seq < d->seq)) {
			if (m->seq > since && !strcmp(m->from, a->sim->user))
				inbound_json(a->sim, m, b, &a->w);
			m = m->next;
			continue;
		}
		after = d->n;
		if (d->seq > since && !strcmp(d->to, a->sim->user) && b && !strcmp(d->bot, b->id))
			delivery_json(a->sim, d, &a->w);
		d = delivery_after(a->sim, after);
	}
	json_close_array(&a->w);
	return 0;
}

static int get_faults(struct ask *a)
{
	json_open_array(&a->w, "faults");
	faults_print(a->sim->faults, &a->w);
	json_close_array(&a->w);
	return 0;
}

static int get_model_requests(struct ask *a)
{
	json_open_array(&a->w, "requests");
	model_print_requests(a->sim, &a->w, param_u64(a, "since", 0));
	json_close_array(&a->w);
	return 0;
}

/* --- Doing ------------------------------------------------------------------------------------ */
static int post_inject(struct ask *a)
{
	return control_inject(a->sim, a->j, &a->w, &a->e);
}

static int post_fault(struct ask *a)
{
	uint64_t id;

	if (faults_add(a->sim->faults, a->j, &id, &a->e) < 0)
		return -1;
	json_put_u64(&a->w, "id", id);
	return 0;
}

static int post_fault_clear(struct ask *a)
{
	faults_clear(a->sim->faults, (uint64_t)opt_int(a->j, "id", 0));
	return 0;
}

static int post_clock(struct ask *a)
{
	int64_t ms = 0;

	if (json_get_int(a->j, "advance_ms", JSON_REQUIRED, 0, TIME_MAX, &ms, &a->e) < 0)
		return -1;
	if (sim_now(a->sim) > TIME_MAX - ms)
		return err_set(&a->e, E_FORMAT, "advance_ms: the clock does not go so far");
	sim_advance(a->sim, ms);
	json_put_int(&a->w, "now_ms", sim_now(a->sim));
	return 0;
}

#define AT(name) #name, offsetof(struct settings, name)
static const struct setting {
	const char *name;
	size_t at;
	int64_t min, max;
} settings[] = {
	{ AT(hold_ms), 0, 600000 },
	{ AT(batch), 1, 1000 },
	{ AT(quota), 0, 1000000 },
	{ AT(window_ms), 0, TIME_MAX },
	{ AT(text_cap), 1, 1000000 },
	{ AT(text_over), 0, 2 },
	{ AT(answer_shape), 0, 3 },
	{ AT(token_strict), 0, 1 },
	{ AT(token_same), 0, 1 },
	{ AT(strict_headers), 0, 1 },
	{ AT(retry_counts), 0, 1 },
	{ AT(auto_confirm), 0, 1 },
	{ AT(qr_life_ms), 0, TIME_MAX },
	{ AT(void_delay_ms), 0, TIME_MAX },
	{ AT(refuse_tokens), 0, 1 },
	{ AT(ticket_life_ms), 1, TIME_MAX },
	{ AT(typing_show_ms), 0, TIME_MAX },
	{ AT(upload_token), 0, 1 },
	{ AT(model_delay_ms), 0, 60000 },
};
#undef AT

static int64_t *setting_of(struct sim *s, const struct setting *t)
{
	return (int64_t *)(void *)((char *)&s->set + t->at);
}

static int set_one(struct ask *a, const struct json *m)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *t = &settings[i];
		bool truth;

		if (strcmp(json_name(m), t->name) != 0)
			continue;
		if (json_type(m) == JSON_BOOL && t->max == 1 &&
			json_get_bool(a->j, t->name, JSON_REQUIRED, &truth, &a->e) == 1) {
			*setting_of(a->sim, t) = truth;
			return 0;
		}
		return json_get_int(a->j, t->name, JSON_REQUIRED, t->min, t->max,
			       setting_of(a->sim, t), &a->e) < 0
		               ? -1
		               : 0;
	}
	return err_set(&a->e, E_FORMAT, "%s: no such setting", json_name(m));
}

static int post_set(struct ask *a)
{
	json_each(m, a->j)
		if (set_one(a, m) < 0)
			return -1;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		json_put_int(&a->w, settings[i].name, *setting_of(a->sim, &settings[i]));
	watches_changed(a->sim, "settings");
	return 0;
}

static int post_login(struct ask *a)
{
	return logins_script(a->sim, a->j, &a->e);
}

static int post_scan(struct ask *a)
{
	return logins_scan(a->sim, opt_str(a->j, "qrcode", NULL), &a->e);
}

static int post_confirm(struct ask *a)
{
	return logins_confirm(a->sim, opt_str(a->j, "qrcode", NULL), opt_str(a->j, "user", NULL),
		&a->e);
}

static int post_expire(struct ask *a)
{
	return logins_expire(a->sim, opt_str(a->j, "qrcode", NULL), &a->e);
}

/* A token dies: by id, or the newest live one. */
static int post_revoke(struct ask *a)
{
	struct view id = opt_str(a->j, "bot", NULL);
	struct bot *b = id.n ? bot_by_id(a->sim, id) : bot_newest(a->sim);
	int64_t ms = 0;

	if (!b)
		return err_set(&a->e, E_NOTFOUND, "no such bot");
	if (json_get_int(a->j, "delay_ms", JSON_OPTIONAL, 0, TIME_MAX, &ms, &a->e) < 0)
		return -1;
	bot_void(a->sim, b, ms);
	json_put_z(&a->w, "bot", b->id);
	return 0;
}

/* A binding without the QR flow. */
static int post_bind(struct ask *a)
{
	struct view user = opt_str(a->j, "user", a->sim->user);
	struct bot *b = bot_new(a->sim, user, &a->e);

	if (!b)
		return -1;
	for (struct bot *older = b->next; older; older = older->next)
		if (!strcmp(older->user, b->user))
			bot_void(a->sim, older, a->sim->set.void_delay_ms);
	sim_count(a->sim, T_LOGINS);
	json_put_z(&a->w, "bot_token", b->token);
	json_put_z(&a->w, "ilink_bot_id", b->id);
	json_put_z(&a->w, "baseurl", a->sim->api_url);
	json_put_z(&a->w, "ilink_user_id", b->user);
	return 0;
}

static int post_model(struct ask *a)
{
	return model_script(a->sim, a->j, &a->e);
}

static int post_forget(struct ask *a)
{
	journal_forget(a->sim->journal);
	return 0;
}

/* --- Those that do not answer at once, or not in JSON ----------------------------------------- */
static int get_wait(struct ask *a)
{
	struct str what = STR_INIT(64);
	uint64_t ms = param_u64(a, "ms", 10000);
	int t = 0;

	(void)hreq_param(a->req, "what", &what);
	while (t < T_ALL && !view_eqs(str_view(&what), tally_name((enum tally)t)))
		t++;
	str_release(&what);
	if (t == T_ALL)
		return err_set(&a->e, E_FORMAT, "what: one of the counts of GET /control/state");
	watches_wait(a->sim, a->req, (enum tally)t, param_u64(a, "count", 1),
		(int64_t)(ms < 600000 ? ms : 600000));
	a->req = NULL;
	return 0;
}

static int get_events(struct ask *a)
{
	watches_stream(a->sim, a->req);
	a->req = NULL;
	return 0;
}

static int get_qr(struct ask *a)
{
	struct str svg = STR_INIT((size_t)1 << 20);
	const char *text = logins_content(a->sim);
	int rc;

	if (!text)
		return err_set(&a->e, E_NOTFOUND, "no QR code was asked for yet");
	rc = page_qr_svg(text, &svg, &a->e);
	if (rc == 0)
		hreq_reply(&a->req, &(struct hreply){ .status = 200,
					    .type = "image/svg+xml",
					    .extra = "Cache-Control: no-store\r\n",
					    .body = str_view(&svg) });
	str_release(&svg);
	return rc;
}

static int put_piece(void *arg, struct view piece)
{
	hreq_piece(arg, piece);
	return 0;
}

static int get_media(struct ask *a)
{
	const struct blob *b = blob_by_id(a->sim->blobs, param_u64(a, "id", 0));

	if (!b || !b->stored)
		return err_set(&a->e, E_NOTFOUND, "no such file");
	hreq_begin(a->req,
		&(struct hreply){ .status = 200,
			.type = b->type,
			.extra = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				 "Content-Security-Policy: sandbox\r\n" },
		b->raw_size);
	if (blob_plain(b, put_piece, a->req) < 0)
		hreq_drop(&a->req, false);
	else
		hreq_end(&a->req);
	return 0;
}

/* --- Dispatch --------------------------------------------------------------------------------- */
static const struct route {
	const char *method, *path;
	int (*run)(struct ask *a);
} routes[] = {
	{ "GET", "/control/sent", get_sent },
	{ "GET", "/control/requests", get_requests },
	{ "GET", "/control/violations", get_violations },
	{ "GET", "/control/state", get_state },
	{ "GET", "/control/chat", get_chat },
	{ "GET", "/control/faults", get_faults },
	{ "GET", "/control/model_requests", get_model_requests },
	{ "GET", "/control/wait", get_wait },
	{ "GET", "/control/events", get_events },
	{ "GET", "/control/qr.svg", get_qr },
	{ "GET", "/control/media", get_media },
	{ "POST", "/control/inject", post_inject },
	{ "POST", "/control/fault", post_fault },
	{ "POST", "/control/fault/clear", post_fault_clear },
	{ "POST", "/control/clock", post_clock },
	{ "POST", "/control/set", post_set },
	{ "POST", "/control/login", post_login },
	{ "POST", "/control/scan", post_scan },
	{ "POST", "/control/confirm", post_confirm },
	{ "POST", "/control/expire", post_expire },
	{ "POST", "/control/revoke", post_revoke },
	{ "POST", "/control/bind", post_bind },
	{ "POST", "/control/model", post_model },
	{ "POST", "/control/forget", post_forget },
};

static int read_body(struct ask *a)
{
	struct json_limits lim = json_limits_wire;
	struct view body = hreq_body(a->req);

	lim.bytes = SIM_BODY_MAX;
	if (json_read(&a->j, body.n ? body : VIEW("{}"), &lim, &a->e) < 0)
		return -1;
	return json_type(a->j) == JSON_OBJECT ? 0 : err_set(&a->e, E_FORMAT, "send a JSON object");
}

static void run_route(struct ask *a, const struct route *rt)
{
	struct str out = STR_INIT(OUT_MAX);
	int rc = !strcmp(rt->method, "POST") ? read_body(a) : 0;

	json_out_begin(&a->w, &out);
	json_open(&a->w, NULL);
	json_put_bool(&a->w, "ok", true);
	if (rc == 0)
		rc = rt->run(a);
	json_close(&a->w);
	if (rc == 0 && a->req)
		rc = json_out_end(&a->w, &a->e);
	if (a->req && rc < 0)
		send_error(&a->req, &a->e);
	else if (a->req)
		send_json(&a->req, 200, &out);
	str_release(&out);
	json_free(&a->j);
}

/* Other sites' pages run in the same browser: only our own may ask, and only by our own name. */
static bool ours(const struct hreq *r)
{
	const char *host = hreq_header(r, "Host"), *origin = hreq_header(r, "Origin");
	char want[300];

	if (!host || (strncmp(host, "127.0.0.1:", 10) != 0 && strncmp(host, "localhost:", 10) != 0))
		return false;
	snprintf(want, sizeof(want), "http://%s", host);
	return !origin || !strcmp(origin, want);
}

void control_on_request(void *arg, struct hreq *r)
{
	struct ask a = { .sim = arg, .req = r, .e = ERR_INIT };

	if (!ours(r)) {
		err_set(&a.e, E_DENIED,
			"asked by another site, or under another name than 127.0.0.1");
		send_error(&a.req, &a.e);
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(hreq_path(r), routes[i].path) &&
			!strcmp(hreq_method(r), routes[i].method)) {
			run_route(&a, &routes[i]);
			return;
		}
	err_set(&a.e, E_NOTFOUND, "no such call; contrib/sim/README.md lists them");
	send_error(&a.req, &a.e);
}

void control_on_page(void *arg, struct hreq *r)
{
	static const char safe[] =
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		"Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
		"'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'\r\n";

	if (strcmp(hreq_path(r), "/") != 0 || strcmp(hreq_method(r), "GET") != 0 || !ours(r)) {
		control_on_request(arg, r);
		return;
	}
	hreq_reply(&r, &(struct hreply){ .status = 200,
			       .type = "text/html; charset=utf-8",
			       .extra = safe,
			       .body = page_html() });
}
