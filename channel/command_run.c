/* What each command does. */
#include "channel/command-private.h"

#include "channel/prompt.h"
#include "channel/sql.h"

#include <string.h>

#define LIST_MAX 20 /* lines of /queue */

static int run_help(struct control *c, struct command_call *call, struct err *e)
{
	(void)c;
	return say(call, W_HELP);
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
		prompt_excerpt(call->reply, &c->room, &it);
		rc = command_said(call->reply, e);
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
	command_lower(number, digits, sizeof(digits));
	if (parse_u64(view_of(digits), &n) == 0 && n >= 1 && n <= 1000)
		rc = inbox_nth(&c->room, call->user, (int)n, &it, e);
	if (rc == 0) {
		words_excerpt(&text, number, 8);
		rc = say(call, W_QUEUE_NO_SUCH, str_cstr(&text));
	} else if (rc == 1) {
		rc = inbox_move(&c->room, it.seq, INBOX_DROPPED, 0, e);
		prompt_excerpt(&text, &c->room, &it);
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
	words_each(l, call->lang) {
		command_line(call->reply);
		if (c->policy)
			c->policy(c->more_arg, l == LANG_ZH, call->reply);
	}
	return command_said(call->reply, e);
}

static int run_queue(struct control *c, struct command_call *call, struct err *e)
{
	struct view rest;

	if (command_takes(call, "drop", "删除", &rest) && rest.n > 0)
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

	prompt_excerpt(&shown, &c->room, it);
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

	words_named(&text, view_of(why->msg), 200); /* it may name what is to be typed */
	if (why->code == E_UNSUPPORTED)
		rc = say(call, W_ENGINE_LACKS, call->word);
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
		command_line(call->reply);
		str_add(call->reply, str_view(&shown));
		rc = command_said(call->reply, e);
	}
	str_release(&text);
	str_release(&shown);
	return rc;
}

static const struct command commands[] = {
	{ "help", "帮助", run_help, 0, ANYBODY, false },
	{ "status", "状态", command_status, 0, ANYBODY, false },
	{ "stop", "停止", command_stop, 0, ANYBODY, false },
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

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0 || strcmp(name, commands[i].zh) == 0)
			return &commands[i];
	return NULL;
}

const struct command *command_joined(struct view text, struct view *arg)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (view_starts(text, view_of(commands[i].zh))) {
			*arg = view_from(text, strlen(commands[i].zh));
			return &commands[i];
		}
	return NULL;
}
