#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

char *dup_view(struct view v)
{
	char *p = malloc(v.n + 1);

	if (!p)
		return NULL;
	if (v.n)
		memcpy(p, v.p, v.n);
	p[v.n] = '\0';
	return p;
}

void plain_ascii(char *s)
{
	for (; s && *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

bool all_of(struct view v, const char *set)
{
	for (size_t i = 0; i < v.n; i++)
		if (!v.p[i] || !strchr(set, v.p[i]))
			return false;
	return true;
}

struct view find_bytes(struct view hay, struct view needle)
{
	const char *p = needle.n && hay.n ? memmem(hay.p, hay.n, needle.p, needle.n) : NULL;

	return p ? (struct view){ p, needle.n } : VIEW_NONE;
}

int replace_bytes(struct str *s, struct view from, struct view to)
{
	struct str out = STR_INIT(s->max);
	struct view rest = str_view(s), at;

	while ((at = find_bytes(rest, from)).p) {
		size_t before = (size_t)(at.p - rest.p);

		str_add(&out, view_cut(rest, before));
		str_add(&out, to);
		rest = view_from(rest, before + from.n);
	}
	str_add(&out, rest);
	if (!str_ok(&out)) {
		str_release(&out);
		return -1;
	}
	str_release(s);
	*s = out;
	return 0;
}

struct view opt_str(const struct json *j, const char *name, const char *otherwise)
{
	struct view v = view_of(otherwise);

	(void)json_get_str(j, name, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, NULL);
	return v;
}

int64_t opt_int(const struct json *j, const char *name, int64_t otherwise)
{
	(void)json_get_int(j, name, JSON_OPTIONAL, INT64_MIN, INT64_MAX, &otherwise, NULL);
	return otherwise;
}

bool opt_bool(const struct json *j, const char *name, bool otherwise)
{
	(void)json_get_bool(j, name, JSON_OPTIONAL, &otherwise, NULL);
	return otherwise;
}

int opt_bytes(const struct json *j, const char *name, struct str *out, struct err *e)
{
	struct view v = VIEW_NONE;
	char b64[64];
	int rc = json_get_str(j, name, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, e);

	if (rc < 0)
		return -1;
	if (rc == 1)
		return str_add(out, v) < 0 ? err_set(e, E_NOMEM, "%s: too long", name) : 1;
	snprintf(b64, sizeof(b64), "%s_b64", name);
	rc = json_get_str(j, b64, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, e);
	if (rc <= 0)
		return rc;
	return base64_decode(v, out) < 0 ? err_set(e, E_FORMAT, "%s: not base64", b64) : 1;
}
