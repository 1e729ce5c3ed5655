/* Reading: the gate, then cJSON; and the typed getters. A struct json is a cJSON
 * node; numbers that a double cannot hold digit for digit are strings behind JSON_NUMBER_MARK. */
#include "base/json.h"

#include "base/json-private.h"
#include "base/text.h"

#include <cjson/cJSON.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *node_of(const struct json *j)
{
	return (const cJSON *)j;
}

static const struct json *json_of(const cJSON *node)
{
	return (const struct json *)node;
}

static bool is_marked(const cJSON *node)
{
	return cJSON_IsString(node) && node->valuestring[0] == JSON_NUMBER_MARK;
}

/* --- Names, where the gate could not tell ---------------------------------------------------- */

static int check_object(const cJSON *object, struct err *e)
{
	size_t n = json_count(json_of(object)), i = 0;
	struct view *names = calloc(n + 1, sizeof(*names)), twin;
	int rc = 0;

	if (!names)
		return err_set(e, E_NOMEM, "JSON: out of memory");
	for (const cJSON *m = object->child; m; m = m->next)
		names[i++] = view_of(m->string);
	if (json_names_twice(names, n, &twin)) {
		twin = view_cut(twin, utf8_cut(twin, 60));
		rc = err_set(e, E_FORMAT, "JSON: the member \"%.*s\" appears twice",
			VIEW_FMT(twin));
	}
	free(names);
	return rc;
}

static int check_names(const cJSON *root, struct err *e)
{
	const cJSON *above[JSON_DEPTH_MAX], *node = root;
	int depth = 0;

	for (;;) {
		if (cJSON_IsObject(node) && check_object(node, e) < 0)
			return -1;
		if (node->child) {
			assert(depth < JSON_DEPTH_MAX);
			above[depth++] = node;
			node = node->child;
			continue;
		}
		while (depth > 0 && !node->next)
			node = above[--depth];
		if (depth == 0)
			return 0;
		node = node->next;
	}
}

/* --- Reading --------------------------------------------------------------------------------- */

int json_read(struct json **out, struct view v, const struct json_limits *lim, struct err *e)
{
	struct json_notes notes;
	cJSON *root = NULL;
	int rc = -1;

	*out = NULL;
	json_notes_init(&notes);
	if (json_scan(v, lim, &notes, e) < 0)
		goto out;
	if (notes.copy.p)
		v = (struct view){ notes.copy.p, notes.copy.n };
	root = cJSON_ParseWithLengthOpts(v.p, v.n, NULL, 0);
	if (!root) {
		/* What passed the gate is refused for want of memory only. */
		err_set(e, E_NOMEM, "JSON: out of memory");
		goto out;
	}
	if (notes.names.unsure && check_names(root, e) < 0)
		goto out;
	*out = (struct json *)root;
	root = NULL;
	rc = 0;
out:
	cJSON_Delete(root);
	json_notes_release(&notes);
	return rc;
}

void json_free(struct json **j)
{
	if (!j)
		return;
	cJSON_Delete((cJSON *)*j);
	*j = NULL;
}

/* --- The tree -------------------------------------------------------------------------------- */

enum json_type json_type(const struct json *j)
{
	const cJSON *node = node_of(j);

	switch (node->type & 0xff) {
	case cJSON_False:
	case cJSON_True: return JSON_BOOL;
	case cJSON_Number: return JSON_NUMBER;
	case cJSON_String: return is_marked(node) ? JSON_NUMBER : JSON_STRING;
	case cJSON_Array: return JSON_ARRAY;
	case cJSON_Object: return JSON_OBJECT;
	default: return JSON_NULL;
	}
}

const struct json *json_first(const struct json *j)
{
	return j ? json_of(node_of(j)->child) : NULL;
}

const struct json *json_next(const struct json *j)
{
	return json_of(node_of(j)->next);
}

const char *json_name(const struct json *member)
{
	return node_of(member)->string;
}

size_t json_count(const struct json *j)
{
	size_t count = 0;

	json_each(it, j)
		count++;
	return count;
}

const struct json *json_member(const struct json *obj, const char *name)
{
	if (!obj || json_type(obj) != JSON_OBJECT)
		return NULL;
	json_each(it, obj) {
		if (strcmp(json_name(it), name) == 0)
			return it;
	}
	return NULL;
}

/* --- Bare values ----------------------------------------------------------------------------- */

int json_str(const struct json *j, struct view *out)
{
	if (json_type(j) != JSON_STRING)
		return -1;
	*out = view_of(node_of(j)->valuestring);
	return 0;
}

