#include "agent/react/react-private.h"

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

/* A sentence with its arguments (strings) in the user's language. */
#define reply(c, ...) say((c)->r->speak, (c)->reply, (c)->zh, __VA_ARGS__)

/* Why it cannot be done, in the user's language. */
static int because(const struct call *c, enum speech why, const char *provider, struct err *e)
{
	struct str words = STR_INIT(4096);

	say(c->r->speak, &words, c->zh, why, e->msg, provider);
	(void)err_set(e, e->code, "%s", str_cstr(&words));
	str_release(&words);
	return -1;
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
	reply(c, SPEECH_BEGUN);
	return 0;
}

/* "its first words (2 h ago, open)" */
static void say_listed(const struct call *c, const struct history_item *item)
{
	struct str words = STR_INIT(4096), age = STR_INIT(100), when = STR_INIT(200);

	say_words(&words, view_of(item->words), SHOWN_CHARS);
	say_age(c->r->speak, &age, c->zh, loop_wall(c->r->loop) - item->touched_ms);
	if (item->open)
		say(c->r->speak, &when, c->zh, SPEECH_CURRENT, str_cstr(&age));
	else
		(void)str_add(&when, str_view(&age));
	reply(c, SPEECH_DATED, str_cstr(&words), str_cstr(&when));
	str_release(&words);
	str_release(&age);
	str_release(&when);
}

static int run_list(struct call *c, struct err *e)
{
	struct history_item list[LISTED_MAX];
	int n = history_list(c->r->history, c->conversation, list, LISTED_MAX, e);

	if (n < 0)
		return -1;
	if (n == 0) {
		reply(c, SPEECH_NONE_YET);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		(void)str_addf(c->reply, "%d. ", i + 1);
		say_listed(c, &list[i]);
		(void)str_addc(c->reply, '\n');
	}
	reply(c, SPEECH_OPEN_HOW);
	return 0;
}

static int run_open(struct call *c, struct err *e)
{
	struct history_item list[LISTED_MAX];
	int n = history_list(c->r->history, c->conversation, list, LISTED_MAX, e);
	struct str words = STR_INIT(4096);
	unsigned long long i = 0;

	if (n < 0)
		return -1;
	if (parse_u64(c->arg, &i) < 0 || i < 1 || i > (unsigned long long)n) {
		reply(c, SPEECH_WHICH);
		return 0;
	}
	if (history_switch(c->r->history, c->conversation, list[i - 1].session, e) < 0)
		return e->code == E_NOTFOUND ? because(c, SPEECH_WHY_NOT_KEPT, "", e) : -1;
	approvals_forget(c->r->approvals, c->conversation);
	say_words(&words, view_of(list[i - 1].words), SHOWN_CHARS);
	reply(c, SPEECH_BACK, str_cstr(&words));
	str_release(&words);
	return 0;
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void say_usage(const struct call *c, const struct history_usage *u, struct str *out)
{
	struct str tokens = STR_INIT(1024);

	if (u->answers == 0)
		say(c->r->speak, &tokens, c->zh, SPEECH_NOTHING_USED);
	else if (u->answers == u->unknown)
		say(c->r->speak, &tokens, c->zh, SPEECH_UNCOUNTED);
	else
		say(c->r->speak, &tokens, c->zh, SPEECH_TOKENS, NUM((long long)u->in),
			NUM((long long)u->cached), NUM((long long)u->out));
	if (u->unknown > 0 && u->unknown < u->answers)
		say(c->r->speak, out, c->zh, SPEECH_TOKENS_PARTLY, str_cstr(&tokens),
			NUM((long long)u->unknown));
	else
		(void)str_add(out, str_view(&tokens));
	str_release(&tokens);
}

static int run_usage(struct call *c, struct err *e)
{
	struct str in_all = STR_INIT(1024), of_day = STR_INIT(1024);
	struct history_usage here, today;
	struct react *r = c->r;
	int64_t session;

	if (history_session(r->history, c->conversation, loop_wall(r->loop), &session, e) < 0 ||
		history_get_usage(r->history, c->conversation, session, 0, &here, e) < 0 ||
		history_get_usage(r->history, c->conversation, 0, react_today(r), &today, e) < 0)
		return -1;
	say_usage(c, &here, &in_all);
	say_usage(c, &today, &of_day);
	reply(c, SPEECH_USAGE, str_cstr(&in_all), str_cstr(&of_day));
	str_release(&in_all);
	str_release(&of_day);
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
	enum speech reason;
	struct react_model would;

	/* Where there is no default model, any name will do to ask whether it could be chosen. */
	if (choice->look(choice->arg, p->name, p->models[0] ? "" : "any", &would, &reason, &why) <
		0)
		return false;
	(void)str_addf(c->reply, "\n%s/%s", p->name, p->models[0] ? p->models[0] : "…");
	for (size_t i = 1; p->models[0] && p->models[i]; i++)
		(void)str_addf(c->reply, "  %s", p->models[i]);
	return true;
}

static void say_active(const struct call *c, const struct active *a)
{
	struct str which = STR_INIT(4096), now = STR_INIT(4096);

	active_describe(a, c->r->speak, c->zh, &which);
	say(c->r->speak, &now, c->zh, SPEECH_MODEL_NOW, str_cstr(&which));
	if (a->set_up)
		reply(c, SPEECH_MODEL_WINDOW, str_cstr(&now), NUM((long long)a->window));
	else
		(void)str_add(c->reply, str_view(&now));
	str_release(&which);
	str_release(&now);
}

static int show_models(struct call *c)
{
	struct str rest = STR_INIT(1024);
	const struct provider *p;

	say_active(c, chosen(c->r));
	if (!c->r->choice.look)
		return 0;
	(void)str_addc(c->reply, '\n');
	reply(c, SPEECH_MODEL_ALSO);
	for (size_t i = 0; (p = provider_at(i)); i++)
		if (!say_models(c, p))
			(void)str_addf(&rest, "%s%s", rest.n ? ", " : "", p->name);
	(void)str_addc(c->reply, '\n');
	if (rest.n) {
		reply(c, SPEECH_MODEL_NO_KEY, str_cstr(&rest));
		(void)str_addc(c->reply, '\n');
	}
	reply(c, SPEECH_MODEL_HOW);
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
	struct str which = STR_INIT(4096);
	struct active *fresh = NULL;
	enum speech why = SPEECH_WHY;
	struct react_model would;
	const char *provider = "";
	char name[257] = "";

	if (c->arg.n == 0)
		return show_models(c);
	if (!choice->look)
		return err_set(e, E_UNSUPPORTED, "the model cannot be changed here");
	if (read_choice(c, &provider, name, sizeof(name), e) < 0)
		return because(c, SPEECH_WHY_NO_MODEL, "", e);
	if (choice->look(choice->arg, provider, name, &would, &why, e) < 0)
		return because(c, why, provider, e);
	if (ask_open_model(c->r, &would, &fresh, e) < 0)
		return -1;
	if (choice->save(choice->arg, provider, name, e) < 0) {
		active_close(&fresh);
		return -1;
	}
	active_close(&c->r->next);
	c->r->next = fresh;
	react_settle(c->r);
	active_describe(fresh, c->r->speak, c->zh, &which);
	reply(c, SPEECH_MODEL_CHANGED, str_cstr(&which));
	str_release(&which);
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
	c.zh = say_zh(language);
	if ((size_t)cmd >= sizeof(run) / sizeof(run[0]) || !run[cmd])
		return err_set(e, E_UNSUPPORTED, "the built-in engine has no such command");
	return run[cmd](&c, e);
}
