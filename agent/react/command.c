#include "agent/react/react-private.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "agent/say.h"
#include "base/text.h"

#define LISTED_MAX  20 /* conversations in a list */
#define SHOWN_CHARS 24 /* of a conversation's first words */

struct call {
	struct react *r;
	const char *conversation;
	struct view arg;
	bool zh;
	struct str *reply;
};

/* In the user's language; both formats take the same arguments. */
static void __attribute__((format(printf, 2, 4), format(printf, 3, 4)))
say(const struct call *c, const char *zh, const char *en, ...)
{
	va_list ap;

	va_start(ap, en);
	(void)str_addv(c->reply, c->zh ? zh : en, ap);
	va_end(ap);
}

int64_t react_today(const struct react *r)
{
	time_t t = (time_t)(loop_wall(r->loop) / 1000);
	struct tm tm = { .tm_mday = 1 };

	(void)localtime_r(&t, &tm);
	return (tm.tm_year + 1900L) * 10000 + (tm.tm_mon + 1L) * 100 + tm.tm_mday;
}

/* --- Conversations ---------------------------------------------------------------------------- */

static int run_new(struct call *c, struct err *e)
{
	struct react *r = c->r;

	if (history_begin(r->history, c->conversation, loop_wall(r->loop), e) < 0)
		return -1;
	approvals_forget(r->approvals, c->conversation);
	say(c, "好，新的对话开始了。", "A new conversation begins.");
	return 0;
}

static int run_list(struct call *c, struct err *e)
{
	struct history_item list[LISTED_MAX];
	int n = history_list(c->r->history, c->conversation, list, LISTED_MAX, e);

	if (n < 0)
		return -1;
	if (n == 0) {
		say(c, "还没有对话。", "There is no conversation yet.");
		return 0;
	}
	for (int i = 0; i < n; i++) {
		(void)str_addf(c->reply, "%d. ", i + 1);
		say_words(c->reply, view_of(list[i].words), SHOWN_CHARS);
		say(c, "（", " (");
		say_age(c->reply, c->zh, loop_wall(c->r->loop) - list[i].touched_ms);
		if (list[i].open)
			say(c, "，当前）\n", ", open)\n");
		else
			say(c, "）\n", ")\n");
	}
	say(c, "发 /打开 2 回到第 2 个。", "/open 2 goes back to the second.");
	return 0;
}

