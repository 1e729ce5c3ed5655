#include "agent/react/talk.h"

#include <stdlib.h>
#include <string.h>

#include "agent/react/stream.h"
#include "base/text.h"

#define ELIDED \
	"[This result was left out to fit the model's window. Run the tool again if it is needed.]"

/* Those who want reasoning back refuse calls without any, and one of them an empty text too. */
#define NO_THOUGHT " "

static char *dup(struct view v)
{
	char *z = malloc(v.n + 1);

	if (!z)
		return NULL;
	if (v.n > 0)
		memcpy(z, v.p, v.n);
	z[v.n] = '\0';
	return z;
}

static void msg_release(struct msg *m)
{
	for (size_t i = 0; i < m->ncalls; i++) {
		free(m->calls[i].id);
		free(m->calls[i].name);
		free(m->calls[i].args);
		free(m->calls[i].fault);
	}
	free(m->calls);
	free(m->text);
	free(m->call_id);
	free(m->thought);
}

void talk_release(struct talk *t)
{
	talk_cut(t, 0);
	free(t->list);
	memset(t, 0, sizeof(*t));
}

void talk_cut(struct talk *t, size_t n)
{
	while (t->n > n)
		msg_release(&t->list[--t->n]);
}

void talk_drop(struct talk *t, size_t from, size_t count)
{
	for (size_t i = from; i < from + count; i++)
		msg_release(&t->list[i]);
	memmove(&t->list[from], &t->list[from + count], (t->n - from - count) * sizeof(*t->list));
	t->n -= count;
}

/* Room for n messages in all. */
static int reserve(struct talk *t, size_t n)
{
	size_t cap = t->cap ? t->cap : 16;
	struct msg *list;

	while (cap < n)
		cap *= 2;
	if (cap == t->cap)
		return 0;
	list = reallocarray(t->list, cap, sizeof(*list));
	if (!list)
		return -1;
	t->list = list;
	t->cap = cap;
	return 0;
}

int talk_replace(struct talk *t, size_t count, struct talk *by)
{
	size_t rest = t->n - count;

	if (reserve(t, by->n + rest) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		msg_release(&t->list[i]);
	memmove(&t->list[by->n], &t->list[count], rest * sizeof(*t->list));
	memcpy(t->list, by->list, by->n * sizeof(*t->list));
	t->n = by->n + rest;
	by->n = 0;
	talk_release(by);
	return 0;
}

struct msg *talk_add(struct talk *t, enum role role, struct view text)
{
	struct msg *m;

	if (reserve(t, t->n + 1) < 0)
		return NULL;
	m = &t->list[t->n];
	memset(m, 0, sizeof(*m));
	m->role = role;
	m->text = dup(text);
	m->n = text.n;
	if (!m->text)
		return NULL;
	t->n++;
	return m;
}

struct msg *talk_add_result(struct talk *t, const char *call_id, struct view text)
{
	bool blank = view_trim(text).n == 0; /* which some refuse */
	struct msg *m = talk_add(t, ROLE_TOOL, blank ? VIEW("(no output)") : text);

	if (!m)
		return NULL;
	m->call_id = dup(view_of(call_id));
	if (!m->call_id) {
		talk_cut(t, t->n - 1);
		return NULL;
	}
	return m;
}

int msg_add_call(struct msg *m, struct view id, struct view name, struct view args)
{
	struct msg_call *calls = reallocarray(m->calls, m->ncalls + 1, sizeof(*calls));
	struct msg_call *c;

	if (!calls)
		return -1;
	m->calls = calls;
	c = &calls[m->ncalls];
	c->id = dup(id);
	c->name = dup(name);
	c->args = dup(args);
	c->fault = NULL;
	m->ncalls++; /* released with the message, also when a part is missing */
	return c->id && c->name && c->args ? 0 : -1;
}

int msg_set_fault(struct msg *m, const char *fault)
{
	if (!fault)
		return 0;
	m->calls[m->ncalls - 1].fault = strdup(fault);
	return m->calls[m->ncalls - 1].fault ? 0 : -1;
}

int msg_set_text(struct msg *m, struct view text)
{
	char *copy = dup(text);

	if (!copy)
		return -1;
	free(m->text);
	m->text = copy;
	m->n = text.n;
	return 0;
}

int msg_set_thought(struct msg *m, struct view thought)
{
	if (thought.n == 0)
		return 0;
	m->thought = dup(thought);
	return m->thought ? 0 : -1;
}

/* --- Rounds ----------------------------------------------------------------------------------- */

size_t talk_round_start(const struct talk *t, size_t i)
{
	while (i > 0 && t->list[i].role != ROLE_USER)
		i--;
	return i;
}

static bool msg_sound(const struct msg *m)
{
	struct view text = { m->text, m->n };

	if (memchr(m->text, '\0', m->n) || !utf8_valid(text))
		return false;
	return m->role == ROLE_ASSISTANT ? m->n > 0 || m->ncalls > 0 : m->n > 0;
}

bool talk_round_valid(const struct talk *t, size_t from, size_t to)
{
	size_t i = from + 1;

	if (from >= to || t->list[from].role != ROLE_USER)
		return false;
	for (size_t k = from; k < to; k++)
		if (!msg_sound(&t->list[k]))
			return false;
	while (i < to) {
		const struct msg *m = &t->list[i++];

		if (m->role != ROLE_ASSISTANT)
			return false;
		if (m->ncalls == 0)
			return i == to;
		for (size_t c = 0; c < m->ncalls; c++, i++) {
			if (i == to || t->list[i].role != ROLE_TOOL || !t->list[i].call_id ||
				strcmp(t->list[i].call_id, m->calls[c].id) != 0)
				return false;
		}
	}
	return false; /* no answer at the end */
}

/* --- Size ------------------------------------------------------------------------------------- */

uint64_t tokens_of(struct view text)
{
	uint64_t ascii = 0, other = 0;

	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c < 0x80)
			ascii++;
		else if (c >= 0xc0)
			other++;
	}
	return ascii / 4 + other + 1;
}

