/* The agent's connection from its other end: the test writes its lines and reads ours. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/acp/rpc.h"
#include "base/proc.h"
#include "still.h"

#define LINE_MAX_ ((size_t)4096)

struct fix {
	struct loop *loop;
	struct log *log;
	struct rpc *rpc;
	int to_us, from_us; /* the agent's ends */
	int ours_in, ours_out;

	int requests, notifications, answers, ends;
	char method[64], params[256], text[256];
	struct rpc_id id;
	enum rpc_end end;
	int64_t code;
	bool close_now;
};

static void keep_json(char *dst, size_t size, const struct json *j)
{
	struct str s = STR_INIT(size - 1);

	*dst = '\0';
	if (j) {
		assert_int_equal(0, json_print(j, &s, NULL));
		assert_int_equal(0, copy_z(dst, size, str_view(&s)));
	}
	str_release(&s);
}

static void maybe_close(struct fix *f)
{
	if (f->close_now)
		rpc_close(&f->rpc);
}

static void on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params)
{
	struct fix *f = arg;

	f->requests++;
	(void)snprintf(f->method, sizeof(f->method), "%s", method);
	f->id = *id;
	keep_json(f->params, sizeof(f->params), params);
	maybe_close(f);
}

static void on_notification(void *arg, const char *method, const struct json *params)
{
	struct fix *f = arg;

	f->notifications++;
	(void)snprintf(f->method, sizeof(f->method), "%s", method);
	keep_json(f->params, sizeof(f->params), params);
	maybe_close(f);
}

static void on_end(void *arg)
{
	struct fix *f = arg;

	f->ends++;
	maybe_close(f);
}

static void on_answer(void *arg, const struct rpc_answer *a)
{
	struct fix *f = arg;

	f->answers++;
	f->end = a->end;
	f->code = a->code;
	keep_json(f->params, sizeof(f->params), a->result);
	(void)snprintf(f->text, sizeof(f->text), "%.*s", VIEW_FMT(a->message));
	maybe_close(f);
}

static void turn(struct fix *f)
{
	for (int i = 0; i < 6; i++)
		assert_int_equal(0, loop_step(f->loop, 0, NULL));
}

static void say(struct fix *f, const char *text)
{
	size_t n = strlen(text);

	assert_int_equal(n, write(f->to_us, text, n));
	turn(f);
}

/* What we wrote; the pipe never blocks. */
static size_t heard(const struct fix *f, char *buf, size_t size)
{
	ssize_t n = read(f->from_us, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void open_rpc(struct fix *f)
{
	const struct rpc_env env = {
		.loop = f->loop,
		.log = f->log,
		.in = f->ours_in,
		.out = f->ours_out,
		.line_max = LINE_MAX_,
		.on_request = on_request,
		.on_notification = on_notification,
		.on_end = on_end,
		.arg = f,
	};

	assert_int_equal(0, rpc_open(&f->rpc, &env, NULL));
}

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));
	int down[2], up[2];

	assert_non_null(f);
	assert_int_equal(0, loop_open(&f->loop, &still_clock, NULL));
	assert_int_equal(0, log_open_fd(&f->log, STDERR_FILENO, LOG_ERROR, NULL));
	assert_int_equal(0, proc_pipe(down, 1, NULL)); /* we write without waiting */
	assert_int_equal(0, proc_pipe(up, 0, NULL));   /* and read so */
	assert_int_equal(0, fcntl(down[0], F_SETFL, O_NONBLOCK));
	f->ours_out = down[1];
	f->from_us = down[0];
	f->ours_in = up[0];
	f->to_us = up[1];
	open_rpc(f);
	*state = f;
	return 0;
}

static void drop_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	rpc_close(&f->rpc);
	drop_fd(&f->to_us);
	drop_fd(&f->from_us);
	drop_fd(&f->ours_in);
	drop_fd(&f->ours_out);
	log_close(&f->log);
	loop_close(&f->loop);
	free(f);
	return 0;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void tells_the_three_kinds_of_message_apart(void **state)
{
	struct fix *f = *state;

	say(f, "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"a\":1}}\r\n");
	assert_int_equal(1, f->notifications);
	assert_string_equal("session/update", f->method);
	assert_string_equal("{\"a\":1}", f->params);
	say(f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"fs/read_text_file\"}\n");
	assert_int_equal(1, f->requests);
	assert_string_equal("0", f->id.json);
	assert_string_equal("", f->params);
	assert_int_equal(0, rpc_odd(f->rpc));
}

