#include "channel/control.h"

#include "base/text.h"
#include "channel/control-private.h"
#include "channel/parcel.h"
#include "channel/peer.h"
#include "channel/quote.h"
#include "channel/sql.h"

#include <stdlib.h>
#include <string.h>

#define PRUNE_MS       ((int64_t)6 * 60 * 60 * 1000)
#define PRUNE_FIRST_MS 10000 /* after a start: the first poll does not wait for it */

/* --- Settings --------------------------------------------------------------------------------- */

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static int copy_list(char ***out, const char *const *list, struct err *e)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	*out = calloc(n + 1, sizeof(**out));
	for (size_t i = 0; *out && i < n; i++) {
		(*out)[i] = strdup(list[i]);
		if (!(*out)[i]) {
			free_list(*out);
			*out = NULL;
		}
	}
	return *out ? 0 : err_set(e, E_NOMEM, "the list of users");
}

int control_apply(struct control *c, const struct control_settings *s, struct err *e)
{
	char **allowed;

	if (s->queue_limit < 1 || s->queue_limit > 1000)
		return err_set(e, E_FORMAT, "queue_limit must be 1 to 1000, not %d",
			s->queue_limit);
	if (s->text_limit < 1 || s->text_limit > CHUNK_LIMIT_MAX)
		return err_set(e, E_FORMAT, "text_limit must be 1 to %d, not %zu", CHUNK_LIMIT_MAX,
			s->text_limit);
	if (copy_list(&allowed, s->allowed_users, e) < 0)
		return -1;
	free_list(c->allowed);
	c->allowed = allowed;
	c->room.allowed = allowed;
	c->room.language = s->language;
	c->room.text_limit = s->text_limit;
	c->room.mode = s->mode;
	c->room.queue_limit = s->queue_limit;
	c->room.ask_ms = s->ask_ms;
	c->room.media_max = s->media_max;
	c->room.media_days = s->media_days;
	c->room.media_keep = s->media_keep;
	c->room.merge_ms = s->merge_ms;
	c->room.file_max = s->file_max;
	return 0;
}

/* --- Open and close --------------------------------------------------------------------------- */

void control_sweep(struct control *c)
{
	timer_arm(c->sweep, 0);
	media_kick(c->media);
}

static void on_prune(void *arg)
{
	struct control *c = arg;
	struct err e = ERR_INIT;
	int rc = -1;

	if (db_begin(c->room.db, &e) == 0) {
		rc = inbox_prune(&c->room, &e);
		if (rc == 0)
			rc = part_prune(&c->room, &e);
		if (rc == 0)
			rc = quote_prune(&c->room, &e);
		rc = sql_end(c->room.db, rc, &e);
	}
	/* A file is gone at once, so what says that it may go is to be there for good. */
	if (rc == 0)
		rc = db_sync(c->room.db, &e);
	if (rc == 0 && outbox_spool(c->outbox))
		spool_sweep(outbox_spool(c->outbox));
	if (rc == 0)
		rc = media_prune(&c->room, &e);
	if (rc < 0)
		log_warn(c->room.log, "control", "what is past its time stays: %s", e.msg);
	timer_arm(c->prune, PRUNE_MS);
}

/* The last thing that happens here: done may close us. */
static void on_grace(void *arg)
{
	struct control *c = arg;
	void (*done)(void *) = c->done;

	c->done = NULL;
	if (done)
		done(c->done_arg);
}

static void on_media(void *arg)
{
	struct control *c = arg;

	dispatcher_kick(c->dispatcher);
}

static int open_parts(struct control *c, const struct control_env *env, struct err *e)
{
	const struct media_env m = { .room = &c->room, .ready = on_media, .arg = c };
	struct dispatcher_env d = { .room = &c->room,
		.engine = env->engine,
		.deadline_ms = env->deadline_ms > 0 ? env->deadline_ms : TURN_DEADLINE_MS,
		.on_event = asks_event,
		.arg = c };

	/* Another bot's tokens are of no use to this one, and a login makes another bot. */
	if (sql_migrate(c->room.db, e) < 0 ||
		sql_run(c->room.db, e, "DELETE FROM channel_peer WHERE bot <> ?", "s",
			c->room.bot) < 0 ||
		sql_meta(c->room.db, "server_ms", &c->room.server_ms, e) < 0 ||
		outbox_open(&c->outbox, &c->room, e) < 0 || media_open(&c->media, &m, e) < 0)
		return -1;
	d.outbox = c->outbox;
	d.media = c->media;
	if (dispatcher_open(&c->dispatcher, &d, e) < 0 ||
		timer_new(&c->prune, c->room.loop, on_prune, c, e) < 0 ||
		timer_new(&c->sweep, c->room.loop, asks_sweep, c, e) < 0 ||
		timer_new(&c->grace, c->room.loop, on_grace, c, e) < 0)
		return -1;
	timer_arm(c->prune, PRUNE_FIRST_MS);
	return 0;
}

