#include "quote.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "media.h"

#define EDGE_CHARS 2  /* of a part's ends; more where fewer would be ambiguous */
#define TITLE_MAX  60 /* characters */

enum style { STYLE_SVR_ID, STYLE_MSG_ID, STYLE_INLINE };

/* What is quoted, as far as the simulator knows it. */
struct source {
	char id[21];
	struct view text;  /* p NULL: none, or not known */
	struct view label; /* of a file */
	struct view items; /* JSON: the item_list of a person's message */
	struct view item;  /* JSON: the item of a bot's */
};

static const struct delivery *delivered(struct sim *s, const char *id)
{
	unsigned long long n = 0;
	const struct delivery *d = NULL;

	if (parse_u64(view_of(id), &n) < 0)
		return NULL;
	for (uint64_t after = 0; (d = delivery_after(s, after)); after = d->n)
		if (d->message_id == n)
			break;
	return d;
}

static void find(struct sim *s, const struct bot *b, struct source *q)
{
	const struct inbound *m = world_inbound(b, view_of(q->id));
	const struct delivery *d = m ? NULL : delivered(s, q->id);

	if (m) {
		q->text = view_of(m->text);
		q->label = view_of(m->label);
		q->items = view_of(m->items);
	} else if (d) {
		q->text = view_of(d->text);
		q->label = media_label(s, d->media);
		q->item = view_of(d->item);
	}
}

/* --- Parts ------------------------------------------------------------------------------------ */
struct part {
	struct view start, end;
	int64_t start_index, end_index;
};

/* Which occurrence of needle, from `from` on and not overlapping, begins at `at`; -1: none. */
static int64_t occurrence(struct view text, struct view needle, size_t from, size_t at)
{
	int64_t index = 0;

	for (size_t i = from; i + needle.n <= text.n && i <= at; index++) {
		struct view rest = view_from(text, i), hit = find_bytes(rest, needle);

		if (!hit.p)
			return -1;
		i = (size_t)(hit.p - text.p);
		if (i == at)
			return index;
		i += needle.n;
	}
	return -1;
}

/* The last n characters. */
static struct view tail_chars(struct view v, size_t n)
{
	size_t all = utf8_count(v);

	return view_from(v, utf8_cut_chars(v, all > n ? all - n : 0));
}

/* The shortest ends that name this place: of at least two characters, where there are so many. */
static int place(struct view text, size_t at, size_t n, bool relative, struct part *p)
{
	struct view all = view_cut(view_from(text, at), n);
	size_t chars = utf8_count(all), most = relative ? chars - 1 : chars, k;

	*p = (struct part){ .start_index = -1, .end_index = -1 };
	for (k = most < EDGE_CHARS ? most : EDGE_CHARS; k && k <= most && p->start_index < 0; k++) {
		p->start = view_cut(all, utf8_cut_chars(all, k));
		p->start_index = occurrence(text, p->start, 0, at);
	}
	if (p->start_index < 0)
		return -1;
	if (relative)
		chars -= utf8_count(p->start);
	for (k = chars < EDGE_CHARS ? chars : EDGE_CHARS; k && k <= chars && p->end_index < 0;
		k++) {
		p->end = tail_chars(all, k);
		p->end_index =
			occurrence(text, p->end, relative ? at + p->start.n : 0, at + n - p->end.n);
	}
	return p->end_index < 0 ? -1 : 0;
}

static void put_md5(struct json_out *w, struct view v)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	char hex[33];
	unsigned n = 0;

	EVP_Digest(v.n ? v.p : "", v.n, sum, &n, EVP_md5(), NULL);
	for (size_t i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	json_put_z(w, "quotemd5", hex);
}

/* The nth occurrence of the part in the text; n: all its bytes when there is none. */
static size_t find_nth(struct view text, struct view part, int64_t nth)
{
	size_t at = 0;

	for (;; nth--) {
		struct view hit = find_bytes(view_from(text, at), part);

		if (!hit.p)
			return text.n;
		at = (size_t)(hit.p - text.p);
		if (nth <= 0)
			return at;
		at += part.n;
	}
}

