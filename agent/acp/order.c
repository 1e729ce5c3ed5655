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

/* "the title (2 h ago), open", as far as there is something to say. */
static void say_listed(const struct acp *a, const struct listed *l, bool open, struct str *out)
{
	struct str title = STR_INIT(4096), age = STR_INIT(100), dated = STR_INIT(4096);
	bool zh = say_zh(a->language);

	say_words(&title, view_of(l->title[0] ? l->title : l->id), TITLE_CHARS);
	if (l->at > 0) {
		say_age(a->speak, &age, zh, loop_wall(a->loop) - l->at);
		say(a->speak, &dated, zh, SPEECH_DATED, str_cstr(&title), str_cstr(&age));
	} else {
		(void)str_add(&dated, str_view(&title));
	}
	if (open)
		say(a->speak, out, zh, SPEECH_CURRENT, str_cstr(&dated));
	else
		(void)str_add(out, str_view(&dated));
	str_release(&title);
	str_release(&age);
	str_release(&dated);
}

static void show_list(struct acp *a)
{
	struct str line = STR_INIT(4096), mine = STR_INIT(STORE_SESSION_MAX);

	(void)store_get(a->store, a->name, a->conversation, a->workspace, &mine, NULL);
	if (a->list.n == 0)
		acp_reply(a, SPEECH_NO_SESSIONS);
	for (size_t i = 0; i < a->list.n && i < SHOWN_MAX; i++) {
		const struct listed *l = &a->list.all[i];

		str_reset(&line);
		(void)str_addf(&line, "%zu. ", i + 1);
		say_listed(a, l, view_eqs(str_view(&mine), l->id), &line);
		(void)str_addc(&line, '\n');
		acp_stream_say(a->stream, str_view(&line));
	}
	if (a->list.n > 0)
		acp_reply(a, SPEECH_OPEN_HOW);
	str_release(&line);
	str_release(&mine);
	done(a);
}

/* --- Opening one ------------------------------------------------------------------------------ */

static void which(struct acp *a)
{
	acp_reply(a, SPEECH_WHICH_SESSION);
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
	acp_reply(a, SPEECH_NO_GOING_BACK);
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
	acp_reply(a, SPEECH_BACK_IN_SESSION, str_cstr(&shown));
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
		acp_finish_error(a, answer, SPEECH_WHY_SILENT,
			"the agent does not list its sessions");
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
	acp_reply(a, SPEECH_NO_LISTING);
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

/* A sentence about the knob, whose name is its first argument. */
static void reply_of_knob(struct acp *a, enum speech s, const char *second)
{
	static const enum speech names[KNOBS] = { SPEECH_KNOB_MODEL, SPEECH_KNOB_EFFORT,
		SPEECH_KNOB_MODE };
	struct str name = STR_INIT(100);

	say(a->speak, &name, say_zh(a->language), names[knob_of(a)]);
	acp_reply(a, s, str_cstr(&name), second);
	str_release(&name);
}

static void show_values(struct acp *a, const struct knob *knob)
{
	struct str line = STR_INIT(8192);

	for (size_t i = 0; i < knob->n; i++) {
		const struct knob_value *v = &knob->values[i];

		str_reset(&line);
		(void)str_addf(&line, "\n%zu. ", i + 1);
		say_words(&line, v->value, KNOB_VALUE_MAX);
		if (v->name.n > 0 && !view_eq(v->name, v->value)) {
			(void)str_adds(&line, ": ");
			say_words(&line, v->name, TITLE_CHARS);
		}
		if (view_eq(v->value, knob->now))
			acp_reply(a, SPEECH_IN_USE, str_cstr(&line));
		else
			acp_stream_say(a->stream, str_view(&line));
	}
	str_release(&line);
}

static void show_knob(struct acp *a, const struct knob *knob)
{
	reply_of_knob(a, SPEECH_KNOB_VALUES, NULL);
	show_values(a, knob);
	acp_stream_say(a->stream, VIEW("\n\n"));
	reply_of_knob(a, SPEECH_KNOB_HOW, NULL);
	done(a);
}

static void changed(struct acp *a)
{
	struct str shown = STR_INIT(8192);

	say_words(&shown, str_view(&a->setting.value), KNOB_VALUE_MAX);
	reply_of_knob(a, SPEECH_KNOB_CHANGED, str_cstr(&shown));
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
		acp_reply(a, SPEECH_NOT_ACCEPTED, str_cstr(&shown));
		done(a);
	} else {
		acp_finish_error(a, answer, SPEECH_WHY_SILENT, "the agent does not set it");
	}
	str_release(&shown);
}

/* What works in the background goes on by the rules it was begun by: a mode stays until then, the
 * rest is brought with the next message after it. */
static void choose_later(struct acp *a, struct view value)
{
	struct err e = ERR_INIT;

	if (knob_of(a) == KNOB_MODE) {
		acp_reply(a, SPEECH_MODE_STAYS);
	} else if (keep(a, value, &e) < 0) {
		not_kept(a, &e);
		return;
	} else {
		reply_of_knob(a, SPEECH_KNOB_LATER, NULL);
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
	reply_of_knob(a, SPEECH_KNOB_UNKNOWN, NULL);
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
		reply_of_knob(a, SPEECH_KNOB_TAKEN_BACK, NULL);
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
		reply_of_knob(a, SPEECH_KNOB_NONE, NULL);
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
	say(a->speak, reply, zh, goes_on ? SPEECH_BEGUN_BUSY : SPEECH_BEGUN);
	return 0;
}

/* What the agent has told of it, and nothing made of that: how full the context is counts no
 * tokens and costs nothing. */
static void say_usage(speech_fn *speak, const struct live *l, bool zh, struct str *reply)
{
	if (l && l->counted)
		say(speak, reply, zh, SPEECH_SESSION_USAGE, NUM(l->in), NUM(l->out));
	else
		say(speak, reply, zh, SPEECH_USAGE_UNTOLD);
	(void)str_addc(reply, '\n');
	if (l && l->cost[0])
		say(speak, reply, zh, SPEECH_COST, l->cost);
	else
		say(speak, reply, zh, SPEECH_COST_UNTOLD);
	if (l && l->sized) {
		(void)str_addc(reply, '\n');
		say(speak, reply, zh, SPEECH_CONTEXT, NUM(l->used), NUM(l->size),
			NUM(l->used * 100 / l->size));
	}
}

static int run_usage(struct acp *a, const char *conversation, bool zh, struct str *reply,
	struct err *e)
{
	struct str session = STR_INIT(STORE_SESSION_MAX);
	int rc = store_get(a->store, a->name, conversation, a->workspace, &session, e);

	if (rc >= 0)
		say_usage(a->speak, rc ? session_find(a, str_view(&session)) : NULL, zh, reply);
	str_release(&session);
	return rc < 0 ? -1 : 0;
}

int order_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e)
{
	struct acp *a = (struct acp *)g;
	bool zh = say_zh(language);

	(void)arg;
	switch (cmd) {
	case ENGINE_CMD_NEW: return run_new(a, conversation, zh, reply, e);
	case ENGINE_CMD_USAGE: return run_usage(a, conversation, zh, reply, e);
	default: return err_set(e, E_UNSUPPORTED, "the agent has no such command");
	}
}
