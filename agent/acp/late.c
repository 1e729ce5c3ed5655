#include "agent/acp/work-private.h"

#define LATE_QUIET_MS 1500               /* without a further piece, it is whole */
#define LATE_MAX      ((size_t)64 << 10) /* bytes of one notice */

static void late_on_quiet(void *arg)
{
	struct acp *a = arg;

	if (!a->late.of || !tasks_reviewing(a->work->tasks, view_of(a->late.of->id)))
		late_flush(a);
}

int late_open(struct acp *a, struct err *e)
{
	if (acp_stream_open(&a->late.stream, NULL, LATE_MAX, e) < 0)
		return -1;
	return timer_new(&a->late.quiet, a->loop, late_on_quiet, a, e);
}

void late_close(struct acp *a)
{
	timer_free(&a->late.quiet);
	acp_stream_close(&a->late.stream);
}

void late_take(struct acp *a, struct live *l, const struct json *update)
{
	if (a->late.of != l)
		late_flush(a);
	a->late.of = l;
	(void)acp_stream_update(a->late.stream, update);
	if (acp_stream_cut(a->late.stream))
		late_flush(a);
	else if (acp_stream_answered(a->late.stream))
		timer_arm(a->late.quiet, LATE_QUIET_MS);
}

void late_flush(struct acp *a)
{
	struct engine_event ev = { .type = ENGINE_NOTICE };

	timer_disarm(a->late.quiet);
	if (a->late.of && acp_stream_answered(a->late.stream) && a->engine.on_event) {
		ev.text = view_trim(acp_stream_answer(a->late.stream));
		ev.conversation = a->late.of->key;
		a->engine.on_event(a->engine.arg, &ev);
	}
	acp_stream_begin(a->late.stream);
	a->late.of = NULL;
}

bool late_claim(struct acp *a, const struct live *l, struct str *out)
{
	struct view text = view_trim(acp_stream_answer(a->late.stream));

	if (a->late.of != l || text.n == 0)
		return false;
	timer_disarm(a->late.quiet);
	(void)str_add(out, text);
	acp_stream_begin(a->late.stream);
	a->late.of = NULL;
	return true;
}
