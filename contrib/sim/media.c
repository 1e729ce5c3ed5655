#include "media.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ilink.h"

#define BLOBS_MAX  128
#define BLOBS_KEEP ((size_t)256 << 20)
#define HEX_SET    "0123456789abcdefABCDEF"

enum { MEDIA_IMAGE = 1, MEDIA_VIDEO, MEDIA_FILE, MEDIA_VOICE }; /* media_type of an upload */
enum { ITEM_IMAGE = 2, ITEM_VOICE, ITEM_FILE, ITEM_VIDEO };     /* type of an item */

struct blob {
	struct blob *next; /* newest first */
	uint64_t id;
	char param[49]; /* what finds it */
	char filekey[33];
	unsigned char key[16];
	bool plain, stored; /* not encrypted; uploaded (or ours from the start) */
	int64_t media_type, raw_size, size;
	char md5[33], name[256];
	struct str bytes; /* as they lie on the CDN */
};

struct media {
	struct blob *first;
	size_t n, held;
	uint64_t last_id;
	unsigned uploads; /* header case goes by turns */
};

int media_open(struct media **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "out of memory");
}

static void blob_free(struct media *m, struct blob *b)
{
	m->held -= b->bytes.n;
	m->n--;
	str_release(&b->bytes);
	free(b);
}

void media_close(struct media **mp)
{
	struct media *m = *mp;

	*mp = NULL;
	while (m && m->first) {
		struct blob *b = m->first;

		m->first = b->next;
		blob_free(m, b);
	}
	free(m);
}

static void forget_oldest(struct media *m)
{
	struct blob **p = &m->first;

	while (*p && (*p)->next)
		p = &(*p)->next;
	if (*p) {
		struct blob *b = *p;

		*p = NULL;
		blob_free(m, b);
	}
}

static struct blob *blob_new(struct media *m)
{
	struct blob *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	while (m->n >= BLOBS_MAX || m->held > BLOBS_KEEP)
		forget_oldest(m);
	b->bytes = (struct str)STR_INIT(SIM_BODY_MAX + 64);
	b->id = ++m->last_id;
	rand_hex(b->param, 24);
	b->next = m->first;
	m->first = b;
	m->n++;
	return b;
}

static struct blob *blob_by_param(struct media *m, struct view param)
{
	for (struct blob *b = m->first; b; b = b->next)
		if (view_eqs(param, b->param))
			return b;
	return NULL;
}

/* --- AES-128-ECB with PKCS#7, MD5 ------------------------------------------------------------- */
static int aes(bool encrypt, bool padding, const unsigned char key[16], struct view in,
	struct str *out)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, last = 0, rc = -1;
	unsigned char *to;

	if (!ctx || in.n > SIM_BODY_MAX || str_reserve(out, in.n + 32) < 0)
		goto out;
	to = (unsigned char *)out->p + out->n;
	if (EVP_CipherInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL, encrypt) != 1 ||
		EVP_CIPHER_CTX_set_padding(ctx, padding) != 1 ||
		EVP_CipherUpdate(ctx, to, &n, (const unsigned char *)in.p, (int)in.n) != 1 ||
		EVP_CipherFinal_ex(ctx, to + n, &last) != 1)
		goto out;
	str_grew(out, (size_t)n + (size_t)last);
	rc = 0;
out:
	EVP_CIPHER_CTX_free(ctx);
	return rc;
}

