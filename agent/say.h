/* agent/say.h: what the engines' own replies have in common. */
#ifndef AGENT_SAY_H
#define AGENT_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* "3 min ago"; what lies ahead is "just now". */
void say_age(struct str *out, bool zh, int64_t age_ms);
/* Somebody's words on one line, in full where they have at most that many characters. */
void say_words(struct str *out, struct view words, size_t chars);

#endif
