/* Requests to the model, and the answers on their way. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fault.h"
#include "model_step.h"
#include "watch.h"

#define SCRIPT_MAX 1000
#define TALKS_MAX  64
#define ASKED_MAX  256
#define ASKED_KEEP ((size_t)64 << 20)

struct asked {
	uint64_t n;
	int64_t at;
	char *body, *authorization;
	char outcome[16];
};

/* An answer on its way. */
struct talk {
	struct talk *next, **link;
	struct model *model;
	struct hreq *req;
	struct step *step;
	struct fault *fault;
	struct timer *timer;
	size_t at; /* the next piece */
	bool stream, begun, drips;
	uint64_t n; /* of the request */
};

struct model {
	struct sim *sim;
	char *script[SCRIPT_MAX]; /* JSON text of each entry */
	size_t nscript, at;
	bool repeat;
	struct talk *talks;
	size_t ntalks;
	struct asked asked[ASKED_MAX];
	uint64_t first, last;
	size_t held;
};

int model_open(struct model **out, struct sim *s, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_set(e, E_NOMEM, "out of memory");
	(*out)->sim = s;
	(*out)->first = 1;
	return 0;
}

static void asked_release(struct model *m, struct asked *a)
{
	m->held -= a->body ? strlen(a->body) : 0;
	free(a->body);
	free(a->authorization);
	memset(a, 0, sizeof(*a));
}

static void script_clear(struct model *m)
{
	for (size_t i = 0; i < m->nscript; i++)
		free(m->script[i]);
	m->nscript = m->at = 0;
	m->repeat = false;
}

void model_close(struct model **mp)
{
	struct model *m = *mp;

	*mp = NULL;
	if (!m)
		return;
	script_clear(m);
	for (size_t i = 0; i < ASKED_MAX; i++)
		asked_release(m, &m->asked[i]);
	free(m);
}

/* --- The script ------------------------------------------------------------------------------- */
int model_script(struct sim *s, const struct json *j, struct err *e)
{
	struct model *m = s->model;
	const struct json *list = NULL;

	if (json_get_array(j, "script", JSON_REQUIRED, SCRIPT_MAX, &list, e) < 0)
		return -1;
	if (!opt_bool(j, "append", false))
		script_clear(m);
	m->repeat = opt_bool(j, "repeat", false);
	json_each(it, list) {
		struct str text = STR_INIT(SIM_BODY_MAX);

		if (json_type(it) != JSON_OBJECT)
			return err_set(e, E_FORMAT, "script: a list of objects");
		if (m->nscript == SCRIPT_MAX)
			return err_set(e, E_FULL, "script: at most %d entries", SCRIPT_MAX);
		if (json_print(it, &text, e) < 0)
			return -1;
		m->script[m->nscript] = str_take(&text);
		if (m->script[m->nscript])
			m->nscript++;
	}
	return 0;
}

/* The next entry, or NULL: the demo speaks. */
static const char *script_next(struct model *m)
{
	if (m->at < m->nscript)
		return m->script[m->at++];
	return m->repeat && m->nscript ? m->script[m->nscript - 1] : NULL;
}

static struct step *make_step(struct model *m, const struct json *request, bool stream)
{
	const char *text = script_next(m);
	struct demo_answer demo = { .pause_ms = 0 };
	struct step *s = step_new();
	struct err e = ERR_INIT;
	char hex[17], id[40];
	struct json *j = NULL;
	int rc = 0;

	if (!s)
		return NULL;
	rand_hex(hex, 8);
	snprintf(id, sizeof(id), "chatcmpl-%s", hex);
	if (text) {
		rc = json_read(&j, view_of(text), &json_limits_wire, &e) < 0
		             ? -1
		             : step_from_json(s, j, m->sim, stream, id, &e);
		json_free(&j);
	}
	if (rc == 0 && (!text || s->demo)) {
		demo_answer(request, &demo);
		rc = step_from_demo(s, &demo, m->sim, stream, id);
		demo_release(&demo);
	}
	if (rc < 0) {
		s->status = 500;
		str_reset(&s->bytes);
		s->n = 0;
	}
	return s;
}

/* --- Answers on their way --------------------------------------------------------------------- */
static void outcome(struct model *m, uint64_t n, const char *word)
{
	if (n >= m->first && n <= m->last)
		snprintf(m->asked[n % ASKED_MAX].outcome, sizeof(m->asked[0].outcome), "%s", word);
}

