#include "cli/config-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static void *field(struct config *c, const struct config_row *r)
{
	return (char *)c + r->offset;
}

static const void *field_view(const struct config *c, const struct config_row *r)
{
	return (const char *)c + r->offset;
}

char *config_string(const struct config *c, const struct config_row *r)
{
	char *s;

	memcpy(&s, field_view(c, r), sizeof(s));
	return s;
}

char **config_list(const struct config *c, const struct config_row *r)
{
	char **list;

	memcpy(&list, field_view(c, r), sizeof(list));
	return list;
}

/* --- Filling ---------------------------------------------------------------------------------- */

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void config_drop(struct config *c, const struct config_row *r)
{
	if (r->key.type == CONFIG_LIST)
		free_list(config_list(c, r));
	else if (r->key.type != CONFIG_INT && r->key.type != CONFIG_BOOL)
		free(config_string(c, r));
}

/* A copy; "~/x" is below the user's home, anything else is absolute. */
static char *expand(const char *path, struct err *e)
{
	const char *home = path[0] == '~' && (path[1] == '/' || !path[1]) ? user_home() : "";
	char *out = NULL;

	if (!home)
		err_set(e, E_NOTFOUND,
			"what ~ means is not known: set HOME, or write the whole path");
	else if (asprintf(&out, "%s%s", home, home[0] ? path + 1 : path) < 0)
		err_set(e, E_NOMEM, "out of memory");
	else
		return out;
	return NULL;
}

static char *copy(const char *s, struct err *e)
{
	char *out = strdup(s);

	if (!out)
		err_set(e, E_NOMEM, "out of memory");
	return out;
}

int config_put_string(struct config *c, const struct config_row *r, const char *s, struct err *e)
{
	char *mine = r->key.type == CONFIG_PATH ? expand(s, e) : copy(s, e);

	if (!mine)
		return -1;
	config_drop(c, r);
	memcpy(field(c, r), &mine, sizeof(mine));
	return 0;
}

