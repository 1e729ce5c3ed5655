#include "agent/say.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *speech_num(struct speech_num *hold, long long n)
{
	(void)snprintf(hold->z, sizeof(hold->z), "%lld", n);
	return hold->z;
}

void say_putv(speech_fn *speak, struct str *out, bool zh, enum speech s, va_list ap)
{
	const char *args[SPEECH_ARGS_MAX + 1] = { NULL };

	for (size_t n = 0; n < SPEECH_ARGS_MAX && (args[n] = va_arg(ap, const char *)) != NULL;)
		n++;
	(void)speak(out, zh, s, args);
}

void say_put(speech_fn *speak, struct str *out, bool zh, enum speech s, ...)
{
	va_list ap;

	va_start(ap, s);
	say_putv(speak, out, zh, s, ap);
	va_end(ap);
}

bool say_zh(const char *language)
{
	return language && strcmp(language, "zh") == 0;
}

void say_age(speech_fn *speak, struct str *out, bool zh, int64_t age_ms)
{
	long long minutes = age_ms / 60000;

	if (minutes < 1)
		say(speak, out, zh, SPEECH_JUST_NOW);
	else if (minutes < 60)
		say(speak, out, zh, SPEECH_MINUTES_AGO, NUM(minutes));
	else if (minutes < 2880)
		say(speak, out, zh, SPEECH_HOURS_AGO, NUM(minutes / 60));
	else
		say(speak, out, zh, SPEECH_DAYS_AGO, NUM(minutes / 1440));
}

void say_words(struct str *out, struct view words, size_t chars)
{
	/* A character has 4 bytes at most, and more than 16 make no cluster worth showing. */
	struct view head = view_cut(words, utf8_cut(words, 64 * chars));
	struct str safe = STR_INIT(1 << 20);
	struct view v;
	size_t keep;

	(void)text_safe(head, 0, &safe);
	v = view_trim(str_view(&safe));
	keep = utf8_cut_chars(v, chars);
	(void)str_addf(out, "%.*s%s", VIEW_FMT(view_cut(v, keep)), keep < v.n ? "…" : "");
	str_release(&safe);
}
