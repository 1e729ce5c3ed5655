#include "channel/parcel.h"

#include "base/text.h"
#include "channel/delivery.h"
#include "channel/outfolder.h"
#include "channel/peer.h"
#include "channel/sendable.h"
#include "channel/sql.h"

#include <stdlib.h>
#include <string.h>

#define NAME_CHARS 60   /* of a file that was refused */
#define NAMES_MAX  1200 /* bytes of all of these: they are to be one line, in one part */
#define NOTE_MAX   8000 /* bytes of what is told to the agent */

struct item {
	char spool[SPOOL_ID];
	char name[SENDABLE_NAME_MAX + 1];
	char *source, *caption;
	int64_t size;
	struct stat st; /* all nought: it was written into the answer */
};

struct parcel {
	const struct room *room;
	struct outbox *outbox;
	char user[CHAN_ID_MAX + 1];
	uint64_t turn;
	struct item items[PARCEL_FILES];
	size_t n;
	struct str names, reasons; /* of what was refused */
};

static void reset(struct parcel *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->items[i].source);
		free(p->items[i].caption);
	}
	p->n = 0;
	str_reset(&p->names);
	str_reset(&p->reasons);
}

int parcel_open(struct parcel **out, const struct room *r, struct outbox *o, const char *user,
	uint64_t turn, struct err *e)
{
	struct parcel *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return err_set(e, E_NOMEM, "the files of a turn");
	p->room = r;
	p->outbox = o;
	p->turn = turn;
	(void)copy_z(p->user, sizeof(p->user), view_of(user));
	p->names = (struct str)STR_INIT(NAMES_MAX);
	p->reasons = (struct str)STR_INIT(NOTE_MAX);
	return 0;
}

void parcel_close(struct parcel **pp)
{
	struct parcel *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		spool_drop(outbox_spool(p->outbox), p->items[i].spool);
	reset(p);
	str_release(&p->names);
	str_release(&p->reasons);
	free(p);
}

/* --- Taking ----------------------------------------------------------------------------------- */

static int check_count(const struct parcel *p, struct err *e)
{
	if (!outbox_spool(p->outbox))
		return err_set(e, E_UNSUPPORTED, "no file can be sent from here");
	if (p->n == PARCEL_FILES)
		return err_set(e, E_FULL,
			"%d files are sent with one answer at most; pack them into one",
			PARCEL_FILES);
	return 0;
}

static int add(struct parcel *p, struct item *it, const char *source, struct view caption,
	struct err *e)
{
	it->source = strdup(source);
	it->caption = strndup(caption.n ? caption.p : "", caption.n);
	if (it->source && it->caption) {
		p->items[p->n++] = *it;
		return 0;
	}
	free(it->source);
	free(it->caption);
	spool_drop(outbox_spool(p->outbox), it->spool);
	return err_set(e, E_NOMEM, "a file");
}

/* Handed over in two ways, and the same both times. */
static struct item *find_same(struct parcel *p, const struct sendable *s)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct stat *st = &p->items[i].st;

		if (st->st_ino == s->st.st_ino && st->st_dev == s->st.st_dev &&
			st->st_size == s->st.st_size &&
			st->st_mtim.tv_sec == s->st.st_mtim.tv_sec &&
			st->st_mtim.tv_nsec == s->st.st_mtim.tv_nsec)
			return &p->items[i];
	}
	return NULL;
}

static int has_moved(struct item *it, const char *to, struct err *e)
{
	char *copy = strdup(to);

	if (!copy)
		return err_set(e, E_NOMEM, "a file");
	free(it->source);
	it->source = copy;
	return 0;
}

/* kept: where the file lies from now on; NULL: where it is. */
static int take_open(struct parcel *p, struct sendable *s, const char *kept, struct view caption,
	struct err *e)
{
	struct item it = { .size = s->st.st_size, .st = s->st };
	struct item *same = find_same(p, s);

	if (same)
		return kept ? has_moved(same, kept, e) : 0;
	memcpy(it.name, s->name, sizeof(it.name));
	if (check_count(p, e) < 0 || spool_put(outbox_spool(p->outbox), s, it.spool, e) < 0)
		return -1;
	return add(p, &it, kept ? kept : s->path, caption, e);
}

