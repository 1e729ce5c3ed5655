#include "tools/host/consent.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "tools/host/registry.h"

static int by_name(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return strcmp(json_name(*x), json_name(*y));
}

static int put_canonical(struct json_out *w, const char *name, const struct json *j, struct err *e);

static int put_sorted(struct json_out *w, const struct json *object, struct err *e)
{
	size_t n = json_count(object), i = 0;
	const struct json **members = calloc(n + 1, sizeof(const struct json *));
	int rc = 0;

	if (!members)
		return err_set(e, E_NOMEM, "a fingerprint");
	json_each(member, object)
		members[i++] = member;
	qsort(members, n, sizeof(const struct json *), by_name);
	for (i = 0; rc == 0 && i < n; i++)
		rc = put_canonical(w, json_name(members[i]), members[i], e);
	free(members);
	return rc;
}

static int put_canonical(struct json_out *w, const char *name, const struct json *j, struct err *e)
{
	int rc = 0;

	switch (json_type(j)) {
	case JSON_OBJECT:
		json_open(w, name);
		rc = put_sorted(w, j, e);
		json_close(w);
		break;
	case JSON_ARRAY:
		json_open_array(w, name);
		for (const struct json *it = json_first(j); it && rc == 0; it = json_next(it))
			rc = put_canonical(w, NULL, it, e);
		json_close_array(w);
		break;
	default: json_put_json(w, name, j); break;
	}
	return rc;
}

static int digest(struct view v, char hex[CONSENT_HEX], struct err *e)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(v.p, v.n, md, &n, EVP_sha256(), NULL) != 1 || 2 * n != CONSENT_HEX - 1)
		return err_set(e, E_IO, "SHA-256 is not to be had");
	for (unsigned i = 0; i < n; i++) {
		*hex++ = digits[md[i] >> 4];
		*hex++ = digits[md[i] & 15];
	}
	*hex = '\0';
	return 0;
}

int consent_fingerprint(const char *tool, const char *folder, const struct json *args,
	char hex[CONSENT_HEX], struct err *e)
{
	struct str text = STR_INIT(8 * TOOL_ARGS_MAX);
	struct json_out w;
	int rc = -1;

	json_out_begin(&w, &text);
	json_open_array(&w, NULL);
	json_put_z(&w, NULL, tool);
	json_put_z(&w, NULL, folder);
	if (put_canonical(&w, NULL, args, e) < 0)
		goto out;
	json_close_array(&w);
	if (json_out_end(&w, e) == 0)
		rc = digest(str_view(&text), hex, e);
out:
	str_release(&text);
	return rc;
}