/* JSON-RPC 2.0, 4: an id is a number, a text or null, and comes back as it came. */
static void gives_an_id_back_as_it_came(void **state)
{
	static const char *const ids[] = { "0", "7", "18446744073709551615", "-1", "\"0\"",
		"\"a b\"", "\"\"", "null", "1.5", "\"\xe4\xbd\xa0\"" };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char line[200], want[200], got[400];

		(void)snprintf(line, sizeof(line), "{\"id\":%s,\"method\":\"m\"}\n", ids[i]);
		say(f, line);
		assert_int_equal((int)i + 1, f->requests);
		assert_int_equal(0, rpc_refuse(f->rpc, &f->id, RPC_NO_METHOD, "no", NULL));
		turn(f);
		(void)heard(f, got, sizeof(got));
		(void)snprintf(want, sizeof(want),
			"{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
			ids[i]);
		assert_string_equal(want, got);
	}
}

static void one_bad_line_is_not_the_end(void **state)
{
	static const char *const odd[] = { "Welcome to the agent!", "{", "[]",
		"[{\"method\":\"m\"}]", "null", "7", "{}", "{\"id\":1}", "{\"method\":7}",
		"{\"method\":\"\"}", "{\"id\":{},\"method\":\"m\"}",
		"{\"id\":[1],\"method\":\"m\"}", "{\"id\":true,\"method\":\"m\"}",
		"{\"id\":\"x\",\"result\":{}}", "{\"method\":\"m\",\"method\":\"n\"}",
		"{\"method\":\"m\"} trailing" };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		char line[200];

		(void)snprintf(line, sizeof(line), "%s\n\n  \r\n{\"method\":\"fine\"}\n", odd[i]);
		say(f, line);
		assert_int_equal(i + 1, rpc_odd(f->rpc));
		assert_int_equal((int)i + 1, f->notifications);
		assert_string_equal("fine", f->method);
	}
	assert_int_equal(0, f->requests);
	assert_int_equal(0, f->ends);
}

static void repairs_bytes_that_are_no_text(void **state)
{
	struct fix *f = *state;

	say(f, "{\"method\":\"m\",\"params\":{\"t\":\"a\xff\\u0000b\"}}\n");
	assert_int_equal(1, f->notifications);
	assert_string_equal("{\"t\":\"a\xef\xbf\xbd\xef\xbf\xbd"
			    "b\"}",
		f->params);
}

static void a_line_may_come_byte_by_byte(void **state)
{
	const char *line =
		"{\"method\":\"m\",\"params\":{\"t\":\"\xf0\x9f\x99\x82\xe4\xbd\xa0\"}}\n";
	struct fix *f = *state;

	for (const char *p = line; *p; p++) {
		char one[2] = { *p, '\0' };

		assert_int_equal(0, f->notifications);
		say(f, one);
	}
	assert_int_equal(1, f->notifications);
	assert_string_equal("{\"t\":\"\xf0\x9f\x99\x82\xe4\xbd\xa0\"}", f->params);
}

/* A notification whose line has n bytes, its end not counted. */
static void say_line_of(struct fix *f, size_t n)
{
	char line[LINE_MAX_ + 100];
	const char *head = "{\"method\":\"m\"}";

	memset(line, ' ', n);
	memcpy(line, head, strlen(head));
	line[n] = '\n';
	line[n + 1] = '\0';
	say(f, line);
}

static void a_line_too_long_is_dropped_and_the_next_is_read(void **state)
{
	struct fix *f = *state;

	say_line_of(f, LINE_MAX_ - 1);
	say_line_of(f, LINE_MAX_);
	assert_int_equal(2, f->notifications);
	assert_int_equal(0, rpc_odd(f->rpc));
	say_line_of(f, LINE_MAX_ + 1);
	assert_int_equal(2, f->notifications);
	assert_int_equal(1, rpc_odd(f->rpc));
	for (int i = 0; i < 40; i++) /* one of 40,000 bytes, drained as it comes */
		say(f, "{\"method\":\"m\",\"params\":{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	say(f, "\n{\"method\":\"after\"}\n");
	assert_int_equal(2, rpc_odd(f->rpc));
	assert_int_equal(3, f->notifications);
	assert_string_equal("after", f->method);
}

/* --- Calls ------------------------------------------------------------------------------------ */

static uint64_t call(struct fix *f, int64_t timeout_ms)
{
	struct json_out *w = rpc_request(f->rpc, "initialize");
	uint64_t id = 0;

	json_put_int(w, "protocolVersion", 1);
	assert_int_equal(0, rpc_send_request(f->rpc, timeout_ms, on_answer, f, &id, NULL));
	turn(f);
	return id;
}

static void answer(struct fix *f, uint64_t id, const char *rest)
{
	char line[300];

	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}\n",
		(unsigned long long)id, rest);
	say(f, line);
}

