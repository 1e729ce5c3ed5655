/* Logging in by QR code (wire reference, section 2): by a person at the page, or by a script. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ilink.h"
#include "watch.h"

#define LOGINS_MAX   32
#define SCRIPTS_MAX  32
#define STATUSES_MAX 64
#define QR_HOLD_MS   30000

enum login_state { L_WAIT, L_SCANNED, L_CONFIRMED, L_BOUND, L_BLOCKED, L_EXPIRED };
static const char *const state_names[] = { "wait", "scaned", "confirmed", "binded_redirect",
	"verify_code_blocked", "expired" };

/* What a code does, decided before it is given out. */
struct script {
	char *statuses[STATUSES_MAX]; /* JSON text of each: a string, or an object of members */
	size_t n;
	char *verify, *baseurl, *user, *redirect_host;
	bool redirect, auto_confirm;
	int64_t verify_limit, hold_ms;
};

struct login {
	char key[33], *content;
	enum login_state state;
	int64_t expires;
	bool bound; /* the list that was posted holds the live token */
	bool redirected, number_right;
	const char *told; /* the newest status that was given */
	int64_t wrong;
	size_t at; /* in script.statuses */
	struct script script;
	char bot_id[64];
};

struct logins {
	struct login *l[LOGINS_MAX]; /* oldest first */
	size_t n;
	struct script next[SCRIPTS_MAX];
	size_t nnext;
};

int logins_open(struct logins **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "out of memory");
}

static void script_release(struct script *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->statuses[i]);
	free(s->verify);
	free(s->baseurl);
	free(s->user);
	free(s->redirect_host);
	memset(s, 0, sizeof(*s));
}

static void login_free(struct login *l)
{
	script_release(&l->script);
	free(l->content);
	free(l);
}

void logins_close(struct logins **lp)
{
	struct logins *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		login_free(l->l[i]);
	for (size_t i = 0; i < l->nnext; i++)
		script_release(&l->next[i]);
	free(l);
}

/* --- Scripts ---------------------------------------------------------------------------------- */
static char *opt_copy(const struct json *j, const char *name)
{
	struct view v = opt_str(j, name, NULL);

	return v.p ? dup_view(v) : NULL;
}

static int read_statuses(struct script *s, const struct json *list, struct err *e)
{
	json_each(it, list) {
		struct str text = STR_INIT((size_t)64 << 10);

		if (s->n == STATUSES_MAX)
			return err_set(e, E_FORMAT, "at most %d statuses", STATUSES_MAX);
		if (json_type(it) != JSON_STRING && json_type(it) != JSON_OBJECT)
			return err_set(e, E_FORMAT, "a status is a string or an object");
		if (json_print(it, &text, e) < 0)
			return -1;
		s->statuses[s->n] = str_take(&text);
		if (!s->statuses[s->n])
			return err_set(e, E_NOMEM, "out of memory");
		s->n++;
	}
	return 0;
}

static int add_script(struct sim *sim, const struct json *j, const struct json *statuses,
	struct err *e)
{
	struct logins *l = sim->logins;
	struct script s = { .n = 0 };

	if (l->nnext == SCRIPTS_MAX)
		return err_set(e, E_FULL, "%d codes are scripted already", SCRIPTS_MAX);
	if (statuses && read_statuses(&s, statuses, e) < 0) {
		script_release(&s);
		return -1;
	}
	s.verify = opt_copy(j, "verify_code");
	s.verify_limit = opt_int(j, "verify_limit", 3);
	s.baseurl = opt_copy(j, "baseurl");
	s.user = opt_copy(j, "user");
	s.redirect_host = opt_copy(j, "redirect_host");
	s.redirect = opt_bool(j, "redirect", s.redirect_host != NULL);
	s.auto_confirm = opt_bool(j, "auto_confirm", sim->set.auto_confirm != 0);
	s.hold_ms = opt_int(j, "hold_ms", -1);
	l->next[l->nnext++] = s;
	return 0;
}

int logins_script(struct sim *s, const struct json *j, struct err *e)
{
	const struct json *codes = NULL, *statuses = NULL;

	if (json_get_array(j, "codes", JSON_OPTIONAL, SCRIPTS_MAX, &codes, e) < 0 ||
		json_get_array(j, "statuses", JSON_OPTIONAL, STATUSES_MAX, &statuses, e) < 0)
		return -1;
	if (!codes)
		return add_script(s, j, statuses, e);
	json_each(it, codes)
		if (json_type(it) != JSON_ARRAY || add_script(s, j, it, e) < 0)
			return e->code ? -1 : err_set(e, E_FORMAT, "codes: lists of statuses");
	return 0;
}

