/* The tool calls of one answer: what runs beside what, what is asked about, and what is left of it
 * all when the turn is cut off. A model server by script, the real tools, and a search that the
 * test answers by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/react/react.h"
#include "base/file.h"
#include "base/json.h"
#include "channel/words.h"
#include "lm.h"
#include "tools/host/native.h"
#include "remove_tree.h"

#define SEARCHES 16

/* A search under way; nc NULL: it is over. */
struct search {
	struct native_call *nc;
	char query[32];
};

struct fix {
	char dir[64], ws[96], url[64];
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct http *http;
	struct audit *audit;
	struct policy *policy;
	struct tools *tools;
	struct lm *lm;
	struct engine *engine;
	uint64_t turn;

	struct search search[SEARCHES];
	int begun, cancelled;

	int questions, done;
	char id[64], name[64], language[8];
	struct str deed;
	bool cancel_on_question;
	enum engine_fail fail;
	bool acted;
};

static struct fix fix;

/* --- A search by hand ------------------------------------------------------------------------- */

static int search_start(void *self, struct native_call *nc, const struct tool_call *c,
	const struct json *args, struct err *e)
{
	struct search *s = &fix.search[fix.begun];
	struct view query;

	(void)self;
	(void)c;
	assert_true(fix.begun < SEARCHES);
	assert_int_equal(1, json_get_str(args, "query", JSON_REQUIRED, 1, 31, &query, e));
	assert_int_equal(0, copy_z(s->query, sizeof(s->query), query));
	s->nc = nc;
	native_set(nc, s);
	fix.begun++;
	return 0;
}

static void search_cancel(void *self, struct native_call *nc)
{
	struct search *s = native_get(nc);

	(void)self;
	s->nc = NULL;
	fix.cancelled++;
}

static const struct native_tool search = {
	.name = "web_search",
	.start = search_start,
	.cancel = search_cancel,
};

static void found(int i, bool ok)
{
	struct native_call *nc = fix.search[i].nc;
	char text[64];

	assert_non_null(nc);
	fix.search[i].nc = NULL;
	(void)snprintf(text, sizeof(text), "%s %s", ok ? "found" : "nothing of",
		fix.search[i].query);
	native_finish(nc, ok, view_of(text));
}

/* --- The frame -------------------------------------------------------------------------------- */

static void on_event(void *arg, const struct engine_event *ev)
{
	struct err e = ERR_INIT;

	(void)arg;
	assert_int_equal(0, fix.done);
	if (ev->type == ENGINE_APPROVAL) {
		assert_true(ev->standard_choices && !ev->choices);
		fix.questions++;
		(void)snprintf(fix.id, sizeof(fix.id), "%s", ev->id);
		(void)snprintf(fix.name, sizeof(fix.name), "%s", ev->name);
		str_reset(&fix.deed);
		(void)str_add(&fix.deed, ev->text);
		if (fix.cancel_on_question)
			fix.engine->ops->cancel(fix.engine, fix.turn);
	} else if (ev->type == ENGINE_DONE) {
		fix.done++;
		fix.fail = ev->fail;
		fix.acted = ev->acted;
		if (ev->save)
			assert_int_equal(0, ev->save(ev->save_arg, &e));
	}
}

static void open_engine(void)
{
	const struct react_env env = { .loop = fix.loop,
		.log = fix.log,
		.db = fix.db,
		.http = fix.http,
		.tools = fix.tools,
		.speak = words_speech,
		.model.base_url = fix.url,
		.model.name = "test-model",
		.workspace = fix.ws };
	struct err e = ERR_INIT;

	if (fix.engine)
		fix.engine->ops->close(&fix.engine);
	if (react_open(&fix.engine, &env, &e) == 0 && fix.engine)
		fix.engine->on_event = on_event;
	else
		fail_msg("%s", e.msg);
}

static void open_tools(enum verdict write)
{
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct tools_env env = { .loop = fix.loop,
		.log = fix.log,
		.audit = fix.audit,
		.helper = KAIRO_TOOL,
		.workspace = fix.ws };
	struct err e = ERR_INIT;

	if (fix.engine)
		fix.engine->ops->close(&fix.engine);
	tools_close(&fix.tools);
	policy_free(&fix.policy);
	rules.write = write;
	assert_int_equal(0, policy_open(&fix.policy, &rules, &e));
	env.policy = fix.policy;
	env.word = words_wording;
	assert_int_equal(0, tools_open(&fix.tools, &env, &e));
	assert_int_equal(0, tools_add_native(fix.tools, &search, &e));
	open_engine();
}

