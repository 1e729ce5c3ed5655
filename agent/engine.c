#include "agent/engine.h"

#include <stddef.h>

struct view turn_own_words(const struct turn_input *in)
{
	struct view v = view_from(in->text, in->quoted);

	return view_cut(v, v.n > in->added ? v.n - in->added : 0);
}

static const char *const fail_names[] = {
	[ENGINE_OK] = "ok",
	[ENGINE_FAIL_CANCELLED] = "cancelled",
	[ENGINE_FAIL_DEADLINE] = "deadline passed",
	[ENGINE_FAIL_NOT_SET_UP] = "not set up",
	[ENGINE_FAIL_UNREACHABLE] = "model unreachable",
	[ENGINE_FAIL_AUTH] = "model refused the key",
	[ENGINE_FAIL_QUOTA] = "quota or rate limit",
	[ENGINE_FAIL_NO_MODEL] = "no such model or address",
	[ENGINE_FAIL_REFUSED] = "model refused the request",
	[ENGINE_FAIL_PROVIDER] = "provider failed",
	[ENGINE_FAIL_STALLED] = "answer broke off",
	[ENGINE_FAIL_EMPTY] = "empty answer",
	[ENGINE_FAIL_GARBLED] = "garbled answer",
	[ENGINE_FAIL_TOO_LONG] = "conversation too long",
	[ENGINE_FAIL_INPUT] = "message not accepted",
	[ENGINE_FAIL_BUDGET] = "budget used up",
	[ENGINE_FAIL_STORAGE] = "history not available",
	[ENGINE_FAIL_AGENT_START] = "agent not started",
	[ENGINE_FAIL_AGENT_ENDED] = "agent ended",
	[ENGINE_FAIL_AGENT_LOGIN] = "agent not logged in",
	[ENGINE_FAIL_AGENT_EMPTY] = "agent without an answer",
	[ENGINE_FAIL_AGENT_DENIED] = "agent stopped when it was refused",
	[ENGINE_FAIL_UNASKED] = "done without asking",
	[ENGINE_FAIL_INTERNAL] = "internal error",
};

const char *engine_fail_name(enum engine_fail f)
{
	size_t i = (size_t)f;

	if (i >= sizeof(fail_names) / sizeof(fail_names[0]))
		return "unknown failure";
	return fail_names[i];
}

const char engine_files_how[] =
	"To send the user a file, write [send-file: PATH] (or [send-image: PATH]) on a line of its own in "
	"your final answer: the line is taken out and the file is sent behind the answer. Any file you "
	"leave in the workspace's folder .kairo-out is sent too. A short text file can be written right "
	"into the answer as a fenced block whose info string is file:NAME. PATH must lie in the workspace "
	"or be a file the user has sent; hidden files and links are refused. Send what the user asked to "
	"have, nothing else.\n";
