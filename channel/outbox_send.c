#include "channel/outbox-private.h"

#include "base/testhook.h"
#include "base/text.h"
#include "channel/quote.h"
#include "channel/sql.h"

#include <string.h>

#define STORE_RETRY_MS 5000 /* after the database has failed */

/* Parked with this reason a part goes as soon as the line is back, without a word of the user. */
static const char *const line_down = "the line is down";

static const int64_t backoff[OUTBOX_ATTEMPTS] = { 2000, 6000, 0 };

static struct part_ref ref_of(const struct part *p)
{
	return (struct part_ref){ p->seq, p->kind };
}

/* Ends the transaction; what it would have told is forgotten when it failed. */
static int finish(struct outbox *o, int rc, struct err *e)
{
	rc = sql_end(o->room->db, rc, e);
	if (rc < 0)
		o->nnews = 0;
	return rc;
}

static void tell_questions(struct outbox *o)
{
	while (o->nnews > 0) {
		o->nnews--;
		if (o->on_question)
			o->on_question(o->question_arg, o->news[o->nnews].part,
				o->news[o->nnews].shown ? o->landed_at : -1);
	}
}

/* --- What may go next ------------------------------------------------------------------------- */

static int park(struct outbox *o, const char *user, int kind, const char *why, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e,
		"state = 0 AND user = ?1 AND (?2 < 0 OR kind = ?2) ORDER BY place, sub", "si", user,
		kind);

	return outbox_move_each(o, rc, &refs, PART_PARKED, why, NULL, e);
}

/* Says once a window that more can be had, with one of the sends kept for such. */
static int tell_more(struct outbox *o, const struct peer *p, int sends, struct err *e)
{
	if (p->told || sends >= part_rules[PART_FAILURE].cap)
		return 0;
	if (outbox_notice(o, p->user, PART_FAILURE, 0, W_MORE_READY, NULL, e) < 0)
		return -1;
	return peer_set_told(o->room, p->user, e);
}

static int park_spent(struct outbox *o, const struct part *p, const struct peer *peer,
	struct err *e)
{
	if (park(o, p->user, (int)p->kind, "no send is left", e) < 0)
		return -1;
	return part_rules[p->kind].follows ? tell_more(o, peer, peer->sends, e) : 0;
}

/* The user's next part when it may be sent: 1. What may not is parked on the way. */
static int lane_head(struct outbox *o, const char *user, struct part *p, struct peer *peer,
	struct err *e)
{
	for (;;) {
		int rc = part_head(o->room, user, p, e);

		if (rc != 1)
			return rc;
		if (peer_load(o->room, user, peer, e) < 0)
			return -1;
		if (!room_serves(o->room, user))
			rc = park(o, user, -1, "the user is not served now", e);
		else if (peer_window(o->room, peer) == 0)
			rc = park(o, user, -1, "the reply window is over", e);
		else if (!p->counted && peer->sends >= part_rules[p->kind].cap)
			rc = park_spent(o, p, peer, e);
		else /* what is still being copied holds up what is behind it */
			return !outbox_is_file(p) || p->file.md5[0];
		if (rc < 0)
			return -1;
	}
}

static int64_t ready_at(const struct lane *l, const struct part *p)
{
	int64_t spaced = l->has_sent && !part_rules[p->kind].unspaced
	                         ? l->last_sent + test_pause(OUTBOX_SPACING_MS)
	                         : 0;

	return l->hold_until > spaced ? l->hold_until : spaced;
}

struct candidate {
	char user[CHAN_ID_MAX + 1];
	bool urgent;
	int64_t last_sent;
	bool any;
};

static bool better(const struct candidate *best, const struct lane *l, const struct part *p)
{
	if (!best->any || p->urgent != best->urgent)
		return !best->any || p->urgent;
	return (l->has_sent ? l->last_sent : -1) < best->last_sent;
}

/* Users take turns: of those who may, the one who was served longest ago. *wait: until the first of
 * the others may, or -1. */
static int choose_user(struct outbox *o, struct candidate *best, int64_t *wait, struct part *p,
	struct peer *peer, struct err *e)
{
	char user[CHAN_ID_MAX + 1] = "";
	int64_t now = loop_now(o->room->loop);
	int rc;

