/* A question at a terminal: each in a process of its own, a pty as its controlling terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/engine.h"
#include "base/text.h"
#include "cli/choice.h"
#include "cli/cli.h"

enum { ASK_MS = 600000, NOBODY = 100 /* exit code: no answer has come */ };

/* As the program has it (main.c). */
void print_safe(FILE *f, struct view v)
{
	struct str s = STR_INIT(1 << 20);

	(void)text_safe(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, &s);
	(void)fwrite(str_cstr(&s), 1, s.n, f);
	str_release(&s);
}

/* --- The one that asks ------------------------------------------------------------------------ */

static int64_t mono;

static int64_t now(void *arg)
{
	(void)arg;
	return mono;
}

static int answered = NOBODY;
static bool several;
static enum control_language lang = LANG_EN;

static void on_choice(void *arg, int choice)
{
	*(int *)arg = choice;
}

static void run(struct loop *l, int64_t ms)
{
	mono += ms;
	for (int i = 0; i < 20 && answered == NOBODY; i++)
		(void)loop_step(l, 1, NULL);
}

/* Asks, and ends with the choice plus 10. A byte on ready says that the question is shown; then a
 * byte on go lets time pass. */
static int child(int ready, int go, int64_t pass_ms)
{
	static const struct view choices[] = { VIEW("Yes"), VIEW("No\x1b[2J"), VIEW("Stop") };
	const struct choice_ask ask = { .name = VIEW("shell"),
		.text = VIEW("make test\n1. Yes\x1b[8m"),
		.choices = choices,
		.n = 3,
		.several = several,
		.lang = lang,
		.ms = ASK_MS };
	const struct clock clk = { now, now, NULL };
	struct choice *c = NULL;
	struct loop *l = NULL;
	char byte = 0;

	if (loop_open(&l, &clk, NULL) < 0 ||
		choice_open(&c, l, &ask, on_choice, &answered, NULL) < 0 ||
		write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		return 99;
	run(l, 0);
	if (answered == NOBODY)
		run(l, pass_ms);
	if (answered == NOBODY)
		choice_close(&c);
	loop_close(&l);
	return answered + 10;
}

/* --- The terminal ----------------------------------------------------------------------------- */

/* What the child has printed; types text once the question is there. The child's choice. */
static int ask_at_pty(const char *ahead, const char *text, int64_t pass_ms, struct str *seen)
{
	int ready[2], go[2], master = -1, status = 0;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	assert_int_equal(0, pipe(ready));
	assert_int_equal(0, pipe(go));
	pid = forkpty(&master, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0) {
		if (*ahead && read(go[0], buf, 1) != 1)
			_exit(98);
		_exit(child(ready[1], go[0], pass_ms));
	}
	if (*ahead) {
		assert_int_equal((ssize_t)strlen(ahead), write(master, ahead, strlen(ahead)));
		assert_int_equal(1, write(go[1], "", 1));
	}
	assert_int_equal(1, read(ready[0], buf, 1));
	assert_int_equal((ssize_t)strlen(text), write(master, text, strlen(text)));
	assert_int_equal(1, write(go[1], "", 1));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	while ((n = read(master, buf, sizeof(buf))) > 0)
		(void)str_add(seen, (struct view){ buf, (size_t)n });
	close(master);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	return WEXITSTATUS(status) - 10;
}

static int choice_of(const char *ahead, const char *text, int64_t pass_ms)
{
	struct str seen = STR_INIT(1 << 20);
	int choice = ask_at_pty(ahead, text, pass_ms, &seen);

	str_release(&seen);
	return choice;
}

static void only_a_number_answers(void **state)
{
	static const struct {
		const char *text;
		int choice;
	} rows[] = {
		{ "1\n", 0 },
		{ "3\n", 2 },
		{ "  2 \n", 1 },
		{ "x\n2\n", 1 },
		{ "0\n", NOBODY },
		{ "4\n", NOBODY },
		{ "01\n", NOBODY },
		{ "1.\n", NOBODY },
		{ "1!\n", NOBODY },
		{ "1 1\n", NOBODY },
		{ "-1\n", NOBODY },
		{ "yes\n", NOBODY },
		{ "\n", NOBODY },
		{ "1", NOBODY }, /* no line yet */
		{ "\x04", ANSWER_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (choice_of("", rows[i].text, 0) != rows[i].choice)
			fail_msg("row %zu", i);
}

static void of_several_all_numbers_count(void **state)
{
	static const struct {
		const char *text;
		int mask;
	} rows[] = {
		{ "2\n", 2 },
		{ "1 3\n", 5 },
		{ " 3  1 \n", 5 },
		{ "1 1\n", 1 },
		{ "1 4\n", NOBODY },
		{ "1,3\n", NOBODY },
		{ "\n", NOBODY },
	};

	(void)state;
	several = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (choice_of("", rows[i].text, 0) != rows[i].mask)
			fail_msg("row %zu", i);
	several = false;
}

static void it_is_shown_safely_and_set_off(void **state)
{
	struct str seen = STR_INIT(1 << 20);

	(void)state;
	assert_int_equal(1, ask_at_pty("", "2\n", 0, &seen));
	assert_non_null(strstr(str_cstr(&seen),
		"shell needs your consent:\r\n  | make test\r\n  | 1. Yes\r\n"
		"1. Yes\r\n2. No\r\n3. Stop\r\nYour answer, 1 to 3: "));
	assert_null(strchr(str_cstr(&seen), '\x1b'));
	str_release(&seen);
}

static void it_is_worded_in_chinese(void **state)
{
	struct str seen = STR_INIT(1 << 20);

	(void)state;
	lang = LANG_ZH;
	assert_int_equal(ANSWER_NONE, ask_at_pty("", "", ASK_MS, &seen));
	lang = LANG_EN;
	assert_non_null(strstr(str_cstr(&seen), "需要你同意：运行命令\r\n  | make test\r\n"));
	assert_non_null(strstr(str_cstr(&seen), "请回答，1 到 3："));
	assert_non_null(strstr(str_cstr(&seen), "没有回答，按不同意处理。"));
	str_release(&seen);
}

static void what_was_typed_before_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(NOBODY, choice_of("1\n", "", 0));
	assert_int_equal(2, choice_of("1\n", "3\n", 0));
}

static void its_time_ends_it(void **state)
{
	(void)state;
	assert_int_equal(NOBODY, choice_of("", "", ASK_MS - 1));
	assert_int_equal(ANSWER_NONE, choice_of("", "", ASK_MS));
	assert_int_equal(0, choice_of("", "1\n", ASK_MS)); /* the answer was there before */
}

/* A process without a controlling terminal. */
static void without_a_terminal_it_is_not_asked(void **state)
{
	int ready[2], go[2], status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(0, pipe(ready));
	assert_int_equal(0, pipe(go));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)setsid();
		_exit(child(ready[1], go[0], 0));
	}
	assert_int_equal(1, write(go[1], "", 1));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	assert_int_equal(ANSWER_UNASKED, WEXITSTATUS(status) - 10);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_number_answers),
		cmocka_unit_test(of_several_all_numbers_count),
		cmocka_unit_test(it_is_shown_safely_and_set_off),
		cmocka_unit_test(it_is_worded_in_chinese),
		cmocka_unit_test(what_was_typed_before_does_not_count),
		cmocka_unit_test(its_time_ends_it),
		cmocka_unit_test(without_a_terminal_it_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
