/* tools/host/turn.h: what the rules must know of the turns under way; inside the room only. */
#ifndef TOOLS_HOST_TURN_H
#define TOOLS_HOST_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct turn;
struct turn_list {
	struct turn *first;
};

/* Addresses in the words may be fetched. E_EXISTS: the turn has begun already. */
int turn_begin(struct turn_list *l, uint64_t id, const char *conversation, struct view words,
	const char *media, struct err *e);
void turn_end(struct turn_list *l, uint64_t id); /* not there: nothing */
void turn_end_all(struct turn_list *l);
/* The addresses that may be fetched; one that is none is not added. */
void turn_allow(struct turn_list *l, uint64_t id, struct view url);
bool turn_allows(const struct turn_list *l, uint64_t id, struct view url);
const char *turn_conversation(const struct turn_list *l, uint64_t id); /* "": no such turn */
/* The folder that its calls may read besides; NULL: none. */
const char *turn_media(const struct turn_list *l, uint64_t id);

#endif
