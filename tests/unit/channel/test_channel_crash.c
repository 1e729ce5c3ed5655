/* A kill after any step of the loop: nothing is lost, nothing runs twice, no part is sent more than
 * three times, and whoever waited for a turn that was cut off is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "channel/inbox.h"

#include "house.h"

#define MESSAGES 3

static const char *const texts[MESSAGES] = { "alpha", "beta", "gamma" };

/* What the server would give again for as long as the cursor has not moved. */
static int batch(struct house *h)
{
	struct chan_msg m[MESSAGES];
	char ids[MESSAGES][8];

	for (int i = 0; i < MESSAGES; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%d", 9000 + i);
		m[i] = (struct chan_msg){ .id = ids[i],
			.from = OWNER,
			.token = "t",
			.text = view_of(texts[i]),
			.typed = true,
			.quote_id = "" };
	}
	return h->events.batch(h->events.arg, m, MESSAGES, NULL);
}

static int starts_of[MESSAGES];

/* One pass of the loop and 100 ms; counts what the engine was given. */
static void step(struct house *h)
{
	int before = h->engine.starts;

	h->w.clock.mono += 100;
	h->w.clock.wall += 100;
	assert_int_equal(0, loop_step(h->w.loop, 0, NULL));
	if (h->engine.starts == before)
		return;
	for (int i = 0; i < MESSAGES; i++)
		starts_of[i] += strcmp(h->engine.text, texts[i]) == 0;
}

static int accepted(const struct house *h, const char *needle)
{
	int n = 0;

	for (int i = 0; i < h->w.wire.nsent; i++)
		n += h->w.wire.sent[i].outcome == CHAN_ACCEPTED &&
		     strstr(h->w.wire.sent[i].text, needle) != NULL;
	return n;
}

static void check_attempts(const struct house *h)
{
	for (int i = 0; i < h->w.wire.nsent; i++) {
		int n = 0;

		for (int k = 0; k < h->w.wire.nsent; k++)
			n += strcmp(h->w.wire.sent[i].client_id, h->w.wire.sent[k].client_id) == 0;
		assert_in_range(n, 1, 3);
	}
}

static void check_end(struct house *h)
{
	int interrupted = house_rows(h, INBOX_INTERRUPTED);

	assert_int_equal(MESSAGES, house_rows(h, INBOX_DONE) + interrupted);
	assert_in_range(interrupted, 0, 2);
	for (int i = 0; i < MESSAGES; i++) {
		char answer[32];

		snprintf(answer, sizeof(answer), "answer to %s", texts[i]);
		assert_true(accepted(h, answer) + accepted(h, "restarted") > 0);
		if (accepted(h, answer) == 0)
			assert_true(accepted(h, texts[i]) > 0); /* named in the notice */
		assert_in_range(starts_of[i], 0, 1);
	}
	assert_int_equal(house_rows(h, INBOX_DONE), fake_history(h->w.db));
	check_attempts(h);
}

/* Crashes after `first` steps and again `second` steps later. */
static void run(int first, int second)
{
	static struct house h;
	const int crash_at[2] = { first, second };

	memset(starts_of, 0, sizeof(starts_of));
	house_open(&h);
	h.engine.own_accord = true;
	assert_int_equal(0, batch(&h));
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < crash_at[i]; k++)
			step(&h);
		world_full(&h.w, true);
		control_close(&h.control);
		fake_engine_close(&h.engine);
		world_reopen_db(&h.w);
		house_begin(&h);
		h.engine.own_accord = true;
		assert_int_equal(0, batch(&h)); /* the cursor had not moved */
	}
	for (int k = 0; k < 300; k++)
		step(&h);
	check_end(&h);
	house_close(&h);
}

static void survives_a_kill_after_any_step(void **state)
{
	(void)state;
	for (int first = 0; first < 60; first++)
		run(first, 300);
}

static void survives_two_kills(void **state)
{
	(void)state;
	for (int first = 0; first < 30; first += 3)
		for (int second = 0; second < 30; second += 2)
			run(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_a_kill_after_any_step),
		cmocka_unit_test(survives_two_kills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