int json_int(const struct json *j, int64_t *out)
{
	const cJSON *node = node_of(j);
	long long n;

	if (json_type(j) != JSON_NUMBER)
		return -1;
	if (!is_marked(node)) {
		*out = (int64_t)node->valuedouble; /* at most 15 digits: exact */
		return 0;
	}
	if (parse_i64(view_of(node->valuestring + 1), &n) < 0)
		return -1;
	*out = n;
	return 0;
}

static int json_uint(const struct json *j, uint64_t *out)
{
	unsigned long long u;
	int64_t i;

	if (json_int(j, &i) == 0) {
		*out = (uint64_t)i;
		return i >= 0 ? 0 : -1;
	}
	if (json_type(j) != JSON_NUMBER || !is_marked(node_of(j)) ||
		parse_u64(view_of(node_of(j)->valuestring + 1), &u) < 0)
		return -1;
	*out = u;
	return 0;
}

/* --- Typed getters --------------------------------------------------------------------------- */

/* 1 and the member; 0 when it is absent or null and may be; -1. */
static int find(const struct json *obj, const char *name, enum json_need need,
	const struct json **out, struct err *e)
{
	const struct json *j = json_member(obj, name);

	if (j && json_type(j) != JSON_NULL) {
		*out = j;
		return 1;
	}
	if (need == JSON_OPTIONAL)
		return 0;
	err_set(e, E_FORMAT, "%s is %s", name, j ? "null" : "missing");
	return -1;
}

static int find_type(const struct json *obj, const char *name, enum json_need need,
	enum json_type type, const struct json **out, struct err *e)
{
	static const char *const wanted[] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};
	int rc = find(obj, name, need, out, e);

	if (rc != 1 || json_type(*out) == type)
		return rc;
	err_set(e, E_FORMAT, "%s is not %s", name, wanted[type]);
	return -1;
}

int json_get_str(const struct json *obj, const char *name, enum json_need need, size_t min,
	size_t max, struct view *out, struct err *e)
{
	const struct json *j = NULL;
	struct view v = VIEW_NONE;
	int rc = find_type(obj, name, need, JSON_STRING, &j, e);

	if (rc != 1)
		return rc;
	(void)json_str(j, &v);
	if (v.n < min && v.n == 0)
		return err_set(e, E_FORMAT, "%s is empty", name);
	if (v.n < min)
		return err_set(e, E_FORMAT, "%s has %zu bytes, at least %zu are needed", name, v.n,
			min);
	if (v.n > max)
		return err_set(e, E_FORMAT, "%s has %zu bytes, at most %zu are accepted", name, v.n,
			max);
	*out = v;
	return 1;
}

int json_get_int(const struct json *obj, const char *name, enum json_need need, int64_t min,
	int64_t max, int64_t *out, struct err *e)
{
	const struct json *j = NULL;
	int64_t n;
	int rc = find_type(obj, name, need, JSON_NUMBER, &j, e);

	if (rc != 1)
		return rc;
	if (json_int(j, &n) < 0 || n < min || n > max)
		return err_set(e, E_FORMAT, "%s is not a whole number from %lld to %lld", name,
			(long long)min, (long long)max);
	*out = n;
	return 1;
}

int json_get_u64(const struct json *obj, const char *name, enum json_need need, uint64_t *out,
	struct err *e)
{
	const struct json *j = NULL;
	uint64_t u;
	int rc = find_type(obj, name, need, JSON_NUMBER, &j, e);

	if (rc != 1)
		return rc;
	if (json_uint(j, &u) < 0)
		return err_set(e, E_FORMAT, "%s is not a whole number from 0 to 2^64-1", name);
	*out = u;
	return 1;
}

/* What a uint64 or an int64 can be; -0 is neither. */
static bool is_id(struct view v)
{
	unsigned long long u;
	long long n;

	return v.n <= 20 && (parse_u64(v, &u) == 0 || (parse_i64(v, &n) == 0 && n < 0));
}

int json_get_id(const struct json *obj, const char *name, enum json_need need, char out[21],
	struct err *e)
{
	const struct json *j = NULL;
	struct view v;
	struct str digits = STR_INIT(20);
	int rc = find(obj, name, need, &j, e);

	if (rc != 1)
		return rc;
	if (json_type(j) == JSON_NUMBER)
		v = json_add_value(&digits, j, 0) == 0 ? str_view(&digits) : VIEW_NONE;
	else if (json_str(j, &v) < 0)
		v = VIEW_NONE;
	if (!is_id(v)) {
		rc = err_set(e, E_FORMAT, "%s is not an id of 1 to 20 digits", name);
	} else {
		while (v.n > 1 && v.p[0] == '0')
			v = view_from(v, 1);
		(void)copy_z(out, 21, v);
	}
	str_release(&digits);
	return rc;
}

