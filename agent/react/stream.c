#include "agent/react/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/react/halves.h"
#include "base/json.h"
#include "base/text.h"

#define NAME_TAKE 256       /* bytes of a name that are kept until the end */
#define USAGE_MAX 100000000 /* tokens of one request; more is not believed */

/* A call being put together. */
struct slot {
	bool has_index;
	int64_t index;
	char id[STREAM_ID_MAX + 1];
	struct str name, args;
	bool too_long;

	/* Are the arguments one closed object so far? Kept up as they arrive, a byte at a time. */
	int depth;
	bool in_string, escaped, closed;

	char made_id[STREAM_ID_MAX + 1];
	char final_name[STREAM_NAME_MAX + 1];
	char fault[160];
};

struct stream {
	struct stream_sink sink;
	struct str text, thought;
	struct slot *slot[STREAM_CALLS_MAX];
	size_t n;
	bool shown, delta_seen, done, finished;
	char finish[32];
	struct stream_usage usage;
	struct fault fault;
	struct halves halves;
};

static const struct json_limits event_limits = {
	.bytes = STREAM_EVENT_MAX,
	.depth = 32,
	.nodes = 200000,
	.nul = JSON_NUL_REPAIR,
	.repair_utf8 =
		true, /* of half surrogate pairs: the bytes themselves are looked at before */
};

int stream_open(struct stream **out, const struct stream_sink *sink, struct err *e)
{
	struct stream *s = calloc(1, sizeof(*s));
	const struct str empty = STR_INIT(STREAM_TOTAL_MAX);
	const struct fault none = FAULT_INIT;

	*out = s;
	if (!s)
		return err_set(e, E_NOMEM, "a stream");
	s->sink = *sink;
	s->text = s->thought = empty;
	s->fault = none;
	return 0;
}

void stream_close(struct stream **sp)
{
	struct stream *s = *sp;

	if (!s)
		return;
	*sp = NULL;
	for (size_t i = 0; i < s->n; i++) {
		str_release(&s->slot[i]->name);
		str_release(&s->slot[i]->args);
		free(s->slot[i]);
	}
	str_release(&s->text);
	str_release(&s->thought);
	fault_release(&s->fault);
	free(s);
}

/* --- Tool calls ------------------------------------------------------------------------------- */

/* A piece of a call as it came. */
struct piece {
	bool has_index;
	int64_t index;
	struct view id, name, args;
	const struct json *args_object; /* given as a value instead of text */
};

static struct slot *slot_new(struct stream *s, const struct piece *p)
{
	const struct str name = STR_INIT(NAME_TAKE), args = STR_INIT(STREAM_ARGS_MAX);
	struct slot *slot;

	if (s->n == STREAM_CALLS_MAX)
		return NULL;
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return NULL;
	slot->has_index = p->has_index;
	slot->index = p->index;
	slot->name = name;
	slot->args = args;
	s->slot[s->n++] = slot;
	return slot;
}

static struct slot *slot_by_id(const struct stream *s, struct view id)
{
	for (size_t i = s->n; i-- > 0;)
		if (view_eqs(id, s->slot[i]->id))
			return s->slot[i];
	return NULL;
}

/* The call that a piece without a known id goes on with, if any. */
static struct slot *slot_by_place(const struct stream *s, const struct piece *p)
{
	if (p->has_index)
		for (size_t i = s->n; i-- > 0;)
			if (s->slot[i]->has_index && s->slot[i]->index == p->index)
				return s->slot[i];
	/* No index, or one that was never opened: what opens a call has a name or an id. */
	if (s->n > 0 && (!p->has_index || (p->name.n == 0 && p->id.n == 0)))
		return s->slot[s->n - 1];
	return NULL;
}

static bool brings_args(const struct piece *p)
{
	return p->args_object || view_trim(p->args).n > 0;
}

/* Some servers number every call 0, some send no index: a name after closed arguments, or another
 * id with a name, begins a new call all the same. Some name a call in each of its pieces: one that
 * adds nothing, where calls have ids, begins none. */
