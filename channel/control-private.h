/* channel/control-private.h: shared by control.c (wiring and handles), control_ask.c (prompts of
 * the terminal), intake.c (what comes in) and command*.c (slash commands). */
#ifndef CHANNEL_CONTROL_PRIVATE_H
#define CHANNEL_CONTROL_PRIVATE_H

#include "channel/control.h"
#include "channel/dispatcher.h"
#include "channel/inbox.h"
#include "channel/media.h"
#include "channel/outbox.h"
#include "channel/question.h"
#include "channel/room.h"

#define CONTROL_STOPS 64

/* A prompt of the terminal that waits or runs. */
struct ask {
	struct ask *next;
	int64_t seq;
	control_ask_cb *cb;
	void *arg;
};

/* What a /stop has ended, before anything of it was stored. */
struct stopping {
	bool ran;
	bool again;    /* it was stopped before, and has not quite ended */
	uint64_t turn; /* 0: it was not running yet */
	int64_t seq;   /* row of the message */
	bool awaited;  /* which still waited for its files */
	char victim[CHAN_ID_MAX + 1];
};

struct control {
	struct room room;
	char *bot, *owner, *folder;
	char **allowed;
	struct engine *engine;
	struct outbox *outbox;
	struct media *media;
	struct dispatcher *dispatcher;
	void (*more_status)(void *arg, bool zh, struct str *out);
	void (*policy)(void *arg, bool zh, struct str *out);
	void *more_arg;

	struct timer *prune, *sweep, *grace;
	struct ask *asks;
	void (*done)(void *); /* of control_shutdown */
	void *done_arg;
	bool idle; /* nothing runs any more, shutting down */

	char intake_error[256];
	bool intake_told;
	/* Ids of /stop messages obeyed while they could not be stored: they come again. */
	char stops[CONTROL_STOPS][CHAN_ID_MAX + 1];
	unsigned int nstops;
};

/* --- intake.c --------------------------------------------------------------------------------- */
int intake_batch(void *arg, const struct chan_msg *msgs, size_t n, struct err *e);
int intake_settle(void *arg, struct err *e);

/* --- control_ask.c ---------------------------------------------------------------------------- */
void asks_event(void *arg, int64_t seq, const struct engine_event *ev);
void asks_sweep(void *arg);        /* those that were dropped from the queue hear of it */
void asks_drop(struct control *c); /* nobody at a terminal waits for the next start */
void asks_free(struct control *c);

/* --- command*.c ------------------------------------------------------------------------------- */
enum command_parse {
	COMMAND_NONE, /* not a command */
	COMMAND_OURS,
	COMMAND_ENGINE, /* known to the engine: waits in the queue like any message */
	COMMAND_UNKNOWN
};

struct command_call {
	const struct command *cmd;
	struct view arg;         /* behind the word, trimmed */
	char word[64];           /* as typed, in ASCII where it was full-width; for showing it */
	char number[32];         /* arg, where it is a number of full width */
	const char *engine_name; /* of a COMMAND_ENGINE: as the engine knows it */
	const char *user;
	bool owner;           /* set before it is read */
	bool denied;          /* only the owner may */
	struct stopping stop; /* of a /stop */
	enum control_language lang;
	struct str *reply; /* nothing appended: nothing is said */
};

enum command_parse command_parse(struct control *c, struct view text, struct command_call *call);
bool command_is_stop(const struct command_call *call);
void command_more(struct command_call *call);           /* as if /more had been typed */
bool command_releases(const struct command_call *call); /* do parked parts go when it comes? */
/* Fence and cancel, in memory only: works without a disk. */
void command_fence(struct control *c, const char *user, struct stopping *out);
/* What was stopped before it ran is on disk no longer in the queue. */
int command_stopped(struct control *c, const struct stopping *stop, struct err *e);
/* What was stopped, to user. */
void command_name_stopped(const struct control *c, const struct stopping *stop, const char *user,
	enum control_language lang, struct str *out);
/* In the message's transaction. Appends the reply. */
int command_run(struct control *c, struct command_call *call, struct err *e);

/* Something was dropped from the queue: prompts of the terminal hear of it, and what is fetched for
 * it ends, from the loop. */
void control_sweep(struct control *c);

#endif
