/* channel/room.h: what the parts of this room share: the handles they were given and the settings
 * that may change while they run. One instance, control's; the others only read it. */
#ifndef CHANNEL_ROOM_H
#define CHANNEL_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "channel/channel.h"
#include "channel/ears.h"
#include "channel/words.h"
#include "formatter/formatter.h"

struct room {
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct channel *channel;
	const struct chan_ears *ears; /* NULL: nobody can hear a voice */
	const char *bot, *owner;
	int64_t server_ms; /* the latest time that the server has put on a message; 0: none yet */
	enum control_language language;
	size_t text_limit;
	enum format_mode mode;
	int queue_limit;
	int64_t ask_ms;                   /* that a question stays open; 0: the default */
	const char *media;                /* folder of what was received */
	int64_t media_max;                /* bytes of one file */
	int media_days;                   /* that files are kept */
	int64_t media_keep;               /* bytes of them all */
	const char *workspace, *outgoing; /* folders; NULL: no file can be sent */
	int64_t file_max;                 /* bytes of one that is sent */
	int64_t merge_ms;                 /* within which messages are one; 0: they never are */
	char *const *allowed;             /* NULL-terminated, or NULL */
};

/* The owner and those he named; nobody while there is no owner. */
bool room_is_owner(const struct room *r, const char *user);
bool room_serves(const struct room *r, const char *user);

/* Wall time for what is kept, Unix milliseconds. Our clock may be wrong in either direction; what
 * the server has said is a bound from below. */
int64_t room_now(const struct room *r);
/* Wall time by which things grow too old to be kept: what our clock alone claims does not count, so
 * that a clock that jumps ahead deletes nothing. */
int64_t room_age(const struct room *r);

#endif
