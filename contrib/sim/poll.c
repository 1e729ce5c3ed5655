/* getupdates (wire reference, sections 4 and 5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "ilink.h"

/* Stand-ins that are swapped for bytes no JSON writer would let through. */
#define MARK_NUL "\xee\x80\x80"
#define MARK_BAD "\xee\x80\x81"

struct dressing {
	const char *id, *token; /* in place of the message's own */
	bool no_id;
	const char *before; /* the text begins with this */
	int64_t pad;        /* and is this long */
};

/* --- Cursors ---------------------------------------------------------------------------------- */
static void cursor_make(const struct bot *b, uint64_t n, struct str *out)
{
	char plain[128];

	snprintf(plain, sizeof(plain), "cur1|%s|%llu", b->id, (unsigned long long)n);
	base64_encode(view_of(plain), out);
}

/* An unknown one means: from the start. */
static uint64_t cursor_read(struct call *c, struct view text)
{
	struct str s = STR_INIT(256);
	char prefix[96];
	unsigned long long n = 0;
	size_t len;

	if (!text.n)
		return 0;
	snprintf(prefix, sizeof(prefix), "cur1|%s|", c->bot->id);
	len = strlen(prefix);
	if (base64_decode(text, &s) < 0 || !view_starts(str_view(&s), view_of(prefix)) ||
		parse_u64(view_from(str_view(&s), len), &n) < 0 || n > c->bot->last) {
		violation(c, "cursor_unknown", "get_updates_buf is none that this bot was given");
		n = 0;
	}
	str_release(&s);
	return n;
}

/* --- Messages --------------------------------------------------------------------------------- */
static void put_id(struct json_out *w, const char *name, const char *digits, bool number)
{
	unsigned long long n;

	if (number && parse_u64(view_of(digits), &n) == 0)
		json_put_u64(w, name, n);
	else
		json_put_z(w, name, digits);
}

static void put_text(struct json_out *w, const char *text, const struct dressing *d)
{
	struct str s = STR_INIT((size_t)64 << 20);

	if (d->before)
		str_adds(&s, d->before);
	str_adds(&s, text);
	while (d->pad > 0 && s.n < (size_t)d->pad && str_ok(&s))
		str_addc(&s, s.n % 64 == 63 ? '\n' : 'x');
	json_put_str(w, "text", str_view(&s));
	str_release(&s);
}

static void put_text_item(struct json_out *w, const struct inbound *m, const char *id,
	const struct dressing *d)
{
	json_open_array(w, "item_list");
	json_open(w, NULL);
	json_put_int(w, "type", 1);
	if (id)
		put_id(w, "msg_id", id, !m->id_number);
	json_put_int(w, "create_time_ms", m->at);
	json_put_int(w, "update_time_ms", m->at);
	json_put_bool(w, "is_completed", true);
	if (m->ref)
		json_put_raw(w, "ref_msg", view_of(m->ref));
	json_open(w, "text_item");
	put_text(w, m->text, d);
	json_close(w);
	json_open_array(w, "button_item_list");
	json_close_array(w);
	json_put_z(w, "root_id", "0");
	json_close(w);
	json_close_array(w);
}

/* Members that a test gives win over ours. */
static bool extra_has(const struct json *extra, const char *name)
{
	return extra && json_member(extra, name);
}

static void put_message(struct json_out *w, const struct bot *b, const struct inbound *m,
	const struct dressing *d)
{
	const char *id = d->no_id ? NULL : d->id ? d->id : m->id;
	const char *token = d->token ? d->token : m->token;
	struct json *extra = NULL;

	if (m->raw) {
		json_put_raw(w, NULL, view_of(m->raw));
		return;
	}
	if (m->extra)
		(void)json_read(&extra, view_of(m->extra), &json_limits_wire, NULL);
	json_open(w, NULL);
	if (!extra_has(extra, "seq"))
		json_put_u64(w, "seq", m->n);
	if (id)
		put_id(w, "message_id", id, m->id_number);
	json_put_z(w, "from_user_id", m->from);
	if (!extra_has(extra, "to_user_id"))
		json_put_z(w, "to_user_id", b->id);
	if (!extra_has(extra, "client_id") && m->client)
		json_put_z(w, "client_id", m->client);
	if (!extra_has(extra, "create_time_ms"))
		json_put_int(w, "create_time_ms", m->at);
	if (!extra_has(extra, "session_id"))
		json_put_z(w, "session_id", "s-1");
	if (!extra_has(extra, "message_type"))
		json_put_int(w, "message_type", m->type);
	if (!extra_has(extra, "message_state"))
		json_put_int(w, "message_state", 2);
	if (m->items)
		json_put_raw(w, "item_list", view_of(m->items));
	else if (m->text)
		put_text_item(w, m, id, d);
	if (token)
		json_put_z(w, "context_token", token);
	json_open(w, "sim_unknown"); /* a client has to live with fields it never saw */
	json_put_null(w, "later");
	json_put_double(w, "ratio", 0.5);
	json_close(w);
	if (extra)
		json_each(it, extra)
			json_put_json(w, json_name(it), it);
	json_close(w);
	json_free(&extra);
}

static void put_duplicate(struct call *c, struct json_out *w, const struct inbound *m)
{
	const char *form = c->fault->form ? c->fault->form : "same";
	struct dressing d = { .id = NULL };
	struct peer *p = peer_find(c->bot, view_of(m->from));
	char *token = NULL;
	char id[24];

	if (!strcmp(form, "other_id")) {
		snprintf(id, sizeof(id), "%llu", (unsigned long long)world_id(c->sim));
		d.id = id;
	}
	if (!strcmp(form, "other_token") && p) {
		token = fresh_token();
		if (token && peer_add_token(p, token) == 0)
			d.token = token;
	}
	d.no_id = !strcmp(form, "no_id");
	put_message(w, c->bot, m, &d);
	free(token);
}

