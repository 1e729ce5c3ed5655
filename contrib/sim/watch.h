/* contrib/sim/watch.h: those who want to hear when something happens: GET /control/wait and
 * GET /control/events. */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

#include "sim.h"

int watches_open(struct watches **out, struct sim *s, struct err *e);
void watches_close(struct watches **w);
/* Something of this kind changed ("sent", "login", ...): told in the next pass of the loop. */
void watches_changed(struct sim *s, const char *what);
/* Answer r with {"ok":...,"have":N} once tally t reaches count, or after ms. */
void watches_wait(struct sim *s, struct hreq *r, enum tally t, uint64_t count, int64_t ms);
/* Server-sent events, for as long as the client stays. */
void watches_stream(struct sim *s, struct hreq *r);

#endif
