/* tools/exec/diagnose: the first line is a file's name, the rest its text. At most one line
 * comes out, with a place that the text has. */
#include "fuzz.h"

#include <string.h>

#include "tools/exec/check.h"
#include "tools/exec/diagnose.h"

static void try(check_fn *check, struct view text)
{
	struct finding f = { .at = 0 };

	if (check(text, &f))
		must(f.at <= text.n && f.what[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct view name = view_cut(v, view_find(v, '\n')), text = view_from(v, name.n + 1);
	const struct brace_language *l = brace_language_find(name);
	struct str out = STR_INIT(1 << 20);
	struct finding f = { .at = 0 };
	char path[256];

	if (copy_z(path, sizeof(path), name) == 0)
		diagnose(path, text, &out);
	must(out.n == 0 || view_find(str_view(&out), '\n') == out.n - 1);
	try(check_toml, text);
	try(check_python, text);
	if (l && check_braces(l, text, &f))
		must(f.at <= text.n && f.what[0]);
	str_release(&out);
	return 0;
}
