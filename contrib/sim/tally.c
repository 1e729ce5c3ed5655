/* What has happened so far, and what time it is. */
#include "sim.h"
#include "watch.h"

static const struct {
	const char *name, *topic;
} tallies[T_ALL] = {
	[T_REQUESTS] = { "requests", "requests" },
	[T_POLLS] = { "polls", "polls" },
	[T_SENT] = { "sent", "chat" },
	[T_REFUSED] = { "refused", "chat" },
	[T_TYPING] = { "typing", "typing" },
	[T_TYPING_STOP] = { "typing_stop", "typing" },
	[T_NOTIFYSTART] = { "notifystart", "link" },
	[T_NOTIFYSTOP] = { "notifystop", "link" },
	[T_LOGINS] = { "logins", "login" },
	[T_QRCODES] = { "qrcodes", "login" },
	[T_QRPOLLS] = { "qrpolls", "polls" },
	[T_UPLOADS] = { "uploads", "media" },
	[T_UPLOADS_BEGUN] = { "uploads_begun", "media" },
	[T_DOWNLOADS] = { "downloads", "media" },
	[T_MODEL_REQUESTS] = { "model_requests", "model" },
	[T_MODEL_CUT] = { "model_cut", "model" },
	[T_VIOLATIONS] = { "violations", "violations" },
	[T_INBOUND] = { "inbound", "chat" },
	[T_FETCHED] = { "fetched", "fetched" },
	[T_POLLING] = { "polling", "link" },
	[T_MODEL_OPEN] = { "model_open", "model" },
};

const char *tally_name(enum tally t)
{
	return tallies[t].name;
}

void sim_count(struct sim *s, enum tally t)
{
	s->tally[t]++;
	watches_changed(s, tallies[t].topic);
}

void sim_gauge(struct sim *s, enum tally t, int step)
{
	if (step > 0)
		s->tally[t]++;
	else if (s->tally[t])
		s->tally[t]--;
	watches_changed(s, tallies[t].topic);
}

int64_t sim_now(const struct sim *s)
{
	return loop_wall(s->loop) + s->clock_offset;
}

void sim_due_in(struct sim *s, int64_t ms)
{
	if (!timer_armed(s->tick) || timer_left(s->tick) > ms)
		timer_arm(s->tick, ms);
}

void sim_advance(struct sim *s, int64_t ms)
{
	s->clock_offset += ms;
	sim_due_in(s, 0);
}