static void talk_free(struct talk *t, const char *word)
{
	struct model *m = t->model;

	outcome(m, t->n, word);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	m->ntalks--;
	sim_gauge(m->sim, T_MODEL_OPEN, -1);
	timer_free(&t->timer);
	fault_drop(&t->fault);
	step_free(t->step);
	free(t);
}

static void talk_on_gone(void *arg)
{
	struct talk *t = arg;
	struct sim *s = t->model->sim;

	sim_count(s, T_MODEL_CUT);
	talk_free(t, "gone");
}

static struct hreply talk_head(const struct talk *t)
{
	const struct step *s = t->step;
	const char *type = s->status != 200 || !t->stream ? NULL : "text/event-stream";

	return (struct hreply){ .status = s->status,
		.type = s->type ? s->type : type,
		.extra = s->headers,
		.close = s->cut || s->reset };
}

static void talk_end(struct talk *t)
{
	if (t->step->stall) {
		outcome(t->model, t->n, "stalled");
		return;
	}
	if (t->step->cut || t->step->reset) {
		hreq_drop(&t->req, t->step->reset);
		talk_free(t, "cut");
		return;
	}
	hreq_end(&t->req);
	talk_free(t, "done");
}

/* True: the answer is over. With nothing to send and a bad end, not even a head goes out. */
static bool talk_begin(struct talk *t)
{
	const struct step *s = t->step;
	bool bad = s->stall || s->cut || s->reset;
	struct hreply head = talk_head(t);

	t->begun = true;
	if (!bad && ((!t->stream && !t->drips) || !s->n)) {
		head.body = str_view(&s->bytes);
		hreq_reply(&t->req, &head);
		talk_free(t, "done");
		return true;
	}
	if (s->n)
		hreq_begin(t->req, &head, -1);
	return false;
}

static void talk_on_timer(void *arg)
{
	struct talk *t = arg;
	struct step *s = t->step;

	if (!t->begun && talk_begin(t))
		return;
	while (t->at < s->n) {
		hreq_piece(t->req, step_view(s, t->at++));
		if (t->at < s->n && s->delay_ms) {
			timer_arm(t->timer, s->delay_ms);
			return;
		}
	}
	talk_end(t);
}

/* --- Requests --------------------------------------------------------------------------------- */
static uint64_t keep(struct model *m, const struct hreq *r)
{
	const char *auth = hreq_header(r, "Authorization");
	struct asked *a;

	while (m->first <= m->last && (m->last - m->first + 1 >= ASKED_MAX || m->held > ASKED_KEEP))
		asked_release(m, &m->asked[m->first++ % ASKED_MAX]);
	a = &m->asked[++m->last % ASKED_MAX];
	a->n = m->last;
	a->at = sim_now(m->sim);
	a->body = dup_view(hreq_body(r));
	a->authorization = auth ? strdup(auth) : NULL;
	plain_ascii(a->authorization);
	snprintf(a->outcome, sizeof(a->outcome), "open");
	m->held += hreq_body(r).n;
	return a->n;
}

void model_print_requests(struct sim *s, struct json_out *w, uint64_t since)
{
	struct model *m = s->model;
	struct json_limits lim = json_limits_wire;
	uint64_t n = since + 1 > m->first ? since + 1 : m->first;

	lim.bytes = SIM_BODY_MAX;
	for (; n <= m->last; n++) {
		const struct asked *a = &m->asked[n % ASKED_MAX];
		struct view body = view_of(a->body);

		json_open(w, NULL);
		json_put_u64(w, "n", a->n);
		json_put_int(w, "at", a->at);
		json_put_z(w, "authorization", a->authorization);
		json_put_z(w, "outcome", a->outcome);
		if (json_check(body, &lim, NULL) == 0)
			json_put_raw(w, "body", body);
		else
			json_put_null(w, "body");
		json_close(w);
	}
}

static void refuse(struct hreq *r, int status, const char *what)
{
	struct str s = STR_INIT(1024);

	str_addf(&s, "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\"}}", what);
	hreq_reply(&r, &(struct hreply){ .status = status, .body = str_view(&s) });
	str_release(&s);
}

