#include "agent/acp/card.h"

#include <stdlib.h>
#include <string.h>

#include "agent/acp/command_line.h"
#include "base/text.h"

struct cards {
	struct card list[CARDS_MAX]; /* the oldest first */
	size_t n;
};

static const char *const kinds[] = {
	[CARD_OTHER] = "other",
	[CARD_READ] = "read",
	[CARD_EDIT] = "edit",
	[CARD_DELETE] = "delete",
	[CARD_MOVE] = "move",
	[CARD_SEARCH] = "search",
	[CARD_EXECUTE] = "execute",
	[CARD_THINK] = "think",
	[CARD_FETCH] = "fetch",
	[CARD_SWITCH_MODE] = "switch_mode",
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *card_kind_name(enum card_kind k)
{
	return (size_t)k < KINDS ? kinds[k] : kinds[CARD_OTHER];
}

/* --- The list --------------------------------------------------------------------------------- */

static void card_release(struct card *c)
{
	free(c->id);
	free(c->title);
	free(c->command);
	free(c->path);
	free(c->input);
	free(c->changes);
	str_release(&c->also);
}

int cards_open(struct cards **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "the agent's tool calls");
}

void cards_clear(struct cards *c)
{
	while (c->n > 0)
		card_release(&c->list[--c->n]);
}

void cards_close(struct cards **cp)
{
	if (*cp)
		cards_clear(*cp);
	free(*cp);
	*cp = NULL;
}

struct card *cards_find(struct cards *c, struct view id)
{
	for (size_t i = 0; i < c->n; i++)
		if (view_eqs(id, c->list[i].id))
			return &c->list[i];
	return NULL;
}

bool card_ended(const struct card *c)
{
	return c->status == CARD_COMPLETED || c->status == CARD_FAILED;
}

struct card *cards_unfinished(struct cards *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!card_ended(&c->list[i]))
			return &c->list[i];
	return NULL;
}

/* Room for one more: the oldest that has ended goes, else the oldest. */
static void make_room(struct cards *c)
{
	size_t i = 0;

	if (c->n < CARDS_MAX)
		return;
	while (i < c->n && !card_ended(&c->list[i]))
		i++;
	if (i == c->n)
		i = 0;
	card_release(&c->list[i]);
	memmove(&c->list[i], &c->list[i + 1], (--c->n - i) * sizeof(c->list[0]));
}

/* JSON's texts hold no NUL. */
static char *dup_view(struct view v)
{
	return strndup(v.p, v.n);
}

static struct card *add(struct cards *cards, struct view id)
{
	struct card c = { .id = dup_view(id), .title = strdup("") };

	c.also = STR_INIT(CARD_ALSO_MAX);
	if (!c.id || !c.title) {
		card_release(&c);
		return NULL;
	}
	make_room(cards);
	cards->list[cards->n] = c;
	return &cards->list[cards->n++];
}

/* --- What it tells ---------------------------------------------------------------------------- */

static bool member_text(const struct json *obj, const char *name, struct view *out)
{
	*out = VIEW_NONE;
	return obj && json_type(obj) == JSON_OBJECT &&
	       json_get_str(obj, name, JSON_OPTIONAL, 1, SIZE_MAX, out, NULL) == 1;
}

static void replace(char **text, struct view v)
{
	char *fresh = dup_view(v);

	if (!fresh)
		return;
	free(*text);
	*text = fresh;
}

static void take_kind(struct card *c, const struct json *call)
{
	struct view kind;

	if (!member_text(call, "kind", &kind))
		return;
	c->kind = CARD_OTHER;
	for (size_t i = 0; i < KINDS; i++)
		if (view_eqs(kind, kinds[i]))
			c->kind = (enum card_kind)i;
}

/* An unknown status changes nothing. */
static void take_status(struct card *c, const struct json *call)
{
	static const char *const names[] = { "pending", "in_progress", "completed", "failed" };
	struct view status;

	if (!member_text(call, "status", &status))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (view_eqs(status, names[i]))
			c->status = (enum card_status)i;
}

/* A vector as one would type it. */
static char *join_words(const struct json *array)
{
	struct str out = STR_INIT(CARD_COMMAND_MAX);
	bool good = json_count(array) > 0;
	char *z = NULL;

	json_each(item, array) {
		struct view word;

		good = good && json_str(item, &word) == 0;
		if (!good)
			break;
		if (out.n > 0)
			(void)str_addc(&out, ' ');
		(void)command_word(&out, word);
	}
	if (good && str_ok(&out))
		z = str_take(&out);
	str_release(&out);
	return z;
}

