#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/host/registry-private.h"
#include "tools/patch_parse.h"

#define SUMMARY_CHARS 80
#define SHOWN_MAX     (8 * TOOL_ARGS_MAX)
#define PHONE_MAX     ((size_t)1100) /* of a question, so that a phone has room for all of it */
#define TERMINAL_MAX  ((size_t)3800)
#define KEY_LEAST     ((size_t)200) /* of the argument that matters */
#define OTHER_SHARE   4             /* of the whole, for any other */
#define LINES_MAX     12            /* of a content */
#define CONTENT_MAX   ((size_t)1000)

#define FILES_MAX ((size_t)PATCH_FILES_MAX * (PATH_SIZE + 20))

/* In whose words a question is put. */
struct words {
	wording_fn *word;
	bool zh;
};

static void put(const struct words *w, struct str *out, enum wording code, const char *first,
	const char *second)
{
	const char *const args[] = { first, second, NULL };

	(void)w->word(out, w->zh, code, args);
}

/* "a.c, b.c": the files of a patch, and with words what becomes of them; nothing of one that is
 * none. */
static void list_files(struct view text, const struct words *w, struct str *out)
{
	struct patch *p;

	if (patch_parse(&p, text, NULL) == 0)
		for (size_t i = 0; i < p->nfiles; i++) {
			const struct patch_file *f = &p->files[i];

			(void)str_adds(out, i > 0 ? ", " : "");
			if (w && f->kind != PATCH_CHANGE)
				put(w, out,
					f->kind == PATCH_CREATE ? WORDING_FILE_NEW
								: WORDING_FILE_DELETED,
					f->path, NULL);
			else
				(void)str_adds(out, f->path);
		}
	patch_free(&p);
}

/* --- For a question --------------------------------------------------------------------------- */

/* What is bad is easily appended: nothing that stands beside it shall push the end of the argument
 * that matters out of sight, so that one gets what room the others leave. */
struct question {
	struct words words;
	struct str before, key, after;
	size_t max;
	bool whole;
};

static void put_count(const struct words *w, struct str *out, size_t n, enum wording one,
	enum wording many)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%zu", n);
	put(w, out, n == 1 ? one : many, number, NULL);
}

/* Lines one below the other, what cannot be seen made visible: "| first\n| second". */
static void show_lines(struct view v, struct str *out)
{
	while (v.n > 0) {
		size_t n = view_find(v, '\n');

		(void)str_adds(out, "\n| ");
		(void)text_revealed(view_cut(v, n), out);
		v = view_from(v, n + 1);
	}
}

/* What is left out is said: a consent covers it all the same. What follows is set off, so that it
 * cannot pass for a line of ours. */
static void add_bounded(struct question *q, struct view v, size_t max, struct str *out)
{
	struct view head = view_cut(v, utf8_cut(v, max / 4 * 3)), tail;
	struct str bytes = STR_INIT(64);

	if (v.n <= max) {
		(void)str_add(out, v);
		return;
	}
	q->whole = false;
	tail = view_from(v, v.n - max / 4);
	while (tail.n > 0 && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
		tail = view_from(tail, 1);
	put_count(&q->words, &bytes, v.n - head.n - tail.n, WORDING_BYTE, WORDING_BYTES);
	(void)str_addf(out, "%.*s\n", VIEW_FMT(head));
	put(&q->words, out, WORDING_CUT, str_cstr(&bytes), NULL);
	(void)str_addf(out, "\n| %.*s", VIEW_FMT(tail));
	str_release(&bytes);
}

static void describe_text(struct question *q, struct view v, size_t max, struct str *out)
{
	struct str shown = STR_INIT(SHOWN_MAX);

	if (view_find(v, '\n') < v.n)
		show_lines(v, &shown);
	else
		(void)text_revealed(v, &shown);
	add_bounded(q, str_view(&shown), max, out);
	str_release(&shown);
}

static void put_size(const struct words *w, size_t nbytes, size_t nlines, struct str *out)
{
	struct str bytes = STR_INIT(64), lines = STR_INIT(64);

	put_count(w, &bytes, nbytes, WORDING_BYTE, WORDING_BYTES);
	put_count(w, &lines, nlines, WORDING_LINE, WORDING_LINES);
	put(w, out, WORDING_SIZE, str_cstr(&bytes), str_cstr(&lines));
	str_release(&bytes);
	str_release(&lines);
}

/* Size and first lines. */
static void describe_content(struct question *q, struct view v, struct str *out)
{
	struct str shown = STR_INIT(SHOWN_MAX);
	size_t breaks = 0, end = v.n;
	struct view head;

	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] == '\n' && ++breaks == LINES_MAX)
			end = i + 1;
	head = view_cut(v, utf8_cut(v, end < CONTENT_MAX ? end : CONTENT_MAX));
	put_size(&q->words, v.n, breaks + (v.n > 0 && !view_ends(v, VIEW("\n"))), out);
	show_lines(head, &shown);
	(void)str_add(out, view_cut(str_view(&shown), utf8_cut(str_view(&shown), CONTENT_MAX)));
	if (head.n < v.n || shown.n > CONTENT_MAX) {
		(void)str_adds(out, "\n| ...");
		q->whole = false;
	}
	str_release(&shown);
}

