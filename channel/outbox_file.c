/* Parts that are files, and answers that become one. */
#include "channel/outbox-private.h"

#include "base/text.h"
#include "channel/sql.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WHY_CUT_OFF "cut off" /* the program ended while the file was being copied */
#define PATH_CHARS  400       /* of a path that is shown */

bool outbox_is_file(const struct part *p)
{
	return p->file.spool[0] != '\0';
}

struct spool *outbox_spool(struct outbox *o)
{
	return o->spool;
}

bool outbox_copying(const struct outbox *o)
{
	return o->spool && spool_busy(o->spool);
}

void outbox_typing(struct outbox *o, const char *user)
{
	presence_show(&o->presence, PRESENCE_TURN, user);
}

/* --- Words ------------------------------------------------------------------------------------ */

/* WeChat leaves what stands in a code span alone: a path can be read there as it is. */
static void put_code(struct str *out, struct view v)
{
	struct str safe = STR_INIT(8192);
	struct view shown;

	(void)text_safe(view_cut(v, 4096), 0, &safe);
	shown = view_cut(str_view(&safe), utf8_cut_chars(str_view(&safe), PATH_CHARS));
	str_addc(out, '`');
	for (size_t i = 0; i < shown.n; i++)
		str_addc(out, shown.p[i] == '`' ? '\'' : shown.p[i]);
	str_adds(out, shown.n < safe.n ? "…`" : "`");
	str_release(&safe);
}

static enum word word_of(const char *why)
{
	static const struct {
		const char *why;
		enum word word;
	} words_of[] = {
		{ CHAN_UPLOAD_REFUSED, W_WHY_NOT_TAKEN },
		{ CHAN_UPLOAD_UNREACHABLE, W_WHY_UNREACHABLE },
		{ CHAN_UPLOAD_UNCONFIRMED, W_WHY_NO_RECEIPT },
		{ CHAN_UPLOAD_UNREADABLE, W_WHY_UNREADABLE },
		{ SPOOL_FULL, W_WHY_DISK_FULL },
		{ SPOOL_CHANGED, W_WHY_CHANGED },
		{ WHY_CUT_OFF, W_WHY_CUT_OFF },
	};

	for (size_t i = 0; i < sizeof(words_of) / sizeof(*words_of); i++)
		if (strcmp(why, words_of[i].why) == 0)
			return words_of[i].word;
	return W_WHY_NOT_TAKEN;
}

int outbox_file_failed(struct outbox *o, const char *user, uint64_t turn, const char *name,
	const char *why, const char *source, struct err *e)
{
	enum control_language lang = peer_lang(o->room, user);
	struct str text = STR_INIT(PART_TEXT_MAX), shown = STR_INIT(2048), where = STR_INIT(4096);
	struct str reason = STR_INIT(512);
	int rc;

	put_code(&shown, view_of(name));
	put_code(&where, view_of(source));
	words_each(l, lang) {
		if (text.n)
			str_addc(&text, '\n');
		str_reset(&reason);
		words(&reason, l, word_of(why));
		words(&text, l, *source ? W_FILE_FAILED : W_WHOLE_FAILED, str_cstr(&shown),
			str_cstr(&reason), str_cstr(&where));
	}
	if (str_ok(&shown) && str_ok(&where) && str_ok(&reason) && str_ok(&text))
		rc = outbox_add(o, user, PART_FAILURE, turn, str_view(&text), NULL, e);
	else
		rc = err_set(e, E_NOMEM, "a notice");
	str_release(&text);
	str_release(&shown);
	str_release(&where);
	str_release(&reason);
	return rc;
}

/* --- A part ----------------------------------------------------------------------------------- */

static int add_part(struct outbox *o, const struct part_new *like, const struct outbox_file *f,
	struct err *e)
{
	struct part_new n = *like;
	struct part_file file = { .kind = sendable_kind(f->name), .size = f->size };

	if (copy_z(file.spool, sizeof(file.spool), view_of(f->spool)) < 0 ||
		copy_z(file.name, sizeof(file.name), view_of(f->name)) < 0)
		return err_set(e, E_FORMAT, "the name of a file is too long");
	if (spool_look(o->spool, f->spool, file.md5, NULL) == SPOOL_FAILED)
		return err_set(e, E_IO, "the copy of a file has failed");
	n.file = &file;
	n.source = f->source;
	n.urgent = part_rules[n.kind].urgent;
	return part_add(o->room, &n, NULL, e);
}

