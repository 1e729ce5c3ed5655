/* channel/dispatcher.h: takes the head of the queue, runs one turn of the engine, and hands its
 * answer to the outbox. "Running" is on disk before the engine starts; the end of the row, what the
 * engine saves and every reply part are one transaction. No turn ends with nothing said. */
#ifndef CHANNEL_DISPATCHER_H
#define CHANNEL_DISPATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/turn.h"
#include "base/err.h"
#include "channel/inbox.h"
#include "channel/media.h"
#include "channel/outbox.h"
#include "channel/question.h"
#include "channel/room.h"

#define DISPATCHER_PROGRESS_MS 30000 /* then "still working" is said, once */

struct dispatcher;

/* An event of a turn that came from the terminal; seq is its row. */
typedef void dispatcher_event_cb(void *arg, int64_t seq, const struct engine_event *ev);
typedef void dispatcher_idle_cb(void *arg);

struct dispatcher_env {
	const struct room *room;
	struct outbox *outbox;
	struct media *media;
	struct engine *engine;
	int64_t deadline_ms;
	dispatcher_event_cb *on_event;
	void *arg;
};

/* Heals: who waited for a turn that a crash cut off is told, and may /retry; it is not run again.
 */
int dispatcher_open(struct dispatcher **out, const struct dispatcher_env *env, struct err *e);
void dispatcher_close(struct dispatcher **d);
void dispatcher_run(struct dispatcher *d);
void dispatcher_kick(struct dispatcher *d); /* something waits, or may go on */

struct dispatcher_now {
	uint64_t turn;
	int64_t seq, age_ms;
	char user[CHAN_ID_MAX + 1];
	enum origin origin;
	bool fenced; /* stopped, but the engine has not ended yet */
};
bool dispatcher_now(const struct dispatcher *d, struct dispatcher_now *out); /* false: idle */
uint64_t dispatcher_handled(const struct dispatcher *d); /* turns ended since the start */
uint64_t dispatcher_failed(const struct dispatcher *d);  /* those of them that failed */

/* The fence falls at once: nothing of the running turn is said any more. False: none ran. */
bool dispatcher_stop(struct dispatcher *d);
/* The message that would run next, but still waits for its files or for what may join it, is not
 * run: its fetches end at once. out tells which (turn 0); false: none waits so. */
bool dispatcher_stop_awaited(struct dispatcher *d, struct dispatcher_now *out);
/* Whose message that is; NULL: none. */
const char *dispatcher_awaits(const struct dispatcher *d);
/* As dispatcher_stop, and nobody is there to be told. */
void dispatcher_abandon(struct dispatcher *d);
/* Takes nothing more; a running turn is cancelled and its sender told. cb once nothing runs. */
void dispatcher_shutdown(struct dispatcher *d, dispatcher_idle_cb *cb, void *arg);

int dispatcher_paused(const struct dispatcher *d, bool *on, struct err *e);
int dispatcher_pause(struct dispatcher *d, bool on, struct err *e); /* kept over a restart */
struct questions *dispatcher_questions(struct dispatcher *d);
int dispatcher_answer(struct dispatcher *d, const char *id, int choice, struct err *e);

#endif
