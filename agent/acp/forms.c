/* elicitation/create: each question of a form is one to the user, the next once it is answered: so
 * a number alone is an answer, and each answer renews what may be sent. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp-private.h"
#include "agent/acp/form.h"
#include "agent/say.h"

#define TRIES_MAX 3 /* at one question of which so many must be chosen */
#define WORD_MAX  ((size_t)64)

struct form_call {
	struct acp *acp;
	struct rpc_id id;
	struct form form;
	size_t at;
	int tries;
};

static void end(struct form_call *f)
{
	form_release(&f->form);
	free(f);
}

/* action: "accept", "decline", "cancel". */
static void answer(struct form_call *f, const char *action)
{
	struct rpc *rpc = link_rpc(f->acp->link);
	struct json_out *w;

	if (rpc) {
		w = rpc_result(rpc, &f->id);
		json_put_z(w, "action", action);
		if (strcmp(action, "accept") == 0) {
			json_open(w, "content");
			form_write(&f->form, w);
			json_close(w);
		}
		(void)rpc_send(rpc, NULL);
	}
	end(f);
}

/* --- The questions ---------------------------------------------------------------------------- */

static void ask_next(struct form_call *f);

static void go_on(struct form_call *f)
{
	f->at++;
	f->tries = 0;
	ask_next(f);
}

static void form_on_choice(struct acp *a, void *arg, int choice)
{
	struct form_call *f = arg;

	(void)a;
	if (choice == ASKS_CANCELLED)
		answer(f, "cancel");
	else if (choice < 0)
		answer(f, "decline");
	else if (form_pick(&f->form.fields[f->at], choice))
		go_on(f);
	else if (++f->tries == TRIES_MAX)
		answer(f, "decline");
	else
		ask_next(f);
}

static void form_on_consent(struct acp *a, void *arg, int choice)
{
	(void)a;
	answer(arg, choice == ASKS_CANCELLED ? "cancel" : choice == 0 ? "accept" : "decline");
}

/* How many must be chosen, where that is not just one or more. */
static void say_count(const struct form_call *f, const struct form_field *field, struct str *out)
{
	size_t most = field->n - field->skips;
	size_t max = field->max < most ? field->max : most;

	if (!field->several || (field->min <= 1 && max == most))
		return;
	(void)str_addc(out, '\n');
	say(f->acp->speak, out, say_zh(f->acp->language), SPEECH_HOW_MANY,
		NUM((long long)field->min), NUM((long long)max));
}

static void ask_next(struct form_call *f)
{
	const struct form_field *field = &f->form.fields[f->at];
	struct str text = STR_INIT(1 << 16);

	if (f->at == f->form.n) {
		answer(f, "accept");
		return;
	}
	(void)str_adds(&text, field->text);
	say_count(f, field, &text);
	asks_choose(f->acp, &f->id, str_view(&text), (const char *const *)field->names,
		field->several, form_on_choice, f);
	str_release(&text);
}

/* --- The request ------------------------------------------------------------------------------ */

static void begin(struct form_call *f, const struct form_words *words)
{
	const char *const names[] = { words->yes, words->no, NULL };

	if (f->form.n > 0)
		ask_next(f);
	else
		asks_choose(f->acp, &f->id, view_of(f->form.message), names, false, form_on_consent,
			f);
}

static void take(struct acp *a, const struct rpc_id *id, const struct json *params,
	const struct form_words *words)
{
	struct form_call *f;
	struct err e = ERR_INIT;

	if (!params || !acp_in_turn(a, params)) {
		acp_refuse(a, id, RPC_BAD_PARAMS, VIEW("no task of this session is running"));
		return;
	}
	f = calloc(1, sizeof(*f));
	if (!f) {
		acp_refuse(a, id, RPC_INTERNAL, VIEW("no memory"));
		return;
	}
	f->acp = a;
	f->id = *id;
	if (form_read(&f->form, params, words, &e) == 0) {
		begin(f, words);
		return;
	}
	log_info(a->log, "acp", "a form is declined: %s", e.msg);
	if (e.code == E_UNSUPPORTED)
		answer(f, "decline");
	else {
		acp_refuse(a, id, RPC_BAD_PARAMS, view_of(e.msg));
		end(f);
	}
}

void forms_take(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct str yes = STR_INIT(WORD_MAX), no = STR_INIT(WORD_MAX), skip = STR_INIT(WORD_MAX);
	bool zh = say_zh(a->language);

	say(a->speak, &yes, zh, SPEECH_YES);
	say(a->speak, &no, zh, SPEECH_NO);
	say(a->speak, &skip, zh, SPEECH_SKIP);
	if (str_ok(&yes) && str_ok(&no) && str_ok(&skip))
		take(a, id, params,
			&(struct form_words){ str_cstr(&yes), str_cstr(&no), str_cstr(&skip) });
	else
		acp_refuse(a, id, RPC_INTERNAL, VIEW("no memory"));
	str_release(&yes);
	str_release(&no);
	str_release(&skip);
}
