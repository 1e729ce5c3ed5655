#include "agent/acp/work-private.h"

#include <string.h>

#define PACK_MS ((int64_t)10 * 60000) /* without a word it is no longer waited for */

static bool asked_for(const struct acp *a)
{
	struct view text = str_view(&a->text), word = VIEW("/compact");

	return view_starts(text, word) &&
	       (text.n == word.n || strchr(" \t\r\n", text.p[word.n]) != NULL);
}

static size_t find_words(struct view text, struct view words)
{
	const char *at = text.n > 0 ? memmem(text.p, text.n, words.p, words.n) : NULL;

	return at ? (size_t)(at - text.p) : text.n;
}

/* Kimi says so in these words, and when it is done in others that begin so (acp, section 17). Those
 * may have come already. */
static bool goes_on(const struct acp *a)
{
	struct view text = acp_stream_answer(a->stream);
	size_t at = find_words(text, VIEW("in the background"));

	return at < text.n && find_words(view_from(text, at), VIEW("Compaction")) == text.n - at;
}

bool pack_begin(struct acp *a)
{
	if (!asked_for(a) || !goes_on(a))
		return false;
	a->here->packs = loop_now(a->loop) + PACK_MS;
	if (a->cancelled)
		return false; /* this turn does not wait for it, but the next one does */
	acp_step(a, ACP_PACKING);
	timer_arm(a->work->wait, PACK_MS);
	return true;
}

bool pack_runs(const struct acp *a, const struct live *l)
{
	return l->packs > loop_now(a->loop);
}

static bool is_text(const struct json *update)
{
	struct view kind;

	return json_get_str(update, "sessionUpdate", JSON_REQUIRED, 1, 100, &kind, NULL) == 1 &&
	       view_eqs(kind, "agent_message_chunk");
}

bool pack_take(struct acp *a, struct live *l, const struct json *update)
{
	bool said = l->packs > 0 && is_text(update), waits = a->here == l;

	if (waits && a->state == ACP_PACKING) {
		if (said)
			acp_stream_say(a->stream, VIEW("\n\n"));
		if (said)
			l->packs = 0;
		(void)acp_stream_update(a->stream, update);
		if (l->packs == 0)
			timer_arm(a->work->wait, TASKS_SETTLE_MS);
		return true;
	}
	if (!said)
		return false;
	l->packs = loop_now(a->loop) + TASKS_SETTLE_MS;
	if (waits && a->state == ACP_HOLDING)
		timer_arm(a->work->wait, TASKS_SETTLE_MS);
	return false;
}

void pack_over(struct acp *a)
{
	if (a->here->packs > 0) {
		acp_stream_say(a->stream, VIEW("\n\n"));
		acp_reply(a, SPEECH_PACK_UNHEARD);
	}
	a->here->packs = 0;
	acp_finish(a, ENGINE_OK, VIEW_NONE);
}
