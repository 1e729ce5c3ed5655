#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"

#define ANSWER_MAX ((size_t)256 << 20)

static void call_on_gone(void *arg)
{
	struct call *c = arg;

	c->req = NULL;
	call_abandon(c);
}

struct call *call_new(struct sim *s, struct hreq *r, const char *endpoint)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c) {
		hreq_drop(&r, false);
		return NULL;
	}
	c->sim = s;
	c->req = r;
	c->endpoint = endpoint;
	c->status = 200;
	c->out = (struct str)STR_INIT(ANSWER_MAX);
	c->extra = (struct str)STR_INIT((size_t)64 << 10);
	c->next = s->calls;
	c->link = &s->calls;
	if (c->next)
		c->next->link = &c->next;
	s->calls = c;
	c->n = journal_request(s->journal, endpoint, r);
	hreq_on_gone(r, call_on_gone, c);
	return c;
}

static void call_end(struct call *c)
{
	void (*on_end)(struct call *) = c->on_end;

	c->on_end = NULL;
	if (on_end)
		on_end(c);
}

static void call_free(struct call *c)
{
	call_end(c);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	timer_free(&c->timer);
	fault_drop(&c->fault);
	json_free(&c->body);
	str_release(&c->out);
	str_release(&c->extra);
	blob_release(c->blob);
	free(c);
}

void call_abandon(struct call *c)
{
	journal_answer(c->sim->journal, c->n, 0, "gone", VIEW_NONE);
	call_free(c);
}

static void call_on_timer(void *arg)
{
	struct call *c = arg;

	c->then(c);
}

void call_later(struct call *c, int64_t ms, void (*then)(struct call *c))
{
	c->then = then;
	if (!c->timer && timer_new(&c->timer, c->sim->loop, call_on_timer, c, NULL) < 0)
		return;
	timer_arm(c->timer, ms);
}

/* --- Answering -------------------------------------------------------------------------------- */
static struct view call_body(const struct call *c)
{
	return str_view(c->blob ? &c->blob->bytes : &c->out);
}

/* What is large is not copied, but held until it is on its way. */
static struct hreply call_reply(struct call *c)
{
	return (struct hreply){ .status = c->status,
		.type = c->type,
		.extra = c->extra.n ? str_cstr(&c->extra) : NULL,
		.body = call_body(c),
		.release = c->blob ? blob_release : NULL,
		.release_arg = c->blob };
}

static void call_drip(struct call *c)
{
	struct view body = call_body(c), rest = view_from(body, c->sent);
	struct view piece = view_cut(rest, c->fault->bytes > 0 ? (size_t)c->fault->bytes : 1);

	hreq_piece(c->req, piece);
	c->sent += piece.n;
	if (c->sent < body.n) {
		call_later(c, c->fault->ms, call_drip);
		return;
	}
	journal_answer(c->sim->journal, c->n, c->status, "slow", body);
	hreq_end(&c->req);
	call_free(c);
}

/* Whole and in order, or as the fault has it. */
static void call_write(struct call *c)
{
	struct hreply a = call_reply(c);
	struct journal *j = c->sim->journal;
	enum fault_kind kind = c->fault ? c->fault->kind : F_DELAY;
	int64_t bytes = c->fault ? c->fault->bytes : -1;

	call_end(c);
	switch (kind) {
	case F_STALL:
		journal_answer(j, c->n, 0, "stalled", VIEW_NONE);
		return; /* until the client has had enough */
	case F_DROP:
	case F_RESET:
		journal_answer(j, c->n, 0, fault_name(kind), VIEW_NONE);
		hreq_drop(&c->req, kind == F_RESET);
		break;
	case F_CUT:
		journal_answer(j, c->n, c->status, "cut", a.body);
		c->blob = NULL; /* the answer's from here on */
		hreq_cut(&c->req, &a, bytes >= 0 ? (size_t)bytes : a.body.n / 2);
		break;
	case F_SLOW:
		hreq_begin(c->req, &a, (int64_t)a.body.n);
		call_drip(c);
		return;
	default:
		journal_answer(j, c->n, c->status, c->fault ? fault_name(kind) : "answered",
			a.body);
		c->blob = NULL;
		hreq_reply(&c->req, &a);
	}
	call_free(c);
}

