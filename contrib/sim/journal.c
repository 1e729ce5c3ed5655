#include "journal.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REQUESTS_MAX 4096
#define BREACHES_MAX 1024
#define BODY_KEEP    ((size_t)256 << 10)
#define TOTAL_KEEP   ((size_t)48 << 20)
#define UINS_MAX     1024

struct entry {
	uint64_t n;
	int64_t at, took;
	char endpoint[24], method[8], word[16];
	int status;
	char *path, *query, *headers, *body, *answer; /* headers: a JSON object */
	size_t body_size, answer_size, held;
};

struct breach_entry {
	uint64_t n, request;
	int64_t at;
	char endpoint[24], rule[32], detail[200];
};

struct breach_ring {
	struct breach_entry e[BREACHES_MAX];
	uint64_t last, first; /* numbers; first is the oldest kept */
};

struct journal {
	struct sim *sim;
	struct entry *e; /* REQUESTS_MAX, by number */
	uint64_t last, first;
	size_t held;
	struct breach_ring *breach; /* two */
	uint32_t uins[UINS_MAX];
	size_t nuins;
};

int journal_open(struct journal **out, struct sim *s, struct err *e)
{
	struct journal *j = calloc(1, sizeof(*j));

	*out = j;
	if (!j || !(j->e = calloc(REQUESTS_MAX, sizeof(*j->e))) ||
		!(j->breach = calloc(2, sizeof(*j->breach)))) {
		journal_close(out);
		return err_set(e, E_NOMEM, "out of memory");
	}
	j->sim = s;
	j->first = 1;
	j->breach[0].first = j->breach[1].first = 1;
	return 0;
}

static void entry_release(struct journal *j, struct entry *en)
{
	j->held -= en->held;
	free(en->path);
	free(en->query);
	free(en->headers);
	free(en->body);
	free(en->answer);
	memset(en, 0, sizeof(*en));
}

void journal_close(struct journal **jp)
{
	struct journal *j = *jp;

	*jp = NULL;
	if (!j)
		return;
	for (size_t i = 0; j->e && i < REQUESTS_MAX; i++)
		entry_release(j, &j->e[i]);
	free(j->e);
	free(j->breach);
	free(j);
}

static void make_room(struct journal *j)
{
	while (j->first <= j->last &&
		(j->last - j->first + 1 > REQUESTS_MAX - 1 || j->held > TOTAL_KEEP))
		entry_release(j, &j->e[j->first++ % REQUESTS_MAX]);
}

/* {"name":"value",...}; of a header sent twice the second is kept under "name (2)". */
static char *headers_json(const struct hreq *r)
{
	struct str s = STR_INIT((size_t)256 << 10);
	struct json_out w;
	const char *name, *value, *earlier, *dummy;
	char again[160], plain[1024];

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	for (size_t i = 0; hreq_header_at(r, i, &name, &value); i++) {
		size_t times = 1;

		for (size_t k = 0; k < i && hreq_header_at(r, k, &earlier, &dummy); k++)
			times += strncasecmp(earlier, name, 128) == 0;
		snprintf(again, sizeof(again), "%.128s", name);
		if (times > 1)
			snprintf(again, sizeof(again), "%.128s (%zu)", name, times);
		snprintf(plain, sizeof(plain), "%s", value);
		plain_ascii(again);
		plain_ascii(plain);
		json_put_z(&w, again, plain);
	}
	json_close(&w);
	if (json_out_end(&w, NULL) < 0) {
		str_release(&s);
		return strdup("{}");
	}
	return str_take(&s);
}

static size_t len_of(const char *s)
{
	return s ? strlen(s) : 0;
}

uint64_t journal_request(struct journal *j, const char *endpoint, const struct hreq *r)
{
	struct view body = hreq_body(r);
	struct entry *en;

	make_room(j);
	en = &j->e[++j->last % REQUESTS_MAX];
	en->n = j->last;
	en->at = sim_now(j->sim);
	snprintf(en->endpoint, sizeof(en->endpoint), "%s", endpoint);
	snprintf(en->method, sizeof(en->method), "%s", hreq_method(r));
	en->path = strdup(hreq_path(r));
	en->query = strdup(hreq_query(r));
	plain_ascii(en->path);
	plain_ascii(en->query);
	en->headers = headers_json(r);
	en->body_size = body.n;
	en->body = dup_view(view_cut(body, BODY_KEEP));
	en->held = len_of(en->path) + len_of(en->query) + len_of(en->headers) + len_of(en->body);
	j->held += en->held;
	return en->n;
}

