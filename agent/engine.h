/* agent/engine.h: what any engine is. An engine turns one message into one answer; it has at most
 * one active turn and reports through events. It does not know which channel asked. */
#ifndef AGENT_ENGINE_H
#define AGENT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/host/origin.h"

#define ENGINE_INPUT_MAX  ((size_t)1 << 20) /* UTF-8 bytes of one message (kairo-architecture) */
#define ENGINE_ANSWER_MAX ((size_t)20 << 20)

struct engine;

enum turn_file_kind { TURN_PICTURE, TURN_VOICE, TURN_DOCUMENT, TURN_VIDEO };

/* A file that came with the message, or with what it quotes. The text names it already; an engine
 * adds what a text cannot carry. */
struct turn_file {
	enum turn_file_kind kind;
	const char *path; /* absolute, beneath `media` */
	const char *name; /* safe */
	const char *type; /* by its content: "image/jpeg" */
	int64_t size;
	bool quoted;
};

#define TURN_FILES_MAX 32

struct turn_input {
	uint64_t turn;            /* generation: never used twice, larger than any before */
	const char *conversation; /* opaque key; history is kept by it */
	enum origin origin;
	bool owner; /* it is the owner's: only then is it a command that reaches further */
	struct view text;
	/* Not the user's own words: bytes in front of text, a quote, and at its end, what was put
	 * there about what came along. */
	size_t quoted, added;
	const char *language; /* "zh" or "en": of the words an engine must make up itself */
	const struct turn_file *files; /* good during start only, as all of this */
	size_t nfiles;
	/* The folder with what this conversation has received: its tools may read there. NULL:
	 * nothing was. */
	const char *media;
};

/* What of the text is the user's own. */
struct view turn_own_words(const struct turn_input *in);

enum engine_fail {
	ENGINE_OK,
	ENGINE_FAIL_CANCELLED,
	ENGINE_FAIL_DEADLINE,
	ENGINE_FAIL_NOT_SET_UP,   /* no model or no key configured; detail names the setting */
	ENGINE_FAIL_UNREACHABLE,  /* detail: "connection refused by 127.0.0.1:8080" */
	ENGINE_FAIL_AUTH,         /* 401, 403 */
	ENGINE_FAIL_QUOTA,        /* 402, or a rate limit that outlasted the retries */
	ENGINE_FAIL_NO_MODEL,     /* 404: model name or base URL wrong */
	ENGINE_FAIL_REFUSED,      /* another 4xx: detail has the provider's words */
	ENGINE_FAIL_PROVIDER,     /* 5xx or an in-band error */
	ENGINE_FAIL_STALLED,      /* no byte for too long, or broken off mid-answer */
	ENGINE_FAIL_EMPTY,        /* an answer without content */
	ENGINE_FAIL_GARBLED,      /* an answer that does not keep the protocol */
	ENGINE_FAIL_TOO_LONG,     /* the conversation no longer fits the model */
	ENGINE_FAIL_INPUT,        /* the message is too big or not valid text */
	ENGINE_FAIL_BUDGET,       /* tokens, iterations or no progress; detail says which */
	ENGINE_FAIL_STORAGE,      /* history could not be read or written */
	ENGINE_FAIL_AGENT_START,  /* the agent that does the work cannot be started; detail: why */
	ENGINE_FAIL_AGENT_ENDED,  /* it ended while it worked; detail: its last words */
	ENGINE_FAIL_AGENT_LOGIN,  /* it is not logged in; detail: what to type on the host */
	ENGINE_FAIL_AGENT_EMPTY,  /* it ended the turn without a word: it tells no reason */
	ENGINE_FAIL_AGENT_DENIED, /* so it did when something was not allowed; detail: what */
	ENGINE_FAIL_UNASKED, /* it did without asking what policy wants a yes for; detail: what */
	ENGINE_FAIL_INTERNAL
};

/* The choices of an approval that has standard_choices, in the order in which they are numbered. */
enum approval_choice {
	APPROVAL_ONCE,
	APPROVAL_CONVERSATION, /* the same call again in this conversation, too */
	APPROVAL_NO,
	APPROVAL_STOP, /* no, and the turn ends as by a cancel */
	APPROVAL_CHOICES
};

#define SEVERAL_MAX 20 /* choices of a question that takes several */

/* In place of a choice, when there is none. */
enum {
	ANSWER_NONE = -1,   /* it was shown, and nobody answered in time */
	ANSWER_UNASKED = -2 /* it could not be shown */
};

enum engine_event_type {
	ENGINE_TEXT,          /* a piece of visible answer text: text */
	ENGINE_THOUGHT,       /* text */
	ENGINE_TOOL_STARTED,  /* name, text: one safe key argument, at most 80 characters */
	ENGINE_TOOL_FINISHED, /* name, ok */
	ENGINE_APPROVAL,      /* id, name, text, choices: a yes is wanted; end by answer().
	                         text: what would be done, "" when it is not known */
	ENGINE_QUESTION,      /* id, text, choices */
	ENGINE_WITHDRAWN,     /* id: of one of these two; it is not asked any more */
	ENGINE_USAGE,         /* tokens_in, tokens_out of this turn so far */
	ENGINE_DONE,          /* the one end of a turn */
	ENGINE_BUSY,          /* outside any turn: background work began or ended (ok: began) */
	ENGINE_NOTICE         /* outside any turn: text for the user of conversation */
};

