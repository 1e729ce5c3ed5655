#include "channel/ilink/typing.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define TICKET_LIFE_MS  86400000 /* fetched again at a random time within (8) */
#define RETRY_FIRST_MS  2000
#define RETRY_MAX_MS    3600000
#define TICKET_YOUNG_MS 60000 /* a ticket refused so soon is not cured by another */

enum typer_call { CALL_NONE, CALL_CONFIG, CALL_ON, CALL_OFF };

/* One user. At most one call at a time, so that "on" never overtakes "off". */
struct typer {
	struct typing *all;
	char *user, *token;
	char *ticket; /* NULL: none yet; "": no typing for this user */
	struct http_call *call;
	enum typer_call what;
	struct timer *tick;
	bool on;
	bool shown;    /* an "on" went out and no "off" since */
	int64_t since; /* of this "on" */
	int64_t used;
	int64_t fetched;   /* when the ticket came */
	int64_t fetch_due; /* when the ticket is to be fetched (again) */
	int64_t retry;     /* the next delay after a failed fetch */
};

struct typing {
	struct api *api;
	const struct account *acc;
	struct typer *users[TYPING_USERS_MAX];
	size_t nusers;
	struct timer *stopped;
	void (*done)(void *);
	void *done_arg;
};

static void typer_step(struct typer *u);

/* --- Users ------------------------------------------------------------------------------------ */
static void wipe(char **z)
{
	if (*z)
		explicit_bzero(*z, strlen(*z));
	free(*z);
	*z = NULL;
}

static void typer_free(struct typer *u)
{
	http_cancel(&u->call);
	timer_free(&u->tick);
	free(u->user);
	wipe(&u->token);
	wipe(&u->ticket);
	free(u);
}

static void typer_on_tick(void *arg)
{
	typer_step(arg);
}

static struct typer *typer_new(struct typing *t, const char *user)
{
	struct typer *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->all = t;
	u->retry = RETRY_FIRST_MS;
	u->user = strdup(user);
	if (!u->user || timer_new(&u->tick, t->api->loop, typer_on_tick, u, NULL) < 0) {
		typer_free(u);
		return NULL;
	}
	return u;
}

static bool is_idle(const struct typer *u)
{
	return !u->on && !u->shown && !u->call;
}

/* A free place; NULL when all are in use. */
static struct typer **place(struct typing *t)
{
	struct typer **oldest = NULL;

	if (t->nusers < TYPING_USERS_MAX)
		return &t->users[t->nusers++];
	for (size_t i = 0; i < t->nusers; i++)
		if (is_idle(t->users[i]) && (!oldest || t->users[i]->used < (*oldest)->used))
			oldest = &t->users[i];
	if (oldest)
		typer_free(*oldest);
	return oldest;
}

static struct typer *find(struct typing *t, const char *user, bool make)
{
	struct typer *u, **at;

	for (size_t i = 0; i < t->nusers; i++)
		if (strcmp(t->users[i]->user, user) == 0)
			return t->users[i];
	if (!make)
		return NULL;
	u = typer_new(t, user);
	if (!u)
		return NULL;
	at = place(t);
	if (!at) {
		typer_free(u);
		return NULL;
	}
	*at = u;
	return u;
}

/* --- The end ---------------------------------------------------------------------------------- */
static bool is_over(const struct typing *t)
{
	for (size_t i = 0; i < t->nusers; i++)
		if (!is_idle(t->users[i]))
			return false;
	return true;
}

static void tell_when_over(struct typing *t)
{
	if (t->done && is_over(t))
		timer_arm(t->stopped, 0);
}

static void typing_on_stopped(void *arg)
{
	struct typing *t = arg;
	void (*done)(void *) = t->done;

	t->done = NULL;
	if (done)
		done(t->done_arg);
}

/* --- Calls ------------------------------------------------------------------------------------ */
static int64_t now_of(const struct typer *u)
{
	return loop_now(u->all->api->loop);
}

/* The old ticket, if any, is kept: it may still do. */
static void ticket_failed(struct typer *u)
{
	u->fetch_due = now_of(u) + u->retry;
	u->retry = u->retry * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : u->retry * 2;
}

static void take_ticket(struct typer *u, const struct http_result *r)
{
	struct wire_config cfg;
	char why[128];
	char *ticket = NULL;

	if (!api_failed(r, why, sizeof(why)) && wire_read_config(r->body, &cfg, NULL) == 0 &&
		cfg.code.code == 0)
		ticket = strdup(cfg.ticket);
	explicit_bzero(&cfg, sizeof(cfg));
	if (!ticket) {
		ticket_failed(u);
		return;
	}
	wipe(&u->ticket);
	u->ticket = ticket;
	u->retry = RETRY_FIRST_MS;
	u->fetched = now_of(u);
	u->fetch_due = u->fetched + (int64_t)(rand_u64() % TICKET_LIFE_MS);
}

