/* agent/react/stream: arguments of tool calls that arrive in pieces, several calls woven into each
 * other, end up whole and where they belong. The input is a script: its first byte says what tells
 * the calls apart, then each record is a byte for the call, a byte for a length, and so many bytes
 * of arguments. */
#include "fuzz.h"

#include "agent/react/stream.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>

#define CALLS     8
#define PIECE_MAX 40

enum told_by { BY_INDEX_AND_ID, BY_INDEX, BY_ID, TOLD_COUNT };

struct model {
	bool open[CALLS];
	size_t order[CALLS]; /* by their first piece */
	size_t n;
	struct str args[CALLS];
};

static void drop(void *arg, struct view piece)
{
	(void)arg;
	(void)piece;
}

static void write_piece(struct str *out, enum told_by by, size_t call, bool first, struct view args)
{
	struct json_out w;
	char id[16];

	(void)snprintf(id, sizeof(id), "id-%zu", call);
	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_open_array(&w, "choices");
	json_open(&w, NULL);
	json_open(&w, "delta");
	json_open_array(&w, "tool_calls");
	json_open(&w, NULL);
	if (by != BY_ID)
		json_put_int(&w, "index", (int64_t)call);
	if (by == BY_ID || (by == BY_INDEX_AND_ID && first))
		json_put_z(&w, "id", id);
	json_open(&w, "function");
	if (first)
		json_put_z(&w, "name", id);
	json_put_str(&w, "arguments", args);
	json_close(&w);
	json_close(&w);
	json_close_array(&w);
	json_close(&w);
	json_close(&w);
	json_close_array(&w);
	json_close(&w);
	must(json_out_end(&w, NULL) == 0);
}

static void feed(struct stream *s, struct model *m, enum told_by by, size_t call, struct view args)
{
	struct str event = STR_INIT(STREAM_EVENT_MAX);
	bool first = !m->open[call];

	if (first) {
		m->open[call] = true;
		m->order[m->n++] = call;
	}
	must(str_add(&m->args[call], args) == 0);
	write_piece(&event, by, call, first, args);
	must(stream_event(s, VIEW(""), str_view(&event), NULL) == 0);
	str_release(&event);
}

/* Text that JSON can carry: what is no UTF-8 is repaired beforehand. */
static void run_script(struct stream *s, struct model *m, enum told_by by, struct view v)
{
	while (v.n > 2) {
		size_t call = (unsigned char)v.p[0] % CALLS, n = (unsigned char)v.p[1] % PIECE_MAX;
		struct str text = STR_INIT((size_t)8 * PIECE_MAX);
		struct view piece = view_cut(view_from(v, 2), n);

		v = view_from(v, 2 + piece.n);
		must(utf8_repair(piece, &text) == 0);
		for (size_t i = 0; i < text.n; i++)
			if (text.p[i] == '\0')
				text.p[i] = ' ';
		feed(s, m, by, call, str_view(&text));
		str_release(&text);
	}
}

static bool is_object(struct view args)
{
	struct json_limits lim = json_limits_wire;
	struct json *j = NULL;
	bool ok;

	lim.bytes = STREAM_ARGS_MAX;
	ok = json_read(&j, args, &lim, NULL) == 0 && json_type(j) == JSON_OBJECT;
	json_free(&j);
	return ok;
}

static void check(const struct stream *s, const struct model *m)
{
	must(stream_calls(s) == m->n);
	for (size_t i = 0; i < m->n; i++) {
		struct stream_call c = stream_call(s, i);
		struct view want = view_trim(str_view(&m->args[m->order[i]]));

		must(is_object(want) == !c.args_fault);
		must(view_eq(c.args, c.args_fault ? VIEW("{}") : want));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct stream_sink sink = { drop, drop, NULL };
	struct view v = { (const char *)data, size };
	struct model m = { .n = 0 };
	enum told_by by;
	struct stream *s;

	if (size == 0)
		return 0;
	by = (enum told_by)(data[0] % TOLD_COUNT);
	for (size_t i = 0; i < CALLS; i++)
		m.args[i] = STR_INIT((size_t)64 << 20);
	must(stream_open(&s, &sink, NULL) == 0);
	run_script(s, &m, by, view_from(v, 1));
	must(stream_end(s, "call_1_1") == (m.n > 0 ? STREAM_BROKEN : STREAM_EMPTY));
	check(s, &m);
	stream_close(&s);
	for (size_t i = 0; i < CALLS; i++)
		str_release(&m.args[i]);
	return 0;
}
