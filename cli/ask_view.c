#include "cli/ask_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine.h"
#include "base/json.h"
#include "cli/cli.h"

enum { EVENT_MAX = 24 << 20 };

/* A question that is asked when the ones before it have been answered: its event. */
struct ask_waiting {
	struct ask_waiting *next;
	char *line, *id;
};

/* One event, as it came. */
struct line {
	struct view event, text, name, result, detail, id, language;
	int64_t ticket, ms;
	struct view choices[CHOICE_MAX];
	int nchoices;
	bool several;
};

static void show_text(struct ask_view *v, struct view text)
{
	if (!text.n)
		return;
	print_safe(stdout, text);
	fflush(stdout);
	v->streamed = true;
	v->in_line = text.p[text.n - 1] != '\n';
}

/* What comes next begins a paragraph of its own. */
static void end_paragraph(struct ask_view *v)
{
	if (v->in_line)
		puts("\n");
	fflush(stdout);
	v->in_line = false;
}

/* What was said before a tool ran stands apart from what comes after it. */
static void show_tool(struct ask_view *v, const struct line *l)
{
	end_paragraph(v);
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "[%.*s] ", VIEW_FMT(l->name));
	print_safe(stderr, l->text);
	fputc('\n', stderr);
}

/* Failures that a person at this machine can do something about. */
static bool for_doctor(struct view result)
{
	static const enum engine_fail fails[] = { ENGINE_FAIL_NOT_SET_UP, ENGINE_FAIL_UNREACHABLE,
		ENGINE_FAIL_AUTH, ENGINE_FAIL_NO_MODEL };

	for (size_t i = 0; i < sizeof(fails) / sizeof(fails[0]); i++)
		if (view_eqs(result, engine_fail_name(fails[i])))
			return true;
	return false;
}

static void show_done(struct ask_view *v, const struct line *l)
{
	bool ok = view_eqs(l->result, "ok");

	ask_view_close(v);
	if (!v->streamed)
		show_text(v, l->text);
	if (v->in_line)
		putchar('\n');
	fflush(stdout);
	v->code = ok ? EXIT_DONE : EXIT_FAILED;
	if (ok)
		return;
	fprintf(stderr, "kairo: %.*s%s", VIEW_FMT(l->result), l->detail.n ? ": " : "");
	print_safe(stderr, l->detail);
	fputs(for_doctor(l->result) ? "; kairo doctor says what to do\n" : "\n", stderr);
}

/* --- Questions -------------------------------------------------------------------------------- */

static void free_waiting(struct ask_waiting *w)
{
	if (!w)
		return;
	free(w->line);
	free(w->id);
	free(w);
}

/* Without memory it has its end by the clock, as one that nobody answers. */
static void put_off(struct ask_view *v, struct view id, struct view line)
{
	struct ask_waiting **end = &v->waiting, *w = calloc(1, sizeof(*w));

	if (w)
		w->line = strndup(line.p, line.n);
	if (w)
		w->id = strndup(id.n > 0 ? id.p : "", id.n);
	if (!w || !w->line || !w->id) {
		free_waiting(w);
		return;
	}
	while (*end)
		end = &(*end)->next;
	*end = w;
}

/* The line of the next one, for free(); NULL: none waits. */
static char *take_next(struct ask_view *v)
{
	struct ask_waiting *w = v->waiting;
	char *line = w ? w->line : NULL;

	if (!w)
		return NULL;
	v->waiting = w->next;
	w->line = NULL;
	free_waiting(w);
	return line;
}

static void ask_next(struct ask_view *v)
{
	char *line = v->choice ? NULL : take_next(v);

	if (line)
		ask_view_line(v, view_of(line));
	free(line);
}

static void on_choice(void *arg, int choice)
{
	struct ask_view *v = arg;

	v->choice = NULL;
	if (choice == ANSWER_UNASKED)
		fputs("kairo: consent was needed, and there is no terminal to ask at: denied\n",
			stderr);
	v->answer(v->arg, v->id, v->ticket, choice);
	ask_next(v);
}