	*wait = -1;
	best->any = false;
	while ((rc = part_next_user(o->room, user, e)) == 1) {
		struct lane *l = outbox_lane(o, user);
		int64_t at;

		if (!l)
			return err_set(e, E_NOMEM, "the outbox");
		rc = lane_head(o, user, p, peer, e);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		at = ready_at(l, p);
		if (at > now) {
			*wait = *wait < 0 || at - now < *wait ? at - now : *wait;
		} else if (better(best, l, p)) {
			*best = (struct candidate){ .urgent = p->urgent, .any = true };
			best->last_sent = l->has_sent ? l->last_sent : -1;
			memcpy(best->user, user, sizeof(user));
		}
	}
	return rc;
}

/* --- Launch ----------------------------------------------------------------------------------- */

/* Is this the last part that goes for now, although more is kept? */
static int ends_early(struct outbox *o, const struct part *p, int sends, bool *yes, struct err *e)
{
	int waiting, parked;

	*yes = false;
	if (!part_rules[p->kind].follows)
		return 0;
	if (part_count(o->room, &waiting, e,
		    "state = 0 AND user = ? AND seq <> ? AND kind IN (0, 3)", "sl", p->user,
		    p->seq) < 0 ||
		part_count(o->room, &parked, e, "state = 6 AND user = ? AND kind IN (0, 3)", "s",
			p->user) < 0)
		return -1;
	*yes = waiting + parked > 0 && (waiting == 0 || sends >= part_rules[p->kind].cap);
	return 0;
}

/* "More follows" at the end of the part, or where it has no room, as a notice of its own. */
static int say_more(struct outbox *o, struct part *p, const struct peer *peer, int sends,
	struct err *e)
{
	struct str note = STR_INIT(512);
	int rc = 0;

	words(&note, peer_lang(o->room, p->user), W_MORE_FOLLOWS);
	if (!str_ok(&note)) {
		rc = err_set(e, E_NOMEM, "a reply");
	} else if (outbox_is_file(p) ||
		   utf8_count(str_view(&p->text)) + utf8_count(str_view(&note)) + 2 >
			   o->room->text_limit) {
		rc = tell_more(o, peer, sends, e);
	} else {
		str_adds(&p->text, "\n\n");
		str_add(&p->text, str_view(&note));
		rc = str_ok(&p->text) ? peer_set_told(o->room, p->user, e)
		                      : err_set(e, E_NOMEM, "a reply");
	}
	str_release(&note);
	return rc;
}

/* Everything that must be on disk before the first byte goes out. */
static int prepare(struct outbox *o, struct part *p, const struct peer *peer, struct err *e)
{
	int sends = peer->sends + (p->counted ? 0 : 1);
	bool early = false;

	/* What was tried before may have arrived: it goes again as it was. */
	if (p->attempts == 0 && (ends_early(o, p, sends, &early, e) < 0 ||
					(early && say_more(o, p, peer, sends, e) < 0)))
		return -1;
	if (!p->counted && peer_spend(o->room, p->user, 1, e) < 0)
		return -1;
	p->counted = true;
	p->attempts++;
	return part_launched(o->room, p, e);
}

static void land(struct outbox *o, enum chan_outcome what, const char *message_id, const char *why)
{
	outbox_file_close(o);
	o->flight = FLIGHT_LANDED;
	o->landed_at = loop_now(o->room->loop);
	o->outcome = what;
	o->stopped = false;
	(void)copy_z(o->message_id, sizeof(o->message_id), view_of(message_id ? message_id : ""));
	(void)copy_z(o->why, sizeof(o->why), view_cut(view_of(why ? why : ""), sizeof(o->why) - 1));
}

static void outbox_on_sent(void *arg, enum chan_outcome what, const char *message_id,
	const char *why)
{
	struct outbox *o = arg;

	test_halt("send.ack");
	land(o, what, message_id, why);
	outbox_kick(o); /* the line is free when this call has returned */
}