static void take_script(struct sim *s, struct login *l)
{
	struct logins *ls = s->logins;

	if (!ls->nnext) {
		l->script = (struct script){ .verify_limit = 3,
			.hold_ms = -1,
			.auto_confirm = s->set.auto_confirm != 0 };
		return;
	}
	l->script = ls->next[0];
	ls->nnext--;
	memmove(&ls->next[0], &ls->next[1], ls->nnext * sizeof(ls->next[0]));
}

/* --- Giving out a code ------------------------------------------------------------------------ */
static struct login *login_new(struct sim *s)
{
	struct logins *ls = s->logins;
	struct login *l = calloc(1, sizeof(*l));
	struct str url = STR_INIT(512);

	if (!l)
		return NULL;
	rand_hex(l->key, 16);
	/* Real codes lead to the phone's own app; ours to the page that plays the phone. */
	str_addf(&url, "%s/?qrcode=%s&bot_type=3", s->page_url, l->key);
	l->content = str_take(&url);
	l->expires = sim_now(s) + s->set.qr_life_ms;
	if (!l->content) {
		free(l);
		return NULL;
	}
	take_script(s, l);
	if (ls->n == LOGINS_MAX) {
		ls->l[0]->state = L_EXPIRED;
		logins_wake(s); /* nobody waits for it any more */
		login_free(ls->l[0]);
		ls->n--;
		for (size_t i = 0; i < ls->n; i++)
			ls->l[i] = ls->l[i + 1];
	}
	ls->l[ls->n++] = l;
	return l;
}

/* Does the list hold the live token of the phone's person? *some: it holds anything at all. */
static bool list_binds(struct call *c, bool *some)
{
	const struct json *list = NULL;
	size_t n = 0;
	bool found = false;

	*some = false;
	if (!c->body)
		return false;
	if (json_member(c->body, "base_info"))
		note(c, "base_info_unwanted", "get_bot_qrcode carries no base_info");
	if (json_get_array(c->body, "local_token_list", JSON_REQUIRED, 1000, &list, NULL) < 0) {
		violation(c, "wrong_type", "local_token_list must be an array");
		return false;
	}
	json_each(it, list) {
		struct view v;
		struct bot *b;

		if (json_str(it, &v) < 0) {
			violation(c, "wrong_type",
				"local_token_list holds something that is no string");
			continue;
		}
		b = bot_by_token(c->sim, v);
		found |= b && !b->void_at;
		n++;
	}
	if (n > 10)
		violation(c, "too_many_tokens",
			"local_token_list holds %zu, at most 10 belong there", n);
	*some = n > 0;
	return found;
}

void get_bot_qrcode(struct call *c)
{
	struct str type = STR_INIT(16);
	bool some, bound = list_binds(c, &some);
	struct login *l;
	struct json_out w;

	if (hreq_param(c->req, "bot_type", &type) != 1 || strcmp(str_cstr(&type), "3") != 0)
		violation(c, "bot_type", "bot_type=3 is missing");
	str_release(&type);
	if (some && c->sim->set.refuse_tokens) {
		call_refuse(c, -3, "invalid argument");
		return;
	}
	l = login_new(c->sim);
	if (!l) {
		call_refuse(c, -1, "out of memory");
		return;
	}
	l->bound = bound;
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, "ret", 0);
	json_put_z(&w, "qrcode", l->key);
	json_put_z(&w, "qrcode_img_content", l->content);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	sim_count(c->sim, T_QRCODES);
	call_answer(c);
}

/* --- Telling its state ------------------------------------------------------------------------ */
static struct login *login_find(struct sim *s, struct view key)
{
	struct logins *ls = s->logins;

	if (!key.n)
		return ls->n ? ls->l[ls->n - 1] : NULL;
	for (size_t i = 0; i < ls->n; i++)
		if (view_eqs(key, ls->l[i]->key))
			return ls->l[i];
	return NULL;
}