uint64_t msg_tokens(const struct msg *m)
{
	uint64_t n = 8 + tokens_of((struct view){ m->text, m->n });

	for (size_t i = 0; i < m->ncalls; i++)
		n += 16 + tokens_of(view_of(m->calls[i].args));
	return n + (m->thought ? tokens_of(view_of(m->thought)) : 0);
}

uint64_t talk_tokens(const struct talk *t, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; i < to; i++)
		n += msg_tokens(&t->list[i]);
	return n;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_calls(struct json_out *w, const struct msg *m)
{
	json_open_array(w, "tool_calls");
	for (size_t i = 0; i < m->ncalls; i++) {
		json_open(w, NULL);
		json_put_z(w, "id", m->calls[i].id);
		json_put_z(w, "type", "function");
		json_open(w, "function");
		json_put_z(w, "name", m->calls[i].name);
		json_put_z(w, "arguments", m->calls[i].args);
		json_close(w);
		json_close(w);
	}
	json_close_array(w);
}

void msg_write(struct json_out *w, const struct msg *m, bool elide, bool thought)
{
	static const char *const roles[] = { "user", "assistant", "tool" };
	struct view text = { m->text, m->n };

	json_open(w, NULL);
	json_put_z(w, "role", roles[m->role]);
	if (m->role == ROLE_TOOL)
		json_put_z(w, "tool_call_id", m->call_id);
	if (elide && m->role == ROLE_TOOL)
		text = VIEW(ELIDED);
	if (text.n == 0 && m->ncalls > 0)
		json_put_null(w, "content");
	else
		json_put_str(w, "content", text);
	if (thought && (m->thought || m->ncalls > 0))
		json_put_z(w, "reasoning_content", m->thought ? m->thought : NO_THOUGHT);
	if (m->ncalls > 0)
		write_calls(w, m);
	json_close(w);
}

int msg_calls_print(const struct msg *m, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open_array(&w, NULL);
	for (size_t i = 0; i < m->ncalls; i++) {
		json_open(&w, NULL);
		json_put_z(&w, "id", m->calls[i].id);
		json_put_z(&w, "name", m->calls[i].name);
		json_put_z(&w, "args", m->calls[i].args);
		json_close(&w);
	}
	json_close_array(&w);
	return json_out_end(&w, e);
}

static bool args_sound(struct view args)
{
	struct json_limits lim = json_limits_wire;
	struct json *j = NULL;
	bool ok;

	lim.bytes = STREAM_ARGS_MAX;
	ok = json_read(&j, args, &lim, NULL) == 0 && json_type(j) == JSON_OBJECT;
	json_free(&j);
	return ok;
}

static int parse_call(struct msg *m, const struct json *item, struct err *e)
{
	struct view id, name, args;

	if (json_type(item) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "a call is not an object");
	if (json_get_str(item, "id", JSON_REQUIRED, 1, STREAM_ID_MAX, &id, e) < 0 ||
		json_get_str(item, "name", JSON_REQUIRED, 1, STREAM_NAME_MAX, &name, e) < 0 ||
		json_get_str(item, "args", JSON_REQUIRED, 2, STREAM_ARGS_MAX, &args, e) < 0)
		return -1;
	if (!args_sound(args))
		return err_set(e, E_FORMAT, "arguments are not one object");
	if (msg_add_call(m, id, name, args) < 0)
		return err_set(e, E_NOMEM, "a call");
	return 0;
}

int msg_calls_parse(struct msg *m, struct view text, struct err *e)
{
	struct json_limits lim = json_limits_wire;
	struct json *j = NULL;
	int rc = -1;

	lim.bytes = STREAM_TOTAL_MAX;
	if (json_read(&j, text, &lim, e) < 0)
		return -1;
	if (json_type(j) != JSON_ARRAY || json_count(j) == 0 || json_count(j) > STREAM_CALLS_MAX) {
		(void)err_set(e, E_FORMAT, "calls are not a list of 1 to %d", STREAM_CALLS_MAX);
		goto out;
	}
	json_each(item, j) {
		if (parse_call(m, item, e) < 0)
			goto out;
	}
	rc = 0;
out:
	json_free(&j);
	return rc;
}
