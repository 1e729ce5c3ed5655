#include "watch.h"

#include <stdlib.h>
#include <string.h>

#define WATCHERS_MAX 128
#define TOPICS_MAX   16
#define PENDING_MAX  ((size_t)1 << 20)

struct watcher {
	struct watcher *next, **link;
	struct watches *all;
	struct hreq *req;
	bool stream;
	enum tally t;
	uint64_t count;
	struct timer *timer;
};

struct watches {
	struct sim *sim;
	struct watcher *first;
	size_t n;
	struct timer *flush;
	const char *topics[TOPICS_MAX];
	size_t ntopics;
};

static void watcher_free(struct watcher *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->all->n--;
	timer_free(&w->timer);
	free(w);
}

static void watcher_on_gone(void *arg)
{
	watcher_free(arg);
}

static void watcher_answer(struct watcher *w)
{
	struct str s = STR_INIT(256);
	uint64_t have = w->all->sim->tally[w->t];

	str_addf(&s, "{\"ok\":%s,\"what\":\"%s\",\"have\":%llu}",
		have >= w->count ? "true" : "false", tally_name(w->t), (unsigned long long)have);
	hreq_reply(&w->req, &(struct hreply){ .status = 200, .body = str_view(&s) });
	str_release(&s);
	watcher_free(w);
}

static void watcher_on_timeout(void *arg)
{
	struct watcher *w = arg;

	if (!w->stream) {
		watcher_answer(w);
		return;
	}
	hreq_piece(w->req, VIEW(": still here\n\n"));
	timer_arm(w->timer, 15000);
}

static void tell(struct watcher *w, struct view event)
{
	if (hreq_pending(w->req) <= PENDING_MAX) {
		hreq_piece(w->req, event);
		return;
	}
	hreq_drop(&w->req, true); /* it does not read: no memory for it */
	watcher_free(w);
}

static void watches_on_flush(void *arg)
{
	struct watches *all = arg;
	struct str event = STR_INIT(1024);
	struct watcher *next;

	str_adds(&event, "data: {\"changed\":[");
	for (size_t i = 0; i < all->ntopics; i++)
		str_addf(&event, "%s\"%s\"", i ? "," : "", all->topics[i]);
	str_adds(&event, "]}\n\n");
	all->ntopics = 0;
	for (struct watcher *w = all->first; w; w = next) {
		next = w->next;
		if (w->stream)
			tell(w, str_view(&event));
		else if (all->sim->tally[w->t] >= w->count)
			watcher_answer(w);
	}
	str_release(&event);
}

int watches_open(struct watches **out, struct sim *s, struct err *e)
{
	struct watches *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return err_set(e, E_NOMEM, "out of memory");
	w->sim = s;
	return timer_new(&w->flush, s->loop, watches_on_flush, w, e);
}

void watches_close(struct watches **wp)
{
	struct watches *w = *wp;

	*wp = NULL;
	if (!w)
		return;
	for (struct watcher *at = w->first, *next; at; at = next) {
		next = at->next;
		watcher_free(at);
	}
	timer_free(&w->flush);
	free(w);
}

void watches_changed(struct sim *s, const char *what)
{
	struct watches *w = s->watches;

	if (!w)
		return;
	for (size_t i = 0; i < w->ntopics; i++)
		if (!strcmp(w->topics[i], what))
			return;
	if (w->ntopics < TOPICS_MAX)
		w->topics[w->ntopics++] = what;
	timer_arm(w->flush, 0);
}

static struct watcher *watcher_new(struct sim *s, struct hreq *r)
{
	struct watches *all = s->watches;
	struct watcher *w = all->n < WATCHERS_MAX ? calloc(1, sizeof(*w)) : NULL;

	if (!w || timer_new(&w->timer, s->loop, watcher_on_timeout, w, NULL) < 0) {
		free(w);
		hreq_reply(&r, &(struct hreply){ .status = 503,
				       .type = "text/plain",
				       .body = VIEW("too many are waiting\n"),
				       .close = true });
		return NULL;
	}
	w->all = all;
	w->req = r;
	w->next = all->first;
	w->link = &all->first;
	if (w->next)
		w->next->link = &w->next;
	all->first = w;
	all->n++;
	hreq_on_gone(r, watcher_on_gone, w);
	return w;
}

void watches_wait(struct sim *s, struct hreq *r, enum tally t, uint64_t count, int64_t ms)
{
	struct watcher *w = watcher_new(s, r);

	if (!w)
		return;
	w->t = t;
	w->count = count;
	if (s->tally[t] >= count)
		watcher_answer(w);
	else
		timer_arm(w->timer, ms);
}

void watches_stream(struct sim *s, struct hreq *r)
{
	struct watcher *w = watcher_new(s, r);

	if (!w)
		return;
	w->stream = true;
	hreq_begin(r,
		&(struct hreply){ .status = 200,
			.type = "text/event-stream",
			.extra = "Cache-Control: no-store\r\n" },
		-1);
	hreq_piece(r, VIEW("data: {\"changed\":[\"all\"]}\n\n"));
	timer_arm(w->timer, 15000);
}
