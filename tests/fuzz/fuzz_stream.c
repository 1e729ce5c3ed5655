/* agent/react/stream: whatever events a model server sends (one a line; a line that begins with "!"
 * is an event of type error), the answer made of them keeps the protocol. */
#include "fuzz.h"

#include "agent/react/stream.h"
#include "base/json.h"
#include "base/text.h"

#include <string.h>

struct shown {
	size_t text, thought;
};

static void on_text(void *arg, struct view piece)
{
	struct shown *s = arg;

	must(piece.n > 0 && utf8_valid(piece));
	s->text += piece.n;
}

static void on_thought(void *arg, struct view piece)
{
	struct shown *s = arg;

	must(piece.n > 0);
	s->thought += piece.n;
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

static void check_calls(const struct stream *s)
{
	must(stream_calls(s) <= STREAM_CALLS_MAX);
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);
		size_t n = strlen(c.name);

		must(n > 0 && n <= STREAM_NAME_MAX);
		for (const char *p = c.name; *p; p++)
			must((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
				(*p >= '0' && *p <= '9') || *p == '_' || *p == '-');
		must(c.id[0] && strlen(c.id) <= 128);
		must(is_object(c.args));
		must(!c.args_fault || (c.args_fault[0] && view_eqs(c.args, "{}")));
		for (size_t k = 0; k < i; k++)
			must(strcmp(c.id, stream_call(s, k).id) != 0);
	}
}

static void check_fault(const struct fault *f)
{
	struct str detail = STR_INIT(4096);

	fault_detail(f, "secret-of-ours", &detail);
	must(detail.n <= FAULT_DETAIL_MAX && utf8_valid(str_view(&detail)));
	must(!strpbrk(str_cstr(&detail), "\n\r\x1b"));
	must(!strstr(str_cstr(&detail), "secret-of-ours"));
	must(fault_kind(f) > ENGINE_FAIL_DEADLINE && fault_kind(f) <= ENGINE_FAIL_INTERNAL);
	(void)fault_transient(f);
	str_release(&detail);
}

static int feed(struct stream *s, struct view v)
{
	struct err e = ERR_INIT;
	int rc = 0;

	while (rc == 0 && v.n > 0) {
		struct view line = view_cut(v, view_find(v, '\n'));
		bool error = line.n > 0 && line.p[0] == '!';

		v = view_from(v, line.n + 1);
		rc = stream_event(s, error ? VIEW("error") : VIEW(""),
			view_from(line, error ? 1 : 0), &e);
	}
	must(rc >= 0 || e.msg[0]);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct shown shown = { 0, 0 };
	const struct stream_sink sink = { on_text, on_thought, &shown };
	enum stream_answer answer;
	struct fault body = FAULT_INIT;
	struct stream *s;

	must(stream_open(&s, &sink, NULL) == 0);
	(void)feed(s, v);
	answer = stream_end(s, "call_1_1");
	must(stream_text(s).n == shown.text && stream_thought(s).n == shown.thought);
	must(answer != STREAM_TEXT || stream_shown(s));
	must(answer != STREAM_CALLS || stream_calls(s) > 0);
	must(stream_usage(s).in <= 100000000 && stream_usage(s).out <= 100000000);
	check_calls(s);
	if (stream_fault(s))
		check_fault(stream_fault(s));
	stream_close(&s);

	fault_in_body(&body, 400, v);
	check_fault(&body);
	fault_release(&body);
	return 0;
}
