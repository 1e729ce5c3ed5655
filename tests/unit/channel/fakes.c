#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_ROW "INSERT INTO fake_history DEFAULT VALUES"

/* --- Time ------------------------------------------------------------------------------------- */

static int64_t fake_mono(void *arg)
{
	return ((struct fake_clock *)arg)->mono;
}

static int64_t fake_wall(void *arg)
{
	return ((struct fake_clock *)arg)->wall;
}

void fake_clock_init(struct fake_clock *c)
{
	*c = (struct fake_clock){ .mono = 1000000, .wall = 1767225600000 };
	c->clock = (struct clock){ fake_mono, fake_wall, c };
}

void settle(struct loop *l)
{
	for (int i = 0; i < 200; i++)
		must(loop_step(l, 0, NULL) == 0);
}

void pass(struct fake_clock *c, struct loop *l, int64_t ms)
{
	c->mono += ms;
	c->wall += ms;
	settle(l);
}

/* --- Channel ---------------------------------------------------------------------------------- */

static int channel_start(struct channel *c, const struct chan_events *ev, struct err *e)
{
	(void)e;
	((struct fake_channel *)c)->events = *ev;
	return 0;
}

static void channel_stop(struct channel *c, void (*done)(void *), void *arg)
{
	(void)c;
	done(arg);
}

#define FILE_HEAD 65536

static char *read_file(const struct chan_file *f)
{
	char *text = calloc(1, FILE_HEAD + 1);
	struct stat st;

	must(text && fstat(f->fd, &st) == 0 && st.st_size == f->size);
	must(pread(f->fd, text, FILE_HEAD, 0) == (f->size < FILE_HEAD ? f->size : FILE_HEAD));
	return text;
}

static int channel_send(struct channel *c, const struct chan_send *s, chan_sent_cb *cb, void *arg,
	struct err *e)
{
	struct fake_channel *f = (struct fake_channel *)c;
	struct fake_sent *sent = &f->sent[f->nsent];

	if (f->flying)
		return err_set(e, E_BUSY, "a send is under way");
	if (f->refuse)
		return err_set(e, E_NET, "no line");
	must(f->nsent < FAKE_SENT_MAX);
	snprintf(sent->to, sizeof(sent->to), "%s", s->to);
	snprintf(sent->token, sizeof(sent->token), "%s", s->token);
	snprintf(sent->client_id, sizeof(sent->client_id), "%s", s->client_id);
	sent->text = s->file ? read_file(s->file) : strndup(s->text.p, s->text.n);
	sent->file[0] = sent->md5[0] = '\0';
	if (s->file) {
		snprintf(sent->file, sizeof(sent->file), "%s", s->file->name);
		snprintf(sent->md5, sizeof(sent->md5), "%s", s->file->md5);
		sent->kind = s->file->kind;
		sent->size = s->file->size;
	}
	sent->at = loop_now(f->loop);
	sent->outcome = f->at_script < f->nscript ? f->script[f->at_script++] : CHAN_ACCEPTED;
	f->nsent++;
	f->flying = true;
	f->cb = cb;
	f->cb_arg = arg;
	if (!f->hold)
		timer_arm(f->timer, 0);
	return 0;
}

void fake_land(struct fake_channel *f, enum chan_outcome what)
{
	const char *why = what == CHAN_ACCEPTED ? "" : f->why ? f->why : "scripted";
	char id[24];

	must(f->flying);
	f->flying = false;
	snprintf(id, sizeof(id), "%d", 7000 + f->nsent);
	f->sent[f->nsent - 1].outcome = what;
	f->cb(f->cb_arg, what, what == CHAN_ACCEPTED ? id : "", why);
}

static void on_timer(void *arg)
{
	struct fake_channel *f = arg;

	if (f->flying)
		fake_land(f, f->sent[f->nsent - 1].outcome);
}

static void channel_abort(struct channel *c)
{
	struct fake_channel *f = (struct fake_channel *)c;

	f->aborts += f->flying;
	f->flying = false;
	timer_disarm(f->timer);
}

