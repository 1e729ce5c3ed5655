#include "agent/acp/acp-private.h"

#include <string.h>

#define URI_MAX ((size_t)3 * PATH_SIZE + 16)

static bool stands_alone(const struct acp *a)
{
	return view_starts(str_view(&a->text), VIEW("/"));
}

static bool takes_pictures(const struct acp *a)
{
	return link_caps(a->link)->image;
}

/* --- Loading ---------------------------------------------------------------------------------- */

static void enclosed_on_loaded(void *arg)
{
	struct acp *a = arg;

	/* Else the agent has gone meanwhile, or the loop ends the turn. */
	if (a->state == ACP_LOOKING && !a->cancelled)
		a->reached(a, PICTURES_LOADED);
}

bool enclosed_wait(struct acp *a)
{
	if (!takes_pictures(a) || stands_alone(a) || pictures_loaded(a->enclosed))
		return false;
	acp_step(a, ACP_LOOKING);
	pictures_load(a->enclosed, enclosed_on_loaded, a);
	return true;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* RFC 8089; all that is not unreserved (RFC 3986, 2.3) is encoded, but for slashes. */
static void put_uri(struct acp *a, struct json_out *w, const char *path)
{
	struct str uri = STR_INIT(URI_MAX);

	(void)str_adds(&uri, "file://");
	if (path[0] != '/')
		(void)str_addf(&uri, "%s/", a->workspace);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			strchr("-._~/", c))
			(void)str_addc(&uri, (char)c);
		else
			(void)str_addf(&uri, "%%%02X", c);
	}
	if (!str_ok(&uri))
		json_out_fail(w);
	json_put_str(w, "uri", str_view(&uri));
	str_release(&uri);
}

static void put_picture(struct acp *a, struct json_out *w, const struct enclosed *e)
{
	json_open(w, NULL);
	json_put_z(w, "type", "image");
	json_put_str(w, "mimeType", e->bytes.type);
	json_put_str(w, "data", e->bytes.base64);
	put_uri(a, w, e->path);
	json_close(w);
}

static void put_link(struct acp *a, struct json_out *w, const struct enclosed *e)
{
	json_open(w, NULL);
	json_put_z(w, "type", "resource_link");
	put_uri(a, w, e->path);
	json_put_z(w, "name", e->name);
	if (e->type[0])
		json_put_z(w, "mimeType", e->type);
	if (e->size >= 0)
		json_put_int(w, "size", e->size);
	json_close(w);
}

static void put_words(const struct acp *a, struct json_out *w)
{
	struct str text = STR_INIT(ENGINE_INPUT_MAX);

	pictures_tell(a->enclosed, NULL, &text);
	if (!str_ok(&text))
		json_out_fail(w);
	json_open(w, NULL);
	json_put_z(w, "type", "text");
	json_put_str(w, "text", str_view(&text));
	json_close(w);
	str_release(&text);
}

void enclosed_put(struct acp *a, struct json_out *w)
{
	const struct enclosed *e;

	if (stands_alone(a))
		return;
	if (takes_pictures(a) && pictures_any(a->enclosed))
		put_words(a, w);
	for (size_t i = 0; (e = pictures_at(a->enclosed, i)); i++) {
		if (e->shown)
			put_picture(a, w, e);
		else
			put_link(a, w, e);
	}
}
