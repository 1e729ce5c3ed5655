/* channel/dispatcher-private.h: shared by dispatcher.c (what happens during a turn),
 * dispatcher_next.c (which message is next, and the begin of its turn) and dispatcher_end.c (the
 * end of a turn). */
#ifndef CHANNEL_DISPATCHER_PRIVATE_H
#define CHANNEL_DISPATCHER_PRIVATE_H

#include "channel/dispatcher.h"
#include "channel/parcel.h"
#include "channel/prompt.h"

enum fate {
	FATE_RUNS,
	FATE_STOPPED,   /* /stop: the user has been told */
	FATE_ABANDONED, /* nobody waits for it any more */
	FATE_SHUTDOWN
};

/* How a turn ended, until it is on disk. */
struct ending {
	enum inbox_state row;
	enum engine_fail fail;
	char detail[301];
	struct str text;
	bool acted, history_lost;
};

struct dispatcher {
	const struct room *room;
	struct outbox *outbox;
	struct media *media;
	struct questions *questions;
	struct turns *turns;
	struct timer *kick, *progress, *store;
	dispatcher_event_cb *on_event;
	void *arg;

	bool running;
	bool failing;           /* the database failed at the last try; logged once */
	struct inbox_item item; /* of the running turn; seq 0: none */
	struct prompt prompt;   /* of item */
	int64_t awaited;        /* the head, which item holds, is not ready; 0: none is awaited */
	int64_t dropped;        /* it was stopped while it was awaited */
	struct str note;        /* ahead of its text: what the agent is to be told */
	bool streamed;          /* a terminal has been shown some of its answer */
	uint64_t turn;
	enum fate fate;
	struct parcel *parcel; /* the files of it; NULL: none can be taken */
	struct ending ending;
	bool pending; /* it ended, but could not be stored yet */
	uint64_t handled, failed;

	dispatcher_idle_cb *idle;
	void *idle_arg;
};

bool dispatcher_from_phone(const struct dispatcher *d); /* the running turn, or the one awaited */
void dispatcher_typing(struct dispatcher *d, bool on);
void dispatcher_hurry(struct dispatcher *d, bool on);
/* The database failed: once more in a while. */
void dispatcher_blocked(struct dispatcher *d, const struct err *e);

/* dispatcher_next.c: takes the next that can run, if there is one. */
void dispatcher_take(struct dispatcher *d);
/* The head of the queue, in d->item, is waited for; or nothing is. */
void dispatcher_await(struct dispatcher *d, bool on);

/* dispatcher_end.c: the turn has ended. */
void dispatcher_done(struct dispatcher *d, const struct engine_event *ev);
void dispatcher_end_again(struct dispatcher *d); /* it could not be stored before */
/* To whoever sent d->item, whose turn was cut off. */
int dispatcher_say_interrupted(struct dispatcher *d, struct err *e);

#endif
