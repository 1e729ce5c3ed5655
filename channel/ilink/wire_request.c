/* Requests: bodies in the shape of the official client, and what goes into the headers. */
#include "channel/ilink/wire.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/text.h"

static void put_self(struct json_out *w, const struct wire_self *me)
{
	json_open(w, "base_info");
	json_put_z(w, "channel_version", me->version);
	json_put_z(w, "bot_agent", me->bot_agent);
	json_close(w);
}

int wire_write_notify(struct str *out, const struct wire_self *me, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	put_self(&w, me);
	json_close(&w);
	return json_out_end(&w, e);
}

int wire_write_updates(struct str *out, const struct wire_self *me, const char *cursor,
	struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "get_updates_buf", cursor);
	put_self(&w, me);
	json_close(&w);
	return json_out_end(&w, e);
}

/* The message up to its item, and from there on: exactly one, more are dropped or refused (7.1). */
static void begin_message(struct json_out *w, struct str *out, const struct chan_send *s)
{
	json_out_begin(w, out);
	json_open(w, NULL);
	json_open(w, "msg");
	json_put_z(w, "from_user_id", "");
	json_put_z(w, "to_user_id", s->to);
	json_put_z(w, "client_id", s->client_id);
	json_put_int(w, "message_type", 2);  /* from a bot */
	json_put_int(w, "message_state", 2); /* finished: nothing can be edited later */
	json_open_array(w, "item_list");
	json_open(w, NULL);
}

static int end_message(struct json_out *w, const struct wire_self *me, const struct chan_send *s,
	struct err *e)
{
	json_close(w);
	json_close_array(w);
	if (s->token && s->token[0])
		json_put_z(w, "context_token", s->token);
	json_close(w);
	put_self(w, me);
	json_close(w);
	return json_out_end(w, e);
}

int wire_write_text(struct str *out, const struct wire_self *me, const struct chan_send *s,
	struct err *e)
{
	struct json_out w;

	begin_message(&w, out, s);
	json_put_int(&w, "type", 1);
	json_open(&w, "text_item");
	json_put_str(&w, "text", s->text);
	json_close(&w);
	return end_message(&w, me, s, e);
}

/* --- Files ------------------------------------------------------------------------------------ */
/* A file has three numbers for what it is: of a message's item, of an upload, and ours. Audio goes
 * as a file: a bot's voice is accepted and never shown (7.5). */
static const struct file_kind {
	enum chan_item_kind kind;
	int item, upload;
	const char *member;
	const char *size; /* of the ciphertext; NULL: a file, which tells name and true length */
} file_kinds[] = {
	{ CHAN_IMAGE, 2, 1, "image_item", "mid_size" },
	{ CHAN_VIDEO, 5, 2, "video_item", "video_size" },
	{ CHAN_FILE, 4, 3, "file_item", NULL },
};

static const struct file_kind *file_kind(enum chan_item_kind kind)
{
	const struct file_kind *k = file_kinds;

	while (k->kind != kind && k->kind != CHAN_FILE)
		k++;
	return k;
}

int wire_write_upload(struct str *out, const struct wire_self *me, const struct wire_upload *u,
	struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "filekey", u->filekey);
	json_put_int(&w, "media_type", file_kind(u->kind)->upload);
	json_put_z(&w, "to_user_id", u->to);
	json_put_int(&w, "rawsize", u->plain_size);
	json_put_z(&w, "rawfilemd5", u->md5);
	json_put_int(&w, "filesize", u->size);
	json_put_bool(&w, "no_need_thumb", true);
	json_put_z(&w, "aeskey", u->aeskey);
	if (u->token[0]) /* some accounts are refused without it (M2) */
		json_put_z(&w, "context_token", u->token);
	put_self(&w, me);
	json_close(&w);
	return json_out_end(&w, e);
}

/* Nothing more than this: what else a bot's media carried was followed by refusals (7.5). */
int wire_write_file(struct str *out, const struct wire_self *me, const struct chan_send *s,
	const struct wire_media *m, struct err *e)
{
	const struct file_kind *k = file_kind(s->file->kind);
	struct json_out w;
	char length[24];

	begin_message(&w, out, s);
	json_put_int(&w, "type", k->item);
	json_open(&w, k->member);
	json_open(&w, "media");
	json_put_z(&w, "encrypt_query_param", m->param);
	json_put_z(&w, "aes_key", m->aes_key);
	json_put_int(&w, "encrypt_type", 1);
	json_close(&w);
	if (k->size) {
		json_put_int(&w, k->size, m->size);
	} else {
		(void)snprintf(length, sizeof(length), "%lld", (long long)s->file->size);
		json_put_z(&w, "file_name", s->file->name);
		json_put_z(&w, "len", length);
	}
	json_close(&w);
	return end_message(&w, me, s, e);
}

