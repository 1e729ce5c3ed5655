/* Markdown put together at random, always the same: what holds of any text, at every limit. */
#include "check.h"

#define DOCUMENTS 120
#define LIMIT     90

static const char *const bits[] = { "a", "b c", "汉字", "。", "，", "\n", "\n\n", "\n\n\n", "- ",
	"  - ", "1. ", "10) ", "> ", "> > ", "```\n", "```py\n", "````\n", "~~~\n", "`x`",
	"``a`b``", "`", "**", "*", "_", "__", "~~", "# ", "#### ", "| a | b |\n|---|---|\n",
	"| 1 | 2 |\n", "|", "\\|", "[a](https://x.com/a_b)", "https://x.com/a_b_(c)", "www.x.com",
	"![i](a.png)", "<br>", "<b>", "</b>", "<think>", "</think>", "&amp;", "&#27;", "\\*",
	"$x_1$", "$$", "\\(", "- [ ] ", "- [x] ", "---\n", "===\n", "\t", "    ",
	"👨‍👩‍👧", "🇨🇳", "e\xcc\x81", "[r]: https://x.com\n", "[r]", "<", "\x1b[1m",
	"\xe2\x80\xae", "：", "\xef\xb8\x8f", "<a href=\"https://y.z\">", "</a>", "<div>\n",
	"</div>\n", "<!-- c -->", "\r\n", "```", "x2*3*4" };

/* xorshift (Marsaglia) */
static size_t next(uint64_t *state, size_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (size_t)((*state >> 11) % n);
}

static void keeps_every_promise(struct view in, struct view text, size_t limit)
{
	struct err e = ERR_INIT;
	struct chunks c;
	const char *wrong;

	assert_int_equal(chunk_text(text, limit, &c, &e), 0);
	wrong = check_parts(text, limit, &c);
	if (wrong)
		fail_msg("%s, limit %zu: %.*s\n-- of: %.*s", wrong, limit, VIEW_FMT(text),
			VIEW_FMT(in));
	chunks_release(&c);
}

static void at_every_limit(struct view in, enum format_mode mode)
{
	struct str out = formatted(in, mode, 0);
	size_t most = utf8_count(str_view(&out)) + 1;

	for (size_t limit = 1; limit <= most && limit <= LIMIT; limit++)
		keeps_every_promise(in, str_view(&out), limit);
	str_release(&out);
}

static void any_document_in_both_modes_at_every_limit(void **state)
{
	uint64_t seed = 88172645463325252U;

	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		struct str in = STR_INIT(1 << 20);

		for (size_t n = next(&seed, 40); n-- > 0;)
			str_adds(&in, bits[next(&seed, sizeof(bits) / sizeof(bits[0]))]);
		at_every_limit(str_view(&in), FORMAT_NATIVE);
		at_every_limit(str_view(&in), FORMAT_PLAIN);
		str_release(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_document_in_both_modes_at_every_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
