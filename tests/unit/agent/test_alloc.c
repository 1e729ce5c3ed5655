/* Every allocation fails once: what is made of it is an error, never a crash or a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/approval.h"
#include "agent/react/history.h"
#include "agent/react/prompt.h"
#include "agent/react/stream.h"

static bool armed;
static long count, fail_at;

static bool fails(void)
{
	return armed && ++count == fail_at;
}

/* The linker sends the calls of the rooms here (--wrap). */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *z);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *z);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *z)
{
	return fails() ? NULL : __real_strdup(z);
}

/* Runs it with the first, the second ... allocation failing, until none is left to fail. */
static void torture(int (*scene)(void))
{
	for (fail_at = 1;; fail_at++) {
		int rc;

		count = 0;
		armed = true;
		rc = scene();
		armed = false;
		if (count < fail_at) {
			assert_int_equal(0, rc);
			break;
		}
	}
	assert_true(fail_at > 3);
}

static void ignore(void *arg, struct view piece)
{
	(void)arg;
	(void)piece;
}

static int read_stream(void)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"content\":\"hello\"}}]}",
		"{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
		"\"arguments\":\"{\\\"a\\\":[1,2,{\\\"b\\\":\\\"c\\\"}]}\"}},{\"function\":{\"name\":"
		"\"g\",\"arguments\":{\"x\":\"y\"}}}]}}]}",
		"{\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}",
	};
	const struct stream_sink sink = { ignore, ignore, NULL };
	struct err e = ERR_INIT;
	struct stream *s;
	int rc = stream_open(&s, &sink, &e);

	for (size_t i = 0; rc == 0 && i < 3; i++)
		rc = stream_event(s, VIEW_NONE, view_of(events[i]), &e);
	if (rc < 0)
		assert_int_equal(E_NOMEM, e.code); /* and not that the answer were too long */
	if (rc == 0) {
		(void)stream_end(s, "made");
		for (size_t i = 0; i < stream_calls(s); i++)
			if (stream_call(s, i).args_fault)
				rc = -1;
	}
	stream_close(&s);
	return rc;
}

static void streams(void **state)
{
	(void)state;
	torture(read_stream);
}

static int build(struct talk *t)
{
	struct msg *m;

	if (!talk_add(t, ROLE_USER, VIEW("question")))
		return -1;
	m = talk_add(t, ROLE_ASSISTANT, VIEW_NONE);
	if (!m || msg_add_call(m, VIEW("a"), VIEW("f"), VIEW("{}")) < 0 ||
		msg_set_fault(m, "why") < 0 || msg_set_thought(m, VIEW("hm")) < 0 ||
		!talk_add_result(t, "a", VIEW("result")) ||
		!talk_add(t, ROLE_ASSISTANT, VIEW("answer")))
		return -1;
	return 0;
}

static int write_prompt(void)
{
	struct prompt p = { .model = "m", .workspace = "/w", .window = 100000 };
	struct str out = STR_INIT(PROMPT_BODY_MAX);
	struct talk t = TALK_INIT;
	struct contract contract;
	int rc = build(&t);

	provider_contract(&contract, provider_named(VIEW("kimi")), "", VIEW_NONE, "kimi-k2.6");
	p.contract = &contract;
	p.talk = &t;
	p.tools = VIEW("[{\"type\":\"function\"}]");
	if (rc == 0)
		rc = prompt_write(&p, &out, NULL);
	talk_release(&t);
	str_release(&out);
	return rc;
}

static void prompts(void **state)
{
	(void)state;
	torture(write_prompt);
}

static int take_enclosed(void)
{
	static const struct turn_file file = { TURN_PICTURE, "/m/a.png", "a.png", "image/png", 1,
		false };
	const struct turn_input in = { .turn = 1,
		.conversation = "c",
		.text = VIEW("@image:<b c.png>"),
		.files = &file,
		.nfiles = 1 };
	struct str told = STR_INIT(4096);
	struct pictures *p;
	int rc = pictures_open(&p, NULL, &in, NULL);

	pictures_tell(p, "none is", &told);
	if (rc == 0 && (!str_ok(&told) || !pictures_at(p, 1)))
		rc = -1;
	pictures_free(&p);
	str_release(&told);
	return rc;
}

static void what_came_with_a_message(void **state)
{
	(void)state;
	torture(take_enclosed);
}