static void md5_hex(struct view v, char out[33])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	EVP_Digest(v.n ? v.p : "", v.n, sum, &n, EVP_md5(), NULL);
	for (size_t i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

static int hex_to_key(struct view hex, unsigned char key[16])
{
	if (hex.n != 32 || !all_of(hex, HEX_SET))
		return -1;
	for (size_t i = 0; i < 16; i++) {
		char pair[3] = { hex.p[2 * i], hex.p[2 * i + 1], '\0' };

		key[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return 0;
}

static void key_to_hex(const unsigned char key[16], char out[33])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", key[i]);
}

static int64_t padded(int64_t n)
{
	return (n / 16 + 1) * 16;
}

static int blob_plain(const struct blob *b, struct str *out)
{
	if (b->plain)
		return str_add(out, str_view(&b->bytes));
	return aes(false, true, b->key, str_view(&b->bytes), out);
}

/* --- getuploadurl ----------------------------------------------------------------------------- */
static bool field(struct call *c, bool ok, const char *what)
{
	if (!ok)
		violation(c, "upload_fields", "%s", what);
	return ok;
}

static bool read_grant(struct call *c, struct blob *b)
{
	struct view filekey = check_str(c, c->body, "filekey"),
		    aeskey = check_str(c, c->body, "aeskey");
	struct view md5 = check_str(c, c->body, "rawfilemd5");
	bool ok;

	(void)check_str(c, c->body, "to_user_id");
	b->media_type = check_int(c, c->body, "media_type", 0);
	b->raw_size = check_int(c, c->body, "rawsize", -1);
	b->size = check_int(c, c->body, "filesize", -1);
	if (!opt_bool(c->body, "no_need_thumb", false))
		field(c, false, "no_need_thumb is not true");
	ok = field(c, filekey.n == 32 && all_of(filekey, HEX_SET), "filekey is not 32 hex digits");
	ok &= field(c, hex_to_key(aeskey, b->key) == 0, "aeskey is not 32 hex digits");
	ok &= field(c, md5.n == 32 && all_of(md5, HEX_SET), "rawfilemd5 is not 32 hex digits");
	ok &= field(c, b->media_type >= MEDIA_IMAGE && b->media_type <= MEDIA_VOICE,
		"media_type is not 1 to 4");
	ok &= field(c,
		b->raw_size >= 0 && b->raw_size <= INT64_MAX / 2 && b->size == padded(b->raw_size),
		"filesize is not the padded rawsize");
	if (ok) {
		(void)copy_z(b->filekey, sizeof(b->filekey), filekey);
		(void)copy_z(b->md5, sizeof(b->md5), md5);
	}
	return ok;
}

static void answer_grant(struct call *c, const struct blob *b)
{
	struct str url = STR_INIT(4096);
	struct json_out w;

	str_addf(&url, "%s/upload?encrypted_query_param=%s&filekey=%s&taskid=%llu", c->sim->cdn_url,
		b->param, b->filekey, (unsigned long long)b->id);
	if (fault_is(c->fault, F_FOREIGN_URL)) {
		str_reset(&url);
		str_adds(&url, c->fault->name ? c->fault->name : "https://evil.example/upload");
	}
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, "ret", 0);
	if (!fault_is(c->fault, F_NO_FULL_URL))
		json_put_str(&w, "upload_full_url", str_view(&url));
	json_put_z(&w, "upload_param", b->param);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	str_release(&url);
	call_answer(c);
}

void getuploadurl(struct call *c)
{
	bool token = json_member(c->body, "context_token") != NULL;
	struct blob *b;

	if (!token)
		note(c, "no_context_token", "an upload without context_token");
	if (!token && c->sim->set.upload_token) {
		call_refuse(c, -2, NULL);
		return;
	}
	b = blob_new(c->sim->media);
	if (!b) {
		call_refuse(c, -1, "out of memory");
	} else if (!read_grant(c, b)) {
		c->sim->media->first = b->next;
		blob_free(c->sim->media, b);
		call_refuse(c, -2, "invalid arguments");
	} else {
		answer_grant(c, b);
	}
}

/* --- The CDN ---------------------------------------------------------------------------------- */
static void cdn_refuse(struct call *c, int status, const char *why)
{
	c->status = status;
	c->type = "text/plain";
	str_addf(&c->extra, "x-error-message: %s\r\nx-error-code: -5102031\r\n", why);
	call_answer(c);
}

static struct blob *blob_of(struct call *c)
{
	struct str param = STR_INIT(4096);
	struct blob *b = NULL;

	if (hreq_param(c->req, "encrypted_query_param", &param) == 1)
		b = blob_by_param(c->sim->media, str_view(&param));
	str_release(&param);
	return b;
}

/* NULL, or what is wrong with the ciphertext. */
static const char *check_upload(const struct blob *b, struct view body)
{
	struct str plain = STR_INIT(SIM_BODY_MAX);
	char md5[33];
	const char *wrong = NULL;

	if ((int64_t)body.n != b->size) {
		wrong = "size mismatch";
	} else if (aes(false, true, b->key, body, &plain) < 0) {
		wrong = "decrypt failed";
	} else {
		md5_hex(str_view(&plain), md5);
		if ((int64_t)plain.n != b->raw_size || strcasecmp(md5, b->md5) != 0)
			wrong = "md5 mismatch";
	}
	str_release(&plain);
	return wrong;
}

static void cdn_upload(struct call *c)
{
	static const char *const spelling[] = { "x-encrypted-param", "X-Encrypted-Param",
		"X-ENCRYPTED-PARAM" };
	struct media *m = c->sim->media;
	struct blob *b = blob_of(c);
	struct str filekey = STR_INIT(64);
	const char *wrong;
	bool same;

	(void)hreq_param(c->req, "filekey", &filekey);
	same = b && view_eqs(str_view(&filekey), b->filekey);
	str_release(&filekey);
	if (!same || b->stored) {
		cdn_refuse(c, 403,
			!b     ? "unknown parameter"
			: same ? "already used"
			       : "wrong filekey");
		return;
	}
	wrong = check_upload(b, hreq_body(c->req));
	if (wrong) {
		violation(c, "upload_fields", "%s", wrong);
		cdn_refuse(c, 400, wrong);
		return;
	}
	if (!fault_is(c->fault, F_NO_PARAM)) {
		if (str_add(&b->bytes, hreq_body(c->req)) < 0) {
			cdn_refuse(c, 500, "out of memory");
			return;
		}
		m->held += b->bytes.n;
		b->stored = true;
		/* The grant is spent: from here on another parameter finds it. */
		rand_hex(b->param, 24);
		str_addf(&c->extra, "%s: %s\r\n", spelling[m->uploads++ % 3], b->param);
		sim_count(c->sim, T_UPLOADS);
	}
	c->type = "text/plain";
	call_answer(c);
}

/* As the padding of no PKCS#7: decrypts, and ends in a byte that no padding ends in. */
static void spoil_padding(const struct blob *b, struct str *out)
{
	struct str plain = STR_INIT(SIM_BODY_MAX + 64);

	if (blob_plain(b, &plain) == 0) {
		do
			str_addc(&plain, '\0');
		while (plain.n % 16);
		(void)aes(true, false, b->key, str_view(&plain), out);
	}
	str_release(&plain);
}

static void cdn_download(struct call *c)
{
	struct blob *b = blob_of(c);

	if (!b || !b->stored) {
		cdn_refuse(c, 404, "unknown parameter");
		return;
	}
	sim_count(c->sim, T_DOWNLOADS);
	c->type = "application/octet-stream";
	if (fault_is(c->fault, F_BAD_PADDING))
		spoil_padding(b, &c->out);
	else if (fault_is(c->fault, F_PLAIN))
		(void)blob_plain(b, &c->out);
	else
		str_add(&c->out, str_view(&b->bytes));
	call_answer(c);
}

void cdn_on_request(void *arg, struct hreq *r)
{
	bool upload = !strcmp(hreq_path(r), "/c2c/upload");
	bool known = upload || !strcmp(hreq_path(r), "/c2c/download");
	bool method = !strcmp(hreq_method(r), upload ? "POST" : "GET");
	struct call *c = call_new(arg, r,
		upload  ? "cdn_upload"
		: known ? "cdn_download"
			: "unknown");

	if (!c)
		return;
	sim_count(c->sim, T_REQUESTS);
	if (known)
		check_cdn(c, upload);
	if (known && !method)
		violation(c, "upload_method", "%.10s", hreq_method(c->req));
	if (!known || !method) {
		cdn_refuse(c, 404, "no such path");
		return;
	}
	c->fault = faults_take(c->sim->faults, c->endpoint, WHEN_REQUEST, view_of(hreq_query(r)));
	if (call_fault_first(c))
		return;
	if (upload)
		cdn_upload(c);
	else
		cdn_download(c);
}

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
	b = blob_by_param(c->sim->media, check_str(c, m, "encrypt_query_param"));
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
	(void)copy_z(b->name, sizeof(b->name), opt_str(obj, "file_name", k->name));
	d->media = b->id;
	snprintf(d->media_state, sizeof(d->media_state), "%s", state);
	return 0;
}

