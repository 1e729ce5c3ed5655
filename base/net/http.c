#include "base/net/http-private.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_CONNECTIONS = 8 };

/* --- curl on the loop ------------------------------------------------------------------------- */

static void pool_free(struct http *h);
static int multi_open(struct http *h, struct err *e);
static void call_free(struct http_call *c);

static void pool_enter(struct http *h)
{
	h->depth++;
}

/* True when the pool is gone: the caller returns at once. */
static bool pool_leave(struct http *h)
{
	if (--h->depth > 0 || !h->closing)
		return false;
	pool_free(h);
	return true;
}

/* What was cancelled while curl was running goes now. */
static void sweep_dead(struct http *h)
{
	struct http_call *c = TAILQ_FIRST(&h->calls), *next;

	for (; c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == CALL_DEAD)
			call_free(c);
	}
}

static void sweep_done(struct http *h)
{
	CURLMsg *m;
	int left;

	while (!h->closing && (m = curl_multi_info_read(h->multi, &left))) {
		CURLcode code = m->data.result;
		char *c = NULL;

		if (m->msg == CURLMSG_DONE &&
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c) == CURLE_OK)
			http_call_end((struct http_call *)(void *)c, code);
	}
}

/* curl's handle is of no more use (memory ran out inside it): every call ends, a new one is made.
 */
static void pool_broke(struct http *h, CURLMcode code)
{
	struct http_call *c;

	log_error(h->log, "http", "curl: %s; connections are dropped", curl_multi_strerror(code));
	for (size_t n = h->ncalls; n > 0 && !h->closing && (c = TAILQ_FIRST(&h->calls)); n--) {
		c->fail = HTTP_FAIL_BROKEN;
		err_set(&c->why, E_NOMEM, "%s: curl: %s", c->host, curl_multi_strerror(code));
		http_call_end(c, CURLE_OK);
	}
	if (h->closing)
		return;
	curl_multi_cleanup(h->multi);
	if (multi_open(h, NULL) < 0)
		log_error(h->log, "http", "curl: no new handle; requests will fail");
}

static void curl_act(struct http *h, curl_socket_t fd, int what)
{
	CURLMcode code;
	int running;
	long ms = -1;

	pool_enter(h);
	h->in_curl = true;
	code = curl_multi_socket_action(h->multi, fd, what, &running);
	h->in_curl = false;
	sweep_dead(h);
	sweep_done(h);
	/* curl asks for a timer only when its time changes. Ours may have run ahead of it. */
	if (!h->closing && code == CURLM_OK && !timer_armed(h->curl_timer) &&
		curl_multi_timeout(h->multi, &ms) == CURLM_OK && ms >= 0)
		timer_arm(h->curl_timer, ms);
	if (!h->closing && code != CURLM_OK && code != CURLM_BAD_SOCKET)
		pool_broke(h, code);
	(void)pool_leave(h);
}

static void socket_on_event(void *arg, int fd, int what)
{
	int ev = ((what & WATCH_READ) ? CURL_CSELECT_IN : 0) |
	         ((what & WATCH_WRITE) ? CURL_CSELECT_OUT : 0);

	curl_act(arg, fd, ev);
}

static void curl_on_timer(void *arg)
{
	curl_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int curl_wants_timer(CURLM *multi, long ms, void *arg)
{
	struct http *h = arg;

	(void)multi;
	if (ms < 0)
		timer_disarm(h->curl_timer);
	else
		timer_arm(h->curl_timer, ms);
	return 0;
}

static int curl_wants_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *old)
{
	struct http *h = arg;
	struct watch *w = old;
	int ev = what == CURL_POLL_IN    ? WATCH_READ
	         : what == CURL_POLL_OUT ? WATCH_WRITE
	                                 : WATCH_READ | WATCH_WRITE;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		watch_free(&w);
		(void)curl_multi_assign(h->multi, fd, NULL);
		return 0;
	}
	if (w)
		return watch_set(w, ev);
	if (watch_new(&w, h->loop, fd, ev, socket_on_event, h, NULL) < 0)
		return -1;
	return curl_multi_assign(h->multi, fd, w) == CURLM_OK ? 0 : -1;
}

