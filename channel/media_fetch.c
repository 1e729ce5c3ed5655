/* Fetching on arrival, and having voices heard. What is to be done is asked of the rows each time:
 * nothing is remembered that a crash could lose. */
#include "channel/media-private.h"

#include <assert.h>
#include <stdlib.h>

#include "base/testhook.h"
#include "channel/sql.h"

#define TRIES    3
#define AGAIN_MS ((int64_t)2000) /* times the tries so far */
#define STORE_MS 30000           /* after the database has failed */

/* A message that is dropped or ended needs nothing any more. */
#define LIVE " IN (SELECT seq FROM channel_inbox WHERE state IN (0, 1))"

#define SOURCE_MAX ((size_t)16384)

/* A file under way. */
struct fetch {
	struct media *m;
	int64_t id, seq; /* of its row, and its message's; id 0: none */
	enum chan_item_kind kind;
	char name[MEDIA_NAME_MAX + 1];
	int tries;
	struct chan_fetch *wire;
	struct media_part part;
	struct timer *limit, *again;
};

struct media {
	const struct room *room;
	void (*ready)(void *arg);
	void *arg;
	bool running;
	bool failing;    /* the database, at the last try */
	int64_t stopped; /* a message for which nothing is begun; see media_stop */
	bool secrets;    /* some may lie in the database's log */
	struct timer *kick;
	struct fetch fetches[MEDIA_FETCHES];
	int64_t timed, since; /* the message whose files were begun last, and when its first was */

	/* The voice that is listened to; 0: none. */
	int64_t voice, voice_seq;
	struct hearing *hearing;
};

static void failed(struct media *m, const struct err *e)
{
	log_error(m->room->log, "media", "cannot go on for now: %s", e->msg);
	m->failing = true;
	timer_arm(m->kick, STORE_MS);
}

/* --- The end of a fetch ----------------------------------------------------------------------- */

static void release(struct fetch *f)
{
	if (f->wire)
		f->m->room->channel->ops->abort_fetch(f->m->room->channel, &f->wire);
	media_part_drop(&f->part);
	timer_disarm(f->limit);
	timer_disarm(f->again);
	f->id = f->seq = 0;
}

/* Where the file was is told nowhere any more. */
#define WIPED "full_url = '', param = '', key = ''"

static void over(struct fetch *f, int stored, struct err *e)
{
	struct media *m = f->m;

	m->secrets = true;
	release(f);
	if (stored < 0)
		failed(m, e);
	else
		media_kick(m);
	m->ready(m->arg);
}

static void fail(struct fetch *f, enum media_why why, const char *detail)
{
	struct speech_num subject = { "" };
	struct err e = ERR_INIT;
	int rc;

	log_msg(f->m->room->log, LOG_WARN, "media", speech_num(&subject, f->id),
		"a file could not be had: %s", detail);
	rc = sql_run(f->m->room->db, &e,
		"UPDATE channel_media SET state = 2, why = ?, hear = 0, " WIPED
		" WHERE id = ? AND state = 0",
		"il", (int)why, f->id);
	over(f, rc, &e);
}

/* The row could not be changed: it is still wanted, and fetched anew when it can. */
static void unkeep(const struct media *m, const struct media_kept *kept)
{
	char path[PATH_SIZE];

	if (path_join(path, m->room->media, kept->path, NULL) == 0)
		(void)file_remove(path, NULL);
}

static void keep(struct fetch *f)
{
	struct media *m = f->m;
	struct speech_num subject = { "" };
	struct media_kept kept;
	struct err e = ERR_INIT;
	int rc;

	if (media_part_keep(&f->part, view_of(f->name), f->kind, &kept, &e) < 0) {
		fail(f, MEDIA_NO_DISK, e.msg);
		return;
	}
	rc = sql_run(m->room->db, &e,
		"UPDATE channel_media SET state = 1, name = ?, type = ?, size = ?, path = ?, " WIPED
		" WHERE id = ? AND state = 0",
		"sslsl", kept.name, kept.type, kept.size, kept.path, f->id);
	test_halt("media.commit");
	if (rc < 0)
		unkeep(m, &kept);
	else
		log_msg(m->room->log, LOG_INFO, "media", speech_num(&subject, f->id),
			"%s, %lld bytes", kept.type, (long long)kept.size);
	over(f, rc, &e);
	if (rc == 0 && media_prune(m->room, &e) < 0)
		log_warn(m->room->log, "media", "old files stay: %s", e.msg);
}

