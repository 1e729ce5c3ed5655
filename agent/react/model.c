#include "agent/react/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/net/sse.h"
#include "base/testhook.h"
#include "base/text.h"

#define URL_MAX   2048
#define LINGER_MS 500 /* for the server to end a stream that has said it is over */
#define HEAD_MAX  200 /* bytes of a stream that are remembered, should it be none */

enum body_kind { BODY_UNKNOWN, BODY_EVENTS, BODY_JSON, BODY_PAGE };

enum model_state { MODEL_IDLE, MODEL_ASKING, MODEL_WAITING };

struct model {
	struct model_env env;
	char *url, *api_key, *authorization;
	struct timer *retry, *linger;

	enum model_state state;
	struct str body;
	char prefix[64];
	int attempt;

	/* of one attempt */
	struct http_call *call;
	struct sse *sse;
	struct stream *stream;
	enum body_kind kind;
	struct str whole; /* a body that is no stream; the head of one that is */
	bool spoken;      /* an event has come */
	bool over;        /* "[DONE]" was seen */
	bool garbled;
	struct err why;
};

static const char *const state_names[] = { "idle", "asking", "waiting" };

static void step(struct model *m, enum model_state to)
{
	if (m->state != to)
		log_debug(m->env.log, "model", "%s -> %s", state_names[m->state], state_names[to]);
	m->state = to;
}

/* --- One attempt ------------------------------------------------------------------------------ */

static void attempt_clear(struct model *m)
{
	timer_disarm(m->linger);
	if (m->call)
		http_cancel(&m->call);
	sse_close(&m->sse);
	stream_close(&m->stream);
	str_release(&m->whole);
	err_clear(&m->why);
	m->kind = BODY_UNKNOWN;
	m->spoken = m->over = m->garbled = false;
}

static int on_event(void *arg, struct view type, struct view data)
{
	struct model *m = arg;
	int rc = stream_event(m->stream, type, data, &m->why);

	m->spoken = true;
	if (rc > 0) {
		m->over = true;
		timer_arm(m->linger, LINGER_MS);
	}
	return rc;
}

/* The first byte that counts, behind white space and a byte order mark, in whatever pieces these
 * come, tells events from JSON and from a proxy's page. It goes to *v. */
static enum body_kind kind_of(struct view *v)
{
	size_t n = 0;

	while (n < v->n && strchr(" \t\r\n\xef\xbb\xbf", v->p[n]) && v->p[n])
		n++;
	if (n == v->n)
		return BODY_UNKNOWN;
	if (v->p[n] == '<')
		return BODY_PAGE;
	if (v->p[n] != '{' && v->p[n] != '[')
		return BODY_EVENTS;
	*v = view_from(*v, n);
	return BODY_JSON;
}

static int on_body(void *arg, struct view piece)
{
	struct model *m = arg;

	if (m->over)
		return 0;
	if (m->kind == BODY_UNKNOWN)
		m->kind = kind_of(&piece);
	if (m->kind == BODY_PAGE)
		return 1;
	if (m->kind == BODY_JSON) {
		if (str_add(&m->whole, piece) == 0)
			return 0;
		m->garbled = true;
		(void)err_set(&m->why, E_NOMEM, "the answer: out of memory"); /* http has a limit */
		return 1;
	}
	if (m->kind == BODY_EVENTS && m->whole.n < HEAD_MAX)
		(void)str_add(&m->whole, view_cut(piece, HEAD_MAX - m->whole.n));
	if (sse_feed(m->sse, piece, &m->why) == 0 || m->over)
		return 0;
	m->garbled = true; /* or an error of the provider, which the stream knows about */
	return 1;
}

static int attempt_open(struct model *m, struct err *e)
{
	m->whole = STR_INIT(STREAM_TOTAL_MAX);
	if (!m->stream && stream_open(&m->stream, &m->env.sink, e) < 0)
		return -1;
	return sse_open(&m->sse, STREAM_EVENT_MAX, STREAM_TOTAL_MAX, on_event, m, e);
}

static http_done_cb on_done;

