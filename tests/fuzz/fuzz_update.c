/* channel/ilink: whatever an answer to getupdates holds, what is handed on keeps its promises. */
#include "fuzz.h"

#include "channel/ilink/wire.h"

#include <string.h>

static bool is_id(const struct chan_msg *m)
{
	struct view id = view_of(m->id);
	unsigned long long n;

	if (!m->derived_id)
		return parse_u64(id, &n) == 0 && n > 0 && id.p[0] != '0';
	if (id.n != 66 || !view_starts(id, VIEW("h:")))
		return false;
	return strspn(m->id + 2, "0123456789abcdef") == 64;
}

static bool is_text(struct view v, size_t max)
{
	return v.p && v.n <= max && view_find(v, '\0') == v.n && v.p[v.n] == '\0';
}

static bool is_opaque_or_empty(const char *z, size_t max)
{
	return z && strlen(z) <= max && (!z[0] || wire_is_opaque(view_of(z)));
}

static void check_item(const struct chan_item *it)
{
	must(it->kind >= CHAN_IMAGE && it->kind <= CHAN_OTHER);
	must(it->name && strlen(it->name) <= (size_t)WIRE_NAME_MAX * 3);
	must(!strpbrk(it->name, "\n\r\t\x1b\x7f"));
	must(is_opaque_or_empty(it->full_url, WIRE_PARAM_MAX));
	must(is_opaque_or_empty(it->param, WIRE_PARAM_MAX));
	must(is_opaque_or_empty(it->key, WIRE_KEY_MAX));
	must(it->size >= -1 && it->play_ms >= -1);
}

static void check_message(const struct chan_msg *m)
{
	must(is_id(m));
	must(m->from[0] && is_opaque_or_empty(m->from, CHAN_ID_MAX));
	must(is_opaque_or_empty(m->token, CHAN_TOKEN_MAX));
	must(is_text(m->text, CHAN_TEXT_MAX) && is_text(m->quote, CHAN_TEXT_MAX));
	must(m->quote_id && strlen(m->quote_id) <= 20);
	must(!m->quote_title || m->quote.n > 0);
	if (m->partial.start) {
		must(m->partial.start[0] && strlen(m->partial.start) <= WIRE_MARK_MAX);
		must(m->partial.end[0] && strlen(m->partial.end) <= WIRE_MARK_MAX);
		must(m->partial.start_index >= 0 && m->partial.end_index >= 0);
		must(strlen(m->partial.md5) == 0 || strlen(m->partial.md5) == 32);
	}
	must(m->sent_at >= 0 && m->nitems <= CHAN_ITEMS_MAX);
	must(!m->typed || m->text.n > 0);
	must(m->state != CHAN_MSG_UNREADABLE ||
		(m->text.n == 0 && m->nitems == 0 && !m->typed && !m->partial.start));
	must(m->state != CHAN_MSG_OK || m->text.n > 0 || m->nitems > 0);
	for (size_t i = 0; i < m->nitems; i++)
		check_item(&m->items[i]);
}

static void check_update(const struct wire_update *u)
{
	must(u->nmsgs <= CHAN_BATCH_MAX && u->nnotes <= WIRE_NOTES_MAX);
	must(u->nnotes <= u->malformed &&
		u->nmsgs + u->malformed + u->echoes <= (size_t)2 * CHAN_BATCH_MAX);
	must(u->cursor.n <= ACCOUNT_CURSOR_MAX && u->told_ms >= 0);
	must(u->cursor.n == 0 || wire_is_opaque(u->cursor));
	must(u->code.code == 0 || (u->nmsgs == 0 && u->cursor.n == 0 && u->told_ms == 0));
	must(!strpbrk(u->code.text, "\n\x1b"));
	for (size_t i = 0; i < u->nnotes; i++)
		must(u->notes[i].why[0] && u->notes[i].at < CHAN_BATCH_MAX);
	for (size_t i = 0; i < u->nmsgs; i++)
		check_message(&u->msgs[i]);
}

/* The smaller answers: nothing to promise but that they end. */
static void read_the_others(struct view v)
{
	struct wire_config config;
	struct wire_sent sent;
	struct wire_qr qr;
	struct wire_scanned scanned;

	(void)wire_read_config(v, &config, NULL);
	if (wire_read_sent(v, &sent, NULL) == 0 && wire_outcome(&sent) == CHAN_ACCEPTED)
		must(sent.code.code == 0 && sent.message_id[0]);
	if (wire_read_qr(v, &qr, NULL) == 0 && qr.code.code == 0)
		must(qr.key[0] && qr.text[0]);
	if (wire_read_scanned(v, &scanned, NULL) == 0 && scanned.status == WIRE_SCAN_CONFIRMED)
		must(scanned.bot_id[0] && scanned.token[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct wire_update u;
	struct err e = ERR_INIT;

	if (wire_read_update(&u, v, &e) < 0) {
		must(!u.tree && !u.blocks && !u.msgs);
		must(e.code == E_FORMAT && e.msg[0]);
	} else {
		check_update(&u);
		wire_update_release(&u);
	}
	read_the_others(v);
	return 0;
}