static int setup(void **state)
{
	const struct http_rules rules = { .reach = HTTP_ANY, .plain_http = true };
	char path[96];
	struct err e = ERR_INIT;

	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.deed = (struct str)STR_INIT(TOOL_QUESTION_MAX);
	(void)snprintf(fix.dir, sizeof(fix.dir), "/tmp/kairo-batch-XXXXXX");
	assert_non_null(mkdtemp(fix.dir));
	(void)snprintf(fix.ws, sizeof(fix.ws), "%s/ws", fix.dir);
	assert_int_equal(0, mkdir(fix.ws, 0755));
	(void)snprintf(path, sizeof(path), "%s/state.db", fix.dir);
	assert_int_equal(0, log_open_fd(&fix.log, STDERR_FILENO, LOG_ERROR, &e));
	assert_int_equal(0, loop_open(&fix.loop, NULL, &e));
	assert_int_equal(0, db_open(&fix.db, path, &e));
	assert_int_equal(0, http_open(&fix.http, fix.loop, &rules, fix.log, &e));
	(void)snprintf(path, sizeof(path), "%s/audit", fix.dir);
	assert_int_equal(0, mkdir(path, 0700));
	assert_int_equal(0, audit_open(&fix.audit, path, loop_clock(fix.loop), &e));
	fix.lm = lm_new(fix.loop);
	(void)snprintf(fix.url, sizeof(fix.url), "http://127.0.0.1:%d/v1", lm_port(fix.lm));
	open_tools(VERDICT_ASK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (fix.engine)
		fix.engine->ops->close(&fix.engine);
	tools_close(&fix.tools);
	policy_free(&fix.policy);
	audit_close(&fix.audit);
	http_close(&fix.http);
	lm_free(&fix.lm);
	db_close(&fix.db);
	loop_close(&fix.loop);
	log_close(&fix.log);
	str_release(&fix.deed);
	return remove_tree(fix.dir);
}

/* --- Driving ---------------------------------------------------------------------------------- */

static void begin_as(const char *conversation)
{
	struct turn_input in = { .turn = ++fix.turn, .conversation = conversation };
	struct err e = ERR_INIT;

	in.text = VIEW("go");
	in.language = "en";
	fix.done = fix.questions = fix.begun = fix.cancelled = 0;
	if (fix.engine->ops->start(fix.engine, &in, &e) < 0)
		fail_msg("start: %s", e.msg);
}

static void begin(void)
{
	begin_as("me");
}

static void step(void)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, loop_step(fix.loop, 20000, &e));
}

static void wait_begun(int n)
{
	while (fix.begun < n)
		step();
}

static void wait_question(int n)
{
	while (fix.questions < n) {
		assert_int_equal(0, fix.done);
		step();
	}
}

static void wait_done(enum engine_fail fail)
{
	while (!fix.done)
		step();
	assert_int_equal(fail, fix.fail);
}

/* Whatever is due, and then some. */
static void settle(void)
{
	struct err e = ERR_INIT;

	for (int i = 0; i < 20; i++)
		assert_int_equal(0, loop_step(fix.loop, 1, &e));
}

static void answer(int choice)
{
	struct err e = ERR_INIT;

	if (fix.engine->ops->answer(fix.engine, fix.id, choice, &e) < 0)
		fail_msg("%s", e.msg);
}

static void cancel(void)
{
	fix.engine->ops->cancel(fix.engine, fix.turn);
}

/* The model calls these: name and arguments in turn, NULL at the end. Ids are c0, c1... */
static void say_calls(const char *const *list)
{
	struct str s = STR_INIT(65536);
	struct json_out w;
	struct err e = ERR_INIT;
	const char *events[2] = { NULL };

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_open_array(&w, "choices");
	json_open(&w, NULL);
	json_open(&w, "delta");
	json_open_array(&w, "tool_calls");
	for (int i = 0; list[i]; i += 2) {
		char id[16];

		(void)snprintf(id, sizeof(id), "c%d", i / 2);
		json_open(&w, NULL);
		json_put_int(&w, "index", i / 2);
		json_put_z(&w, "id", id);
		json_open(&w, "function");
		json_put_z(&w, "name", list[i]);
		json_put_z(&w, "arguments", list[i + 1]);
		json_close(&w);
		json_close(&w);
	}
	json_close_array(&w);
	json_close(&w);
	json_put_z(&w, "finish_reason", "tool_calls");
	json_close(&w);
	json_close_array(&w);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, &e));
	events[0] = str_cstr(&s);
	lm_events(fix.lm, events);
	str_release(&s);
}

