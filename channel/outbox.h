/* channel/outbox.h: reply parts on their way out, and what became of each.
 *
 * A part is stored with its own client id before it is sent. Parts of a user go in order, one at a
 * time, a second apart; users take turns. Each message of a user pays for ten sends within a day:
 * 1 to 7 are for anything, 8 for answers, 9 for a question, 10 for a failure or a stop. What may
 * not be sent is parked, on disk, until the user writes. "Accepted" is never "delivered".
 *
 * What changes rows may stand in the caller's transaction; outbox_kick is called after its commit.
 */
#ifndef CHANNEL_OUTBOX_H
#define CHANNEL_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/part.h"
#include "channel/room.h"
#include "channel/spool.h"

#define OUTBOX_ATTEMPTS    3    /* of one part, restarts included */
#define OUTBOX_PARTS_MAX   1000 /* of one answer; the rest is cut off, and said to be */
#define OUTBOX_SPACING_MS  1000
#define OUTBOX_THROTTLE_MS 90000
#define OUTBOX_BARE_MS     2000
#define OUTBOX_EXPIRED_MS  5000
#define OUTBOX_RECUT       1800 /* characters: what is longer is cut again after a bare refusal */
#define OUTBOX_AUTO        4    /* parked parts that go when the user writes anything */
#define OUTBOX_TYPING_MS   3000 /* an upload that takes longer is shown as typing */
#define OUTBOX_LONG        ((size_t)256 << 10) /* bytes of an answer that are formatted */

struct outbox;

int outbox_cap(enum part_kind kind); /* the last send of a window that a kind may use */

/* A question's part met its fate: shown (accepted, and when that was heard), or it never will be
 * (-1). From the loop. */
typedef void outbox_question_cb(void *arg, int64_t part, int64_t shown_at);

/* Heals what a crash left: a part in flight waits again, or is unknown after its last attempt.
 * Sends nothing before outbox_run. */
int outbox_open(struct outbox **out, const struct room *r, struct err *e);
void outbox_close(struct outbox **o);
void outbox_on_question(struct outbox *o, outbox_question_cb *cb, void *arg);
void outbox_run(struct outbox *o);
/* Starts no further send; cb when the one in flight has landed and is stored. */
void outbox_halt(struct outbox *o, void (*cb)(void *), void *arg);
bool outbox_flying(const struct outbox *o);
void outbox_kick(struct outbox *o);
/* What has landed is stored, if it can be: what came in behind it may answer it. */
void outbox_settle(struct outbox *o);
void outbox_link(struct outbox *o, enum chan_link link);
/* A turn works for this user: shown while it does. NULL: for none. */
void outbox_typing(struct outbox *o, const char *user);

/* Plain text (of ours), or Markdown (of an engine) that is formatted first. Cut into as many parts
 * as it needs; *last (or NULL) is the last of them. */
int outbox_add(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	struct view text, int64_t *last, struct err *e);
/* The answer of a turn. One of more parts than may still be sent goes as its first part and a file
 * with all of it; what the file stands for is kept, and is parked text when the file fails. */
int outbox_add_answer(struct outbox *o, const char *user, uint64_t turn, struct view markdown,
	bool *empty, struct err *e);
/* A file behind what is queued; its copy was begun in outbox_spool(). */
struct outbox_file {
	const char *spool; /* id of the copy */
	const char *name, *source;
	int64_t size;
	struct view caption; /* a part of its own ahead of it; empty: none */
};
int outbox_add_file(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	const struct outbox_file *f, struct err *e);
/* "NAME could not be sent", why (SPOOL_... or CHAN_UPLOAD_...), and where it still is. */
int outbox_file_failed(struct outbox *o, const char *user, uint64_t turn, const char *name,
	const char *why, const char *source, struct err *e);
struct spool *outbox_spool(struct outbox *o); /* NULL: no file can be sent */
bool outbox_copying(const struct outbox *o);  /* a file that is to go has not been copied yet */
int outbox_add_markdown(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	struct view markdown, bool *empty, struct err *e);
/* One text of the table in the user's language. */
int outbox_notice(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	enum word w, const char *arg, struct err *e);
/* As above, but while such a notice is still unsent it is only counted: {1} is how many, {2} arg.
 */
int outbox_merge(struct outbox *o, const char *user, enum part_kind kind, enum word w,
	const char *arg, struct err *e);
/* A text that could not be stored (the disk is full): sent once, as soon as the line is free, and
 * forgotten. Only one waits at a time. */
void outbox_shout(struct outbox *o, const char *user, const char *token, struct view text);

/* The user has written: the window is open anew and the newest token is used. */
int outbox_heard(struct outbox *o, const char *user, const char *token, enum control_language lang,
	struct err *e);
/* Parked parts wait again, the oldest first, at most max; *n tells how many. */
int outbox_release(struct outbox *o, const char *user, int max, int *n, struct err *e);
/* Answers that may not have arrived are tried once more, as the user asked for it. */
int outbox_again(struct outbox *o, const char *user, int *n, struct err *e);
bool outbox_has_parked(struct outbox *o, const char *user);

/* /stop, first half: nothing in flight goes on. turn 0: whatever is being sent to user. What
 * belongs to the stopped will not be tried again. */
void outbox_fence(struct outbox *o, const char *user, uint64_t turn);
/* Second half, on disk: unsent parts are dropped; *n tells how many, the one in flight included. */
int outbox_drop(struct outbox *o, const char *user, uint64_t turn, int *n, struct err *e);
int outbox_drop_progress(struct outbox *o, uint64_t turn, struct err *e);
/* One part, if it still waits. */
int outbox_cancel(struct outbox *o, int64_t part, struct err *e);

struct outbox_counts {
	int unsent, parked;
	int refused, unknown, unconfirmed; /* in the last 24 hours */
};
/* user NULL: of all. */
int outbox_counts(struct outbox *o, const char *user, struct outbox_counts *out, struct err *e);

#endif
