/* tools/patch_parse and patch_apply: a patch, a line "====", and a text it is made to. What is
 * taken keeps its promises; a patch that was made can be told from its counts, and turned round it
 * gives the old text again. */
#include "fuzz.h"

#include <string.h>

#include "tools/exec/patch_apply.h"

static size_t count_lines(struct view v)
{
	size_t n = 0;

	for (; v.n > 0; n++)
		v = view_from(v, view_find(v, '\n') + 1);
	return n;
}

static void check_hunk(const struct patch_hunk *h, size_t *added, size_t *removed)
{
	struct view body = h->body;
	struct patch_line line;
	size_t old = 0, new = 0;

	while (patch_next(&body, &line)) {
		must(line.kind == ' ' || line.kind == '+' || line.kind == '-');
		must(!memchr(line.text.p, '\n', line.text.n));
		old += line.kind != '+';
		new += line.kind != '-';
		*added += line.kind == '+';
		*removed += line.kind == '-';
	}
	must(old == h->old_count && new == h->new_count);
}

static void put_turned(const struct patch_hunk *h, size_t before, struct str *out)
{
	struct view body = h->body;
	struct patch_line line;

	(void)str_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", before + (h->new_count > 0), h->new_count,
		h->old_start, h->old_count);
	while (patch_next(&body, &line))
		(void)str_addf(out, "%c%.*s\n%s",
			line.kind == '+'   ? '-'
			: line.kind == '-' ? '+'
					   : ' ',
			VIEW_FMT(line.text), line.ends ? "" : "\\ No newline at end of file\n");
}

static void check_back(const struct patch_file *f, struct view old, struct view new)
{
	struct str text = STR_INIT(4 << 20), out = STR_INIT(4 << 20), why = STR_INIT(1 << 20);
	struct patch *p;
	struct err e = ERR_INIT;
	size_t added = 0, removed = 0;
	bool crlf;

	(void)str_adds(&text, "--- x\n+++ x\n");
	for (size_t i = 0; i < f->nhunks; i++) {
		const struct patch_hunk *h = &f->hunks[i];

		put_turned(h, h->old_start - (h->old_count > 0) + added - removed, &text);
		added += h->new_count;
		removed += h->old_count;
	}
	must(patch_parse(&p, str_view(&text), &e) == 0);
	must(patch_apply(&p->files[0], new, &out, &crlf, &why) == 0);
	must(!crlf && view_eq(str_view(&out), old));
	patch_free(&p);
	str_release(&text);
	str_release(&out);
	str_release(&why);
}

static void check_file(const struct patch_file *f, struct view old)
{
	struct str out = STR_INIT(4 << 20), why = STR_INIT(1 << 20);
	size_t added = 0, removed = 0;
	bool crlf;

	must(f->path);
	must(f->nhunks > 0 || f->kind != PATCH_CHANGE);
	for (size_t i = 0; i < f->nhunks; i++)
		check_hunk(&f->hunks[i], &added, &removed);
	must(added == f->added && removed == f->removed);
	if (patch_apply(f, old, &out, &crlf, &why) == 0) {
		must(count_lines(str_view(&out)) == count_lines(old) + added - removed);
		if (!crlf && f->nhunks > 0)
			check_back(f, old, str_view(&out));
	} else {
		must(why.n > 0);
	}
	str_release(&out);
	str_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	const char *cut = size > 0 ? memmem(v.p, v.n, "\n====\n", 6) : NULL;
	struct view text = cut ? view_cut(v, (size_t)(cut - v.p) + 1) : v;
	struct view old = cut ? view_from(v, text.n + 5) : VIEW_NONE;
	struct patch *p;
	struct err e = ERR_INIT;

	if (patch_parse(&p, text, &e) < 0) {
		must(!p && e.msg[0]);
		return 0;
	}
	must(p->nfiles > 0 && p->nfiles <= PATCH_FILES_MAX && p->nhunks <= PATCH_HUNKS_MAX);
	for (size_t i = 0; i < p->nfiles; i++)
		check_file(&p->files[i], old);
	patch_free(&p);
	return 0;
}
