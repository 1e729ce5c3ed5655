/* channel/control.h: the top of the room: takes each received message in, answers what never waits
 * (slash commands, answers to open questions), and gives cli its handles on a running daemon.
 * Below it: dispatcher, outbox, inbox. */
#ifndef CHANNEL_CONTROL_H
#define CHANNEL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/turn.h"
#include "base/db/db.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "channel/channel.h"
#include "channel/ears.h"
#include "channel/words.h"
#include "formatter/formatter.h"

struct control;

/* What may change while the daemon runs (SIGHUP). Copied. */
struct control_settings {
	enum control_language language;
	size_t text_limit; /* code points a part */
	enum format_mode mode;
	int queue_limit;                  /* 1..1000 */
	const char *const *allowed_users; /* NULL-terminated; besides the owner. NULL: none */
	int64_t ask_ms;                   /* that a question stays open; 0: 10 minutes */
	int64_t media_max;                /* bytes of one received file */
	int media_days;                   /* that received files are kept */
	int64_t media_keep;               /* bytes of them all */
	int64_t merge_ms; /* within which what is sent beside a picture belongs to it; 0: off */
	int64_t file_max; /* bytes of a file that is sent */
};

struct control_env {
	struct loop *loop;
	struct log *log;
	struct db *db;              /* tables channel_* are migrated by control_open */
	struct channel *channel;    /* started by cli with control_events() */
	struct engine *engine;      /* control runs it through turn.h */
	int64_t deadline_ms;        /* of a turn; 0: TURN_DEADLINE_MS */
	const char *bot_id, *owner; /* owner "": nobody is served */
	const char *media;          /* folder of ours for what is received, 0700 */
	/* Files are sent from the one, by way of copies in the other ($KAIRO_HOME/outgoing). NULL:
	 * none can be. They outlive the control. */
	const char *workspace, *outgoing;
	/* What /status shows of rooms the channel does not see; may be NULL. */
	void (*more_status)(void *arg, bool zh, struct str *out);
	/* The answer to /policy: what requests from the phone may do. */
	void (*policy)(void *arg, bool zh, struct str *out);
	void *more_arg;               /* of both */
	const struct chan_ears *ears; /* stays good; NULL: nobody can hear a voice */
};

/* Opens inbox, outbox and dispatcher, heals what a crash left (the interrupted turn's sender is
 * told, parts in flight wait for another attempt or become unknown), but starts nothing. */
int control_open(struct control **out, const struct control_env *env,
	const struct control_settings *s, struct err *e);
void control_close(struct control **c);
int control_apply(struct control *c, const struct control_settings *s, struct err *e);
void control_events(struct control *c, struct chan_events *out); /* to hand to channel start */
/* The channel is up: begin to take from the FIFO and to send. */
void control_run(struct control *c);
/* The daemon ends: the turn is cancelled (its sender is told at the next start), what is unsent
 * stays stored. done fires once, from the loop, at most grace_ms later. */
void control_shutdown(struct control *c, int64_t grace_ms, void (*done)(void *), void *arg);

/* --- For the control socket, status and the terminal ------------------------------------------ */
struct control_status {
	int waiting, limit; /* FIFO */
	bool paused;
	uint64_t turn; /* 0: none runs */
	int64_t turn_age_ms;
	int sends_used, sends_limit; /* of the owner's newest message; limit 10 */
	int64_t window_left_ms;      /* until the owner's reply window closes; 0: closed */
	int unsent;                  /* reply parts waiting or in flight */
	int parked, refused, unknown, unconfirmed; /* reply parts */
	uint64_t handled, failed;         /* turns ended since the start; those that failed */
	int64_t media_files, media_bytes; /* received files that are kept */
	char intake_error[256];           /* why messages cannot be stored now; "" when they can */
};
int control_status(struct control *c, struct control_status *out, struct err *e);
int control_pause(struct control *c, bool on, struct err *e); /* kept over a restart */
/* *stopped: whether a turn was running; *dropped: messages removed (all only). */
int control_stop(struct control *c, bool all, bool *stopped, int *dropped, struct err *e);
/* Queue a text (empty: none) and behind it files to a user by way of the outbox. All of it or, with
 * -1, nothing. E_DENIED: the reply window is closed or the user is not known, or a file may not be
 * sent; the message says which. paths are absolute. to NULL: the owner. */
int control_send(struct control *c, const char *to, struct view text, const struct view *paths,
	size_t npaths, struct err *e);
/* A prompt from the terminal, through the FIFO as one of the owner's; its events come to cb instead
 * of the phone. */
typedef void control_ask_cb(void *arg, const struct engine_event *ev);
int control_ask(struct control *c, struct view text, control_ask_cb *cb, void *arg,
	uint64_t *ticket, struct err *e);
/* An answer to an ENGINE_APPROVAL or ENGINE_QUESTION of it; choice -1: none can be had. */
int control_ask_answer(struct control *c, uint64_t ticket, const char *id, int choice,
	struct err *e);
void control_ask_cancel(struct control *c, uint64_t ticket); /* no callback afterwards */

#endif