#define CALLS(...) say_calls((const char *const[]){ __VA_ARGS__, NULL })

static const char write_a[] = "{\"path\":\"a.txt\",\"content\":\"alpha\\n\"}";
static const char write_b[] = "{\"path\":\"b.txt\",\"content\":\"beta\\n\"}";

static bool there(const char *name)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/%s", fix.ws, name);
	return access(path, F_OK) == 0;
}

/* Call i of the newest batch has a result with this in it, which the last request shows. */
static void result_has(int i, const char *words)
{
	const char *at = NULL, *end = lm_body(fix.lm, lm_requests(fix.lm) - 1);
	struct str text = STR_INIT(1 << 20);

	while ((end = strstr(end, "\"tool_calls\"")))
		at = end++;
	for (int n = 0; at && n <= i; n++)
		at = strstr(at + 1, "\"tool_call_id\"");
	if (!at) {
		fail_msg("call %d has no result", i);
		return;
	}
	end = strstr(at, "\"role\"");
	(void)str_add(&text, (struct view){ at, end ? (size_t)(end - at) : strlen(at) });
	if (!strstr(str_cstr(&text), words))
		fail_msg("call %d: no \"%s\" in %s", i, words, str_cstr(&text));
	str_release(&text);
}

/* The results stand in the order of the calls. */
static void in_order(int n)
{
	const char *at = lm_body(fix.lm, lm_requests(fix.lm) - 1);

	for (int i = 0; at && i < n; i++) {
		char id[40];

		(void)snprintf(id, sizeof(id), "\"tool_call_id\":\"c%d\"", i);
		at = strstr(at, id);
		if (!at)
			fail_msg("no result of call %d behind that of %d", i, i - 1);
	}
}

static void audit_text(struct str *out)
{
	char dir[96], path[512];
	struct dirent *d;
	struct err e = ERR_INIT;
	DIR *list;

	(void)snprintf(dir, sizeof(dir), "%s/audit", fix.dir);
	list = opendir(dir);
	assert_non_null(list);
	while ((d = readdir(list))) {
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		assert_int_equal(0, file_read(path, 1 << 20, out, &e));
	}
	closedir(list);
}

/* The audit tells these outcomes, one after the other. */
static void audited(const char *const *outcomes)
{
	struct str s = STR_INIT(1 << 20);
	const char *at;

	audit_text(&s);
	at = str_cstr(&s);
	for (; at && *outcomes; outcomes++) {
		char member[64];

		(void)snprintf(member, sizeof(member), "\"outcome\":\"%s\"", *outcomes);
		at = strstr(at, member);
		if (!at)
			fail_msg("no %s in %s", member, str_cstr(&s));
	}
	str_release(&s);
}

#define AUDITED(...) audited((const char *const[]){ __VA_ARGS__, NULL })

/* --- Side by side ----------------------------------------------------------------------------- */

static void reads_run_side_by_side_and_results_keep_their_order(void **state)
{
	(void)state;
	CALLS("web_search", "{\"query\":\"q0\"}", "web_search", "{\"query\":\"q1\"}", "web_search",
		"{\"query\":\"q2\"}", "web_search", "{\"query\":\"q3\"}", "web_search",
		"{\"query\":\"q4\"}", "web_search", "{\"query\":\"q5\"}");
	lm_text(fix.lm, "ok");
	begin();
	wait_begun(4);
	settle();
	assert_int_equal(4, fix.begun);
	found(3, true);
	wait_begun(5);
	settle();
	assert_int_equal(5, fix.begun);
	found(0, true);
	wait_begun(6);
	for (int i = 5; i > 0; i--)
		if (i != 3)
			found(i, true);
	wait_done(ENGINE_OK);
	in_order(6);
	for (int i = 0; i < 6; i++) {
		char words[24];

		(void)snprintf(words, sizeof(words), "found q%d", i);
		result_has(i, words);
	}
	assert_false(fix.acted);
}

