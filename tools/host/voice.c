#include "tools/host/voice.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/host/program.h"
#include "tools/host/voice_api.h"
#include "tools/host/voice_sound.h"

#define DECODER_SAYS_MAX ((size_t)64 << 10) /* which nobody reads */

struct voice_call {
	struct voice_call *next;
	struct voice *voice;
	char path[PATH_SIZE]; /* what is to be heard */
	voice_done_cb *done;
	void *arg;

	/* Once it is its turn: */
	const struct sound_kind *kind;
	char copy[PATH_SIZE], sound[PATH_SIZE]; /* in our folder; what is listened to */
	struct program *program;                /* one of the two is under way */
	struct voice_api *api;
	int64_t began;
};

struct voice {
	struct voice_env env;
	char folder[PATH_SIZE];
	struct http *http;
	struct timer *turn;
	struct program_list programs;
	struct voice_call *first; /* its turn it is; the others wait behind */
	bool begun;               /* the first is at work */
	unsigned long long count;
};

/* --- Files ------------------------------------------------------------------------------------ */

/* What programs left there, or a kill of ours did; a folder only as far as it is empty. */
static void sweep(const struct voice *v)
{
	struct err e = ERR_INIT;
	int fd = file_open_dir(v->folder, &e);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	for (const struct dirent *d; (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), d->d_name, 0) < 0 &&
			unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR) < 0)
			log_warn(v->env.log, "voice", "%s in %s is in the way: remove it",
				d->d_name, v->folder);
	}
	(void)closedir(dir);
}