int control_open(struct control **out, const struct control_env *env,
	const struct control_settings *s, struct err *e)
{
	struct control *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "the control");
	c->bot = strdup(env->bot_id);
	c->owner = strdup(env->owner ? env->owner : "");
	c->folder = strdup(env->media);
	c->engine = env->engine;
	c->more_status = env->more_status;
	c->policy = env->policy;
	c->more_arg = env->more_arg;
	c->room = (struct room){ .loop = env->loop,
		.log = env->log,
		.db = env->db,
		.channel = env->channel,
		.ears = env->ears,
		.bot = c->bot,
		.owner = c->owner,
		.media = c->folder,
		.workspace = env->workspace,
		.outgoing = env->outgoing };
	if (!c->bot || !c->owner || !c->folder)
		err_set(e, E_NOMEM, "the control");
	else if (control_apply(c, s, e) == 0 && open_parts(c, env, e) == 0) {
		*out = c;
		return 0;
	}
	control_close(&c);
	return -1;
}

void control_close(struct control **cp)
{
	struct control *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	if (c->dispatcher)
		dispatcher_close(&c->dispatcher);
	media_close(&c->media);
	if (c->outbox)
		outbox_close(&c->outbox);
	timer_free(&c->prune);
	timer_free(&c->sweep);
	timer_free(&c->grace);
	asks_free(c);
	free_list(c->allowed);
	free(c->bot);
	free(c->owner);
	free(c->folder);
	free(c);
}

static void on_link(void *arg, const struct chan_status *s)
{
	struct control *c = arg;

	outbox_link(c->outbox, s->link);
}

void control_events(struct control *c, struct chan_events *out)
{
	*out = (struct chan_events){ .batch = intake_batch,
		.settle = intake_settle,
		.link = on_link,
		.arg = c };
}

void control_run(struct control *c)
{
	outbox_run(c->outbox);
	media_run(c->media);
	dispatcher_run(c->dispatcher);
}

/* A send that still flies may land in the rest of the grace; it goes again if it does not. */
static void on_idle(void *arg)
{
	struct control *c = arg;

	c->idle = true;
	if (c->done && !outbox_flying(c->outbox))
		timer_arm(c->grace, 0);
}

static void on_landed(void *arg)
{
	struct control *c = arg;

	if (c->done && c->idle)
		timer_arm(c->grace, 0);
}

void control_shutdown(struct control *c, int64_t grace_ms, void (*done)(void *), void *arg)
{
	asks_drop(c);
	c->done = done;
	c->done_arg = arg;
	timer_arm(c->grace, grace_ms);
	outbox_halt(c->outbox, on_landed, c);
	dispatcher_shutdown(c->dispatcher, on_idle, c);
}

/* --- Handles ---------------------------------------------------------------------------------- */

int control_status(struct control *c, struct control_status *out, struct err *e)
{
	struct outbox_counts n;
	struct dispatcher_now now;
	struct peer owner;

	*out = (struct control_status){ .limit = c->room.queue_limit,
		.sends_limit = PEER_SENDS_MAX };
	if (inbox_waiting(&c->room, NULL, &out->waiting, e) < 0 ||
		dispatcher_paused(c->dispatcher, &out->paused, e) < 0 ||
		outbox_counts(c->outbox, NULL, &n, e) < 0 ||
		peer_load(&c->room, c->owner, &owner, e) < 0 ||
		media_usage(&c->room, &out->media_files, &out->media_bytes, e) < 0)
		return -1;
	if (dispatcher_now(c->dispatcher, &now)) {
		out->turn = now.turn;
		out->turn_age_ms = now.age_ms;
	}
	out->sends_used = owner.sends;
	out->window_left_ms = peer_window(&c->room, &owner);
	out->unsent = n.unsent;
	out->parked = n.parked;
	out->refused = n.refused;
	out->unknown = n.unknown;
	out->unconfirmed = n.unconfirmed;
	out->handled = dispatcher_handled(c->dispatcher);
	out->failed = dispatcher_failed(c->dispatcher);
	memcpy(out->intake_error, c->intake_error, sizeof(out->intake_error));
	return 0;
}

