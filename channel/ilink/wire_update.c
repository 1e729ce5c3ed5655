/* An answer to getupdates as complete, checked messages.
 *
 * Fields of identity, order and content are strict: a wrong type makes the message unreadable. What
 * merely describes (sizes, times, lengths) is a claim: a wrong one counts as not made. */
#include "channel/ilink/wire.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "channel/ilink/media_key.h"
#include "channel/ilink/wire-private.h"

enum item_type {
	ITEM_NONE = 0, /* content withheld; seen inside quotes */
	ITEM_TEXT = 1,
	ITEM_IMAGE = 2,
	ITEM_VOICE = 3,
	ITEM_FILE = 4,
	ITEM_VIDEO = 5,
	ITEM_TOOL_START = 11, /* outbound only */
	ITEM_TOOL_RESULT = 12
};

/* Memory that lives as long as the update. */
struct wire_block {
	struct wire_block *next;
	max_align_t data[];
};

/* One message on its way in. */
struct reader {
	struct wire_update *u;
	const struct json *json;
	struct chan_msg m;
	struct chan_item items[CHAN_ITEMS_MAX];
	struct str text;        /* scratch, kept from message to message */
	bool typed, transcript; /* where the text came from */
	bool quoted;            /* a quote was met: the first counts */
	bool bad;               /* malformed; why says how */
	bool no_memory;
	struct err why;
};

static void *keep(struct wire_update *u, size_t n)
{
	struct wire_block *b = calloc(1, sizeof(*b) + n);

	if (!b)
		return NULL;
	b->next = u->blocks;
	u->blocks = b;
	return b->data;
}

/* A copy with a NUL behind it; NULL without memory. */
static const char *keep_text(struct reader *r, struct view v)
{
	char *p = keep(r->u, v.n + 1);

	if (!p) {
		r->no_memory = true;
		return "";
	}
	if (v.n)
		memcpy(p, v.p, v.n);
	return p;
}

/* Remember the first thing that is wrong with the message. Returns whether rc was good. */
static bool ok(struct reader *r, int rc, const struct err *e)
{
	if (rc >= 0)
		return true;
	if (!r->bad)
		r->why = *e;
	r->bad = true;
	return false;
}

/* --- Text and attachments --------------------------------------------------------------------- */
static void add_text(struct reader *r, struct view v)
{
	struct err e = ERR_INIT;

	if (v.n == 0)
		return;
	if (r->text.n + (r->text.n > 0) + v.n > CHAN_TEXT_MAX)
		ok(r, err_set(&e, E_FORMAT, "the text is longer than %zu bytes", CHAN_TEXT_MAX),
			&e);
	else if ((r->text.n && str_addc(&r->text, '\n') < 0) || str_add(&r->text, v) < 0)
		r->no_memory = true;
}

static struct chan_item *add_item(struct reader *r, enum chan_item_kind kind)
{
	struct chan_item *it;

	if (r->m.nitems == CHAN_ITEMS_MAX) {
		r->u->dropped_items++;
		return NULL;
	}
	it = &r->items[r->m.nitems++];
	*it = (struct chan_item){ .kind = kind,
		.name = "",
		.full_url = "",
		.param = "",
		.key = "",
		.size = -1,
		.play_ms = -1 };
	return it;
}

static int64_t claim(const struct json *obj, const char *name)
{
	int64_t n = -1;

	return wire_get_number(obj, name, &n, NULL) == 1 && n >= 0 ? n : -1;
}

/* An opaque member that must outlive nothing but the tree, which holds it. */
static const char *opaque_or_empty(struct reader *r, const struct json *obj, const char *name,
	size_t max)
{
	struct view v = VIEW_NONE;
	struct err e = ERR_INIT;

	ok(r, wire_get_opaque(obj, name, JSON_OPTIONAL, max, &v, &e), &e);
	return v.n ? v.p : "";
}

static const struct json *object_of(struct reader *r, const struct json *obj, const char *name)
{
	const struct json *o = NULL;
	struct err e = ERR_INIT;

	ok(r, json_get_object(obj, name, JSON_OPTIONAL, &o, &e), &e);
	return o;
}

static void read_media(struct reader *r, const struct json *payload, struct chan_item *it)
{
	const struct json *media = object_of(r, payload, "media");

	it->full_url = opaque_or_empty(r, media, "full_url", WIRE_PARAM_MAX);
	it->param = opaque_or_empty(r, media, "encrypt_query_param", WIRE_PARAM_MAX);
	it->key = opaque_or_empty(r, media, "aes_key", WIRE_KEY_MAX);
}

