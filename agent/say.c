#include "agent/say.h"

#include "base/text.h"

void say_age(struct str *out, bool zh, int64_t age_ms)
{
	long long minutes = age_ms / 60000;

	if (minutes < 1)
		(void)str_adds(out, zh ? "刚刚" : "just now");
	else if (minutes < 60)
		(void)str_addf(out, zh ? "%lld 分钟前" : "%lld min ago", minutes);
	else if (minutes < 2880)
		(void)str_addf(out, zh ? "%lld 小时前" : "%lld h ago", minutes / 60);
	else
		(void)str_addf(out, zh ? "%lld 天前" : "%lld days ago", minutes / 1440);
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
