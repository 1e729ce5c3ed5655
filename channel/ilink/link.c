#include "channel/ilink/link.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/text.h"

struct link {
	struct loop *loop;
	struct log *log;
	const struct chan_events *ev;
	struct timer *tell;
	struct chan_status st;
	enum chan_link told;
};

static const char *link_name(enum chan_link link)
{
	static const char *const names[] = {
		[CHAN_LINK_STARTING] = "starting",
		[CHAN_LINK_UP] = "up",
		[CHAN_LINK_DEGRADED] = "degraded",
		[CHAN_LINK_EXPIRED] = "login expired",
		[CHAN_LINK_REPLACED] = "replaced",
		[CHAN_LINK_STOPPED] = "stopped",
	};

	return names[link];
}

/* The last thing here may free the link: the receiver is free to close the channel. */
static void link_on_tell(void *arg)
{
	struct link *l = arg;
	struct chan_status st = l->st;

	if (!l->ev || st.link == l->told)
		return;
	l->told = st.link;
	l->ev->link(l->ev->arg, &st);
}

int link_new(struct link **out, struct loop *loop, struct log *log, struct err *e)
{
	struct link *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return err_set(e, E_NOMEM, "no memory for the link");
	*l = (struct link){ .loop = loop,
		.log = log,
		.st.link = CHAN_LINK_STOPPED,
		.told = CHAN_LINK_STOPPED };
	if (timer_new(&l->tell, loop, link_on_tell, l, e) < 0) {
		free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void link_free(struct link **lp)
{
	struct link *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	timer_free(&l->tell);
	free(l);
}

void link_begin(struct link *l, const struct chan_events *ev)
{
	l->ev = ev;
	link_set(l, CHAN_LINK_STARTING, "");
}

static void set_why(struct link *l, const char *why)
{
	struct view v = view_of(why);

	(void)copy_z(l->st.why, sizeof(l->st.why), view_cut(v, utf8_cut(v, sizeof(l->st.why) - 1)));
}

void link_set(struct link *l, enum chan_link to, const char *why)
{
	set_why(l, why);
	if (l->st.link == to)
		return;
	log_msg(l->log, why[0] ? LOG_WARN : LOG_INFO, "link", NULL, "%s, was %s%s%s", link_name(to),
		link_name(l->st.link), why[0] ? ": " : "", l->st.why);
	l->st.link = to;
	timer_arm(l->tell, 0);
}

void link_good(struct link *l)
{
	l->st.last_good_ms = loop_wall(l->loop);
	l->st.failures = 0;
	link_set(l, CHAN_LINK_UP, "");
}

void link_failed(struct link *l, const char *why)
{
	l->st.failures++;
	/* An expired login explains every other failure better than they do. */
	if (l->st.link == CHAN_LINK_EXPIRED)
		return;
	set_why(l, why);
	if (l->st.failures >= LINK_PATIENCE)
		link_set(l, CHAN_LINK_DEGRADED, why);
}

void link_skipped(struct link *l, size_t n)
{
	l->st.skipped += n;
}

const struct chan_status *link_status(const struct link *l)
{
	return &l->st;
}
