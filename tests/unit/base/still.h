/* A clock that stands still, so that only loop_turn_clock moves time: for tests of a limit to the
 * millisecond. Tests with processes give their limits a margin instead. */
#ifndef TESTS_STILL_H
#define TESTS_STILL_H

#include "base/clock.h"

static inline int64_t still_ms(void *arg)
{
	(void)arg;
	return 1000000000;
}

static const struct clock still_clock = { still_ms, still_ms, NULL };

#endif