static int attempt_start(struct model *m, struct err *e)
{
	struct http_header headers[4] = {
		{ "Content-Type", "application/json" },
		{ "Accept", m->env.stream ? "text/event-stream" : "application/json" },
	};
	struct http_req req = {
		.method = "POST",
		.url = m->url,
		.headers = headers,
		.nheaders = 2,
		.body = str_view(&m->body),
		.idle_ms = m->env.idle_ms,
		.body_max = STREAM_TOTAL_MAX,
		.error_body_max = FAULT_EVIDENCE_MAX,
		.on_body = on_body,
		.on_done = on_done,
		.arg = m,
	};

	if (attempt_open(m, e) < 0)
		return -1;
	if (m->authorization)
		headers[req.nheaders++] = (struct http_header){ "Authorization", m->authorization };
	if (m->env.header_name)
		headers[req.nheaders++] = (struct http_header){ m->env.header_name, m->env.header };
	if (http_start(&m->call, m->env.http, &req, e) < 0)
		return -1;
	step(m, MODEL_ASKING);
	return 0;
}

/* --- How it ended ----------------------------------------------------------------------------- */

static void finish_why(struct model *m, enum engine_fail fail, enum stream_answer answer,
	enum speech why, struct view words)
{
	struct str detail = STR_INIT(4096), host = STR_INIT(1024);
	struct model_result r = { .fail = fail, .answer = answer, .why = why };
	struct stream *stream = m->stream;
	struct http_url url;

	if (fail != ENGINE_OK) /* before the attempt goes, whose words they may be */
		safe_detail(words, m->api_key, &detail);
	if (fail != ENGINE_OK && http_url_parse(view_of(m->url), &url, NULL) == 0)
		(void)str_add(&host, url.host);
	/* The receiver may ask again at once: what belongs to this attempt is set aside first. */
	m->stream = NULL;
	attempt_clear(m);
	step(m, MODEL_IDLE);
	r.detail = str_cstr(&detail);
	r.host = str_cstr(&host);
	r.stream = stream;
	m->env.on_done(m->env.arg, &r);
	stream_close(&stream);
	str_release(&detail);
	str_release(&host);
}

static void finish(struct model *m, enum engine_fail fail, enum stream_answer answer,
	struct view words)
{
	finish_why(m, fail, answer, SPEECH_WHY, words);
}

/* The wait before the next attempt, or -1: there is none. */
static int64_t retry_wait(const struct model *m, int64_t retry_after_ms)
{
	int64_t wait = test_pause((int64_t)MODEL_BACKOFF_MS << m->attempt);
	int left = MODEL_RETRIES - m->attempt;

	if (left <= 0 || stream_shown(m->stream))
		return -1;
	/* Asked to wait for longer than all that is left of our patience: no use trying. */
	if (retry_after_ms > (int64_t)MODEL_RETRY_CAP_MS * left)
		return -1;
	if (retry_after_ms > wait)
		wait = retry_after_ms;
	return wait < MODEL_RETRY_CAP_MS ? wait : MODEL_RETRY_CAP_MS;
}

static bool try_again(struct model *m, int64_t retry_after_ms, const char *why)
{
	int64_t wait = retry_wait(m, retry_after_ms);
	struct stream *next = NULL; /* had now, for there is always one to tell the end with */

	if (wait < 0 || stream_open(&next, &m->env.sink, NULL) < 0)
		return false;
	log_info(m->env.log, "model", "%s; attempt %d in %lld ms", why, m->attempt + 2,
		(long long)wait);
	m->attempt++;
	attempt_clear(m);
	m->stream = next;
	step(m, MODEL_WAITING);
	timer_arm(m->retry, wait);
	return true;
}

static void on_retry(void *arg)
{
	struct model *m = arg;
	struct err e = ERR_INIT;

	if (m->state == MODEL_WAITING && attempt_start(m, &e) < 0)
		finish(m, ENGINE_FAIL_INTERNAL, STREAM_BROKEN, view_of(e.msg));
}

static void end_with_fault(struct model *m, const struct fault *f, int64_t retry_after_ms)
{
	struct str words = STR_INIT(4096);

	if (!fault_transient(f) ||
		!try_again(m, retry_after_ms, "the provider says it will pass")) {
		fault_detail(f, m->api_key, &words);
		finish(m, fault_kind(f), STREAM_BROKEN, str_view(&words));
	}
	str_release(&words);
}

/* What the server says, where no event came: the body's head, if it is no stream's. */
static struct view prose_of(const struct model *m)
{
	static const char *const fields[] = { "", "data", "event", "id", "retry", "error" };
	struct view v = view_trim(str_view(&m->whole));
	size_t n = 0;

