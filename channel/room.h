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
#include "channel/words.h"
#include "formatter/formatter.h"

struct room {
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct channel *channel;
	const char *bot, *owner;
	enum control_language language;
	size_t text_limit;
	enum format_mode mode;
	int queue_limit;
	int64_t ask_ms;       /* that a question stays open; 0: the default */
	char *const *allowed; /* NULL-terminated, or NULL */
};

/* The owner and those he named; nobody while there is no owner. */
bool room_is_owner(const struct room *r, const char *user);
bool room_serves(const struct room *r, const char *user);

#endif
