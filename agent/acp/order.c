#include "agent/acp/acp-private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/say.h"
#include "base/text.h"

#define PAGES_MAX   10 /* of one list of the agent's sessions */
#define SHOWN_MAX   20 /* of them */
#define TITLE_CHARS 40
#define TITLE_MAX   ((size_t)1024)

/* --- What a message wants --------------------------------------------------------------------- */

void order_read(struct acp *a)
{
	static const struct {
		const char *word;
		enum order order;
	} words[] = { { "/sessions", ORDER_LIST }, { "/open", ORDER_OPEN },
		{ "/model", ORDER_MODEL }, { "/effort", ORDER_EFFORT }, { "/mode", ORDER_MODE } };
	struct view text = view_trim(str_view(&a->text));
	size_t n = 0;

	while (n < text.n && !strchr(" \t\r\n", text.p[n]))
		n++;
	a->order = ORDER_PROMPT;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (view_eqs(view_cut(text, n), words[i].word))
			a->order = words[i].order;
	a->arg = view_trim(view_from(text, n));
}

static void done(struct acp *a)
{
	acp_finish(a, ENGINE_OK, VIEW_NONE);
}

/* --- The list of sessions --------------------------------------------------------------------- */

static void forget_list(struct acp *a)
{
	while (a->list.n > 0) {
		free(a->list.all[--a->list.n].id);
		free(a->list.all[a->list.n].title);
	}
	free(a->list.whose);
	a->list.whose = NULL;
}

void order_clear(struct acp *a)
{
	forget_list(a);
	free(a->list.all);
	a->list.all = NULL;
}

