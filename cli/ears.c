#include "cli/ears.h"

#include <stdlib.h>

#include "base/file.h"
#include "cli/app.h"

struct ears {
	struct chan_ears hand;
	struct voice *voice;
};

struct hearing {
	struct voice_call *call;
	heard_cb *cb;
	void *cb_arg;
};

/* --- Settings --------------------------------------------------------------------------------- */

void voice_settings_from(struct voice_settings *s, const struct config *c)
{
	*s = (struct voice_settings){
		.decoder = (const char *const *)c->voice.decoder,
		.transcriber = (const char *const *)c->voice.transcriber,
		.base_url = c->voice.base_url,
		.name = c->voice.name,
		.key = c->voice.key ? c->voice.key : "",
	};
}

/* --- Hearing ---------------------------------------------------------------------------------- */

static void ears_on_done(void *arg, enum voice_end what, struct view text, const char *why)
{
	static const enum heard heard[] = {
		[VOICE_TEXT] = HEARD_TEXT,
		[VOICE_SILENT] = HEARD_SILENT,
		[VOICE_FORMAT] = HEARD_FORMAT,
		[VOICE_DAMAGED] = HEARD_DAMAGED,
		[VOICE_LATE] = HEARD_LATE,
		[VOICE_FAILED] = HEARD_FAILED,
	};
	struct hearing *h = arg;

	h->cb(h->cb_arg, heard[what], text, why);
	free(h);
}

/* How long it plays is not needed: what listens has its time whatever was claimed. */
static int ears_hear(void *arg, struct hearing **out, const char *path, int64_t play_ms,
	heard_cb *cb, void *cb_arg, struct err *e)
{
	struct ears *ears = arg;
	struct hearing *h = calloc(1, sizeof(*h));

	(void)play_ms;
	*out = NULL;
	if (!h)
		return err_set(e, E_NOMEM, "a voice");
	h->cb = cb;
	h->cb_arg = cb_arg;
	if (voice_hear(ears->voice, &h->call, path, ears_on_done, h, e) < 0) {
		free(h);
		return -1;
	}
	*out = h;
	return 0;
}

static void ears_cancel(void *arg, struct hearing **hp)
{
	struct hearing *h = *hp;

	(void)arg;
	*hp = NULL;
	if (!h)
		return;
	voice_cancel(&h->call);
	free(h);
}

/* --- Opening ---------------------------------------------------------------------------------- */

int ears_open(struct ears **out, const struct home *h, const struct config *c, struct loop *loop,
	struct log *log, struct tools *tools, struct err *e)
{
	char folder[PATH_SIZE];
	struct http_rules rules;
	struct voice_env env = { .loop = loop,
		.log = log,
		.tools = tools,
		.folder = folder,
		.rules = &rules };
	struct ears *ears;

	*out = NULL;
	rules_for_model(&rules, c);
	voice_settings_from(&env.settings, c);
	if (!voice_set_up(&env.settings))
		return 0;
	ears = calloc(1, sizeof(*ears));
	if (!ears)
		return err_set(e, E_NOMEM, "the ears");
	ears->hand = (struct chan_ears){ ears_hear, ears_cancel, ears };
	if (path_join(folder, h->dir, "hearing", e) < 0 || voice_open(&ears->voice, &env, e) < 0) {
		free(ears);
		return -1;
	}
	*out = ears;
	return 0;
}

void ears_close(struct ears **ep)
{
	if (!*ep)
		return;
	voice_close(&(*ep)->voice);
	free(*ep);
	*ep = NULL;
}

const struct chan_ears *ears_hand(const struct ears *e)
{
	return e ? &e->hand : NULL;
}
