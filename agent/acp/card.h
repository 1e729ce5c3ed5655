/* agent/acp/card.h: the tool calls of a turn as the agent tells of them: made by "tool_call", changed
 * by "tool_call_update" and by the permission requests that name them, in any order.
 *
 * What a card knows is what the agent has shown, and nothing of it is trusted: a command that was
 * never shown is NULL, and stays a hidden one for policy. */
#ifndef AGENT_ACP_CARD_H
#define AGENT_ACP_CARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define CARDS_MAX        512            /* of one turn; the oldest that has ended goes first */
#define CARD_ID_MAX      ((size_t)1024) /* bytes of a toolCallId */
#define CARD_TITLE_MAX   ((size_t)1000) /* bytes kept of a title */
#define CARD_ALSO_MAX    ((size_t)4000) /* bytes kept of further paths */
#define CARD_COMMAND_MAX ((size_t)100 << 10)
#define CARD_INPUT_MAX   ((size_t)1 << 20) /* what is longer counts as not shown */

/* kind: open in the protocol; an unknown one is OTHER. */
enum card_kind {
	CARD_OTHER,
	CARD_READ,
	CARD_EDIT,
	CARD_DELETE,
	CARD_MOVE,
	CARD_SEARCH,
	CARD_EXECUTE,
	CARD_THINK,
	CARD_FETCH,
	CARD_SWITCH_MODE
};

enum card_status { CARD_PENDING, CARD_RUNNING, CARD_COMPLETED, CARD_FAILED };

struct card {
	char *id;
	char *title; /* never NULL */
	enum card_kind kind;
	enum card_status status;
	char *command;   /* the exact command line it would run; NULL: not shown */
	char *path;      /* the file it names, or the address; NULL: none */
	char *input;     /* its arguments, a JSON object, until it has ended; NULL: not shown */
	char *changes;   /* the differences it shows, as long as input; a JSON array or NULL */
	struct str also; /* every other that it has named, a line each */
	bool unclear;    /* one of them is too long, has a line break, or they are too many */
	bool asked;      /* a permission was asked for */
	bool told;       /* its begin was reported, or its end */
};

struct cards;

int cards_open(struct cards **out, struct err *e);
void cards_close(struct cards **c);
void cards_clear(struct cards *c); /* a turn begins */

/* A ToolCall or ToolCallUpdate: members that are there replace what was. NULL: no id, or no memory.
 * Good until the next call. */
struct card *cards_take(struct cards *c, const struct json *call);
struct card *cards_find(struct cards *c, struct view id);
bool card_ended(const struct card *c);
/* The first that has not ended; NULL: none is left. */
struct card *cards_unfinished(struct cards *c);

/* Is it a line of them? */
bool card_has_line(const struct str *lines, struct view line);

const char *card_kind_name(enum card_kind k); /* "execute": a protocol word */

#endif