void journal_answer(struct journal *j, uint64_t n, int status, const char *word, struct view body)
{
	struct entry *en;

	if (n < j->first || n > j->last)
		return;
	en = &j->e[n % REQUESTS_MAX];
	en->status = status;
	en->took = sim_now(j->sim) - en->at;
	snprintf(en->word, sizeof(en->word), "%s", word);
	en->answer_size = body.n;
	free(en->answer);
	en->answer = dup_view(view_cut(body, BODY_KEEP));
	en->held += len_of(en->answer);
	j->held += len_of(en->answer);
	if (j->sim->o.verbose)
		fprintf(stderr, "%s %s %d %s\n", en->method, en->endpoint, status, word);
}

/* JSON as JSON where it is that; what is not comes as text, and what is not even text as its size.
 */
static void put_body(struct json_out *w, const char *name, const char *text, size_t size)
{
	struct view v = view_of(text);

	json_put_u64(w, !strcmp(name, "body") ? "body_size" : "answer_size", size);
	if (text && v.n == size && size && json_check(v, &json_limits_wire, NULL) == 0)
		json_put_raw(w, name, v);
	else if (text && v.n == size && size && utf8_valid(v))
		json_put_str(w, name, v);
	else
		json_put_null(w, name);
}

static void put_entry(struct json_out *w, const struct entry *en)
{
	json_open(w, NULL);
	json_put_u64(w, "n", en->n);
	json_put_int(w, "at", en->at);
	json_put_z(w, "endpoint", en->endpoint);
	json_put_z(w, "method", en->method);
	json_put_z(w, "path", en->path);
	json_put_z(w, "query", en->query);
	json_put_raw(w, "headers", view_of(en->headers));
	put_body(w, "body", en->body, en->body_size);
	json_put_int(w, "status", en->status);
	json_put_z(w, "outcome", *en->word ? en->word : "open");
	json_put_int(w, "took_ms", en->took);
	put_body(w, "answer", en->answer, en->answer_size);
	json_close(w);
}

void journal_print_requests(struct journal *j, struct json_out *w, uint64_t since,
	struct view endpoint)
{
	uint64_t n = since + 1 > j->first ? since + 1 : j->first;

	for (; n <= j->last; n++) {
		const struct entry *en = &j->e[n % REQUESTS_MAX];

		if (!endpoint.n || view_eqs(endpoint, en->endpoint))
			put_entry(w, en);
	}
}

void journal_breach(struct journal *j, enum breach level, uint64_t n, const char *endpoint,
	const char *rule, const char *fmt, ...)
{
	struct breach_ring *ring = &j->breach[level];
	struct breach_entry *b = &ring->e[++ring->last % BREACHES_MAX];
	va_list ap;

	if (ring->last - ring->first >= BREACHES_MAX)
		ring->first = ring->last - BREACHES_MAX + 1;
	memset(b, 0, sizeof(*b));
	b->n = ring->last;
	b->request = n;
	b->at = sim_now(j->sim);
	snprintf(b->endpoint, sizeof(b->endpoint), "%s", endpoint);
	snprintf(b->rule, sizeof(b->rule), "%s", rule);
	va_start(ap, fmt);
	vsnprintf(b->detail, sizeof(b->detail), fmt, ap);
	va_end(ap);
	plain_ascii(b->detail);
	if (level == BREACH_VIOLATION)
		sim_count(j->sim, T_VIOLATIONS);
}

void journal_print_breaches(struct journal *j, struct json_out *w, enum breach level,
	uint64_t since)
{
	const struct breach_ring *ring = &j->breach[level];
	uint64_t n = since + 1 > ring->first ? since + 1 : ring->first;

	for (; n <= ring->last; n++) {
		const struct breach_entry *b = &ring->e[n % BREACHES_MAX];

		json_open(w, NULL);
		json_put_u64(w, "n", b->n);
		json_put_int(w, "at", b->at);
		json_put_u64(w, "request", b->request);
		json_put_z(w, "endpoint", b->endpoint);
		json_put_z(w, "rule", b->rule);
		json_put_z(w, "detail", b->detail);
		json_close(w);
	}
}

uint64_t journal_last(const struct journal *j, enum breach level)
{
	return j->breach[level].last;
}

void journal_forget(struct journal *j)
{
	while (j->first <= j->last)
		entry_release(j, &j->e[j->first++ % REQUESTS_MAX]);
	for (int i = 0; i < 2; i++)
		j->breach[i].first = j->breach[i].last + 1;
}

int journal_uin_seen(struct journal *j, uint32_t uin)
{
	size_t have = j->nuins < UINS_MAX ? j->nuins : UINS_MAX;

	for (size_t i = 0; i < have; i++)
		if (j->uins[i] == uin)
			return 1;
	j->uins[j->nuins++ % UINS_MAX] = uin;
	return 0;
}