/* --- On the wire ------------------------------------------------------------------------------ */

static enum media_why why_of(enum chan_fetch_end what)
{
	switch (what) {
	case CHAN_FETCH_TOO_BIG: return MEDIA_TOO_BIG;
	case CHAN_FETCH_GONE: return MEDIA_EXPIRED;
	case CHAN_FETCH_BAD: return MEDIA_BROKEN;
	case CHAN_FETCH_DISK: return MEDIA_NO_DISK;
	case CHAN_FETCHED:
	case CHAN_FETCH_UNREACHABLE: break;
	}
	return MEDIA_OFFLINE;
}

static void on_fetched(void *arg, enum chan_fetch_end what, int64_t size, const char *why)
{
	struct fetch *f = arg;

	(void)size; /* the file's own is asked for */
	f->wire = NULL;
	if (what == CHAN_FETCHED)
		keep(f);
	else if (what == CHAN_FETCH_UNREACHABLE && f->tries < TRIES)
		timer_arm(f->again, test_pause(AGAIN_MS * f->tries));
	else
		fail(f, why_of(what), why);
}

static void on_limit(void *arg)
{
	fail(arg, MEDIA_SLOW, "its time was over");
}

static int send_for(struct fetch *f, const struct str parts[3], struct err *e)
{
	struct channel *c = f->m->room->channel;
	struct chan_source src = { .kind = f->kind,
		.full_url = str_cstr(&parts[0]),
		.param = str_cstr(&parts[1]),
		.key = str_cstr(&parts[2]) };

	f->tries++;
	return c->ops->fetch(c, &f->wire, &src, f->part.fd, f->m->room->media_max, on_fetched, f,
		e);
}

/* The secrets are out of the database for as long as it takes to hand them on. */
static void try_it(struct fetch *f)
{
	struct str parts[3] = { STR_SECRET(SOURCE_MAX), STR_SECRET(SOURCE_MAX),
		STR_SECRET(SOURCE_MAX) };
	struct stmt *s = NULL;
	struct err e = ERR_INIT;
	int rc;

	rc = sql_open(&s, f->m->room->db, &e,
		"SELECT full_url, param, key FROM channel_media WHERE id = ? AND state = 0", "l",
		f->id);
	if (rc == 0)
		rc = stmt_step(s, &e);
	for (int i = 0; rc == 1 && i < 3; i++)
		str_add(&parts[i], stmt_col_text(s, i));
	stmt_close(&s);
	if (rc != 1) {
		over(f, rc, &e);
		goto out;
	}
	if (media_part_rewind(&f->part, &e) < 0)
		fail(f, MEDIA_NO_DISK, e.msg);
	else if (send_for(f, parts, &e) < 0)
		fail(f, MEDIA_BROKEN, e.msg);
out:
	for (int i = 0; i < 3; i++)
		str_wipe(&parts[i]);
}

static void on_again(void *arg)
{
	try_it(arg);
}

/* 1: the folder has not reached its budget, if only once what is old has gone. */
static int has_room(const struct room *r, struct err *e)
{
	int64_t files, bytes;

	if (media_usage(r, &files, &bytes, e) < 0)
		return -1;
	if (bytes < r->media_keep)
		return 1;
	if (media_prune(r, e) < 0 || media_usage(r, &files, &bytes, e) < 0)
		return -1;
	return bytes < r->media_keep;
}

/* What is left of a file's time, and of its message's: those of the oldest message are begun first.
 */
static int64_t time_for(struct fetch *f)
{
	struct media *m = f->m;
	int64_t now = loop_now(m->room->loop), left;

	if (m->timed != f->seq) {
		m->timed = f->seq;
		m->since = now;
	}
	left = m->since + MEDIA_MESSAGE_MS - now;
	return left < MEDIA_FETCH_MS ? left : MEDIA_FETCH_MS;
}

static void begin(struct fetch *f, const char *user)
{
	struct err e = ERR_INIT;
	int64_t ms = time_for(f);
	int room = has_room(f->m->room, &e);

	f->tries = 0;
	timer_arm(f->limit, ms);
	if (room < 0)
		over(f, -1, &e);
	else if (ms <= 0)
		on_limit(f);
	else if (room == 0)
		fail(f, MEDIA_NO_ROOM, "media.keep_mb is used up by what waits");
	else if (media_part_open(&f->part, f->m->room, user, &e) < 0)
		fail(f, MEDIA_NO_DISK, e.msg);
	else
		try_it(f);
}

