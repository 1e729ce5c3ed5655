#include "cli/background.h"

#include <inttypes.h>

#include "cli/client.h"

enum { WARN_WAIT_MS = 2000 }; /* a daemon that hangs must not be spared by that */

static void print_job(const struct json *job)
{
	struct view what = VIEW_NONE, state = VIEW_NONE;
	struct err e = ERR_INIT;

	json_get_str(job, "what", JSON_OPTIONAL, 0, SIZE_MAX, &what, &e);
	json_get_str(job, "state", JSON_OPTIONAL, 0, SIZE_MAX, &state, &e);
	print_safe(stdout, what);
	if (view_eqs(state, "ended"))
		puts(", ended, its result not told yet");
	else
		printf(", for %" PRId64 " s\n", answer_int(job, "age_s"));
}

void background_print(const struct json *status, const char *first, const char *next)
{
	const char *lead = first;

	json_each(job, json_member(status, "background")) {
		fputs(lead, stdout);
		print_job(job);
		lead = next;
	}
}

int background_warn(const struct home *h, struct err *e)
{
	struct str answer = STR_INIT(1 << 20);
	const struct client_call call = { .method = "GET",
		.path = "/v1/status",
		.answer = &answer,
		.timeout_ms = WARN_WAIT_MS };
	struct err why = ERR_INIT;
	struct json *j = NULL;
	int rc = 0;

	if (client_request(h, &call, &why) == 0 &&
		json_read(&j, str_view(&answer), &json_limits_config, &why) == 0)
		background_print(j, "this ends what the agent does in the background:\n  ", "  ");
	if (why.code == E_CANCELLED)
		rc = err_set(e, E_CANCELLED, "interrupted; the daemon runs on");
	(void)fflush(stdout); /* the end itself may take its time */
	json_free(&j);
	str_release(&answer);
	return rc;
}