int control_pause(struct control *c, bool on, struct err *e)
{
	return dispatcher_pause(c->dispatcher, on, e);
}

static int tell_owner(struct control *c, const struct stopping *stop, struct err *e)
{
	struct str s = STR_INIT(2048);
	int rc;

	command_name_stopped(c, stop, c->owner, peer_lang(&c->room, c->owner), &s);
	rc = str_ok(&s) ? outbox_add(c->outbox, c->owner, PART_STOP, 0, str_view(&s), NULL, e)
	                : err_set(e, E_NOMEM, "a notice");
	str_release(&s);
	return rc;
}

/* As the owner's /stop; the notice goes to whose turn it was. */
static int store_stop(struct control *c, const struct stopping *stop, bool all, int *dropped,
	struct err *e)
{
	const char *whose = stop->ran ? stop->victim : c->owner;
	int parts;

	if (outbox_drop(c->outbox, whose, stop->turn, &parts, e) < 0 ||
		command_stopped(c, stop, e) < 0 ||
		(all && inbox_clear(&c->room, NULL, dropped, e) < 0))
		return -1;
	if (!stop->ran)
		return 0;
	if (room_is_owner(&c->room, whose))
		return tell_owner(c, stop, e);
	return outbox_notice(c->outbox, whose, PART_STOP, 0, W_STOPPED_BY_OWNER, NULL, e);
}

int control_stop(struct control *c, bool all, bool *stopped, int *dropped, struct err *e)
{
	struct dispatcher_now now;
	bool terminal = dispatcher_now(c->dispatcher, &now) && now.origin != ORIGIN_PHONE;
	struct stopping stop;
	int rc;

	*dropped = 0;
	command_fence(c, c->owner, &stop);
	*stopped = stop.ran && !stop.again;
	stop.ran = *stopped && !terminal; /* then nobody on the phone has asked for it */
	if (db_begin(c->room.db, e) < 0)
		return -1;
	rc = sql_end(c->room.db, store_stop(c, &stop, all, dropped, e), e);
	if (all)
		control_sweep(c);
	outbox_kick(c->outbox);
	return rc;
}

static int check_reachable(struct control *c, const char *to, struct err *e)
{
	struct peer peer;
	int rc;

	if (!*to || !room_serves(&c->room, to))
		return err_set(e, E_DENIED, "%s is neither the owner nor an allowed user",
			*to ? to : "nobody");
	rc = peer_load(&c->room, to, &peer, e);
	if (rc < 0)
		return -1;
	if (rc == 0 || !*peer.token)
		return err_set(e, E_DENIED, "this user has not written yet; a bot may only answer");
	if (peer_window(&c->room, &peer) == 0)
		return err_set(e, E_DENIED,
			"the reply window is closed until this user writes again");
	if (peer.sends >= outbox_cap(PART_TEXT))
		return err_set(e, E_DENIED,
			"%d of %d sends are used; it takes a new message of this user", peer.sends,
			PEER_SENDS_MAX);
	return 0;
}

static int queue_all(struct control *c, struct parcel *files, const char *to, struct view text,
	struct err *e)
{
	bool empty = false;
	int rc;

	if (db_begin(c->room.db, e) < 0)
		return -1;
	rc = text.n ? outbox_add_markdown(c->outbox, to, PART_TEXT, 0, text, &empty, e) : 0;
	if (rc == 0 && empty)
		rc = err_set(e, E_FORMAT, "nothing of the text can be shown");
	if (rc == 0)
		rc = parcel_store(files, PART_TEXT, e);
	return sql_end(c->room.db, rc, e);
}

int control_send(struct control *c, const char *to, struct view text, const struct view *paths,
	size_t npaths, struct err *e)
{
	struct parcel *files = NULL;
	int rc;

	if (!to)
		to = c->owner;
	if ((text.n || npaths == 0) &&
		(view_trim(text).n == 0 || text.n > ENGINE_INPUT_MAX || !utf8_valid(text)))
		return err_set(e, E_FORMAT, "the text is empty, over 1 MiB, or not valid UTF-8");
	if (check_reachable(c, to, e) < 0 || parcel_open(&files, &c->room, c->outbox, to, 0, e) < 0)
		return -1;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < npaths; i++)
		rc = parcel_take(files, paths[i], VIEW_NONE, e);
	if (rc == 0)
		rc = queue_all(c, files, to, text, e);
	if (rc == 0)
		parcel_done(files);
	parcel_close(&files);
	outbox_kick(c->outbox);
	return rc;
}