static void read_image(struct reader *r, const struct json *payload, struct chan_item *it)
{
	const char *own = opaque_or_empty(r, payload, "aeskey", WIRE_KEY_MAX);
	struct media_key k;

	/* Preferred over the one in media (5.2), where it is one. */
	if (own[0] && (!it->key[0] || media_key_read(&k, view_of(own), NULL) == 1))
		it->key = own;
	media_key_wipe(&k);
	it->size = claim(payload, "mid_size");
}

static void read_file(struct reader *r, const struct json *payload, struct chan_item *it)
{
	struct str name = STR_INIT((size_t)WIRE_NAME_MAX * 3);
	struct view v = VIEW_NONE;
	struct err e = ERR_INIT;

	ok(r, json_get_str(payload, "file_name", JSON_OPTIONAL, 0, WIRE_NAME_MAX, &v, &e), &e);
	if (text_safe(v, 0, &name) == 0)
		it->name = keep_text(r, str_view(&name));
	str_release(&name);
	it->size = claim(payload, "len");
}

static void read_video(struct reader *r, const struct json *payload, struct chan_item *it)
{
	(void)r;
	it->size = claim(payload, "video_size");
}

static void read_voice(struct reader *r, const struct json *payload, struct chan_item *it)
{
	(void)r;
	it->size = claim(payload, "size");
	it->play_ms = claim(payload, "playtime");
}

static const struct media_kind {
	enum item_type type;
	enum chan_item_kind kind;
	const char *payload;
	void (*read)(struct reader *r, const struct json *payload, struct chan_item *it);
} media_kinds[] = {
	{ ITEM_IMAGE, CHAN_IMAGE, "image_item", read_image },
	{ ITEM_VOICE, CHAN_VOICE, "voice_item", read_voice },
	{ ITEM_FILE, CHAN_FILE, "file_item", read_file },
	{ ITEM_VIDEO, CHAN_VIDEO, "video_item", read_video },
};

static const struct media_kind *media_kind(int64_t type)
{
	for (size_t i = 0; i < sizeof(media_kinds) / sizeof(media_kinds[0]); i++)
		if (media_kinds[i].type == type)
			return &media_kinds[i];
	return NULL;
}

static int64_t item_type(struct reader *r, const struct json *item)
{
	int64_t type = ITEM_NONE;
	struct err e = ERR_INIT;

	if (ok(r, wire_get_number(item, "type", &type, &e), &e))
		return type;
	return ITEM_NONE;
}

/* The text of a text item, or a voice's transcript; empty when there is none. */
static struct view text_of(struct reader *r, const struct json *item, const char *payload)
{
	const struct json *o = object_of(r, item, payload);
	struct view v = VIEW_NONE;
	struct err e = ERR_INIT;

	if (!ok(r, json_get_str(o, "text", JSON_OPTIONAL, 0, CHAN_TEXT_MAX, &v, &e), &e))
		return VIEW_NONE;
	return v;
}

static struct chan_item *read_attachment(struct reader *r, const struct json *item,
	const struct media_kind *kind)
{
	const struct json *payload = object_of(r, item, kind->payload);
	struct chan_item *it = add_item(r, kind->kind);

	if (!it)
		return NULL;
	read_media(r, payload, it);
	kind->read(r, payload, it);
	return it;
}

/* --- Quotes (5.5) ----------------------------------------------------------------------------- */
/* "" and 0 are none, as for numbers. */
static const char *id_or_empty(struct reader *r, const struct json *obj, const char *name,
	struct err *e)
{
	struct view v;
	char id[21];

	if (json_get_str(obj, name, JSON_OPTIONAL, 0, 0, &v, NULL) == 1 ||
		json_get_id(obj, name, JSON_OPTIONAL, id, e) != 1 || strcmp(id, "0") == 0)
		return "";
	return keep_text(r, view_of(id));
}

static struct view quoted_text(struct reader *r, const struct json *quoted)
{
	int64_t type = item_type(r, quoted);
	const struct media_kind *kind = media_kind(type);
	struct view text = VIEW_NONE;
	struct chan_item *it;

	if (type == ITEM_TEXT)
		return text_of(r, quoted, "text_item");
	if (!kind)
		return VIEW_NONE;
	if (type == ITEM_VOICE)
		text = text_of(r, quoted, "voice_item");
	it = read_attachment(r, quoted, kind);
	if (it) {
		it->quoted = true;
		it->transcript = text.n > 0;
	}
	return text;
}