int outbox_add_file(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	const struct outbox_file *f, struct err *e)
{
	const struct part_new n = { .user = user, .kind = kind, .turn = turn, .word = -1 };
	bool empty;

	if (view_trim(f->caption).n > 0 &&
		outbox_add_markdown(o, user, kind, turn, f->caption, &empty, e) < 0)
		return -1;
	return add_part(o, &n, f, e);
}

/* --- Losing one ------------------------------------------------------------------------------- */

/* What is known of a part beside what is needed to send it. */
struct loss {
	char user[CHAN_ID_MAX + 1];
	char name[SENDABLE_NAME_MAX + 1], source[PATH_SIZE];
	uint64_t turn;
	int64_t place;
	struct str rest;
};

static int load_loss(const struct outbox *o, int64_t part, struct loss *l, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, o->room->db, e,
		    "SELECT user, name, source, turn, place, rest FROM channel_outbox"
		    " JOIN channel_file ON part = seq WHERE seq = ?",
		    "l", part) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && (copy_z(l->user, sizeof(l->user), stmt_col_text(s, 0)) < 0 ||
			       copy_z(l->name, sizeof(l->name), stmt_col_text(s, 1)) < 0 ||
			       copy_z(l->source, sizeof(l->source), stmt_col_text(s, 2)) < 0 ||
			       str_add(&l->rest, stmt_col_text(s, 5)) < 0))
		rc = err_set(e, E_FORMAT, "a stored file is unfit");
	if (rc == 1) {
		l->turn = (uint64_t)stmt_col_int(s, 3);
		l->place = stmt_col_int(s, 4);
	}
	stmt_close(&s);
	return rc;
}

/* Parked in its place: /more gives it, or any message, a little at a time. */
static int park_rest(struct outbox *o, const struct loss *l, struct err *e)
{
	struct part_new n = { .user = l->user,
		.kind = PART_ANSWER,
		.turn = l->turn,
		.place = l->place,
		.word = -1 };
	struct view rest = str_view(&l->rest);

	while (rest.n > 0) {
		struct part_ref ref = { .kind = PART_ANSWER };

		n.text = view_cut(rest, view_find(rest, PART_REST_MARK));
		rest = view_from(rest, n.text.n + 1);
		n.sub++;
		if (part_add(o->room, &n, &ref.seq, e) < 0 ||
			outbox_move(o, ref, PART_PARKED, "its file was not sent", e) < 0)
			return -1;
	}
	return 0;
}

int outbox_file_lost(struct outbox *o, struct part_ref ref, const char *why, struct err *e)
{
	struct loss l = { .turn = 0, .rest = STR_INIT(FORMAT_OUT_MAX) };
	int rc = load_loss(o, ref.seq, &l, e);

	o->sweep = true;
	if (rc >= 0 && outbox_move(o, ref, PART_REFUSED, why, e) < 0)
		rc = -1;
	if (rc == 1 && (outbox_file_failed(o, l.user, l.turn, l.name, why, l.source, e) < 0 ||
			       park_rest(o, &l, e) < 0))
		rc = -1;
	str_release(&l.rest);
	return rc < 0 ? -1 : 0;
}

/* --- Flying ----------------------------------------------------------------------------------- */

static void outbox_on_uploading(void *arg)
{
	struct outbox *o = arg;

	presence_show(&o->presence, PRESENCE_UPLOAD, o->part.user);
}

int outbox_file_open(struct outbox *o, struct err *e)
{
	const struct part_file *f = &o->part.file;
	int fd = o->spool ? spool_read(o->spool, f->spool, f->size, e)
	                  : err_set(e, E_UNSUPPORTED, "no file can be sent");

	if (fd < 0)
		return -1;
	o->file = (struct chan_file){ .kind = f->kind,
		.fd = fd,
		.name = f->name,
		.size = f->size,
		.md5 = f->md5 };
	timer_arm(o->uploading, OUTBOX_TYPING_MS);
	return 0;
}

