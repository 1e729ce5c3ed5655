#include "media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/text.h"
#include "blob.h"

#define LABEL_MAX 2000 /* bytes of a transcript that the page shows */

enum { MEDIA_IMAGE = 1, MEDIA_VIDEO, MEDIA_FILE, MEDIA_VOICE }; /* media_type of an upload */
enum { ITEM_IMAGE = 2, ITEM_VOICE, ITEM_FILE, ITEM_VIDEO };     /* type of an item */

/* --- What a bot sends ------------------------------------------------------------------------- */
static const struct kind {
	const char *name, *member, *label;
	int item, media_type;
} kinds[] = {
	{ "image", "image_item", "[图片]", ITEM_IMAGE, MEDIA_IMAGE },
	{ "voice", "voice_item", "[语音]", ITEM_VOICE, MEDIA_VOICE },
	{ "file", "file_item", "[文件]", ITEM_FILE, MEDIA_FILE },
	{ "video", "video_item", "[视频]", ITEM_VIDEO, MEDIA_VIDEO },
};

static const struct kind *kind_of_item(int64_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].item == type)
			return &kinds[i];
	return NULL;
}

/* base64 of the key's 32 hex digits, and of nothing else. */
static bool key_opens(struct view text, const struct blob *b)
{
	struct str hex = STR_INIT(256);
	unsigned char key[16];
	bool ok = base64_decode(text, &hex) == 0 && hex_to_key(str_view(&hex), key) == 0 &&
	          memcmp(key, b->key, 16) == 0;

	str_release(&hex);
	return ok;
}

static bool size_right(struct call *c, const struct json *obj, int64_t type, const struct blob *b)
{
	struct view len;
	unsigned long long n;

	if (type != ITEM_FILE)
		return check_int(c, obj, type == ITEM_IMAGE ? "mid_size" : "video_size", -1) ==
		       b->size;
	len = check_str(c, obj, "len");
	return parse_u64(len, &n) == 0 && n == (unsigned long long)b->raw_size;
}

static void check_extras(struct call *c, const struct json *item, const struct json *obj,
	const struct json *m)
{
	if (json_member(item, "create_time_ms") || json_member(item, "is_completed") ||
		json_member(obj, "aeskey") || json_member(m, "full_url"))
		note(c, "media_extra", "members that a bot's media does not carry");
	if (opt_int(m, "encrypt_type", -1) != 1)
		violation(c, "media_type", "encrypt_type is not 1");
}

static void put_name(struct blob *b, struct view name)
{
	(void)copy_z(b->name, sizeof(b->name), view_cut(name, utf8_cut(name, sizeof(b->name) - 1)));
}

int media_accept(struct call *c, const struct json *item, struct delivery *d, const char **errmsg)
{
	int64_t type = opt_int(item, "type", 0);
	const struct kind *k = kind_of_item(type);
	const struct json *obj = k ? json_member(item, k->member) : NULL;
	const struct json *m = json_member(obj, "media");
	const char *state = "opens";
	struct blob *b;

	*errmsg = "prepare failed";
	if (!k)
		return -1;
	if (!m || json_type(m) != JSON_OBJECT) {
		violation(c, "missing_field", "%s.media is missing", k->member);
		return -1;
	}
	b = blob_by_param(c->sim->blobs, check_str(c, m, "encrypt_query_param"));
	if (!b || !b->stored)
		return -1;
	check_extras(c, item, obj, m);
	if (b->media_type != k->media_type) {
		violation(c, "media_type", "uploaded as %lld, sent as an %s",
			(long long)b->media_type, k->member);
		state = "wrong type";
	}
	if (!size_right(c, obj, type, b)) {
		violation(c, "media_size", "%s has a wrong size, or none", k->member);
		state = "wrong size";
	}
	if (!key_opens(check_str(c, m, "aes_key"), b)) {
		violation(c, "media_key", "aes_key is not base64 of the key's hex text");
		state = "wrong key";
	}
	put_name(b, opt_str(obj, "file_name", k->name));
	b->kind = k->name;
	d->media = b->id;
	snprintf(d->media_state, sizeof(d->media_state), "%s", state);
	return 0;
}

struct view media_label(struct sim *s, uint64_t id)
{
	const struct blob *b = blob_by_id(s->blobs, id);

	for (size_t i = 0; b && b->kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, b->kind))
			return view_of(kinds[i].label);
	return VIEW_NONE;
}

void media_json(struct sim *s, uint64_t id, struct json_out *w)
{
	const struct blob *b = blob_by_id(s->blobs, id);

	if (!b)
		return;
	json_open(w, "file");
	json_put_u64(w, "id", id);
	json_put_z(w, "kind", b->kind);
	json_put_z(w, "name", b->name);
	json_put_z(w, "type", b->type);
	json_put_int(w, "size", b->raw_size);
	json_put_z(w, "sha256", b->sha256);
	json_close(w);
}

/* --- What a person sends ---------------------------------------------------------------------- */
/* What {"size": N} makes: no two neighbouring blocks alike, and nothing that compresses away. */
static int put_pattern(struct str *out, size_t size)
{
	char block[65536];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 + (i >> 8));
	if (str_reserve(out, size) < 0)
		return -1;
	while (out->n < size)
		(void)str_add(out, view_cut((struct view){ block, sizeof(block) }, size - out->n));
	return 0;
}

