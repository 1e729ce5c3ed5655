#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		return 0;
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* CLOCK_BOOTTIME and not CLOCK_MONOTONIC: after the lid was closed for an hour, an hour is gone. */
static int64_t system_mono(void *arg)
{
	(void)arg;
	return read_ms(CLOCK_BOOTTIME);
}

static int64_t system_wall(void *arg)
{
	(void)arg;
	return read_ms(CLOCK_REALTIME);
}

const struct clock *clock_system(void)
{
	static const struct clock c = { .mono_ms = system_mono, .wall_ms = system_wall };

	return &c;
}

int64_t clock_mono(const struct clock *c)
{
	return c->mono_ms(c->arg);
}

int64_t clock_wall(const struct clock *c)
{
	return c->wall_ms(c->arg);
}