static void ask(struct ask_view *v, const struct line *l, struct view line)
{
	const struct choice_ask ask = { .name = l->name,
		.text = l->text,
		.choices = l->choices,
		.n = l->nchoices,
		.several = l->several,
		.lang = view_eqs(l->language, "zh") ? LANG_ZH : LANG_EN,
		.ms = l->ms };
	struct err e = ERR_INIT;

	if (v->choice) {
		put_off(v, l->id, line);
		return;
	}
	end_paragraph(v);
	if (copy_z(v->id, sizeof(v->id), l->id) < 0)
		return; /* it has its end by the clock */
	v->ticket = (uint64_t)l->ticket;
	if (choice_open(&v->choice, v->loop, &ask, on_choice, v, &e) < 0)
		(void)say_err(&e);
}

/* The agent does not ask any more. */
static void withdraw(struct ask_view *v, const struct line *l)
{
	struct ask_waiting **at = &v->waiting, *w;

	if (v->choice && view_eqs(l->id, v->id)) {
		choice_close(&v->choice);
		fputs("\nkairo: that is not asked any more\n", stderr);
		ask_next(v);
		return;
	}
	while (*at && !view_eqs(l->id, (*at)->id))
		at = &(*at)->next;
	w = *at;
	if (w)
		*at = w->next;
	free_waiting(w);
}

static int read_choices(const struct json *j, struct line *l, struct err *e)
{
	const struct json *list = json_member(j, "choices");

	if (!list)
		return 0;
	json_each(it, list) {
		if (l->nchoices == CHOICE_MAX)
			return err_set(e, E_FORMAT, "more than %d choices", CHOICE_MAX);
		if (json_str(it, &l->choices[l->nchoices++]) < 0)
			return err_set(e, E_FORMAT, "a choice that is no text");
	}
	return 0;
}

/* --- Events ----------------------------------------------------------------------------------- */

static int read_line(const struct json *j, struct line *l, struct err *e)
{
	if (json_get_str(j, "event", JSON_REQUIRED, 1, 32, &l->event, e) < 0 ||
		json_get_str(j, "text", JSON_OPTIONAL, 0, EVENT_MAX, &l->text, e) < 0 ||
		json_get_str(j, "name", JSON_OPTIONAL, 0, 256, &l->name, e) < 0 ||
		json_get_str(j, "result", JSON_OPTIONAL, 0, 64, &l->result, e) < 0 ||
		json_get_str(j, "detail", JSON_OPTIONAL, 0, 1024, &l->detail, e) < 0 ||
		json_get_str(j, "id", JSON_OPTIONAL, 0, 128, &l->id, e) < 0 ||
		json_get_str(j, "language", JSON_OPTIONAL, 0, 8, &l->language, e) < 0 ||
		json_get_int(j, "ticket", JSON_OPTIONAL, 0, INT64_MAX, &l->ticket, e) < 0 ||
		json_get_bool(j, "several", JSON_OPTIONAL, &l->several, e) < 0 ||
		json_get_int(j, "ms", JSON_OPTIONAL, 0, INT64_MAX, &l->ms, e) < 0)
		return -1;
	return read_choices(j, l, e);
}

void ask_view_line(struct ask_view *v, struct view text)
{
	const struct json_limits lim = { .bytes = EVENT_MAX, .depth = 8, .nodes = 1000 };
	struct line l = { .result = VIEW("ok") };
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_read(&j, text, &lim, &e) < 0 || read_line(j, &l, &e) < 0)
		v->code = say_err(&e);
	else if (view_eqs(l.event, "text"))
		show_text(v, l.text);
	else if (view_eqs(l.event, "tool"))
		show_tool(v, &l);
	else if (view_eqs(l.event, "question"))
		ask(v, &l, text);
	else if (view_eqs(l.event, "withdrawn"))
		withdraw(v, &l);
	else if (view_eqs(l.event, "done"))
		show_done(v, &l);
	json_free(&j);
}

void ask_view_close(struct ask_view *v)
{
	char *line;

	choice_close(&v->choice);
	while ((line = take_next(v)))
		free(line);
}
