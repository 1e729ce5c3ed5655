#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "media.h"

#define BOTS_MAX       64
#define PEERS_MAX      512
#define INBOUND_MAX    20000 /* a bot's log */
#define DELIVERIES_MAX 10000

struct world {
	struct sim *sim;
	struct bot *bots;
	size_t nbots;
	uint64_t last_id, last_seq;
	struct delivery *d[DELIVERIES_MAX]; /* by number */
	uint64_t d_first, d_last;
};

int world_open(struct world **out, struct sim *s, struct err *e)
{
	struct world *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return err_set(e, E_NOMEM, "out of memory");
	w->sim = s;
	w->d_first = 1;
	/* Above 2^63, and no double holds it: what a client rounds shows at once. */
	w->last_id = ((uint64_t)1 << 63) | (rand_u64() >> 3) | 1;
	return 0;
}

static void inbound_free(struct inbound *m)
{
	free(m->from);
	free(m->id);
	free(m->token);
	free(m->client);
	free(m->text);
	free(m->items);
	free(m->extra);
	free(m->raw);
	free(m->label);
	free(m->ref);
	free(m->quote);
	free(m);
}

static void peer_free(struct peer *p)
{
	for (size_t i = 0; i < TOKENS_KEPT; i++)
		free(p->tokens[i]);
	free(p->user);
	free(p);
}

static void bot_free(struct bot *b)
{
	while (b->in) {
		struct inbound *m = b->in;

		b->in = m->next;
		inbound_free(m);
	}
	while (b->peers) {
		struct peer *p = b->peers;

		b->peers = p->next;
		peer_free(p);
	}
	free(b->user);
	free(b);
}

static void delivery_free(struct delivery *d)
{
	if (!d)
		return;
	free(d->to);
	free(d->client_id);
	free(d->run_id);
	free(d->text);
	free(d->item);
	free(d->errmsg);
	free(d);
}

void world_close(struct world **wp)
{
	struct world *w = *wp;

	*wp = NULL;
	if (!w)
		return;
	while (w->bots) {
		struct bot *b = w->bots;

		w->bots = b->next;
		bot_free(b);
	}
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		delivery_free(w->d[i]);
	free(w);
}

/* --- Bots ------------------------------------------------------------------------------------- */
struct bot *bot_new(struct sim *s, struct view user, struct err *e)
{
	struct world *w = s->world;
	struct bot *b = w->nbots < BOTS_MAX ? calloc(1, sizeof(*b)) : NULL;
	char hex[33];

	if (!b || !(b->user = dup_view(user))) {
		free(b);
		err_set(e, E_FULL, "no room for another bot (at most %d)", BOTS_MAX);
		return NULL;
	}
	rand_hex(hex, 6);
	snprintf(b->id, sizeof(b->id), "%s@im.bot", hex);
	rand_hex(hex, 16);
	snprintf(b->token, sizeof(b->token), "%s:06%s", b->id, hex);
	b->made_at = sim_now(s);
	b->in_end = &b->in;
	b->next = w->bots;
	w->bots = b;
	w->nbots++;
	return b;
}

bool bot_live(const struct sim *s, const struct bot *b)
{
	return !b->void_at || sim_now(s) < b->void_at;
}

void bot_void(struct sim *s, struct bot *b, int64_t ms)
{
	int64_t at = sim_now(s) + (ms > 0 ? ms : 0);

	if (!b->void_at || at < b->void_at)
		b->void_at = at;
	sim_due_in(s, ms);
}

struct bot *bot_by_token(struct sim *s, struct view token)
{
	for (struct bot *b = s->world->bots; b; b = b->next)
		if (view_eqs(token, b->token))
			return b;
	return NULL;
}

struct bot *bot_by_id(struct sim *s, struct view id)
{
	for (struct bot *b = s->world->bots; b; b = b->next)
		if (view_eqs(id, b->id))
			return b;
	return NULL;
}

struct bot *bot_newest(struct sim *s)
{
	for (struct bot *b = s->world->bots; b; b = b->next)
		if (bot_live(s, b))
			return b;
	return NULL;
}

struct bot *bots_first(struct sim *s)
{
	return s->world->bots;
}

/* --- People ----------------------------------------------------------------------------------- */
struct peer *peer_find(struct bot *b, struct view user)
{
	for (struct peer *p = b->peers; p; p = p->next)
		if (view_eqs(user, p->user))
			return p;
	return NULL;
}

