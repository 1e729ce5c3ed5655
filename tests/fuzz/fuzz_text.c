/* base/text: the filter gives the same for any split, redaction settles, cuts stay whole. */
#include "fuzz.h"

#include "base/json.h"
#include "base/text.h"

#define ROOM ((size_t)64 << 20)

static void no_controls(struct view v, int keep)
{
	uint32_t cp = 0;

	must(utf8_valid(v));
	for (size_t at = 0; at < v.n; at += utf8_next(view_from(v, at), &cp)) {
		(void)utf8_next(view_from(v, at), &cp);
		must(cp >= 0x20 || (cp == '\n' && (keep & TEXT_KEEP_LF)) ||
			(cp == '\t' && (keep & TEXT_KEEP_TAB)));
		must(cp < 0x7f || cp > 0x9f);
		must(!(cp >= 0x202a && cp <= 0x202e) && !(cp >= 0x2066 && cp <= 0x2069));
	}
}

static void filter_is_split_invariant(struct view v, int keep, size_t piece)
{
	struct str whole = STR_INIT(ROOM), pieces = STR_INIT(ROOM), again = STR_INIT(ROOM);
	struct text_filter f;

	must(text_safe(v, keep, &whole) == 0);
	no_controls(str_view(&whole), keep);
	text_filter_init(&f, keep);
	for (size_t at = 0; at < v.n; at += piece)
		must(text_filter_feed(&f, view_cut(view_from(v, at), piece), &pieces) == 0);
	must(text_filter_end(&f, &pieces) == 0);
	must(view_eq(str_view(&whole), str_view(&pieces)));
	must(text_safe(str_view(&whole), keep, &again) == 0);
	must(view_eq(str_view(&whole), str_view(&again)));
	str_release(&whole);
	str_release(&pieces);
	str_release(&again);
}

static void redaction_settles(struct view v)
{
	struct str once = STR_INIT(ROOM), twice = STR_INIT(ROOM);
	struct json_limits lim = json_limits_wire;

	lim.bytes = ROOM;
	must(text_redact(v, &once) == 0);
	must(text_redact(str_view(&once), &twice) == 0);
	must(view_eq(str_view(&once), str_view(&twice)));
	if (utf8_valid(v))
		must(utf8_valid(str_view(&once)));
	if (json_check(v, &lim, NULL) == 0)
		must(json_check(str_view(&once), &lim, NULL) == 0);
	str_release(&once);
	str_release(&twice);
}

static void shows_one_line(struct view v)
{
	struct str shown = STR_INIT(ROOM);

	must(text_visible(v, &shown) == 0);
	no_controls(str_view(&shown), 0);
	str_reset(&shown);
	must(text_revealed(v, &shown) == 0);
	no_controls(str_view(&shown), 0);
	str_release(&shown);
}

static void cuts_stay_whole(struct view v, size_t max)
{
	struct str s = STR_INIT(ROOM);

	must(utf8_repair(v, &s) == 0);
	must(utf8_valid(str_view(&s)));
	must(utf8_count(str_view(&s)) <= s.n && utf8_width(str_view(&s)) <= 2 * s.n);

	size_t bytes = utf8_cut(str_view(&s), max), chars = utf8_cut_chars(str_view(&s), max);

	must(bytes <= max && utf8_valid(view_cut(str_view(&s), bytes)));
	must(utf8_valid(view_cut(str_view(&s), chars)));
	must(utf8_count(view_cut(str_view(&s), chars)) <= max);
	must(chars > 0 || max == 0 || s.n == 0);
	for (size_t at = 0, n; at < s.n; at += n) {
		n = utf8_cluster(view_from(str_view(&s), at));
		must(n > 0 && n <= TEXT_CLUSTER_MAX);
	}
	str_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	size_t salt = size > 0 ? data[size - 1] : 0;

	filter_is_split_invariant(v, (int)(salt & 3), 1);
	filter_is_split_invariant(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, 2 + salt % 13);
	redaction_settles(v);
	shows_one_line(v);
	cuts_stay_whole(v, salt);
	return 0;
}
