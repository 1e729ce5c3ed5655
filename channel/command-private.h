/* channel/command-private.h: shared by command.c (which command it is, and who may), command_run.c
 * (what each does), command_stop.c (/stop) and command_status.c (/status). */
#ifndef CHANNEL_COMMAND_PRIVATE_H
#define CHANNEL_COMMAND_PRIVATE_H

#include "channel/control-private.h"

enum who {
	ANYBODY,
	OWNER,
	OWNER_IN_TURN /* anybody; where an engine takes it as a turn, the owner: an agent's sessions
	                 and ways of working reach beyond one user's conversation */
};

struct command {
	const char *name, *zh;
	int (*run)(struct control *c, struct command_call *call, struct err *e);
	int engine; /* an enum engine_command, for run_engine */
	enum who who;
	bool queued; /* an engine that advertises it takes it as a turn */
};
const struct command *command_find(const char *name); /* by either name; NULL: there is none */
/* By the Chinese name at the beginning of text; arg is what follows it at once. NULL: none. */
const struct command *command_joined(struct view text, struct view *arg);

int command_stop(struct control *c, struct command_call *call, struct err *e);
int command_status(struct control *c, struct command_call *call, struct err *e);

/* Full-width letters, slash and space in their ASCII form, letters of the word in lower case. The
 * rest of the message stays as it is. */
void command_lower(struct view word, char *out, size_t size);
/* Does the argument begin with this word? rest (or NULL): what follows it. */
bool command_takes(const struct command_call *call, const char *en, const char *zh,
	struct view *rest);

/* One sentence of the reply, on a line of its own. */
#define say(call, ...) \
	(command_line((call)->reply), words((call)->reply, (call)->lang, __VA_ARGS__), \
		command_said((call)->reply, e))
void command_line(struct str *s);
int command_said(const struct str *s, struct err *e);

#endif
