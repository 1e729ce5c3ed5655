#include "agent/react/react-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TEXT_MAX (ENGINE_INPUT_MAX + ((size_t)256 << 10)) /* and what is said of the pictures */

void sight_clear(struct react *r)
{
	pictures_free(&r->pictures);
	str_release(&r->text);
	free(r->media);
	r->media = NULL;
	r->blind = NULL;
}

static int write_text(const struct react *r, struct str *out)
{
	(void)str_add(out, str_view(&r->text));
	if (pictures_any(r->pictures)) {
		(void)str_adds(out, "\n\n");
		pictures_tell(r->pictures, r->blind, out);
		if (!r->blind && pictures_shown(r->pictures) > 0)
			(void)str_adds(out,
				"[Look at what is shown itself: tools do not read pictures.]\n");
	}
	return str_ok(out) ? 0 : -1;
}

int sight_add(struct react *r)
{
	struct str text = STR_INIT(TEXT_MAX);
	int rc = write_text(r, &text) == 0 && talk_add(&r->talk, ROLE_USER, str_view(&text)) ? 0
	                                                                                     : -1;

	str_release(&text);
	return rc;
}

static void go_on(struct react *r)
{
	if (sight_add(r) < 0)
		react_finish(r, ENGINE_FAIL_INTERNAL, "there is no memory for the message");
	else
		r->go_on(r);
}

static void sight_on_loaded(void *arg)
{
	struct react *r = arg;

	if (!r->cancelled) /* the loop ends it */
		go_on(r);
}

void sight_begin(struct react *r)
{
	if (!r->active->sees)
		r->blind = "the model in use takes no pictures";
	if (r->blind || !pictures_any(r->pictures)) {
		go_on(r);
		return;
	}
	react_step(r, REACT_LOOKING);
	pictures_load(r->pictures, sight_on_loaded, r);
}

/* --- A provider that does not want them ------------------------------------------------------- */

static bool speaks_of_pictures(const char *detail)
{
	static const char *const words[] = { "image", "picture", "vision", "multimodal",
		"multi-modal", "modalit", "content must be a string", "invalid content type",
		"\u56fe\u7247", "\u56fe\u50cf", "\u591a\u6a21\u6001" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(detail, words[i]))
			return true;
	return false;
}

static bool fails_over_pictures(enum engine_fail fail, const char *detail)
{
	switch (fail) {
	case ENGINE_FAIL_REFUSED:
	case ENGINE_FAIL_NO_MODEL:
	case ENGINE_FAIL_PROVIDER:
	case ENGINE_FAIL_TOO_LONG: return speaks_of_pictures(detail);
	default: return false;
	}
}

bool sight_without(struct react *r, enum engine_fail fail, const char *detail)
{
	struct str text = STR_INIT(TEXT_MAX);
	int rc;

	if (r->blind || pictures_shown(r->pictures) == 0 || !fails_over_pictures(fail, detail))
		return false;
	log_warn(r->log, "react", "turn %llu: the model is asked again without pictures: %s",
		(unsigned long long)r->turn, detail);
	r->blind = "whoever serves the model has refused it";
	rc = write_text(r, &text) == 0 ? msg_set_text(&r->talk.list[r->own], str_view(&text)) : -1;
	str_release(&text);
	if (rc == 0)
		r->go_on(r);
	return rc == 0;
}