static bool begins_another(const struct slot *slot, const struct piece *p)
{
	bool other_id = p->id.n > 0 && slot->id[0] != '\0' && !view_eqs(p->id, slot->id);
	bool again = slot->id[0] != '\0' && !other_id && !brings_args(p) &&
	             view_eq(p->name, str_view(&slot->name));

	if (p->name.n > 0)
		return (slot->closed && !again) || (other_id && slot->name.n > 0);
	return other_id && slot->closed;
}

/* An id given to two calls: here is another name under another index, or the first is closed and
 * here is a name with something new. */
static bool same_id_twice(const struct slot *slot, const struct piece *p)
{
	bool moved = slot->has_index && p->has_index && slot->index != p->index;

	if (p->name.n == 0)
		return false;
	if (moved && !view_eq(p->name, str_view(&slot->name)))
		return true;
	return slot->closed && (brings_args(p) || moved);
}

static struct slot *slot_for(struct stream *s, const struct piece *p)
{
	struct slot *slot = p->id.n > 0 ? slot_by_id(s, p->id) : NULL;

	if (slot)
		return same_id_twice(slot, p) ? slot_new(s, p) : slot;
	slot = slot_by_place(s, p);
	return slot && !begins_another(slot, p) ? slot : slot_new(s, p);
}

static void watch_args(struct slot *slot, struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (slot->escaped)
			slot->escaped = false;
		else if (slot->in_string && c == '\\')
			slot->escaped = true;
		else if (c == '"')
			slot->in_string = !slot->in_string;
		else if (!slot->in_string && (c == '{' || c == '['))
			slot->depth++;
		else if (!slot->in_string && (c == '}' || c == ']'))
			slot->closed = --slot->depth == 0;
	}
}

static void add_args(struct slot *slot, struct view v)
{
	if (slot->too_long)
		return;
	if (str_add(&slot->args, v) < 0) {
		slot->too_long = true;
		slot->closed = true;
		return;
	}
	watch_args(slot, v);
}

/* A name comes whole, in pieces, or again and again. */
static void add_name(struct slot *slot, struct view v)
{
	if (v.n > 0 && !view_eq(v, str_view(&slot->name)) && slot->args.n == 0)
		(void)str_add(&slot->name, v);
}

static int take_piece(struct stream *s, const struct piece *p, struct err *e)
{
	struct slot *slot = slot_for(s, p);

	if (!slot && s->n < STREAM_CALLS_MAX)
		return err_set(e, E_NOMEM, "a tool call");
	if (!slot)
		return err_set(e, E_FORMAT, "the answer has more than %d tool calls",
			STREAM_CALLS_MAX);
	if (p->id.n > 0 && p->id.n <= STREAM_ID_MAX && slot->id[0] == '\0')
		(void)copy_z(slot->id, sizeof(slot->id), p->id);
	add_name(slot, p->name);
	if (p->args_object) {
		struct str text = STR_INIT(STREAM_EVENT_MAX);

		if (json_print(p->args_object, &text, NULL) == 0)
			add_args(slot, str_view(&text));
		str_release(&text);
	}
	add_args(slot, p->args);
	return 0;
}

static struct view text_member(const struct json *obj, const char *name)
{
	const struct json *j = json_member(obj, name);
	struct view v = VIEW_NONE;

	if (j)
		(void)json_str(j, &v);
	return v;
}

static void read_function(struct piece *p, const struct json *f)
{
	const struct json *args = json_member(f, "arguments");

	p->name = text_member(f, "name");
	if (!args)
		return;
	if (json_type(args) == JSON_OBJECT || json_type(args) == JSON_ARRAY)
		p->args_object = args;
	else
		p->args = text_member(f, "arguments");
}

static int take_calls(struct stream *s, const struct json *calls, struct err *e)
{
	size_t count = calls && json_type(calls) == JSON_ARRAY ? json_count(calls) : 0;
	int64_t at = 0;

	if (count == 0)
		return 0;
	json_each(item, calls) {
		struct piece p = { .index = at };
		const struct json *index;

		if (json_type(item) != JSON_OBJECT)
			return err_set(e, E_FORMAT, "a tool call is not an object");
		index = json_member(item, "index");
		if (index && json_int(index, &p.index) == 0)
			p.has_index = true;
		else
			p.has_index = count > 1; /* then their order is their index */
		p.id = text_member(item, "id");
		read_function(&p, json_member(item, "function"));
		if (take_piece(s, &p, e) < 0)
			return -1;
		at++;
	}
	return 0;
}

