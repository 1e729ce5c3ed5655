#include "agent/acp/knob.h"

#include <string.h>
#include <strings.h>

#define GROUP_DEPTH 1 /* groups hold values, not groups */

static const struct json_limits tree_limits = {
	.bytes = KNOB_TREE_MAX,
	.depth = 40,
	.nodes = 100000,
	.nul = JSON_NUL_REPAIR,
	.repair_utf8 = true,
};

void knobs_release(struct knobs *k)
{
	json_free(&k->options);
	json_free(&k->modes);
	json_free(&k->models);
	memset(k, 0, sizeof(*k));
}

/* --- Taking ----------------------------------------------------------------------------------- */

static bool keep(struct json **slot, const struct json *from, const char *name, enum json_type type)
{
	const struct json *j = json_member(from, name);
	struct str text = STR_INIT(KNOB_TREE_MAX);
	struct json *copy = NULL;

	if (!j || json_type(j) != type)
		return false;
	if (json_print(j, &text, NULL) == 0 &&
		json_read(&copy, str_view(&text), &tree_limits, NULL) == 0) {
		json_free(slot);
		*slot = copy;
	}
	str_release(&text);
	return copy != NULL;
}

static struct view text_of(const struct json *obj, const char *name)
{
	struct view v = VIEW_NONE;

	if (obj && json_type(obj) == JSON_OBJECT)
		(void)json_get_str(obj, name, JSON_OPTIONAL, 1, KNOB_VALUE_MAX, &v, NULL);
	return v;
}

bool knobs_take(struct knobs *k, const struct json *from)
{
	struct view mode;
	bool took;

	if (!from || json_type(from) != JSON_OBJECT)
		return false;
	took = keep(&k->options, from, "configOptions", JSON_ARRAY);
	if (keep(&k->modes, from, "modes", JSON_OBJECT)) {
		k->mode[0] = '\0';
		took = true;
	}
	if (keep(&k->models, from, "models", JSON_OBJECT)) {
		k->model[0] = '\0';
		took = true;
	}
	mode = text_of(from, "currentModeId");
	if (mode.n > 0) {
		knobs_set(k, KNOB_SET_MODE, mode);
		took = true;
	}
	return took;
}

void knobs_set(struct knobs *k, enum knob_way way, struct view value)
{
	if (way == KNOB_SET_MODE)
		(void)copy_z(k->mode, sizeof(k->mode), value);
	else if (way == KNOB_SET_MODEL)
		(void)copy_z(k->model, sizeof(k->model), value);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void add_value(struct knob *out, struct view value, struct view name)
{
	if (value.n > 0 && out->n < KNOB_VALUES_MAX)
		out->values[out->n++] = (struct knob_value){ value, name };
}

/* Values, and groups of them. */
static void add_values(struct knob *out, const struct json *list, const char *id, int depth)
{
	if (!list || json_type(list) != JSON_ARRAY)
		return;
	json_each(item, list) {
		const struct json *inner =
			json_type(item) == JSON_OBJECT ? json_member(item, "options") : NULL;

		if (inner && depth < GROUP_DEPTH)
			add_values(out, inner, id, depth + 1);
		else
			add_value(out, text_of(item, id), text_of(item, "name"));
	}
}

/* The categories are hints, and not every agent gives one: then the id tells. */
static bool option_is(const struct json *option, enum knob_kind kind, bool by_id)
{
	static const char *const categories[KNOBS] = { "model", "thought_level", "mode" };
	static const char *const ids[KNOBS][5] = {
		{ "model" },
		{ "thinking", "thought_level", "effort", "reasoning_effort" },
		{ "mode" },
	};
	struct view id = text_of(option, "id");

	if (!by_id)
		return view_eqs(text_of(option, "category"), categories[kind]);
	for (const char *const *z = ids[kind]; *z; z++)
		if (view_eqs(id, *z))
			return true;
	return false;
}

static bool read_option(const struct json *option, struct knob *out)
{
	struct view type = text_of(option, "type");
	bool on;

	out->id = text_of(option, "id");
	if (view_eqs(type, "select")) {
		out->way = KNOB_OPTION;
		out->now = text_of(option, "currentValue");
		add_values(out, json_member(option, "options"), "value", 0);
	} else if (view_eqs(type, "boolean") &&
		   json_get_bool(option, "currentValue", JSON_REQUIRED, &on, NULL) == 1) {
		out->way = KNOB_SWITCH;
		out->now = on ? VIEW("on") : VIEW("off");
		add_value(out, VIEW("on"), VIEW_NONE);
		add_value(out, VIEW("off"), VIEW_NONE);
	}
	return out->id.n > 0 && out->n > 0;
}

static bool find_option(const struct knobs *k, enum knob_kind kind, struct knob *out)
{
	for (int by_id = 0; k->options && by_id <= 1; by_id++) {
		json_each(option, k->options) {
			memset(out, 0, sizeof(*out));
			if (json_type(option) == JSON_OBJECT && option_is(option, kind, by_id) &&
				read_option(option, out))
				return true;
		}
	}
	return false;
}

bool knobs_read(const struct knobs *k, enum knob_kind kind, struct knob *out)
{
	if (find_option(k, kind, out))
		return true;
	memset(out, 0, sizeof(*out));
	if (kind == KNOB_MODE && k->modes && (!k->options || !json_first(k->options))) {
		out->way = KNOB_SET_MODE;
		out->now = k->mode[0] ? view_of(k->mode) : text_of(k->modes, "currentModeId");
		add_values(out, json_member(k->modes, "availableModes"), "id", 0);
	} else if (kind == KNOB_MODEL && k->models) {
		out->way = KNOB_SET_MODEL;
		out->now = k->model[0] ? view_of(k->model) : text_of(k->models, "currentModelId");
		add_values(out, json_member(k->models, "availableModels"), "modelId", 0);
	}
	return out->n > 0;
}

/* --- Choosing --------------------------------------------------------------------------------- */

const struct knob_value *knob_value(const struct knob *knob, struct view value)
{
	for (size_t i = 0; i < knob->n; i++)
		if (view_eq(knob->values[i].value, value))
			return &knob->values[i];
	return NULL;
}

static bool like(struct view a, struct view b)
{
	return a.n > 0 && a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

const struct knob_value *knob_find(const struct knob *knob, struct view text)
{
	const struct knob_value *found = knob_value(knob, text);
	unsigned long long number;

	if (found)
		return found;
	for (size_t i = 0; i < knob->n; i++) {
		const struct knob_value *v = &knob->values[i];

		if (!like(v->value, text) && !like(v->name, text))
			continue;
		if (found)
			return NULL;
		found = v;
	}
	if (!found && parse_u64(text, &number) == 0 && number >= 1 && number <= knob->n)
		found = &knob->values[number - 1];
	return found;
}
