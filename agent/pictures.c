#include "agent/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define ENCLOSED_MAX (TURN_FILES_MAX + PICTURES_MAX)
#define RESULT_MAX   ((size_t)6 << 20)

struct item {
	struct enclosed e;
	char *path, *name, *type;
	struct str said; /* the result: what it is made of, or why it cannot be shown */
};

struct pictures {
	struct tools *tools;
	uint64_t turn;
	bool may_read; /* the user may have files read, by the policy */
	struct item list[ENCLOSED_MAX];
	size_t n;
	size_t next; /* to be loaded */
	size_t shown, bytes;
	struct tool_run *run;
	void (*done)(void *arg);
	void *arg;
};

/* --- What there is ---------------------------------------------------------------------------- */

static bool is_there(const struct pictures *p, struct view path)
{
	for (size_t i = 0; i < p->n; i++)
		if (view_eqs(path, p->list[i].path))
			return true;
	return false;
}

static int add(struct pictures *p, const struct enclosed *e, struct err *err)
{
	const struct str said = STR_INIT(RESULT_MAX);
	struct item *it = &p->list[p->n];

	if (p->n == ENCLOSED_MAX || is_there(p, view_of(e->path)))
		return 0;
	p->n++; /* released with it, also when a part is missing */
	it->said = said;
	it->path = strdup(e->path);
	it->name = strdup(e->name);
	it->type = strdup(e->type);
	if (!it->path || !it->name || !it->type)
		return err_set(err, E_NOMEM, "what came with a message");
	it->e = *e;
	it->e.path = it->path;
	it->e.name = it->name;
	it->e.type = it->type;
	it->e.why = "";
	return 0;
}

/* By its content too: who wants a picture to arrive unchanged sends it as a file. */
static bool is_picture(const struct turn_file *f)
{
	return f->kind == TURN_PICTURE || view_starts(view_of(f->type), VIEW("image/"));
}

static int add_files(struct pictures *p, const struct turn_input *in, struct err *e)
{
	for (size_t i = 0; i < in->nfiles; i++) {
		const struct turn_file *f = &in->files[i];
		const struct enclosed one = { .path = f->path,
			.name = f->name,
			.type = f->type,
			.size = f->size,
			.picture = is_picture(f) };

		if (add(p, &one, e) < 0)
			return -1;
	}
	return 0;
}

static int add_refs(struct pictures *p, const struct turn_input *in, struct err *e)
{
	struct view own = turn_own_words(in);
	struct str path = STR_INIT(PATH_SIZE - 1);
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && image_ref_next(own, &at, &path)) {
		const char *slash = strrchr(str_cstr(&path), '/');
		const struct enclosed one = { .path = str_cstr(&path),
			.name = slash ? slash + 1 : str_cstr(&path),
			.type = "",
			.size = -1,
			.picture = true };

		rc = add(p, &one, e);
	}
	str_release(&path);
	return rc;
}

int pictures_open(struct pictures **out, struct tools *tools, const struct turn_input *in,
	struct err *e)
{
	struct pictures *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "what came with a message");
	p->tools = tools;
	p->turn = in->turn;
	p->may_read = tools && tools_policy(tools, "read_file", in->origin) == VERDICT_ALLOW;
	if (add_files(p, in, e) < 0 || add_refs(p, in, e) < 0) {
		pictures_free(&p);
		return -1;
	}
	if (p->n == 0)
		pictures_free(&p);
	*out = p;
	return 0;
}

void pictures_free(struct pictures **pp)
{
	struct pictures *p = *pp;

	if (!p)
		return;
	*pp = NULL;
	if (p->run)
		tool_detach(p->run);
	for (size_t i = 0; i < p->n; i++) {
		free(p->list[i].path);
		free(p->list[i].name);
		free(p->list[i].type);
		str_release(&p->list[i].said);
	}
	free(p);
}

const struct enclosed *pictures_at(const struct pictures *p, size_t i)
{
	return p && i < p->n ? &p->list[i].e : NULL;
}

bool pictures_any(const struct pictures *p)
{
	const struct enclosed *e;

	for (size_t i = 0; (e = pictures_at(p, i)); i++)
		if (e->picture)
			return true;
	return false;
}

bool pictures_loaded(const struct pictures *p)
{
	return !pictures_any(p) || p->next == p->n;
}

size_t pictures_shown(const struct pictures *p)
{
	return p ? p->shown : 0;
}

/* --- Loading ---------------------------------------------------------------------------------- */

static void fail(struct item *it, struct view why)
{
	str_reset(&it->said);
	(void)str_add(&it->said, why);
	it->e.why = str_cstr(&it->said);
}

static void load_next(struct pictures *p);

static void pictures_on_loaded(void *arg, const struct tool_result *r)
{
	struct pictures *p = arg;
	struct item *it = &p->list[p->next++];
	struct picture parts;

	p->run = NULL;
	if (!r->ok || picture_read(r->text, &parts) < 0)
		fail(it, r->ok ? VIEW("what was made of it is no picture") : r->text);
	else if (p->bytes + parts.base64.n > PICTURES_BYTES)
		fail(it, VIEW("it is too much beside the others; ask for fewer at a time"));
	else if (str_add(&it->said, r->text) < 0 ||
		 picture_read(str_view(&it->said), &it->e.bytes) < 0)
		fail(it, VIEW("there is no memory for it"));
	else
		it->e.shown = true;
	p->shown += it->e.shown;
	p->bytes += it->e.bytes.base64.n;
	load_next(p);
}

/* True: it is under way. */
static bool load(struct pictures *p, struct item *it)
{
	struct err e = ERR_INIT;

	if (!p->tools)
		fail(it, VIEW("pictures cannot be read here"));
	else if (p->shown == PICTURES_MAX)
		fail(it, VIEW("there are too many at once; ask for fewer at a time"));
	else if (it->e.size < 0 && !p->may_read)
		fail(it, VIEW("the policy does not let files be read"));
	else if (picture_load(&p->run, p->tools, p->turn, view_of(it->path), pictures_on_loaded, p,
			 &e) < 0)
		fail(it, view_of(e.msg));
	else
		return true;
	return false;
}

static void load_next(struct pictures *p)
{
	for (; p->next < p->n; p->next++)
		if (p->list[p->next].e.picture && load(p, &p->list[p->next]))
			return;
	p->done(p->arg);
}

void pictures_load(struct pictures *p, void (*done)(void *arg), void *arg)
{
	p->done = done;
	p->arg = arg;
	if (!p->run)
		load_next(p);
}

/* --- What is said of them --------------------------------------------------------------------- */

static void tell(const struct enclosed *e, size_t number, const char *blind, struct str *out)
{
	(void)str_addc(out, '[');
	if (e->shown && !blind) {
		(void)str_addf(out, "Picture %zu, shown with this message only: ", number);
		(void)text_visible(view_of(e->path), out);
		if (e->bytes.note.n > 0)
			(void)str_addf(out, " (%.*s)", VIEW_FMT(e->bytes.note));
	} else {
		(void)str_adds(out, "The picture ");
		(void)text_visible(view_of(e->path), out);
		(void)str_addf(out,
			" is not shown to you: %s. Do not guess what it shows; unless you "
			"see it some other way, tell the user that you have not, and why.",
			blind ? blind : e->why);
	}
	(void)str_adds(out, "]\n");
}

void pictures_tell(const struct pictures *p, const char *blind, struct str *out)
{
	const struct enclosed *e;
	size_t number = 0;

	for (size_t i = 0; (e = pictures_at(p, i)); i++)
		if (e->picture)
			tell(e, number += e->shown && !blind, blind, out);
}