void outbox_file_close(struct outbox *o)
{
	if (o->file.fd < 0)
		return;
	(void)close(o->file.fd);
	o->file.fd = -1;
	o->sweep = true;
	timer_disarm(o->uploading);
	presence_show(&o->presence, PRESENCE_UPLOAD, NULL);
}

int outbox_file_arrived(struct outbox *o, struct err *e)
{
	return sql_run(o->room->db, e, "UPDATE channel_file SET rest = '' WHERE part = ?", "l",
		o->part.seq);
}

/* --- Copies ----------------------------------------------------------------------------------- */

/* Parts that wait for a copy, this one or (NULL) any. */
static int lose_uncopied(struct outbox *o, const char *spool, const char *why, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e,
		"state IN (0, 1, 6) AND seq IN (SELECT part FROM channel_file WHERE md5 = ''"
		" AND (?1 IS NULL OR spool = ?1)) ORDER BY place, sub",
		"s", spool);

	for (size_t i = 0; rc >= 0 && i < refs.n; i++)
		rc = outbox_file_lost(o, refs.v[i], why, e);
	part_refs_release(&refs);
	return rc < 0 ? -1 : 0;
}

static int outbox_on_copied(void *arg, const char *id, enum spool_state state, const char *md5,
	const char *why)
{
	struct outbox *o = arg;
	struct err e = ERR_INIT;
	int rc;

	if (db_begin(o->room->db, &e) < 0)
		return -1;
	rc = state == SPOOL_READY ? part_copied(o->room, id, md5, &e)
	                          : lose_uncopied(o, id, why, &e);
	rc = sql_end(o->room->db, rc, &e);
	if (rc < 0)
		log_warn(o->room->log, "outbox", "a copied file is not noted: %s", e.msg);
	outbox_kick(o);
	return rc < 0 ? -1 : 0;
}

static int heal_copies(struct outbox *o, struct err *e)
{
	if (db_begin(o->room->db, e) < 0)
		return -1;
	return sql_end(o->room->db, lose_uncopied(o, NULL, WHY_CUT_OFF, e), e);
}

int outbox_files_open(struct outbox *o, struct err *e)
{
	o->presence.room = o->room;
	if (timer_new(&o->uploading, o->room->loop, outbox_on_uploading, o, e) < 0 ||
		heal_copies(o, e) < 0)
		return -1;
	return o->room->outgoing ? spool_open(&o->spool, o->room, outbox_on_copied, o, e) : 0;
}

void outbox_files_close(struct outbox *o)
{
	if (o->uploading)
		outbox_file_close(o);
	timer_free(&o->uploading);
	if (o->spool)
		spool_close(&o->spool);
}

/* --- Long answers ----------------------------------------------------------------------------- */

/* The beginning, up to the end of a line where there is one. */
static struct view beginning(struct view text, size_t max)
{
	struct view v = view_cut(text, max);

	if (v.n == text.n)
		return v;
	while (v.n > 0 && v.p[v.n - 1] != '\n')
		v.n--;
	return v.n > 0 ? v : view_cut(text, utf8_cut(view_cut(text, max), max));
}

/* Sends that answers may still use, what waits already not counted. */
static int sends_left(const struct outbox *o, const char *user, int *left, struct err *e)
{
	struct peer peer;
	int waiting, rc = peer_load(o->room, user, &peer, e);

	*left = 0;
	if (rc != 1 || peer_window(o->room, &peer) == 0)
		return rc < 0 ? -1 : 0;
	if (part_count(o->room, &waiting, e, "state = 0 AND counted = 0 AND user = ?", "s", user) <
		0)
		return -1;
	*left = outbox_cap(PART_ANSWER) - peer.sends - waiting;
	return 0;
}

static void name_answer(const struct outbox *o, char name[64])
{
	time_t t = (time_t)(room_now(o->room) / 1000);
	struct tm tm;

	if (!localtime_r(&t, &tm) || strftime(name, 64, "answer-%Y%m%d-%H%M.md", &tm) == 0)
		(void)copy_z(name, 64, VIEW("answer.md"));
}

static int add_first(struct outbox *o, const struct part_new *like, struct view chunk,
	struct err *e)
{
	struct part_new n = *like;
	struct str text = STR_INIT(PART_TEXT_MAX), note = STR_INIT(512);
	int rc;