static void channel_typing(struct channel *c, const char *user, const char *token, bool on)
{
	struct fake_channel *f = (struct fake_channel *)c;

	(void)token;
	snprintf(f->typing, sizeof(f->typing), "%s", on ? user : "");
	f->typing_on += on;
	f->typing_off += !on;
}

static void channel_hurry(struct channel *c, bool on)
{
	((struct fake_channel *)c)->hurried = on;
}

static void channel_status(const struct channel *c, struct chan_status *out)
{
	*out = (struct chan_status){ .link = ((const struct fake_channel *)c)->link };
}

/* --- Fetches ---------------------------------------------------------------------------------- */

struct chan_fetch {
	struct fake_channel *f;
	struct timer *timer;
	struct fake_blob *blob; /* NULL: the server has no such thing */
	int fd;
	int64_t max;
	chan_fetched_cb *cb;
	void *arg;
};

static void drop_fetch(struct chan_fetch *x)
{
	for (int i = 0; i < FAKE_BLOBS_MAX; i++)
		if (x->f->fetching[i] == x)
			x->f->fetching[i] = NULL;
	timer_free(&x->timer);
	free(x);
}

static void on_fetch(void *arg)
{
	struct chan_fetch x = *(struct chan_fetch *)arg;
	enum chan_fetch_end end = x.blob ? x.blob->end : CHAN_FETCH_GONE;
	int64_t n = 0;

	drop_fetch(arg);
	if (x.blob && x.blob->fails > 0) {
		x.blob->fails--;
		end = CHAN_FETCH_UNREACHABLE;
	} else if (end == CHAN_FETCHED && (int64_t)x.blob->n > x.max) {
		end = CHAN_FETCH_TOO_BIG;
	} else if (end == CHAN_FETCHED) {
		n = write(x.fd, x.blob->bytes, x.blob->n);
		end = n == (int64_t)x.blob->n ? CHAN_FETCHED : CHAN_FETCH_DISK;
	}
	x.cb(x.arg, end, n, "scripted");
}

static int channel_fetch(struct channel *c, struct chan_fetch **out, const struct chan_source *src,
	int fd, int64_t max, chan_fetched_cb *cb, void *arg, struct err *e)
{
	struct fake_channel *f = (struct fake_channel *)c;
	struct chan_fetch *x = calloc(1, sizeof(*x));
	int at = 0;

	(void)e;
	must(x && f->fetches < FAKE_FETCHES_MAX);
	*x = (struct chan_fetch){ .f = f, .fd = fd, .max = max, .cb = cb, .arg = arg };
	for (int i = 0; i < f->nblobs; i++)
		if (strcmp(f->blobs[i].param, src->param) == 0)
			x->blob = &f->blobs[i];
	while (f->fetching[at])
		at++;
	f->fetching[at] = x;
	snprintf(f->fetched[f->fetches++], sizeof(f->fetched[0]), "%s", src->param);
	if (fake_fetching(f) > f->fetching_max)
		f->fetching_max = fake_fetching(f);
	must(timer_new(&x->timer, f->loop, on_fetch, x, NULL) == 0);
	if (!f->hold_fetch)
		timer_arm(x->timer, 0);
	*out = x;
	return 0;
}

static void channel_abort_fetch(struct channel *c, struct chan_fetch **x)
{
	struct fake_channel *f = (struct fake_channel *)c;

	if (!*x)
		return;
	f->fetch_aborts++;
	drop_fetch(*x);
	*x = NULL;
}

struct fake_blob *fake_serve(struct fake_channel *f, const char *param, const void *bytes, size_t n)
{
	struct fake_blob *b = &f->blobs[f->nblobs++];

	must(f->nblobs <= FAKE_BLOBS_MAX);
	*b = (struct fake_blob){ .bytes = bytes, .n = n, .end = CHAN_FETCHED };
	snprintf(b->param, sizeof(b->param), "%s", param);
	return b;
}

int fake_fetching(const struct fake_channel *f)
{
	int n = 0;

	for (int i = 0; i < FAKE_BLOBS_MAX; i++)
		n += f->fetching[i] != NULL;
	return n;
}