/* What is longer than a command may be counts as not shown. */
static void take_command(struct card *c, const struct json *input)
{
	static const char *const names[] = { "command", "cmd", "script", NULL };

	for (const char *const *name = names; *name; name++) {
		const struct json *j = json_member(input, *name);
		struct view text;
		char *fresh = NULL;

		if (!j)
			continue;
		if (json_str(j, &text) == 0 && text.n > 0 && text.n <= CARD_COMMAND_MAX)
			fresh = dup_view(text);
		else if (json_type(j) == JSON_ARRAY)
			fresh = join_words(j);
		free(c->command);
		c->command = fresh;
		return;
	}
}

bool card_has_line(const struct str *lines, struct view line)
{
	struct view v = str_view(lines);

	while (v.n > 0) {
		size_t n = view_find(v, '\n');

		if (view_eq(view_cut(v, n), line))
			return true;
		v = view_from(v, n + 1);
	}
	return false;
}

/* One more, in the place of the one before, which is not forgotten: a yes would be for both. */
static void name_path(struct card *c, struct view path)
{
	if (path.n > CARD_TITLE_MAX || view_find(path, '\n') < path.n) {
		c->unclear = true;
		return;
	}
	if (c->path && !view_eqs(path, c->path) && !card_has_line(&c->also, view_of(c->path)) &&
		str_addf(&c->also, "%s\n", c->path) < 0)
		c->unclear = true;
	replace(&c->path, path);
}

/* The first of these names is the one. */
static void take_path(struct card *c, const struct json *input)
{
	static const char *const names[] = { "path", "file_path", "filePath", "filepath",
		"abs_path", "url" };
	struct view text;

	for (size_t i = sizeof(names) / sizeof(names[0]); i-- > 0;)
		if (member_text(input, names[i], &text))
			name_path(c, text);
}

static void keep_input(struct card *c, const struct json *input)
{
	struct str text = STR_INIT(CARD_INPUT_MAX);

	free(c->input);
	c->input = json_print(input, &text, NULL) == 0 ? str_take(&text) : NULL;
	str_release(&text);
}

/* Empty arguments are those that are still to be written. */
static void take_input(struct card *c, const struct json *input)
{
	if (!input || json_type(input) != JSON_OBJECT || json_count(input) == 0)
		return;
	keep_input(c, input);
	take_command(c, input);
	take_path(c, input);
}

/* Until a call has ended its content may be its arguments, as far as the model has written them:
 * an object of JSON once they are whole. */
static void take_written_input(struct card *c, const struct json *content)
{
	struct json_limits lim = json_limits_wire;
	struct json *input = NULL;
	struct view text;

	if (!content || json_type(content) != JSON_ARRAY || card_ended(c))
		return;
	json_each(item, content) {
		if (!member_text(json_member(item, "content"), "text", &text) || text.p[0] != '{')
			continue;
		if (json_read(&input, text, &lim, NULL) == 0)
			take_input(c, input);
		json_free(&input);
	}
}

static bool has_changes(const struct json *content)
{
	struct view text;

	json_each(item, content) {
		if (member_text(item, "newText", &text) || member_text(item, "oldText", &text))
			return true;
	}
	return false;
}

/* Some show them with the call, and ask for leave without. */
static void take_changes(struct card *c, const struct json *content)
{
	struct str text = STR_INIT(CARD_INPUT_MAX);

	if (!content || json_type(content) != JSON_ARRAY)
		return;
	free(c->changes);
	c->changes = NULL;
	if (has_changes(content) && json_print(content, &text, NULL) == 0)
		c->changes = str_take(&text);
	str_release(&text);
}

/* Of a list of locations, or of contents, where differences have one. The first is the one. */
static void take_paths(struct card *c, const struct json *list)
{
	struct view path, first = VIEW_NONE;

	if (!list || json_type(list) != JSON_ARRAY)
		return;
	json_each(item, list) {
		if (!member_text(item, "path", &path))
			continue;
		first = first.n > 0 ? first : path;
		name_path(c, path);
	}
	if (first.n > 0)
		name_path(c, first);
}

struct card *cards_take(struct cards *cards, const struct json *call)
{
	struct view id, title;
	struct card *c;

	if (!member_text(call, "toolCallId", &id) || id.n > CARD_ID_MAX)
		return NULL;
	c = cards_find(cards, id);
	if (!c)
		c = add(cards, id);
	if (!c)
		return NULL;
	if (member_text(call, "title", &title))
		replace(&c->title, view_cut(title, utf8_cut(title, CARD_TITLE_MAX)));
	take_kind(c, call);
	take_status(c, call);
	take_paths(c, json_member(call, "content"));
	take_paths(c, json_member(call, "locations"));
	take_written_input(c, json_member(call, "content"));
	take_changes(c, json_member(call, "content"));
	take_input(c, json_member(call, "rawInput"));
	if (card_ended(c)) {
		free(c->input);
		free(c->changes);
		c->input = c->changes = NULL;
	}
	return c;
}