	if (m->kind != BODY_EVENTS || m->spoken)
		return VIEW_NONE;
	while (n < v.n && v.p[n] != ':' && v.p[n] != '\r' && v.p[n] != '\n')
		n++;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (view_eqs(view_cut(v, n), fields[i]))
			return VIEW_NONE;
	return view_cut(v, utf8_cut(v, HEAD_MAX - 4)); /* no half of a character at its end */
}

/* The stream is whole, as far as HTTP goes. */
static void end_of_stream(struct model *m)
{
	struct view prose = prose_of(m);
	enum stream_answer answer;
	bool torn = false; /* in the middle of an event */
	int rc = 0;

	if (m->kind == BODY_JSON && !m->garbled) {
		rc = stream_whole(m->stream, str_view(&m->whole), &m->why);
	} else if (!m->garbled && !m->over) {
		rc = sse_end(m->sse, &m->why);
		torn = rc > 0 && !m->over;
	}
	if (stream_fault(m->stream)) {
		end_with_fault(m, stream_fault(m->stream), -1);
		return;
	}
	if (rc < 0 || (m->garbled && !m->over)) {
		finish(m, m->why.code == E_NOMEM ? ENGINE_FAIL_INTERNAL : ENGINE_FAIL_GARBLED,
			STREAM_BROKEN, view_of(m->why.msg));
		return;
	}
	answer = stream_end(m->stream, m->prefix);
	if (answer == STREAM_EMPTY && torn)
		answer = STREAM_BROKEN;
	if (answer == STREAM_BROKEN && try_again(m, -1, "the answer broke off"))
		return;
	if (answer == STREAM_BROKEN)
		finish_why(m, ENGINE_FAIL_STALLED, answer, SPEECH_WHY_BROKE_OFF, VIEW(""));
	else if (answer == STREAM_EMPTY)
		finish(m, prose.n > 0 ? ENGINE_FAIL_GARBLED : ENGINE_FAIL_EMPTY, answer, prose);
	else
		finish(m, ENGINE_OK, answer, VIEW(""));
}

static enum speech why_of(enum http_fail fail)
{
	switch (fail) {
	case HTTP_FAIL_DNS: return SPEECH_WHY_UNRESOLVED;
	case HTTP_FAIL_CONNECT: return SPEECH_WHY_UNCONNECTED;
	case HTTP_FAIL_TLS: return SPEECH_WHY_TLS;
	case HTTP_FAIL_PEER: return SPEECH_WHY_PEER;
	case HTTP_FAIL_URL: return SPEECH_WHY_BAD_URL;
	case HTTP_FAIL_TOO_BIG: return SPEECH_WHY_TOO_BIG;
	case HTTP_FAIL_TIMEOUT: return SPEECH_WHY_LATE;
	case HTTP_FAIL_BROKEN: return SPEECH_WHY_BROKEN;
	case HTTP_OK_:
	case HTTP_FAIL_STOPPED: break;
	}
	return SPEECH_WHY;
}

static void end_of_transport(struct model *m, const struct http_result *r)
{
	enum engine_fail fail = ENGINE_FAIL_UNREACHABLE;
	bool again = false;

	switch (r->fail) {
	case HTTP_FAIL_DNS:
	case HTTP_FAIL_CONNECT: again = true; break;
	case HTTP_FAIL_TLS:
	case HTTP_FAIL_PEER: break;
	case HTTP_FAIL_URL: fail = ENGINE_FAIL_NOT_SET_UP; break;
	case HTTP_FAIL_TOO_BIG: fail = ENGINE_FAIL_GARBLED; break;
	case HTTP_FAIL_TIMEOUT:
		/* Silence after a whole request has already cost the user its time. */
		again = !r->request_sent;
		fail = r->request_sent ? ENGINE_FAIL_STALLED : fail;
		break;
	case HTTP_FAIL_BROKEN:
		again = true;
		fail = r->status ? ENGINE_FAIL_STALLED : fail;
		break;
	case HTTP_OK_:
	case HTTP_FAIL_STOPPED: fail = ENGINE_FAIL_INTERNAL; break;
	}
	if (!again || !try_again(m, -1, r->err->msg))
		finish_why(m, fail, STREAM_BROKEN, why_of(r->fail), view_of(r->err->msg));
}

static void end_of_status(struct model *m, const struct http_result *r)
{
	struct fault f = FAULT_INIT;

	if (r->status < 400) /* whatever the body says about it */
		fault_plain(&f,
			VIEW("the server sends us elsewhere; set model.base_url to its real address"));
	fault_in_body(&f, r->status, r->body);
	end_with_fault(m, &f, r->retry_after_ms);
	fault_release(&f);
}

