/* agent/speech.h: what an engine says to a person by itself, as codes, and with them those of the
 * tools below it (wording.h). The words to them stand in the one table of channel/, which whoever
 * opens an engine hands to it. */
#ifndef AGENT_SPEECH_H
#define AGENT_SPEECH_H

#include <stdbool.h>

#include "base/str.h"
#include "tools/host/wording.h"

#define SPEECH_ARGS_MAX 3

enum speech {
	/* Why something failed. {1} is in what words that is known: a library's, a server's, the
	 * agent's. */
	SPEECH_WHY, /* nothing to add to these */
	SPEECH_WHY_NO_PROVIDER,
	SPEECH_WHY_NO_NAME,
	SPEECH_WHY_BAD_URL,
	SPEECH_WHY_UNRESOLVED, /* {2} host, of this and the next */
	SPEECH_WHY_UNCONNECTED,
	SPEECH_WHY_TLS,
	SPEECH_WHY_PEER,
	SPEECH_WHY_LATE,
	SPEECH_WHY_BROKEN,
	SPEECH_WHY_TOO_BIG,
	SPEECH_WHY_BROKE_OFF,
	SPEECH_WHY_WEB_PAGE,
	SPEECH_WHY_NO_FIT,
	SPEECH_WHY_NO_SUMMARY,
	SPEECH_WHY_OUTPUT_LIMIT,
	SPEECH_WHY_FILTER,
	SPEECH_WHY_TOKENS,     /* {1} how many a task may use */
	SPEECH_WHY_STEPS,      /* {1} how many it may take */
	SPEECH_WHY_NO_ADVANCE, /* {1} tool, {2} how often */
	SPEECH_WHY_EXIT,       /* {2} code */
	SPEECH_WHY_EXIT_SAID,
	SPEECH_WHY_SIGNAL, /* {2} number */
	SPEECH_WHY_SIGNAL_SAID,
	SPEECH_WHY_NO_GREETING, /* {2} seconds */
	SPEECH_WHY_NO_BEGIN,    /* {2} code */
	SPEECH_WHY_PROTOCOL,    /* {2} the version that is wanted */
	SPEECH_WHY_CRASHES,     /* {2} how often in a row, {3} seconds until the next try */
	SPEECH_WHY_DENIED,      /* {1} tool */
	SPEECH_WHY_REFUSED,
	SPEECH_WHY_CANCELLED,
	SPEECH_WHY_OWN_STEPS,
	SPEECH_WHY_SILENT,
	SPEECH_WHY_NO_SESSION,
	SPEECH_WHY_NO_KEY, /* {2} provider, of this and the next */
	SPEECH_WHY_NO_DEFAULT,
	SPEECH_WHY_ENVIRONMENT,
	SPEECH_WHY_NO_MODEL,
	SPEECH_WHY_NOT_KEPT,

	/* What an engine is, for a status */
	SPEECH_IS_REACT, /* {1} its model */
	SPEECH_IS_AGENT, /* {1} its name in the settings */
	SPEECH_MODEL_UNSET,
	SPEECH_MODEL_AT, /* {1} provider and model, {2} host */
	/* What is added to it */
	SPEECH_CALLED, /* {1} name, {2} version */
	SPEECH_ONE_TASK,
	SPEECH_TASKS, /* {1} how many */
	SPEECH_TASKS_END,
	SPEECH_UNSERVED,     /* {1} names of servers */
	SPEECH_UNSERVED_ALL, /* {1} file */

	/* How long ago */
	SPEECH_JUST_NOW,
	SPEECH_MINUTES_AGO, /* {1} minutes */
	SPEECH_HOURS_AGO,   /* {1} hours */
	SPEECH_DAYS_AGO,    /* {1} days */

	/* Conversations and sessions */
	SPEECH_BEGUN,
	SPEECH_BEGUN_BUSY,  /* what the one before does in the background goes on */
	SPEECH_DATED,       /* {1} what it is about, {2} how long ago: an entry of a list */
	SPEECH_CURRENT,     /* {1} what is said of the one that is open */
	SPEECH_OPEN_HOW,    /* under a list */
	SPEECH_NONE_YET,    /* conversations */
	SPEECH_WHICH,       /* of them */
	SPEECH_BACK,        /* {1} what it is about */
	SPEECH_NO_SESSIONS, /* the same of an agent's sessions */
	SPEECH_WHICH_SESSION,
	SPEECH_BACK_IN_SESSION, /* {1} its title */
	SPEECH_NO_GOING_BACK,
	SPEECH_NO_LISTING,
	SPEECH_NOT_OPENED, /* {1} why */
	SPEECH_NEW_INSTEAD,

