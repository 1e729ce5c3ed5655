#include "agent/acp/form.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES ((size_t)200)
#define TEXT_MAX       ((size_t)4000)

static struct view text_of(const struct json *obj, const char *name)
{
	struct view v = VIEW_NONE;

	if (obj && json_type(obj) == JSON_OBJECT)
		(void)json_get_str(obj, name, JSON_OPTIONAL, 1, SIZE_MAX, &v, NULL);
	return v;
}

static const struct json *list_of(const struct json *obj, const char *name)
{
	const struct json *j = obj && json_type(obj) == JSON_OBJECT ? json_member(obj, name) : NULL;

	return j && json_type(j) == JSON_ARRAY ? j : NULL;
}

/* --- Choices ---------------------------------------------------------------------------------- */

static int add_choice(struct form_field *f, struct view value, struct view title, struct view about)
{
	struct str name = STR_INIT(TEXT_MAX);

	if (f->n == FORM_CHOICES_MAX)
		return -1;
	(void)str_add(&name, view_cut(title, TEXT_MAX / 4));
	if (about.n > 0)
		(void)str_addf(&name, " (%.*s)", VIEW_FMT(view_cut(about, TEXT_MAX / 4)));
	f->names[f->n] = str_take(&name);
	f->values[f->n] = strndup(value.n > 0 ? value.p : "", value.n);
	str_release(&name);
	if (!f->names[f->n] || !f->values[f->n])
		return -1;
	f->n++;
	return 0;
}

static int add_word(struct form_field *f, const char *word)
{
	return add_choice(f, VIEW_NONE, view_of(word), VIEW_NONE);
}

/* "enum" and, if there is, "enumNames"; or the list of {const, title, description}. */
static int add_choices(struct form_field *f, const struct json *schema, const char *of)
{
	const struct json *values = list_of(schema, "enum"), *list = list_of(schema, of);

	json_each(item, values) {
		struct view v;

		if (json_str(item, &v) < 0 || v.n == 0 || add_choice(f, v, v, VIEW_NONE) < 0)
			return -1;
	}
	json_each(item, values ? NULL : list) {
		struct view value = text_of(item, "const"), title = text_of(item, "title");

		if (value.n == 0 || add_choice(f, value, title.n > 0 ? title : value,
					    text_of(item, "description")) < 0)
			return -1;
	}
	return f->n > 0 ? 0 : -1;
}

/* --- A property ------------------------------------------------------------------------------- */

static int take_several(struct form_field *f, const struct json *schema)
{
	int64_t min = 0, max = FORM_CHOICES_MAX;

	if (add_choices(f, json_member(schema, "items"), "anyOf") < 0 ||
		json_get_int(schema, "minItems", JSON_OPTIONAL, 0, FORM_CHOICES_MAX, &min, NULL) <
			0 ||
		json_get_int(schema, "maxItems", JSON_OPTIONAL, 1, INT32_MAX, &max, NULL) < 0)
		return -1;
	f->several = true;
	f->min = (size_t)min;
	f->max = (size_t)max;
	return 0;
}

/* -1: it cannot be answered by choosing. */
static int take_choices(struct form_field *f, const struct json *schema,
	const struct form_words *words)
{
	struct view type = text_of(schema, "type");

	if (view_eqs(type, "string"))
		return add_choices(f, schema, "oneOf");
	if (view_eqs(type, "array"))
		return take_several(f, schema);
	if (!view_eqs(type, "boolean"))
		return -1;
	f->boolean = true;
	return add_word(f, words->yes) < 0 || add_word(f, words->no) < 0 ? -1 : 0;
}

static int take_text(struct form_field *f, struct view message, const struct json *schema,
	const char *name)
{
	struct str text = STR_INIT(4 * TEXT_MAX);
	struct view title = text_of(schema, "title"), about = text_of(schema, "description");

	if (title.n == 0)
		title = view_of(name);
	if (message.n > 0 && !view_eq(message, title))
		(void)str_addf(&text, "%.*s\n", VIEW_FMT(view_cut(message, TEXT_MAX)));
	(void)str_add(&text, view_cut(title, TEXT_MAX));
	if (about.n > 0)
		(void)str_addf(&text, "\n%.*s", VIEW_FMT(view_cut(about, TEXT_MAX)));
	f->name = strdup(name);
	f->text = str_take(&text);
	str_release(&text);
	return f->name && f->text ? 0 : -1;
}

