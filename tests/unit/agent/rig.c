#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "channel/words.h"
#include "remove_tree.h"

struct fix fix;

static void on_event(void *arg, const struct engine_event *ev)
{
	struct err e = ERR_INIT;

	(void)arg;
	assert_int_equal(fix.turn, ev->turn);
	assert_int_equal(0, fix.done);
	switch (ev->type) {
	case ENGINE_TEXT:
		(void)str_add(&fix.text, ev->text);
		if (fix.cancel_after_text > 0 && --fix.cancel_after_text == 0)
			fix.engine->ops->cancel(fix.engine, fix.turn);
		break;
	case ENGINE_THOUGHT: (void)str_add(&fix.thought, ev->text); break;
	case ENGINE_TOOL_STARTED:
		(void)str_addf(&fix.tools_seen, "%s(%.*s)", ev->name, VIEW_FMT(ev->text));
		break;
	case ENGINE_TOOL_FINISHED:
		(void)str_addf(&fix.tools_seen, "%s ", ev->ok ? "+" : "-");
		break;
	case ENGINE_USAGE:
		assert_true(ev->tokens_in >= fix.in && ev->tokens_out >= fix.out);
		fix.in = ev->tokens_in;
		fix.out = ev->tokens_out;
		break;
	case ENGINE_DONE:
		fix.done++;
		fix.fail = ev->fail;
		fix.acted = ev->acted;
		fix.saves = ev->save;
		(void)str_add(&fix.answer, ev->text);
		(void)str_adds(&fix.detail, ev->detail);
		assert_true(strlen(ev->detail) <= 300);
		if (ev->save) {
			assert_int_equal(0, db_begin(fix.db, &e));
			if (ev->save(ev->save_arg, &e) < 0)
				fail_msg("save: %s", e.msg);
			assert_int_equal(0, db_commit(fix.db, &e));
		}
		break;
	default: fail_msg("event %d", (int)ev->type);
	}
}

void open_engine(void)
{
	struct err e = ERR_INIT;

	if (fix.engine)
		fix.engine->ops->close(&fix.engine);
	if (react_open(&fix.engine, &fix.env, &e) == 0 && fix.engine)
		fix.engine->on_event = on_event;
	else
		fail_msg("%s", e.msg);
}

int setup(void **state)
{
	const struct http_rules rules = { .reach = HTTP_ANY, .plain_http = true };
	const struct str empty = STR_INIT((size_t)32 << 20);
	struct tools_env tools = { .helper = KAIRO_TOOL };
	struct err e = ERR_INIT;

	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.text = fix.thought = fix.tools_seen = fix.answer = fix.detail = empty;
	(void)snprintf(fix.dir, sizeof(fix.dir), "/tmp/kairo-react-XXXXXX");
	assert_non_null(mkdtemp(fix.dir));
	(void)snprintf(fix.ws, sizeof(fix.ws), "%s/ws", fix.dir);
	(void)snprintf(fix.db_path, sizeof(fix.db_path), "%s/state.db", fix.dir);
	assert_int_equal(0, mkdir(fix.ws, 0755));
	fix.log_fd = memfd_create("log", MFD_CLOEXEC);
	assert_int_equal(0, log_open_fd(&fix.log, fix.log_fd, LOG_DEBUG, &e));
	assert_int_equal(0, log_add_secret(fix.log, KEY, &e));
	assert_int_equal(0, loop_open(&fix.loop, NULL, &e));
	assert_int_equal(0, db_open(&fix.db, fix.db_path, &e));
	assert_int_equal(0, http_open(&fix.http, fix.loop, &rules, fix.log, &e));
	tools.loop = fix.loop;
	tools.log = fix.log;
	tools.workspace = fix.ws;
	tools.word = words_wording;
	assert_int_equal(0, tools_open(&fix.tools, &tools, &e));
	fix.lm = lm_new(fix.loop);
	(void)snprintf(fix.url, sizeof(fix.url), "http://127.0.0.1:%d/v1/", lm_port(fix.lm));
	fix.env.loop = fix.loop;
	fix.env.log = fix.log;
	fix.env.db = fix.db;
	fix.env.http = fix.http;
	fix.env.tools = fix.tools;
	fix.env.speak = words_speech;
	fix.env.model.base_url = fix.url;
	fix.env.model.name = "test-model";
	fix.env.model.api_key = KEY;
	fix.env.workspace = fix.ws;
	open_engine();
	return 0;
}

