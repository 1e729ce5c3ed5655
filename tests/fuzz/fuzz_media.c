/* channel/ilink: a key in any form, a file's bytes in any pieces, an address to upload to. The
 * first byte says which, the second one how the bytes are cut. */
#include "fuzz.h"

#include "channel/ilink/crypt.h"
#include "channel/ilink/wire.h"

#include <string.h>

static void read_key(struct view in)
{
	struct media_key k, again;
	char text[MEDIA_KEY_TEXT_SIZE], hex[MEDIA_KEY_HEX_SIZE];
	struct err e = ERR_INIT;
	int rc = media_key_read(&k, in, &e);

	must(rc == 1 || (rc == 0 && in.n == 0) || (rc == -1 && e.code == E_FORMAT));
	if (rc != 1)
		return;
	/* What we would write of it reads as the same key. */
	media_key_text(&k, text);
	must(media_key_read(&again, view_of(text), NULL) == 1);
	must(memcmp(&k, &again, sizeof(k)) == 0);
	media_key_hex(&k, hex);
	must(media_key_read(&again, view_of(hex), NULL) == 1);
	must(memcmp(&k, &again, sizeof(k)) == 0);
}

static int decrypt(struct view in, size_t step, struct str *out)
{
	static const struct media_key key = { "0123456789abcde" };
	struct crypt *c = NULL;
	struct view v = VIEW_NONE;
	int rc;

	must(crypt_open(&c, &key, false, NULL) == 0);
	for (; in.n; in = view_from(in, step)) {
		must(crypt_feed(c, view_cut(in, step), &v, NULL) == 0);
		must(str_add(out, v) == 0);
	}
	rc = crypt_end(c, &v, NULL);
	if (rc == 0)
		must(str_add(out, v) == 0);
	crypt_close(&c);
	return rc;
}

static void read_file(struct view in, size_t step)
{
	struct str whole = STR_INIT((size_t)1 << 20), cut = STR_INIT((size_t)1 << 20);
	int rc = decrypt(in, CRYPT_PIECE, &whole);

	must(rc == decrypt(in, step, &cut));
	must(view_eq(str_view(&whole), str_view(&cut)));
	must(rc < 0 || (size_t)crypt_size((int64_t)whole.n) == in.n);
	str_release(&whole);
	str_release(&cut);
}

static void read_grant(struct view in)
{
	struct wire_grant g;

	if (wire_read_grant(in, &g, NULL) < 0)
		return;
	must(strlen(g.full_url) <= WIRE_PARAM_MAX && strlen(g.param) <= WIRE_PARAM_MAX);
	must(!g.full_url[0] || wire_is_opaque(view_of(g.full_url)));
	must(!g.param[0] || wire_is_opaque(view_of(g.param)));
	must(g.code.code == 0 || (!g.full_url[0] && !g.param[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };

	if (size < 2 || size > (size_t)1 << 19)
		return 0;
	in = view_from(in, 2);
	if (data[0] == 'k')
		read_key(in);
	else if (data[0] == 'f')
		read_file(in, (size_t)data[1] + 1);
	else if (data[0] == 'u')
		read_grant(in);
	return 0;
}