void fake_fetched(struct fake_channel *f)
{
	for (int i = 0; i < FAKE_BLOBS_MAX; i++)
		if (f->fetching[i])
			timer_arm(f->fetching[i]->timer, 0);
}

static void channel_close(struct channel **c)
{
	*c = NULL;
}

static const struct channel_ops channel_ops = { .name = "fake",
	.start = channel_start,
	.stop = channel_stop,
	.send = channel_send,
	.abort_send = channel_abort,
	.typing = channel_typing,
	.hurry = channel_hurry,
	.fetch = channel_fetch,
	.abort_fetch = channel_abort_fetch,
	.status = channel_status,
	.close = channel_close };

void fake_channel_open(struct fake_channel *f, struct loop *l)
{
	memset(f, 0, sizeof(*f));
	f->channel.ops = &channel_ops;
	f->loop = l;
	f->link = CHAN_LINK_UP;
	must(timer_new(&f->timer, l, on_timer, f, NULL) == 0);
}

void fake_channel_close(struct fake_channel *f)
{
	for (int i = 0; i < FAKE_BLOBS_MAX; i++)
		if (f->fetching[i])
			drop_fetch(f->fetching[i]);
	fake_forget(f);
	timer_free(&f->timer);
}

void fake_forget(struct fake_channel *f)
{
	for (int i = 0; i < f->nsent; i++)
		free(f->sent[i].text);
	f->nsent = 0;
}

void fake_script(struct fake_channel *f, const enum chan_outcome *list, int n)
{
	must(n <= 64);
	memcpy(f->script, list, (size_t)n * sizeof(*list));
	f->nscript = n;
	f->at_script = 0;
}

const char *fake_last(const struct fake_channel *f)
{
	return f->nsent ? f->sent[f->nsent - 1].text : "";
}

int fake_count(const struct fake_channel *f, const char *needle)
{
	int n = 0;

	for (int i = 0; i < f->nsent; i++)
		n += strstr(f->sent[i].text, needle) != NULL;
	return n;
}

/* --- Engine ----------------------------------------------------------------------------------- */

static int engine_save(void *arg, struct err *e)
{
	struct fake_engine *g = arg;

	g->saves++;
	if (g->save_fails)
		return err_set(e, E_IO, "the history is broken");
	must(db_in_transaction(g->db));
	return db_exec(g->db, HISTORY_ROW, e);
}

void fake_done(struct fake_engine *g, enum engine_fail fail, const char *text, const char *detail)
{
	struct engine_event ev = { .type = ENGINE_DONE,
		.turn = g->turn,
		.fail = fail,
		.text = view_of(text ? text : ""),
		.detail = detail ? detail : "" };

	must(g->running);
	g->running = false;
	ev.save = engine_save;
	ev.save_arg = g;
	g->engine.on_event(g->engine.arg, &ev);
}

static void engine_on_timer(void *arg)
{
	struct fake_engine *g = arg;
	char text[300];

	if (!g->running)
		return;
	snprintf(text, sizeof(text), "answer to %.200s", g->text);
	if (g->own_accord)
		fake_done(g, ENGINE_OK, text, "");
	else
		fake_done(g, ENGINE_FAIL_CANCELLED, "", "");
}

static int engine_start(struct engine *e, const struct turn_input *in, struct err *err)
{
	struct fake_engine *g = (struct fake_engine *)e;

	if (g->refuse)
		return err_set(err, E_IO, "the engine does not start");
	must(!g->running);
	g->running = true;
	g->starts++;
	g->turn = in->turn;
	g->origin = in->origin;
	snprintf(g->text, sizeof(g->text), "%.*s", VIEW_FMT(in->text));
	g->quoted = in->quoted;
	g->added = in->added;
	must(in->nfiles <= TURN_FILES_MAX);
	for (size_t i = 0; i < in->nfiles; i++)
		g->files[i] = in->files[i];
	g->nfiles = in->nfiles;
	snprintf(g->file_path, sizeof(g->file_path), "%s", in->nfiles ? in->files[0].path : "");
	snprintf(g->media, sizeof(g->media), "%s", in->media ? in->media : "");
	snprintf(g->conversation, sizeof(g->conversation), "%s", in->conversation);
	snprintf(g->language, sizeof(g->language), "%s", in->language);
	if (g->own_accord)
		timer_arm(g->timer, 300);
	return 0;
}