static int multi_open(struct http *h, struct err *e)
{
	CURLM *m = curl_multi_init();

	h->multi = m;
	if (!m)
		return err_set(e, E_NOMEM, "HTTP pool");
	(void)curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
	(void)curl_multi_setopt(m, CURLMOPT_SOCKETDATA, h);
	(void)curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
	(void)curl_multi_setopt(m, CURLMOPT_TIMERDATA, h);
	(void)curl_multi_setopt(m, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	(void)curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
	return 0;
}

/* --- starting --------------------------------------------------------------------------------- */

/* Milliseconds until the rate allows another start. */
static int64_t limiter_wait(const struct http *h)
{
	int64_t wait;

	if (h->rules.rate_max <= 0 || h->nstarts < h->rules.rate_max)
		return 0;
	wait = h->starts[h->next_start] + h->rules.rate_ms - loop_now(h->loop);
	return wait > 0 ? wait : 0;
}

static void limiter_note(struct http *h)
{
	if (h->rules.rate_max <= 0)
		return;
	h->starts[h->next_start] = loop_now(h->loop);
	h->next_start = (h->next_start + 1) % h->rules.rate_max;
	if (h->nstarts < h->rules.rate_max)
		h->nstarts++;
}

static struct http_call *first_waiting(const struct http *h)
{
	struct http_call *c;

	TAILQ_FOREACH(c, &h->calls, link)
	if (c->state == CALL_WAITING)
		return c;
	return NULL;
}

static void call_start(struct http_call *c)
{
	struct http *h = c->pool;

	limiter_note(h);
	c->state = CALL_CONNECTING;
	c->connect_began = loop_now(h->loop);
	http_call_arm(c);
	if (h->multi && curl_multi_add_handle(h->multi, c->easy) == CURLM_OK)
		return;
	c->fail = HTTP_FAIL_BROKEN;
	err_set(&c->why, E_NOMEM, "%s: out of memory for the request", c->host);
	http_call_end(c, CURLE_OK);
}

static void pool_on_start(void *arg)
{
	struct http *h = arg;
	struct http_call *c;

	pool_enter(h);
	while (!h->closing && (c = first_waiting(h)) && limiter_wait(h) == 0)
		call_start(c);
	if (!h->closing && first_waiting(h))
		timer_arm(h->start_timer, limiter_wait(h));
	(void)pool_leave(h);
}

int http_start(struct http_call **out, struct http *h, const struct http_req *req, struct err *e)
{
	struct http_call *c = NULL;

	if (h->closing)
		return err_set(e, E_CANCELLED, "the HTTP pool is closing");
	if (h->ncalls >= HTTP_CALLS_MAX)
		return err_set(e, E_FULL, "%d HTTP requests are under way already", HTTP_CALLS_MAX);
	if (http_call_new(&c, h, req, e) < 0)
		return -1;
	TAILQ_INSERT_TAIL(&h->calls, c, link);
	h->ncalls++;
	c->began = loop_now(h->loop);
	http_call_arm(c);
	/* From the loop and not from here: curl may not be entered from its own callbacks, and
	 * on_done may not fire before this returns. */
	if (!timer_armed(h->start_timer))
		timer_arm(h->start_timer, limiter_wait(h));
	*out = c;
	return 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void call_free(struct http_call *c)
{
	struct http *h = c->pool;

	assert(!h->in_curl);
	if (c->easy && h->multi)
		(void)curl_multi_remove_handle(h->multi, c->easy);
	TAILQ_REMOVE(&h->calls, c, link);
	h->ncalls--;
	http_call_free(&c);
}

void http_call_end(struct http_call *c, CURLcode code)
{
	struct http *h = c->pool;
	struct http_result r;

	pool_enter(h);
	http_call_result(c, code, &r);
	c->state = CALL_DONE;
	timer_disarm(c->timer);
	/* Off curl's books first, so that the connection is free for what on_done may start. */
	if (h->multi)
		(void)curl_multi_remove_handle(h->multi, c->easy);
	c->on_done(c->arg, &r);
	call_free(c);
	(void)pool_leave(h);
}

void http_cancel(struct http_call **cp)
{
	struct http_call *c = *cp;

	*cp = NULL;
	if (!c || c->state == CALL_DONE)
		return; /* its end is being told: nothing is left to cancel */
	if (c->pool->in_curl)
		c->state = CALL_DEAD;
	else
		call_free(c);
}

/* --- the pool --------------------------------------------------------------------------------- */

/* OpenSSL finds a certificate by its hash in a folder of links, and so need not hold the whole
 * bundle in memory. True when the folder has such links. */
static bool is_hashed_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *de;
	bool found = false;

	while (d && !found && (de = readdir(d)))
		found = strlen(de->d_name) == 10 && strspn(de->d_name, "0123456789abcdef") == 8 &&
		        strcmp(de->d_name + 8, ".0") == 0;
	if (d)
		(void)closedir(d);
	return found;
}

/* A copy of the text, NULL for NULL and "". */
static int copy_text(const char **out, const char *text)
{
	*out = text && *text ? strdup(text) : NULL;
	return text && *text && !*out ? -1 : 0;
}

static int copy_rules(struct http *h, const struct http_rules *r)
{
	const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);

	h->rules = *r;
	h->rules.proxy = h->rules.ca_file = h->rules.unix_path = h->rules.user_agent = NULL;
	if (copy_text(&h->rules.proxy, r->proxy) < 0 ||
		copy_text(&h->rules.ca_file, r->ca_file) < 0 ||
		copy_text(&h->rules.unix_path, r->unix_path) < 0 ||
		copy_text(&h->rules.user_agent, r->user_agent) < 0)
		return -1;
	if (r->rate_max > 0) {
		h->starts = calloc((size_t)r->rate_max, sizeof *h->starts);
		if (!h->starts)
			return -1;
	}
	if (v->age >= CURLVERSION_SEVENTH && v->capath && is_hashed_dir(v->capath))
		return (h->ca_dir = strdup(v->capath)) ? 0 : -1;
	return 0;
}