/* The account is made when the confirmation is first told. */
static void put_confirmed(struct sim *s, struct login *l, struct json_out *w)
{
	struct bot *b = *l->bot_id ? bot_by_id(s, view_of(l->bot_id)) : NULL;
	const char *user = l->script.user ? l->script.user : s->user;
	struct bot *older = bots_first(s);

	if (!b) {
		b = bot_new(s, view_of(user), NULL);
		if (!b)
			return;
		snprintf(l->bot_id, sizeof(l->bot_id), "%s", b->id);
		for (; older; older = older->next)
			if (!strcmp(older->user, user))
				bot_void(s, older, s->set.void_delay_ms);
		sim_count(s, T_LOGINS);
	}
	json_put_z(w, "bot_token", b->token);
	json_put_z(w, "ilink_bot_id", b->id);
	json_put_z(w, "baseurl", l->script.baseurl ? l->script.baseurl : s->api_url);
	json_put_z(w, "ilink_user_id", b->user);
}

static void put_redirect(struct sim *s, struct login *l, struct json_out *w)
{
	json_put_z(w, "redirect_host",
		l->script.redirect_host ? l->script.redirect_host : s->api2_host);
}

/* One of the scripted statuses: a name, or members that are sent as they stand. */
static void put_scripted(struct sim *s, struct login *l, struct json_out *w)
{
	size_t at = l->at < l->script.n - 1 ? l->at++ : l->script.n - 1;
	struct json *j = NULL;
	struct view name;

	if (json_read(&j, view_of(l->script.statuses[at]), &json_limits_wire, NULL) < 0)
		return;
	if (json_str(j, &name) == 0)
		json_put_str(w, "status", name);
	else
		name = opt_str(j, "status", "");
	if (view_eqs(name, "confirmed") && !json_member(j, "bot_token"))
		put_confirmed(s, l, w);
	if (view_eqs(name, "scaned_but_redirect") && !json_member(j, "redirect_host") &&
		!opt_bool(j, "no_host", false))
		put_redirect(s, l, w);
	if (json_type(j) == JSON_OBJECT)
		json_each(m, j)
			if (strcmp(json_name(m), "no_host") != 0)
				json_put_json(w, json_name(m), m);
	json_free(&j);
}

/* The number that the phone shows; the client sends it along until it is told "scaned". */
static const char *number_status(struct call *c, struct login *l)
{
	struct str number = STR_INIT(64);
	int has = hreq_param(c->req, "verify_code", &number);

	if (l->number_right) {
		str_release(&number);
		return "scaned";
	}
	if (has == 1 && !strcmp(str_cstr(&number), l->script.verify))
		l->number_right = true;
	else if (has != 0 && ++l->wrong >= l->script.verify_limit)
		l->state = L_BLOCKED;
	str_release(&number);
	if (l->state == L_BLOCKED)
		return state_names[L_BLOCKED];
	return l->number_right ? "scaned" : "need_verifycode";
}

static const char *status_of(struct call *c, struct login *l)
{
	struct sim *s = c->sim;

	if (l->state <= L_SCANNED && sim_now(s) >= l->expires)
		l->state = L_EXPIRED;
	if (l->state == L_WAIT && l->script.auto_confirm) {
		l->state = L_SCANNED;
		if (!l->script.verify)
			(void)logins_confirm(s, view_of(l->key), VIEW_NONE, NULL);
	}
	if (l->state != L_WAIT && l->script.redirect && !l->redirected)
		return "scaned_but_redirect";
	if (l->state == L_SCANNED && l->script.verify) {
		const char *status = number_status(c, l);

		if (l->number_right && l->script.auto_confirm)
			(void)logins_confirm(s, view_of(l->key), VIEW_NONE, NULL);
		return status;
	}
	return state_names[l->state];
}

static void answer_status(struct call *c, struct login *l)
{
	const char *status = l->script.n ? NULL : status_of(c, l);
	struct json_out w;

	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, "ret", 0);
	l->told = status;
	if (status)
		json_put_z(&w, "status", status);
	else
		put_scripted(c->sim, l, &w);
	if (status && !strcmp(status, "confirmed"))
		put_confirmed(c->sim, l, &w);
	if (status && !strcmp(status, "scaned_but_redirect"))
		put_redirect(c->sim, l, &w);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	call_answer(c);
}

/* Is there something to say that this client has not heard? has_number: it brings one. */
static bool news(struct sim *s, const struct login *l, bool has_number)
{
	if (l->script.n || l->state > L_SCANNED || l->script.auto_confirm ||
		sim_now(s) >= l->expires)
		return true;
	if (l->state == L_WAIT)
		return false;
	if (l->script.redirect && !l->redirected)
		return true;
	if (l->script.verify && !l->number_right)
		return has_number || !l->told || strcmp(l->told, "need_verifycode") != 0;
	return !l->told || strcmp(l->told, "scaned") != 0;
}