/* A program sees the copy and nothing beside it. */
static int make_copy(struct voice_call *c, struct err *e)
{
	struct str bytes = STR_INIT(VOICE_FILE_MAX);
	char name[48];
	int rc = -1;

	if (file_read(c->path, VOICE_FILE_MAX, &bytes, e) < 0)
		goto out;
	c->kind = sound_kind(view_cut(str_view(&bytes), SOUND_HEAD));
	if (bytes.n == 0)
		c->kind = NULL;
	(void)snprintf(name, sizeof(name), "%llu.%s", ++c->voice->count,
		c->kind ? c->kind->suffix : "bin");
	if (path_join(c->copy, c->voice->folder, name, e) < 0)
		goto out;
	rc = file_replace(c->copy, 0600, str_view(&bytes), e);
out:
	str_release(&bytes);
	return rc;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void unlist(struct voice_call *c)
{
	struct voice *v = c->voice;

	if (v->first == c)
		v->begun = false;
	for (struct voice_call **at = &v->first; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	if (v->first && !v->begun)
		timer_arm(v->turn, 0);
}

static void call_release(struct voice_call *c)
{
	program_detach(&c->program);
	voice_api_cancel(&c->api);
	if (c->copy[0])
		(void)unlink(c->copy);
	if (c->sound[0])
		(void)unlink(c->sound);
	free(c);
}

static void call_free(struct voice_call *c)
{
	unlist(c);
	call_release(c);
}

static void finish(struct voice_call *c, enum voice_end what, struct view text, const char *why)
{
	const struct voice_env *env = &c->voice->env;
	long long ms = loop_now(env->loop) - c->began;

	if (what == VOICE_TEXT || what == VOICE_SILENT)
		log_info(env->log, "voice", "listened to in %lld.%01lld s: %zu bytes of text",
			ms / 1000, ms % 1000 / 100, text.n);
	c->done(c->arg, what, text, why);
	call_free(c);
}

static void fail(struct voice_call *c, enum voice_end what, const char *step, const char *why)
{
	struct str s = STR_INIT(4096);

	(void)str_addf(&s, "%s%s%s", step, why[0] ? ": " : "", why);
	finish(c, what, VIEW_NONE, str_cstr(&s));
	str_release(&s);
}

static void take_words(struct voice_call *c, struct view transcript)
{
	struct str words = STR_INIT(VOICE_TEXT_MAX);
	int rc = sound_words(transcript, &words);

	if (rc < 0)
		fail(c, VOICE_FAILED, "the transcript", "there is no memory for it");
	else if (rc == 0)
		finish(c, VOICE_SILENT, VIEW_NONE, "there is not a word in the transcript");
	else
		finish(c, VOICE_TEXT, str_view(&words), "");
	str_release(&words);
}

/* How a program failed, in words for the log. */
static void say_end(const struct program_result *r, struct str *out)
{
	switch (r->end) {
	case PROGRAM_EXITED: (void)str_addf(out, "exit status %d", r->status); break;
	case PROGRAM_KILLED: (void)str_adds(out, "it was killed"); break;
	case PROGRAM_LATE: (void)str_adds(out, "it took too long and was ended"); break;
	case PROGRAM_TOO_MUCH: (void)str_adds(out, "it said too much and was ended"); break;
	case PROGRAM_NOT_TEXT: (void)str_adds(out, "what it said is not UTF-8"); break;
	case PROGRAM_NOT_RUN: (void)str_adds(out, "it could not be run"); break;
	}
	if (r->why[0])
		(void)str_addf(out, ", %s", r->why);
}

static void program_failed(struct voice_call *c, const char *which, enum voice_end what,
	const struct program_result *r)
{
	struct str why = STR_INIT(4096);

	say_end(r, &why);
	fail(c, r->end == PROGRAM_LATE ? VOICE_LATE : what, which, str_cstr(&why));
	str_release(&why);
}

/* --- Listening -------------------------------------------------------------------------------- */

static void voice_on_transcript(void *arg, const struct program_result *r)
{
	struct voice_call *c = arg;

	c->program = NULL;
	if (r->end == PROGRAM_EXITED && r->status == 0)
		take_words(c, r->text);
	else
		program_failed(c, "voice.transcriber", VOICE_FAILED, r);
}

static void voice_on_answer(void *arg, bool ok, bool late, struct view text, const char *why)
{
	struct voice_call *c = arg;

	c->api = NULL;
	if (ok)
		take_words(c, text);
	else
		fail(c, late ? VOICE_LATE : VOICE_FAILED, "voice.base_url", why);
}

static bool is_given(const char *const *argv)
{
	return argv && argv[0];
}

static int start_transcriber(struct voice_call *c, const char *sound, struct err *e)
{
	const struct program_plan plan = { .list = &c->voice->programs,
		.tools = c->voice->env.tools,
		.what = "voice.transcriber",
		.argv = c->voice->env.settings.transcriber,
		.folder = c->voice->folder,
		.file = sound,
		.out = "",
		.time_ms = VOICE_LISTEN_MS,
		.text_max = VOICE_TEXT_MAX,
		.on_done = voice_on_transcript,
		.arg = c };

	return program_start(&c->program, &plan, e);
}

static int ask_server(struct voice_call *c, const char *sound, struct err *e)
{
	const struct voice_settings *s = &c->voice->env.settings;
	const struct voice_api_plan plan = { .loop = c->voice->env.loop,
		.log = c->voice->env.log,
		.http = c->voice->http,
		.base_url = s->base_url,
		.model = s->name,
		.key = s->key,
		.path = sound,
		.suffix = c->sound[0] ? "wav" : c->kind->suffix,
		.time_ms = VOICE_LISTEN_MS,
		.on_done = voice_on_answer,
		.arg = c };

	return voice_api_start(&c->api, &plan, e);
}

static void listen_to(struct voice_call *c, const char *sound)
{
	bool program = is_given(c->voice->env.settings.transcriber);
	struct err e = ERR_INIT;

	if ((program ? start_transcriber(c, sound, &e) : ask_server(c, sound, &e)) < 0)
		fail(c, VOICE_FAILED, program ? "voice.transcriber" : "voice.base_url", e.msg);
}

/* --- Decoding --------------------------------------------------------------------------------- */

static int check_sound(const char *path, struct err *e)
{
	int64_t size = 0;
	int fd = file_open_read(path, &size, e);

	if (fd < 0)
		return err_wrap(e, "it left no sound");
	(void)close(fd);
	if (size == 0 || size > VOICE_SOUND_MAX)
		return err_set(e, E_FORMAT, "it left a sound of %lld bytes", (long long)size);
	return 0;
}

static enum voice_end end_of_decoder(const struct program_result *r)
{
	if (r->end != PROGRAM_EXITED)
		return VOICE_FAILED;
	return r->status == VOICE_EXIT_DAMAGED  ? VOICE_DAMAGED
	       : r->status == VOICE_EXIT_FORMAT ? VOICE_FORMAT
	                                        : VOICE_FAILED;
}

static void voice_on_decoded(void *arg, const struct program_result *r)
{
	struct voice_call *c = arg;
	struct err e = ERR_INIT;

	c->program = NULL;
	if (r->end != PROGRAM_EXITED || r->status != 0)
		program_failed(c, "voice.decoder", end_of_decoder(r), r);
	else if (check_sound(c->sound, &e) < 0)
		fail(c, VOICE_FAILED, "voice.decoder", e.msg);
	else
		listen_to(c, c->sound);
}

static int start_decoder(struct voice_call *c, struct err *e)
{
	char name[48];
	const struct program_plan plan = { .list = &c->voice->programs,
		.tools = c->voice->env.tools,
		.what = "voice.decoder",
		.argv = c->voice->env.settings.decoder,
		.folder = c->voice->folder,
		.file = c->copy,
		.out = c->sound,
		.time_ms = VOICE_DECODE_MS,
		.text_max = DECODER_SAYS_MAX,
		.on_done = voice_on_decoded,
		.arg = c };

	(void)snprintf(name, sizeof(name), "%llu.decoded.wav", c->voice->count);
	if (path_join(c->sound, c->voice->folder, name, e) < 0)
		return -1;
	return program_start(&c->program, &plan, e);
}

/* --- One after the other ---------------------------------------------------------------------- */

static void begin(struct voice_call *c)
{
	struct voice *v = c->voice;
	struct err e = ERR_INIT;

	c->began = loop_now(v->env.loop);
	if (!v->programs.first) /* else one that was given up is still ending there */
		sweep(v);
	if (make_copy(c, &e) < 0)
		fail(c, VOICE_FAILED, "the voice's file", e.msg);
	else if (!c->kind)
		finish(c, VOICE_DAMAGED, VIEW_NONE, "the voice's file is empty");
	else if (c->kind->common)
		listen_to(c, c->copy);
	else if (!is_given(v->env.settings.decoder))
		fail(c, VOICE_FORMAT, c->kind->name,
			"no transcriber takes it, and voice.decoder is not set");
	else if (start_decoder(c, &e) < 0)
		fail(c, VOICE_FAILED, "voice.decoder", e.msg);
}

static void voice_on_turn(void *arg)
{
	struct voice *v = arg;

	if (!v->first || v->begun)
		return;
	v->begun = true;
	begin(v->first);
}

int voice_hear(struct voice *v, struct voice_call **out, const char *path, voice_done_cb *done,
	void *arg, struct err *e)
{
	struct voice_call *c = calloc(1, sizeof(*c)), **at = &v->first;

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "a voice");
	if (copy_z(c->path, sizeof(c->path), view_of(path)) < 0) {
		free(c);
		return err_set(e, E_FORMAT, "the path of a voice is too long");
	}
	c->voice = v;
	c->done = done;
	c->arg = arg;
	while (*at)
		at = &(*at)->next;
	*at = c;
	if (!v->begun)
		timer_arm(v->turn, 0);
	*out = c;
	return 0;
}

void voice_cancel(struct voice_call **cp)
{
	struct voice_call *c = *cp;

	*cp = NULL;
	if (c)
		call_free(c);
}

/* --- Opening ---------------------------------------------------------------------------------- */

static bool has_server(const struct voice_settings *s)
{
	return s->base_url && s->base_url[0] && s->name && s->name[0];
}

bool voice_set_up(const struct voice_settings *s)
{
	return is_given(s->transcriber) || has_server(s);
}

int voice_open(struct voice **out, const struct voice_env *env, struct err *e)
{
	struct voice *v = calloc(1, sizeof(*v));

	*out = NULL;
	if (!v)
		return err_set(e, E_NOMEM, "the voice");
	v->env = *env;
	if (copy_z(v->folder, sizeof(v->folder), view_of(env->folder)) < 0)
		err_set(e, E_FORMAT, "the path %s is too long", env->folder);
	else if (file_mkdir_private(v->folder, e) == 0 &&
		 timer_new(&v->turn, env->loop, voice_on_turn, v, e) == 0 &&
		 (!has_server(&env->settings) ||
			 http_open(&v->http, env->loop, env->rules, env->log, e) == 0)) {
		sweep(v);
		*out = v;
		return 0;
	}
	voice_close(&v);
	return -1;
}

void voice_close(struct voice **vp)
{
	struct voice *v = *vp;

	*vp = NULL;
	if (!v)
		return;
	for (struct voice_call *c = v->first, *next; c; c = next) {
		next = c->next;
		call_release(c);
	}
	program_close_all(&v->programs);
	http_close(&v->http);
	timer_free(&v->turn);
	free(v);
}