static void launch(struct outbox *o)
{
	struct chan_send s = { .to = o->part.user,
		.token = o->token,
		.client_id = o->part.client_id,
		.text = str_view(&o->part.text) };
	struct err e = ERR_INIT;

	o->flight = FLIGHT_SENT;
	if (outbox_is_file(&o->part)) {
		s.text = VIEW_NONE;
		s.file = &o->file;
	}
	if (s.file && outbox_file_open(o, &e) < 0) {
		log_warn(o->room->log, "outbox", "%s: %s", o->part.file.name, e.msg);
		land(o, CHAN_NOT_UPLOADED, "", CHAN_UPLOAD_UNREADABLE);
		outbox_kick(o);
	} else if (o->room->channel->ops->send(o->room->channel, &s, outbox_on_sent, o, &e) < 0) {
		land(o, CHAN_NOT_SENT, "", e.msg);
		outbox_kick(o);
	}
}

/* 1: launched. 0: nothing may go now; *wait as choose_user's. */
static int next(struct outbox *o, int64_t *wait, struct err *e)
{
	struct candidate best = { .any = false };
	struct peer peer;
	int rc;

	if (db_begin(o->room->db, e) < 0)
		return -1;
	rc = choose_user(o, &best, wait, &o->part, &peer, e);
	if (rc == 0 && best.any) {
		rc = lane_head(o, best.user, &o->part, &peer, e);
		if (rc == 1 && prepare(o, &o->part, &peer, e) < 0)
			rc = -1;
	}
	rc = finish(o, rc, e);
	if (rc < 0)
		return -1;
	tell_questions(o);
	if (rc != 1)
		return 0;
	memcpy(o->token, peer.token, sizeof(o->token));
	launch(o);
	return 1;
}

/* --- Landing ---------------------------------------------------------------------------------- */

static int hold(struct outbox *o, int64_t ms, const char *why, struct err *e)
{
	struct lane *l = outbox_lane(o, o->part.user);

	if (l)
		l->hold_until = loop_now(o->room->loop) + ms;
	return outbox_move(o, ref_of(&o->part), PART_WAITING, why, e);
}

/* An end without delivery: of an answer the user must hear. */
static int lost(struct outbox *o, enum part_state to, enum word w, struct err *e)
{
	if (outbox_move(o, ref_of(&o->part), to, o->why, e) < 0)
		return -1;
	if (!part_rules[o->part.kind].follows)
		return 0;
	return outbox_merge(o, o->part.user, PART_FAILURE, w, NULL, e);
}

/* This part and all behind it wait until the user writes. */
static int refused_for_now(struct outbox *o, struct err *e)
{
	if (peer_set_closed(o->room, o->part.user, e) < 0 ||
		outbox_move(o, ref_of(&o->part), PART_PARKED, o->why, e) < 0)
		return -1;
	return park(o, o->part.user, -1, "what goes before it was refused", e);
}

static int wait_for_line(struct outbox *o, struct err *e)
{
	if (outbox_move(o, ref_of(&o->part), PART_PARKED, line_down, e) < 0)
		return -1;
	return park(o, o->part.user, -1, line_down, e);
}

/* Too long for a server that says no more than "no"? Cut again, in place. */
static int recut(struct outbox *o, struct err *e)
{
	struct part *p = &o->part;
	struct chunks c = { NULL, 0, STR_INIT(PART_TEXT_MAX * 2) };
	struct part_new n = { .user = p->user,
		.kind = p->kind,
		.urgent = p->urgent,
		.turn = p->turn,
		.place = p->place,
		.refusals = 1,
		.word = -1 };
	int rc;

	if (p->kind == PART_QUESTION || outbox_is_file(p) ||
		utf8_count(str_view(&p->text)) <= OUTBOX_RECUT)
		return 0;
	rc = chunk_text(str_view(&p->text), OUTBOX_RECUT, &c, e);
	if (rc == 0 && c.n > 1)
		rc = part_recut(o->room, p->seq, c.parts[0], e);
	for (size_t i = 1; rc == 0 && i < c.n; i++) {
		n.sub = p->sub + (int)i;
		n.text = c.parts[i];
		rc = part_add(o->room, &n, NULL, e);
	}
	chunks_release(&c);
	return rc;
}

