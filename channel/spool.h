/* channel/spool.h: copies of the files that are on their way out, so that nothing that happens to
 * a file after it was accepted can change what is sent.
 *
 * They lie in $KAIRO_HOME/outgoing (room.outgoing), 0600, under names of ours. Copying goes in
 * slices from the loop, the MD5 that the server wants is made on the way. What no part of the
 * outbox needs and nobody has announced is removed: at the start, and whenever spool_sweep is
 * called. */
#ifndef CHANNEL_SPOOL_H
#define CHANNEL_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "channel/room.h"
#include "channel/sendable.h"

#define SPOOL_ID    33 /* name of a copy: 32 hex digits and a NUL */
#define SPOOL_MD5   33
#define SPOOL_SLICE ((size_t)1 << 20) /* bytes a pass of the loop */
#define SPOOL_FILES 200
#define SPOOL_MAX   ((int64_t)1 << 30) /* bytes of them all */

struct spool;

enum spool_state {
	SPOOL_NONE, /* not one of ours, or forgotten */
	SPOOL_COPYING,
	SPOOL_READY,
	SPOOL_FAILED
};

/* Why a copy failed. */
#define SPOOL_FULL       "full"
#define SPOOL_CHANGED    "changed"
#define SPOOL_UNREADABLE CHAN_UPLOAD_UNREADABLE

/* A copy that was left is ready, or has failed (why: one of the above). From the loop. -1: it
 * cannot be noted now, and is to be told again. */
typedef int spool_done_cb(void *arg, const char *id, enum spool_state state, const char *md5,
	const char *why);

/* Made where it is missing. */
int spool_open(struct spool **out, const struct room *r, spool_done_cb *done, void *arg,
	struct err *e);
void spool_close(struct spool **s);

/* Begins a copy of what was opened (the descriptor becomes ours, also on failure), or of body. What
 * fits into one slice is ready at once. E_FULL: there is no room. */
int spool_put(struct spool *s, struct sendable *from, char id[SPOOL_ID], struct err *e);
int spool_put_text(struct spool *s, struct view body, char id[SPOOL_ID], struct err *e);
/* md5: SPOOL_MD5 bytes, "" unless READY; *why (or NULL) of a failure. */
enum spool_state spool_look(const struct spool *s, const char *id, char md5[SPOOL_MD5],
	const char **why);
/* From here on the copy lives as long as a part of the outbox needs it; done tells of it, unless it
 * was ready or had failed before. */
void spool_leave(struct spool *s, const char *id);
void spool_drop(struct spool *s, const char *id); /* ends copying; the copy is removed */
bool spool_busy(const struct spool *s);           /* something is being copied */

/* For reading, of just that size. -1: it is gone or not what it was. */
int spool_read(const struct spool *s, const char *id, int64_t size, struct err *e);
/* Removes what is not needed; copies that were left and are not needed any more are ended. */
void spool_sweep(struct spool *s);

#endif
