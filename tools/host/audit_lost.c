#include <stdlib.h>
#include <string.h>

#include "tools/host/audit-private.h"

#define WORD_SIZE ((size_t)300) /* of a name in a record, with what cuts it */

/* A call that is under way, or asked about, as far as the records say. */
struct begun {
	uint64_t turn;
	enum origin origin;
	bool asked;
	char tool[WORD_SIZE], call[WORD_SIZE], verdict[WORD_SIZE];
};

struct lost {
	struct begun list[AUDIT_TAIL_MAX];
	size_t n;
};

static int read_word(const struct json *record, const char *name, char out[WORD_SIZE])
{
	struct view v = VIEW_NONE;

	return json_get_str(record, name, JSON_REQUIRED, 0, WORD_SIZE - 1, &v, NULL) == 1
	               ? copy_z(out, WORD_SIZE, v)
	               : -1;
}

static int read_begun(const struct json *record, struct begun *b, char outcome[WORD_SIZE])
{
	char origin[WORD_SIZE];

	if (json_get_u64(record, "turn", JSON_REQUIRED, &b->turn, NULL) != 1 ||
		read_word(record, "tool", b->tool) < 0 || read_word(record, "call", b->call) < 0 ||
		read_word(record, "verdict", b->verdict) < 0 ||
		read_word(record, "origin", origin) < 0 ||
		read_word(record, "outcome", outcome) < 0)
		return -1;
	for (int o = 0; o < ORIGIN_COUNT; o++) {
		b->origin = (enum origin)o;
		if (strcmp(origin, origin_name(b->origin)) == 0)
			return 0;
	}
	return -1;
}

static void forget(struct lost *l, const struct begun *b)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct begun *it = &l->list[i];

		if (it->turn != b->turn || strcmp(it->call, b->call) != 0 ||
			strcmp(it->tool, b->tool) != 0)
			continue;
		memmove(&l->list[i], &l->list[i + 1], (--l->n - i) * sizeof(l->list[0]));
		return;
	}
}

/* Whatever is said of a call ends what was said of it before. */
static void take_record(void *arg, const struct json *record)
{
	struct lost *l = arg;
	char outcome[WORD_SIZE];
	struct begun b;

	if (read_begun(record, &b, outcome) < 0)
		return;
	forget(l, &b);
	b.asked = strcmp(outcome, "asked") == 0;
	if (b.asked || strcmp(outcome, "started") == 0)
		l->list[l->n++] = b; /* no more than there are records */
}

static void say_lost(struct audit *a, const struct begun *b)
{
	const struct audit_event ev = {
		.turn = b->turn,
		.origin = b->origin,
		.tool = b->tool,
		.call_id = b->call,
		.verdict = b->verdict,
		.outcome = "lost",
		.detail = b->asked ? "Kairo ended before there was an answer: it was not done"
		                   : "Kairo was killed meanwhile: it may have been done or not",
	};

	(void)audit_write(a, &ev, NULL);
}

void audit_end_lost(struct audit *a)
{
	struct lost *l = calloc(1, sizeof(*l));
	size_t skipped;

	if (l && audit_tail(audit_dir(a), AUDIT_TAIL_MAX, take_record, l, &skipped, NULL) == 0)
		for (size_t i = 0; i < l->n; i++)
			say_lost(a, &l->list[i]);
	free(l);
}