static int broken(struct outbox *o, struct err *e)
{
	int n = o->part.attempts;

	if (o->stopped)
		return outbox_move(o, ref_of(&o->part), PART_UNKNOWN, o->why, e) < 0
		               ? -1
		               : sql_run(o->room->db, e,
					 "UPDATE channel_outbox SET stopped = 1 WHERE seq = ?", "l",
					 o->part.seq);
	if (n < OUTBOX_ATTEMPTS)
		return hold(o, test_pause(backoff[n < 1 ? 0 : n - 1]), o->why, e);
	/* The word of a loss must not be lost with it: it rather comes twice. */
	if (o->outcome == CHAN_UNKNOWN && o->part.kind != PART_FAILURE)
		return lost(o, PART_UNKNOWN, W_MAYBE_LOST, e);
	return wait_for_line(o, e);
}

/* What could not be sent while the network was away. */
static int release_unsent(struct outbox *o, const char *user, struct err *e)
{
	struct part_refs refs;
	int rc;

	if (sql_run(o->room->db, e,
		    "UPDATE channel_outbox SET attempts = 0 WHERE state = 6 AND why = ?1 AND"
		    " (?2 IS NULL OR user = ?2)",
		    "ss", line_down, user) < 0)
		return -1;
	rc = part_select(o->room, &refs, e,
		"state = 6 AND why = ?1 AND (?2 IS NULL OR user = ?2) ORDER BY place, sub", "ss",
		line_down, user);
	return outbox_move_each(o, rc, &refs, PART_WAITING, "the line is back", NULL, e);
}

static int arrived(struct outbox *o, enum part_state to, struct err *e)
{
	o->expired = false;
	if (outbox_move(o, ref_of(&o->part), to, "", e) < 0 ||
		(outbox_is_file(&o->part) && outbox_file_arrived(o, e) < 0))
		return -1;
	return release_unsent(o, o->part.user, e);
}

/* The channel looks for fresh credentials meanwhile. If the second try fails too, all wait for
 * its word that the link is up, or for a message, which proves it. */
static int expired(struct outbox *o, struct err *e)
{
	o->held = o->expired;
	o->expired = true;
	return hold(o, test_pause(OUTBOX_EXPIRED_MS), "the login has expired", e);
}

/* For whoever quotes it. */
static int remember(struct outbox *o, struct err *e)
{
	const struct part *p = &o->part;
	bool file = outbox_is_file(p);

	return quote_remember(o->room, p->user, o->message_id, file ? VIEW("") : str_view(&p->text),
		file ? p->file.name : "", e);
}

/* Never again in this form. */
static int refused(struct outbox *o, struct err *e)
{
	if (!outbox_is_file(&o->part))
		return lost(o, PART_REFUSED, W_PART_REFUSED, e);
	return outbox_file_lost(o, ref_of(&o->part),
		o->outcome == CHAN_NOT_UPLOADED ? o->why : CHAN_UPLOAD_REFUSED, e);
}

static int apply(struct outbox *o, struct err *e)
{
	struct part *p = &o->part;
	bool first = p->refusals == 0;

	if ((o->outcome == CHAN_NOT_SENT || o->outcome == CHAN_NOT_UPLOADED) && p->counted) {
		p->counted = false;
		if (peer_spend(o->room, p->user, -1, e) < 0)
			return -1;
	}
	if (o->outcome == CHAN_EXPIRED && p->attempts > 0)
		p->attempts--;
	if (o->outcome == CHAN_THROTTLED || o->outcome == CHAN_REFUSED_BARE)
		p->refusals++;
	if (part_landed(o->room, p, o->outcome, o->message_id, e) < 0)
		return -1;
	switch (o->outcome) {
	case CHAN_ACCEPTED: return remember(o, e) < 0 ? -1 : arrived(o, PART_ACCEPTED, e);
	case CHAN_UNCONFIRMED: return arrived(o, PART_UNCONFIRMED, e);
	case CHAN_NOT_SENT:
	case CHAN_UNKNOWN: return broken(o, e);
	case CHAN_THROTTLED:
		return first ? hold(o, OUTBOX_THROTTLE_MS, o->why, e) : refused_for_now(o, e);
	case CHAN_REFUSED_BARE:
		if (!first)
			return refused_for_now(o, e);
		return recut(o, e) < 0 ? -1 : hold(o, test_pause(OUTBOX_BARE_MS), o->why, e);
	case CHAN_INVALID:
	case CHAN_NOT_UPLOADED: return refused(o, e);
	case CHAN_EXPIRED: return expired(o, e);
	case CHAN_CLOSED: break;
	}
	return refused_for_now(o, e);
}

