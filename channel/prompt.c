#include "channel/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "channel/merge.h"

#define EXCERPT_CHARS 24

void prompt_init(struct prompt *p)
{
	*p = (struct prompt){ .text = STR_INIT(INBOX_TEXT_MAX + TURN_FILES_MAX * HEARD_TEXT_MAX) };
}

static void empty(struct prompt *p)
{
	while (p->nfiles > 0)
		free(p->paths[--p->nfiles]);
	free(p->media);
	p->media = NULL;
	p->quoted = p->added = 0;
	p->wait_ms = 0;
	p->unheard = HEARD_TEXT;
	str_reset(&p->text);
	media_list_release(&p->list);
}

void prompt_release(struct prompt *p)
{
	empty(p);
	str_release(&p->text);
}

/* --- Words ------------------------------------------------------------------------------------ */

static enum word kind_word(enum chan_item_kind kind)
{
	static const enum word kinds[] = { [CHAN_IMAGE] = W_KIND_IMAGE,
		[CHAN_VOICE] = W_KIND_VOICE,
		[CHAN_FILE] = W_KIND_FILE,
		[CHAN_VIDEO] = W_KIND_VIDEO,
		[CHAN_OTHER] = W_KIND_OTHER };

	return kinds[kind];
}

/* What could not be made of a part is missing in the whole. */
static void done_with(struct str *part, struct str *whole)
{
	whole->failed = whole->failed || !str_ok(part);
	str_release(part);
}

static void put_kind(struct str *out, enum control_language lang, const struct media_row *m)
{
	struct str kind = STR_INIT(64);

	words(&kind, lang, kind_word(m->kind));
	if (m->quoted)
		words(out, lang, W_OF_QUOTE, str_cstr(&kind));
	else
		str_add(out, str_view(&kind));
	done_with(&kind, out);
}

static void put_size(struct str *out, int64_t bytes)
{
	double kb = (double)bytes / 1024;

	if (bytes < 1024)
		str_addf(out, "%lld B", (long long)bytes);
	else if (kb < 1024)
		str_addf(out, "%.1f KB", kb);
	else
		str_addf(out, "%.1f MB", kb / 1024);
}

static void put_why(struct str *out, const struct room *r, enum control_language lang,
	const struct media_row *m)
{
	static const enum word whys[MEDIA_WHYS] = { [MEDIA_WELL] = W_WHY_GONE,
		[MEDIA_TOO_BIG] = W_WHY_TOO_BIG,
		[MEDIA_EXPIRED] = W_WHY_EXPIRED,
		[MEDIA_BROKEN] = W_WHY_BROKEN,
		[MEDIA_OFFLINE] = W_WHY_OFFLINE,
		[MEDIA_NO_DISK] = W_WHY_NO_DISK,
		[MEDIA_NO_ROOM] = W_WHY_NO_ROOM,
		[MEDIA_SLOW] = W_WHY_SLOW,
		[MEDIA_STOPPED] = W_WHY_STOPPED,
		[MEDIA_UNSUPPORTED] = W_WHY_UNSUPPORTED };
	struct str limit = STR_INIT(32);

	put_size(&limit, r->media_max);
	words(out, lang, m->state == MEDIA_GONE ? W_WHY_GONE : whys[m->why], str_cstr(&limit));
	done_with(&limit, out);
}

/* --- Files ------------------------------------------------------------------------------------ */

static bool unheard(const struct media_row *m)
{
	return m->kind == CHAN_VOICE && !m->transcript && m->heard.n == 0;
}

static int add_file(struct prompt *p, const struct media_row *m, const char *path, struct err *e)
{
	static const enum turn_file_kind kinds[] = { [CHAN_IMAGE] = TURN_PICTURE,
		[CHAN_VOICE] = TURN_VOICE,
		[CHAN_FILE] = TURN_DOCUMENT,
		[CHAN_VIDEO] = TURN_VIDEO,
		[CHAN_OTHER] = TURN_DOCUMENT };
	char *copy = strdup(path);

	if (!copy)
		return err_set(e, E_NOMEM, "a file of a prompt");
	p->paths[p->nfiles] = copy;
	p->files[p->nfiles++] = (struct turn_file){ .kind = kinds[m->kind],
		.path = copy,
		.name = m->name,
		.type = m->type,
		.size = m->size,
		.quoted = m->quoted };
	return 0;
}