static int describe_fault(void)
{
	struct fault f = FAULT_INIT;
	struct str out = STR_INIT(4096);
	int rc;

	fault_in_body(&f, 400, VIEW("{\"error\":{\"message\":\"bad\",\"code\":\"c\"}}"));
	fault_detail(&f, "secret", &out);
	rc = out.n > 0 ? 0 : -1;
	str_release(&out);
	fault_release(&f);
	return rc;
}

static void faults(void **state)
{
	(void)state;
	torture(describe_fault);
}

static struct db *db;
static struct history *history;
static int64_t session;

static int keep_and_load(void)
{
	struct talk t = TALK_INIT, back = TALK_INIT;
	struct err e = ERR_INIT;
	int rc = build(&t);

	if (rc == 0)
		rc = history_save(history, session, &t, 0, 1, &e);
	if (rc == 0)
		rc = history_load(history, session, 100000, &back, &e);
	if (rc == 0)
		rc = back.n >= 4 && talk_round_valid(&back, back.n - 4, back.n) ? 0 : -1;
	talk_release(&t);
	talk_release(&back);
	return rc;
}

/* A summary takes the place of the first message but keeps the rest. */
static int summarise_and_replace(void)
{
	struct talk t = TALK_INIT, front = TALK_INIT, back = TALK_INIT;
	struct history_mark mark = { 0, 0 };
	struct err e = ERR_INIT;
	int rc = build(&t);

	if (rc == 0)
		rc = history_save(history, session, &t, 0, 1, &e);
	if (rc == 0)
		rc = history_mark(history, session, &mark, &e);
	if (rc == 0)
		rc = history_summarise(history, session, &mark, mark.last, VIEW("short"), 1, &e);
	if (rc == 0)
		rc = history_summary(&front, VIEW("short"), mark.last);
	if (rc == 0)
		rc = talk_replace(&t, 4, &front);
	if (rc == 0)
		rc = history_load(history, session, 100000, &back, &e);
	if (rc == 0)
		rc = t.n == 2 && back.n == 2 && talk_round_valid(&back, 0, 2) ? 0 : -1;
	talk_release(&t);
	talk_release(&front);
	talk_release(&back);
	return rc;
}

/* Taken back each time: nothing piles up, and the disk is not waited for. */
static int in_vain(int (*scene)(void))
{
	struct err e = ERR_INIT;
	int rc;

	if (db_begin(db, &e) < 0)
		return -1;
	rc = scene();
	db_rollback(db);
	return rc;
}

static int keep_and_load_in_vain(void)
{
	return in_vain(keep_and_load);
}

static int summarise_and_replace_in_vain(void)
{
	return in_vain(summarise_and_replace);
}

static void histories(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)remove(TEST_BUILD_DIR "/alloc-test.db");
	assert_int_equal(0, db_open(&db, TEST_BUILD_DIR "/alloc-test.db", &e));
	assert_int_equal(0, history_open(&history, db, NULL, &e));
	assert_int_equal(0, history_session(history, "me", 1, &session, &e));
	torture(keep_and_load_in_vain);
	torture(summarise_and_replace_in_vain);
	assert_false(db_in_transaction(db));
	history_close(&history);
	db_close(&db);
	(void)remove(TEST_BUILD_DIR "/alloc-test.db");
}

/* A yes that cannot be remembered is a yes all the same, for this once. */
static int grants(void)
{
	const struct approval about = { 1, "me", 1, "print" };
	enum consent c = CONSENT_REFUSED;
	struct approvals *a = NULL;
	char id[APPROVAL_ID_SIZE];
	int rc = -1;

	if (approvals_open(&a, NULL) == 0 && approvals_ask(a, &about, id, NULL) == 0) {
		assert_int_equal(0, approvals_answer(a, id, APPROVAL_CONVERSATION, &c, NULL));
		assert_int_equal(CONSENT_GIVEN, c);
		rc = approvals_granted(a, &about) ? 0 : -1;
	}
	approvals_close(&a);
	return rc;
}

static void approvals(void **state)
{
	(void)state;
	torture(grants);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams),
		cmocka_unit_test(what_came_with_a_message),
		cmocka_unit_test(prompts),
		cmocka_unit_test(faults),
		cmocka_unit_test(histories),
		cmocka_unit_test(approvals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
