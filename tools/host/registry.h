/* tools/host/registry.h: the tools the built-in engine may use: names, JSON schemas, argument
 * checks, dispatch, bounded results. Two steps: a verdict, then a start with a live handle. */
#ifndef TOOLS_HOST_REGISTRY_H
#define TOOLS_HOST_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "tools/host/audit.h"
#include "tools/host/origin.h"
#include "tools/host/policy.h"
#include "tools/host/wording.h"

#define TOOL_RESULT_MAX ((size_t)200000) /* characters of one result (kairo-architecture) */
#define TOOL_ARGS_MAX   ((size_t)1 << 20)
#define TOOL_EXACT_MAX  ((size_t)1 << 20) /* bytes */

struct tools;
struct tool_run;
struct sandbox;

struct tools_env {
	struct loop *loop;
	struct log *log;
	struct audit *audit;
	const char *helper;    /* absolute path of kairo-tool */
	const char *workspace; /* real path */
	const char *hide;      /* $KAIRO_HOME: never reachable from a tool */
	bool sandbox_required; /* refuse where there are no namespaces, instead of best effort */
	/* Extra folders tools may read; NULL-terminated or NULL. */
	const char *const *read_paths;
	const struct policy *policy;   /* outlives the tools; NULL: the defaults */
	const struct sandbox *sandbox; /* tools_open finds out; what is given is not looked at */
	wording_fn *word;              /* of tools_describe; NULL where nobody is asked */
};

int tools_open(struct tools **out, const struct tools_env *env, struct err *e);
void tools_close(struct tools **t); /* ends what runs */
/* From here on; what runs goes on. */
void tools_set_policy(struct tools *t, const struct policy *policy);

/* A turn's own facts, for rules that need them: the words of the user (an address in them may be
 * fetched), the key of the conversation, and the folder with what it has received, which calls of
 * the turn may read (NULL, or not there yet: none). It lies in `hide`, of which nothing else can be
 * reached. Calls name the turn. E_EXISTS: it has begun already. E_DENIED: media is a link, or
 * contains what it should lie in. */
int tools_turn_begin(struct tools *t, uint64_t turn, const char *conversation, struct view words,
	const char *media, struct err *e);
void tools_turn_end(struct tools *t, uint64_t turn); /* not begun: nothing */
/* url stood in a search result of the turn: it may be fetched. */
void tools_turn_allow(struct tools *t, uint64_t turn, struct view url);

/* The schemas of what this origin may at least ask for, as the "tools" array of a chat request. */
int tools_schema(const struct tools *t, enum origin origin, struct str *out, struct err *e);

/* What the policy denies this origin and what the operator could do, a line for each setting; ""
 * when nothing is denied. For the model, which is not told of such tools otherwise. */
void tools_denied(const struct tools *t, enum origin origin, struct str *out);

struct tool_call {
	uint64_t turn;
	enum origin origin;
	const char *id, *name;
	struct view args; /* as the model wrote them: untrusted text */
	/* With the verdict ASK: the fingerprint that the user said yes to, else NULL. */
	const char *consent;
	/* Of read_file: the result is what the file holds, whole or from line "offset" so many as
	 * "limit", to the byte; it must be UTF-8 and at most TOOL_EXACT_MAX. */
	bool exact;
	bool foreign; /* somebody else carries it out: our sandbox does not come into it */
};

/* Step one: is it known, are the arguments valid, what does the policy say? *why gets a text for
 * the model when the verdict is DENY (unknown tool, bad arguments, policy). */
enum verdict tools_verdict(struct tools *t, const struct tool_call *c, struct str *why);

/* The same, of what is not to be done now: nothing is recorded. */
enum verdict tools_weigh(struct tools *t, const struct tool_call *c, struct str *why);

/* What the policy says of a tool, whatever its arguments. */
enum verdict tools_policy(const struct tools *t, const char *tool, enum origin origin);

struct tool_result {
	bool ok;
	bool cancelled;
	enum err_code error; /* of a failure, where it is known: E_NOTFOUND, E_DENIED... */
	bool acted;          /* a side effect happened or may have happened */
	struct view text;    /* for the model: valid UTF-8, bounded, safe of controls */
};
typedef void tool_done_cb(void *arg, const struct tool_result *r);

/* What a question shows of a call: the exact command and folder, or path, size and first lines of
 * the content; safe text of at most TOOL_QUESTION_MAX bytes, of fewer where a phone is to show it,
 * labelled in Chinese or English. False: something is left out, and the text says where. */
#define TOOL_QUESTION_MAX ((size_t)4000)
bool tools_describe(struct tools *t, const struct tool_call *c, bool zh, struct str *out);
/* SHA-256 over tool, exact arguments (canonical) and folder: what a consent is bound to. */
#define TOOL_FINGERPRINT 65
int tools_fingerprint(const struct tools *t, const struct tool_call *c, char hex[TOOL_FINGERPRINT],
	struct err *e);
/* What became of a call that is not started here, or not yet, for the audit. v: what the policy
 * says of it. outcome: as audit.h has them; detail may be NULL. -1: it is not recorded, so what
 * follows from it may not be done. */
int tools_note(struct tools *t, const struct tool_call *c, enum verdict v, const char *outcome,
	const char *detail, struct err *e);

/* Step two. done fires exactly once, from the loop, also after tool_cancel. The verdict is found
 * again: DENY is refused, and so is ASK without the consent to exactly this call. What cannot be
 * recorded is not begun. */
int tools_start(struct tool_run **out, struct tools *t, const struct tool_call *c,
	tool_done_cb *done, void *arg, struct err *e);
void tool_cancel(struct tool_run *r);
void tool_detach(struct tool_run *r); /* cancelled; done will not fire: its receiver goes away */
/* One safe key argument for a progress line, at most 80 characters. */
void tools_summary(const struct tools *t, const struct tool_call *c, struct str *out);
bool tools_acts(const struct tools *t, const char *name); /* may it change something? */
/* What confines tools on this machine (sandbox.h), which is tried while the loop goes on: waits for
 * it where that is not known yet. */
const struct sandbox *tools_sandbox(struct tools *t);
/* Which kinds of files cannot be read here for want of a library: a sentence each, a line each.
 * Waits for it, five seconds at most. */
int tools_lacks(const struct tools *t, struct str *out, struct err *e);

#endif