static void answers_find_their_calls_in_any_order(void **state)
{
	struct fix *f = *state;
	char got[300];
	uint64_t a = call(f, 0), b;

	(void)heard(f, got, sizeof(got));
	assert_string_equal("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
			    "\"params\":{\"protocolVersion\":1}}\n",
		got);
	b = call(f, 0);
	answer(f, b, "\"result\":{\"x\":2}");
	assert_int_equal(1, f->answers);
	assert_int_equal(RPC_RESULT, f->end);
	assert_string_equal("{\"x\":2}", f->params);
	answer(f, a, "\"result\":null");
	assert_int_equal(2, f->answers);
	assert_string_equal("", f->params);
	answer(f, a, "\"result\":{\"twice\":1}");
	assert_int_equal(2, f->answers);
}

static void an_error_is_told_with_its_code(void **state)
{
	static const struct {
		const char *error, *text;
		int64_t code;
	} table[] = {
		{ "\"error\":{\"code\":-32000,\"message\":\"log in\"}", "log in", -32000 },
		{ "\"error\":{\"code\":\"x\"}", "", RPC_INTERNAL },
		{ "\"error\":\"no\"", "", RPC_INTERNAL },
		{ "\"result\":{},\"error\":{\"code\":1,\"message\":\"both\"}", "both", 1 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		answer(f, call(f, 0), table[i].error);
		assert_int_equal((int)i + 1, f->answers);
		assert_int_equal(RPC_ERROR, f->end);
		assert_int_equal(table[i].code, f->code);
		assert_string_equal(table[i].text, f->text);
	}
}

static void what_is_forgotten_is_not_told(void **state)
{
	struct fix *f = *state;
	uint64_t id = call(f, 0);

	char got[1000], cancel[200];

	(void)heard(f, got, sizeof(got));
	rpc_forget(f->rpc, id);
	rpc_forget(f->rpc, id);
	(void)snprintf(cancel, sizeof(cancel),
		"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":%llu}}\n",
		(unsigned long long)id);
	(void)heard(f, got, sizeof(got));
	assert_string_equal(cancel, got);
	answer(f, id, "\"result\":{}");
	assert_int_equal(0, f->answers);
}

static void no_more_calls_than_the_limit_are_open(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	for (int i = 0; i < RPC_CALLS_MAX; i++)
		(void)call(f, 0);
	(void)rpc_request(f->rpc, "m");
	assert_int_equal(-1, rpc_send_request(f->rpc, 0, on_answer, f, NULL, &e));
	assert_int_equal(E_FULL, e.code);
	answer(f, 1, "\"result\":{}");
	(void)call(f, 0);
}

static void the_end_of_the_pipe_ends_every_call(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	(void)call(f, 0);
	(void)call(f, 0);
	drop_fd(&f->to_us);
	turn(f);
	assert_int_equal(2, f->answers);
	assert_int_equal(RPC_GONE, f->end);
	assert_int_equal(1, f->ends);
	(void)rpc_notification(f->rpc, "m");
	assert_int_equal(-1, rpc_send(f->rpc, &e));
	assert_int_equal(E_NET, e.code);
}

static void a_dead_reader_is_the_end_too(void **state)
{
	struct fix *f = *state;

	drop_fd(&f->from_us);
	(void)rpc_notification(f->rpc, "m");
	(void)rpc_send(f->rpc, NULL);
	turn(f);
	assert_int_equal(1, f->ends);
}

