/* Writing: standard JSON comes out, or an error. */
#include "base/json-private.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_DEPTH_MAX 32

static int add_escape(struct str *s, unsigned char c)
{
	switch (c) {
	case '"': return str_adds(s, "\\\"");
	case '\\': return str_adds(s, "\\\\");
	case '\b': return str_adds(s, "\\b");
	case '\f': return str_adds(s, "\\f");
	case '\n': return str_adds(s, "\\n");
	case '\r': return str_adds(s, "\\r");
	case '\t': return str_adds(s, "\\t");
	case '\0': return -1;
	default: return str_addf(s, "\\u%04x", c);
	}
}

int json_add_string(struct str *s, struct view v)
{
	bool ascii;

	str_addc(s, '"');
	while (v.n > 0) {
		struct view plain = view_cut(v, json_plain_span(v, &ascii));

		if (!ascii && !utf8_valid(plain))
			return -1;
		str_add(s, plain);
		v = view_from(v, plain.n);
		if (v.n > 0) {
			if (add_escape(s, (unsigned char)v.p[0]) < 0)
				return -1;
			v = view_from(v, 1);
		}
	}
	return str_addc(s, '"');
}

/* --- The order of calls ---------------------------------------------------------------------- */

void json_out_begin(struct json_out *w, struct str *s)
{
	*w = (struct json_out){ .s = s };
}

int json_out_end(struct json_out *w, struct err *e)
{
	if (!str_ok(w->s))
		return err_set(e, E_NOMEM, "JSON: it does not fit in %zu bytes", w->s->max);
	if (w->failed)
		return err_set(e, E_FORMAT, "JSON: what was to be written is not JSON");
	if (!w->done)
		return err_set(e, E_FORMAT, "JSON: the value was not finished");
	return 0;
}

void json_out_fail(struct json_out *w)
{
	w->failed = true;
}

/* What stands before a value: comma and name. False: writing has failed. */
static bool begin_value(struct json_out *w, const char *name)
{
	uint64_t level = w->depth > 0 ? (uint64_t)1 << (w->depth - 1) : 0;
	bool in_object = w->is_object & level;

	if (w->failed || w->done || in_object != (name != NULL)) {
		w->failed = true;
		return false;
	}
	if (w->has_item & level)
		str_addc(w->s, ',');
	w->has_item |= level;
	if (name && (json_add_string(w->s, view_of(name)) < 0 || str_addc(w->s, ':') < 0))
		w->failed = true;
	return !w->failed;
}

static void end_value(struct json_out *w, int rc)
{
	if (rc < 0)
		w->failed = true;
	w->done = w->depth == 0;
}

static void open_level(struct json_out *w, const char *name, bool object)
{
	if (!begin_value(w, name))
		return;
	if (w->depth == OUT_DEPTH_MAX) {
		w->failed = true;
		return;
	}

	uint64_t level = (uint64_t)1 << w->depth++;

	w->has_item &= ~level;
	w->is_object = object ? w->is_object | level : w->is_object & ~level;
	str_addc(w->s, object ? '{' : '[');
}

static void close_level(struct json_out *w, bool object)
{
	bool in_object = w->depth > 0 && (w->is_object >> (w->depth - 1) & 1);

	if (w->failed || w->depth == 0 || in_object != object) {
		w->failed = true;
		return;
	}
	w->depth--;
	end_value(w, str_addc(w->s, object ? '}' : ']'));
}

void json_open(struct json_out *w, const char *name)
{
	open_level(w, name, true);
}

void json_close(struct json_out *w)
{
	close_level(w, true);
}

void json_open_array(struct json_out *w, const char *name)
{
	open_level(w, name, false);
}

void json_close_array(struct json_out *w)
{
	close_level(w, false);
}

/* --- Values ---------------------------------------------------------------------------------- */

void json_put_str(struct json_out *w, const char *name, struct view v)
{
	if (begin_value(w, name))
		end_value(w, json_add_string(w->s, v));
}

void json_put_z(struct json_out *w, const char *name, const char *z)
{
	if (z)
		json_put_str(w, name, view_of(z));
	else
		json_put_null(w, name);
}

void json_put_int(struct json_out *w, const char *name, int64_t v)
{
	if (begin_value(w, name))
		end_value(w, str_addf(w->s, "%lld", (long long)v));
}

void json_put_u64(struct json_out *w, const char *name, uint64_t v)
{
	if (begin_value(w, name))
		end_value(w, str_addf(w->s, "%llu", (unsigned long long)v));
}

/* The shortest of the forms that reads back as the same number. */
static int add_double(struct str *s, double v)
{
	char z[40];

	if (!isfinite(v))
		return -1;
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(z, sizeof(z), "%.*g", digits, v);
		if (digits == 17 || strtod(z, NULL) == v)
			break;
	}
	return str_adds(s, z);
}

void json_put_double(struct json_out *w, const char *name, double v)
{
	if (begin_value(w, name))
		end_value(w, add_double(w->s, v));
}

void json_put_bool(struct json_out *w, const char *name, bool v)
{
	if (begin_value(w, name))
		end_value(w, str_adds(w->s, v ? "true" : "false"));
}

void json_put_null(struct json_out *w, const char *name)
{
	if (begin_value(w, name))
		end_value(w, str_adds(w->s, "null"));
}

void json_put_json(struct json_out *w, const char *name, const struct json *j)
{
	if (begin_value(w, name))
		end_value(w, json_add_value(w->s, j, OUT_DEPTH_MAX - w->depth));
}

/* White space between tokens goes: where lines frame messages, a value must stay one line. */
static int add_compact(struct str *s, struct view raw)
{
	bool in_string = false;
	size_t from = 0;

	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
			str_add(s, (struct view){ raw.p + from, i - from });
			from = i + 1;
		}
	}
	return str_add(s, view_from(raw, from));
}

void json_put_raw(struct json_out *w, const char *name, struct view raw)
{
	struct json_limits lim = json_limits_wire;

	if (!begin_value(w, name))
		return;
	lim.bytes = w->s->max;
	lim.depth = OUT_DEPTH_MAX - w->depth;
	end_value(w, json_check(raw, &lim, NULL) < 0 ? -1 : add_compact(w->s, raw));
}