static void free_text(const char **text)
{
	char *p;

	memcpy(&p, text, sizeof p);
	free(p);
	*text = NULL;
}

static void pool_free(struct http *h)
{
	struct http_call *c;

	while ((c = TAILQ_FIRST(&h->calls)))
		call_free(c);
	if (h->multi)
		(void)curl_multi_cleanup(h->multi);
	timer_free(&h->curl_timer);
	timer_free(&h->start_timer);
	free_text(&h->rules.proxy);
	free_text(&h->rules.ca_file);
	free_text(&h->rules.unix_path);
	free_text(&h->rules.user_agent);
	free(h->ca_dir);
	free(h->starts);
	free(h);
	curl_global_cleanup();
}

int http_open(struct http **out, struct loop *l, const struct http_rules *rules, struct log *log,
	struct err *e)
{
	struct http *h;

	/* Counted inside curl: each pool does one init and, at its end, one cleanup. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, E_NOMEM, "curl could not be set up");
	h = calloc(1, sizeof *h);
	if (!h) {
		curl_global_cleanup();
		return err_set(e, E_NOMEM, "HTTP pool");
	}
	h->loop = l;
	h->log = log;
	TAILQ_INIT(&h->calls);
	if (copy_rules(h, rules) < 0) {
		err_set(e, E_NOMEM, "HTTP pool");
		goto fail;
	}
	if (multi_open(h, e) < 0 || timer_new(&h->curl_timer, l, curl_on_timer, h, e) < 0 ||
		timer_new(&h->start_timer, l, pool_on_start, h, e) < 0)
		goto fail;
	*out = h;
	return 0;
fail:
	pool_free(h);
	return -1;
}

void http_close(struct http **hp)
{
	struct http *h = *hp;

	*hp = NULL;
	if (!h)
		return;
	pool_enter(h);
	h->closing = true;
	(void)pool_leave(h);
}
