#include <string.h>

#include "base/text.h"
#include "tools/host/registry-private.h"
#include "tools/patch_parse.h"

#define SUMMARY_CHARS 80
#define SHOWN_MAX     (8 * TOOL_ARGS_MAX)
#define VALUE_MAX     ((size_t)2400) /* of the argument that matters, as it is shown */
#define OTHER_MAX     ((size_t)300)  /* of any other */
#define LINES_MAX     12             /* of a content */
#define CONTENT_MAX   ((size_t)1000)

#define FILES_MAX ((size_t)PATCH_FILES_MAX * (PATH_SIZE + 20))

/* "a.c, b.c": the files of a patch, and with `how` what becomes of them; nothing of one that is
 * none. */
static void list_files(struct view text, bool how, struct str *out)
{
	static const char *const kinds[] = { "", " (new)", " (deleted)" };
	struct patch *p;

	if (patch_parse(&p, text, NULL) == 0)
		for (size_t i = 0; i < p->nfiles; i++)
			(void)str_addf(out, "%s%s%s", i > 0 ? ", " : "", p->files[i].path,
				how ? kinds[p->files[i].kind] : "");
	patch_free(&p);
}

/* --- For a question --------------------------------------------------------------------------- */

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

/* What is left out is said: a consent covers it all the same. */
static void add_bounded(struct view v, size_t max, struct str *out)
{
	struct view head = view_cut(v, utf8_cut(v, max / 4 * 3)), tail;

	if (v.n <= max) {
		(void)str_add(out, v);
		return;
	}
	tail = view_from(v, v.n - max / 4);
	while (tail.n > 0 && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
		tail = view_from(tail, 1);
	(void)str_addf(out, "%.*s\n[%zu bytes are not shown here]\n%.*s", VIEW_FMT(head),
		v.n - head.n - tail.n, VIEW_FMT(tail));
}

static void describe_text(struct view v, size_t max, struct str *out)
{
	struct str shown = STR_INIT(SHOWN_MAX);

	if (view_find(v, '\n') < v.n)
		show_lines(v, &shown);
	else
		(void)text_revealed(v, &shown);
	add_bounded(str_view(&shown), max, out);
	str_release(&shown);
}

/* Size and first lines. */
static void describe_content(struct view v, struct str *out)
{
	struct str shown = STR_INIT(SHOWN_MAX);
	size_t breaks = 0, lines, end = v.n;
	struct view head;

	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] == '\n' && ++breaks == LINES_MAX)
			end = i + 1;
	head = view_cut(v, utf8_cut(v, end < CONTENT_MAX ? end : CONTENT_MAX));
	lines = breaks + (v.n > 0 && !view_ends(v, VIEW("\n")));
	(void)str_addf(out, "%zu bytes, %zu line%s", v.n, lines, lines == 1 ? "" : "s");
	show_lines(head, &shown);
	(void)str_add(out, view_cut(str_view(&shown), utf8_cut(str_view(&shown), CONTENT_MAX)));
	if (head.n < v.n || shown.n > CONTENT_MAX)
		(void)str_adds(out, "\n| ...");
	str_release(&shown);
}

static void describe_files(struct view patch, struct str *out)
{
	struct str files = STR_INIT(FILES_MAX);

	list_files(patch, true, &files);
	if (files.n > 0) {
		(void)str_addf(out, "%sfiles: ", out->n > 0 ? "\n" : "");
		describe_text(str_view(&files), VALUE_MAX, out);
	}
	str_release(&files);
}

static void describe_arg(const struct tool_spec *spec, const struct json *arg, struct str *out)
{
	bool key = spec->key && strcmp(json_name(arg), spec->key) == 0;
	struct str json = STR_INIT(SHOWN_MAX);
	struct view text;

	if (json_type(arg) == JSON_NULL)
		return;
	if (spec->patch && strcmp(json_name(arg), spec->patch) == 0 && json_str(arg, &text) == 0)
		describe_files(text, out);
	(void)str_addf(out, "%s%s: ", out->n > 0 ? "\n" : "", json_name(arg));
	if (json_str(arg, &text) < 0) {
		(void)json_print(arg, &json, NULL);
		describe_text(str_view(&json), OTHER_MAX, out);
	} else if (spec->hidden && strcmp(json_name(arg), spec->hidden) == 0) {
		describe_content(text, out);
	} else {
		describe_text(text, key ? VALUE_MAX : OTHER_MAX, out);
	}
	str_release(&json);
}

void tools_describe(struct tools *t, const struct tool_call *c, struct str *out)
{
	const struct tool_spec *spec = spec_find(c->name);
	struct str text = STR_INIT(SHOWN_MAX);
	struct json *args = NULL;

	if (!spec || judge_args(c, spec, &args, NULL) < 0)
		return;
	for (const struct arg_spec *a = spec->args; a->type != ARG_END; a++) {
		const struct json *arg = json_member(args, a->name);

		if (arg)
			describe_arg(spec, arg, &text);
	}
	if (!spec->native) {
		(void)str_adds(&text, text.n > 0 ? "\nfolder: " : "folder: ");
		(void)text_revealed(view_of(t->workspace), &text);
	}
	add_bounded(str_view(&text), TOOL_QUESTION_MAX - 100, out);
	json_free(&args);
	str_release(&text);
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
			list_files(text, false, &files);
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
