/* agent/acp: what hooks post is read as it should be or not at all, and so is a history. */
#include "fuzz.h"

#include "agent/acp/hooks.h"
#include "agent/acp/past.h"
#include "base/json.h"

#include <string.h>

/* It becomes part of a path. */
static void check_id(struct view id)
{
	must(id.n > 0 && id.n <= HOOKS_ID_MAX && id.p[0] != '.');
	must(!memchr(id.p, '/', id.n) && !memchr(id.p, '\0', id.n));
}

static void check_hook(const struct json *j)
{
	struct hook h;

	if (hook_read(&h, j, NULL) != 0)
		return;
	check_id(h.session);
	if (h.event == HOOK_TASK_STARTED || h.event == HOOK_NOTIFICATION)
		check_id(h.task);
	must(h.text.n <= HOOKS_TEXT_MAX);
}

static void check_history(const struct json *updates)
{
	struct past *past = NULL;
	struct view answer;
	bool whole;

	if (past_open(&past, NULL) < 0)
		return;
	json_each(update, updates) {
		if (json_type(update) == JSON_OBJECT)
			past_take(past, update);
	}
	past_end(past);
	if (past_find(past, VIEW("a"), &answer, &whole))
		must(answer.n <= 2 * PAST_ANSWER_MAX && (answer.n > 0 || !whole));
	past_close(&past);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };
	struct json *j = NULL;

	if (json_read(&j, in, &json_limits_message, NULL) < 0)
		return 0;
	check_hook(j);
	if (json_type(j) == JSON_ARRAY)
		check_history(j);
	json_free(&j);
	return 0;
}