struct engine_event {
	enum engine_event_type type;
	uint64_t turn; /* 0 outside a turn */
	struct view text;
	const char *conversation; /* of a NOTICE; NULL: it belongs to none */
	const char *id, *name;
	const char *const *choices; /* NULL-terminated; NULL with standard_choices */
	bool several;               /* of a QUESTION: any number of the choices, by a mask */
	bool standard_choices;      /* enum approval_choice, worded by whoever shows them */
	bool abridged;              /* of an APPROVAL: text does not show all that would be done */
	bool ok;
	uint64_t tokens_in, tokens_out;

	/* ENGINE_DONE only: */
	enum engine_fail fail;
	const char *detail; /* safe, redacted, at most 300 bytes; "" when there is nothing to say */
	bool acted;         /* tools with side effects may have run */
	/* text: the whole final answer (may come with fail set: what there was so far). save: what
	 * the turn adds to the engine's own state (history). Whoever persists the end of the turn
	 * calls it exactly once inside its own transaction on the shared database, before commit;
	 * NULL: nothing to save. Only during this event. */
	int (*save)(void *save_arg, struct err *e);
	void *save_arg;
};

typedef void engine_event_cb(void *arg, const struct engine_event *ev);

#define ENGINE_JOB_MAX ((size_t)100)

/* Something that is done in the background. */
struct engine_job {
	struct view what; /* safe, at most ENGINE_JOB_MAX bytes */
	int64_t age_ms;
	bool ended; /* it is over; what has come of it is still to be told */
};

typedef void engine_job_cb(void *arg, const struct engine_job *job);

/* A command that needs the agent's answer is taken as a turn: see `commands`. */
enum engine_command {
	ENGINE_CMD_NEW,     /* begin a new conversation under this key */
	ENGINE_CMD_LIST,    /* conversations of this key: reply text, one a line */
	ENGINE_CMD_OPEN,    /* arg: number in that list */
	ENGINE_CMD_MODEL,   /* arg: name, or empty to ask */
	ENGINE_CMD_EFFORT,  /* how hard the model thinks: as MODEL */
	ENGINE_CMD_MODE,    /* the agent's own way of working: as MODEL */
	ENGINE_CMD_COMPACT, /* of an engine that does not take it as a turn */
	ENGINE_CMD_USAGE,
	ENGINE_CMD_GOAL, /* no engine has these two: an agent may, as a command of its own */
	ENGINE_CMD_STEER
};

struct engine_ops {
	const char *name;
	/* 0: the turn runs; exactly one ENGINE_DONE will follow, from the loop, never from inside
	 * start. -1: it does not (E_BUSY when another one runs). */
	int (*start)(struct engine *g, const struct turn_input *in, struct err *e);
	/* Asks the turn to end; the end still arrives as ENGINE_DONE (ENGINE_FAIL_CANCELLED, or OK
	 * when it had just finished). Twice does no harm; a turn that is not running: nothing. */
	void (*cancel)(struct engine *g, uint64_t turn);
	/* choice: an index into the event's choices (with several, of which there are at most
	 * SEVERAL_MAX then: bit i for choice i), or ANSWER_NONE, ANSWER_UNASKED. Nothing is
	 * emitted from inside; may be called from inside the event. E_NOTFOUND: no such question is
	 * open. */
	int (*answer)(struct engine *g, const char *id, int choice, struct err *e);
	/* Reply text is appended, in `language` (agent/speech.h). E_UNSUPPORTED when the engine has
	 * no such command. */
	int (*command)(struct engine *g, enum engine_command cmd, const char *conversation,
		struct view arg, const char *language, struct str *reply, struct err *e);
	void (*close)(struct engine **g); /* cancels; no event follows */
	/* Slash commands the engine itself takes, NULL-terminated; NULL: none. Each reaches it as a
	 * turn whose text is "/NAME" or "/NAME ARGUMENT", never by command(). Good until the next
	 * pass of the loop: an agent may change them. Optional. */
	const char *const *(*commands)(const struct engine *g);
	/* One line for status: "react, moonshot kimi-k2 at api.moonshot.cn", or in Chinese. */
	void (*describe)(const struct engine *g, bool zh, struct str *out);
	/* What is done outside of any turn, and ends with the engine: a call for each. Optional. */
	void (*jobs)(const struct engine *g, engine_job_cb *each, void *arg);
};

/* A file for the user of this turn, as it is now. 0: it will be sent behind the answer. -1: it will
 * not be, and e says why, for the model. path: absolute, or relative to the workspace. caption: a
 * text that is sent ahead of it; empty: none. */
typedef int engine_deliver_cb(void *arg, uint64_t turn, struct view path, struct view caption,
	struct err *e);

/* Every engine begins with this. on_event and deliver are set by turn.h before the first start. */
struct engine {
	const struct engine_ops *ops;
	engine_event_cb *on_event;
	engine_deliver_cb *deliver;
	void *arg; /* of both */
};

const char *engine_fail_name(enum engine_fail f); /* "model unreachable": for logs */

/* How files reach the user, in words for whoever does the work: of a system prompt. */
extern const char engine_files_how[];

#endif