/* --- Text ------------------------------------------------------------------------------------- */

static int keep(struct str *to, struct view v, struct err *e)
{
	if (str_add(to, v) == 0)
		return 0;
	return str_has_room(to, v.n) ? err_set(e, E_NOMEM, "the answer: out of memory")
	                             : err_set(e, E_FORMAT, "the answer is over 20 MiB");
}

static int show(struct stream *s, struct view v, struct err *e)
{
	if (v.n == 0)
		return 0;
	if (keep(&s->text, v, e) < 0)
		return -1;
	s->shown = s->shown || view_trim(v).n > 0;
	s->sink.on_text(s->sink.arg, v);
	return 0;
}

static int think(struct stream *s, struct view v, struct err *e)
{
	if (v.n == 0)
		return 0;
	if (keep(&s->thought, v, e) < 0)
		return -1;
	s->sink.on_thought(s->sink.arg, v);
	return 0;
}

/* Content is text, or a list of parts. */
static int take_content(struct stream *s, const struct json *content, struct err *e)
{
	struct view v;

	if (!content)
		return 0;
	if (json_type(content) != JSON_ARRAY)
		return json_str(content, &v) == 0 ? show(s, v, e) : 0;
	json_each(part, content) {
		if (json_type(part) == JSON_OBJECT && show(s, text_member(part, "text"), e) < 0)
			return -1;
	}
	return 0;
}

/* Three forms; where one server sends two of them at once they say the same. */
static int take_thought(struct stream *s, const struct json *delta, struct err *e)
{
	static const char *const names[] = { "reasoning_content", "reasoning", "thinking" };
	const struct json *details = json_member(delta, "reasoning_details");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct view v = text_member(delta, names[i]);

		if (v.n > 0)
			return think(s, v, e);
	}
	if (!details || json_type(details) != JSON_ARRAY)
		return 0;
	json_each(part, details) {
		if (json_type(part) == JSON_OBJECT && think(s, text_member(part, "text"), e) < 0)
			return -1;
	}
	return 0;
}

static int take_message(struct stream *s, const struct json *m, struct err *e)
{
	const struct json *old = json_member(m, "function_call");

	if (take_thought(s, m, e) < 0 || take_content(s, json_member(m, "content"), e) < 0 ||
		show(s, text_member(m, "refusal"), e) < 0)
		return -1;
	if (old && json_type(old) == JSON_OBJECT) {
		struct piece p = { .has_index = false };

		read_function(&p, old);
		if (take_piece(s, &p, e) < 0)
			return -1;
	}
	return take_calls(s, json_member(m, "tool_calls"), e);
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void take_count(const struct json *usage, const char *name, uint64_t *out)
{
	const struct json *j = json_member(usage, name);
	int64_t n;

	/* Figures may come more than once, growing; what is absurd is not believed. */
	if (j && json_int(j, &n) == 0 && n > 0 && n <= USAGE_MAX && (uint64_t)n > *out)
		*out = (uint64_t)n;
}

static void take_usage(struct stream *s, const struct json *usage)
{
	static const char *const boxes[] = { "prompt_tokens_details", "input_tokens_details" };
	struct stream_usage *u = &s->usage;

	if (!usage || json_type(usage) != JSON_OBJECT)
		return;
	take_count(usage, "prompt_tokens", &u->in);
	take_count(usage, "input_tokens", &u->in);
	take_count(usage, "completion_tokens", &u->out);
	take_count(usage, "output_tokens", &u->out);
	take_count(usage, "cached_tokens", &u->cached);
	take_count(usage, "prompt_cache_hit_tokens", &u->cached);
	take_count(usage, "cache_read_input_tokens", &u->cached);
	for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
		const struct json *details = json_member(usage, boxes[i]);

		if (details && json_type(details) == JSON_OBJECT)
			take_count(details, "cached_tokens", &u->cached);
	}
	u->known = u->in > 0 || u->out > 0;
}

/* --- Events ----------------------------------------------------------------------------------- */