int json_get_double(const struct json *obj, const char *name, enum json_need need, double *out,
	struct err *e)
{
	const struct json *j = NULL;
	int rc = find_type(obj, name, need, JSON_NUMBER, &j, e);

	if (rc != 1)
		return rc;
	if (is_marked(node_of(j)))
		*out = strtod(node_of(j)->valuestring + 1, NULL);
	else
		*out = node_of(j)->valuedouble;
	return 1;
}

int json_get_bool(const struct json *obj, const char *name, enum json_need need, bool *out,
	struct err *e)
{
	const struct json *j = NULL;
	int rc = find_type(obj, name, need, JSON_BOOL, &j, e);

	if (rc == 1)
		*out = cJSON_IsTrue(node_of(j));
	return rc;
}

int json_get_object(const struct json *obj, const char *name, enum json_need need,
	const struct json **out, struct err *e)
{
	const struct json *j = NULL;
	int rc = find_type(obj, name, need, JSON_OBJECT, &j, e);

	if (rc == 1)
		*out = j;
	return rc;
}

int json_get_array(const struct json *obj, const char *name, enum json_need need, size_t max_items,
	const struct json **out, struct err *e)
{
	const struct json *j = NULL;
	int rc = find_type(obj, name, need, JSON_ARRAY, &j, e);

	if (rc != 1)
		return rc;
	if (json_count(j) > max_items)
		return err_set(e, E_FORMAT, "%s has %zu items, at most %zu are accepted", name,
			json_count(j), max_items);
	*out = j;
	return 1;
}

int json_get_enum(const struct json *obj, const char *name, enum json_need need,
	const char *const *names, int *out, struct err *e)
{
	const struct json *j = NULL;
	struct view v = VIEW_NONE;
	int rc = find_type(obj, name, need, JSON_STRING, &j, e);

	if (rc != 1)
		return rc;
	(void)json_str(j, &v);
	for (int i = 0; names[i]; i++) {
		if (view_eqs(v, names[i])) {
			*out = i;
			return 1;
		}
	}
	v = view_cut(v, utf8_cut(v, 40));
	return err_set(e, E_FORMAT, "%s has the unknown value \"%.*s\"", name, VIEW_FMT(v));
}

/* --- Printing -------------------------------------------------------------------------------- */

static int add_scalar(struct str *s, const struct json *j)
{
	const cJSON *node = node_of(j);

	switch (json_type(j)) {
	case JSON_BOOL: return str_adds(s, cJSON_IsTrue(node) ? "true" : "false");
	case JSON_STRING: return json_add_string(s, view_of(node->valuestring));
	case JSON_NUMBER:
		if (is_marked(node))
			return str_adds(s, node->valuestring + 1);
		return str_addf(s, "%lld", (long long)node->valuedouble);
	default: return str_adds(s, "null");
	}
}

static int add_head(struct str *s, const struct json *j)
{
	const char *name = json_name(j);

	if (!name)
		return 0;
	return json_add_string(s, view_of(name)) < 0 ? -1 : str_addc(s, ':');
}

static char bracket(const struct json *j, bool open)
{
	if (json_type(j) == JSON_OBJECT)
		return open ? '{' : '}';
	return open ? '[' : ']';
}

int json_add_value(struct str *s, const struct json *root, int max_depth)
{
	const struct json *above[JSON_DEPTH_MAX], *j = root;
	int depth = 0;

	for (;;) {
		bool nested = json_type(j) == JSON_ARRAY || json_type(j) == JSON_OBJECT;

		if (j != root && add_head(s, j) < 0)
			return -1;
		if (nested && depth >= (max_depth < JSON_DEPTH_MAX ? max_depth : JSON_DEPTH_MAX))
			return -1;
		if ((nested ? str_addc(s, bracket(j, true)) : add_scalar(s, j)) < 0)
			return -1;
		if (json_first(j)) {
			above[depth++] = j;
			j = json_first(j);
			continue;
		}
		if (nested)
			str_addc(s, bracket(j, false));
		while (depth > 0 && !json_next(j)) {
			j = above[--depth];
			str_addc(s, bracket(j, false));
		}
		if (depth == 0)
			return str_ok(s) ? 0 : -1;
		str_addc(s, ',');
		j = json_next(j);
	}
}

int json_print(const struct json *j, struct str *out, struct err *e)
{
	if (json_add_value(out, j, JSON_DEPTH_MAX) == 0)
		return 0;
	return err_set(e, str_ok(out) ? E_FORMAT : E_NOMEM, "JSON: it does not fit in %zu bytes",
		out->max);
}
