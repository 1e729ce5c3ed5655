#include "formatter/format-private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TAG_MAX      256   /* bytes of a tag, attributes and all */
#define NAME_MAX_LEN 9     /* "reasoning" */
#define HELD_MAX     65536 /* bytes of a line that are waited for */
#define CODE_LINES   16    /* lines that inline code may run over */
#define CODE_RUN     32    /* backticks that inline code may begin with */

/* Whole lines are held until it is known what is code in them; hidden text is dropped as it comes.
 */
struct think_filter {
	struct str held;
	size_t at;          /* dealt with, of held */
	size_t lines, seen; /* lines waiting for the end of inline code, and their bytes */
	size_t depth;       /* tags that are open */
	char last;          /* the byte before, inside hidden text */
	struct fence fence;
	bool midline;         /* what was put out last was not a line end */
	bool eat;             /* blank lines behind a hidden block go with it */
	bool any;             /* a tag was seen */
	size_t orphan, total; /* bytes put out: at the orphan's end, in all */
};

int think_open(struct think_filter **out, struct err *e)
{
	struct think_filter *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return err_set(e, E_NOMEM, "no memory for the reasoning filter");
	t->held = (struct str)STR_INIT(FORMAT_IN_MAX + HELD_MAX);
	return 0;
}

void think_close(struct think_filter **t)
{
	if (!*t)
		return;
	str_release(&(*t)->held);
	free(*t);
	*t = NULL;
}

size_t think_orphan(const struct think_filter *t)
{
	return t->orphan;
}

/* --- Tags ------------------------------------------------------------------------------------ */

enum tag { TAG_NONE, TAG_OPEN, TAG_CLOSE, TAG_EMPTY, TAG_PARTIAL };

static bool is_name(struct view v)
{
	static const char *const names[] = { "think", "thinking", "thought", "reasoning" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (v.n == strlen(names[i]) && strncasecmp(v.p, names[i], v.n) == 0)
			return true;
	}
	return false;
}

/* Is the tag named between quotes rather than used? */
static bool is_mention(char before, char after)
{
	return before == after && (before == '`' || before == '"' || before == '\'');
}

/* v.p[0] is '<'. `before` is the byte in front of it; more: v goes on later. */
static enum tag read_tag(struct view v, char before, bool more, size_t *n)
{
	size_t at = 1, name, end;
	bool close = v.n > 1 && v.p[1] == '/';

	if (close)
		at++;
	name = at;
	while (at < v.n && ascii_alnum(v.p[at]))
		at++;
	end = at;
	while (at < v.n && at < TAG_MAX && v.p[at] != '>' && v.p[at] != '<' && v.p[at] != '\n')
		at++;
	if (at == TAG_MAX)
		return TAG_NONE;
	if (at == v.n)
		return more && end - name <= NAME_MAX_LEN ? TAG_PARTIAL : TAG_NONE;
	if (v.p[at] != '>' || !is_name((struct view){ v.p + name, end - name }) ||
		!strchr(" \t/>", v.p[end]))
		return TAG_NONE;
	*n = at + 1;
	if (*n == v.n && more)
		return TAG_PARTIAL;
	if (*n < v.n && is_mention(before, v.p[*n]))
		return TAG_NONE;
	if (close)
		return TAG_CLOSE;
	return v.p[at - 1] == '/' ? TAG_EMPTY : TAG_OPEN;
}

bool think_needed(struct view v)
{
	size_t n;

	for (; v.n > 0; v = view_from(v, 1)) {
		v = view_from(v, view_find(v, '<'));
		if (v.n > 0 && read_tag(v, ' ', false, &n) != TAG_NONE)
			return true;
	}
	return false;
}

/* --- Putting out ----------------------------------------------------------------------------- */

static void put_out(struct think_filter *t, struct view v, struct str *out)
{
	if (t->eat) {
		size_t next, n = 0;

		while (n < v.n) {
			if (!is_blank_line(first_line(view_from(v, n), &next)))
				break;
			n += next;
		}
		v = view_from(v, n);
	}
	if (v.n == 0)
		return;
	t->eat = false;
	t->midline = v.p[v.n - 1] != '\n';
	t->total += v.n;
	put(out, v);
}

static void enter_hidden(struct think_filter *t)
{
	t->any = true;
	t->depth = 1;
	t->last = '>';
}

/* Skips hidden text at the start of v; stops behind the tag that ends it, or before one that may
 * yet be whole. */
static size_t skip_hidden(struct think_filter *t, struct view v, bool more)
{
	size_t at = 0, n = 0;

	while (at < v.n && t->depth > 0) {
		size_t lt = view_find(view_from(v, at), '<');

		if (lt > 0)
			t->last = v.p[at + lt - 1];
		at += lt;
		if (at == v.n)
			break;
		switch (read_tag(view_from(v, at), t->last, more, &n)) {
		case TAG_PARTIAL: return at;
		case TAG_OPEN: t->depth++; break;
		case TAG_CLOSE: t->depth--; break;
		default: n = 1; break;
		}
		at += n;
		t->last = v.p[at - 1];
	}
	if (t->depth == 0)
		t->eat = !t->midline;
	return at;
}

static size_t ticks(struct view v)
{
	size_t n = 0;

	while (n < v.n && v.p[n] == '`')
		n++;
	return n;
}

/* Bytes of the inline code that begins at v.p, 0 when nothing ends it. */
static size_t code_length(struct view v)
{
	size_t len = ticks(v), at = len, n;

	if (len > CODE_RUN)
		return 0;
	while (at < v.n) {
		at += view_find(view_from(v, at), '`');
		n = ticks(view_from(v, at));
		at += n;
		if (n == len)
			return at;
	}
	return 0;
}