static int read_bytes(const struct json *spec, struct str *plain, struct err *e)
{
	int64_t size = opt_int(spec, "size", -1);
	struct view text = opt_str(spec, "text", NULL);

	if (text.p)
		return str_add(plain, text);
	if (size < 0)
		return opt_bytes(spec, "data", plain, e) < 0 ? -1 : 0;
	if ((uint64_t)size >= BLOB_MAX)
		return err_set(e, E_FORMAT, "media: size over 128 MiB");
	return put_pattern(plain, (size_t)size) < 0 ? err_set(e, E_NOMEM, "media: too large") : 0;
}

enum key_form { KEY_HEX, KEY_RAW, KEY_AESKEY, KEY_NONE };

static void put_key(struct json_out *w, const struct json *spec, const struct blob *b,
	enum key_form form)
{
	struct view literal = opt_str(spec, "aes_key", NULL);
	struct str s = STR_INIT(128);
	char hex[33];

	key_to_hex(b->key, hex);
	if (form == KEY_RAW)
		base64_encode((struct view){ (const char *)b->key, 16 }, &s);
	else
		base64_encode(view_of(hex), &s);
	if (literal.p || form == KEY_HEX || form == KEY_RAW)
		json_put_str(w, "aes_key", literal.p ? literal : str_view(&s));
	str_release(&s);
}

static void put_media(struct sim *s, struct json_out *w, const struct json *spec,
	const struct blob *b, enum key_form form)
{
	struct view url = opt_str(spec, "full_url", NULL);
	struct str ours = STR_INIT(1024);

	json_open(w, "media");
	json_put_z(w, "encrypt_query_param", b->param);
	put_key(w, spec, b, form);
	json_put_int(w, "encrypt_type", 1);
	str_addf(&ours, "%s/download?encrypted_query_param=%s&taskid=%llu", s->cdn_url, b->param,
		(unsigned long long)b->id);
	if (!opt_bool(spec, "no_full_url", false))
		json_put_str(w, "full_url", url.p ? url : str_view(&ours));
	json_close(w);
	str_release(&ours);
}

static void put_details(struct json_out *w, const struct json *spec, const struct kind *k,
	const struct blob *b, enum key_form form)
{
	int64_t raw = opt_int(spec, "claim", b->raw_size), size = opt_int(spec, "claim", b->size);
	char text[33];

	switch (k->item) {
	case ITEM_IMAGE:
		if (form == KEY_AESKEY) {
			key_to_hex(b->key, text);
			json_put_z(w, "aeskey", text);
		}
		json_put_int(w, "mid_size", size);
		break;
	case ITEM_VOICE:
		json_put_int(w, "encode_type", opt_int(spec, "encode_type", 4));
		json_put_int(w, "bits_per_sample", 16);
		json_put_int(w, "sample_rate", 16000);
		json_put_int(w, "playtime", opt_int(spec, "playtime", 2380));
		if (opt_str(spec, "transcript", NULL).p)
			json_put_str(w, "text", opt_str(spec, "transcript", NULL));
		break;
	case ITEM_FILE:
		snprintf(text, sizeof(text), "%lld", (long long)raw);
		json_put_str(w, "file_name", opt_str(spec, "name", "file.bin"));
		json_put_z(w, "md5", b->md5);
		json_put_z(w, "len", text);
		break;
	default:
		json_put_int(w, "video_size", size);
		json_put_int(w, "play_length", 3);
		json_put_z(w, "video_md5", b->md5);
	}
}

static int put_items(struct sim *s, const struct json *spec, const struct kind *k,
	const struct blob *b, enum key_form form, struct str *items, struct err *e)
{
	char id[24];
	struct json_out w;

	snprintf(id, sizeof(id), "%llu", (unsigned long long)world_id(s));
	json_out_begin(&w, items);
	json_open_array(&w, NULL);
	json_open(&w, NULL);
	json_put_int(&w, "type", k->item);
	json_put_z(&w, "msg_id", id);
	json_put_int(&w, "create_time_ms", sim_now(s));
	json_put_bool(&w, "is_completed", true);
	json_open(&w, k->member);
	put_media(s, &w, spec, b, form);
	put_details(&w, spec, k, b, form);
	json_close(&w);
	json_close(&w);
	json_close_array(&w);
	return json_out_end(&w, e);
}

int media_inbound(struct sim *s, const struct json *spec, struct str *items, struct str *label,
	uint64_t *blob, struct err *e)
{
	static const char *const names[] = { "image", "voice", "file", "video", NULL };
	static const char *const forms[] = { "hex", "raw", "aeskey", "none", NULL };
	struct str plain = STR_INIT(BLOB_MAX);
	int which = 2, form = KEY_HEX, rc = -1;
	const struct kind *k;
	struct view more;
	struct blob *b;

	if (json_get_enum(spec, "kind", JSON_OPTIONAL, names, &which, e) < 0 ||
		json_get_enum(spec, "key_form", JSON_OPTIONAL, forms, &form, e) < 0 ||
		read_bytes(spec, &plain, e) < 0)
		goto out;
	k = &kinds[which];
	b = blob_new(s->blobs);
	if (!b || blob_fill(s->blobs, b, str_view(&plain), form != KEY_NONE) < 0) {
		err_set(e, E_NOMEM, "media: too large");
		goto out;
	}
	put_name(b, opt_str(spec, "name", k->name));
	b->kind = k->name;
	*blob = b->id;
	more = k->item == ITEM_FILE ? view_of(b->name) : opt_str(spec, "transcript", NULL);
	str_addf(label, "%s%s", k->label, more.n ? " " : "");
	str_add(label, view_cut(more, utf8_cut(more, LABEL_MAX)));
	rc = put_items(s, spec, k, b, (enum key_form)form, items, e);
out:
	str_release(&plain);
	return rc;
}