static void engine_cancel(struct engine *e, uint64_t turn)
{
	struct fake_engine *g = (struct fake_engine *)e;

	if (!g->running || turn != g->turn)
		return;
	g->cancels++;
	if (!g->deaf)
		timer_arm(g->timer, 0);
}

static int engine_answer(struct engine *e, const char *id, int choice, struct err *err)
{
	struct fake_engine *g = (struct fake_engine *)e;

	(void)err;
	g->answers++;
	g->choice = choice;
	snprintf(g->answered_id, sizeof(g->answered_id), "%s", id);
	return 0;
}

static int engine_command(struct engine *e, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *err)
{
	struct fake_engine *g = (struct fake_engine *)e;

	(void)language;
	g->commands++;
	g->command = cmd;
	snprintf(g->command_arg, sizeof(g->command_arg), "%.*s", VIEW_FMT(arg));
	snprintf(g->command_conversation, sizeof(g->command_conversation), "%s", conversation);
	if (g->command_fails != E_OK && db_exec(g->db, HISTORY_ROW, err) == 0)
		return err_set(err, g->command_fails, "the engine says no");
	return cmd == ENGINE_CMD_NEW ? 0 : str_adds(reply, "engine reply");
}

static void engine_close(struct engine **e)
{
	*e = NULL;
}

static const char *const *engine_commands(const struct engine *e)
{
	return ((const struct fake_engine *)e)->slash;
}

static void engine_describe(const struct engine *e, bool zh, struct str *out)
{
	(void)e;
	str_adds(out, zh ? "假的，哪里都没有" : "fake, nothing at nowhere");
}

static const struct engine_ops engine_ops = { "fake", engine_start, engine_cancel, engine_answer,
	engine_command, engine_close, engine_commands, engine_describe, NULL };

void fake_engine_open(struct fake_engine *g, struct loop *l, struct db *db)
{
	memset(g, 0, sizeof(*g));
	g->engine.ops = &engine_ops;
	g->loop = l;
	g->db = db;
	must(timer_new(&g->timer, l, engine_on_timer, g, NULL) == 0);
	must(db_exec(db, "CREATE TABLE IF NOT EXISTS fake_history (n INTEGER PRIMARY KEY)", NULL) ==
		0);
}

void fake_engine_close(struct fake_engine *g)
{
	timer_free(&g->timer);
}

void fake_event(struct fake_engine *g, enum engine_event_type type, const char *text)
{
	struct engine_event ev = { .type = type, .turn = g->turn, .text = view_of(text) };

	if (type == ENGINE_NOTICE || type == ENGINE_BUSY)
		ev.turn = 0;
	g->engine.on_event(g->engine.arg, &ev);
}

void fake_ask(struct fake_engine *g, enum engine_event_type type, const char *id, const char *text,
	const char *const *choices)
{
	struct engine_event ev = { .type = type,
		.turn = g->turn,
		.text = view_of(text),
		.id = id,
		.name = "run_shell",
		.choices = choices };

	g->engine.on_event(g->engine.arg, &ev);
}

void fake_approval(struct fake_engine *g, const char *id, const char *text)
{
	struct engine_event ev = { .type = ENGINE_APPROVAL,
		.turn = g->turn,
		.text = view_of(text),
		.id = id,
		.name = "shell",
		.standard_choices = true };

	g->engine.on_event(g->engine.arg, &ev);
}

int fake_history(struct db *db)
{
	struct stmt *s = NULL;
	int n = -1;

	if (stmt_open(&s, db, "SELECT count(*) FROM fake_history", NULL) == 0 &&
		stmt_step(s, NULL) == 1)
		n = (int)stmt_col_int(s, 0);
	stmt_close(&s);
	return n;
}