/* Pictures by their first bytes; everything else is only ever a download. */
static const char *sniff(struct view v)
{
	if (view_starts(v, VIEW("\x89PNG")))
		return "image/png";
	if (view_starts(v, VIEW("\xff\xd8\xff")))
		return "image/jpeg";
	if (view_starts(v, VIEW("GIF8")))
		return "image/gif";
	if (v.n > 12 && view_starts(v, VIEW("RIFF")) &&
		view_eqs(view_cut(view_from(v, 8), 4), "WEBP"))
		return "image/webp";
	return "application/octet-stream";
}

int media_plain(struct sim *s, uint64_t id, struct str *out, const char **name, const char **type)
{
	for (struct blob *b = s->media->first; b; b = b->next)
		if (b->id == id && b->stored && blob_plain(b, out) == 0) {
			*name = b->name;
			*type = sniff(str_view(out));
			return 0;
		}
	return -1;
}

/* --- What a person sends ---------------------------------------------------------------------- */
static int read_bytes(const struct json *spec, struct str *plain, struct err *e)
{
	int64_t size = opt_int(spec, "size", -1);
	struct view text = opt_str(spec, "text", NULL);

	if (text.p)
		return str_add(plain, text);
	if (size < 0)
		return opt_bytes(spec, "data", plain, e) < 0 ? -1 : 0;
	if ((size_t)size > SIM_BODY_MAX)
		return err_set(e, E_FORMAT, "media: size over 32 MiB");
	for (int64_t i = 0; i < size; i++)
		str_addc(plain, (char)(i * 31 + (i >> 8)));
	return str_ok(plain) ? 0 : err_set(e, E_NOMEM, "media: too large");
}