/* A claim: what is not whole, or not of its types, was not made, and all of it is quoted. */
static void read_partial(struct reader *r, const struct json *ref)
{
	const struct json *part = NULL;
	struct view start, end, md5 = VIEW_NONE;
	int64_t first = 0, last = 0;

	if (json_get_object(ref, "partial_text", JSON_OPTIONAL, &part, NULL) != 1 ||
		json_get_str(part, "start", JSON_REQUIRED, 1, WIRE_MARK_MAX, &start, NULL) < 0 ||
		json_get_str(part, "end", JSON_REQUIRED, 1, WIRE_MARK_MAX, &end, NULL) < 0 ||
		wire_get_number(part, "startindex", &first, NULL) < 0 || first < 0 ||
		wire_get_number(part, "endindex", &last, NULL) < 0 || last < 0 ||
		json_get_str(part, "quotemd5", JSON_OPTIONAL, 0, 32, &md5, NULL) < 0)
		return;
	r->m.partial = (struct chan_partial){ .start = start.p,
		.end = end.p,
		.start_index = first,
		.end_index = last,
		.md5 = md5.n == 32 ? md5.p : "" };
}

static void read_quote(struct reader *r, const struct json *item)
{
	const struct json *ref = object_of(r, item, "ref_msg");
	const struct json *quoted = object_of(r, ref, "message_item");
	size_t nitems = r->m.nitems;

	if (!ref || r->quoted)
		return;
	r->quoted = true;
	/* Claims, too: a quote that cannot be looked up must not cost the message. */
	r->m.quote_id = id_or_empty(r, ref, "svr_id", NULL);
	if (!r->m.quote_id[0])
		r->m.quote_id = id_or_empty(r, quoted, "msg_id", NULL);
	if (quoted)
		r->m.quote = quoted_text(r, quoted);
	if (r->m.quote.n == 0)
		r->m.quote = VIEW("");
	/* The title of an attachment is no more than its kind, which it says of itself. */
	if (r->m.quote.n == 0 && r->m.nitems == nitems) {
		(void)json_get_str(ref, "title", JSON_OPTIONAL, 0, CHAN_TEXT_MAX, &r->m.quote,
			NULL);
		r->m.quote_title = r->m.quote.n > 0;
	}
	read_partial(r, ref);
}

/* --- Items ------------------------------------------------------------------------------------ */
static void read_item(struct reader *r, const struct json *item)
{
	struct err e = ERR_INIT;
	const struct media_kind *kind;
	struct chan_item *it;
	struct view text;
	int64_t type;

	if (json_type(item) != JSON_OBJECT) {
		ok(r, err_set(&e, E_FORMAT, "an item is not an object"), &e);
		return;
	}
	type = item_type(r, item);
	kind = media_kind(type);
	if (type == ITEM_TEXT) {
		text = text_of(r, item, "text_item");
		add_text(r, text);
		r->typed = r->typed || text.n > 0;
	} else if (kind) {
		text = type == ITEM_VOICE ? text_of(r, item, "voice_item") : VIEW_NONE;
		it = read_attachment(r, item, kind);
		if (it)
			it->transcript = text.n > 0;
		add_text(r, text);
		r->transcript = r->transcript || text.n > 0;
	} else if (type != ITEM_NONE && type != ITEM_TOOL_START && type != ITEM_TOOL_RESULT) {
		add_item(r, CHAN_OTHER);
	}
	read_quote(r, item);
}

static bool only_other(const struct chan_msg *m, const struct chan_item *items)
{
	for (size_t i = 0; i < m->nitems; i++)
		if (items[i].kind != CHAN_OTHER)
			return false;
	return true;
}

static void read_content(struct reader *r, const struct json *list)
{
	struct chan_item *items;

	if (list)
		json_each(item, list)
			read_item(r, item);
	r->m.text = (struct view){ keep_text(r, str_view(&r->text)), r->text.n };
	/* Commands count only where no word of the text was heard by a machine (5.3). */
	r->m.typed = r->typed && !r->transcript;
	if (r->m.text.n == 0 && only_other(&r->m, r->items))
		r->m.state = CHAN_MSG_UNSUPPORTED;
	if (r->m.nitems == 0)
		return;
	items = keep(r->u, r->m.nitems * sizeof(*items));
	if (!items) {
		r->no_memory = true;
		return;
	}
	memcpy(items, r->items, r->m.nitems * sizeof(*items));
	r->m.items = items;
}

