/* Making the bytes of a model's answer, as chunks of a stream or in one piece. */
#include "model_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define STEP_BYTES  ((size_t)16 << 20)
#define DEMO_PIECES 200 /* at most about so many, so that a long answer comes in seconds */

struct step *step_new(void)
{
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->bytes = (struct str)STR_INIT(STEP_BYTES);
	s->status = 200;
	return s;
}

void step_free(struct step *s)
{
	if (!s)
		return;
	str_release(&s->bytes);
	free(s->ends);
	free(s->headers);
	free(s->type);
	free(s);
}

static int step_end_at(struct step *s, size_t at)
{
	size_t *ends;

	if (s->n && s->ends[s->n - 1] == at)
		return 0;
	if ((s->n & (s->n - 1)) == 0) { /* full at each power of two */
		ends = realloc(s->ends, (s->n ? s->n * 2 : 1) * sizeof(*ends));
		if (!ends)
			return -1;
		s->ends = ends;
	}
	s->ends[s->n++] = at;
	return 0;
}

/* Everything added since the last call is one piece. */
static int step_piece(struct step *s)
{
	return str_ok(&s->bytes) ? step_end_at(s, s->bytes.n) : -1;
}

int step_slice(struct step *s, size_t bytes)
{
	s->n = 0;
	for (size_t at = bytes; at < s->bytes.n; at += bytes)
		if (step_end_at(s, at) < 0)
			return -1;
	return step_piece(s);
}

struct view step_view(const struct step *s, size_t i)
{
	size_t from = i ? s->ends[i - 1] : 0;

	return (struct view){ s->bytes.p + from, s->ends[i] - from };
}

/* --- Chunks of a chat completion -------------------------------------------------------------- */
static void chunk_open(struct json_out *w, struct step *s, const char *id)
{
	str_adds(&s->bytes, "data: ");
	json_out_begin(w, &s->bytes);
	json_open(w, NULL);
	json_put_z(w, "id", id);
	json_put_z(w, "object", "chat.completion.chunk");
	json_put_int(w, "created", 1767225600);
	json_put_z(w, "model", "kairo-demo");
	json_open_array(w, "choices");
	json_open(w, NULL);
	json_put_int(w, "index", 0);
	json_open(w, "delta");
}

static int chunk_close(struct json_out *w, struct step *s, const char *finish)
{
	json_close(w);
	json_put_z(w, "finish_reason", finish);
	json_close(w);
	json_close_array(w);
	json_close(w);
	if (json_out_end(w, NULL) < 0)
		return -1;
	str_adds(&s->bytes, "\n\n");
	return step_piece(s);
}

static int put_text_chunks(struct step *s, const char *id, const char *field, struct view text,
	size_t chars)
{
	while (text.n) {
		size_t n = chars ? utf8_cut_chars(text, chars) : text.n;
		struct json_out w;

		chunk_open(&w, s, id);
		json_put_str(&w, field, view_cut(text, n));
		if (chunk_close(&w, s, NULL) < 0)
			return -1;
		text = view_from(text, n);
	}
	return 0;
}

static void put_call(struct json_out *w, int64_t index, struct view id, struct view name,
	struct view arguments, bool with_index)
{
	json_open(w, NULL);
	if (with_index)
		json_put_int(w, "index", index);
	json_put_str(w, "id", id);
	json_put_z(w, "type", "function");
	json_open(w, "function");
	json_put_str(w, "name", name);
	json_put_str(w, "arguments", arguments);
	json_close(w);
	json_close(w);
}

static int put_finish(struct step *s, const char *id, const char *reason, const struct json *usage)
{
	struct json_out w;

	chunk_open(&w, s, id);
	if (chunk_close(&w, s, reason) < 0)
		return -1;
	str_adds(&s->bytes, "data: ");
	json_out_begin(&w, &s->bytes);
	json_open(&w, NULL);
	json_put_z(&w, "id", id);
	json_put_z(&w, "object", "chat.completion.chunk");
	json_put_int(&w, "created", 1767225600);
	json_put_z(&w, "model", "kairo-demo");
	json_open_array(&w, "choices");
	json_close_array(&w);
	if (usage) {
		json_put_json(&w, "usage", usage);
	} else {
		json_open(&w, "usage");
		json_put_int(&w, "prompt_tokens", 120);
		json_put_int(&w, "completion_tokens", (int64_t)(s->bytes.n / 200) + 1);
		json_put_int(&w, "total_tokens", 121 + (int64_t)(s->bytes.n / 200));
		json_close(&w);
	}
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		return -1;
	str_adds(&s->bytes, "\n\ndata: [DONE]\n\n");
	return step_piece(s);
}