/* Is what happened to the stream decided by the stream itself, and not by the transport? */
static bool stream_decides(const struct model *m, const struct http_result *r)
{
	if (m->over || r->fail == HTTP_FAIL_STOPPED)
		return true;
	if (r->fail == HTTP_FAIL_BROKEN) /* closed badly, but all was said */
		return stream_complete(m->stream);
	return r->fail == HTTP_OK_ && r->status >= 200 && r->status <= 299;
}

static void on_done(void *arg, const struct http_result *r)
{
	struct model *m = arg;

	m->call = NULL; /* it ends with this callback */
	if (m->kind == BODY_PAGE)
		finish_why(m, ENGINE_FAIL_NO_MODEL, STREAM_BROKEN, SPEECH_WHY_WEB_PAGE, VIEW(""));
	else if (stream_decides(m, r))
		end_of_stream(m);
	else if (r->fail != HTTP_OK_)
		end_of_transport(m, r);
	else
		end_of_status(m, r);
}

static void on_linger(void *arg)
{
	struct model *m = arg;

	if (m->call)
		http_cancel(&m->call);
	end_of_stream(m);
}

/* --- From outside ----------------------------------------------------------------------------- */

int model_ask(struct model *m, struct view body, const char *call_prefix, struct err *e)
{
	if (m->state != MODEL_IDLE)
		return err_set(e, E_BUSY, "the model is being asked already");
	str_reset(&m->body);
	if (str_add(&m->body, body) < 0 ||
		copy_z(m->prefix, sizeof(m->prefix), view_of(call_prefix)) < 0)
		return err_set(e, E_NOMEM, "a request of %zu bytes", body.n);
	m->attempt = 0;
	if (attempt_start(m, e) < 0) {
		attempt_clear(m);
		return -1;
	}
	return 0;
}

void model_cancel(struct model *m)
{
	timer_disarm(m->retry);
	attempt_clear(m);
	str_release(&m->body);
	step(m, MODEL_IDLE);
}

const struct stream *model_stream(const struct model *m)
{
	return m->stream;
}

static int make_url(struct model *m, const char *base, struct err *e)
{
	struct str url = STR_INIT(URL_MAX);
	struct view v = view_trim(view_of(base));

	while (view_ends(v, VIEW("/")))
		v.n--;
	(void)str_add(&url, v);
	if (!view_ends(v, VIEW("/chat/completions")))
		(void)str_adds(&url, "/chat/completions");
	m->url = str_ok(&url) ? str_take(&url) : NULL;
	str_release(&url);
	return m->url ? 0 : err_set(e, E_FORMAT, "model.base_url is too long");
}

static int take_key(struct model *m, const char *key, struct err *e)
{
	struct view v = view_trim(view_of(key));
	struct str header = STR_INIT(8192);

	if (v.n == 0)
		return 0;
	m->api_key = strndup(v.p, v.n);
	(void)str_adds(&header, "Bearer ");
	(void)str_add(&header, v);
	if (m->api_key && str_ok(&header))
		m->authorization = strdup(str_cstr(&header));
	str_wipe(&header);
	return m->authorization ? 0 : err_set(e, E_FORMAT, "the model's key is too long");
}

int model_open(struct model **out, const struct model_env *env, struct err *e)
{
	struct model *m = calloc(1, sizeof(*m));
	const struct str body = STR_INIT((size_t)64 << 20);

	*out = NULL;
	if (!m)
		return err_set(e, E_NOMEM, "a model client");
	m->env = *env;
	m->env.base_url = m->env.api_key = NULL;
	m->body = body;
	if (make_url(m, env->base_url, e) < 0 || take_key(m, env->api_key, e) < 0 ||
		timer_new(&m->retry, env->loop, on_retry, m, e) < 0 ||
		timer_new(&m->linger, env->loop, on_linger, m, e) < 0) {
		model_close(&m);
		return -1;
	}
	*out = m;
	return 0;
}

static void wipe(char **z)
{
	if (*z)
		explicit_bzero(*z, strlen(*z));
	free(*z);
	*z = NULL;
}

void model_close(struct model **mp)
{
	struct model *m = *mp;

	if (!m)
		return;
	*mp = NULL;
	if (m->retry && m->linger)
		model_cancel(m);
	timer_free(&m->retry);
	timer_free(&m->linger);
	str_release(&m->body);
	wipe(&m->api_key);
	wipe(&m->authorization);
	free(m->url);
	free(m);
}