/* The next label, on a line of its own. */
static void put_label(const struct words *w, struct str *out, enum wording code, const char *arg)
{
	if (out->n > 0)
		(void)str_addc(out, '\n');
	put(w, out, code, arg, NULL);
}

static void describe_files(struct question *q, struct view patch, struct str *out)
{
	struct str files = STR_INIT(FILES_MAX);

	list_files(patch, &q->words, &files);
	if (files.n > 0) {
		put_label(&q->words, out, WORDING_FILES, NULL);
		describe_text(q, str_view(&files), q->max / 2, out);
	}
	str_release(&files);
}

static void describe_arg(struct question *q, const struct tool_spec *spec, const struct json *arg)
{
	bool key = spec->key && strcmp(json_name(arg), spec->key) == 0;
	struct str *out = key ? &q->key : q->key.n > 0 ? &q->after : &q->before;
	struct str json = STR_INIT(SHOWN_MAX);
	struct view text;

	if (json_type(arg) == JSON_NULL)
		return;
	if (spec->patch && strcmp(json_name(arg), spec->patch) == 0 && json_str(arg, &text) == 0)
		describe_files(q, text, out);
	put_label(&q->words, out, WORDING_ARGUMENT, json_name(arg));
	if (json_str(arg, &text) < 0) {
		(void)json_print(arg, &json, NULL);
		describe_text(q, str_view(&json), q->max / OTHER_SHARE, out);
	} else if (spec->hidden && strcmp(json_name(arg), spec->hidden) == 0) {
		describe_content(q, text, out);
	} else {
		describe_text(q, text, key ? SHOWN_MAX : q->max / OTHER_SHARE, out);
	}
	str_release(&json);
}

static void describe_whole(struct question *q, struct str *out)
{
	struct str all = STR_INIT(SHOWN_MAX);
	size_t rest = q->before.n + q->after.n;

	(void)str_add(&all, str_view(&q->before));
	if (q->key.n > 0) {
		(void)str_adds(&all, all.n > 0 ? "\n" : "");
		add_bounded(q, str_view(&q->key),
			rest + KEY_LEAST < q->max ? q->max - rest : KEY_LEAST, &all);
	}
	(void)str_adds(&all, all.n > 0 && q->after.n > 0 ? "\n" : "");
	(void)str_add(&all, str_view(&q->after));
	add_bounded(q, str_view(&all), TOOL_QUESTION_MAX - 100, out);
	str_release(&all);
}

bool tools_describe(struct tools *t, const struct tool_call *c, bool zh, struct str *out)
{
	struct question q = { { t->env.word, zh }, STR_INIT(SHOWN_MAX), STR_INIT(SHOWN_MAX),
		STR_INIT(SHOWN_MAX), 0, true };
	const struct tool_spec *spec = spec_find(c->name);
	struct json *args = NULL;

	if (!spec || judge_args(c, spec, &args, NULL) < 0)
		return true;
	q.max = c->origin == ORIGIN_TERMINAL ? TERMINAL_MAX : PHONE_MAX;
	for (const struct arg_spec *a = spec->args; a->type != ARG_END; a++) {
		const struct json *arg = json_member(args, a->name);

		if (arg)
			describe_arg(&q, spec, arg);
	}
	if (!spec->native) {
		put_label(&q.words, &q.after, WORDING_FOLDER, NULL);
		describe_text(&q, view_of(t->workspace), q.max / OTHER_SHARE, &q.after);
	}
	describe_whole(&q, out);
	json_free(&args);
	str_release(&q.before);
	str_release(&q.key);
	str_release(&q.after);
	return q.whole;
}

/* --- For a line of progress ------------------------------------------------------------------- */

void tools_summary(const struct tools *t, const struct tool_call *c, struct str *out)
{
	const struct tool_spec *spec = spec_find(c->name);
	struct str shown = STR_INIT(SHOWN_MAX), safe = STR_INIT(SHOWN_MAX);
	struct str files = STR_INIT(FILES_MAX);
	struct json *args = NULL;
	struct view text = VIEW_NONE;

	(void)t;
	if (spec && judge_args(c, spec, &args, NULL) == 0) {
		const char *key = spec->patch ? spec->patch : spec->key;

		if (key)
			(void)json_get_str(args, key, JSON_OPTIONAL, 0, TOOL_ARGS_MAX, &text, NULL);
		if (spec->patch) {
			list_files(text, NULL, &files);
			text = str_view(&files);
		}
	}
	if (text.n > 0 && text_visible(view_cut(text, 4096), &shown) == 0 &&
		text_redact(str_view(&shown), &safe) == 0) {
		struct view v = str_view(&safe);

		(void)str_add(out, view_cut(v, utf8_cut_chars(v, SUMMARY_CHARS)));
	}
	json_free(&args);
	str_release(&files);
	str_release(&shown);
	str_release(&safe);
}