int teardown(void **state)
{
	struct str log = STR_INIT((size_t)64 << 20);
	char buf[65536];
	ssize_t n;

	(void)state;
	if (fix.engine)
		fix.engine->ops->close(&fix.engine);
	tools_close(&fix.tools);
	http_close(&fix.http);
	lm_free(&fix.lm);
	db_close(&fix.db);
	loop_close(&fix.loop);
	log_close(&fix.log);
	(void)lseek(fix.log_fd, 0, SEEK_SET);
	while ((n = read(fix.log_fd, buf, sizeof(buf))) > 0)
		(void)str_add(&log, (struct view){ buf, (size_t)n });
	assert_null(strstr(str_cstr(&log), KEY));
	assert_null(strstr(str_cstr(&fix.detail), KEY));
	str_release(&log);
	(void)close(fix.log_fd);
	str_release(&fix.text);
	str_release(&fix.thought);
	str_release(&fix.tools_seen);
	str_release(&fix.answer);
	str_release(&fix.detail);
	return remove_tree(fix.dir);
}

/* --- Driving ---------------------------------------------------------------------------------- */

void begin_input(struct turn_input in)
{
	struct err e = ERR_INIT;

	in.turn = ++fix.turn;
	in.conversation = in.conversation ? in.conversation : "me";
	in.origin = ORIGIN_PHONE;
	in.language = in.language ? in.language : "en";
	fix.done = 0;
	fix.in = fix.out = 0;
	fix.saves = fix.acted = false;
	str_reset(&fix.text);
	str_reset(&fix.thought);
	str_reset(&fix.tools_seen);
	str_reset(&fix.answer);
	str_reset(&fix.detail);
	if (fix.engine->ops->start(fix.engine, &in, &e) < 0)
		fail_msg("start: %s", e.msg);
	assert_int_equal(0, fix.done);
}

void begin_as(const char *conversation, struct view text)
{
	begin_input((struct turn_input){ .conversation = conversation, .text = text });
}

void begin(const char *text)
{
	begin_as("me", view_of(text));
}

void step(void)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, loop_step(fix.loop, 20000, &e));
}

void wait_done(void)
{
	struct err e = ERR_INIT;

	while (fix.done == 0)
		step();
	for (int i = 0; i < 5; i++)
		assert_int_equal(0, loop_step(fix.loop, 0, &e));
	assert_int_equal(1, fix.done);
}

void run(const char *text)
{
	begin(text);
	wait_done();
}

static bool log_has(const char *word)
{
	struct str log = STR_INIT((size_t)16 << 20);
	char buf[65536];
	off_t at = fix.log_mark;
	const char *hit;
	ssize_t n;

	while ((n = pread(fix.log_fd, buf, sizeof(buf), at)) > 0) {
		(void)str_add(&log, (struct view){ buf, (size_t)n });
		at += n;
	}
	hit = strstr(str_cstr(&log), word);
	if (hit)
		fix.log_mark += hit - str_cstr(&log) + (off_t)strlen(word);
	str_release(&log);
	return hit;
}

/* Until the log says this (again). */
void wait_log(const char *word)
{
	while (!log_has(word)) {
		assert_int_equal(0, fix.done);
		step();
	}
}

