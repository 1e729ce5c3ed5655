/* agent/acp/permission.h: what an agent wants a yes for, read from session/request_permission, and
 * what it can be answered. Pure.
 *
 * An answer is an option that the agent has offered, found by its kind or by the user's pick, never
 * by its place: several agents put "always" first. */
#ifndef AGENT_ACP_PERMISSION_H
#define AGENT_ACP_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/acp/card.h"
#include "agent/speech.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define PERMISSION_OPTIONS_MAX 20
#define PERMISSION_OPTION_ID   ((size_t)1024)
#define PERMISSION_OPTION_NAME ((size_t)200) /* bytes shown of an option */

enum option_kind {
	OPTION_OTHER,
	OPTION_ALLOW_ONCE,
	OPTION_ALLOW_ALWAYS,
	OPTION_REJECT_ONCE,
	OPTION_REJECT_ALWAYS
};

struct permission {
	/* The names of the options in their order, NULL-terminated; safe to show. */
	char *names[PERMISSION_OPTIONS_MAX + 1];
	char *ids[PERMISSION_OPTIONS_MAX];
	enum option_kind kinds[PERMISSION_OPTIONS_MAX];
	size_t n;
	/* It is a question with answers to choose from, not a deed to allow: its options share a
	 * kind, or the agent says so. */
	bool question;
	/* Of a question: its text. Of a deed: the built-in tool that does the like, and the
	 * arguments of that call; empty when the agent does not show what exactly it would do. */
	struct str text;
	const char *tool; /* "shell", "write_file", "apply_patch"...; never NULL */
	struct str args;
	/* Every file that the call names, a line each, those of the workspace beneath it. One of
	 * them lies elsewhere, or in its .git, or cannot be known, or a command is to run
	 * elsewhere: that is never just allowed. */
	struct str files;
	size_t nfiles;
	bool beyond;
	/* Of a change of one part of a file: what it was and what it becomes. */
	struct str before, after;
};

/* card: of the call that it is about, as far as it is known by now. E_FORMAT: no options, or too
 * many, or two of one id. */
int permission_read(struct permission *p, const struct card *card, const struct json *params,
	const char *workspace, struct err *e);
/* Of a deed whose args are empty: text says so, and has what the agent does show. */
void permission_hints(struct permission *p, const struct card *card, speech_fn *speak, bool zh);
/* The same of a call that asks for nothing: tool and args alone are filled. */
void permission_of_card(struct permission *p, const struct card *card, const char *workspace);
/* A question of our own making: text and choices, at most PERMISSION_OPTIONS_MAX. */
int permission_question(struct permission *p, struct view text, const char *const *names);
void permission_release(struct permission *p);

/* A path of the agent's as the tools take it: what lies in the workspace beneath it, anything else
 * as it stands, for them to refuse. */
struct view permission_path(struct view path, const char *workspace);

/* The option that says yes, or no; NULL: none is offered. */
const char *permission_allow(const struct permission *p);
const char *permission_reject(const struct permission *p);

#endif