static void one_that_fails_spoils_nothing(void **state)
{
	(void)state;
	CALLS("web_search", "{\"query\":\"q0\"}", "web_search", "{\"query\":\"q1\"}", "web_search",
		"{}", "no_such_tool", "{}", "web_search", "{\"query\":\"q4\"}");
	lm_text(fix.lm, "ok");
	begin();
	wait_begun(3);
	found(1, false);
	found(2, true);
	settle();
	found(0, true);
	wait_done(ENGINE_OK);
	in_order(5);
	result_has(0, "found q0");
	result_has(1, "nothing of q1");
	result_has(2, "The arguments of web_search are wrong");
	result_has(3, "There is no tool");
	result_has(4, "found q4");
}

static void what_acts_waits_and_lets_wait(void **state)
{
	(void)state;
	open_tools(VERDICT_ALLOW);
	CALLS("web_search", "{\"query\":\"q0\"}", "write_file", write_a, "write_file", write_b,
		"web_search", "{\"query\":\"q3\"}");
	lm_text(fix.lm, "ok");
	begin();
	wait_begun(1);
	settle();
	assert_false(there("a.txt"));
	assert_int_equal(1, fix.begun);
	found(0, true);
	wait_begun(2);
	assert_true(there("a.txt") && there("b.txt"));
	found(1, true);
	wait_done(ENGINE_OK);
	in_order(4);
	assert_true(fix.acted);
}

/* --- Consent ---------------------------------------------------------------------------------- */

static void nothing_is_done_before_the_yes(void **state)
{
	(void)state;
	CALLS("write_file", write_a, "web_search", "{\"query\":\"q1\"}");
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	settle();
	assert_string_equal("write_file", fix.name);
	assert_non_null(strstr(str_cstr(&fix.deed), "a.txt"));
	assert_false(there("a.txt"));
	assert_int_equal(0, fix.begun); /* what is behind it waits as well */
	assert_int_equal(1, lm_requests(fix.lm));
	answer(APPROVAL_ONCE);
	assert_false(there("a.txt")); /* not from inside the answer */
	wait_begun(1);
	assert_true(there("a.txt"));
	found(0, true);
	wait_done(ENGINE_OK);
	assert_true(fix.acted);
	assert_int_equal(1, fix.questions);
	AUDITED("asked", "consented", "ok");
}