/* "2026-08-02T10:20:30.5Z" and with an offset; 0: not known. */
static int64_t read_time(const char *text)
{
	struct tm tm = { .tm_mday = 1 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t at;

	if (!rest)
		return 0;
	at = timegm(&tm);
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (*rest == '+' || *rest == '-') {
		struct tm offset = { .tm_mday = 1 };

		if (!strptime(rest + 1, "%H:%M", &offset))
			return 0;
		at += (*rest == '+' ? -60 : 60) * (int64_t)(offset.tm_hour * 60 + offset.tm_min);
	}
	return at * 1000;
}

/* Those that work elsewhere are left out, also by agents that do not look at what is asked. */
static void add_listed(struct acp *a, const struct json *item)
{
	struct view id, cwd = view_of(a->workspace), title = VIEW_NONE, at = VIEW_NONE;
	struct listed l = { .place = a->list.n };

	if (a->list.n == LISTED_MAX || json_type(item) != JSON_OBJECT ||
		json_get_str(item, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &id, NULL) !=
			1)
		return;
	(void)json_get_str(item, "cwd", JSON_OPTIONAL, 1, SIZE_MAX, &cwd, NULL);
	(void)json_get_str(item, "title", JSON_OPTIONAL, 1, SIZE_MAX, &title, NULL);
	(void)json_get_str(item, "updatedAt", JSON_OPTIONAL, 1, 64, &at, NULL);
	if (!view_eqs(cwd, a->workspace))
		return;
	title = view_cut(title, utf8_cut(title, TITLE_MAX));
	l.id = strndup(id.p, id.n);
	l.title = title.n > 0 ? strndup(title.p, title.n) : strdup("");
	l.at = at.n > 0 ? read_time(at.p) : 0;
	if (l.id && l.title) {
		a->list.all[a->list.n++] = l;
		return;
	}
	free(l.id);
	free(l.title);
}

static int newest_first(const void *x, const void *y)
{
	const struct listed *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? 1 : -1;
	return a->place < b->place ? -1 : 1;
}

static bool ask_page(struct acp *a, struct view cursor);

static void show_list(struct acp *a)
{
	struct str line = STR_INIT(4096), mine = STR_INIT(STORE_SESSION_MAX);
	bool zh = strcmp(a->language, "zh") == 0;

	(void)store_get(a->store, a->name, a->conversation, a->workspace, &mine, NULL);
	if (a->list.n == 0)
		acp_reply(a, "这里还没有会话。", "There is no session here yet.");
	for (size_t i = 0; i < a->list.n && i < SHOWN_MAX; i++) {
		const struct listed *l = &a->list.all[i];

		str_reset(&line);
		say_words(&line, view_of(l->title[0] ? l->title : l->id), TITLE_CHARS);
		if (l->at > 0) {
			(void)str_adds(&line, zh ? "（" : " (");
			say_age(&line, zh, loop_wall(a->loop) - l->at);
			(void)str_adds(&line, zh ? "）" : ")");
		}
		if (view_eqs(str_view(&mine), l->id))
			(void)str_adds(&line, zh ? "，当前" : ", open");
		acp_reply(a, "%zu. %s\n", "%zu. %s\n", i + 1, str_cstr(&line));
	}
	if (a->list.n > 0)
		acp_reply(a, "发 /打开 2 回到第 2 个。", "/open 2 goes back to the second.");
	str_release(&line);
	str_release(&mine);
	done(a);
}

/* --- Opening one ------------------------------------------------------------------------------ */

static void which(struct acp *a)
{
	acp_reply(a, "没有这个会话。请写上编号，例如 /打开 2；/会话 可以看全部。",
		"There is no such session. Send its number, as /open 2; /sessions lists them.");
	done(a);
}

static bool may_take_up(const struct acp *a)
{
	const struct link_caps *caps = link_caps(a->link);

	return caps->resume || caps->load;
}

static void open_session(struct acp *a, struct view id)
{
	if (may_take_up(a)) {
		session_open(a, id);
		return;
	}
	acp_reply(a, "现在用的智能体不能回到以前的会话。",
		"This agent cannot go back to an earlier session.");
	done(a);
}

static void pick(struct acp *a)
{
	unsigned long long number;

	for (size_t i = 0; i < a->list.n; i++) {
		if (!view_eqs(a->arg, a->list.all[i].id))
			continue;
		open_session(a, a->arg);
		return;
	}
	if (parse_u64(a->arg, &number) == 0 && number >= 1 && number <= a->list.n &&
		number <= SHOWN_MAX)
		open_session(a, view_of(a->list.all[number - 1].id));
	else
		which(a);
}

static void say_opened(struct acp *a)
{
	struct str shown = STR_INIT(8192);
	const char *title = a->here->id;

	for (size_t i = 0; i < a->list.n; i++)
		if (strcmp(a->list.all[i].id, a->here->id) == 0 && a->list.all[i].title[0])
			title = a->list.all[i].title;
	say_words(&shown, view_of(title), TITLE_CHARS);
	approvals_forget(a->approvals, a->conversation);
	acp_reply(a, "回到这个会话：%s", "Back in this session: %s", str_cstr(&shown));
	str_release(&shown);
	done(a);
}

/* --- Asking for the list ---------------------------------------------------------------------- */

static void listed_all(struct acp *a)
{
	qsort(a->list.all, a->list.n, sizeof(a->list.all[0]), newest_first);
	a->list.whose = strdup(a->conversation);
	if (a->order == ORDER_LIST)
		show_list(a);
	else
		pick(a);
}

static void order_on_page(void *arg, const struct rpc_answer *answer)
{
	const struct json *list;
	struct acp *a = arg;
	struct view cursor;

	if (answer->end == RPC_GONE || a->state != ACP_ASKING)
		return; /* the link tells */
	if (answer->end != RPC_RESULT || !answer->result) {
		acp_finish_error(a, answer, "the agent does not list its sessions");
		return;
	}
	list = json_member(answer->result, "sessions");
	if (list && json_type(list) == JSON_ARRAY) {
		json_each(item, list) {
			add_listed(a, item);
		}
	}
	if (json_get_str(answer->result, "nextCursor", JSON_OPTIONAL, 1, 65536, &cursor, NULL) !=
			1 ||
		a->list.pages == PAGES_MAX || a->list.n == LISTED_MAX)
		listed_all(a);
	else
		(void)ask_page(a, cursor);
}

static bool ask_page(struct acp *a, struct view cursor)
{
	struct json_out *w = acp_request(a, "session/list");

	if (!w)
		return false;
	json_put_z(w, "cwd", a->workspace);
	if (cursor.n > 0)
		json_put_str(w, "cursor", cursor);
	a->list.pages++;
	acp_step(a, ACP_ASKING);
	acp_send(a, ACP_OPEN_MS, order_on_page);
	return true;
}

static void ask_list(struct acp *a)
{
	forget_list(a);
	a->list.pages = 0;
	if (!a->list.all)
		a->list.all = calloc(LISTED_MAX, sizeof(a->list.all[0]));
	if (!a->list.all)
		acp_finish(a, ENGINE_FAIL_INTERNAL, VIEW("out of memory: a list of sessions"));
	else
		(void)ask_page(a, VIEW_NONE);
}

static void begin_list(struct acp *a)
{
	if (link_caps(a->link)->list) {
		ask_list(a);
		return;
	}
	acp_reply(a, "现在用的智能体不能列出会话。", "This agent cannot list its sessions.");
	done(a);
}

/* A number means the list that was shown; an agent without lists is asked for the id at once. */
static void begin_open(struct acp *a)
{
	if (a->arg.n == 0 || a->arg.n > STORE_SESSION_MAX)
		which(a);
	else if (a->list.whose && strcmp(a->list.whose, a->conversation) == 0)
		pick(a);
	else if (link_caps(a->link)->list)
		ask_list(a);
	else
		open_session(a, a->arg);
}

/* --- Model, effort, mode ---------------------------------------------------------------------- */

static enum knob_kind knob_of(const struct acp *a)
{
	return (enum knob_kind)(a->order - ORDER_MODEL);
}

/* Of the knob and of its command. */
static const char *name_of(const struct acp *a)
{
	static const char *const zh[KNOBS] = { "模型", "思考", "模式" };

	return strcmp(a->language, "zh") == 0 ? zh[knob_of(a)] : settle_name(knob_of(a));
}

static void show_values(struct acp *a, const struct knob *knob)
{
	struct str line = STR_INIT(8192);

	for (size_t i = 0; i < knob->n; i++) {
		const struct knob_value *v = &knob->values[i];

		str_reset(&line);
		say_words(&line, v->value, KNOB_VALUE_MAX);
		if (v->name.n > 0 && !view_eq(v->name, v->value)) {
			(void)str_adds(&line, ": ");
			say_words(&line, v->name, TITLE_CHARS);
		}
		acp_reply(a, "\n%zu. %s%s", "\n%zu. %s%s", i + 1, str_cstr(&line),
			!view_eq(v->value, knob->now)    ? ""
			: strcmp(a->language, "zh") == 0 ? "（当前）"
							 : " (in use)");
	}
	str_release(&line);
}

static void show_knob(struct acp *a, const struct knob *knob)
{
	acp_reply(a, "%s可以选：", "%s, to choose from:", name_of(a));
	show_values(a, knob);
	acp_reply(a, "\n\n发 /%s 编号或名字 来更换，/%s off 恢复默认。",
		"\n\n/%s NUMBER or NAME changes it in this conversation, /%s off goes back to the "
		"default.",
		name_of(a), name_of(a));
	done(a);
}

static void changed(struct acp *a)
{
	struct str shown = STR_INIT(8192);

	say_words(&shown, str_view(&a->setting.value), KNOB_VALUE_MAX);
	acp_reply(a, "%s换成了 %s。", "The %s is now %s.", name_of(a), str_cstr(&shown));
	str_release(&shown);
	done(a);
}

static void not_kept(struct acp *a, const struct err *e)
{
	acp_finish(a, ENGINE_FAIL_STORAGE, view_of(e->msg));
}

static int keep(struct acp *a, struct view value, struct err *e)
{
	return store_choose(a->store, a->name, a->conversation, settle_name(knob_of(a)), value, e);
}

static void order_on_set(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;
	struct str shown = STR_INIT(8192);
	struct err e = ERR_INIT;

	if (answer->end == RPC_GONE || a->state != ACP_ASKING)
		return; /* the link tells */
	if (settle_take(a, answer)) {
		if (!a->setting.restored && keep(a, str_view(&a->setting.value), &e) < 0)
			not_kept(a, &e);
		else
			changed(a);
	} else if (answer->end == RPC_ERROR && answer->code != RPC_NO_LOGIN) {
		say_words(&shown, answer->message, 200);
		acp_reply(a, "智能体不接受：%s", "The agent does not take it: %s",
			str_cstr(&shown));
		done(a);
	} else {
		acp_finish_error(a, answer, "the agent does not set it");
	}
	str_release(&shown);
}

/* What works in the background goes on by the rules it was begun by: a mode stays until then, the
 * rest is brought with the next message after it. */
static void choose_later(struct acp *a, struct view value)
{
	struct err e = ERR_INIT;

	if (knob_of(a) == KNOB_MODE) {
		acp_reply(a,
			"智能体的后台任务还在按现在的模式进行，模式没有换。等它完成再换，或者发 /新对话 另开一段。",
			"Background work of the agent still goes by the mode it has, which was not "
			"changed. Change it when that is done, or begin anew with /new.");
	} else if (keep(a, value, &e) < 0) {
		not_kept(a, &e);
		return;
	} else {
		acp_reply(a, "记下了；智能体的后台任务完成后，下一条消息起换%s。",
			"Noted; the %s changes with your next message once the background work is "
			"done.",
			name_of(a));
	}
	done(a);
}

/* One that is in force already is chosen all the same: it stays when the default changes. */
static void choose(struct acp *a, const struct knob *knob)
{
	const struct knob_value *v = knob_find(knob, a->arg);

	a->setting.restored = false;
	if (v && work_busy(a, a->here)) {
		choose_later(a, v->value);
		return;
	}
	if (v) {
		settle_send(a, knob_of(a), knob, v->value, order_on_set);
		return;
	}
	acp_reply(a, "没有这个选项。%s可以选：",
		"That is not offered. %s, to choose from:", name_of(a));
	show_values(a, knob);
	done(a);
}

static void choose_none(struct acp *a, const struct knob *knob)
{
	struct str own = STR_INIT(KNOB_VALUE_MAX);
	struct err e = ERR_INIT;

	a->setting.restored = true;
	if (work_busy(a, a->here)) {
		choose_later(a, VIEW_NONE);
	} else if (keep(a, VIEW_NONE, &e) < 0) {
		not_kept(a, &e);
	} else if (settle_default(a, knob_of(a), &own) && knob_value(knob, str_view(&own))) {
		settle_send(a, knob_of(a), knob, str_view(&own), order_on_set);
	} else {
		acp_reply(a, "已取消你的选择；默认的%s从下一个新对话开始用。",
			"Your choice is taken back; the default %s is in force from the next /new on.",
			name_of(a));
		done(a);
	}
	str_release(&own);
}

static bool is_off(struct view arg)
{
	return view_eqs(arg, "off") || view_eqs(arg, "默认") || view_eqs(arg, "关闭");
}

static void turn_knob(struct acp *a)
{
	struct knob knob;

	if (!knobs_read(&a->here->knobs, knob_of(a), &knob)) {
		acp_reply(a, "现在用的智能体没有%s可以选。", "This agent offers no choice of %s.",
			name_of(a));
		done(a);
	} else if (a->arg.n == 0) {
		show_knob(a, &knob);
	} else if (is_off(a->arg)) {
		choose_none(a, &knob);
	} else {
		choose(a, &knob);
	}
}

/* --- The way of an order ---------------------------------------------------------------------- */

bool order_begin(struct acp *a)
{
	if (a->order == ORDER_LIST)
		begin_list(a);
	else if (a->order == ORDER_OPEN)
		begin_open(a);
	return a->order == ORDER_LIST || a->order == ORDER_OPEN;
}

bool order_act(struct acp *a)
{
	if (a->order == ORDER_PROMPT)
		return false;
	if (a->notes.n > 0)
		acp_stream_say(a->stream, str_view(&a->notes));
	if (a->order == ORDER_OPEN)
		say_opened(a);
	else
		turn_knob(a);
	return true;
}

/* --- Commands that are answered at once ------------------------------------------------------- */

static bool works(struct acp *a, const char *conversation)
{
	struct str session = STR_INIT(STORE_SESSION_MAX);
	const struct live *l = NULL;

	if (store_get(a->store, a->name, conversation, a->workspace, &session, NULL) == 1)
		l = session_find(a, str_view(&session));
	str_release(&session);
	return l && work_busy(a, l);
}

static int run_new(struct acp *a, const char *conversation, bool zh, struct str *reply,
	struct err *e)
{
	bool goes_on = works(a, conversation);

	terms_end_session(a, conversation);
	if (store_forget(a->store, a->name, conversation, e) < 0)
		return -1;
	approvals_forget(a->approvals, conversation);
	(void)str_adds(reply, zh ? "好，新的对话开始了。" : "A new conversation begins.");
	if (goes_on)
		(void)str_adds(reply, zh ? "之前的后台任务还在进行，完成后会告诉你。"
					 : " Background work of the one before goes on; you will "
					   "hear when it is done.");
	return 0;
}

/* What the agent has told of it, and nothing made of that: how full the context is counts no
 * tokens and costs nothing. */
static void say_usage(const struct live *l, bool zh, struct str *reply)
{
	if (l && l->counted)
		(void)str_addf(reply,
			zh ? "这个会话，从智能体启动算起：输入 %lld，输出 %lld 个 token。"
			   : "This session, since the agent was started: %lld tokens in, %lld out.",
			(long long)l->in, (long long)l->out);
	else
		(void)str_adds(reply, zh ? "用了多少 token：智能体没有给出。"
					 : "Tokens used: the agent does not tell.");
	if (l && l->cost[0])
		(void)str_addf(reply,
			zh ? "\n费用（智能体自己的说法）：%s" : "\nCost, as the agent tells it: %s",
			l->cost);
	else
		(void)str_adds(reply,
			zh ? "\n费用：智能体没有给出。" : "\nCost: the agent does not tell.");
	if (l && l->sized)
		(void)str_addf(reply,
			zh ? "\n上下文：占用 %lld / %lld token（%lld%%），不是用量。"
			   : "\nContext: %lld of %lld tokens are occupied (%lld%%); that is no usage.",
			(long long)l->used, (long long)l->size,
			(long long)(l->used * 100 / l->size));
}

static int run_usage(struct acp *a, const char *conversation, bool zh, struct str *reply,
	struct err *e)
{
	struct str session = STR_INIT(STORE_SESSION_MAX);
	int rc = store_get(a->store, a->name, conversation, a->workspace, &session, e);

	if (rc >= 0)
		say_usage(rc ? session_find(a, str_view(&session)) : NULL, zh, reply);
	str_release(&session);
	return rc < 0 ? -1 : 0;
}

int order_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e)
{
	struct acp *a = (struct acp *)g;
	bool zh = language && strcmp(language, "zh") == 0;

	(void)arg;
	switch (cmd) {
	case ENGINE_CMD_NEW: return run_new(a, conversation, zh, reply, e);
	case ENGINE_CMD_USAGE: return run_usage(a, conversation, zh, reply, e);
	default: return err_set(e, E_UNSUPPORTED, "the agent has no such command");
	}
}