static int store(struct sim *s, struct blob *b, struct view plain, bool encrypted)
{
	b->plain = !encrypted;
	b->stored = true;
	b->raw_size = (int64_t)plain.n;
	md5_hex(plain, b->md5);
	rand_bytes(b->key, sizeof(b->key));
	if ((encrypted ? aes(true, true, b->key, plain, &b->bytes) : str_add(&b->bytes, plain)) < 0)
		return -1;
	b->size = (int64_t)b->bytes.n;
	s->media->held += b->bytes.n;
	return 0;
}

enum key_form { KEY_HEX, KEY_RAW, KEY_AESKEY, KEY_NONE };

static void put_key(struct json_out *w, const struct blob *b, enum key_form form)
{
	struct str s = STR_INIT(128);
	char hex[33];

	key_to_hex(b->key, hex);
	if (form == KEY_RAW)
		base64_encode((struct view){ (const char *)b->key, 16 }, &s);
	else
		base64_encode(view_of(hex), &s);
	if (form == KEY_HEX || form == KEY_RAW)
		json_put_str(w, "aes_key", str_view(&s));
	str_release(&s);
}

static void put_media(struct sim *s, struct json_out *w, const struct json *spec,
	const struct blob *b, enum key_form form)
{
	struct view url = opt_str(spec, "full_url", NULL);
	struct str ours = STR_INIT(1024);

	json_open(w, "media");
	json_put_z(w, "encrypt_query_param", b->param);
	put_key(w, b, form);
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
	char text[33];

	switch (k->item) {
	case ITEM_IMAGE:
		if (form == KEY_AESKEY) {
			key_to_hex(b->key, text);
			json_put_z(w, "aeskey", text);
		}
		json_put_int(w, "mid_size", b->size);
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
		snprintf(text, sizeof(text), "%lld", (long long)b->raw_size);
		json_put_str(w, "file_name", opt_str(spec, "name", "file.bin"));
		json_put_z(w, "md5", b->md5);
		json_put_z(w, "len", text);
		break;
	default:
		json_put_int(w, "video_size", b->size);
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
	struct err *e)
{
	static const char *const names[] = { "image", "voice", "file", "video", NULL };
	static const char *const forms[] = { "hex", "raw", "aeskey", "none", NULL };
	struct str plain = STR_INIT(SIM_BODY_MAX);
	int which = 2, form = KEY_HEX, rc = -1;
	const struct kind *k;
	struct blob *b;

	if (json_get_enum(spec, "kind", JSON_OPTIONAL, names, &which, e) < 0 ||
		json_get_enum(spec, "key_form", JSON_OPTIONAL, forms, &form, e) < 0 ||
		read_bytes(spec, &plain, e) < 0)
		goto out;
	k = &kinds[which];
	b = blob_new(s->media);
	if (!b || store(s, b, str_view(&plain), form != KEY_NONE) < 0) {
		err_set(e, E_NOMEM, "media: too large");
		goto out;
	}
	(void)copy_z(b->name, sizeof(b->name), opt_str(spec, "name", k->name));
	str_addf(label, "%s %s", k->label, k->item == ITEM_FILE ? b->name : "");
	rc = put_items(s, spec, k, b, (enum key_form)form, items, e);
out:
	str_release(&plain);
	return rc;
}