static void put_one(struct call *c, struct json_out *w, struct inbound *m)
{
	struct dressing d = { .id = NULL };

	if (fault_is(c->fault, F_NUL_TEXT))
		d.before = MARK_NUL;
	if (fault_is(c->fault, F_BAD_UTF8))
		d.before = MARK_BAD;
	if (fault_is(c->fault, F_BIG_TEXT))
		d.pad = c->fault->bytes > 0 ? c->fault->bytes : 1 << 20;
	put_message(w, c->bot, m, &d);
	m->fetched++;
	sim_count(c->sim, T_FETCHED);
	if (fault_is(c->fault, F_DUP))
		put_duplicate(c, w, m);
}

/* The messages after number `from`, at most `max`; the number of the last. */
static uint64_t put_messages(struct call *c, struct json_out *w, uint64_t from, size_t max)
{
	struct inbound *list[1000];
	size_t n = 0;

	max = max < 1000 ? max : 1000;
	for (struct inbound *m = c->bot->in; m && n < max; m = m->next)
		if (m->n > from)
			list[n++] = m;
	if (fault_is(c->fault, F_BAD_MESSAGE))
		json_put_raw(w, NULL,
			c->fault->body.n
				? str_view(&c->fault->body)
				: VIEW("{\"message_id\":{},\"from_user_id\":7,\"item_list\":\"?\"}"));
	for (size_t i = 0; i < n; i++)
		put_one(c, w, list[fault_is(c->fault, F_REORDER) ? n - 1 - i : i]);
	return n ? list[n - 1]->n : from;
}

static void swap_marks(struct call *c)
{
	if (fault_is(c->fault, F_NUL_TEXT))
		replace_bytes(&c->out, VIEW(MARK_NUL), VIEW("a\\u0000b"));
	if (fault_is(c->fault, F_BAD_UTF8))
		replace_bytes(&c->out, VIEW(MARK_BAD),
			VIEW("a\xff\xc0\xaf\xed\xa0\x80"
			     "b"));
}

/* --- Answering -------------------------------------------------------------------------------- */
static void put_cursor(struct call *c, struct json_out *w, uint64_t n, bool empty)
{
	struct str text = STR_INIT(256);

	if (!empty)
		cursor_make(c->bot, n, &text);
	if (fault_is(c->fault, F_CURSOR))
		json_put_raw(w, "get_updates_buf", str_view(&c->fault->body));
	else
		json_put_str(w, "get_updates_buf", str_view(&text));
	str_release(&text);
}

static void poll_answer(struct call *c)
{
	bool any = c->bot->last > c->cursor, bare = c->bot->answers++ % 2 == 1;
	uint64_t from = c->cursor, last = c->cursor;
	struct json_out w;

	if (any && !c->fault)
		c->fault =
			faults_take(c->sim->faults, c->endpoint, WHEN_MESSAGES, hreq_body(c->req));
	if (fault_is(c->fault, F_REDELIVER)) {
		uint64_t back = c->fault->bytes > 0 ? (uint64_t)c->fault->bytes : 1;

		from = from > back ? from - back : 0;
	}
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	if (any || !bare) {
		json_open_array(&w, "msgs");
		if (any)
			last = put_messages(c, &w, from, (size_t)c->sim->set.batch);
		json_close_array(&w);
	}
	if (!bare)
		json_put_z(&w, "sync_buf", "");
	put_cursor(c, &w, last > c->cursor ? last : c->cursor, !any && bare);
	if (fault_is(c->fault, F_TIMEOUT))
		json_put_raw(&w, "longpolling_timeout_ms", str_view(&c->fault->body));
	else if (!bare)
		json_put_int(&w, "longpolling_timeout_ms", 35000);
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		str_reset(&c->out);
	swap_marks(c);
	call_answer(c);
}

static void poll_ended(struct call *c)
{
	c->held = false;
	sim_gauge(c->sim, T_POLLING, -1);
}

static void poll_hold_over(struct call *c)
{
	poll_answer(c);
}

static void check_other_polls(struct call *c)
{
	for (const struct call *o = c->sim->calls; o; o = o->next)
		if (o != c && o->held && o->bot == c->bot && !o->login && !hreq_peer_left(o->req))
			violation(c, "two_polls", "poll %llu of this token is still open",
				(unsigned long long)o->n);
}

void getupdates(struct call *c)
{
	struct view text = check_str(c, c->body, "get_updates_buf");

	sim_count(c->sim, T_POLLS);
	check_other_polls(c);
	if (!c->bot->started)
		note(c, "no_notifystart", "a poll before notifystart");
	c->cursor = cursor_read(c, text);
	if (c->bot->last > c->cursor) {
		poll_answer(c);
		return;
	}
	c->held = true;
	c->on_end = poll_ended;
	sim_gauge(c->sim, T_POLLING, 1);
	call_later(c, c->sim->set.hold_ms, poll_hold_over);
}

void polls_wake(struct sim *s)
{
	struct call *next;

	for (struct call *c = s->calls; c; c = next) {
		next = c->next;
		if (!c->held || c->login)
			continue;
		if (!bot_live(s, c->bot)) {
			c->held = false;
			call_errcode(c, -14, "session timeout");
		} else if (c->bot->last > c->cursor) {
			c->held = false;
			poll_answer(c);
		}
	}
}