static void qr_hold_over(struct call *c)
{
	struct login *l = c->login;

	c->held = false;
	answer_status(c, l);
}

void get_qrcode_status(struct call *c)
{
	struct str key = STR_INIT(64), number = STR_INIT(64);
	bool has_number;
	int64_t hold = c->sim->set.hold_ms < QR_HOLD_MS ? c->sim->set.hold_ms : QR_HOLD_MS;
	const char *host = hreq_header(c->req, "Host");
	struct login *l = NULL;

	sim_count(c->sim, T_QRPOLLS);
	if (hreq_param(c->req, "qrcode", &key) == 1)
		l = login_find(c->sim, str_view(&key));
	str_release(&key);
	if (!l) {
		str_adds(&c->out, "{\"ret\":0,\"status\":\"expired\"}");
		call_answer(c);
		return;
	}
	if (host && !strcmp(host, c->sim->api2_host))
		l->redirected = true;
	if (l->script.hold_ms >= 0)
		hold = l->script.hold_ms;
	has_number = hreq_param(c->req, "verify_code", &number) == 1;
	str_release(&number);
	if (news(c->sim, l, has_number)) {
		answer_status(c, l);
		return;
	}
	c->login = l;
	c->held = true;
	call_later(c, hold, qr_hold_over);
}

void logins_wake(struct sim *s)
{
	struct call *next;

	for (struct call *c = s->calls; c; c = next) {
		next = c->next;
		if (c->held && c->login && news(s, c->login, false))
			qr_hold_over(c);
	}
	watches_changed(s, "login");
}

/* --- The phone's side ------------------------------------------------------------------------- */
static struct login *login_pick(struct sim *s, struct view key, struct err *e)
{
	struct login *l = login_find(s, key);

	if (!l)
		err_set(e, E_NOTFOUND, "no such QR code");
	return l;
}

int logins_scan(struct sim *s, struct view key, struct err *e)
{
	struct login *l = login_pick(s, key, e);

	if (!l)
		return -1;
	if (l->state != L_WAIT || sim_now(s) >= l->expires)
		return err_set(e, E_CONFLICT, "this code is %s already",
			sim_now(s) >= l->expires ? "expired" : state_names[l->state]);
	l->state = L_SCANNED;
	logins_wake(s);
	return 0;
}

int logins_confirm(struct sim *s, struct view key, struct view user, struct err *e)
{
	struct login *l = login_pick(s, key, e);

	if (!l)
		return -1;
	if (l->state == L_WAIT)
		return err_set(e, E_CONFLICT, "scan the code first");
	if (l->state != L_SCANNED)
		return err_set(e, E_CONFLICT, "this code is %s already", state_names[l->state]);
	if (l->script.verify && !l->number_right)
		return err_set(e, E_CONFLICT, "the number has not been typed yet");
	if (user.n) {
		free(l->script.user);
		l->script.user = dup_view(user);
	}
	l->state = l->bound ? L_BOUND : L_CONFIRMED;
	logins_wake(s);
	return 0;
}

int logins_expire(struct sim *s, struct view key, struct err *e)
{
	struct login *l = login_pick(s, key, e);

	if (!l)
		return -1;
	l->state = L_EXPIRED;
	logins_wake(s);
	return 0;
}

void logins_json(struct sim *s, struct json_out *w)
{
	struct logins *ls = s->logins;

	for (size_t i = ls->n; i-- > 0;) {
		const struct login *l = ls->l[i];
		bool late = l->state <= L_SCANNED && sim_now(s) >= l->expires;

		json_open(w, NULL);
		json_put_z(w, "qrcode", l->key);
		json_put_z(w, "content", l->content);
		json_put_z(w, "status", state_names[late ? L_EXPIRED : l->state]);
		json_put_int(w, "left_ms", late ? 0 : l->expires - sim_now(s));
		json_put_z(w, "number",
			l->script.verify && !l->number_right ? l->script.verify : NULL);
		json_put_bool(w, "scripted", l->script.n > 0);
		json_put_z(w, "bot", *l->bot_id ? l->bot_id : NULL);
		json_close(w);
	}
}

const char *logins_content(struct sim *s)
{
	struct logins *ls = s->logins;

	return ls->n ? ls->l[ls->n - 1]->content : NULL;
}
