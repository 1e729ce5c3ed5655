/* The WeChat channel: its parts put together behind the channel's operations. */
#include "channel/ilink/ilink.h"

#include <assert.h>
#include <stdlib.h>

#include "channel/ilink/api.h"
#include "channel/ilink/cdn.h"
#include "channel/ilink/fetch.h"
#include "channel/ilink/link.h"
#include "channel/ilink/notify.h"
#include "channel/ilink/poll.h"
#include "channel/ilink/send.h"
#include "channel/ilink/typing.h"

struct ilink {
	struct channel channel; /* first: an ilink is a channel */
	struct api api;
	struct cdn cdn;
	struct account *acc;
	struct chan_events ev;
	struct link *link;
	struct notify *notify;
	struct poll *poll;
	struct sender *sender;
	struct typing *typing;
	struct fetcher *fetcher;
	struct timer *stop_limit;
	bool started;
	bool goodbye, quiet; /* notifystop is done; typing is off everywhere */
	void (*stopped)(void *);
	void *stopped_arg;
};

static const struct channel_ops ilink_ops;

static struct ilink *ilink_of(struct channel *c)
{
	assert(c->ops == &ilink_ops);
	return (struct ilink *)c;
}

static void on_stale(void *arg)
{
	struct ilink *k = arg;

	poll_suspect(k->poll);
}

static int ilink_start(struct channel *c, const struct chan_events *ev, struct err *e)
{
	struct ilink *k = ilink_of(c);

	if (k->started)
		return err_set(e, E_BUSY, "the channel is running already");
	k->ev = *ev;
	k->started = true;
	link_begin(k->link, &k->ev);
	poll_start(k->poll, &k->ev);
	return 0;
}

/* --- Stopping --------------------------------------------------------------------------------- */
/* The receiver may close the channel: nothing follows its call. */
static void stop_end(struct ilink *k)
{
	void (*done)(void *) = k->stopped;

	timer_disarm(k->stop_limit);
	k->stopped = NULL;
	k->started = false;
	link_set(k->link, CHAN_LINK_STOPPED, "");
	if (done)
		done(k->stopped_arg);
}

static void stop_step(struct ilink *k)
{
	if (k->goodbye && k->quiet && k->stopped)
		stop_end(k);
}

static void ilink_on_goodbye(void *arg)
{
	struct ilink *k = arg;

	k->goodbye = true;
	stop_step(k);
}

static void ilink_on_quiet(void *arg)
{
	struct ilink *k = arg;

	k->quiet = true;
	stop_step(k);
}

static void ilink_on_stop_limit(void *arg)
{
	stop_end(arg);
}

static void ilink_stop(struct channel *c, void (*done)(void *), void *arg)
{
	struct ilink *k = ilink_of(c);
	enum chan_link link = link_status(k->link)->link;

	k->stopped = done;
	k->stopped_arg = arg;
	k->goodbye = k->quiet = false;
	poll_stop(k->poll);
	timer_arm(k->stop_limit, NOTIFY_PATIENCE_MS);
	/* A login that is over has nobody to say goodbye as. */
	if (!k->started || link == CHAN_LINK_EXPIRED || link == CHAN_LINK_REPLACED) {
		timer_arm(k->stop_limit, 0);
		return;
	}
	typing_stop(k->typing, ilink_on_quiet, k);
	notify_stop(k->notify, ilink_on_goodbye, k);
}

/* --- The rest of the operations ----------------------------------------------------------------
 */
static int ilink_send(struct channel *c, const struct chan_send *s, chan_sent_cb *cb, void *arg,
	struct err *e)
{
	return sender_send(ilink_of(c)->sender, s, cb, arg, e);
}

static void ilink_abort_send(struct channel *c)
{
	sender_abort(ilink_of(c)->sender);
}

static void ilink_typing(struct channel *c, const char *user, const char *token, bool on)
{
	typing_set(ilink_of(c)->typing, user, token, on);
}

static void ilink_hurry(struct channel *c, bool on)
{
	poll_hurry(ilink_of(c)->poll, on);
}

static void ilink_status(const struct channel *c, struct chan_status *out)
{
	const struct ilink *k = (const struct ilink *)c;

	*out = *link_status(k->link);
}

static int ilink_fetch(struct channel *c, struct chan_fetch **out, const struct chan_source *src,
	int fd, int64_t max, chan_fetched_cb *cb, void *arg, struct err *e)
{
	return fetch_start(out, ilink_of(c)->fetcher, src, fd, max, cb, arg, e);
}

static void ilink_abort_fetch(struct channel *c, struct chan_fetch **f)
{
	(void)c;
	fetch_abort(f);
}

static void ilink_close(struct channel **c)
{
	struct ilink *k;

	if (!*c)
		return;
	k = ilink_of(*c);
	*c = NULL;
	fetcher_free(&k->fetcher);
	typing_free(&k->typing);
	sender_free(&k->sender);
	poll_free(&k->poll);
	notify_free(&k->notify);
	link_free(&k->link);
	timer_free(&k->stop_limit);
	free(k);
}

static const struct channel_ops ilink_ops = {
	.name = "ilink",
	.start = ilink_start,
	.stop = ilink_stop,
	.send = ilink_send,
	.abort_send = ilink_abort_send,
	.typing = ilink_typing,
	.hurry = ilink_hurry,
	.status = ilink_status,
	.close = ilink_close,
	.fetch = ilink_fetch,
	.abort_fetch = ilink_abort_fetch,
};

static int open_parts(struct ilink *k, const struct ilink_env *env, struct err *e)
{
	if (api_init(&k->api, env, e) < 0 || cdn_init(&k->cdn, env, e) < 0 ||
		account_check_url(view_of(account_base_url(k->acc)), env->loopback, e) < 0)
		return -1;
	api_hide(&k->api, account_token(k->acc));
	if (link_new(&k->link, env->loop, env->log, e) < 0 ||
		notify_new(&k->notify, &k->api, k->acc, e) < 0 ||
		poll_new(&k->poll, &k->api, k->acc, k->link, k->notify, e) < 0 ||
		sender_new(&k->sender, &k->api, &k->cdn, k->acc, on_stale, k, e) < 0 ||
		typing_new(&k->typing, &k->api, k->acc, e) < 0 ||
		fetcher_new(&k->fetcher, &k->cdn, e) < 0 ||
		timer_new(&k->stop_limit, env->loop, ilink_on_stop_limit, k, e) < 0)
		return -1;
	return 0;
}

int ilink_open(struct channel **out, const struct ilink_env *env, struct account *acc,
	struct err *e)
{
	struct ilink *k = calloc(1, sizeof(*k));

	*out = NULL;
	if (!k)
		return err_set(e, E_NOMEM, "no memory for the channel");
	k->channel.ops = &ilink_ops;
	k->acc = acc;
	*out = &k->channel;
	if (open_parts(k, env, e) == 0)
		return 0;
	ilink_close(out);
	return -1;
}
