/* agent/react/halves.h: surrogate pairs that a provider has torn apart: it cuts text by UTF-16
 * units, so that one event's string ends in "\ud83d" and the next one's begins with "\ude42". */
#ifndef AGENT_REACT_HALVES_H
#define AGENT_REACT_HALVES_H

#include <stdbool.h>

#include "base/str.h"

/* All zero: nothing is held back. */
struct halves {
	char high[6]; /* the escape, as it was written */
	bool held;
};

/* The JSON text of an event with such pairs made whole: the first half is held back until its other
 * one comes. What is no such pair stays as it is. v itself, or a copy in out; fails as str does. */
struct view halves_join(struct halves *h, struct view v, struct str *out);

#endif
