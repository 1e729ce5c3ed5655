/* channel/parcel.h: the files that go to a user together, from what is handed over to what the
 * outbox has on disk. Of a turn, three ways lead here: deliver, the tags of the answer, and the out
 * folder. */
#ifndef CHANNEL_PARCEL_H
#define CHANNEL_PARCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "channel/outbox.h"
#include "channel/room.h"

#define PARCEL_FILES 20 /* of one turn */

struct parcel;

/* turn 0: what no turn has made. */
int parcel_open(struct parcel **out, const struct room *r, struct outbox *o, const char *user,
	uint64_t turn, struct err *e);
void parcel_close(struct parcel **p); /* what was not done is dropped */

/* 0: the file is taken as it is now. -1: e says why not, for the agent. */
int parcel_take(struct parcel *p, struct view path, struct view caption, struct err *e);
/* The answer is there: what it wants sent is taken out of it and taken, text gets the rest. With
 * `folder` what lies in the out folder is taken too. What is refused is kept to be told. */
int parcel_answer(struct parcel *p, struct view answer, bool folder, struct str *text,
	struct err *e);
/* Of a terminal's turn: nothing is sent; a line for each file in the out folder, which is kept.
 */
void parcel_name(const struct room *r, const char *user, struct str *text);
bool parcel_empty(const struct parcel *p); /* nothing to send, nothing to tell */

/* In the transaction that ends the turn, any number of times until it commits: a part for each
 * file, a line for the user about what was refused, and the reasons for the agent's next prompt. */
int parcel_store(struct parcel *p, enum part_kind kind, struct err *e);
void parcel_done(struct parcel *p); /* that has committed */

/* Appends, with a line end, what the agent is to be told ahead of this user's next prompt, and
 * forgets it. May stand in the caller's transaction. */
int parcel_note(const struct room *r, const char *user, struct str *out, struct err *e);

#endif
