/* agent/say.h: what the engines' own replies have in common. */
#ifndef AGENT_SAY_H
#define AGENT_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/speech.h"
#include "base/str.h"

/* Appends a sentence; what follows its code (strings) takes the places {1} to {3}. */
#define say(speak, out, zh, ...) say_put((speak), (out), (zh), __VA_ARGS__, (const char *)NULL)
void say_put(speech_fn *speak, struct str *out, bool zh, enum speech s, ...)
	__attribute__((sentinel));
void say_putv(speech_fn *speak, struct str *out, bool zh, enum speech s, va_list ap);

bool say_zh(const char *language); /* NULL: no */
/* "3 min ago"; what lies ahead is "just now". */
void say_age(speech_fn *speak, struct str *out, bool zh, int64_t age_ms);
/* Somebody's words on one line, in full where they have at most that many characters. */
void say_words(struct str *out, struct view words, size_t chars);

#endif