int parcel_take(struct parcel *p, struct view path, struct view caption, struct err *e)
{
	struct sendable s;
	int rc = sendable_open(&s, p->room, p->user, path, e);

	if (rc == 0)
		rc = take_open(p, &s, NULL, caption, e);
	sendable_close(&s);
	return rc;
}

/* --- Refusing --------------------------------------------------------------------------------- */

/* Both lists end where they are full; the log has all. */
static void refuse(struct parcel *p, struct view path, const struct err *e)
{
	struct str *names = &p->names, *reasons = &p->reasons;
	struct str shown = STR_INIT(1024);

	words_excerpt(&shown, path, NAME_CHARS);
	log_info(p->room->log, "parcel", "not sent: %s: %s", str_cstr(&shown), e->msg);
	if (names->n + shown.n + 16 < names->max)
		str_addf(names, "%s%s", names->n ? ", " : "", shown.n ? str_cstr(&shown) : "?");
	else if (!view_ends(str_view(names), VIEW(", …")))
		str_adds(names, ", …");
	if (reasons->n + strlen(e->msg) + 8 < reasons->max && !strstr(str_cstr(reasons), e->msg))
		str_addf(reasons, "%s%s.", reasons->n ? " " : "", e->msg);
	str_release(&shown);
}

/* --- The answer ------------------------------------------------------------------------------- */

static int take_block(struct parcel *p, const struct delivery_file *f, struct err *e)
{
	struct str body = STR_INIT(ENGINE_ANSWER_MAX);
	struct item it = { .name = "" };
	size_t slash = f->path.n;
	int rc;

	while (slash > 0 && f->path.p[slash - 1] != '/' && f->path.p[slash - 1] != '\\')
		slash--;
	sendable_name(it.name, view_from(f->path, slash));
	rc = check_count(p, e);
	if (rc == 0)
		rc = delivery_body(f, &body, e);
	if (rc == 0)
		rc = spool_put_text(outbox_spool(p->outbox), str_view(&body), it.spool, e);
	it.size = (int64_t)body.n;
	if (rc == 0)
		rc = add(p, &it, "", VIEW_NONE, e);
	str_release(&body);
	return rc;
}

static void take_all(struct parcel *p, const struct delivery *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct delivery_file *f = &d->files[i];
		struct err e = ERR_INIT;

		if ((f->block ? take_block(p, f, &e) : parcel_take(p, f->path, VIEW_NONE, &e)) < 0)
			refuse(p, f->path, &e);
	}
	if (d->surplus > 0) {
		struct err e = ERR_INIT;

		(void)err_set(&e, E_FULL, "an answer may name %d files; %zu more were left out",
			DELIVERY_MAX, d->surplus);
		refuse(p, VIEW("…"), &e);
	}
}

/* What cannot be moved away is not sent: it would be so again with each answer. */
static void take_left(struct parcel *p, const char *name)
{
	char path[PATH_SIZE], kept[PATH_SIZE];
	struct err e = ERR_INIT;
	struct sendable s;
	int rc;

	if (path_join(path, SENDABLE_OUT, name, NULL) < 0)
		return;
	rc = sendable_open(&s, p->room, p->user, view_of(path), &e);
	if (outfolder_keep(p->room, name, kept, rc == 0 ? &e : NULL) < 0)
		rc = -1;
	if (rc == 0)
		rc = take_open(p, &s, kept, VIEW_NONE, &e);
	if (rc < 0)
		refuse(p, view_of(path), &e);
	sendable_close(&s);
}

static void take_folder(struct parcel *p)
{
	struct outfolder_list *in = malloc(sizeof(*in));
	struct err e = ERR_INIT;

	if (!in)
		return;
	outfolder_look(p->room, in);
	for (size_t i = 0; i < in->n; i++)
		take_left(p, in->name[i]);
	if (in->more) {
		(void)err_set(&e, E_FULL,
			"more than %d files lie in " SENDABLE_OUT ", and the others were left out; "
			"pack them into one",
			OUTFOLDER_MAX);
		refuse(p, VIEW("…"), &e);
	}
	free(in);
}

/* Hidden reasoning is not the answer: what it wants sent is not sent. */
static int without_thoughts(struct view answer, struct str *out, struct err *e)
{
	struct think_filter *t = NULL;
	int rc = think_open(&t, e);

	if (rc == 0 && (think_feed(t, answer, out) < 0 || think_end(t, out) < 0))
		rc = err_set(e, E_NOMEM, "an answer of %zu bytes", answer.n);
	if (rc == 0)
		str_drop(out, think_orphan(t));
	think_close(&t);
	return rc;
}