/* --- Identity --------------------------------------------------------------------------------- */
/* "h:" and 64 hex digits: of the sender, the time and this. "" when memory has run out. */
static const char *hash_of(struct reader *r, const char *kind, struct view value)
{
	static const char digits[] = "0123456789abcdef";
	struct str s = STR_INIT(WIRE_BODY_MAX * 8);
	unsigned char md[EVP_MAX_MD_SIZE];
	char id[2 + 64 + 1] = "h:";
	unsigned n = 0;

	str_addf(&s, "%s\n%s\n%lld\n", kind, r->m.from, (long long)r->m.sent_at);
	str_add(&s, value);
	if (!str_ok(&s) || EVP_Digest(s.p, s.n, md, &n, EVP_sha256(), NULL) != 1 || n != 32) {
		r->no_memory = true;
		n = 0;
	}
	for (unsigned i = 0; i < n; i++) {
		id[2 + 2 * i] = digits[md[i] >> 4];
		id[3 + 2 * i] = digits[md[i] & 15];
	}
	str_release(&s);
	return keep_text(r, view_of(id));
}

static void hash_id(struct reader *r, const char *kind, struct view value)
{
	r->m.id = hash_of(r, kind, value);
	r->m.derived_id = true;
}

/* Servers have delivered a message again under another id, or without one (4). What the sender's
 * own program said of it tells; its words alone would not: a second "ok" is a message. */
static void read_twin(struct reader *r)
{
	struct view client = VIEW_NONE;
	struct str text = STR_INIT(WIRE_BODY_MAX * 4);

	if (r->m.sent_at == 0 || json_get_str(r->json, "client_id", JSON_OPTIONAL, 1, CHAN_ID_MAX,
					 &client, NULL) != 1)
		return;
	str_addf(&text, "%zu\n%.*s\n", r->m.nitems, VIEW_FMT(client));
	str_add(&text, r->m.text);
	if (str_ok(&text))
		r->m.twin = hash_of(r, "twin", str_view(&text));
	else
		r->no_memory = true;
	str_release(&text);
}

static void derive_id(struct reader *r)
{
	const struct json *list = json_member(r->json, "item_list");
	struct str text = STR_INIT(WIRE_BODY_MAX * 4);
	struct view client = VIEW_NONE;
	int64_t seq = 0;

	if (json_get_str(r->json, "client_id", JSON_OPTIONAL, 1, CHAN_ID_MAX, &client, NULL) == 1) {
		hash_id(r, "client_id", client);
	} else if (wire_get_number(r->json, "seq", &seq, NULL) == 1 && seq > 0) {
		str_addf(&text, "%lld", (long long)seq);
		hash_id(r, "seq", str_view(&text));
	} else {
		if (list && json_print(list, &text, NULL) < 0)
			r->no_memory = true;
		hash_id(r, "items", str_view(&text));
	}
	str_release(&text);
}

static void read_id(struct reader *r, const struct json *list)
{
	const struct json *first = list ? json_first(list) : NULL;
	struct err e = ERR_INIT;

	r->m.id = id_or_empty(r, r->json, "message_id", &e);
	if (!r->m.id[0] && first && json_type(first) == JSON_OBJECT)
		r->m.id = id_or_empty(r, first, "msg_id", &e);
	ok(r, e.code == E_OK ? 0 : -1, &e);
	if (!r->m.id[0])
		derive_id(r);
}

/* Anything but an absent or empty group id counts as a group: those are never answered. */
static bool is_group(const struct json *j, const char *from)
{
	const struct json *g = json_member(j, "group_id");
	struct view v = VIEW_NONE;

	if (view_ends(view_of(from), VIEW("@chatroom")))
		return true;
	if (!g || json_type(g) == JSON_NULL)
		return false;
	return json_str(g, &v) < 0 || v.n > 0;
}

/* -1: nobody can be told about it. */
static int read_sender(struct reader *r, struct err *e)
{
	struct view from = VIEW_NONE;

	if (json_type(r->json) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "not an object");
	if (wire_get_opaque(r->json, "from_user_id", JSON_REQUIRED, CHAN_ID_MAX, &from, e) < 0)
		return -1;
	r->m.from = from.p;
	r->m.group = is_group(r->json, from.p);
	return 0;
}

