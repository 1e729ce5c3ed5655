/* tools/host/todo.h: the list of what is to be done in a conversation, kept in the shared database
 * (tables todo_*), so that it outlives a restart. The tool replaces the whole list and reads it
 * back; items keep their ids and the time they were made. */
#ifndef TOOLS_HOST_TODO_H
#define TOOLS_HOST_TODO_H

#include "base/clock.h"
#include "base/db/db.h"
#include "tools/host/registry.h"

#define TODO_ITEMS_MAX 50
#define TODO_TEXT_MAX  500  /* bytes of an item */
#define TODO_LISTS_MAX 1000 /* conversations; what was changed longest ago goes first */

struct todo;

/* Registers the tool. db and clk outlive it. */
int todo_open(struct todo **out, struct db *db, const struct clock *clk, struct tools *tools,
	struct err *e);
void todo_close(struct todo **t); /* after the tools */

#endif
