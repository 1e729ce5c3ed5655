/* What an agent's hooks post, read as a hook, and as an update of a history that is played back. */
#include <stddef.h>
#include <stdint.h>

#include "agent/acp/hooks.h"
#include "agent/acp/past.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size }, answer;
	struct past *past = NULL;
	struct json *j = NULL;
	struct hook hook;
	struct err e = ERR_INIT;
	bool whole;

	if (json_read(&j, in, &json_limits_message, &e) < 0)
		return 0;
	(void)hook_read(&hook, j, &e);
	if (json_type(j) == JSON_ARRAY && past_open(&past, &e) == 0) {
		json_each(update, j) {
			if (json_type(update) == JSON_OBJECT)
				past_take(past, update);
		}
		past_end(past);
		(void)past_find(past, VIEW("a"), true, &answer, &whole);
	}
	past_close(&past);
	json_free(&j);
	return 0;
}