static struct talk *talk_new(struct model *m, struct hreq *r)
{
	struct talk *t = m->ntalks < TALKS_MAX ? calloc(1, sizeof(*t)) : NULL;

	if (!t || timer_new(&t->timer, m->sim->loop, talk_on_timer, t, NULL) < 0) {
		free(t);
		refuse(r, 503, "too many requests are open");
		return NULL;
	}
	t->model = m;
	t->req = r;
	t->next = m->talks;
	t->link = &m->talks;
	if (t->next)
		t->next->link = &t->next;
	m->talks = t;
	m->ntalks++;
	sim_gauge(m->sim, T_MODEL_OPEN, 1);
	hreq_on_gone(r, talk_on_gone, t);
	return t;
}

/* The endpoint faults that make sense for a model: how the answer fails on its way. */
static void apply_fault(struct talk *t)
{
	const struct fault *f = t->fault;
	struct step *s = t->step;

	if (!f)
		return;
	s->first_ms += f->delay_ms;
	if (f->kind == F_STALL)
		s->stall = true;
	if (f->kind == F_CUT || f->kind == F_DROP)
		s->cut = true;
	if (f->kind == F_RESET)
		s->reset = true;
	if (f->kind == F_STATUS)
		s->status = f->status;
	if (f->kind == F_SLOW) {
		s->delay_ms = f->ms;
		t->drips = t->stream || step_slice(s, f->bytes > 0 ? (size_t)f->bytes : 1) == 0;
	}
	if (f->kind == F_CUT)
		s->n = s->n / 2;
	else if (f->kind == F_STALL || f->kind == F_DROP || f->kind == F_RESET ||
		 f->kind == F_EMPTY)
		s->n = 0;
	if (f->kind != F_STATUS && f->kind != F_BODY && f->kind != F_EMPTY)
		return;
	s->n = 0;
	str_reset(&s->bytes);
	str_add(&s->bytes, str_view(&f->body));
	t->stream = false;
	if (f->headers) {
		free(s->headers);
		s->headers = strdup(f->headers);
	}
}

static void completions(struct sim *s, struct hreq *r)
{
	struct json_limits lim = json_limits_message;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	struct talk *t;

	lim.bytes = SIM_BODY_MAX;
	lim.depth = 64;
	if (json_read(&j, hreq_body(r), &lim, &e) < 0 || !json_member(j, "messages")) {
		json_free(&j);
		refuse(r, 400, "the body is no JSON object with messages");
		return;
	}
	t = talk_new(s->model, r);
	if (t) {
		t->n = keep(s->model, r);
		t->stream = opt_bool(j, "stream", false);
		t->step = make_step(s->model, j, t->stream);
		t->fault = faults_take(s->faults, "model", WHEN_REQUEST, hreq_body(r));
		sim_count(s, T_MODEL_REQUESTS);
	}
	if (t && !t->step) {
		hreq_drop(&t->req, false);
		talk_free(t, "no memory");
	} else if (t) {
		apply_fault(t);
		timer_arm(t->timer, t->step->first_ms);
	}
	json_free(&j);
}

static void models(struct sim *s, struct hreq *r)
{
	struct talk *t = talk_new(s->model, r);

	if (!t)
		return;
	t->step = step_new();
	t->fault = faults_take(s->faults, "models", WHEN_REQUEST, VIEW_NONE);
	if (!t->step) {
		hreq_drop(&t->req, false);
		talk_free(t, "no memory");
		return;
	}
	str_adds(&t->step->bytes,
		"{\"object\":\"list\",\"data\":[{\"id\":\"kairo-demo\",\"object\":\"model\","
		"\"created\":1767225600,\"owned_by\":\"kairo-sim\"},{\"id\":\"demo\",\"object\":"
		"\"model\",\"created\":1767225600,\"owned_by\":\"kairo-sim\"}]}");
	apply_fault(t);
	timer_arm(t->timer, t->step->first_ms);
}

void model_on_request(void *arg, struct hreq *r)
{
	struct sim *s = arg;

	if (!strcmp(hreq_path(r), "/v1/chat/completions") && !strcmp(hreq_method(r), "POST"))
		completions(s, r);
	else if (!strcmp(hreq_path(r), "/v1/models") && !strcmp(hreq_method(r), "GET"))
		models(s, r);
	else
		refuse(r, 404, "no such endpoint");
}
