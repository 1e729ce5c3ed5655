#include "agent/react/react-private.h"

#include "agent/say.h"
#include "base/text.h"

static const char *const state_names[] = { "idle", "looking", "asking", "compacting", "working",
	"ending" };

void react_step(struct react *r, enum react_state to)
{
	if (r->state != to)
		log_debug(r->log, "react", "turn %llu: %s -> %s", (unsigned long long)r->turn,
			state_names[r->state], state_names[to]);
	r->state = to;
}

void react_emit(struct react *r, const struct engine_event *ev)
{
	if (!r->cancelled && r->engine.on_event)
		r->engine.on_event(r->engine.arg, ev);
}

void react_finish(struct react *r, enum engine_fail fail, const char *detail)
{
	r->fail = fail;
	str_reset(&r->detail);
	safe_detail(view_of(detail), NULL, &r->detail);
	react_step(r, REACT_ENDING);
	timer_arm(r->soon, 0);
}

void react_fail(struct react *r, enum engine_fail fail, enum speech why, ...)
{
	struct str detail = STR_INIT(4096);
	va_list ap;

	va_start(ap, why);
	say_putv(r->speak, &detail, say_zh(r->language), why, ap);
	va_end(ap);
	react_finish(r, fail, str_cstr(&detail));
	str_release(&detail);
}

void react_cancel(struct react *r)
{
	r->cancelled = true;
	timer_arm(r->soon, 0);
}

void react_settle(struct react *r)
{
	if (r->state != REACT_IDLE || !r->next)
		return;
	active_close(&r->active);
	r->active = r->next;
	r->next = NULL;
}