/* Made if new. */
static struct peer *peer_get(struct bot *b, struct view user, struct err *e)
{
	struct peer *p = peer_find(b, user);

	if (p)
		return p;
	p = b->npeers < PEERS_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p || !(p->user = dup_view(user))) {
		free(p);
		err_set(e, E_FULL, "no room for another person (at most %d)", PEERS_MAX);
		return NULL;
	}
	p->next = b->peers;
	b->peers = p;
	b->npeers++;
	return p;
}

bool peer_knows_token(const struct peer *p, struct view token)
{
	for (size_t i = 0; i < TOKENS_KEPT; i++)
		if (p->tokens[i] && view_eqs(token, p->tokens[i]))
			return true;
	return false;
}

const char *peer_token(const struct peer *p)
{
	return p->ntokens ? p->tokens[(p->ntokens - 1) % TOKENS_KEPT] : NULL;
}

int peer_add_token(struct peer *p, const char *token)
{
	char *copy = strdup(token), **slot = &p->tokens[p->ntokens % TOKENS_KEPT];

	if (!copy)
		return -1;
	free(*slot);
	*slot = copy;
	p->ntokens++;
	return 0;
}

/* --- Messages in ------------------------------------------------------------------------------ */
uint64_t world_id(struct sim *s)
{
	return s->world->last_id += 1 + rand_u64() % 4096 * 2;
}

static uint64_t world_seq(struct sim *s)
{
	return ++s->world->last_seq;
}

/* About as long as real ones are. */
char *fresh_token(void)
{
	struct str s = STR_INIT(256);
	unsigned char raw[96];

	rand_bytes(raw, sizeof(raw));
	str_adds(&s, "AARz");
	base64_encode((struct view){ (const char *)raw, sizeof(raw) }, &s);
	return str_take(&s);
}

static int choose_token(struct sim *s, struct peer *p, const struct inbound_spec *spec,
	struct inbound *m)
{
	if (spec->no_token)
		return 0;
	if (spec->token.p)
		m->token = dup_view(spec->token);
	else if (s->set.token_same && peer_token(p))
		m->token = strdup(peer_token(p));
	else
		m->token = fresh_token();
	if (!m->token)
		return -1;
	return peer_knows_token(p, view_of(m->token)) ? 0 : peer_add_token(p, m->token);
}

static int choose_id(struct sim *s, const struct inbound_spec *spec, struct inbound *m)
{
	char digits[24];

	m->id_number = spec->id_form == 1 || (spec->id_form == 0 && m->n % 2 == 1);
	if (spec->no_id)
		return 0;
	if (spec->id.p) {
		m->id = dup_view(spec->id);
		return m->id ? 0 : -1;
	}
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)world_id(s));
	m->id = strdup(digits);
	return m->id ? 0 : -1;
}

static int copy_opt(char **to, struct view v)
{
	*to = v.p ? dup_view(v) : NULL;
	return v.p && !*to ? -1 : 0;
}

static int choose_client(const struct inbound_spec *spec, struct inbound *m)
{
	char text[64];

	if (spec->client.p || !m->id)
		return copy_opt(&m->client, spec->client);
	snprintf(text, sizeof(text), "wx-%s", m->id);
	return copy_opt(&m->client, view_of(text));
}

static void forget_oldest(struct bot *b)
{
	struct inbound *m = b->in;

	b->in = m->next;
	b->nin--;
	inbound_free(m);
}

struct inbound *world_put(struct sim *s, struct bot *b, const struct inbound_spec *spec,
	struct err *e)
{
	struct peer *p = peer_get(b, spec->from, e);
	struct inbound *m;

	if (!p)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		goto nomem;
	m->n = b->last + 1;
	m->at = spec->at ? spec->at : sim_now(s);
	m->type = spec->type;
	m->from = dup_view(spec->from);
	if (!m->from || choose_id(s, spec, m) < 0 || choose_client(spec, m) < 0 ||
		choose_token(s, p, spec, m) < 0 || copy_opt(&m->text, spec->text) < 0 ||
		copy_opt(&m->items, spec->items) < 0 || copy_opt(&m->extra, spec->extra) < 0 ||
		copy_opt(&m->raw, spec->raw) < 0 || copy_opt(&m->label, spec->label) < 0 ||
		copy_opt(&m->ref, spec->ref) < 0 || copy_opt(&m->quote, spec->quote) < 0)
		goto nomem;
	m->media = spec->media;
	m->seq = world_seq(s);
	b->last = m->n;
	*b->in_end = m;
	b->in_end = &m->next;
	if (++b->nin > INBOUND_MAX)
		forget_oldest(b);
	if (!spec->repeat) {
		p->last_in = m->at;
		p->used = 0;
		p->refused = false;
	}
	return m;
nomem:
	if (m)
		inbound_free(m);
	err_set(e, E_NOMEM, "out of memory");
	return NULL;
}

