#include "tools/host/outcome.h"

#include <stddef.h>

#include "base/json.h"

static bool tells_of_error(const struct json *j)
{
	const struct json *error = json_member(j, "error");
	bool is_error = false, ok = true;

	if (json_get_bool(j, "isError", JSON_OPTIONAL, &is_error, NULL) < 0 ||
		json_get_bool(j, "ok", JSON_OPTIONAL, &ok, NULL) < 0)
		return true;
	return is_error || !ok || (error && json_type(error) != JSON_NULL);
}

/* Text that only looks like an object is held against the tool: no tool of ours begins so. */
static bool speaks_against(struct view text)
{
	struct json *j = NULL;
	bool bad;

	text = view_trim(text);
	if (text.n == 0 || text.p[0] != '{')
		return false;
	bad = json_read(&j, text, &json_limits_wire, NULL) < 0 || tells_of_error(j);
	json_free(&j);
	return bad;
}

enum outcome outcome_of(const struct outcome_facts *f)
{
	if (f->has_result && f->says_ok && !speaks_against(f->text))
		return OUTCOME_OK;
	return f->cancelled ? OUTCOME_CANCELLED : OUTCOME_FAILED;
}

const char *outcome_name(enum outcome o)
{
	static const char *const names[] = { "ok", "failed", "cancelled" };

	return names[o];
}
