#include "channel/ilink/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/testhook.h"
#include "channel/ilink/crypt.h"

enum { TRIES = 2, AGAIN_MS = 300 };

struct verdict {
	enum chan_fetch_end end;
	char why[ERR_MSG_MAX];
};

struct chan_fetch {
	LIST_ENTRY(chan_fetch) link;
	const struct cdn *cdn;
	struct str url[TRIES]; /* in the order they are tried; each holds a secret */
	bool keyed;            /* encrypted with key; else the bytes are plain */
	struct media_key key;
	int fd;
	int64_t max, size; /* size: plain bytes written so far */
	int tries;
	struct timer *timer; /* to the next try, or to an end that is known beforehand */
	struct http_call *call;
	struct crypt *crypt;
	struct verdict now, told; /* of this try; the one that counts */
	bool over;                /* its end is being told */
	chan_fetched_cb *cb;
	void *arg;
};

struct fetcher {
	const struct cdn *cdn;
	LIST_HEAD(fetches, chan_fetch) all;
};

static void fetch_free(struct chan_fetch *f)
{
	http_cancel(&f->call);
	crypt_close(&f->crypt);
	timer_free(&f->timer);
	for (int i = 0; i < TRIES; i++)
		str_wipe(&f->url[i]);
	media_key_wipe(&f->key);
	free(f);
}

/* --- Ends ------------------------------------------------------------------------------------- */
static int fail(struct chan_fetch *f, enum chan_fetch_end end, const char *why)
{
	f->now.end = end;
	(void)snprintf(f->now.why, sizeof(f->now.why), "%s", why);
	return -1;
}

/* The receiver may do anything, close the channel too. */
static void fetch_tell(struct chan_fetch *f)
{
	f->over = true;
	LIST_REMOVE(f, link);
	f->cb(f->arg, f->told.end, f->told.end == CHAN_FETCHED ? f->size : 0, f->told.why);
	fetch_free(f);
}

/* After a try: once more, unless another one can change nothing. What the first address gave is
 * the answer when both fail: the second one is but a guess. */
static void fetch_step(struct chan_fetch *f)
{
	enum chan_fetch_end end = f->now.end;
	bool final = end == CHAN_FETCHED || end == CHAN_FETCH_TOO_BIG || end == CHAN_FETCH_DISK;

	crypt_close(&f->crypt);
	if (end != CHAN_FETCHED)
		log_info(f->cdn->log, "fetch", "try %d of %d: %s", f->tries, TRIES, f->now.why);
	if (final || f->tries == 1)
		f->told = f->now;
	if (final || f->tries == TRIES)
		fetch_tell(f);
	else
		timer_arm(f->timer, test_pause(AGAIN_MS));
}