int parcel_answer(struct parcel *p, struct view answer, bool folder, struct str *text,
	struct err *e)
{
	struct str plain = STR_INIT(ENGINE_ANSWER_MAX);
	struct delivery d;
	int rc = 0;

	if (think_needed(answer)) {
		rc = without_thoughts(answer, &plain, e);
		answer = str_view(&plain);
	}
	if (rc == 0)
		rc = delivery_read(&d, answer, text, e);
	if (rc == 0)
		take_all(p, &d);
	if (folder)
		take_folder(p);
	str_release(&plain);
	return rc;
}

/* A name may hold anything; what is said of it is text. */
static void name_entry(const struct room *r, const char *user, const char *name, struct str *text)
{
	struct str shown = STR_INIT((size_t)8 * PATH_SIZE);
	char path[PATH_SIZE];

	(void)outfolder_keep(r, name, path, NULL);
	(void)text_visible(view_of(path), &shown);
	words(text, peer_lang(r, user), W_FILE_HERE, str_cstr(&shown));
	str_release(&shown);
}

void parcel_name(const struct room *r, const char *user, struct str *text)
{
	struct outfolder_list *in = malloc(sizeof(*in));

	if (in)
		outfolder_look(r, in);
	for (size_t i = 0; in && i < in->n; i++) {
		str_adds(text, i ? "\n" : "\n\n");
		name_entry(r, user, in->name[i], text);
	}
	free(in);
}

bool parcel_empty(const struct parcel *p)
{
	return p->n == 0 && p->names.n == 0;
}

/* --- On disk ---------------------------------------------------------------------------------- */

static int store_item(struct parcel *p, enum part_kind kind, const struct item *it, struct err *e)
{
	const struct outbox_file f = { .spool = it->spool,
		.name = it->name,
		.source = it->source,
		.size = it->size,
		.caption = view_of(it->caption) };
	char md5[SPOOL_MD5];
	const char *why = NULL;

	if (spool_look(outbox_spool(p->outbox), it->spool, md5, &why) == SPOOL_FAILED)
		return outbox_file_failed(p->outbox, p->user, p->turn, it->name, why, it->source,
			e);
	return outbox_add_file(p->outbox, p->user, kind, p->turn, &f, e);
}

static int store_note(struct parcel *p, struct err *e)
{
	return sql_run(p->room->db, e,
		"INSERT INTO channel_note (user, text) VALUES (?1, ?2) ON CONFLICT (user) DO UPDATE"
		" SET text = substr(text || ' ' || excluded.text, 1, ?3)",
		"svi", p->user, str_view(&p->reasons), NOTE_MAX);
}

int parcel_store(struct parcel *p, enum part_kind kind, struct err *e)
{
	for (size_t i = 0; i < p->n; i++)
		if (store_item(p, kind, &p->items[i], e) < 0)
			return -1;
	if (p->names.n == 0)
		return 0;
	if (store_note(p, e) < 0)
		return -1;
	return outbox_notice(p->outbox, p->user, PART_FAILURE, p->turn, W_FILES_REFUSED,
		str_cstr(&p->names), e);
}

void parcel_done(struct parcel *p)
{
	for (size_t i = 0; i < p->n; i++)
		spool_leave(outbox_spool(p->outbox), p->items[i].spool);
	reset(p);
}

int parcel_note(const struct room *r, const char *user, struct str *out, struct err *e)
{
	enum control_language lang = peer_lang(r, user) == LANG_EN ? LANG_EN : LANG_ZH;
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e, "SELECT text FROM channel_note WHERE user = ?", "s", user) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		struct str reasons = STR_INIT((size_t)4 * NOTE_MAX);

		str_add(&reasons, stmt_col_text(s, 0));
		words(out, lang, W_NOT_DELIVERED, str_cstr(&reasons));
		str_addc(out, '\n');
		str_release(&reasons);
	}
	stmt_close(&s);
	if (rc != 1)
		return rc;
	return sql_run(r->db, e, "DELETE FROM channel_note WHERE user = ?", "s", user);
}