static int put_list(struct config *c, const struct config_row *r, const char *const *items,
	size_t n, struct err *e)
{
	bool paths = r->offset == CONFIG_OFFSET(sandbox.read) ||
	             r->offset == CONFIG_OFFSET(acp.write) ||
	             r->offset == CONFIG_OFFSET(voice.transcriber) ||
	             r->offset == CONFIG_OFFSET(voice.decoder);
	char **list = calloc(n + 1, sizeof(*list));

	if (!list)
		return err_set(e, E_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (!(list[i] = paths ? expand(items[i], e) : copy(items[i], e))) {
			free_list(list);
			return -1;
		}
	config_drop(c, r);
	memcpy(field(c, r), &list, sizeof(list));
	return 0;
}

static void put_int(struct config *c, const struct config_row *r, int64_t v)
{
	memcpy(field(c, r), &v, sizeof(v));
}

static void put_bool(struct config *c, const struct config_row *r, bool v)
{
	memcpy(field(c, r), &v, sizeof(v));
}

int config_misfit(const struct config_row *r, struct err *e)
{
	const struct config_key *k = &r->key;
	char values[120] = "";

	switch (k->type) {
	case CONFIG_INT:
		return err_set(e, E_FORMAT, "%s: expected a whole number from %lld to %lld",
			k->name, (long long)k->min, (long long)k->max);
	case CONFIG_BOOL: return err_set(e, E_FORMAT, "%s: expected true or false", k->name);
	case CONFIG_LIST:
		return err_set(e, E_FORMAT,
			"%s: expected a list of at most %lld strings, as [\"one\"]", k->name,
			(long long)k->max);
	case CONFIG_PATH:
		return err_set(e, E_FORMAT,
			"%s: expected an absolute path, or one that begins with ~/", k->name);
	case CONFIG_ENUM:
		for (size_t i = 0, n = 0; k->values[i] && n < sizeof(values); i++)
			n += (size_t)snprintf(values + n, sizeof(values) - n, "%s\"%s\"",
				i ? " or " : "", k->values[i]);
		return err_set(e, E_FORMAT, "%s: expected %s", k->name, values);
	default: return err_set(e, E_FORMAT, "%s: expected a string", k->name);
	}
}

bool config_is_plain(const char *s)
{
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return utf8_valid(view_of(s));
}

bool config_is_path(const char *s)
{
	if (!config_is_plain(s) || strlen(s) >= PATH_SIZE - 256)
		return false;
	return !s[0] || s[0] == '/' || (s[0] == '~' && (s[1] == '/' || !s[1]));
}

static bool is_one_of(const char *const *values, const char *s)
{
	for (size_t i = 0; values[i]; i++)
		if (!strcmp(values[i], s))
			return true;
	return false;
}

bool config_fits(const struct config_row *r, const struct toml_value *v)
{
	const struct config_key *k = &r->key;

	switch (k->type) {
	case CONFIG_INT: return v->type == TOML_INT && v->i >= k->min && v->i <= k->max;
	case CONFIG_BOOL: return v->type == TOML_BOOL;
	case CONFIG_LIST: return v->type == TOML_ARRAY && v->nitems <= (size_t)k->max;
	case CONFIG_PATH: return v->type == TOML_STRING && config_is_path(v->s);
	case CONFIG_ENUM: return v->type == TOML_STRING && is_one_of(k->values, v->s);
	default: return v->type == TOML_STRING;
	}
}

int config_put(struct config *c, const struct config_row *r, const struct toml_value *v,
	struct err *e)
{
	if (!config_fits(r, v))
		return config_misfit(r, e);
	switch (r->key.type) {
	case CONFIG_INT: put_int(c, r, v->i); return 0;
	case CONFIG_BOOL: put_bool(c, r, v->b); return 0;
	case CONFIG_LIST: return put_list(c, r, v->items, v->nitems, e);
	default: return config_put_string(c, r, v->s, e);
	}
}

int config_put_default(struct config *c, const struct config_row *r, struct err *e)
{
	long long n;

	switch (r->key.type) {
	case CONFIG_INT:
		if (parse_i64(view_of(r->key.fallback), &n) < 0)
			return err_set(e, E_FORMAT, "%s has a bad default", r->key.name);
		put_int(c, r, n);
		return 0;
	case CONFIG_BOOL: put_bool(c, r, !strcmp(r->key.fallback, "true")); return 0;
	case CONFIG_LIST: return put_list(c, r, NULL, 0, e);
	default: return config_put_string(c, r, r->key.fallback ? r->key.fallback : "", e);
	}
}

/* --- Changing places -------------------------------------------------------------------------- */

static size_t width(const struct config_row *r)
{
	switch (r->key.type) {
	case CONFIG_INT: return sizeof(int64_t);
	case CONFIG_BOOL: return sizeof(bool);
	default: return sizeof(char *);
	}
}

void config_exchange(struct config *a, struct config *b, const struct config_row *r)
{
	char kept[sizeof(int64_t) > sizeof(char *) ? sizeof(int64_t) : sizeof(char *)];

	memcpy(kept, field(a, r), width(r));
	memcpy(field(a, r), field(b, r), width(r));
	memcpy(field(b, r), kept, width(r));
}

/* --- As text ---------------------------------------------------------------------------------- */

int config_get(const struct config *c, const char *name, struct str *out, struct err *e)
{
	const struct config_row *r = config_row_named(name);
	int64_t n;
	bool b;

	if (!r)
		return err_set(e, E_NOTFOUND, "no setting \"%s\", did you mean %s?", name,
			config_nearest(name));
	switch (r->key.type) {
	case CONFIG_INT:
		memcpy(&n, field_view(c, r), sizeof(n));
		str_addf(out, "%lld", (long long)n);
		break;
	case CONFIG_BOOL:
		memcpy(&b, field_view(c, r), sizeof(b));
		str_adds(out, b ? "true" : "false");
		break;
	case CONFIG_LIST:
		str_addc(out, '[');
		for (char **p = config_list(c, r); *p; p++) {
			if (p != config_list(c, r))
				str_adds(out, ", ");
			toml_write_string(view_of(*p), out);
		}
		str_addc(out, ']');
		break;
	default: toml_write_string(view_of(config_string(c, r)), out); break;
	}
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "out of memory");
}
