#include "channel/control-private.h"

#include "base/text.h"
#include "channel/peer.h"
#include "channel/prompt.h"
#include "channel/sql.h"

#include <string.h>

#define EXCERPT_CHARS 24
#define LIST_MAX      20 /* lines of /queue */

enum who {
	ANYBODY,
	OWNER,
	OWNER_IN_TURN /* anybody; where an engine takes it as a turn, the owner: an agent's sessions
	                 and ways of working reach beyond one user's conversation */
};

struct command {
	const char *name, *zh;
	int (*run)(struct control *c, struct command_call *call, struct err *e);
	int engine; /* an enum engine_command, for run_engine */
	enum who who;
	bool queued; /* an engine that advertises it takes it as a turn */
};

/* One sentence of the reply, on a line of its own. */
#define say(call, ...) \
	(line((call)->reply), words((call)->reply, (call)->lang, __VA_ARGS__), \
		said((call)->reply, e))

static void line(struct str *s)
{
	if (s->n)
		str_addc(s, '\n');
}

static int said(const struct str *s, struct err *e)
{
	return str_ok(s) ? 0 : err_set(e, E_NOMEM, "a command's reply");
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Full-width letters, slash and space in their ASCII form, letters of the word in lower case. The
 * rest of the message stays as it is. */
static void lower_word(struct view word, char *out, size_t size)
{
	size_t n = 0;

	while (word.n && n + 5 < size) {
		uint32_t cp = 0;
		size_t len = utf8_next(word, &cp);

		if (len == 0)
			len = 1;
		if (cp >= 0xff01 && cp <= 0xff5e)
			cp -= 0xfee0;
		if (cp < 0x80 && cp > 0) {
			out[n++] = (char)(cp >= 'A' && cp <= 'Z' ? cp | 0x20 : cp);
		} else {
			memcpy(out + n, word.p, len);
			n += len;
		}
		word = view_from(word, len);
	}
	out[n] = '\0';
}

static bool is_space(struct view v, size_t *len)
{
	static const struct view wide[] = { { "\xe3\x80\x80", 3 }, { "\xc2\xa0", 2 } };

	*len = 1;
	if (v.n && (v.p[0] == ' ' || v.p[0] == '\t' || v.p[0] == '\n' || v.p[0] == '\r'))
		return true;
	for (size_t i = 0; i < 2; i++) {
		*len = wide[i].n;
		if (view_starts(v, wide[i]))
			return true;
	}
	return false;
}

static struct view skip_space(struct view v)
{
	size_t len;

	while (v.n && is_space(v, &len))
		v = view_from(v, len);
	return v;
}

static struct view trim_end(struct view v)
{
	size_t end = 0, len;

	for (size_t i = 0; i < v.n; i += len)
		if (!is_space(view_from(v, i), &len)) {
			len = 1;
			end = i + 1;
		}
	return view_cut(v, end);
}

static struct view cut_word(struct view *rest)
{
	struct view v = *rest;
	size_t n = 0, len;

	while (n < v.n && !is_space(view_from(v, n), &len))
		n++;
	*rest = skip_space(view_from(v, n));
	return view_cut(v, n);
}

/* Does the argument begin with this word? rest (or NULL): what follows it. */
static bool takes_word(const struct command_call *call, const char *en, const char *zh,
	struct view *rest)
{
	struct view v = call->arg;
	char word[32];

	lower_word(cut_word(&v), word, sizeof(word));
	if (rest)
		*rest = v;
	return strcmp(word, en) == 0 || strcmp(word, zh) == 0;
}

/* --- The commands ----------------------------------------------------------------------------- */

static int run_help(struct control *c, struct command_call *call, struct err *e)
{
	(void)c;
	return say(call, W_HELP);
}

static int status_state(struct control *c, struct command_call *call, struct err *e)
{
	struct str span = STR_INIT(64);
	struct dispatcher_now now;
	bool paused;
	int rc;

	if (dispatcher_paused(c->dispatcher, &paused, e) < 0)
		return -1;
	if (dispatcher_now(c->dispatcher, &now)) {
		words_span(&span, call->lang, now.age_ms);
		rc = say(call, W_STATUS_RUNNING, str_cstr(&span));
	} else if (dispatcher_awaits(c->dispatcher)) {
		rc = say(call, W_STATUS_AWAITS);
	} else {
		rc = paused ? 0 : say(call, W_STATUS_IDLE);
	}
	if (rc == 0 && questions_waiting(dispatcher_questions(c->dispatcher), call->user) > 0)
		rc = say(call, W_STATUS_ASKED);
	if (rc == 0 && paused)
		rc = say(call, W_STATUS_PAUSED);
	str_release(&span);
	return rc;
}

static int status_parts(struct control *c, struct command_call *call, struct err *e)
{
	struct outbox_counts n;
	struct peer peer;

	if (outbox_counts(c->outbox, call->user, &n, e) < 0 ||
		peer_load(&c->room, call->user, &peer, e) < 0)
		return -1;
	if (say(call, W_STATUS_SENDS, NUM(peer.sends), NUM(PEER_SENDS_MAX)) < 0 ||
		(n.parked > 0 && say(call, W_STATUS_PARKED, NUM(n.parked)) < 0) ||
		(n.refused + n.unknown > 0 &&
			say(call, W_STATUS_TROUBLE, NUM(n.refused), NUM(n.unknown)) < 0) ||
		(n.unconfirmed > 0 && say(call, W_STATUS_UNCONFIRMED, NUM(n.unconfirmed)) < 0))
		return -1;
	return 0;
}

static enum word link_word(enum chan_link link)
{
	switch (link) {
	case CHAN_LINK_STARTING: return W_LINK_STARTING;
	case CHAN_LINK_UP: return W_LINK_UP;
	case CHAN_LINK_DEGRADED: return W_LINK_DEGRADED;
	case CHAN_LINK_EXPIRED:
	case CHAN_LINK_REPLACED: return W_LINK_EXPIRED;
	case CHAN_LINK_STOPPED: break;
	}
	return W_LINK_STOPPED;
}

static int status_rooms(struct control *c, struct command_call *call, struct err *e)
{
	struct str s = STR_INIT(4096), safe = STR_INIT(4096);
	struct chan_status link;
	int rc;

	c->room.channel->ops->status(c->room.channel, &link);
	words(&s, call->lang, link_word(link.link));
	rc = say(call, W_STATUS_LINK, str_cstr(&s));
	str_reset(&s);
	c->engine->ops->describe(c->engine, &s);
	words_excerpt(&safe, str_view(&s), 200);
	if (rc == 0)
		rc = say(call, W_STATUS_ENGINE, str_cstr(&safe));
	str_reset(&safe);
	words_excerpt(&safe, view_of(c->intake_error), 200);
	if (rc == 0 && safe.n)
		rc = say(call, W_STATUS_INTAKE, str_cstr(&safe));
	str_reset(&s);
	if (c->more_status)
		c->more_status(c->more_arg, call->lang != LANG_EN, &s);
	if (s.n) {
		line(call->reply);
		str_add(call->reply, view_trim(str_view(&s)));
	}
	str_release(&s);
	str_release(&safe);
	return rc < 0 ? rc : said(call->reply, e);
}

static int run_status(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (status_state(c, call, e) < 0 || inbox_waiting(&c->room, NULL, &n, e) < 0 ||
		say(call, W_STATUS_QUEUE, NUM(n), NUM(c->room.queue_limit)) < 0)
		return -1;
	if (status_parts(c, call, e) < 0)
		return -1;
	return status_rooms(c, call, e);
}

static int say_waiting(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (inbox_waiting(&c->room, call->owner ? NULL : call->user, &n, e) < 0)
		return -1;
	return n > 0 ? say(call, W_STILL_WAITING, NUM(n)) : say(call, W_NONE_WAITING);
}

static int stop_all(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (inbox_clear(&c->room, NULL, &n, e) < 0)
		return -1;
	control_sweep(c);
	return n > 0 ? say(call, W_ALL_DROPPED, NUM(n)) : say(call, W_NONE_WAITING);
}

static int run_stop(struct control *c, struct command_call *call, struct err *e)
{
	const struct stopping *stop = &call->stop;
	bool all = takes_word(call, "all", "全部", NULL);
	const char *whose = stop->ran ? stop->victim : call->user;
	int n, rc;

	if (outbox_drop(c->outbox, whose, stop->turn, &n, e) < 0 || command_stopped(c, stop, e) < 0)
		return -1;
	if (stop->ran && !stop->again && strcmp(stop->victim, call->user) != 0 &&
		outbox_notice(c->outbox, stop->victim, PART_STOP, 0, W_STOPPED_BY_OWNER, NULL, e) <
			0)
		return -1;
	if (stop->ran)
		rc = say(call, W_STOPPED);
	else
		rc = n > 0 ? say(call, W_STOPPED_SENDING) : say(call, W_STOP_NOTHING);
	if (rc < 0)
		return -1;
	if (all && call->owner)
		return stop_all(c, call, e);
	if (all && say(call, W_OWNER_ONLY, call->word) < 0)
		return -1;
	return say_waiting(c, call, e);
}

static int run_pause(struct control *c, struct command_call *call, struct err *e)
{
	bool paused;

	if (dispatcher_paused(c->dispatcher, &paused, e) < 0)
		return -1;
	if (paused)
		return say(call, W_PAUSED_ALREADY);
	if (dispatcher_pause(c->dispatcher, true, e) < 0)
		return -1;
	return say(call, W_PAUSED);
}

static int run_resume(struct control *c, struct command_call *call, struct err *e)
{
	bool paused;
	int n;

	if (dispatcher_paused(c->dispatcher, &paused, e) < 0)
		return -1;
	if (!paused)
		return say(call, W_NOT_PAUSED);
	if (dispatcher_pause(c->dispatcher, false, e) < 0 ||
		inbox_waiting(&c->room, NULL, &n, e) < 0)
		return -1;
	return say(call, W_RESUMED, NUM(n));
}

static int queue_list(struct control *c, struct command_call *call, struct err *e)
{
	struct inbox_item it;
	int own, all, rc = 0;

	if (inbox_waiting(&c->room, call->user, &own, e) < 0 ||
		inbox_waiting(&c->room, NULL, &all, e) < 0)
		return -1;
	if (own == 0)
		rc = say(call, W_QUEUE_EMPTY);
	else
		rc = say(call, W_QUEUE_LIST, NUM(own));
	inbox_item_init(&it);
	for (int i = 1; rc == 0 && i <= own && i <= LIST_MAX; i++) {
		rc = inbox_nth(&c->room, call->user, i, &it, e);
		if (rc != 1)
			break;
		str_addf(call->reply, "\n%d. ", i);
		prompt_excerpt(call->reply, &c->room, &it, EXCERPT_CHARS);
		rc = said(call->reply, e);
	}
	inbox_item_release(&it);
	if (own > LIST_MAX)
		str_adds(call->reply, "\n…");
	if (rc >= 0 && call->owner && all > own)
		rc = say(call, W_QUEUE_OTHERS, NUM(all - own));
	if (rc >= 0 && own > 0)
		rc = say(call, W_QUEUE_HOW);
	return rc < 0 ? -1 : 0;
}

static int queue_drop(struct control *c, struct command_call *call, struct view number,
	struct err *e)
{
	struct str text = STR_INIT(1024);
	unsigned long long n = 0;
	struct inbox_item it;
	char digits[16];
	int rc = 0;

	inbox_item_init(&it);
	lower_word(number, digits, sizeof(digits));
	if (parse_u64(view_of(digits), &n) == 0 && n >= 1 && n <= 1000)
		rc = inbox_nth(&c->room, call->user, (int)n, &it, e);
	if (rc == 0) {
		words_excerpt(&text, number, 8);
		rc = say(call, W_QUEUE_NO_SUCH, str_cstr(&text));
	} else if (rc == 1) {
		rc = inbox_move(&c->room, it.seq, INBOX_DROPPED, 0, e);
		prompt_excerpt(&text, &c->room, &it, EXCERPT_CHARS);
		if (rc == 0)
			rc = say(call, W_QUEUE_DROPPED, str_cstr(&text));
		control_sweep(c);
	}
	inbox_item_release(&it);
	str_release(&text);
	return rc;
}

static int run_policy(struct control *c, struct command_call *call, struct err *e)
{
	line(call->reply);
	if (c->policy)
		c->policy(c->more_arg, call->lang != LANG_EN, call->reply);
	return said(call->reply, e);
}

static int run_queue(struct control *c, struct command_call *call, struct err *e)
{
	struct view rest;

	if (takes_word(call, "drop", "删除", &rest))
		return queue_drop(c, call, rest, e);
	return queue_list(c, call, e);
}

static int run_clear(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (inbox_clear(&c->room, call->user, &n, e) < 0)
		return -1;
	control_sweep(c);
	return n > 0 ? say(call, W_CLEARED, NUM(n)) : say(call, W_QUEUE_EMPTY);
}

static int say_taken(struct control *c, struct command_call *call, const struct inbox_item *it,
	struct err *e)
{
	struct str shown = STR_INIT(1024);
	int rc;

	prompt_excerpt(&shown, &c->room, it, EXCERPT_CHARS);
	rc = say(call, W_RETRY_TAKEN, str_cstr(&shown));
	str_release(&shown);
	return rc;
}

/* Typing shows that it has begun; words are due only where it has to wait. */
static int say_retry(struct control *c, struct command_call *call, const struct inbox_item *it,
	struct err *e)
{
	struct dispatcher_now now;
	bool paused;
	int n;

	if (dispatcher_paused(c->dispatcher, &paused, e) < 0 ||
		inbox_waiting(&c->room, NULL, &n, e) < 0)
		return -1;
	if (paused || n > 1 || dispatcher_now(c->dispatcher, &now))
		return say_taken(c, call, it, e);
	return 0;
}

static int retry(struct control *c, struct command_call *call, const struct inbox_item *it,
	struct err *e)
{
	struct inbox_item again = *it;
	int rc = inbox_put(&c->room, it->id, it->user, it->origin, it->lang, str_view(&it->text),
		&again.seq, e);

	if (rc == 0)
		return say(call, W_NOT_TAKEN, NUM(1), NUM(c->room.queue_limit));
	if (rc < 0 || inbox_move(&c->room, it->seq, INBOX_RETRIED, 0, e) < 0 ||
		media_move(&c->room, it->seq, again.seq, e) < 0)
		return -1;
	return say_retry(c, call, &again, e);
}

/* Asked for twice in a row, the same message is meant, and not one that failed long ago. */
static int run_retry(struct control *c, struct command_call *call, struct err *e)
{
	struct inbox_item it;
	int rc;

	inbox_item_init(&it);
	rc = inbox_retrying(&c->room, call->user, &it, e);
	if (rc == 1)
		rc = say_taken(c, call, &it, e);
	else if (rc == 0 && (rc = inbox_unfinished(&c->room, call->user, &it, e)) == 0)
		rc = say(call, W_RETRY_NONE);
	else if (rc == 1)
		rc = retry(c, call, &it, e);
	inbox_item_release(&it);
	return rc;
}

/* The parts are the answer; only their absence needs words. */
static int run_more(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (outbox_release(c->outbox, call->user, OUTBOX_PARTS_MAX, &n, e) < 0 ||
		(n == 0 && outbox_again(c->outbox, call->user, &n, e) < 0))
		return -1;
	return n > 0 ? 0 : say(call, W_MORE_NONE);
}

/* A conversation cannot be changed under a turn that runs in it. */
static bool busy_with(const struct control *c, const struct command_call *call)
{
	bool changes = call->cmd->engine == ENGINE_CMD_NEW ||
	               call->cmd->engine == ENGINE_CMD_OPEN ||
	               call->cmd->engine == ENGINE_CMD_COMPACT;
	struct dispatcher_now now;

	return changes && dispatcher_now(c->dispatcher, &now) && strcmp(now.user, call->user) == 0;
}

static int engine_failed(struct command_call *call, const struct err *why, struct err *e)
{
	struct str text = STR_INIT(1024);
	int rc;

	words_excerpt(&text, view_of(why->msg), 200);
	if (why->code == E_UNSUPPORTED)
		rc = say(call, W_ENGINE_LACKS, call->word);
	else if (why->code == E_BUSY)
		rc = say(call, W_ENGINE_BUSY);
	else
		rc = say(call, W_COMMAND_FAILED, str_cstr(&text));
	str_release(&text);
	return rc;
}

/* What fails inside the engine is taken back there and told; the message itself is kept. */
static int ask_engine(struct control *c, const struct command_call *call, struct str *reply,
	struct err *e)
{
	const char *lang = call->lang == LANG_EN ? "en" : "zh";
	int rc;

	if (db_begin(c->room.db, e) < 0)
		return -1;
	rc = c->engine->ops->command(c->engine, (enum engine_command)call->cmd->engine, call->user,
		call->arg, lang, reply, e);
	return sql_end(c->room.db, rc, e);
}

static int run_engine(struct control *c, struct command_call *call, struct err *e)
{
	struct str text = STR_INIT(PART_TEXT_MAX), shown = STR_INIT(PART_TEXT_MAX);
	struct format_opts opts = { .mode = c->room.mode };
	struct err why = ERR_INIT;
	int rc;

	if (busy_with(c, call))
		return say(call, W_ENGINE_BUSY);
	rc = ask_engine(c, call, &text, &why);
	if (rc < 0) {
		rc = engine_failed(call, &why, e);
	} else if (text.n == 0 && call->cmd->engine == ENGINE_CMD_NEW) {
		rc = say(call, W_NEW_DONE);
	} else if (format_text(str_view(&text), &opts, &shown, e) < 0) {
		rc = -1;
	} else {
		line(call->reply);
		str_add(call->reply, str_view(&shown));
		rc = said(call->reply, e);
	}
	str_release(&text);
	str_release(&shown);
	return rc;
}

static const struct command commands[] = {
	{ "help", "帮助", run_help, 0, ANYBODY, false },
	{ "status", "状态", run_status, 0, ANYBODY, false },
	{ "stop", "停止", run_stop, 0, ANYBODY, false },
	{ "pause", "暂停", run_pause, 0, OWNER, false },
	{ "resume", "继续", run_resume, 0, OWNER, false },
	{ "queue", "队列", run_queue, 0, ANYBODY, false },
	{ "policy", "权限", run_policy, 0, ANYBODY, false },
	{ "clear", "清空", run_clear, 0, ANYBODY, false },
	{ "retry", "重试", run_retry, 0, ANYBODY, false },
	{ "more", "更多", run_more, 0, ANYBODY, false },
	{ "new", "新对话", run_engine, ENGINE_CMD_NEW, ANYBODY, false },
	{ "sessions", "会话", run_engine, ENGINE_CMD_LIST, OWNER_IN_TURN, true },
	{ "open", "打开", run_engine, ENGINE_CMD_OPEN, OWNER_IN_TURN, true },
	{ "model", "模型", run_engine, ENGINE_CMD_MODEL, OWNER, true },
	{ "effort", "思考", run_engine, ENGINE_CMD_EFFORT, OWNER, true },
	{ "mode", "模式", run_engine, ENGINE_CMD_MODE, OWNER, true },
	{ "compact", "压缩", run_engine, ENGINE_CMD_COMPACT, ANYBODY, true },
	{ "usage", "用量", run_engine, ENGINE_CMD_USAGE, ANYBODY, false },
	{ "goal", "目标", run_engine, ENGINE_CMD_GOAL, ANYBODY, true },
	{ "steer", "引导", run_engine, ENGINE_CMD_STEER, ANYBODY, true },
};
#define NCOMMANDS (sizeof(commands) / sizeof(*commands))

/* --- Which command is it?
 * ------------------------------------------------------------------------- */

/* "/stop." and "/停止。" are meant as /stop. */
static void drop_period(char *word)
{
	static const char *const ends[] = { ".", "!", "。" };
	size_t n = strlen(word);

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(ends[i]);

		if (n > len + 1 && strcmp(word + n - len, ends[i]) == 0)
			word[n - len] = '\0';
	}
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0 || strcmp(name, commands[i].zh) == 0)
			return &commands[i];
	return NULL;
}