static int put_part(struct json_out *w, const struct json *spec, struct view text, struct err *e)
{
	static const char *const ways[] = { "global", "relative", NULL };
	struct view part = opt_str(spec, "part", NULL);
	const struct json *literal = json_member(spec, "partial");
	int relative = 0;
	struct part p;
	size_t at;

	if (literal)
		json_put_json(w, "partial_text", literal);
	if (literal || !part.n)
		return 0;
	if (json_get_enum(spec, "index", JSON_OPTIONAL, ways, &relative, e) < 0)
		return -1;
	at = find_nth(text, part, opt_int(spec, "nth", 0));
	if (at == text.n)
		return err_set(e, E_NOTFOUND, "part: not in the quoted text, or not so often");
	if (place(text, at, part.n, relative, &p) < 0)
		return err_set(e, E_CONFLICT, "part: its place cannot be told in this way");
	json_open(w, "partial_text");
	json_put_str(w, "start", p.start);
	json_put_str(w, "end", p.end);
	json_put_int(w, "startindex", p.start_index);
	json_put_int(w, "endindex", p.end_index);
	if (opt_bool(spec, "md5", true))
		put_md5(w, part);
	json_close(w);
	return 0;
}

/* --- ref_msg ---------------------------------------------------------------------------------- */
/* Old phones: the message itself, as an item. */
static int put_inline(struct json_out *w, const struct source *q, struct err *e)
{
	struct view title = q->text.p ? q->text : q->label;
	struct json *list = NULL;
	int rc = 0;

	json_put_str(w, "title", view_cut(title, utf8_cut_chars(title, TITLE_MAX)));
	if (q->items.p) {
		if (json_read(&list, q->items, &json_limits_wire, e) < 0)
			return -1;
		if (json_first(list))
			json_put_json(w, "message_item", json_first(list));
		else
			rc = err_set(e, E_CONFLICT, "quote: this message has no item");
		json_free(&list);
	} else if (q->item.p) {
		json_put_raw(w, "message_item", q->item);
	} else {
		json_open(w, "message_item");
		json_put_int(w, "type", 1);
		if (*q->id)
			json_put_z(w, "msg_id", q->id);
		json_open(w, "text_item");
		json_put_str(w, "text", q->text);
		json_close(w);
		json_close(w);
	}
	return rc;
}

static void put_reference(struct json_out *w, const struct source *q, enum style style, bool number)
{
	unsigned long long n;

	if (style == STYLE_MSG_ID) {
		json_open(w, "message_item");
		json_put_int(w, "type", 0);
	}
	if (number && parse_u64(view_of(q->id), &n) == 0)
		json_put_u64(w, style == STYLE_MSG_ID ? "msg_id" : "svr_id", n);
	else
		json_put_z(w, style == STYLE_MSG_ID ? "msg_id" : "svr_id", q->id);
	if (style == STYLE_MSG_ID)
		json_close(w);
}

static int read_source(struct sim *s, const struct bot *b, const struct json *spec,
	enum style style, struct source *q, struct err *e)
{
	int rc = json_get_id(spec, "of", JSON_OPTIONAL, q->id, e);

	if (rc < 0)
		return -1;
	if (rc == 1)
		find(s, b, q);
	if (opt_str(spec, "text", NULL).p)
		q->text = opt_str(spec, "text", NULL);
	if (rc == 0 && style != STYLE_INLINE)
		return err_set(e, E_FORMAT, "quote: \"of\" names the quoted message by its id");
	if (style == STYLE_INLINE && !q->text.p && !q->items.p && !q->item.p)
		return err_set(e, E_NOTFOUND, "quote: no such message, and no text given");
	return 0;
}

int quote_make(struct sim *s, const struct bot *b, const struct json *spec, struct str *ref,
	struct str *shown, struct err *e)
{
	static const char *const styles[] = { "svr_id", "msg_id", "inline", NULL };
	struct source q = { .text = VIEW_NONE };
	int style = STYLE_SVR_ID;
	struct view part = opt_str(spec, "part", NULL);
	struct json_out w;

	if (json_get_enum(spec, "style", JSON_OPTIONAL, styles, &style, e) < 0 ||
		read_source(s, b, spec, (enum style)style, &q, e) < 0)
		return -1;
	json_out_begin(&w, ref);
	json_open(&w, NULL);
	if (style == STYLE_INLINE) {
		if (put_inline(&w, &q, e) < 0)
			return -1;
	} else {
		put_reference(&w, &q, (enum style)style, b->last % 2 == 0);
	}
	if (put_part(&w, spec, q.text, e) < 0)
		return -1;
	json_close(&w);
	if (json_out_end(&w, e) < 0)
		return -1;
	return str_add(shown, part.n     ? part
			      : q.text.p ? q.text
					 : q.label) < 0
	               ? err_set(e, E_NOMEM, "quote: too long")
	               : 0;
}