static void it_can_be_closed_from_every_callback(void **state)
{
	struct fix *f = *state;

	f->close_now = true;
	say(f, "{\"method\":\"m\"}\n{\"method\":\"m\"}\n");
	assert_int_equal(1, f->notifications);
	assert_null(f->rpc);
	open_rpc(f);
	say(f, "{\"method\":\"m\",\"id\":1}\n{\"method\":\"m\"}\n");
	assert_int_equal(1, f->requests);
	assert_null(f->rpc);
	open_rpc(f);
	answer(f, call(f, 0), "\"result\":{}");
	assert_null(f->rpc);
	open_rpc(f);
	(void)call(f, 0);
	(void)call(f, 0);
	drop_fd(&f->to_us);
	turn(f);
	assert_int_equal(2, f->answers); /* the second call is not told any more */
	assert_int_equal(0, f->ends);
	assert_null(f->rpc);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void nothing_can_forge_a_second_line(void **state)
{
	struct json_out *w;
	struct fix *f = *state;
	char got[400];

	w = rpc_notification(f->rpc, "session/cancel");
	json_put_z(w, "sessionId", "a\n{\"method\":\"forged\"}\r\n\xe2\x80\xa8");
	assert_int_equal(0, rpc_send(f->rpc, NULL));
	turn(f);
	assert_true(heard(f, got, sizeof(got)) > 0);
	assert_ptr_equal(strchr(got, '\n'), got + strlen(got) - 1);
}

static void a_message_that_is_none_is_not_sent(void **state)
{
	struct fix *f = *state;
	struct json_out *w;
	struct err e = ERR_INIT;
	char got[100];

	w = rpc_notification(f->rpc, "m");
	json_put_z(w, "bad", "\xff");
	assert_int_equal(-1, rpc_send(f->rpc, &e));
	turn(f);
	f->notifications = (int)heard(f, got, sizeof(got));
	assert_int_equal(0, f->notifications);
	/* and the next is whole */
	(void)rpc_notification(f->rpc, "m");
	assert_int_equal(0, rpc_send(f->rpc, NULL));
	turn(f);
	(void)heard(f, got, sizeof(got));
	assert_string_equal("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}\n", got);
}

static int send_big(struct fix *f, const char *text, struct err *e)
{
	json_put_z(rpc_notification(f->rpc, "m"), "t", text);
	return rpc_send(f->rpc, e);
}

static void what_is_not_read_waits_up_to_the_limit(void **state)
{
	const size_t around =
		strlen("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"t\":\"\"}}");
	size_t n = RPC_MESSAGE_MAX - around, total = 0, sent = 0;
	char *text = malloc(n + 2), *got = malloc(1 << 20);
	struct fix *f = *state;
	struct err e = ERR_INIT;

	assert_non_null(text);
	assert_non_null(got);
	memset(text, 'x', n + 1);
	text[n + 1] = '\0';
	assert_int_equal(-1, send_big(f, text, &e)); /* one byte over */
	text[n] = '\0';
	while (sent < 4 && send_big(f, text, &e) == 0)
		sent++;
	assert_int_equal(2, sent); /* a third does not fit into the queue */
	assert_int_equal(E_FULL, e.code);
	assert_false(rpc_idle(f->rpc));
	for (size_t k; total < sent * (RPC_MESSAGE_MAX + 1); total += k) {
		k = heard(f, got, 1 << 20);
		assert_true(k > 0 || !rpc_idle(f->rpc));
		turn(f);
	}
	assert_int_equal(sent * (RPC_MESSAGE_MAX + 1), total);
	assert_true(rpc_idle(f->rpc));
	free(got);
	free(text);
}

#ifdef KAIRO_TEST_HOOKS
static void a_call_ends_when_its_time_is_up(void **state)
{
	struct fix *f = *state;
	uint64_t id = call(f, 30000);
	char got[1000];

	loop_turn_clock(f->loop, 29999);
	turn(f);
	assert_int_equal(0, f->answers);
	loop_turn_clock(f->loop, 1);
	turn(f);
	assert_int_equal(1, f->answers);
	assert_int_equal(RPC_TIMEOUT, f->end);
	(void)heard(f, got, sizeof(got));
	assert_non_null(strstr(got, "\"method\":\"$/cancel_request\""));
	answer(f, id, "\"result\":{}");
	assert_int_equal(1, f->answers);
	f->close_now = true;
	(void)call(f, 1);
	loop_turn_clock(f->loop, 1);
	turn(f);
	assert_null(f->rpc);
}
#endif

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tells_the_three_kinds_of_message_apart),
		T(gives_an_id_back_as_it_came),
		T(one_bad_line_is_not_the_end),
		T(repairs_bytes_that_are_no_text),
		T(a_line_may_come_byte_by_byte),
		T(a_line_too_long_is_dropped_and_the_next_is_read),
		T(answers_find_their_calls_in_any_order),
		T(an_error_is_told_with_its_code),
		T(what_is_forgotten_is_not_told),
		T(no_more_calls_than_the_limit_are_open),
		T(the_end_of_the_pipe_ends_every_call),
		T(a_dead_reader_is_the_end_too),
		T(it_can_be_closed_from_every_callback),
		T(nothing_can_forge_a_second_line),
		T(a_message_that_is_none_is_not_sent),
		T(what_is_not_read_waits_up_to_the_limit),
#ifdef KAIRO_TEST_HOOKS
		T(a_call_ends_when_its_time_is_up),
#endif
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
