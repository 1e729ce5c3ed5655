/* base/clock.h: time as an argument. Deadlines stand on the monotonic clock, dates on the wall. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
	int64_t (*mono_ms)(void *arg); /* never steps back; counts while the machine sleeps */
	int64_t (*wall_ms)(void *arg); /* Unix time in milliseconds; may jump */
	void *arg;
};

const struct clock *clock_system(void);
int64_t clock_mono(const struct clock *c);
int64_t clock_wall(const struct clock *c);

#endif