static void field_release(struct form_field *f)
{
	for (size_t i = 0; i < FORM_CHOICES_MAX; i++) {
		free(f->names[i]);
		free(f->values[i]);
	}
	free(f->name);
	free(f->text);
	memset(f, 0, sizeof(*f));
}

static bool is_required(const struct json *schema, const char *name)
{
	json_each(item, list_of(schema, "required")) {
		struct view v;

		if (json_str(item, &v) == 0 && view_eqs(v, name))
			return true;
	}
	return false;
}

static int take_field(struct form *f, const struct json *schema, const struct json *property,
	const struct form_words *words, struct err *e)
{
	const char *name = json_name(property);
	bool required = is_required(schema, name);
	struct form_field *field = &f->fields[f->n];

	if (f->n == FORM_FIELDS_MAX)
		return required ? err_set(e, E_UNSUPPORTED, "more than %d questions",
					  FORM_FIELDS_MAX)
		                : 0;
	field->skips = !required;
	if (take_choices(field, property, words) < 0 ||
		(!required && add_word(field, words->skip) < 0)) {
		field_release(field);
		return required ? err_set(e, E_UNSUPPORTED, "%.60s cannot be chosen", name) : 0;
	}
	f->n++;
	return take_text(field, f->n == 1 ? view_of(f->message) : VIEW_NONE, property, name) < 0
	               ? err_set(e, E_NOMEM, "a form")
	               : 0;
}

/* --- All of it -------------------------------------------------------------------------------- */

int form_read(struct form *f, const struct json *params, const struct form_words *words,
	struct err *e)
{
	const struct json *schema = NULL, *properties = NULL;
	struct view mode = VIEW("form"), message = VIEW_NONE;

	memset(f, 0, sizeof(*f));
	if (json_get_str(params, "mode", JSON_OPTIONAL, 1, 100, &mode, e) < 0 ||
		json_get_str(params, "message", JSON_OPTIONAL, 0, SIZE_MAX, &message, e) < 0)
		return -1;
	if (!view_eqs(mode, "form"))
		return err_set(e, E_UNSUPPORTED, "it is no form");
	if (json_get_object(params, "requestedSchema", JSON_REQUIRED, &schema, e) < 0 ||
		json_get_object(schema, "properties", JSON_OPTIONAL, &properties, e) < 0)
		return -1;
	f->message = strndup(message.n > 0 ? message.p : "", message.n);
	if (!f->message)
		return err_set(e, E_NOMEM, "a form");
	json_each(property, properties) {
		if (take_field(f, schema, property, words, e) < 0)
			return -1;
	}
	return 0;
}

static size_t count_bits(unsigned int mask)
{
	size_t n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

bool form_pick(struct form_field *f, int choice)
{
	unsigned int all = (1U << f->n) - 1, skip = f->skips ? 1U << (f->n - 1) : 0;
	unsigned int mask = f->several ? (unsigned int)choice : 1U << choice;

	if (choice < 0 || (mask & ~all) != 0)
		return false;
	if ((mask & skip) == 0 && f->several &&
		(count_bits(mask) < f->min || count_bits(mask) > f->max))
		return false;
	f->picked = mask & skip ? 0 : mask;
	if (mask & skip)
		f->n = 0; /* it is left out */
	return true;
}

static void write_field(const struct form_field *f, struct json_out *w)
{
	if (f->boolean) {
		json_put_bool(w, f->name, f->picked & 1);
		return;
	}
	if (f->several)
		json_open_array(w, f->name);
	for (size_t i = 0; i < f->n; i++)
		if (f->picked & 1U << i)
			json_put_z(w, f->several ? NULL : f->name, f->values[i]);
	if (f->several)
		json_close_array(w);
}

void form_write(const struct form *f, struct json_out *w)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->fields[i].n > 0)
			write_field(&f->fields[i], w);
}

void form_release(struct form *f)
{
	for (size_t i = 0; i < FORM_FIELDS_MAX; i++)
		field_release(&f->fields[i]);
	free(f->message);
	memset(f, 0, sizeof(*f));
}