/* Stores the outcome. apply() changes the part in memory, so a failed try works on a copy. */
static int settle(struct outbox *o, struct err *e)
{
	struct lane *l = outbox_lane(o, o->part.user);
	int attempts = o->part.attempts, refusals = o->part.refusals;
	bool counted = o->part.counted;

	if (l) {
		l->last_sent = loop_now(o->room->loop);
		l->has_sent = true;
	}
	if (db_begin(o->room->db, e) < 0)
		return -1;
	if (finish(o, apply(o, e), e) < 0) {
		o->part.attempts = attempts;
		o->part.refusals = refusals;
		o->part.counted = counted;
		return -1;
	}
	o->flight = FLIGHT_NONE;
	o->stopped = false;
	tell_questions(o);
	return 0;
}

/* --- Without a row ---------------------------------------------------------------------------- */

static void outbox_on_shouted(void *arg, enum chan_outcome what, const char *message_id,
	const char *why)
{
	struct outbox *o = arg;

	(void)message_id;
	if (what != CHAN_ACCEPTED && what != CHAN_UNCONFIRMED)
		log_warn(o->room->log, "outbox", "a notice without a row was not sent: %s", why);
	o->flight = FLIGHT_NONE;
	outbox_kick(o);
}

static void shout(struct outbox *o)
{
	char id[64];
	struct chan_send s = { .to = o->shout.user,
		.token = o->shout.token,
		.client_id = id,
		.text = str_view(&o->shout.text) };

	part_client_id(o->room, id);
	o->flight = FLIGHT_SHOUT;
	if (o->room->channel->ops->send(o->room->channel, &s, outbox_on_shouted, o, NULL) < 0) {
		o->flight = FLIGHT_NONE;
		outbox_kick(o);
	}
	str_reset(&o->shout.text);
}

/* --- The step --------------------------------------------------------------------------------- */

static void failed(struct outbox *o, const struct err *e)
{
	if (!o->failing)
		log_error(o->room->log, "outbox", "cannot go on for now: %s", e->msg);
	o->failing = true;
	timer_arm(o->timer, STORE_RETRY_MS);
}

void outbox_settle(struct outbox *o)
{
	struct err e = ERR_INIT;

	if (o->flight == FLIGHT_LANDED && settle(o, &e) < 0)
		failed(o, &e);
}

void outbox_step(struct outbox *o)
{
	struct err e = ERR_INIT;
	int64_t wait = -1;

	if (o->flight == FLIGHT_SENT || o->flight == FLIGHT_SHOUT)
		return;
	if (o->flight == FLIGHT_NONE && o->running && o->shout.text.n) {
		shout(o);
		return;
	}
	outbox_settle(o);
	if (o->flight == FLIGHT_LANDED)
		return;
	if (o->sweep && o->spool)
		spool_sweep(o->spool);
	o->sweep = false;
	if (!o->running && o->on_landed)
		o->on_landed(o->landed_arg);
	if (!o->running || o->held)
		return;
	if (o->shout.text.n) {
		outbox_kick(o);
		return;
	}
	if (next(o, &wait, &e) < 0) {
		failed(o, &e);
		return;
	}
	o->failing = false;
	if (o->flight == FLIGHT_NONE && wait >= 0)
		timer_arm(o->timer, wait);
}

void outbox_link(struct outbox *o, enum chan_link link)
{
	struct err e = ERR_INIT;

	if (link == CHAN_LINK_EXPIRED || link == CHAN_LINK_REPLACED)
		o->held = true;
	if (link != CHAN_LINK_UP)
		return;
	o->held = o->expired = false;
	if (db_begin(o->room->db, &e) < 0 || finish(o, release_unsent(o, NULL, &e), &e) < 0)
		log_warn(o->room->log, "outbox", "parts parked for the network stay so: %s", e.msg);
	tell_questions(o);
	outbox_kick(o);
}