static bool engine_knows(const struct control *c, const char *name)
{
	const char *const *list =
		c->engine->ops->commands ? c->engine->ops->commands(c->engine) : NULL;

	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(name, list[i][0] == '/' ? list[i] + 1 : list[i]) == 0)
			return true;
	return false;
}

enum command_parse command_parse(struct control *c, struct view text, struct command_call *call)
{
	struct view rest = skip_space(text);

	if (!view_starts(rest, VIEW("/")) && !view_starts(rest, VIEW("／")))
		return COMMAND_NONE;
	lower_word(cut_word(&rest), call->word, sizeof(call->word));
	drop_period(call->word);
	call->arg = trim_end(rest);
	call->cmd = find(call->word + 1);
	if (call->cmd && !call->cmd->queued)
		return COMMAND_OURS;
	/* By its first name, whatever it was called by. */
	if (engine_knows(c, call->cmd ? call->cmd->name : call->word + 1)) {
		call->engine_name = call->cmd ? call->cmd->name : call->word + 1;
		call->denied = call->cmd && call->cmd->who != ANYBODY && !call->owner;
		return call->denied ? COMMAND_OURS : COMMAND_ENGINE;
	}
	return call->cmd ? COMMAND_OURS : COMMAND_UNKNOWN;
}

void command_more(struct command_call *call)
{
	call->cmd = find("more");
}