static int run_open(struct call *c, struct err *e)
{
	struct history_item list[LISTED_MAX];
	int n = history_list(c->r->history, c->conversation, list, LISTED_MAX, e);
	unsigned long long i = 0;

	if (n < 0)
		return -1;
	if (parse_u64(c->arg, &i) < 0 || i < 1 || i > (unsigned long long)n) {
		say(c, "请写上编号，例如 /打开 2；/会话 可以看全部。",
			"Which one? Send its number, as /open 2; /sessions lists them.");
		return 0;
	}
	if (history_switch(c->r->history, c->conversation, list[i - 1].session, e) < 0)
		return -1;
	approvals_forget(c->r->approvals, c->conversation);
	say(c, "回到这个对话：", "Back in this conversation: ");
	say_words(c->reply, view_of(list[i - 1].words), SHOWN_CHARS);
	return 0;
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void say_usage(const struct call *c, const struct history_usage *u)
{
	if (u->answers == 0) {
		say(c, "没有用量", "nothing used");
		return;
	}
	if (u->answers == u->unknown)
		say(c, "未知，模型服务没有给出数字", "unknown: the model service gives no figures");
	else
		say(c, "输入 %llu（其中缓存 %llu），输出 %llu 个 token",
			"%llu tokens in (%llu of them cached), %llu out", (unsigned long long)u->in,
			(unsigned long long)u->cached, (unsigned long long)u->out);
	if (u->unknown > 0 && u->unknown < u->answers)
		say(c, "，另有 %llu 次回答没有数字", ", and %llu answer(s) without figures",
			(unsigned long long)u->unknown);
}

static int run_usage(struct call *c, struct err *e)
{
	struct history_usage here, today;
	struct react *r = c->r;
	int64_t session;

	if (history_session(r->history, c->conversation, loop_wall(r->loop), &session, e) < 0 ||
		history_get_usage(r->history, c->conversation, session, 0, &here, e) < 0 ||
		history_get_usage(r->history, c->conversation, 0, react_today(r), &today, e) < 0)
		return -1;
	say(c, "这个对话：", "This conversation: ");
	say_usage(c, &here);
	say(c, "\n今天：", "\nToday: ");
	say_usage(c, &today);
	return 0;
}

/* --- The model -------------------------------------------------------------------------------- */

static const struct active *chosen(const struct react *r)
{
	return r->next ? r->next : r->active;
}

/* The models of one provider that are known by name. False: it cannot be chosen as it is. */
static bool say_models(const struct call *c, const struct provider *p)
{
	const struct react_choice *choice = &c->r->choice;
	struct err why = ERR_INIT;
	struct react_model would;

	/* Where there is no default model, any name will do to ask whether it could be chosen. */
	if (choice->look(choice->arg, p->name, p->models[0] ? "" : "any", &would, &why) < 0)
		return false;
	(void)str_addf(c->reply, "\n%s/%s", p->name, p->models[0] ? p->models[0] : "…");
	for (size_t i = 1; p->models[0] && p->models[i]; i++)
		(void)str_addf(c->reply, "  %s", p->models[i]);
	return true;
}

static int show_models(struct call *c)
{
	const struct active *a = chosen(c->r);
	struct str rest = STR_INIT(1024);
	const struct provider *p;

	say(c, "现在：", "Now: ");
	active_describe(a, c->reply);
	if (a->set_up)
		say(c, "，窗口 %lld 个 token", ", window %lld tokens", (long long)a->window);
	if (!c->r->choice.look)
		return 0;
	say(c, "\n可以换成：", "\nAlso:");
	for (size_t i = 0; (p = provider_at(i)); i++)
		if (!say_models(c, p))
			(void)str_addf(&rest, "%s%s", rest.n ? ", " : "", p->name);
	if (rest.n)
		say(c, "\n还没有存密钥：%s", "\nNo key is stored for: %s", str_cstr(&rest));
	say(c, "\n发 /模型 名字，或 /模型 厂商/名字 来更换。",
		"\n/model NAME or /model PROVIDER/NAME changes it.");
	str_release(&rest);
	return 0;
}

/* "PROVIDER", "PROVIDER/NAME" or "NAME", where a name may have slashes too. */
static int read_choice(const struct call *c, const char **provider, char *name, size_t size,
	struct err *e)
{
	size_t slash = view_find(c->arg, '/');
	const struct provider *p = provider_named(view_cut(c->arg, slash));
	struct view v = p ? view_from(c->arg, slash + 1) : c->arg;

	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] <= ' ' || v.p[i] == 0x7f)
			return err_set(e, E_FORMAT, "a model's name has no spaces");
	if (v.n >= size || !utf8_valid(v))
		return err_set(e, E_FORMAT, "this is no model's name");
	*provider = p ? p->name : chosen(c->r)->contract.provider->name;
	return copy_z(name, size, v);
}

/* Everything that can fail is done before the choice is kept; then it is in force. */
static int run_model(struct call *c, struct err *e)
{
	const struct react_choice *choice = &c->r->choice;
	struct active *fresh = NULL;
	struct react_model would;
	const char *provider = "";
	char name[257] = "";

	if (c->arg.n == 0)
		return show_models(c);
	if (!choice->look)
		return err_set(e, E_UNSUPPORTED, "the model cannot be changed here");
	if (read_choice(c, &provider, name, sizeof(name), e) < 0 ||
		choice->look(choice->arg, provider, name, &would, e) < 0 ||
		ask_open_model(c->r, &would, &fresh, e) < 0)
		return -1;
	if (choice->save(choice->arg, provider, name, e) < 0) {
		active_close(&fresh);
		return -1;
	}
	active_close(&c->r->next);
	c->r->next = fresh;
	react_settle(c->r);
	say(c, "换好了，从下一条消息起用：", "Changed, from the next message on: ");
	active_describe(fresh, c->reply);
	return 0;
}

/* ---------------------------------------------------------------------------------------------- */

int react_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e)
{
	static int (*const run[])(struct call * c, struct err * e) = {
		[ENGINE_CMD_NEW] = run_new,
		[ENGINE_CMD_LIST] = run_list,
		[ENGINE_CMD_OPEN] = run_open,
		[ENGINE_CMD_MODEL] = run_model,
		[ENGINE_CMD_USAGE] = run_usage,
	};
	struct call c = { .r = (struct react *)g, .conversation = conversation, .reply = reply };

	c.arg = view_trim(arg);
	c.zh = language && strcmp(language, "zh") == 0;
	if ((size_t)cmd >= sizeof(run) / sizeof(run[0]) || !run[cmd])
		return err_set(e, E_UNSUPPORTED, "the built-in engine has no such command");
	return run[cmd](&c, e);
}
