/* channel/part.h: the stored parts of replies, and what became of each. Storage only: when a part
 * is sent, and what follows from an outcome, is the outbox's. */
#ifndef CHANNEL_PART_H
#define CHANNEL_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/room.h"
#include "channel/spool.h"

enum part_kind {
	PART_TEXT,     /* from the operator or the engine, outside any turn */
	PART_PROGRESS, /* "still working" */
	PART_REPLY,    /* of a command, or on a message that was not taken */
	PART_ANSWER,
	PART_QUESTION,
	PART_FAILURE, /* a turn or a part failed */
	PART_STOP
};
#define PART_KINDS 7

enum part_state {
	PART_WAITING,
	PART_IN_FLIGHT,
	PART_ACCEPTED,
	PART_UNCONFIRMED, /* accepted without an id */
	PART_REFUSED,     /* never again */
	PART_UNKNOWN,     /* may have arrived; given up */
	PART_PARKED,      /* until the user writes */
	PART_DROPPED
};

#define PART_TEXT_MAX ((size_t)64 << 10)

/* Of a part that is a file. */
struct part_file {
	char spool[SPOOL_ID];             /* its copy; "": the part is a text */
	char md5[SPOOL_MD5];              /* "": it is still being copied */
	char name[SENDABLE_NAME_MAX + 1]; /* as the phone shows it */
	enum chan_item_kind kind;
	int64_t size;
};

struct part {
	int64_t seq, place;
	int sub; /* order within a place, after a part was cut again */
	char user[CHAN_ID_MAX + 1];
	enum part_kind kind;
	bool urgent; /* goes before what is not */
	enum part_state state;
	uint64_t turn;
	int attempts, refusals;
	bool counted;           /* among the sends of the present window */
	enum chan_outcome last; /* of the last attempt */
	char client_id[64];
	struct part_file file;
	struct str text; /* of a file: its name */
};
void part_init(struct part *p);
void part_release(struct part *p);

/* A new waiting part. sub 0 puts it at the end, else right behind `place`. word is its key for
 * part_merge, or -1. */
struct part_new {
	const char *user;
	enum part_kind kind;
	bool urgent;
	uint64_t turn;
	int64_t place;
	int sub, refusals, word;
	struct view text;
	const struct part_file *file; /* NULL: none; with it: */
	const char *source;           /* where the file lies, to tell it; "": nowhere else */
	struct view rest; /* stands in for a file that fails: parts, PART_REST_MARK between */
};
#define PART_REST_MARK '\x1e' /* in no formatted text */
int part_add(const struct room *r, const struct part_new *n, int64_t *seq, struct err *e);

/* A part with this word that waits and was never tried: counted up, *n is its new count. 1, 0, -1.
 */
int part_merge(const struct room *r, const char *user, int word, int64_t *seq, int *n,
	struct err *e);
int part_set_text(const struct room *r, int64_t seq, struct view text, struct err *e);
/* As above, as another message to the server: a new client id, attempts from nought. */
int part_recut(const struct room *r, int64_t seq, struct view text, struct err *e);

/* The copy is there. */
int part_copied(const struct room *r, const char *spool, const char *md5, struct err *e);

/* The first waiting part of user. 1, 0, -1; unfit rows are dropped on the way. */
int part_head(const struct room *r, const char *user, struct part *out, struct err *e);
/* The next user after `user` ("" begins) who has waiting parts. 1, 0, -1. */
int part_next_user(const struct room *r, char user[CHAN_ID_MAX + 1], struct err *e);

/* The one way a part changes its state; logs it. */
int part_move(const struct room *r, int64_t seq, enum part_state to, const char *why,
	struct err *e);
int part_launched(const struct room *r, const struct part *p, struct err *e);
int part_landed(const struct room *r, const struct part *p, enum chan_outcome what,
	const char *message_id, struct err *e);

void part_client_id(const struct room *r, char out[64]); /* never used before */

struct part_ref {
	int64_t seq;
	enum part_kind kind;
};
struct part_refs {
	struct part_ref *v;
	size_t n;
};
/* Parts that an SQL condition picks, in order; types and arguments as sql_run's. */
int part_select(const struct room *r, struct part_refs *out, struct err *e, const char *where,
	const char *types, ...);
void part_refs_release(struct part_refs *refs);

int part_count(const struct room *r, int *n, struct err *e, const char *where, const char *types,
	...);
/* Finished parts and forgotten parked ones past 30 days, or past the newest 2,000. */
int part_prune(const struct room *r, struct err *e);

#endif