/* The wait of a retry passes: not a millisecond less. */
void pass_retry(int64_t ms)
{
	struct err e = ERR_INIT;
	int before;

	wait_log("asking -> waiting");
	before = lm_requests(fix.lm);
	loop_turn_clock(fix.loop, ms - 200); /* the time since the wait began is real */
	for (int i = 0; i < 3; i++)
		assert_int_equal(0, loop_step(fix.loop, 0, &e));
	assert_int_equal(before, lm_requests(fix.lm));
	loop_turn_clock(fix.loop, 200);
}

void ends(enum engine_fail fail, const char *answer)
{
	if (fail != fix.fail)
		fail_msg("%s: %s", engine_fail_name(fix.fail), str_cstr(&fix.detail));
	assert_string_equal(answer, str_cstr(&fix.answer));
}

bool detail_has(const char *word)
{
	return strstr(str_cstr(&fix.detail), word);
}

bool asked(int i, const char *word)
{
	return strstr(lm_body(fix.lm, i), word);
}

void raw(struct view body, size_t piece, enum lm_end end)
{
	lm_reply(fix.lm, 0, NULL, body, piece, end);
}

void make(const char *name, struct view content)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", fix.ws, name);
	assert_int_equal(0, file_replace(path, 0644, content, &e));
}

/* Every message of request i keeps the protocol: pairs of calls and results, an end before a new
 * user message, no id twice, nothing blank. */
void protocol_is_kept(int i)
{
	struct str ids = STR_INIT((size_t)1 << 20), quoted = STR_INIT(200);
	struct json_limits lim = json_limits_wire;
	const struct json *messages;
	char open[128][130];
	struct json *j;
	struct err e = ERR_INIT;
	int calls = 0, n = 0;
	bool answered = true;

	lim.bytes = (size_t)64 << 20;
	if (json_read(&j, view_of(lm_body(fix.lm, i)), &lim, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(1, json_get_array(j, "messages", JSON_REQUIRED, 10000, &messages, &e));
	json_each(m, messages) {
		const struct json *tool_calls = json_member(m, "tool_calls");
		const struct json *content = json_member(m, "content");
		struct view role, text;

		assert_int_equal(1, json_get_str(m, "role", JSON_REQUIRED, 1, 20, &role, &e));
		if (json_str(content, &text) == 0)
			assert_true(view_trim(text).n > 0);
		else
			assert_true(tool_calls || json_type(content) == JSON_ARRAY);
		if (n++ == 0) {
			assert_true(view_eqs(role, "system"));
		} else if (view_eqs(role, "tool")) {
			struct view id;

			assert_int_equal(1,
				json_get_str(m, "tool_call_id", JSON_REQUIRED, 1, 128, &id, &e));
			assert_true(calls > 0 && view_eqs(id, open[0]));
			memmove(open[0], open[1], sizeof(open[0]) * (size_t)--calls);
		} else {
			assert_int_equal(0, calls);
			if (view_eqs(role, "user")) {
				assert_true(answered);
				answered = false;
				continue;
			}
			assert_true(view_eqs(role, "assistant"));
			assert_false(answered);
			if (!tool_calls)
				answered = true;
			json_each(c, tool_calls) {
				struct view id, args;
				struct json *a;

				assert_int_equal(1,
					json_get_str(c, "id", JSON_REQUIRED, 1, 128, &id, &e));
				assert_int_equal(1,
					json_get_str(json_member(c, "function"), "arguments",
						JSON_REQUIRED, 2, 1 << 20, &args, &e));
				assert_int_equal(0, json_read(&a, args, &json_limits_wire, &e));
				assert_int_equal(JSON_OBJECT, json_type(a));
				json_free(&a);
				str_reset(&quoted);
				(void)str_addf(&quoted, "<%.*s>", VIEW_FMT(id));
				assert_null(strstr(str_cstr(&ids), str_cstr(&quoted)));
				(void)str_add(&ids, str_view(&quoted));
				assert_int_equal(0, copy_z(open[calls++], sizeof(open[0]), id));
			}
		}
	}
	assert_int_equal(0, calls);
	assert_false(answered); /* it ends with what is asked */
	json_free(&j);
	str_release(&ids);
	str_release(&quoted);
}
