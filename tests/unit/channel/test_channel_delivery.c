/* What an answer wants sent is told from what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/delivery.h"

#define TEXT_MAX ((size_t)8 << 20)

struct read {
	struct delivery d;
	struct str text;
	char *answer;
};

static void read_answer(struct read *r, const char *answer)
{
	struct err e = ERR_INIT;

	r->answer = strdup(answer);
	r->text = (struct str)STR_INIT(TEXT_MAX);
	assert_int_equal(0, delivery_read(&r->d, view_of(r->answer), &r->text, &e));
}

static void forget(struct read *r)
{
	str_release(&r->text);
	free(r->answer);
}

struct want {
	const char *answer, *text;
	const char *path; /* of the one file; NULL: none */
	const char *body; /* NULL: a tag */
};

static void check(const struct want *w)
{
	struct str body = STR_INIT(TEXT_MAX);
	struct read r;

	read_answer(&r, w->answer);
	assert_string_equal(w->text, str_cstr(&r.text));
	assert_int_equal(w->path ? 1 : 0, r.d.n);
	if (w->path) {
		assert_true(view_eqs(r.d.files[0].path, w->path));
		assert_int_equal(w->body != NULL, r.d.files[0].block);
	}
	if (w->body) {
		assert_int_equal(0, delivery_body(&r.d.files[0], &body, NULL));
		assert_string_equal(w->body, str_cstr(&body));
	}
	str_release(&body);
	forget(&r);
}

static void takes_a_tag_on_a_line_of_its_own(void **state)
{
	static const struct want cases[] = {
		{ "Here.\n[send-file: a.pdf]\nBye.", "Here.\nBye.", "a.pdf", NULL },
		{ "[send-file: a.pdf]", "", "a.pdf", NULL },
		{ "[send-image: pic one.png]\n", "", "pic one.png", NULL },
		{ "[send-file:a.pdf]\r\nok", "ok", "a.pdf", NULL },
		{ "   [send-file: \"a b.pdf\"]  \n", "", "a b.pdf", NULL },
		{ "[send-file: `a.pdf`]", "", "a.pdf", NULL },
		{ "[send-file：报告.pdf]", "", "报告.pdf", NULL },
		{ "[send-file: a[1].pdf]", "", "a[1].pdf", NULL },
		{ "[send-file: ]", "", "", NULL },
		{ "a `b` c\n[send-file: x]", "a `b` c\n", "x", NULL },
		{ "a ` c\n[send-file: x]\n", "a ` c\n", "x", NULL },
		{ "a `` c\n[send-file: x]\nb `", "a `` c\nb `", "x", NULL },
		{ "a ` b\n\n[send-file: x]\n\nc ` d", "a ` b\n\n\nc ` d", "x", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check(&cases[i]);
}

static void leaves_everything_else_alone(void **state)
{
	static const char *const cases[] = { "", "plain\n", "Use [send-file: a.pdf] for that.",
		"- [send-file: a.pdf]", "> [send-file: a.pdf]", "    [send-file: a.pdf]",
		"`[send-file: a.pdf]`", "[send-file a.pdf]", "[send-file: a.pdf",
		"[Send-File: a.pdf]", "```\n[send-file: a.pdf]\n```\n",
		"~~~~\n[send-file: a.pdf]\n~~~\n~~~~", "````md\n```\n[send-file: a.pdf]\n```\n````",
		"```\n[send-file: a.pdf]", "a `b\n[send-file: a.pdf]\nc` d",
		"a ``b\n[send-file: a.pdf]\nc ` d`` e", "```file:a.txt\nnever closed",
		"```file:\nno name\n```", "```txt\nfile:a.txt\n```", "a ```file:b.txt``` c",
		"    ```file:a.txt\n    code\n    ```" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check(&(struct want){ cases[i], cases[i], NULL, NULL });
}

static void takes_a_fenced_block_that_is_a_file(void **state)
{
	static const struct want cases[] = {
		{ "A list:\n```file:list.csv\na,b\n1,2\n```\ndone", "A list:\ndone", "list.csv",
			"a,b\n1,2\n" },
		{ "```file:empty.txt\n```", "", "empty.txt", "" },
		{ "~~~ file: notes.md \n```\ncode\n```\n~~~\n", "", "notes.md",
			"```\ncode\n```\n" },
		{ "````file:x.md\n```\n````", "", "x.md", "```\n" },
		{ "  ```file:i.txt\n  a\n    b\n c\n  ```", "", "i.txt", "a\n  b\nc\n" },
		{ "```file:t.txt\n[send-file: a.pdf]\n```", "", "t.txt", "[send-file: a.pdf]\n" },
		{ "```file:\"a b.txt\"\nx\n```", "", "a b.txt", "x\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check(&cases[i]);
}

static void a_run_too_long_for_a_span_opens_none(void **state)
{
	char answer[300], text[300];
	char run[82];

	(void)state;
	for (int n = 80; n <= 81; n++) {
		memset(run, '`', (size_t)n);
		run[n] = '\0';
		snprintf(answer, sizeof(answer), "x %s\n[send-file: a]\nz %s y", run, run);
		snprintf(text, sizeof(text), "x %s\nz %s y", run, run);
		check(&(struct want){ answer, n == 80 ? answer : text, n == 80 ? NULL : "a",
			NULL });
	}
}

static void takes_so_many_and_counts_the_rest(void **state)
{
	struct str answer = STR_INIT(4096);
	struct read r;

	(void)state;
	for (int i = 0; i < DELIVERY_MAX + 2; i++)
		str_addf(&answer, "[send-file: %d]\n", i);
	read_answer(&r, str_cstr(&answer));
	assert_int_equal(DELIVERY_MAX, r.d.n);
	assert_int_equal(2, r.d.surplus);
	assert_true(view_eqs(r.d.files[DELIVERY_MAX - 1].path, "19"));
	assert_string_equal("", str_cstr(&r.text));
	forget(&r);
	str_release(&answer);
}

/* Each of these is quadratic for a reader that looks ahead from every line. */
static void hostile_answers_take_linear_time(void **state)
{
	static const char *const pieces[] = { "`\n", "``\n`\n", "[send-file: a\n", "```file:a\n",
		"~~~\n```file:a\n", "` `` ``` ````\n", "[send-file: a]\n", "\n", "   ```" };
	struct str answer = STR_INIT(TEXT_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct read r;

		str_reset(&answer);
		while (answer.n < (2 << 20))
			str_adds(&answer, pieces[i]);
		read_answer(&r, str_cstr(&answer));
		assert_true(r.text.n <= answer.n);
		forget(&r);
	}
	str_release(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_tag_on_a_line_of_its_own),
		cmocka_unit_test(leaves_everything_else_alone),
		cmocka_unit_test(takes_a_fenced_block_that_is_a_file),
		cmocka_unit_test(a_run_too_long_for_a_span_opens_none),
		cmocka_unit_test(takes_so_many_and_counts_the_rest),
		cmocka_unit_test(hostile_answers_take_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
