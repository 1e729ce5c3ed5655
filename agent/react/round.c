#include "agent/react/react-private.h"

#include "base/text.h"

static struct view kept(struct view v)
{
	return view_cut(v, utf8_cut(v, KEPT_TEXT_MAX));
}

/* What the next turn shall know of how this one ended. */
static const char *closing_words(const struct react *r)
{
	switch (r->fail) {
	case ENGINE_FAIL_CANCELLED: return "[This was stopped here.]";
	case ENGINE_FAIL_BUDGET:
		return "[This was ended here: the budget of one task was used up.]";
	default: return "[This was broken off here by an error.]";
	}
}

/* The round gets an end that is valid, whatever happened. */
static int make_whole(struct react *r)
{
	struct str text = STR_INIT(KEPT_TEXT_MAX + 200);
	struct view answer = view_trim(str_view(&r->answer));
	struct msg *m;
	int rc = -1;

	if (batch_close(r) < 0)
		goto out;
	(void)str_add(&text, kept(answer));
	if (r->fail != ENGINE_OK)
		(void)str_addf(&text, "%s%s", text.n > 0 ? "\n\n" : "", closing_words(r));
	m = talk_add(&r->talk, ROLE_ASSISTANT, str_view(&text));
	if (m)
		rc = msg_set_thought(m, kept(str_view(&r->thought)));
out:
	str_release(&text);
	return rc;
}

/* A message that nobody has answered or acted on is not kept: it can simply be sent again. */
static bool worth_keeping(const struct react *r)
{
	return r->fail == ENGINE_OK || r->fail == ENGINE_FAIL_CANCELLED || r->talk.n > r->own + 1 ||
	       view_trim(str_view(&r->answer)).n > 0;
}

bool round_close(struct react *r)
{
	if (r->talk.n <= r->own || !worth_keeping(r))
		return false;
	if (make_whole(r) == 0 && talk_round_valid(&r->talk, r->own, r->talk.n))
		return true;
	log_error(r->log, "react", "turn %llu cannot be kept in the history",
		(unsigned long long)r->turn);
	return false;
}