static void put_failed(struct prompt *p, const struct room *r, enum control_language lang,
	const struct media_row *m)
{
	struct str kind = STR_INIT(64), why = STR_INIT(512);

	put_kind(&kind, lang, m);
	put_why(&why, r, lang, m);
	words(&p->text, lang, W_ATTACHMENT_FAILED, str_cstr(&kind), m->name, str_cstr(&why));
	done_with(&kind, &p->text);
	done_with(&why, &p->text);
}

static void put_kept(struct prompt *p, enum control_language lang, const struct media_row *m,
	const char *path)
{
	struct str kind = STR_INIT(64), size = STR_INIT(32), type = STR_INIT(512);

	put_kind(&kind, lang, m);
	put_size(&size, m->size);
	str_adds(&type, m->type);
	if (unheard(m)) {
		str_adds(&type, lang == LANG_EN ? ", " : "，");
		words(&type, lang, W_UNHEARD);
	}
	words(&p->text, lang, W_ATTACHMENT, str_cstr(&kind), m->name, str_cstr(&type),
		str_cstr(&size), path);
	done_with(&kind, &p->text);
	done_with(&size, &p->text);
	done_with(&type, &p->text);
}

/* Who tidies by hand may have taken a file away. */
static bool is_here(const struct media_row *m, const char *path)
{
	return m->state == MEDIA_FETCHED && file_exists(path);
}

static int put_row(struct prompt *p, const struct room *r, enum control_language lang,
	struct media_row *m, struct err *e)
{
	char path[PATH_SIZE];

	if (path_join(path, r->media, m->path, e) < 0)
		return -1;
	if (p->text.n > 0)
		str_addc(&p->text, '\n');
	if (!is_here(m, path)) {
		if (m->state == MEDIA_FETCHED)
			m->state = MEDIA_GONE;
		put_failed(p, r, lang, m);
		return 0;
	}
	if (unheard(m) && !m->quoted)
		p->unheard = m->unheard;
	put_kept(p, lang, m, path);
	return add_file(p, m, path, e);
}

static void put_heard(struct prompt *p, enum control_language lang, bool quoted)
{
	for (size_t i = 0; i < p->list.n; i++) {
		const struct media_row *m = &p->list.rows[i];
		struct str kind = STR_INIT(64);

		if (m->heard.n == 0 || m->quoted != quoted)
			continue;
		if (p->text.n > 0)
			str_addc(&p->text, '\n');
		put_kind(&kind, lang, m);
		words(&p->text, lang, W_HEARD, str_cstr(&kind), str_cstr(&m->heard));
		done_with(&kind, &p->text);
	}
}

/* Is there anything of the user's own to act on? */
static bool has_content(const struct prompt *p, struct view text)
{
	if (view_trim(view_from(text, p->quoted)).n > 0 || p->list.n == 0)
		return true;
	for (size_t i = 0; i < p->list.n; i++) {
		const struct media_row *m = &p->list.rows[i];

		if (m->quoted)
			continue;
		if (m->heard.n > 0 || (m->state == MEDIA_FETCHED && !unheard(m)))
			return true;
	}
	return false;
}

static int put_folder(struct prompt *p, const struct room *r, const char *user, struct err *e)
{
	char key[MEDIA_KEY_HEX + 1], path[PATH_SIZE];

	media_user_key(key, user);
	if (path_join(path, r->media, key, e) < 0)
		return -1;
	if (!file_exists(path))
		return 0;
	p->media = strdup(path);
	return p->media ? 0 : err_set(e, E_NOMEM, "a path");
}

static int compose(struct prompt *p, const struct room *r, const struct inbox_item *it,
	struct err *e)
{
	enum control_language lang = it->lang == LANG_EN ? LANG_EN : LANG_ZH;
	size_t said;

