/* agent/turn.h: one run of an engine: generation fence, cancel flag, deadline, single way out.
 *
 * All events of an engine pass here. After a cancel nothing of the turn but its end is let through;
 * an event of another generation is dropped; the end is reported exactly once. */
#ifndef AGENT_TURN_H
#define AGENT_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/log.h"
#include "base/loop.h"

#define TURN_DEADLINE_MS ((int64_t)60 * 60 * 1000) /* default of turn_minutes */

struct turns; /* the runner of one engine */

/* on_event also gets the events outside any turn. deliver gets the files of a running turn that
 * does not come from the terminal; NULL: none can be sent. */
int turns_open(struct turns **out, struct loop *l, struct engine *g, int64_t deadline_ms,
	engine_event_cb *on_event, engine_deliver_cb *deliver, void *arg, struct log *log,
	struct err *e);
void turns_close(struct turns **t); /* cancels; the engine is closed by its owner afterwards */

/* in->turn must be larger than that of any turn before. E_BUSY while one runs, also while a
 * cancelled one has not ended yet. */
int turns_start(struct turns *t, const struct turn_input *in, struct err *e);
/* The fence falls at once; ENGINE_DONE follows when the engine has ended (fail CANCELLED, or
 * DEADLINE when it was the clock). False: nothing was running. */
bool turns_cancel(struct turns *t);
bool turns_running(const struct turns *t); /* true until ENGINE_DONE was handed on */
int64_t turns_age_ms(const struct turns *t);
/* An answer to an open question; the deadline stands still while any is open. */
int turns_answer(struct turns *t, const char *id, int choice, struct err *e);

#endif
