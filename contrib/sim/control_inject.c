/* POST /control/inject: somebody writes to the bot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "ilink.h"
#include "media.h"
#include "quote.h"
#include "world.h"

#define COUNT_MAX 10000

/* What a request asks for, with the text it owns. */
struct order {
	struct inbound_spec spec;
	struct str items, label, extra, raw, ref, quote;
	char id[21];
	int64_t count;
	struct bot *bot;
};

static void order_release(struct order *o)
{
	str_release(&o->items);
	str_release(&o->label);
	str_release(&o->extra);
	str_release(&o->raw);
	str_release(&o->ref);
	str_release(&o->quote);
}

static int print_member(const struct json *j, const char *name, struct str *to, struct view *v,
	struct err *e)
{
	const struct json *m = json_member(j, name);

	if (!m || json_type(m) == JSON_NULL)
		return 0;
	if (json_print(m, to, e) < 0)
		return -1;
	*v = str_view(to);
	return 0;
}

static int read_id(struct order *o, const struct json *j, struct err *e)
{
	static const char *const forms[] = { "auto", "number", "string", NULL };
	const struct json *id = json_member(j, "id");

	if (json_get_enum(j, "id_form", JSON_OPTIONAL, forms, &o->spec.id_form, e) < 0)
		return -1;
	if (!id)
		return 0;
	if (json_type(id) == JSON_NULL) {
		o->spec.no_id = true;
		return 0;
	}
	if (json_get_id(j, "id", JSON_REQUIRED, o->id, e) < 0)
		return -1;
	o->spec.id = view_of(o->id);
	return 0;
}

/* "new" and "same" are the two ways of real servers, "none" and any other text are for trials. */
static void read_token(struct order *o, const struct json *j)
{
	struct view v = opt_str(j, "token", NULL);
	struct peer *p = peer_find(o->bot, o->spec.from);

	if (!v.p || view_eqs(v, "new"))
		return;
	if (view_eqs(v, "none"))
		o->spec.no_token = true;
	else if (!view_eqs(v, "same"))
		o->spec.token = v;
	else if (p && peer_token(p))
		o->spec.token = view_of(peer_token(p));
}

/* An earlier message of this bot once more, as networks do it. */
static int read_duplicate(struct order *o, const struct json *j, struct err *e)
{
	static const char *const forms[] = { "same", "other_id", "other_token", "no_id", NULL };
	const struct inbound *m;
	char id[21];
	int form = 0, rc = json_get_id(j, "dup_of", JSON_OPTIONAL, id, e);

	if (rc <= 0 || json_get_enum(j, "form", JSON_OPTIONAL, forms, &form, e) < 0)
		return rc;
	if (o->count != 1) /* the first could push the original out of the log */
		return err_set(e, E_FORMAT, "count: a message is repeated once a call");
	m = world_inbound(o->bot, view_of(id));
	if (!m)
		return err_set(e, E_NOTFOUND, "dup_of: no message with this id");
	o->spec.from = view_of(m->from);
	o->spec.text = view_of(m->text);
	o->spec.items = view_of(m->items);
	o->spec.label = view_of(m->label);
	o->spec.ref = view_of(m->ref);
	o->spec.quote = view_of(m->quote);
	o->spec.media = m->media;
	o->spec.type = m->type;
	o->spec.client = view_of(m->client);
	o->spec.at = m->at;
	o->spec.repeat = true;
	o->spec.id = form == 1 ? VIEW_NONE : view_of(m->id);
	o->spec.no_id = form == 3;
	o->spec.id_form = m->id_number ? 1 : 2;
	o->spec.token = form == 2 ? VIEW_NONE : view_of(m->token);
	o->spec.no_token = !m->token;
	return 1;
}

static int read_quote(struct sim *s, struct order *o, const struct json *j, struct err *e)
{
	const struct json *quote = NULL;
	int rc = json_get_object(j, "quote", JSON_OPTIONAL, &quote, e);

	if (rc <= 0)
		return rc;
	if (!o->spec.text.p)
		return err_set(e, E_FORMAT, "quote: only a text quotes another message");
	if (quote_make(s, o->bot, quote, &o->ref, &o->quote, e) < 0)
		return -1;
	o->spec.ref = str_view(&o->ref);
	o->spec.quote = view_of(str_cstr(&o->quote));
	return 0;
}