int wire_write_config(struct str *out, const struct wire_self *me, const char *user,
	const char *token, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "ilink_user_id", user); /* "user_id" is answered with -2 (T2) */
	if (token[0])
		json_put_z(&w, "context_token", token);
	put_self(&w, me);
	json_close(&w);
	return json_out_end(&w, e);
}

int wire_write_typing(struct str *out, const struct wire_self *me, const char *user,
	const char *ticket, bool on, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "ilink_user_id", user);
	json_put_z(&w, "typing_ticket", ticket);
	json_put_int(&w, "status", on ? 1 : 2);
	put_self(&w, me);
	json_close(&w);
	return json_out_end(&w, e);
}

int wire_write_qr(struct str *out, const char *const *tokens, size_t n, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_open_array(&w, "local_token_list");
	for (size_t i = 0; i < n; i++)
		json_put_z(&w, NULL, tokens[i]);
	json_close_array(&w);
	json_close(&w);
	return json_out_end(&w, e);
}

/* --- Headers ---------------------------------------------------------------------------------- */
void wire_uin(uint32_t n, char out[WIRE_UIN_SIZE])
{
	char digits[11];
	int len = snprintf(digits, sizeof(digits), "%u", (unsigned)n);

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)digits, len);
}

int wire_client_version(const char *version, char out[11], struct err *e)
{
	struct view rest = view_of(version);
	unsigned long long part[3] = { 0, 0, 0 };

	for (int i = 0;; i++) {
		size_t dot = view_find(rest, '.');

		if (i == 3 || parse_u64(view_cut(rest, dot), &part[i]) < 0)
			return err_set(e, E_FORMAT,
				"the client version must be up to three numbers, like 2.4.9");
		if (dot == rest.n)
			break;
		rest = view_from(rest, dot + 1);
	}
	/* A uint32 0x00MMNNPP; each part wraps at 256 (1.3). */
	snprintf(out, 11, "%llu", (part[0] & 255) << 16 | (part[1] & 255) << 8 | (part[2] & 255));
	return 0;
}

static bool is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* How many characters of a name (or version, with '+') stand at the start of v. */
static size_t name_length(struct view v, bool plus)
{
	size_t n = 0;

	while (n < v.n && (is_name_char(v.p[n]) || (plus && v.p[n] == '+')))
		n++;
	return n;
}

/* "name/version" that ends at a space or the end; its length, or 0. */
static size_t product_length(struct view v)
{
	size_t name = name_length(v, false), version;

	if (name < 1 || name > 32 || name == v.n || v.p[name] != '/')
		return 0;
	version = name_length(view_from(v, name + 1), true);
	if (version < 1 || version > 32)
		return 0;
	name += 1 + version;
	return name == v.n || v.p[name] == ' ' ? name : 0;
}

/* " (comment)" that ends at a space or the end; its length, or 0. */
static size_t comment_length(struct view v)
{
	size_t n = 2;

	if (v.n < 4 || v.p[0] != ' ' || v.p[1] != '(')
		return 0;
	while (n < v.n && v.p[n] >= ' ' && v.p[n] <= '~' && v.p[n] != '(' && v.p[n] != ')')
		n++;
	if (n == v.n || v.p[n] != ')' || n - 2 < 1 || n - 2 > 64)
		return 0;
	n++;
	return n == v.n || v.p[n] == ' ' ? n : 0;
}

int wire_bot_agent(struct view in, struct str *out)
{
	size_t start = out->n;
	int dropped = 0;

	while (in.n) {
		size_t n = product_length(in);

		if (n == 0) {
			n = view_find(in, ' ');
			if (n)
				dropped++;
		} else {
			n += comment_length(view_from(in, n));
			if (out->n - start + (out->n > start) + n > WIRE_BOT_AGENT_MAX)
				return dropped + 1; /* trailing products go */
			if ((out->n > start && str_addc(out, ' ') < 0) ||
				str_add(out, view_cut(in, n)) < 0)
				return -1;
		}
		in = view_from(in, n + 1);
	}
	if (out->n == start && str_adds(out, "OpenClaw") < 0)
		return -1;
	return dropped;
}
