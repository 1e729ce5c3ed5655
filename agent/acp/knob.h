/* agent/acp/knob.h: what can be set in a session, as its agent offers it: the model, how hard it
 * thinks, its mode (acp, section 12).
 *
 * A config option is preferred; "modes" count only where there are no config options, "models"
 * where no option is for the model. What the agent reports is for showing and choosing, and never
 * for policy. */
#ifndef AGENT_ACP_KNOB_H
#define AGENT_ACP_KNOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/str.h"

#define KNOB_VALUES_MAX 200               /* offered of one; more are not looked at */
#define KNOB_VALUE_MAX  ((size_t)256)     /* bytes of a value */
#define KNOB_TREE_MAX   ((size_t)1 << 20) /* bytes of all options; larger ones are not kept */

/* In the order in which they are set: a model decides which efforts there are. */
enum knob_kind { KNOB_MODEL, KNOB_EFFORT, KNOB_MODE, KNOBS };

/* How it is set. */
enum knob_way {
	KNOB_OPTION,   /* session/set_config_option */
	KNOB_SWITCH,   /* the same with a boolean: its values are "on" and "off" */
	KNOB_SET_MODE, /* session/set_mode */
	KNOB_SET_MODEL /* session/set_model */
};

struct knob_value {
	struct view value, name; /* untrusted; name may be empty */
};

struct knob {
	enum knob_way way;
	struct view id;  /* of an option */
	struct view now; /* its value */
	struct knob_value values[KNOB_VALUES_MAX];
	size_t n;
};

/* Of one session. Zero is empty. */
struct knobs {
	struct json *options, *modes, *models; /* as they were given; NULL: never */
	char mode[KNOB_VALUE_MAX + 1], model[KNOB_VALUE_MAX + 1]; /* set since; "": not */
};

void knobs_release(struct knobs *k);
/* The result of session/new, load, resume or set_config_option; an update of options or mode.
 * Members that are there replace what was. True: something was there. */
bool knobs_take(struct knobs *k, const struct json *from);
/* After session/set_mode and set_model, whose answers say nothing. */
void knobs_set(struct knobs *k, enum knob_way way, struct view value);

/* Good until the next change. False: the agent does not offer it. */
bool knobs_read(const struct knobs *k, enum knob_kind kind, struct knob *out);
/* What the user means: a value, a name whatever its case, or a number from 1 in the order of the
 * values. NULL: none of them, or more than one name. */
const struct knob_value *knob_find(const struct knob *knob, struct view text);
const struct knob_value *knob_value(const struct knob *knob, struct view value); /* exactly */

#endif