/* --- Hearing ---------------------------------------------------------------------------------- */

static void stop_hearing(struct media *m)
{
	if (m->hearing)
		m->room->ears->cancel(m->room->ears->arg, &m->hearing);
	m->voice = m->voice_seq = 0;
}

static void on_heard(void *arg, enum heard what, struct view text, const char *why)
{
	struct media *m = arg;
	struct err e = ERR_INIT;
	int rc = sql_run(m->room->db, &e,
		"UPDATE channel_media SET hear = ?, unheard = ?, heard = ? WHERE id = ?", "iivl",
		(int)HEAR_OVER, (int)what, text.n ? text : VIEW(""), m->voice);

	if (what != HEARD_TEXT)
		log_warn(m->room->log, "media", "a voice was not heard: %s", why);
	m->hearing = NULL;
	m->voice = m->voice_seq = 0;
	if (rc < 0)
		failed(m, &e);
	else
		media_kick(m);
	m->ready(m->arg);
}

static void hear(struct media *m, const char *path, int64_t play_ms)
{
	const struct chan_ears *ears = m->room->ears;
	char whole[PATH_SIZE];
	struct err e = ERR_INIT;

	if (!ears)
		on_heard(m, HEARD_DEAF, VIEW_NONE, "nothing is set up to listen");
	else if (path_join(whole, m->room->media, path, &e) < 0 ||
		 ears->hear(ears->arg, &m->hearing, whole, play_ms, on_heard, m, &e) < 0)
		on_heard(m, e.code == E_UNSUPPORTED ? HEARD_DEAF : HEARD_FAILED, VIEW_NONE, e.msg);
}

/* --- What is to be done ----------------------------------------------------------------------- */

/* 1: f is the next row to be fetched, and user its sender. */
static int next_wanted(struct media *m, struct fetch *f, char user[CHAN_ID_MAX + 1], struct err *e)
{
	struct stmt *s = NULL;
	int64_t busy = 0;
	int rc;

	static_assert(MEDIA_FETCHES == 2, "while one is free, at most one is busy");
	for (int i = 0; i < MEDIA_FETCHES; i++)
		busy = m->fetches[i].id ? m->fetches[i].id : busy;
	if (sql_open(&s, m->room->db, e,
		    "SELECT m.id, m.seq, m.kind, m.name, i.user FROM channel_media m"
		    " JOIN channel_inbox i ON i.seq = m.seq WHERE m.state = 0 AND i.state IN (0, 1)"
		    " AND m.id <> ? AND m.seq <> ? ORDER BY m.seq, m.id LIMIT 1",
		    "ll", busy, m->stopped) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		f->id = stmt_col_int(s, 0);
		f->seq = stmt_col_int(s, 1);
		f->kind = (enum chan_item_kind)stmt_col_int(s, 2);
		(void)copy_z(f->name, sizeof(f->name), stmt_col_text(s, 3));
		(void)copy_z(user, CHAN_ID_MAX + 1, stmt_col_text(s, 4));
	}
	stmt_close(&s);
	return rc;
}

/* 1: a voice waits to be heard. */
static int next_voice(struct media *m, char path[MEDIA_PATH_MAX + 1], int64_t *play_ms,
	struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, m->room->db, e,
		    "SELECT id, seq, path, play_ms FROM channel_media WHERE state = 1 AND hear = ?"
		    " AND seq <> ? AND seq" LIVE " ORDER BY seq, id LIMIT 1",
		    "il", (int)HEAR_WANTED, m->stopped) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		m->voice = stmt_col_int(s, 0);
		m->voice_seq = stmt_col_int(s, 1);
		(void)copy_z(path, MEDIA_PATH_MAX + 1, stmt_col_text(s, 2));
		*play_ms = stmt_col_int(s, 3);
	}
	stmt_close(&s);
	return rc;
}

