/* channel/media.h: what comes with a message: fetched on arrival, told apart by its content, kept
 * in a private folder for a while, and named to the engine.
 *
 *     DIR/USERKEY/YYYY-MM-DD/NAME    folders 0700, files 0600
 *
 * DIR is $KAIRO_HOME/media (room.media). Every attachment is a row (channel_media) of its message's
 * row in the inbox, from the transaction in which the message came. What a crash cuts off is still
 * "wanted" and fetched again; a file that no row knows is swept. Where the bytes are on the server
 * (URL, parameter, key) is secret, stays in the row and is wiped when the fetch is over, however it
 * ended.
 *
 * Functions on a room that change something may stand in their caller's transaction. */
#ifndef CHANNEL_MEDIA_H
#define CHANNEL_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"
#include "base/str.h"
#include "channel/channel.h"
#include "channel/ears.h"
#include "channel/room.h"

/* --- Names and types: pure functions ---------------------------------------------------------- */

#define MEDIA_KEY_HEX  16
#define MEDIA_NAME_MAX 180 /* bytes of a file's name; some more than WeChat lets people type */

/* The folder of a user: the first 16 hex digits of SHA-256 of the id. */
void media_user_key(char out[MEDIA_KEY_HEX + 1], const char *user);

/* What the content is, by its first bytes (MEDIA_HEAD of them tell all that can be told):
 * "image/jpeg", "text/plain", ...; "application/octet-stream" when it is none of the known. The
 * string lives for ever. */
#define MEDIA_HEAD 65536
const char *media_sniff(const unsigned char *head, size_t n);

/* A name for a file of ours out of what its sender claims (any bytes): one component, valid UTF-8,
 * without controls, separators or reserved forms of any system, never "" and at most MEDIA_NAME_MAX
 * bytes, cut between graphemes with the extension kept. One that has no extension gets that of the
 * type, one that is empty is named after the kind. copy > 1 makes it "NAME (copy).EXT". 0 or -1
 * (memory). */
int media_name(struct str *out, struct view claimed, enum chan_item_kind kind, const char *type,
	int copy);

/* --- Rows ------------------------------------------------------------------------------------- */

enum media_state {
	MEDIA_WANTED,
	MEDIA_FETCHED,
	MEDIA_FAILED, /* why tells */
	MEDIA_GONE    /* it was here, and its time is over */
};

enum media_why {
	MEDIA_WELL,
	MEDIA_TOO_BIG,
	MEDIA_EXPIRED, /* the server no longer has it */
	MEDIA_BROKEN,  /* no usable key, or not decrypted */
	MEDIA_OFFLINE, /* the server could not be reached */
	MEDIA_NO_DISK,
	MEDIA_NO_ROOM,     /* media.keep_mb is used up by what waits */
	MEDIA_SLOW,        /* its time was over */
	MEDIA_STOPPED,     /* by /stop, /clear, /queue drop */
	MEDIA_UNSUPPORTED, /* a kind that cannot be had */
	MEDIA_WHYS
};

#define MEDIA_TYPE_MAX 80
#define MEDIA_PATH_MAX (MEDIA_KEY_HEX + sizeof("/2026-01-01/") + MEDIA_NAME_MAX)

struct media_row {
	int64_t id;
	enum chan_item_kind kind;
	bool quoted;     /* came with the message that this one quotes */
	bool transcript; /* what is said stands in the text already */
	enum media_state state;
	enum media_why why;
	enum heard unheard; /* of a voice that is here: why there are no words of it */
	int64_t size;
	char name[MEDIA_NAME_MAX + 1]; /* safe; as claimed until it is fetched */
	char type[MEDIA_TYPE_MAX + 1]; /* "" until fetched */
	char path[MEDIA_PATH_MAX + 1]; /* relative to DIR; "" until fetched */
	struct str heard;              /* what was said, as our own ears have it */
};

struct media_list {
	struct media_row rows[TURN_FILES_MAX];
	size_t n;
};

/* The items of a message that has become row seq of the inbox, or has joined it. What does not fit
 * into TURN_FILES_MAX is left out. */
int media_add(const struct room *r, int64_t seq, const struct chan_msg *m, struct err *e);
/* Gives message seq, as quoted, what came with the message of this id: how many, or -1. */
int media_quote(const struct room *r, int64_t seq, const char *message_id, struct err *e);
/* What came with row `from` belongs to row `to`: the same message is run again. A voice that was
 * not heard is heard again. */
int media_move(const struct room *r, int64_t from, int64_t to, struct err *e);
/* What came with row seq, in order; to be released even after a failure. */
int media_load(const struct room *r, int64_t seq, struct media_list *out, struct err *e);
void media_list_release(struct media_list *l);
/* How many of row seq are still to be fetched or heard. */
int media_pending(const struct room *r, int64_t seq, int *n, struct err *e);
/* Removes what is older than media.days, and the oldest until there is less than media.keep_mb;
 * never what a waiting or running message needs: while that takes all the room, nothing more is
 * fetched. Outside of any transaction. */
int media_prune(const struct room *r, struct err *e);
/* Files kept now, and their bytes. */
int media_usage(const struct room *r, int64_t *files, int64_t *bytes, struct err *e);

/* --- Fetching and keeping --------------------------------------------------------------------- */

#define MEDIA_FETCHES  2                        /* under way at a time */
#define MEDIA_FETCH_MS ((int64_t)5 * 60 * 1000) /* for one file */
/* For all files of a message, from when its first is begun: what stalls must not hold up the queue
 * of everybody. */
#define MEDIA_MESSAGE_MS ((int64_t)10 * 60 * 1000)

struct media;

struct media_env {
	const struct room *room;
	void (*ready)(void *arg); /* a message may have all that it waited for; from the loop */
	void *arg;
};

/* Sweeps what a crash left; fetches nothing yet. */
int media_open(struct media **out, const struct media_env *env, struct err *e);
void media_close(struct media **m); /* fetches end; what is wanted stays so */
void media_run(struct media *m);    /* the channel is up */
/* Something came or was dropped: begins and ends fetches, from the loop. */
void media_kick(struct media *m);
/* Ends at once what is under way for row seq, and begins nothing more for it. Works without a disk.
 */
void media_stop(struct media *m, int64_t seq);

#endif
