/* Text safety: UTF-8, clusters, controls, redaction. */
#include "bench.h"

#include "base/text.h"

static struct str out = STR_INIT((size_t)64 << 20);

static void run_valid(void *arg)
{
	if (!utf8_valid(str_view(arg)))
		abort();
}

static void run_width(void *arg)
{
	if (utf8_width(str_view(arg)) == 0)
		abort();
}

static void run_safe(void *arg)
{
	str_reset(&out);
	if (text_safe(str_view(arg), TEXT_KEEP_LF, &out) < 0)
		abort();
}

static void run_redact(void *arg)
{
	str_reset(&out);
	if (text_redact(str_view(arg), &out) < 0)
		abort();
}

static void measure(const char *name, const char *unit)
{
	struct str s = STR_INIT((size_t)1 << 20);

	while (str_adds(&s, unit) == 0)
		;
	str_truncate(&s, s.n);
	s.failed = false;
	printf("%s, %zu bytes in memory\n", name, s.n);
	bench_rate("utf8_valid", s.n, bench_best(run_valid, &s));
	bench_rate("utf8_width", s.n, bench_best(run_width, &s));
	bench_rate("text_safe", s.n, bench_best(run_safe, &s));
	bench_rate("text_redact", s.n, bench_best(run_redact, &s));
	str_release(&s);
}

int main(void)
{
	bench_title("Text: validating, measuring, filtering, redacting");
	measure("English prose",
		"The quick brown fox jumps over the lazy dog, twice; see RFC 8259.\n");
	measure("Chinese prose", "敏捷的棕色狐狸跳过了懒狗，两次；参见 RFC 8259。\n");
	measure("coloured build output",
		"\x1b[32m[12/40]\x1b[0m Building C object base/str.c.o\r\n");
	measure("log lines",
		"2026-01-02 03:04:05 info poll o9c@im: {\"ret\":0,\"context_token\":\"AARz\"}\n");
	str_release(&out);
	return 0;
}