/* The server did not like the ticket: it may have run out before its time (8). */
static void ticket_refused(struct typer *u)
{
	if (u->retry == RETRY_FIRST_MS && u->fetch_due > u->fetched + TICKET_YOUNG_MS)
		u->fetch_due = u->fetched + TICKET_YOUNG_MS;
}

static void typer_on_done(void *arg, const struct http_result *r)
{
	struct typer *u = arg;
	enum typer_call what = u->what;
	struct wire_code code;
	char why[128];

	u->call = NULL;
	u->what = CALL_NONE;
	if (what == CALL_CONFIG) {
		take_ticket(u, r);
		timer_disarm(u->tick); /* show it at once, whatever the beat */
	} else if (what == CALL_ON && !api_failed(r, why, sizeof(why)) &&
		   wire_read_code(r->body, &code, NULL) == 0 && code.code != 0) {
		ticket_refused(u);
	}
	typer_step(u);
}

static int typer_call(struct typer *u, enum typer_call what)
{
	struct typing *t = u->all;
	struct str body = STR_INIT(65536);
	struct api_call c = { .http = t->api->api_http,
		.timeout_ms = API_CONFIG_MS,
		.done = typer_on_done,
		.arg = u };
	int written;

	if (what == CALL_CONFIG) {
		c.endpoint = "ilink/bot/getconfig";
		written = wire_write_config(&body, &t->api->me, u->user, u->token ? u->token : "",
			NULL);
	} else {
		c.endpoint = "ilink/bot/sendtyping";
		written = wire_write_typing(&body, &t->api->me, u->user, u->ticket, what == CALL_ON,
			NULL);
	}
	u->what = what;
	return api_call_account(&u->call, t->api, t->acc, written, &body, c, NULL);
}

/* --- What to do next -------------------------------------------------------------------------- */
static void step_on(struct typer *u)
{
	if (now_of(u) >= u->fetch_due) {
		if (typer_call(u, CALL_CONFIG) == 0)
			return; /* goes on from its answer */
		ticket_failed(u);
	}
	if (u->ticket && u->ticket[0]) {
		u->shown = true;
		(void)typer_call(u, CALL_ON);
		timer_arm(u->tick, TYPING_EVERY_MS);
	} else if (!u->ticket) {
		timer_arm(u->tick, u->fetch_due - now_of(u));
	}
}

static void step_off(struct typer *u)
{
	timer_disarm(u->tick);
	if (u->shown) {
		u->shown = false;
		if (u->ticket && u->ticket[0] && typer_call(u, CALL_OFF) == 0)
			return;
	}
	tell_when_over(u->all);
}

static void typer_step(struct typer *u)
{
	if (u->call)
		return; /* its end leads here again */
	if (!u->on || now_of(u) - u->since >= TYPING_MAX_MS)
		step_off(u);
	else if (!timer_armed(u->tick) || now_of(u) >= u->fetch_due)
		step_on(u); /* the beat is the timer's, not the answers' */
}

static void set_token(struct typer *u, const char *token)
{
	char *copy;

	if (!token[0] || (u->token && strcmp(u->token, token) == 0))
		return;
	copy = strdup(token);
	if (!copy)
		return;
	wipe(&u->token);
	u->token = copy;
	/* What was refused before this message may be granted now ("no session yet", -4). */
	if (!u->ticket) {
		u->fetch_due = 0;
		u->retry = RETRY_FIRST_MS;
	}
}

void typing_set(struct typing *t, const char *user, const char *token, bool on)
{
	struct typer *u = find(t, user, on);

	if (!u)
		return;
	u->used = loop_now(t->api->loop);
	set_token(u, token ? token : "");
	if (on && !u->on)
		u->since = u->used;
	u->on = on;
	if (!on && u->what == CALL_CONFIG)
		http_cancel(&u->call); /* for nothing now; an "off" must not wait for it */
	typer_step(u);
}

void typing_stop(struct typing *t, void (*done)(void *), void *arg)
{
	t->done = done;
	t->done_arg = arg;
	for (size_t i = 0; i < t->nusers; i++)
		typing_set(t, t->users[i]->user, "", false);
	tell_when_over(t);
}

int typing_new(struct typing **out, struct api *api, const struct account *acc, struct err *e)
{
	struct typing *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "no memory for the typing indicator");
	*t = (struct typing){ .api = api, .acc = acc };
	if (timer_new(&t->stopped, api->loop, typing_on_stopped, t, e) < 0) {
		free(t);
		return -1;
	}
	*out = t;
	return 0;
}

void typing_free(struct typing **tp)
{
	struct typing *t = *tp;

	*tp = NULL;
	if (!t)
		return;
	for (size_t i = 0; i < t->nusers; i++)
		typer_free(t->users[i]);
	timer_free(&t->stopped);
	free(t);
}
