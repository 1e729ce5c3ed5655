/* tools/host/registry-private.h: the registry's insides, shared by its files alone. */
#ifndef TOOLS_HOST_REGISTRY_PRIVATE_H
#define TOOLS_HOST_REGISTRY_PRIVATE_H

#include "base/json.h"
#include "tools/host/argv.h"
#include "tools/host/native.h"
#include "tools/host/registry.h"
#include "tools/host/run.h"
#include "tools/host/sandbox.h"
#include "tools/host/session.h"
#include "tools/host/spec.h"
#include "tools/host/terminal.h"
#include "tools/host/turn.h"

#define NATIVES_MAX    16
#define READ_PATHS_MAX 32

struct tools {
	struct tools_env env;
	struct sandbox sandbox;
	struct watch *probe; /* until that is settled */
	char *helper, *workspace;
	char *home; /* the real path of what is hidden; NULL: nothing is there */
	char *read[READ_PATHS_MAX + 1];
	struct run_list runs;
	struct sessions *sessions;
	struct terminal *terminals; /* that have not ended */
	struct turn_list turns;
	struct native_tool natives[NATIVES_MAX]; /* name NULL: a free place */
};

/* catalog.c: what there is. */
const struct native_tool *registry_native(const struct tools *t, const char *name); /* or NULL */
/* Is it there to be called? Can a call of this origin come to anything? */
bool registry_present(const struct tools *t, const struct tool_spec *s);
bool registry_offers(const struct tools *t, const struct tool_spec *s, enum origin origin);

/* terminal.c */
void terminals_close(struct tools *t); /* no callback */

/* judge.c: what is to become of a call. */
struct judgement {
	enum verdict verdict;
	const struct tool_spec *spec;
	struct json *args; /* checked; NULL with DENY */
	/* Of an allowed entry: the vector to be run, the path of its program first; else empty. */
	struct argv argv;
	bool network;
};
/* why gets a text for the model when the verdict is DENY. */
void judge(struct tools *t, const struct tool_call *c, struct judgement *out, struct str *why);
/* verdict.c: the same for somebody about to begin: -1 when the call may not, or not without a
 * consent that it lacks, which is recorded. On failure too, out is to be released. */
int registry_permit(struct tools *t, const struct tool_call *c, struct judgement *out,
	struct err *e);
void judgement_release(struct judgement *j);
/* The arguments, checked against the spec. */
int judge_args(const struct tool_call *c, const struct tool_spec *spec, struct json **args,
	struct err *e);

#endif
