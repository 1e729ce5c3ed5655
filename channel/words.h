/* channel/words.h: every text a person reads on the phone, in Chinese and English, in one table.
 * Texts are short, say what happened and what to do next, and name commands as they are typed. */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include "agent/engine.h"
#include "agent/speech.h"
#include "base/str.h"
#include "channel/ears.h"

/* AUTO as a setting: follow the user's writing. AUTO as the language of a text: the user has not
 * written yet, so it is said in both. */
enum control_language { LANG_AUTO, LANG_ZH, LANG_EN };

/* The languages a text in lang is said in, for one that is put together of several: each whole. */
#define words_each(l, lang) \
	for (enum control_language l = (lang) == LANG_EN ? LANG_EN : LANG_ZH; \
		l <= ((lang) == LANG_ZH ? LANG_ZH : LANG_EN); l++)

enum word {
	/* What came in */
	W_NOT_TAKEN, /* {1} messages, {2} limit */
	W_UNREADABLE,
	W_UNSUPPORTED,
	W_INTAKE_FAILED,
	W_MEDIA_LOST,   /* {1} kind, {2} name, {3} one of W_WHY_*: nothing else came with it */
	W_VOICE_SILENT, /* why a voice is not heard; what to do about it */
	W_VOICE_FORMAT,
	W_VOICE_DAMAGED,
	W_VOICE_LATE,
	W_VOICE_FAILED,
	W_VOICE_DEAF,
	/* Lines of the prompt: {1} kind, {2} name */
	W_ATTACHMENT,        /* {3} type, {4} size, {5} path */
	W_ATTACHMENT_FAILED, /* {3} one of W_WHY_* */
	W_OF_QUOTE,          /* {1} kind: of what came with the quoted message */
	W_HEARD,             /* {1} kind, {2} what was said */
	W_UNHEARD,           /* of a voice, behind its type */
	W_KIND_IMAGE,
	W_KIND_VOICE,
	W_KIND_FILE,
	W_KIND_VIDEO,
	W_KIND_OTHER,
	W_QUOTED,      /* {1} the quoted text, or one of the next two: a line of the prompt */
	W_QUOTED_FILE, /* {1} name of a file that was sent */
	W_QUOTE_LOST,
	/* Why an attachment is not there; {1} the limit of its size */
	W_WHY_TOO_BIG,
	W_WHY_EXPIRED,
	W_WHY_BROKEN,
	W_WHY_OFFLINE,
	W_WHY_NO_DISK,
	W_WHY_NO_ROOM,
	W_WHY_SLOW,
	W_WHY_STOPPED,
	W_WHY_UNSUPPORTED,
	W_WHY_GONE,

	/* Commands */
	W_HELP,
	W_UNKNOWN_COMMAND, /* {1} the word */
	W_OWNER_ONLY,      /* {1} the command */
	W_ENGINE_LACKS,    /* {1} the command */
	W_ENGINE_BUSY,
	W_COMMAND_FAILED, /* {1} why */
	W_STOPPED_TASK,   /* {1} its beginning */
	W_STOPPED_OTHERS, /* what ran was another person's */
	W_STOPPED_BY_OWNER,
	W_STOPPED_SENDING,
	W_STOP_NOTHING,
	W_STILL_WAITING,     /* {1} messages, of everybody: to the owner */
	W_STILL_WAITING_OWN, /* {1} messages */
	W_NONE_WAITING,
	W_ALL_DROPPED, /* {1} messages */
	W_PAUSED,
	W_PAUSED_ALREADY,
	W_RESUMED, /* {1} messages */
	W_NOT_PAUSED,
	W_QUEUE_EMPTY,
	W_QUEUE_LIST,   /* {1} messages */
	W_QUEUE_OTHERS, /* {1} messages of others */
	W_QUEUE_HOW,
	W_QUEUE_DROPPED, /* {1} its beginning */
	W_QUEUE_NO_SUCH, /* {1} number */
	W_CLEARED,       /* {1} messages */
	W_NEW_DONE,
	W_RETRY_TAKEN, /* {1} its beginning */
	W_RETRY_NONE,
	W_MORE_NONE,

	/* Status */
	W_STATUS_IDLE,
	W_STATUS_RUNNING, /* {1} time it has run */
	W_STATUS_AWAITS,
	W_STATUS_PAUSED,
	W_STATUS_ASKED,
	W_STATUS_QUEUE,       /* {1} waiting, {2} limit */
	W_STATUS_SENDS,       /* {1} used, {2} limit */
	W_STATUS_PARKED,      /* {1} parts */
	W_STATUS_TROUBLE,     /* {1} refused, {2} unknown */
	W_STATUS_UNCONFIRMED, /* {1} parts */
	W_STATUS_LINK,        /* {1} one of the next five */
	W_LINK_STARTING,
	W_LINK_UP,
	W_LINK_DEGRADED,
	W_LINK_EXPIRED,
	W_LINK_STOPPED,
	W_STATUS_ENGINE, /* {1} the engine's own line */
	W_STATUS_INTAKE, /* {1} why */