/* What an answer is made of, whether from a script or from the demo. */
struct parts {
	struct view text, reasoning;
	const struct json *calls;    /* array of {"id","name","arguments"} */
	struct view name, arguments; /* or one call */
	const struct json *usage;
	struct view finish;
	int64_t chars; /* a delta; 0: all in one */
};

static struct view arguments_of(const struct json *call, struct str *buf)
{
	const struct json *a = json_member(call, "arguments");
	struct view v = VIEW_NONE;

	if (a && json_str(a, &v) == 0)
		return v;
	if (a && json_print(a, buf, NULL) == 0)
		return str_view(buf);
	return VIEW("{}");
}

static void put_calls(struct json_out *w, const struct parts *p, const char *id, bool with_index)
{
	struct str args = STR_INIT(SIM_BODY_MAX);
	int64_t i = 0;
	char name[64];

	json_open_array(w, "tool_calls");
	if (p->name.n) {
		snprintf(name, sizeof(name), "call_%s", id + strlen(id) - 8);
		put_call(w, 0, view_of(name), p->name, p->arguments, with_index);
	}
	json_each(call, p->calls) {
		snprintf(name, sizeof(name), "call_%s_%d", id + strlen(id) - 8, (int)i);
		str_reset(&args);
		put_call(w, i, opt_str(call, "id", name), opt_str(call, "name", ""),
			arguments_of(call, &args), with_index);
		i++;
	}
	json_close_array(w);
	str_release(&args);
}

static bool has_calls(const struct parts *p)
{
	return p->name.n || (p->calls && json_first(p->calls));
}

static int make_stream(struct step *s, const struct parts *p, const char *id)
{
	struct json_out w;
	char finish[64];

	chunk_open(&w, s, id);
	json_put_z(&w, "role", "assistant");
	json_put_z(&w, "content", "");
	if (chunk_close(&w, s, NULL) < 0 ||
		put_text_chunks(s, id, "reasoning_content", p->reasoning, (size_t)p->chars) < 0 ||
		put_text_chunks(s, id, "content", p->text, (size_t)p->chars) < 0)
		return -1;
	if (has_calls(p)) {
		chunk_open(&w, s, id);
		put_calls(&w, p, id, true);
		if (chunk_close(&w, s, NULL) < 0)
			return -1;
	}
	if (s->stall && !p->finish.n)
		return 0; /* a client that has seen the end does not wait */
	if (copy_z(finish, sizeof(finish), p->finish) < 0 || !*finish)
		snprintf(finish, sizeof(finish), "%s", has_calls(p) ? "tool_calls" : "stop");
	return put_finish(s, id, finish, p->usage);
}

static int make_whole(struct step *s, const struct parts *p, const char *id)
{
	struct json_out w;

	json_out_begin(&w, &s->bytes);
	json_open(&w, NULL);
	json_put_z(&w, "id", id);
	json_put_z(&w, "object", "chat.completion");
	json_put_int(&w, "created", 1767225600);
	json_put_z(&w, "model", "kairo-demo");
	json_open_array(&w, "choices");
	json_open(&w, NULL);
	json_put_int(&w, "index", 0);
	json_open(&w, "message");
	json_put_z(&w, "role", "assistant");
	json_put_str(&w, "content", p->text);
	if (p->reasoning.n)
		json_put_str(&w, "reasoning_content", p->reasoning);
	if (has_calls(p))
		put_calls(&w, p, id, false);
	json_close(&w);
	json_put_str(&w, "finish_reason",
		p->finish.n    ? p->finish
		: has_calls(p) ? VIEW("tool_calls")
			       : VIEW("stop"));
	json_close(&w);
	json_close_array(&w);
	json_open(&w, "usage");
	json_put_int(&w, "prompt_tokens", 120);
	json_put_int(&w, "completion_tokens", (int64_t)(p->text.n / 4) + 1);
	json_put_int(&w, "total_tokens", 121 + (int64_t)(p->text.n / 4));
	json_close(&w);
	json_close(&w);
	return json_out_end(&w, NULL) < 0 ? -1 : step_piece(s);
}

