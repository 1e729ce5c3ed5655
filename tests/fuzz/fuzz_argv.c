/* tools/host/argv: what is accepted is what the C library's own reader of shell words makes of it,
 * and quoting the words again gives them back. */
#include "fuzz.h"

#include <string.h>
#include <wordexp.h>

#include "tools/host/argv.h"

static void quote(const struct argv *a, struct str *out)
{
	for (size_t i = 0; i < a->n; i++) {
		(void)str_adds(out, " '");
		for (const char *p = a->v[i]; *p; p++)
			(void)(*p == '\'' ? str_adds(out, "'\\''") : str_addc(out, *p));
		(void)str_addc(out, '\'');
	}
}

static void compare_with_wordexp(const struct argv *a, struct view v)
{
	struct str text = STR_INIT(2 * ARGV_BYTES);
	wordexp_t w;

	must(str_add(&text, v) == 0);
	/* glibc ends a word after empty quotes at its beginning; a shell does not. */
	if (strstr(str_cstr(&text), "''") || strstr(str_cstr(&text), "\"\"")) {
		str_release(&text);
		return;
	}
	must(wordexp(str_cstr(&text), &w, WRDE_NOCMD) == 0);
	must(w.we_wordc == a->n);
	for (size_t i = 0; i < a->n; i++)
		must(strcmp(w.we_wordv[i], a->v[i]) == 0);
	wordfree(&w);
	str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct str again = STR_INIT(8 * ARGV_BYTES);
	struct err e = ERR_INIT;
	struct argv a, b;

	if (argv_parse(&a, v, &e) < 0) {
		must(!a.v && a.n == 0 && e.msg[0]);
		return 0;
	}
	must(a.n > 0 && a.n <= ARGV_WORDS && !a.v[a.n]);
	compare_with_wordexp(&a, v);
	quote(&a, &again);
	if (again.n <= ARGV_BYTES) {
		must(argv_parse(&b, str_view(&again), &e) == 0);
		must(argv_equal(&a, &b));
		argv_release(&b);
	}
	argv_release(&a);
	str_release(&again);
	return 0;
}