/* --- One try ---------------------------------------------------------------------------------- */
static int write_all(struct chan_fetch *f, struct view v)
{
	while (v.n) {
		ssize_t n = pwrite(f->fd, v.p, v.n, (off_t)f->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		f->size += n;
		v = view_from(v, (size_t)n);
	}
	return 0;
}

static int fail_by_disk(struct chan_fetch *f)
{
	struct err e = ERR_INIT;

	err_sys(&e, "it cannot be written");
	return fail(f, CHAN_FETCH_DISK, e.msg);
}

/* Bytes of the file itself. */
static int keep(struct chan_fetch *f, struct view plain)
{
	if ((int64_t)plain.n > f->max - f->size)
		return fail(f, CHAN_FETCH_TOO_BIG, "it is larger than is allowed");
	return write_all(f, plain) < 0 ? fail_by_disk(f) : 0;
}

static int fetch_on_body(void *arg, struct view piece)
{
	struct chan_fetch *f = arg;
	struct err e = ERR_INIT;

	for (; piece.n; piece = view_from(piece, CRYPT_PIECE)) {
		struct view plain = view_cut(piece, CRYPT_PIECE);

		if (f->keyed && crypt_feed(f->crypt, plain, &plain, &e) < 0)
			return fail(f, CHAN_FETCH_UNREACHABLE, e.msg);
		if (keep(f, plain) < 0)
			return -1;
	}
	return 0;
}

/* The whole has come: what the cipher holds back still. */
static void take_rest(struct chan_fetch *f)
{
	struct err e = ERR_INIT;
	struct view rest = VIEW_NONE;

	f->now = (struct verdict){ .end = CHAN_FETCHED };
	if (f->keyed && crypt_end(f->crypt, &rest, &e) < 0)
		(void)fail(f, e.code == E_FORMAT ? CHAN_FETCH_BAD : CHAN_FETCH_UNREACHABLE, e.msg);
	else
		(void)keep(f, rest);
}

/* It is not there or not for us, unless the server asks us to come again. */
static bool is_gone(int status)
{
	return status >= 400 && status <= 499 && status != 408 && status != 429;
}

static void judge(struct chan_fetch *f, const struct http_result *r)
{
	char why[100];

	if (r->fail == HTTP_FAIL_STOPPED)
		return; /* by us, who said why */
	if (r->fail == HTTP_FAIL_TOO_BIG) {
		(void)fail(f, CHAN_FETCH_TOO_BIG, "it is larger than is allowed");
	} else if (r->fail != HTTP_OK_) {
		(void)fail(f, CHAN_FETCH_UNREACHABLE, r->err->msg);
	} else if (r->status / 100 != 2) {
		cdn_refusal(r, why, sizeof(why));
		(void)fail(f, is_gone(r->status) ? CHAN_FETCH_GONE : CHAN_FETCH_UNREACHABLE, why);
	} else {
		take_rest(f);
	}
}

static void fetch_on_done(void *arg, const struct http_result *r)
{
	struct chan_fetch *f = arg;

	f->call = NULL;
	judge(f, r);
	fetch_step(f);
}

static int try_start(struct chan_fetch *f)
{
	int64_t bytes = crypt_size(f->max); /* a plain one of them is refused by keep() */
	struct http_req req = { .method = "GET",
		.url = str_cstr(&f->url[f->tries++]),
		.body_max = (size_t)bytes,
		.on_body = fetch_on_body,
		.on_done = fetch_on_done,
		.arg = f };
	struct err e = ERR_INIT;

	f->size = 0;
	if (ftruncate(f->fd, 0) < 0)
		return fail_by_disk(f);
	if ((f->keyed && crypt_open(&f->crypt, &f->key, false, &e) < 0) ||
		cdn_start(&f->call, f->cdn, &req, bytes, &e) < 0)
		return fail(f, CHAN_FETCH_UNREACHABLE, e.msg);
	return 0;
}

static void fetch_on_timer(void *arg)
{
	struct chan_fetch *f = arg;

	if (f->tries == TRIES)
		fetch_tell(f);
	else if (try_start(f) < 0)
		fetch_step(f);
}

/* --- Starting --------------------------------------------------------------------------------- */
/* Without a key a picture is plain, and everything else cannot be read (9.2). */
static int read_key(struct chan_fetch *f, const struct chan_source *src, struct err *e)
{
	int rc = media_key_read(&f->key, view_of(src->key), e);

	f->keyed = rc == 1;
	if (rc == 0 && src->kind != CHAN_IMAGE)
		return err_set(e, E_FORMAT, "it came without a key");
	return rc < 0 ? -1 : 0;
}

/* The given address first: the one built by hand is answered with 500 at times (M8). */
static int find_addresses(struct chan_fetch *f, const struct chan_source *src, struct err *e)
{
	bool given = cdn_accepts(f->cdn, src->full_url);

	if (!given && !src->param[0])
		return err_set(e, E_FORMAT, "it came without a usable address");
	for (int i = 0; i < TRIES; i++) {
		bool guess = src->param[0] && (i > 0 || !given);

		f->url[i] = (struct str)STR_SECRET(CDN_URL_MAX);
		if (guess && cdn_built_url(f->cdn, src->param, NULL, &f->url[i], e) < 0)
			return -1;
		if (!guess && str_adds(&f->url[i], src->full_url) < 0)
			return err_set(e, E_NOMEM, "the address of a file");
	}
	return 0;
}

int fetch_start(struct chan_fetch **out, struct fetcher *fr, const struct chan_source *src, int fd,
	int64_t max, chan_fetched_cb *cb, void *arg, struct err *e)
{
	struct chan_fetch *f = calloc(1, sizeof(*f));
	struct err why = ERR_INIT;

	assert(max >= 0 && max < INT64_MAX / 2);
	*out = NULL;
	if (!f)
		return err_set(e, E_NOMEM, "no memory for a download");
	*f = (struct chan_fetch){ .cdn = fr->cdn, .fd = fd, .max = max, .cb = cb, .arg = arg };
	if (timer_new(&f->timer, fr->cdn->loop, fetch_on_timer, f, e) < 0)
		goto fail;
	if (read_key(f, src, &why) < 0 || find_addresses(f, src, &why) < 0) {
		if (why.code == E_NOMEM) {
			err_set(e, E_NOMEM, "%s", why.msg);
			goto fail;
		}
		f->tries = TRIES;
		(void)fail(f, CHAN_FETCH_BAD, why.msg);
		f->told = f->now;
	}
	LIST_INSERT_HEAD(&fr->all, f, link);
	timer_arm(f->timer, 0);
	*out = f;
	return 0;
fail:
	fetch_free(f);
	return -1;
}

void fetch_abort(struct chan_fetch **fp)
{
	struct chan_fetch *f = *fp;

	*fp = NULL;
	if (!f || f->over)
		return;
	LIST_REMOVE(f, link);
	fetch_free(f);
}

int fetcher_new(struct fetcher **out, const struct cdn *cdn, struct err *e)
{
	struct fetcher *fr = calloc(1, sizeof(*fr));

	*out = fr;
	if (!fr)
		return err_set(e, E_NOMEM, "no memory for downloads");
	fr->cdn = cdn;
	return 0;
}

void fetcher_free(struct fetcher **frp)
{
	struct fetcher *fr = *frp;
	struct chan_fetch *f, *next;

	*frp = NULL;
	if (!fr)
		return;
	for (f = LIST_FIRST(&fr->all); f; f = next) {
		next = LIST_NEXT(f, link);
		fetch_free(f);
	}
	free(fr);
}