/* The faults that change the text of an answer. */
static void call_spoil(struct call *c)
{
	const struct fault *f = c->fault;
	size_t at = find_bytes(str_view(&c->out), VIEW("{")).p ? 1 : 0;
	struct str s = STR_INIT(ANSWER_MAX);

	if (f->kind == F_REPLACE) {
		replace_bytes(&c->out, str_view(&f->from), str_view(&f->body));
		return;
	}
	if (f->kind == F_EMPTY) {
		str_reset(&c->out);
		blob_release(c->blob);
		c->blob = NULL;
		return;
	}
	if (f->kind != F_PAD && f->kind != F_INSERT)
		return;
	str_add(&s, view_cut(str_view(&c->out), at));
	if (f->kind == F_INSERT) {
		str_add(&s, str_view(&f->body));
	} else {
		str_adds(&s, "\"sim_pad\":\"");
		if (f->bytes > 0 && str_reserve(&s, (size_t)f->bytes) == 0) {
			memset(s.p + s.n, 'x', (size_t)f->bytes);
			str_grew(&s, (size_t)f->bytes);
		}
		str_addc(&s, '"');
	}
	if (c->out.n > at + 1)
		str_addc(&s, ',');
	str_add(&s, view_from(str_view(&c->out), at));
	str_release(&c->out);
	c->out = s;
}

static void put_business_error(struct call *c, const struct fault *f)
{
	struct json_out w;

	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	if (f->has_ret || !f->has_errcode)
		json_put_int(&w, "ret", f->has_ret ? f->ret : -2);
	if (f->has_errcode)
		json_put_int(&w, "errcode", f->errcode);
	if (f->errmsg)
		json_put_z(&w, "errmsg", f->errmsg);
	json_close(&w);
	(void)json_out_end(&w, NULL);
}

/* The faults that put something of their own in place of the answer. */
static void call_replace(struct call *c)
{
	const struct fault *f = c->fault;

	str_reset(&c->out);
	str_reset(&c->extra);
	blob_release(c->blob);
	c->blob = NULL;
	c->status = 200;
	switch (f->kind) {
	case F_STATUS:
		c->status = f->status;
		c->type = f->type ? f->type : "text/html";
		str_addf(&c->out,
			"<html><head><title>%d</title></head><body>error %d</body></html>\n",
			f->status, f->status);
		break;
	case F_REDIRECT:
		c->status = f->bytes > 0 ? (int)f->bytes : 302;
		str_addf(&c->extra, "Location: %s\r\n", f->name ? f->name : "/elsewhere");
		break;
	case F_CDN_ERROR:
		c->status = f->status == 500 ? 403 : f->status;
		str_addf(&c->extra, "x-error-message: %s\r\nx-error-code: %lld\r\n",
			f->errmsg ? f->errmsg : "invalid parameter",
			f->has_errcode ? (long long)f->errcode : -5102031LL);
		break;
	case F_RET: put_business_error(c, f); break;
	default: break;
	}
	if (f->body.n || f->kind == F_BODY) {
		str_reset(&c->out);
		str_add(&c->out, str_view(&f->body));
	}
	if (f->headers)
		str_adds(&c->extra, f->headers);
	if (f->type)
		c->type = f->type;
}

static bool replaces(enum fault_kind k)
{
	return k == F_STATUS || k == F_REDIRECT || k == F_CDN_ERROR || k == F_RET || k == F_BODY;
}

void call_answer(struct call *c)
{
	if (c->fault) {
		if (replaces(c->fault->kind))
			call_replace(c);
		else
			call_spoil(c);
		if (c->fault->delay_ms > 0) {
			call_later(c, c->fault->delay_ms, call_write);
			return;
		}
	}
	call_write(c);
}

bool call_fault_first(struct call *c)
{
	if (!c->fault || c->fault->process)
		return false;
	call_answer(c);
	return true;
}

static void refuse(struct call *c, const char *field, int64_t code, const char *msg)
{
	struct json_out w;

	str_reset(&c->out);
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, field, code);
	if (msg)
		json_put_z(&w, "errmsg", msg);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	call_answer(c);
}

void call_refuse(struct call *c, int64_t ret, const char *msg)
{
	refuse(c, "ret", ret, msg);
}

void call_errcode(struct call *c, int64_t errcode, const char *msg)
{
	refuse(c, "errcode", errcode, msg);
}