/* Is there a run of backticks in the text that a later line could close? */
static bool code_open(struct view v)
{
	for (size_t at = view_find(v, '`'); at < v.n; at += view_find(view_from(v, at), '`')) {
		size_t n = code_length(view_from(v, at));

		if (n == 0 && ticks(view_from(v, at)) <= CODE_RUN)
			return true;
		at += n > 0 ? n : ticks(view_from(v, at));
	}
	return false;
}

/* An end tag that nothing began. Alone on its line and the first of all, it ends what came before.
 */
static void orphan(struct think_filter *t, struct view v, size_t at, size_t n)
{
	size_t next;
	bool starts = at == 0 ? !t->midline : v.p[at - 1] == '\n';

	if (!t->any && starts && is_blank_line(first_line(view_from(v, at + n), &next))) {
		t->orphan = t->total;
		t->eat = true;
	}
	t->any = true;
}

/* Whole lines of text, or what can be had of one, without their tags. Stops early where a hidden
 * block has given way to the beginning of a line, which may be a fence. Returns the bytes used. */
static size_t put_text(struct think_filter *t, struct view v, struct str *out)
{
	size_t at = 0, from = 0, n = 0;

	while (at < v.n) {
		char c = v.p[at];

		if (c != '<' && c != '`') {
			at++;
			continue;
		}
		if (c == '`') {
			n = code_length(view_from(v, at));
			at += n > 0 ? n : ticks(view_from(v, at));
			continue;
		}

		enum tag tag = read_tag(view_from(v, at), at > 0 ? v.p[at - 1] : ' ', false, &n);

		if (tag == TAG_NONE) {
			at++;
			continue;
		}
		put_out(t, view_cut(view_from(v, from), at - from), out);
		if (tag == TAG_CLOSE)
			orphan(t, v, at, n);
		at += n;
		if (tag == TAG_OPEN) {
			enter_hidden(t);
			at += skip_hidden(t, view_from(v, at), false);
		}
		from = at;
		if (!t->midline && at < v.n && v.p[at] != '<')
			return at;
	}
	put_out(t, view_from(v, from), out);
	return v.n;
}

/* --- Lines ----------------------------------------------------------------------------------- */

static struct view waiting(const struct think_filter *t)
{
	return view_from(str_view(&t->held), t->at);
}

/* The lines that waited are text, whatever comes. False when some of it is to be looked at anew. */
static bool flush(struct think_filter *t, struct str *out)
{
	struct view v = view_cut(waiting(t), t->seen);
	size_t used = v.n > 0 ? put_text(t, v, out) : 0;

	t->at += used;
	t->seen = t->lines = 0;
	return used == v.n && t->depth == 0;
}

/* A line longer than will be held: as much of it as surely holds no tag that goes on. */
static void put_long(struct think_filter *t, struct str *out)
{
	if (!flush(t, out))
		return;

	struct view v = view_cut(waiting(t), HELD_MAX - TAG_MAX - 2);
	size_t cut = v.n;

	for (size_t n = 1; n <= TAG_MAX + 2; n++) {
		if (v.p[v.n - n] == '<' || v.p[v.n - n] == '`')
			cut = v.n - n;
	}
	t->seen = cut;
	if (flush(t, out))
		t->midline = true;
}

/* n bytes of a whole line, its end included, behind those that wait. */
static void take_line(struct think_filter *t, size_t n, struct str *out)
{
	struct view line = view_cut(view_from(waiting(t), t->seen), n);
	struct view bare = line.p[line.n - 1] == '\n' ? view_cut(line, line.n - 1) : line;
	struct fence after = t->fence;
	enum line_kind kind = LINE_TEXT;

	if (t->seen > 0 || !t->midline)
		kind = fence_line(&after, bare);
	if (kind != LINE_TEXT && !flush(t, out))
		return;
	t->fence = after;
	if (kind == LINE_TEXT) {
		t->seen += n;
		t->lines++;
		if (t->lines >= CODE_LINES || t->seen >= HELD_MAX ||
			!code_open(view_cut(waiting(t), t->seen)))
			(void)flush(t, out);
		return;
	}
	t->at += n;
	put_out(t, line, out);
}

/* One step; false when more input is needed. */
static bool step(struct think_filter *t, bool more, struct str *out)
{
	struct view v = waiting(t), rest = view_from(v, t->seen);
	size_t n;

	if (v.n == 0)
		return false;
	if (t->depth > 0) {
		n = skip_hidden(t, v, more);
		t->at += n;
		return n > 0;
	}
	n = view_find(view_cut(rest, HELD_MAX), '\n');
	if (n == HELD_MAX) {
		put_long(t, out);
		return true;
	}
	if (n == rest.n && more)
		return false;
	if (rest.n > 0)
		take_line(t, n < rest.n ? n + 1 : n, out);
	else
		(void)flush(t, out);
	return true;
}

static int run(struct think_filter *t, bool more, struct str *out)
{
	while (step(t, more, out))
		;
	str_drop(&t->held, t->at);
	t->at = 0;
	return str_ok(out) && str_ok(&t->held) ? 0 : -1;
}

int think_feed(struct think_filter *t, struct view piece, struct str *out)
{
	/* In slices, so that what is held stays small however much comes at once. */
	while (piece.n > 0) {
		struct view slice = view_cut(piece, HELD_MAX);

		if (str_add(&t->held, slice) < 0 || run(t, true, out) < 0)
			return -1;
		piece = view_from(piece, slice.n);
	}
	return 0;
}

int think_end(struct think_filter *t, struct str *out)
{
	return run(t, false, out);
}