static int take_choice(struct stream *s, const struct json *choice, struct err *e)
{
	const struct json *index = json_member(choice, "index");
	const struct json *delta = json_member(choice, "delta");
	struct view finish = text_member(choice, "finish_reason");
	int64_t n;

	if (index && json_int(index, &n) == 0 && n != 0)
		return 0;
	if (json_member(choice, "error") && fault_in_event(&s->fault, choice, false))
		return err_set(e, E_NET, "the provider reports an error");
	take_usage(s, json_member(choice, "usage"));
	if (delta && json_type(delta) == JSON_OBJECT) {
		s->delta_seen = true;
	} else {
		delta = json_member(choice, "message"); /* not streamed after all */
		if (s->delta_seen || !delta || json_type(delta) != JSON_OBJECT)
			delta = NULL;
	}
	if (delta && take_message(s, delta, e) < 0)
		return -1;
	if (finish.n > 0) {
		s->finished = true;
		if (copy_z(s->finish, sizeof(s->finish), finish) < 0)
			(void)copy_z(s->finish, sizeof(s->finish), VIEW("unknown"));
	}
	return 0;
}

static int take_object(struct stream *s, const struct json *j, bool error, struct err *e)
{
	const struct json *choices;

	if (fault_in_event(&s->fault, j, error))
		return err_set(e, E_NET, "the provider reports an error");
	if (json_type(j) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "an event is not a JSON object");
	take_usage(s, json_member(j, "usage"));
	choices = json_member(j, "choices");
	if (!choices || json_type(choices) != JSON_ARRAY)
		return 0;
	json_each(choice, choices) {
		if (json_type(choice) != JSON_OBJECT)
			return err_set(e, E_FORMAT, "a choice is not an object");
		if (take_choice(s, choice, e) < 0)
			return -1;
	}
	return 0;
}

static int take_text(struct stream *s, struct view data, size_t max, bool error, struct err *e)
{
	struct json_limits lim = event_limits;
	struct str joined = STR_INIT(STREAM_TOTAL_MAX + 16);
	struct view whole = halves_join(&s->halves, data, &joined);
	struct json *j = NULL;
	int rc = -1;

	lim.bytes = max;
	if (!str_ok(&joined))
		(void)err_set(e, E_NOMEM, "the answer");
	else if (!utf8_valid(data))
		(void)err_set(e, E_FORMAT, "the answer: not valid UTF-8");
	else if (json_read(&j, whole, &lim, e) == 0)
		rc = take_object(s, j, error, e);
	else if (!error)
		(void)err_wrap(e, "the answer");
	if (!j && error) {
		fault_plain(&s->fault, data);
		(void)err_set(e, E_NET, "the provider reports an error");
	}
	json_free(&j);
	str_release(&joined);
	return rc;
}

int stream_event(struct stream *s, struct view type, struct view data, struct err *e)
{
	bool error = view_eqs(type, "error");

	data = view_trim(data);
	if (s->done)
		return 1;
	if (view_eqs(data, "[DONE]")) {
		s->done = true;
		return 1;
	}
	if (data.n == 0 && !error)
		return 0;
	return take_text(s, data, STREAM_EVENT_MAX, error, e);
}