	/* Usage */
	SPEECH_USAGE, /* {1} of this conversation, {2} of today; each of the next four */
	SPEECH_NOTHING_USED,
	SPEECH_UNCOUNTED,
	SPEECH_TOKENS,        /* {1} in, {2} of them cached, {3} out */
	SPEECH_TOKENS_PARTLY, /* {1} the tokens, {2} answers without figures */
	SPEECH_SESSION_USAGE, /* {1} tokens in, {2} out */
	SPEECH_USAGE_UNTOLD,
	SPEECH_COST, /* {1} amount and currency */
	SPEECH_COST_UNTOLD,
	SPEECH_CONTEXT, /* {1} tokens used, {2} of how many, {3} percent */

	/* The built-in engine's model */
	SPEECH_MODEL_NOW,    /* {1} which */
	SPEECH_MODEL_WINDOW, /* {1} the text so far, {2} tokens */
	SPEECH_MODEL_ALSO,   /* over a list */
	SPEECH_MODEL_NO_KEY, /* {1} providers */
	SPEECH_MODEL_HOW,
	SPEECH_MODEL_CHANGED, /* {1} which */
	SPEECH_COMPACTED,     /* {1} tokens before, {2} after */
	SPEECH_NOTHING_TO_COMPACT,

	/* An agent's knobs: their names, which are those of the commands too */
	SPEECH_KNOB_MODEL,
	SPEECH_KNOB_EFFORT,
	SPEECH_KNOB_MODE,
	/* {1} one of these */
	SPEECH_KNOB_VALUES, /* over a list */
	SPEECH_KNOB_HOW,
	SPEECH_KNOB_CHANGED, /* {2} the value */
	SPEECH_KNOB_LATER,
	SPEECH_KNOB_UNKNOWN, /* over a list */
	SPEECH_KNOB_TAKEN_BACK,
	SPEECH_KNOB_NONE,

	SPEECH_IN_USE,       /* {1} a value of a list */
	SPEECH_NOT_ACCEPTED, /* {1} why */
	SPEECH_MODE_STAYS,
	SPEECH_MODE_BLOCKS,
	SPEECH_SETTING_REFUSED, /* {1} setting, {2} value, {3} the one in force */

	/* An agent's turn */
	SPEECH_NO_SERVERS, /* {1} file */
	SPEECH_TAKEN_SILENTLY,
	SPEECH_ANSWER_CUT,
	SPEECH_PACKING, /* why a message waits */
	SPEECH_REVIEWING,
	SPEECH_PACK_UNHEARD,

	/* An agent's background work; {1} what it does */
	SPEECH_TASK_DONE,
	SPEECH_TASK_FAILED,
	SPEECH_TASK_UNHEARD,
	SPEECH_TASK_DIED,
	SPEECH_TASK_LEFT,
	SPEECH_OUTPUT_CUT,
	SPEECH_NOT_REVIEWED, /* {1} why */

	/* What an agent wants a yes for; {1} as it shows it, safe */
	SPEECH_HIDDEN, /* it does not show what exactly that is */
	SPEECH_HIDDEN_TITLE,
	SPEECH_HIDDEN_PATH,
	SPEECH_HIDDEN_INPUT, /* the arguments of its call */
	SPEECH_FILES,        /* {1} how many: over a list */

	/* Forms */
	SPEECH_YES,
	SPEECH_NO,
	SPEECH_SKIP,
	SPEECH_HOW_MANY, /* {1} at least, {2} at most */

	SPEECH_COUNT
};

/* Appends the sentence, in Chinese or else in English; args takes the places {1} to {3} and ends
 * with NULL. 0 or -1 (memory, ceiling). */
typedef int speech_fn(struct str *out, bool zh, enum speech s, const char *const *args);

struct speech_num {
	char z[24];
};
/* A number as an argument: NUM(n). */
const char *speech_num(struct speech_num *hold, long long n);
#define NUM(n) speech_num(&(struct speech_num){ "" }, (n))

#endif
