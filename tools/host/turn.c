#include "tools/host/turn.h"

#include <stdlib.h>
#include <string.h>

struct turn {
	struct turn *next;
	uint64_t id;
	char *conversation;
};

static struct turn *find(const struct turn_list *l, uint64_t id)
{
	struct turn *t = l->first;

	while (t && t->id != id)
		t = t->next;
	return t;
}

static void turn_free(struct turn *t)
{
	free(t->conversation);
	free(t);
}

int turn_begin(struct turn_list *l, uint64_t id, const char *conversation, struct view words,
	struct err *e)
{
	struct turn *t;

	(void)words;
	if (find(l, id))
		return err_set(e, E_EXISTS, "the turn %llu has begun already",
			(unsigned long long)id);
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, E_NOMEM, "a turn");
	t->id = id;
	t->conversation = strdup(conversation ? conversation : "");
	if (!t->conversation) {
		turn_free(t);
		return err_set(e, E_NOMEM, "a turn");
	}
	t->next = l->first;
	l->first = t;
	return 0;
}

void turn_end(struct turn_list *l, uint64_t id)
{
	for (struct turn **at = &l->first; *at; at = &(*at)->next) {
		struct turn *t = *at;

		if (t->id == id) {
			*at = t->next;
			turn_free(t);
			return;
		}
	}
}

void turn_end_all(struct turn_list *l)
{
	while (l->first)
		turn_end(l, l->first->id);
}

const char *turn_conversation(const struct turn_list *l, uint64_t id)
{
	const struct turn *t = find(l, id);

	return t ? t->conversation : "";
}