/* --- Scripts ---------------------------------------------------------------------------------- */
/* A string goes out byte for byte; an object becomes one event. */
static int read_events(struct step *s, const struct json *list, struct err *e)
{
	json_each(it, list) {
		struct view v;

		if (json_str(it, &v) == 0) {
			str_add(&s->bytes, v);
		} else {
			str_adds(&s->bytes, "data: ");
			if (json_print(it, &s->bytes, e) < 0)
				return -1;
			str_adds(&s->bytes, "\n\n");
		}
		if (step_piece(s) < 0)
			return err_set(e, E_NOMEM, "events: too long");
	}
	return 0;
}

static int read_manner(struct step *s, const struct json *j, const struct sim *sim, struct err *e)
{
	int64_t status = 200;
	struct view type = opt_str(j, "type", NULL);

	s->first_ms = 0;
	s->delay_ms = opt_bool(j, "demo", false) ? sim->set.model_delay_ms : 0;
	if (json_get_int(j, "first_ms", JSON_OPTIONAL, 0, WAIT_MAX, &s->first_ms, e) < 0 ||
		json_get_int(j, "delay_ms", JSON_OPTIONAL, 0, WAIT_MAX, &s->delay_ms, e) < 0 ||
		json_get_int(j, "status", JSON_OPTIONAL, 100, 999, &status, e) < 0)
		return -1;
	s->status = (int)status;
	s->stall = opt_bool(j, "stall", false);
	s->cut = opt_bool(j, "cut", false);
	s->reset = opt_bool(j, "reset", false);
	s->demo = opt_bool(j, "demo", false);
	s->type = type.p ? dup_view(type) : NULL;
	return 0;
}

static int read_headers(struct step *s, const struct json *j, struct err *e)
{
	struct str h = STR_INIT((size_t)16 << 10);
	const struct json *obj = NULL;

	if (json_get_object(j, "headers", JSON_OPTIONAL, &obj, e) < 0)
		return -1;
	json_each(m, obj) {
		struct view v;

		if (json_str(m, &v) < 0)
			continue;
		str_addf(&h, "%s: %.*s\r\n", json_name(m), VIEW_FMT(v));
	}
	s->headers = h.n ? str_take(&h) : NULL;
	str_release(&h);
	return 0;
}

/* The shape depends on whether the request wants a stream, so this runs when one is there. */
int step_from_json(struct step *s, const struct json *j, const struct sim *sim, bool stream,
	const char *id, struct err *e)
{
	struct parts p = { .text = opt_str(j, "text", NULL),
		.chars = opt_int(j, "chunk", 0),
		.reasoning = opt_str(j, "reasoning", NULL),
		.usage = json_member(j, "usage"),
		.finish = opt_str(j, "finish_reason", NULL) };
	const struct json *events = NULL;
	int rc;

	if (read_manner(s, j, sim, e) < 0 || read_headers(s, j, e) < 0 ||
		json_get_array(j, "tool_calls", JSON_OPTIONAL, 128, &p.calls, e) < 0 ||
		json_get_array(j, "events", JSON_OPTIONAL, 100000, &events, e) < 0)
		return -1;
	if (events)
		return read_events(s, events, e);
	rc = json_member(j, "body") && json_type(json_member(j, "body")) != JSON_STRING
	             ? json_print(json_member(j, "body"), &s->bytes, e)
	             : opt_bytes(j, "body", &s->bytes, e);
	if (rc < 0)
		return -1;
	if (s->bytes.n)
		return step_piece(s) < 0 ? err_set(e, E_NOMEM, "body: too long") : 0;
	if (s->demo || s->status != 200 || (!p.text.p && !p.calls && !p.reasoning.p))
		return 0;
	if ((stream ? make_stream(s, &p, id) : make_whole(s, &p, id)) < 0)
		return err_set(e, E_NOMEM, "text: too long");
	return 0;
}

int step_from_demo(struct step *s, const struct demo_answer *a, const struct sim *sim, bool stream,
	const char *id)
{
	struct parts p = { .text = str_view(&a->text), .chars = a->pause_ms ? 24 : 6 };
	int64_t fewest = (int64_t)(a->text.n / DEMO_PIECES);

	if (*a->call.name) {
		p.name = view_of(a->call.name);
		p.arguments = str_view(&a->call.arguments);
	}
	if (!a->pause_ms && p.chars < fewest)
		p.chars = fewest;
	s->delay_ms = a->pause_ms ? a->pause_ms : sim->set.model_delay_ms;
	return stream ? make_stream(s, &p, id) : make_whole(s, &p, id);
}