static void read_envelope(struct reader *r, int64_t type)
{
	const struct json *list = NULL;
	struct err e = ERR_INIT;

	r->m.token = opaque_or_empty(r, r->json, "context_token", CHAN_TOKEN_MAX);
	r->m.sent_at = claim(r->json, "create_time_ms");
	/* The latest that any message names is kept: one that cannot be must not be that. */
	if (r->m.sent_at < 0 || r->m.sent_at > CHAN_TIME_MAX)
		r->m.sent_at = 0;
	ok(r, json_get_array(r->json, "item_list", JSON_OPTIONAL, SIZE_MAX, &list, &e), &e);
	read_id(r, list);
	read_content(r, list);
	read_twin(r);
	if (type != 0 && type != 1) /* neither unnamed nor a user's: of a later time */
		r->m.state = CHAN_MSG_UNSUPPORTED;
}

/* --- The batch -------------------------------------------------------------------------------- */
static void note(struct wire_update *u, size_t at, const char *why)
{
	struct wire_note *n;

	u->malformed++;
	if (u->nnotes == WIRE_NOTES_MAX)
		return;
	n = &u->notes[u->nnotes++];
	n->at = at;
	wire_safe_line(view_of(why), n->why, sizeof(n->why));
}

static void reader_begin(struct reader *r, const struct json *json)
{
	r->json = json;
	r->m = (struct chan_msg){ .id = "",
		.from = "",
		.token = "",
		.text = VIEW(""),
		.quote = VIEW(""),
		.quote_id = "",
		.state = CHAN_MSG_OK };
	r->typed = r->transcript = r->quoted = r->bad = false;
	str_reset(&r->text);
}

/* A malformed message keeps its sender, id, token and time; its content could be half of it. */
static void strip(struct chan_msg *m)
{
	m->state = CHAN_MSG_UNREADABLE;
	m->text = m->quote = VIEW("");
	m->quote_id = "";
	m->quote_title = false;
	m->partial = (struct chan_partial){ .start = NULL };
	m->typed = false;
	m->items = NULL;
	m->nitems = 0;
}

static void read_message(struct reader *r, const struct json *json, size_t at)
{
	struct err e = ERR_INIT;
	int64_t type = 0;

	reader_begin(r, json);
	if (read_sender(r, &e) < 0) {
		note(r->u, at, e.msg);
		return;
	}
	ok(r, wire_get_number(json, "message_type", &type, &e), &e);
	if (type == 2) {
		r->u->echoes++;
		return;
	}
	read_envelope(r, type);
	if (r->bad) {
		note(r->u, at, r->why.msg);
		strip(&r->m);
	}
	r->u->msgs[r->u->nmsgs++] = r->m;
}

static int read_messages(struct wire_update *u, struct err *e)
{
	struct reader r = { .u = u, .text = STR_INIT(CHAN_TEXT_MAX) };
	const struct json *list = NULL;
	size_t at = 0;

	if (json_get_array(u->tree, "msgs", JSON_OPTIONAL, CHAN_BATCH_MAX, &list, e) < 0)
		return -1;
	if (!list || json_count(list) == 0)
		return 0;
	u->msgs = keep(u, json_count(list) * sizeof(*u->msgs));
	if (!u->msgs)
		return err_set(e, E_NOMEM, "no memory for the messages of one answer");
	json_each(m, list)
		read_message(&r, m, at++);
	str_release(&r.text);
	if (r.no_memory)
		return err_set(e, E_NOMEM, "no memory for the messages of one answer");
	return 0;
}

static int read_cursor(struct wire_update *u, struct err *e)
{
	return wire_get_opaque(u->tree, "get_updates_buf", JSON_OPTIONAL, ACCOUNT_CURSOR_MAX,
		&u->cursor, e);
}

int wire_read_update(struct wire_update *out, struct view body, struct err *e)
{
	*out = (struct wire_update){ .cursor = VIEW_NONE };
	if (wire_parse(&out->tree, body, e) < 0)
		return -1;
	if (wire_get_code(out->tree, &out->code, e) < 0)
		goto fail;
	if (out->code.code != 0)
		return 0;
	if (read_cursor(out, e) < 0 || read_messages(out, e) < 0)
		goto fail;
	out->told_ms = claim(out->tree, "longpolling_timeout_ms");
	if (out->told_ms < 0)
		out->told_ms = 0;
	return 0;
fail:
	wire_update_release(out);
	return -1;
}

void wire_update_release(struct wire_update *u)
{
	while (u->blocks) {
		struct wire_block *b = u->blocks;

		u->blocks = b->next;
		free(b);
	}
	json_free(&u->tree);
	*u = (struct wire_update){ .cursor = VIEW_NONE };
}
