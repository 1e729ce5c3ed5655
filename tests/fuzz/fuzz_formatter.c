/* Any bytes, both modes, any limit: what comes out is safe, and its parts keep every promise.
 * The first two bytes choose the limit, the next one how the reasoning filter is fed. */
#include "fuzz.h"

#include "../unit/formatter/invariants.h"

static void demand(const char *wrong, const char *where)
{
	if (!wrong)
		return;
	fprintf(stderr, "%s: %s\n", where, wrong);
	abort();
}

static void chunk(struct view text, size_t limit, const char *where)
{
	struct err e = ERR_INIT;
	struct chunks c;
	const char *wrong;

	must(chunk_text(text, limit, &c, &e) == 0);
	wrong = check_parts(text, limit, &c);
	for (size_t i = 0; wrong && i < c.n; i++)
		fprintf(stderr, "[%zu, limit %zu] %.*s\n", i, limit, VIEW_FMT(c.parts[i]));
	demand(wrong, where);
	chunks_release(&c);
}

static void format(struct view in, enum format_mode mode, size_t limit)
{
	struct format_opts o = { mode, 0 };
	struct str out = STR_INIT(FORMAT_OUT_MAX);
	struct err e = ERR_INIT;

	must(format_text(in, &o, &out, &e) == 0);
	demand(check_formatted(str_view(&out)), mode == FORMAT_PLAIN ? "plain" : "native");
	chunk(str_view(&out), limit, "formatted");
	str_release(&out);
}

static void think(struct view in, size_t step, struct str *out)
{
	struct think_filter *t;
	struct err e = ERR_INIT;

	must(think_open(&t, &e) == 0);
	while (in.n > 0) {
		struct view piece = view_cut(in, step);

		must(think_feed(t, piece, out) == 0);
		in = view_from(in, piece.n);
	}
	must(think_end(t, out) == 0);
	think_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;

	struct view in = { (const char *)data + 3, size - 3 };
	struct str whole = STR_INIT(FORMAT_OUT_MAX), pieces = STR_INIT(FORMAT_OUT_MAX);
	size_t limit = (size_t)(data[0] | (data[1] & 0x0f) << 8) % CHUNK_LIMIT_MAX + 1;

	if (data[1] & 0x80)
		limit = limit % 200 + 1;
	format(in, FORMAT_NATIVE, limit);
	format(in, FORMAT_PLAIN, limit);
	think(in, size, &whole);
	think(in, (size_t)data[2] % 16 + 1, &pieces);
	must(view_eq(str_view(&whole), str_view(&pieces)));
	str_reset(&pieces);
	if (text_safe(in, TEXT_KEEP_LF | TEXT_KEEP_TAB, &pieces) == 0)
		chunk(str_view(&pieces), limit, "raw");
	str_release(&whole);
	str_release(&pieces);
	return 0;
}