const struct inbound *world_inbound(const struct bot *b, struct view id)
{
	for (const struct inbound *m = b->in; m; m = m->next)
		if (m->id && view_eqs(id, m->id))
			return m;
	return NULL;
}

void inbound_json(struct sim *s, const struct inbound *m, const struct bot *b, struct json_out *w)
{
	json_open(w, NULL);
	json_put_z(w, "dir", "in");
	json_put_u64(w, "seq", m->seq);
	json_put_u64(w, "n", m->n);
	json_put_z(w, "bot", b->id);
	json_put_z(w, "from", m->from);
	json_put_z(w, "id", m->id);
	json_put_z(w, "token", m->token);
	json_put_z(w, "text", m->text ? m->text : m->label);
	json_put_int(w, "at", m->at);
	json_put_u64(w, "fetched", m->fetched);
	if (m->quote)
		json_put_z(w, "quote", m->quote);
	media_json(s, m->media, w);
	json_close(w);
}

/* --- Messages out ----------------------------------------------------------------------------- */
struct delivery *delivery_new(struct sim *s, struct bot *b, struct view to, struct err *e)
{
	struct world *w = s->world;
	struct delivery *d = calloc(1, sizeof(*d));

	if (!d || !(d->to = dup_view(to))) {
		free(d);
		err_set(e, E_NOMEM, "out of memory");
		return NULL;
	}
	snprintf(d->bot, sizeof(d->bot), "%s", b->id);
	d->n = ++w->d_last;
	d->seq = world_seq(s);
	d->at = sim_now(s);
	d->attempts = 1;
	if (w->d_last - w->d_first >= DELIVERIES_MAX)
		w->d_first++;
	delivery_free(w->d[d->n % DELIVERIES_MAX]);
	w->d[d->n % DELIVERIES_MAX] = d;
	return d;
}

static struct delivery *delivery_by_n(struct sim *s, uint64_t n)
{
	const struct world *w = s->world;

	return n >= w->d_first && n <= w->d_last ? w->d[n % DELIVERIES_MAX] : NULL;
}

struct delivery *delivery_by_client_id(struct sim *s, const struct bot *b, struct view to,
	struct view client_id)
{
	for (uint64_t n = s->world->d_last; n >= s->world->d_first; n--) {
		struct delivery *d = delivery_by_n(s, n);

		if (d && d->client_id && view_eqs(client_id, d->client_id) && view_eqs(to, d->to) &&
			!strcmp(d->bot, b->id))
			return d;
	}
	return NULL;
}

const struct delivery *delivery_after(struct sim *s, uint64_t since)
{
	return delivery_by_n(s, since + 1 > s->world->d_first ? since + 1 : s->world->d_first);
}

uint64_t delivery_last(const struct sim *s)
{
	return s->world->d_last;
}

void delivery_json(struct sim *s, const struct delivery *d, struct json_out *w)
{
	char id[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)d->message_id);
	json_open(w, NULL);
	json_put_z(w, "dir", "out");
	json_put_u64(w, "seq", d->seq);
	json_put_u64(w, "n", d->n);
	json_put_z(w, "bot", d->bot);
	json_put_z(w, "to", d->to);
	json_put_z(w, "text", d->text);
	json_put_z(w, "client_id", d->client_id);
	json_put_z(w, "run_id", d->run_id);
	json_put_int(w, "at", d->at);
	json_put_bool(w, "accepted", d->accepted);
	json_put_bool(w, "shown", d->shown);
	json_put_int(w, "attempts", d->attempts);
	json_put_z(w, "message_id", d->message_id ? id : NULL);
	json_put_int(w, "ret", d->ret);
	json_put_z(w, "errmsg", d->errmsg);
	if (d->item)
		json_put_raw(w, "item", view_of(d->item));
	if (*d->media_state) {
		json_put_u64(w, "media", d->media);
		json_put_z(w, "media_state", d->media_state);
		media_json(s, d->media, w);
	}
	json_close(w);
}