static int read_content(struct sim *s, struct order *o, const struct json *j, struct err *e)
{
	const struct json *media = NULL, *extra = NULL;
	int rc = json_get_object(j, "media", JSON_OPTIONAL, &media, e);

	if (rc < 0 || json_get_object(j, "extra", JSON_OPTIONAL, &extra, e) < 0 ||
		print_member(j, "raw", &o->raw, &o->spec.raw, e) < 0 ||
		print_member(j, "extra", &o->extra, &o->spec.extra, e) < 0)
		return -1;
	o->spec.text = opt_str(j, "text", NULL);
	if (rc == 1) {
		if (media_inbound(s, media, &o->items, &o->label, &o->spec.media, e) < 0)
			return -1;
		o->spec.items = str_view(&o->items);
		o->spec.label = str_view(&o->label);
		o->spec.text = VIEW_NONE;
		return 0;
	}
	if (print_member(j, "items", &o->items, &o->spec.items, e) < 0)
		return -1;
	if (o->spec.items.p) {
		o->spec.label = o->spec.text.p ? o->spec.text : VIEW("[items]");
		o->spec.text = VIEW_NONE;
	}
	if (!o->spec.text.p && !o->spec.items.p && !o->spec.raw.p)
		return err_set(e, E_FORMAT, "nothing to say: give text, items, media or raw");
	return 0;
}

static int read_order(struct sim *s, struct order *o, const struct json *j, struct err *e)
{
	struct view bot = opt_str(j, "bot", NULL);
	int rc;

	o->bot = bot.n ? bot_by_id(s, bot) : bot_newest(s);
	if (!o->bot)
		return err_set(e, E_CONFLICT, "nobody is logged in: there is no bot to write to");
	o->count = opt_int(j, "count", 1);
	if (o->count < 1 || o->count > COUNT_MAX)
		return err_set(e, E_FORMAT, "count: 1 to %d", COUNT_MAX);
	o->spec.type = (int)opt_int(j, "message_type", 1);
	rc = read_duplicate(o, j, e);
	if (rc)
		return rc < 0 ? -1 : 0;
	o->spec.from = opt_str(j, "from", o->bot->user);
	read_token(o, j);
	return read_id(o, j, e) < 0 || read_content(s, o, j, e) < 0 || read_quote(s, o, j, e) < 0
	               ? -1
	               : 0;
}

/* "{n}" in the text of one of several messages is its number. */
static struct inbound *put_one(struct sim *s, struct order *o, int64_t i, struct err *e)
{
	struct inbound_spec spec = o->spec;
	struct str text = STR_INIT(SIM_BODY_MAX);
	char n[24];
	struct inbound *m = NULL;

	snprintf(n, sizeof(n), "%lld", (long long)i);
	if (spec.text.p && o->count > 1) {
		if (str_add(&text, spec.text) < 0 ||
			replace_bytes(&text, VIEW("{n}"), view_of(n)) < 0)
			err_set(e, E_NOMEM, "text: too long");
		else
			spec.text = str_view(&text);
	}
	if (!spec.text.p || str_ok(&text))
		m = world_put(s, o->bot, &spec, e);
	str_release(&text);
	return m;
}

static int inject_order(struct sim *s, const struct json *j, struct json_out *w, struct err *e)
{
	struct order o = { .items = STR_INIT(SIM_BODY_MAX),
		.label = STR_INIT(4096),
		.extra = STR_INIT(SIM_BODY_MAX),
		.raw = STR_INIT(SIM_BODY_MAX),
		.ref = STR_INIT(SIM_BODY_MAX),
		.quote = STR_INIT(SIM_BODY_MAX) };
	int rc = read_order(s, &o, j, e);

	for (int64_t i = 1; rc == 0 && i <= o.count; i++) {
		struct inbound *m = put_one(s, &o, i, e);

		rc = m ? 0 : -1;
		if (!m)
			break;
		inbound_json(s, m, o.bot, w);
		sim_count(s, T_INBOUND);
	}
	order_release(&o);
	return rc;
}

int control_inject(struct sim *s, const struct json *j, struct json_out *w, struct err *e)
{
	const struct json *list = NULL;
	int rc = json_get_array(j, "messages", JSON_OPTIONAL, COUNT_MAX, &list, e);

	json_open_array(w, "messages");
	if (rc == 1) {
		rc = 0;
		json_each(order, list)
			if (rc == 0)
				rc = inject_order(s, order, w, e);
	} else if (rc == 0) {
		rc = inject_order(s, j, w, e);
	}
	json_close_array(w);
	/* Only now: what is written in one call is fetched by one poll. */
	if (rc == 0)
		polls_wake(s);
	return rc;
}