	/* Replies */
	W_STILL_WORKING,
	W_MORE_FOLLOWS, /* at the end of the last part that may be sent */
	W_MORE_READY,
	W_MAYBE_LOST,
	W_PART_REFUSED,
	W_ANSWER_CUT,
	W_WHOLE_BELOW,   /* behind the first part of an answer that goes as a file */
	W_WHOLE_FAILED,  /* {1} its name, {2} why */
	W_FILE_FAILED,   /* {1} name, {2} why, {3} path */
	W_FILES_REFUSED, /* {1} names */
	W_WHY_NOT_TAKEN, /* why a file was not sent: inside the two above */
	W_WHY_UNREACHABLE,
	W_WHY_NO_RECEIPT,
	W_WHY_UNREADABLE,
	W_WHY_CHANGED,
	W_WHY_DISK_FULL,
	W_WHY_CUT_OFF,
	W_NOT_DELIVERED, /* {1} names and reasons: a line of the next prompt */
	W_FILE_HERE,     /* {1} path: what a terminal is told */
	W_INTERRUPTED,   /* {1} the message's beginning */
	W_HISTORY_LOST,
	W_ACTED,
	W_RETRY_HINT,

	/* Questions */
	W_ASK_APPROVAL, /* {1} code, {2} tool; what it would do follows */
	W_ASK_QUESTION, /* {1} code, {2} the question */
	W_ASK_HIDDEN,
	W_ASK_CUT,
	W_CHOICE_ONCE, /* the standard choices of an approval */
	W_CHOICE_CONVERSATION,
	W_CHOICE_NO,
	W_CHOICE_STOP,
	W_ASK_HOW, /* {1} first, {2} last, {3} minutes */
	W_ASK_HOW_SEVERAL,
	/* At a terminal: {1} tool; {1} last */
	W_ASK_HERE,
	W_ASK_HERE_HOW,
	W_ASK_HERE_HOW_SEVERAL,
	W_ASK_CLOSED,
	W_ASK_RANGE, /* {1} number of choices */
	W_ASK_WHICH, /* {1} the codes */
	W_ASK_EARLY,
	W_ASK_OTHER,
	W_ASK_TIMEOUT, /* {1} minutes */
	W_ASK_WAITS,
	W_ASK_BESIDE, /* ahead of what an agent says meanwhile */
	W_ASK_LOST,   /* behind W_INTERRUPTED */

	W_COUNT
};

/* Appends the text; what follows the word (strings) takes the places {1} to {5}, a NULL ends it
 * early; numbers by NUM(n). 0 or -1 (memory, ceiling). LANG_AUTO: both, Chinese first. */
#define words(out, lang, ...) words_put((out), (lang), __VA_ARGS__, (const char *)NULL)
int words_put(struct str *out, enum control_language lang, enum word w, ...)
	__attribute__((sentinel));

enum word words_choice(enum approval_choice c);
enum word words_unheard(enum heard h); /* why a voice is not heard; never of HEARD_TEXT */

/* What an engine says by itself: words_speech.c. */
speech_fn words_speech;
/* What stands around a tool's call in a question: words_wording.c; and the tool itself, by its name
 * where there are no words to it. */
wording_fn words_wording;
const char *words_tool(enum control_language lang, const char *name);

/* Why a turn failed, in one plain sentence, with the engine's detail. */
int words_fail(struct str *out, enum control_language lang, enum engine_fail f, const char *detail);

/* An age or a span: "3 min 20 s", "3 分 20 秒". */
int words_span(struct str *out, enum control_language lang, int64_t ms);

/* Length of the line in which a prompt quotes another message (W_QUOTED), 0 when it does not. */
size_t words_quote(struct view prompt);

/* The language a text is written in: LANG_AUTO when it has no letters to tell by. A text is Chinese
 * when it has at least as many CJK characters as words in other letters. */
enum control_language words_detect(struct view text);
/* The language of somebody who wrote in `known` before. A name, a link, a command or an "ok" is
 * written among Chinese too and says nothing: LANG_AUTO. */
enum control_language words_follow(enum control_language known, struct view text);

/* The beginning of a message for showing it in a notice: one line, at most max characters, without
 * controls or marks that WeChat would render. */
int words_excerpt(struct str *out, struct view text, size_t max);
/* The same, but names such as model.base_url stand in code spans, to be typed again as they are. */
int words_named(struct str *out, struct view text, size_t max);
/* The same for an engine, which must have names and commands as they were written. */
int words_line(struct str *out, struct view text, size_t max);

#endif