	str_add(&text, chunk);
	words(&note, peer_lang(o->room, n.user), W_WHOLE_BELOW);
	if (utf8_count(chunk) + utf8_count(str_view(&note)) + 2 <= o->room->text_limit) {
		str_adds(&text, "\n\n");
		str_add(&text, str_view(&note));
	}
	n.text = str_view(&text);
	rc = str_ok(&text) && str_ok(&note) ? part_add(o->room, &n, NULL, e)
	                                    : err_set(e, E_NOMEM, "a reply");
	str_release(&text);
	str_release(&note);
	return rc;
}

/* All but the first, for when the file fails. */
static int put_rest(const struct outbox *o, const char *user, const struct chunks *c, bool cut_off,
	struct str *rest, struct err *e)
{
	for (size_t i = 1; i < c->n; i++) {
		if (rest->n > 0)
			str_addc(rest, PART_REST_MARK);
		str_add(rest, c->parts[i]);
	}
	if (cut_off) {
		str_addc(rest, PART_REST_MARK);
		words(rest, peer_lang(o->room, user), W_ANSWER_CUT);
	}
	return str_ok(rest) ? 0 : err_set(e, E_NOMEM, "an answer");
}

static int add_with_file(struct outbox *o, const struct part_new *like, const struct chunks *c,
	struct view markdown, const char *spool, bool cut_off, struct err *e)
{
	struct part_new n = *like;
	struct str rest = STR_INIT(FORMAT_OUT_MAX);
	char name[64];
	struct outbox_file f = { .spool = spool,
		.name = name,
		.source = "",
		.size = (int64_t)markdown.n };
	int rc = -1;

	name_answer(o, name);
	if (put_rest(o, n.user, c, cut_off, &rest, e) == 0 &&
		add_first(o, like, c->parts[0], e) == 0) {
		n.rest = str_view(&rest);
		rc = add_part(o, &n, &f, e);
	}
	str_release(&rest);
	return rc;
}

/* 1: the file is made, under this id. 0: the answer goes as text. */
static int make_file(struct outbox *o, const struct chunks *c, struct view markdown, bool cut_off,
	int left, char spool[SPOOL_ID])
{
	struct err e = ERR_INIT;

	if (!o->spool || c->n == 0 ||
		(!cut_off && ((size_t)(left < 0 ? 0 : left) >= c->n || left < 2)))
		return 0;
	if (spool_put_text(o->spool, markdown, spool, &e) == 0)
		return 1;
	log_warn(o->room->log, "outbox", "a long answer goes as text: %s", e.msg);
	return 0;
}

static int add_answer(struct outbox *o, const struct part_new *like, struct view markdown,
	struct chunks *c, bool cut_off, struct err *e)
{
	struct part_new n = *like;
	char spool[SPOOL_ID];
	int left, rc;

	if (sends_left(o, n.user, &left, e) < 0)
		return -1;
	if (make_file(o, c, markdown, cut_off, left, spool) == 0) {
		if (outbox_add_chunks(o, &n, c, NULL, e) < 0)
			return -1;
		return cut_off ? outbox_notice(o, like->user, PART_ANSWER, like->turn, W_ANSWER_CUT,
					 NULL, e)
		               : 0;
	}
	rc = add_with_file(o, like, c, markdown, spool, cut_off, e);
	spool_leave(o->spool, spool);
	return rc;
}

int outbox_add_answer(struct outbox *o, const char *user, uint64_t turn, struct view markdown,
	bool *empty, struct err *e)
{
	const struct part_new like = { .user = user,
		.kind = PART_ANSWER,
		.turn = turn,
		.word = -1 };
	const struct format_opts opts = { .mode = o->room->mode };
	struct view head = o->spool ? beginning(markdown, OUTBOX_LONG) : markdown;
	struct chunks c = { NULL, 0, STR_INIT(FORMAT_OUT_MAX) };
	struct str text = STR_INIT(FORMAT_OUT_MAX);
	int rc = format_text(head, &opts, &text, e);

	if (rc == 0)
		rc = outbox_cut(o->room, str_view(&text), &part_rules[PART_ANSWER], &c, e);
	if (rc == 0)
		rc = add_answer(o, &like, markdown, &c, head.n < markdown.n, e);
	*empty = rc == 0 && c.n == 0;
	str_release(&text);
	chunks_release(&c);
	return rc;
}
