#include "tools/host/turn.h"

#include <stdlib.h>
#include <string.h>

#include "tools/host/address.h"

#define ALLOWED_MAX ((size_t)256 << 10)

struct turn {
	struct turn *next;
	uint64_t id;
	char *conversation, *media; /* media: NULL: none */
	struct str allowed;         /* addresses in normal form, each between line breaks */
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
	str_release(&t->allowed);
	free(t->conversation);
	free(t->media);
	free(t);
}

static bool has(const struct turn *t, struct view normal)
{
	struct str line = STR_INIT(ADDRESS_MAX + 100);
	bool yes = str_addf(&line, "\n%.*s\n", VIEW_FMT(normal)) == 0 &&
	           strstr(str_cstr(&t->allowed), str_cstr(&line));

	str_release(&line);
	return yes;
}

static void add(void *arg, struct view normal)
{
	struct turn *t = arg;

	/* What no longer fits is asked for. */
	if (!has(t, normal) && t->allowed.n + normal.n + 1 <= ALLOWED_MAX)
		(void)str_addf(&t->allowed, "%.*s\n", VIEW_FMT(normal));
}

int turn_begin(struct turn_list *l, uint64_t id, const char *conversation, struct view words,
	const char *media, struct err *e)
{
	struct turn *t;

	if (find(l, id))
		return err_set(e, E_EXISTS, "the turn %llu has begun already",
			(unsigned long long)id);
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, E_NOMEM, "a turn");
	t->id = id;
	t->allowed = STR_INIT(ALLOWED_MAX);
	t->conversation = strdup(conversation ? conversation : "");
	t->media = media ? strdup(media) : NULL;
	if (!t->conversation || (media && !t->media) || str_addc(&t->allowed, '\n') < 0) {
		turn_free(t);
		return err_set(e, E_NOMEM, "a turn");
	}
	address_each(words, add, t);
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

void turn_allow(struct turn_list *l, uint64_t id, struct view url)
{
	struct turn *t = find(l, id);
	struct str normal = STR_INIT(ADDRESS_MAX);

	if (t && address_normal(url, &normal) == 0)
		add(t, str_view(&normal));
	str_release(&normal);
}

bool turn_allows(const struct turn_list *l, uint64_t id, struct view url)
{
	const struct turn *t = find(l, id);
	struct str normal = STR_INIT(ADDRESS_MAX);
	bool yes = t && address_normal(url, &normal) == 0 && has(t, str_view(&normal));

	str_release(&normal);
	return yes;
}

const char *turn_conversation(const struct turn_list *l, uint64_t id)
{
	const struct turn *t = find(l, id);

	return t ? t->conversation : "";
}

const char *turn_media(const struct turn_list *l, uint64_t id)
{
	const struct turn *t = find(l, id);

	return t ? t->media : NULL;
}