static int begin_all(struct media *m, struct err *e)
{
	char user[CHAN_ID_MAX + 1], path[MEDIA_PATH_MAX + 1];
	int64_t play_ms;
	int rc = 0;

	for (int i = 0; i < MEDIA_FETCHES; i++)
		while (rc >= 0 && !m->failing && m->fetches[i].id == 0 &&
			(rc = next_wanted(m, &m->fetches[i], user, e)) == 1)
			begin(&m->fetches[i], user);
	while (rc >= 0 && !m->failing && m->voice == 0 &&
		(rc = next_voice(m, path, &play_ms, e)) == 1)
		hear(m, path, play_ms);
	return rc < 0 ? -1 : 0;
}

/* 1: the message still waits or runs. */
static int is_live(const struct media *m, int64_t seq, struct err *e)
{
	int64_t n;

	return sql_int(m->room->db, e, &n, "SELECT 1 WHERE ?" LIVE, "l", seq);
}

/* What was dropped from the queue is not fetched to its end, and its sources are forgotten. */
static int end_dropped(struct media *m, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc >= 0 && i < MEDIA_FETCHES; i++)
		if (m->fetches[i].id && (rc = is_live(m, m->fetches[i].seq, e)) == 0)
			release(&m->fetches[i]);
	if (rc >= 0 && m->voice && (rc = is_live(m, m->voice_seq, e)) == 0)
		stop_hearing(m);
	if (rc < 0 || sql_run(m->room->db, e,
			      "UPDATE channel_media SET state = 2, why = ?, hear = 0, " WIPED
			      " WHERE state = 0 AND NOT (seq" LIVE ")",
			      "i", (int)MEDIA_STOPPED) < 0)
		return -1;
	m->secrets = m->secrets || db_changes(m->room->db) > 0;
	return 0;
}

/* What was overwritten still stands in the database's log until that is folded in. */
static int forget(struct media *m, struct err *e)
{
	int64_t n;
	int rc = sql_int(m->room->db, e, &n, "SELECT 1 FROM channel_media WHERE state = 0 LIMIT 1",
		NULL);

	if (rc != 0 || !m->secrets)
		return rc < 0 ? -1 : 0;
	if (db_fold(m->room->db, e) < 0)
		return -1;
	m->secrets = false;
	return 0;
}

static void on_kick(void *arg)
{
	struct media *m = arg;
	struct err e = ERR_INIT;

	m->failing = false;
	if (!m->running)
		return;
	if (end_dropped(m, &e) < 0 || begin_all(m, &e) < 0 || forget(m, &e) < 0)
		failed(m, &e);
}

/* --- Open and close --------------------------------------------------------------------------- */

static int open_fetch(struct fetch *f, struct media *m, struct err *e)
{
	f->m = m;
	f->part = (struct media_part){ .dir = -1, .fd = -1 };
	if (timer_new(&f->limit, m->room->loop, on_limit, f, e) < 0)
		return -1;
	return timer_new(&f->again, m->room->loop, on_again, f, e);
}

int media_open(struct media **out, const struct media_env *env, struct err *e)
{
	struct media *m = calloc(1, sizeof(*m));
	int rc = 0;

	*out = NULL;
	if (!m)
		return err_set(e, E_NOMEM, "the received files");
	m->room = env->room;
	m->ready = env->ready;
	m->arg = env->arg;
	m->secrets = true; /* of a run that was killed */
	for (int i = 0; rc == 0 && i < MEDIA_FETCHES; i++)
		rc = open_fetch(&m->fetches[i], m, e);
	if (rc < 0 || timer_new(&m->kick, m->room->loop, on_kick, m, e) < 0 ||
		media_sweep(m->room, e) < 0) {
		media_close(&m);
		return -1;
	}
	*out = m;
	return 0;
}

void media_close(struct media **mp)
{
	struct media *m = *mp;

	*mp = NULL;
	if (!m)
		return;
	stop_hearing(m);
	for (int i = 0; i < MEDIA_FETCHES; i++) {
		if (m->fetches[i].id)
			release(&m->fetches[i]);
		timer_free(&m->fetches[i].limit);
		timer_free(&m->fetches[i].again);
	}
	timer_free(&m->kick);
	free(m);
}

void media_run(struct media *m)
{
	m->running = true;
	media_kick(m);
}

void media_kick(struct media *m)
{
	timer_arm(m->kick, 0);
}

void media_stop(struct media *m, int64_t seq)
{
	m->stopped = seq;
	for (int i = 0; i < MEDIA_FETCHES; i++)
		if (m->fetches[i].seq == seq)
			release(&m->fetches[i]);
	if (m->voice_seq == seq)
		stop_hearing(m);
	media_kick(m);
}
