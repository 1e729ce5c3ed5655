#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME_MAX_BYTES 60 /* of a slash command; longer ones cannot be typed */
#define NAMES_MAX      ((size_t)16 << 10)
#define TOKENS_MAX     ((int64_t)1 << 40)

/* Its own, in front of the agent's. */
static const char *const own[] = { "sessions", "open", "model", "effort", "mode", NULL };

/* --- Slash commands --------------------------------------------------------------------------- */

static void free_commands(struct acp *a)
{
	for (char **w = a->commands; w && *w; w++)
		free(*w);
	free(a->commands);
	a->commands = NULL;
}

static bool is_own(struct view name)
{
	for (const char *const *z = own; *z; z++)
		if (view_eqs(name, *z))
			return true;
	return false;
}

/* What can be typed, and means one thing however it is written. */
static bool can_be_typed(struct view name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f ||
			(name.p[i] >= 'A' && name.p[i] <= 'Z'))
			return false;
	return name.n > 0 && name.n <= NAME_MAX_BYTES && !is_own(name);
}

static bool add_command(char **list, size_t *n, struct view name)
{
	list[*n] = strndup(name.p, name.n);
	return list[*n] && ++*n;
}

/* names: one a line. */
static int set_commands(struct acp *a, struct view names, struct err *e)
{
	char **list = calloc(COMMANDS_MAX + 1, sizeof(char *));
	size_t n = 0;
	bool ok = list != NULL;

	for (const char *const *z = own; ok && *z; z++)
		ok = add_command(list, &n, view_of(*z));
	while (ok && names.n > 0 && n < COMMANDS_MAX) {
		size_t end = view_find(names, '\n');

		ok = !can_be_typed(view_cut(names, end)) ||
		     add_command(list, &n, view_cut(names, end));
		names = view_from(names, end + 1);
	}
	if (list) {
		free_commands(a);
		a->commands = list;
	}
	return ok ? 0 : err_set(e, E_NOMEM, "the agent's commands");
}

static void take_commands(struct acp *a, const struct json *list)
{
	struct str names = STR_INIT(NAMES_MAX), known = STR_INIT(NAMES_MAX);
	struct err e = ERR_INIT;
	struct view name;

	json_each(item, list) {
		if (json_type(item) != JSON_OBJECT || json_get_str(item, "name", JSON_REQUIRED, 1,
							      NAME_MAX_BYTES + 1, &name, NULL) != 1)
			continue;
		if (view_starts(name, VIEW("/")))
			name = view_from(name, 1);
		if (can_be_typed(name) && names.n + name.n < NAMES_MAX)
			(void)str_addf(&names, "%.*s\n", VIEW_FMT(name));
	}
	(void)store_noted(a->store, a->name, "commands", &known, NULL);
	if (!view_eq(str_view(&names), str_view(&known)) &&
		(set_commands(a, str_view(&names), &e) < 0 ||
			store_note(a->store, a->name, "commands", str_view(&names), &e) < 0))
		log_warn(a->log, "acp", "its commands are not remembered: %s", e.msg);
	str_release(&names);
	str_release(&known);
}

/* What it had when it ran last, until it says so anew. */
int known_open(struct acp *a, struct err *e)
{
	struct str names = STR_INIT(NAMES_MAX);
	int rc = store_noted(a->store, a->name, "commands", &names, e);

	if (rc >= 0)
		rc = set_commands(a, str_view(&names), e);
	str_release(&names);
	return rc;
}

void known_close(struct acp *a)
{
	free_commands(a);
}

const char *const *known_commands(const struct engine *g)
{
	return (const char *const *)((const struct acp *)g)->commands;
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void take_cost(struct live *l, const struct json *cost)
{
	struct str safe = STR_INIT(256);
	struct view currency;
	double amount;

	if (cost && json_type(cost) == JSON_OBJECT &&
		json_get_double(cost, "amount", JSON_REQUIRED, &amount, NULL) == 1 &&
		json_get_str(cost, "currency", JSON_REQUIRED, 1, 8, &currency, NULL) == 1 &&
		text_visible(currency, &safe) == 0 && amount >= 0 && amount < 1e9)
		(void)snprintf(l->cost, sizeof(l->cost), "%.4f %s", amount, str_cstr(&safe));
	str_release(&safe);
}

/* How full the context is: no count of what was used up. */
static void take_size(struct live *l, const struct json *update)
{
	int64_t used, size;

	if (json_get_int(update, "used", JSON_REQUIRED, 0, TOKENS_MAX, &used, NULL) == 1 &&
		json_get_int(update, "size", JSON_REQUIRED, 1, TOKENS_MAX, &size, NULL) == 1) {
		l->used = used;
		l->size = size;
		l->sized = true;
	}
	take_cost(l, json_member(update, "cost"));
}

void known_usage(struct acp *a, struct live *l, const struct json *result)
{
	const struct json *usage = result ? json_member(result, "usage") : NULL;
	struct engine_event ev = { .type = ENGINE_USAGE, .turn = a->turn };
	int64_t in, out;

	if (!usage || json_type(usage) != JSON_OBJECT ||
		json_get_int(usage, "inputTokens", JSON_REQUIRED, 0, TOKENS_MAX, &in, NULL) != 1 ||
		json_get_int(usage, "outputTokens", JSON_REQUIRED, 0, TOKENS_MAX, &out, NULL) != 1)
		return;
	l->in += in;
	l->out += out;
	l->counted = true;
	ev.tokens_in = (uint64_t)in;
	ev.tokens_out = (uint64_t)out;
	acp_emit(a, &ev);
}

/* --- Updates ---------------------------------------------------------------------------------- */

void known_take(struct acp *a, struct live *l, const struct json *update)
{
	static const char *const names[] = { "available_commands_update", "usage_update",
		"config_option_update", "current_mode_update", NULL };
	const struct json *list = json_member(update, "availableCommands");
	int kind;

	if (json_get_enum(update, "sessionUpdate", JSON_REQUIRED, names, &kind, NULL) != 1)
		return;
	if (kind == 0 && list && json_type(list) == JSON_ARRAY)
		take_commands(a, list);
	else if (kind == 1 && l)
		take_size(l, update);
	else if (kind > 1 && l)
		(void)knobs_take(&l->knobs, update);
}