bool command_is_stop(const struct command_call *call)
{
	return call->cmd && call->cmd->run == run_stop;
}

bool command_releases(const struct command_call *call)
{
	return call->cmd && call->cmd->run != run_stop && call->cmd->run != run_more;
}

static bool may_stop(const struct control *c, const char *user, const char *whose)
{
	return whose && (room_is_owner(&c->room, user) || strcmp(whose, user) == 0);
}

int command_stopped(struct control *c, const struct stopping *stop, struct err *e)
{
	int rc = stop->awaited ? inbox_waits(&c->room, stop->awaited, e) : 0;

	return rc == 1 ? inbox_move(&c->room, stop->awaited, INBOX_STOPPED, 0, e) : rc;
}

void command_fence(struct control *c, const char *user, struct stopping *out)
{
	struct dispatcher_now now;

	*out = (struct stopping){ .ran = false };
	if (dispatcher_now(c->dispatcher, &now)) {
		out->ran = may_stop(c, user, now.user);
		out->again = out->ran && !dispatcher_stop(c->dispatcher);
	} else if (may_stop(c, user, dispatcher_awaits(c->dispatcher))) {
		out->ran = dispatcher_stop_awaited(c->dispatcher, &now);
		out->awaited = now.seq;
	}
	if (out->ran) {
		out->turn = now.turn;
		memcpy(out->victim, now.user, sizeof(out->victim));
	}
	outbox_fence(c->outbox, out->ran ? out->victim : user, out->turn);
}

int command_run(struct control *c, struct command_call *call, struct err *e)
{
	if (call->denied || (call->cmd->who == OWNER && !call->owner))
		return say(call, W_OWNER_ONLY, call->word);
	return call->cmd->run(c, call, e);
}