	str_add(&p->text, str_view(&it->text));
	p->quoted = words_quote(str_view(&it->text));
	put_heard(p, lang, false);
	said = p->text.n;
	put_heard(p, lang, true);
	for (size_t i = 0; i < p->list.n; i++)
		if (put_row(p, r, lang, &p->list.rows[i], e) < 0)
			return -1;
	p->added = p->text.n - said;
	p->state = has_content(p, str_view(&it->text)) ? PROMPT_READY : PROMPT_NOTHING;
	if (!str_ok(&p->text))
		return err_set(e, E_NOMEM, "a prompt");
	return put_folder(p, r, it->user, e);
}

int prompt_of(struct prompt *p, const struct room *r, const struct inbox_item *it, struct err *e)
{
	int pending;

	empty(p);
	p->state = PROMPT_WAITS;
	if (merge_left(r, it->seq, &p->wait_ms, e) < 0 ||
		media_pending(r, it->seq, &pending, e) < 0)
		return -1;
	if (p->wait_ms > 0 || pending > 0)
		return 0;
	if (media_load(r, it->seq, &p->list, e) < 0)
		return -1;
	return compose(p, r, it, e);
}

/* --- For the user ----------------------------------------------------------------------------- */

static void put_lost(struct str *out, const struct room *r, enum control_language lang,
	const struct media_row *m)
{
	struct str kind = STR_INIT(64), name = STR_INIT(1024), why = STR_INIT(512);

	put_kind(&kind, lang, m);
	words_excerpt(&name, view_of(m->name), 60);
	put_why(&why, r, lang, m);
	words(out, lang, W_MEDIA_LOST, str_cstr(&kind), str_cstr(&name), str_cstr(&why));
	done_with(&kind, out);
	done_with(&name, out);
	done_with(&why, out);
}

/* Five pictures that failed alike are one sentence. */
static void put_sorry(struct str *out, const struct prompt *p, const struct room *r,
	enum control_language lang)
{
	struct str line = STR_INIT(2048), before = STR_INIT(2048);

	for (size_t i = 0; i < p->list.n; i++) {
		const struct media_row *m = &p->list.rows[i];

		if (m->quoted || m->state == MEDIA_FETCHED)
			continue;
		str_reset(&line);
		put_lost(&line, r, lang, m);
		if (view_eq(str_view(&line), str_view(&before)))
			continue;
		if (out->n > 0)
			str_addc(out, '\n');
		str_add(out, str_view(&line));
		str_reset(&before);
		str_add(&before, str_view(&line));
	}
	done_with(&line, out);
	done_with(&before, out);
}

int prompt_sorry(const struct prompt *p, const struct room *r, enum control_language lang,
	struct str *out)
{
	words_each(l, lang)
		put_sorry(out, p, r, l);
	return str_ok(out) ? 0 : -1;
}

static void put_kinds(struct str *out, enum control_language lang, const struct media_list *l)
{
	for (enum chan_item_kind k = CHAN_IMAGE; k <= CHAN_OTHER; k++) {
		struct str kind = STR_INIT(64);
		int n = 0;

		for (size_t i = 0; i < l->n; i++)
			n += !l->rows[i].quoted && l->rows[i].kind == k;
		words(&kind, lang, kind_word(k));
		if (n == 1)
			str_addf(out, "[%s]", str_cstr(&kind));
		else if (n > 1)
			str_addf(out, "[%s ×%d]", str_cstr(&kind), n);
		done_with(&kind, out);
	}
}

int prompt_excerpt(struct str *out, const struct room *r, const struct inbox_item *it)
{
	struct media_list *list = calloc(1, sizeof(*list));
	enum control_language lang = it->lang == LANG_EN ? LANG_EN : LANG_ZH;
	struct view own = view_from(str_view(&it->text), words_quote(str_view(&it->text)));
	size_t before = out->n;
	struct err e = ERR_INIT;

	/* What cannot be told is left out: it is an excerpt. */
	if (list && media_load(r, it->seq, list, &e) == 0)
		put_kinds(out, lang, list);
	if (out->n > before && it->text.n > 0)
		str_addc(out, ' ');
	if (list)
		media_list_release(list);
	free(list);
	return words_excerpt(out, view_trim(own).n > 0 ? own : str_view(&it->text), EXCERPT_CHARS);
}