static void what_is_no_yes_is_told_and_recorded(void **state)
{
	static const struct {
		int choice;
		const char *words, *outcome;
	} rows[] = {
		{ APPROVAL_NO, "The user was asked and refused.", "refused" },
		{ ANSWER_NONE, "did not answer in time, which counts as a no", "expired" },
		{ ANSWER_UNASKED, "could not be asked, which counts as a no", "undeliverable" },
		{ 77, "The user was asked and refused.", "refused" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CALLS("write_file", write_a, "web_search", "{\"query\":\"q1\"}");
		lm_text(fix.lm, "ok");
		begin();
		wait_question(1);
		answer(rows[i].choice);
		wait_begun(1);
		found(0, true);
		wait_done(ENGINE_OK);
		result_has(0, rows[i].words);
		result_has(0, "do not try to reach the same by other means");
		result_has(1, "found q1");
		assert_false(fix.acted);
		AUDITED("asked", rows[i].outcome);
	}
	assert_false(there("a.txt"));
}

/* Nothing can be written where the audit was; its records are kept aside. */
static void break_audit(bool on)
{
	char dir[96], aside[96];

	(void)snprintf(dir, sizeof(dir), "%s/audit", fix.dir);
	(void)snprintf(aside, sizeof(aside), "%s/aside", fix.dir);
	if (on) {
		assert_int_equal(0, rename(dir, aside));
		assert_int_equal(0, symlink(aside, dir));
	} else {
		assert_int_equal(0, unlink(dir));
		assert_int_equal(0, rename(aside, dir));
	}
}

static void what_cannot_be_recorded_is_not_asked(void **state)
{
	(void)state;
	break_audit(true);
	CALLS("write_file", write_a, "list_dir", "{}");
	lm_text(fix.lm, "ok");
	begin();
	wait_done(ENGINE_OK);
	assert_int_equal(0, fix.questions);
	result_has(0, "cannot be asked for: it cannot be recorded: ");
	result_has(1, "list_dir could not be started: it cannot be recorded: ");
	assert_false(there("a.txt") || fix.acted);
}

static void a_yes_that_cannot_be_recorded_does_nothing(void **state)
{
	(void)state;
	CALLS("write_file", write_a);
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	break_audit(true);
	answer(APPROVAL_ONCE);
	wait_done(ENGINE_OK);
	result_has(0, "write_file could not be started: it cannot be recorded: ");
	assert_false(there("a.txt") || fix.acted);
	break_audit(false);
	AUDITED("asked");
}

static void a_policy_that_was_changed_beats_a_yes(void **state)
{
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct policy *strict;

	(void)state;
	rules.write = VERDICT_DENY;
	assert_int_equal(0, policy_open(&strict, &rules, NULL));
	CALLS("write_file", write_a);
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	tools_set_policy(fix.tools, strict);
	answer(APPROVAL_ONCE);
	wait_done(ENGINE_OK);
	result_has(0, "write_file is denied for requests from the phone");
	result_has(0, "do not try to reach the same by other means.");
	assert_false(there("a.txt") || fix.acted);
	AUDITED("asked", "consented", "refused");
	tools_set_policy(fix.tools, fix.policy);
	policy_free(&strict);
}

/* Runs a turn that writes; was a question asked? Any is answered so. */
static bool asked_for(const char *conversation, const char *args, int choice)
{
	CALLS("write_file", args);
	lm_text(fix.lm, "ok");
	begin_as(conversation);
	while (!fix.done && !fix.questions)
		step();
	if (fix.questions)
		answer(choice);
	wait_done(ENGINE_OK);
	return fix.questions > 0;
}

static void who_said_no_is_not_asked_again(void **state)
{
	(void)state;
	CALLS("write_file", write_a, "write_file", write_a);
	CALLS("write_file", write_a);
	CALLS("write_file", write_b);
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	answer(APPROVAL_NO);
	wait_question(2);
	assert_non_null(strstr(str_cstr(&fix.deed), "b.txt"));
	answer(APPROVAL_ONCE);
	wait_done(ENGINE_OK);
	assert_false(there("a.txt"));
	assert_true(there("b.txt"));
	AUDITED("asked", "refused", "refused", "refused", "asked", "consented");
	assert_true(asked_for("me", write_a, APPROVAL_ONCE)); /* in the next task it is */
	assert_true(there("a.txt"));
}

static void no_and_stop_ends_the_turn(void **state)
{
	(void)state;
	CALLS("write_file", write_a, "write_file", write_b);
	begin();
	wait_question(1);
	answer(APPROVAL_STOP);
	cancel(); /* whoever asked has it stopped as well */
	wait_done(ENGINE_FAIL_CANCELLED);
	assert_int_equal(1, fix.questions);
	assert_int_equal(1, lm_requests(fix.lm));
	AUDITED("asked", "refused");
	lm_text(fix.lm, "hi");
	begin();
	wait_done(ENGINE_OK);
	result_has(0, "refused, and stopped the task");
	result_has(1, "Cancelled before it was started");
	assert_false(there("a.txt") || there("b.txt"));
}

static void a_yes_for_the_conversation_is_for_exactly_that(void **state)
{
	static const char same_a[] = "{ \"content\" : \"alpha\\n\", \"path\":\"a.txt\"}";
	struct str reply = STR_INIT(1000);
	struct err e = ERR_INIT;

	(void)state;
	assert_true(asked_for("me", write_a, APPROVAL_ONCE));
	assert_true(asked_for("me", write_a, APPROVAL_CONVERSATION));
	assert_false(asked_for("me", write_a, APPROVAL_NO));
	assert_true(there("a.txt"));
	assert_false(asked_for("me", same_a, APPROVAL_NO)); /* the same, written otherwise */
	assert_true(asked_for("me", write_b, APPROVAL_NO));
	assert_true(asked_for("you", write_a, APPROVAL_NO));
	AUDITED("asked", "consented", "asked", "consented", "consented");
	assert_int_equal(0, fix.engine->ops->command(fix.engine, ENGINE_CMD_NEW, "me", VIEW_NONE,
				    "en", &reply, &e));
	assert_true(asked_for("me", write_a, APPROVAL_CONVERSATION));
	open_engine(); /* as after a restart */
	assert_true(asked_for("me", write_a, APPROVAL_NO));
	str_release(&reply);
}

static void questions_are_asked_one_after_the_other(void **state)
{
	char first[64];

	(void)state;
	CALLS("write_file", write_a, "write_file", write_b);
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	settle();
	assert_int_equal(1, fix.questions);
	(void)snprintf(first, sizeof(first), "%s", fix.id);
	answer(APPROVAL_NO);
	wait_question(2);
	assert_non_null(strstr(str_cstr(&fix.deed), "b.txt"));
	assert_string_not_equal(first, fix.id);
	answer(APPROVAL_ONCE);
	wait_done(ENGINE_OK);
	assert_false(there("a.txt"));
	assert_true(there("b.txt"));
	result_has(0, "refused");
	result_has(1, "created b.txt");
}

static void only_the_open_question_can_be_answered_and_once(void **state)
{
	struct err e = ERR_INIT;
	const struct engine_ops *ops = fix.engine->ops;
	char id[64];

	(void)state;
	assert_int_equal(-1, ops->answer(fix.engine, "1.1", APPROVAL_ONCE, &e));
	CALLS("write_file", write_a);
	lm_text(fix.lm, "ok");
	begin();
	wait_question(1);
	(void)snprintf(id, sizeof(id), "%s", fix.id);
	assert_int_equal(-1, ops->answer(fix.engine, "1.99", APPROVAL_ONCE, &e));
	assert_int_equal(-1, ops->answer(fix.engine, "", APPROVAL_ONCE, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	answer(APPROVAL_NO);
	assert_int_equal(-1, ops->answer(fix.engine, id, APPROVAL_ONCE, &e));
	wait_done(ENGINE_OK);
	assert_int_equal(-1, ops->answer(fix.engine, id, APPROVAL_ONCE, &e));
	assert_false(there("a.txt"));
}

/* --- Cut off ---------------------------------------------------------------------------------- */

static void cancelled_while_a_question_is_open(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	CALLS("write_file", write_a, "write_file", write_b);
	begin();
	wait_question(1);
	cancel();
	assert_int_equal(-1,
		fix.engine->ops->answer(fix.engine, fix.id, APPROVAL_CONVERSATION, &e));
	wait_done(ENGINE_FAIL_CANCELLED);
	assert_false(fix.acted);
	AUDITED("asked", "cancelled");
	lm_text(fix.lm, "hi");
	begin();
	wait_done(ENGINE_OK);
	result_has(0, "Cancelled while the user was asked for consent. Nothing was done");
	result_has(1, "Cancelled before it was started");
	assert_false(there("a.txt") || there("b.txt"));
	assert_true(asked_for("me", write_a, APPROVAL_NO)); /* nothing was granted */
}

static void cancelled_from_inside_the_question(void **state)
{
	(void)state;
	fix.cancel_on_question = true;
	CALLS("write_file", write_a);
	begin();
	wait_done(ENGINE_FAIL_CANCELLED);
	assert_false(there("a.txt"));
}

static void cancelled_right_after_the_yes(void **state)
{
	(void)state;
	CALLS("write_file", write_a);
	begin();
	wait_question(1);
	answer(APPROVAL_ONCE);
	cancel();
	wait_done(ENGINE_FAIL_CANCELLED);
	assert_false(there("a.txt"));
	assert_false(fix.acted);
}

static void cancelled_midway_every_call_has_one_result(void **state)
{
	(void)state;
	CALLS("web_search", "{\"query\":\"q0\"}", "web_search", "{\"query\":\"q1\"}", "web_search",
		"{\"query\":\"q2\"}", "write_file", write_a);
	begin();
	wait_begun(3);
	found(1, true);
	settle();
	cancel();
	wait_done(ENGINE_FAIL_CANCELLED);
	assert_int_equal(2, fix.cancelled);
	lm_text(fix.lm, "hi");
	begin();
	wait_done(ENGINE_OK);
	in_order(4);
	result_has(0, "web_search was cancelled. It changes nothing.");
	result_has(1, "found q1");
	result_has(2, "web_search was cancelled. It changes nothing.");
	result_has(3, "Cancelled before it was started. Nothing was done by this call.");
}

/* Such results are not held against the model. */
static void what_was_cancelled_is_no_standing_still(void **state)
{
	(void)state;
	CALLS("write_file", write_a, "write_file", write_a, "write_file", write_a);
	begin();
	wait_question(1);
	cancel();
	wait_done(ENGINE_FAIL_CANCELLED);
	lm_text(fix.lm, "hi");
	begin();
	wait_done(ENGINE_OK);
	in_order(3);
	result_has(2, "Cancelled before it was started. Nothing was done by this call.");
	assert_null(strstr(lm_body(fix.lm, lm_requests(fix.lm) - 1), "the same result"));
}

static void closed_while_it_asks_or_works(void **state)
{
	(void)state;
	CALLS("web_search", "{\"query\":\"q0\"}", "web_search", "{\"query\":\"q1\"}");
	begin();
	wait_begun(2);
	fix.engine->ops->close(&fix.engine);
	settle();
	assert_int_equal(0, fix.done);
	assert_int_equal(2, fix.cancelled);
	open_engine();
	CALLS("write_file", write_a);
	begin();
	wait_question(1);
	fix.engine->ops->close(&fix.engine);
	settle();
	assert_int_equal(0, fix.done);
	assert_false(there("a.txt"));
}

/* --- Files ------------------------------------------------------------------------------------ */

static int on_deliver(void *arg, uint64_t turn, struct view path, struct view caption,
	struct err *e)
{
	struct str *got = arg;

	assert_int_equal(fix.turn, turn);
	if (view_eqs(path, "no.pdf"))
		return err_set(e, E_NOTFOUND, "there is no no.pdf; check the path");
	return str_addf(got, "%.*s (%.*s)\n", VIEW_FMT(path), VIEW_FMT(caption));
}

static void a_file_is_handed_over_and_the_verdict_is_the_result(void **state)
{
	struct str got = STR_INIT(1024);

	(void)state;
	fix.engine->deliver = on_deliver;
	fix.engine->arg = &got;
	CALLS("send_file", "{\"path\":\"a.pdf\",\"caption\":\"See\"}", "send_file",
		"{\"path\":\"no.pdf\"}", "send_file", "{\"path\":\"b.pdf\"}", "send_file", "{}");
	lm_text(fix.lm, "Here they are.");
	begin();
	wait_done(ENGINE_OK);
	assert_string_equal("a.pdf (See)\nb.pdf ()\n", str_cstr(&got));
	assert_false(fix.acted);
	assert_int_equal(0, fix.questions);
	in_order(4);
	result_has(0, "right behind your answer");
	result_has(1, "there is no no.pdf; check the path");
	result_has(2, "right behind your answer");
	result_has(3, "path");
	str_release(&got);
}

static void where_nobody_takes_files_that_is_the_result(void **state)
{
	(void)state;
	CALLS("send_file", "{\"path\":\"a.pdf\"}");
	lm_text(fix.lm, "No.");
	begin();
	wait_done(ENGINE_OK);
	result_has(0, "no file can be sent from here");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(reads_run_side_by_side_and_results_keep_their_order),
		T(one_that_fails_spoils_nothing),
		T(what_acts_waits_and_lets_wait),
		T(nothing_is_done_before_the_yes),
		T(what_is_no_yes_is_told_and_recorded),
		T(what_cannot_be_recorded_is_not_asked),
		T(a_yes_that_cannot_be_recorded_does_nothing),
		T(a_policy_that_was_changed_beats_a_yes),
		T(who_said_no_is_not_asked_again),
		T(no_and_stop_ends_the_turn),
		T(a_yes_for_the_conversation_is_for_exactly_that),
		T(questions_are_asked_one_after_the_other),
		T(only_the_open_question_can_be_answered_and_once),
		T(cancelled_while_a_question_is_open),
		T(cancelled_from_inside_the_question),
		T(cancelled_right_after_the_yes),
		T(cancelled_midway_every_call_has_one_result),
		T(what_was_cancelled_is_no_standing_still),
		T(closed_while_it_asks_or_works),
		T(a_file_is_handed_over_and_the_verdict_is_the_result),
		T(where_nobody_takes_files_that_is_the_result),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