int stream_whole(struct stream *s, struct view body, struct err *e)
{
	if (take_text(s, view_trim(body), STREAM_TOTAL_MAX, false, e) < 0)
		return -1;
	s->done = true;
	return 0;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void finish_name(struct slot *slot)
{
	struct view v = view_trim(str_view(&slot->name));
	size_t n = v.n < STREAM_NAME_MAX ? v.n : STREAM_NAME_MAX;

	for (size_t i = 0; i < n; i++) {
		char c = v.p[i];
		bool fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		           (c >= '0' && c <= '9') || c == '_' || c == '-';

		slot->final_name[i] = c;
		if (!fit)
			slot->final_name[i] = '_';
	}
	slot->final_name[n] = '\0';
	if (n == 0)
		(void)copy_z(slot->final_name, sizeof(slot->final_name), VIEW("unnamed"));
}

static bool id_taken(const struct stream *s, size_t upto, const char *id)
{
	for (size_t i = 0; i < upto; i++)
		if (strcmp(s->slot[i]->made_id, id) == 0)
			return true;
	return false;
}

static bool id_fit(const char *id)
{
	size_t n = 0;

	for (; id[n]; n++)
		if (id[n] <= ' ' || id[n] > '~')
			return false;
	return n > 0;
}

/* The provider's own id where it can be used, else one that is the same every time. */
static void finish_id(struct stream *s, size_t i, const char *prefix)
{
	struct slot *slot = s->slot[i];

	if (id_fit(slot->id) && !id_taken(s, i, slot->id)) {
		(void)copy_z(slot->made_id, sizeof(slot->made_id), view_of(slot->id));
		return;
	}
	for (size_t k = i + 1;; k += STREAM_CALLS_MAX) {
		(void)snprintf(slot->made_id, sizeof(slot->made_id), "%.64s_%zu", prefix, k);
		if (!id_taken(s, i, slot->made_id))
			return;
	}
}

static void finish_args(struct slot *slot)
{
	struct json_limits lim = event_limits;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	struct str why = STR_INIT(sizeof(slot->fault) - 1);

	lim.bytes = STREAM_ARGS_MAX;
	lim.nul = JSON_NUL_REFUSE;
	lim.repair_utf8 = false;
	if (slot->too_long)
		(void)str_adds(&why, "they are over 1 MiB");
	else if (view_trim(str_view(&slot->args)).n == 0)
		(void)str_adds(&why, "they are empty");
	else if (json_read(&j, str_view(&slot->args), &lim, &e) < 0)
		(void)str_addf(&why, "%.140s", e.msg);
	else if (json_type(j) != JSON_OBJECT)
		(void)str_adds(&why, "they are JSON, but not an object");
	json_free(&j);
	if (copy_z(slot->fault, sizeof(slot->fault), str_view(&why)) < 0 || !str_ok(&why))
		(void)copy_z(slot->fault, sizeof(slot->fault), VIEW("they could not be read"));
	str_release(&why);
}

/* What a finish reason says of the answer. "stop", "tool_calls" and all others: it is whole. */
static enum stream_answer finish_of(const struct stream *s)
{
	static const struct {
		const char *reason;
		enum stream_answer answer;
	} reasons[] = {
		{ "length", STREAM_CUT },
		{ "model_context_window_exceeded", STREAM_CUT },
		{ "content_filter", STREAM_FILTERED },
		{ "sensitive", STREAM_FILTERED },
		{ "error", STREAM_BROKEN },
		{ "network_error", STREAM_BROKEN },
		{ "insufficient_system_resource", STREAM_BROKEN },
	};

	if (!s->finished && !s->done)
		return STREAM_BROKEN;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(s->finish, reasons[i].reason) == 0)
			return reasons[i].answer;
	return STREAM_TEXT;
}

static enum stream_answer judge(const struct stream *s)
{
	bool text = view_trim(str_view(&s->text)).n > 0;
	enum stream_answer finish = finish_of(s);

	if (finish == STREAM_FILTERED)
		return finish;
	if (finish == STREAM_BROKEN)
		return s->finished || text || s->thought.n > 0 || s->n > 0 ? finish : STREAM_EMPTY;
	if (s->n > 0)
		return STREAM_CALLS;
	return text ? finish : STREAM_EMPTY;
}

enum stream_answer stream_end(struct stream *s, const char *call_prefix)
{
	for (size_t i = 0; i < s->n; i++) {
		finish_name(s->slot[i]);
		finish_id(s, i, call_prefix);
		finish_args(s->slot[i]);
	}
	return judge(s);
}

struct view stream_text(const struct stream *s)
{
	return str_view(&s->text);
}

struct view stream_thought(const struct stream *s)
{
	return str_view(&s->thought);
}

bool stream_shown(const struct stream *s)
{
	return s->shown;
}

bool stream_complete(const struct stream *s)
{
	return s->done || s->finished;
}

const struct fault *stream_fault(const struct stream *s)
{
	return s->fault.found ? &s->fault : NULL;
}

size_t stream_calls(const struct stream *s)
{
	return s->n;
}

struct stream_call stream_call(const struct stream *s, size_t i)
{
	const struct slot *slot = s->slot[i];
	struct stream_call c = { .id = slot->made_id, .name = slot->final_name };

	c.args = slot->fault[0] ? VIEW("{}") : view_trim(str_view(&slot->args));
	c.args_fault = slot->fault[0] ? slot->fault : NULL;
	return c;
}

struct stream_usage stream_usage(const struct stream *s)
{
	return s->usage;
}
