#include "formatter/formatter.h"

#include <stdlib.h>

#include "base/text.h"
#include "formatter/format-private.h"

#define FENCE_LIMIT 64 /* from here on there is room to close a fence and open it again */

struct part {
	size_t at, n; /* in the text put out */
};

struct chunker {
	struct cuts cuts;
	size_t limit;
	struct str *out;
	struct part *parts;
	size_t n, cap;
	size_t fence; /* the first that ends behind where we are */
};

/* --- Fences ---------------------------------------------------------------------------------- */

/* Which fences may be torn: those that can be closed in one part and opened again in the next with
 * room to spare. The info string is repeated whole, else by its first word, else left out. */
static void weigh_fences(struct chunker *k)
{
	for (size_t i = 0; i < k->cuts.nfences; i++) {
		struct fenced *f = &k->cuts.fences[i];
		size_t lead = utf8_count(f->lead);

		if (utf8_count(f->info) > k->limit / 4)
			f->info = view_cut(f->info, view_find(f->info, ' '));
		if (utf8_count(f->info) > k->limit / 4)
			f->info = VIEW_NONE;
		f->close_cost = 1 + lead + f->mark.n;
		f->reopen_cost = 2 * lead + f->mark.n + utf8_count(f->info) + 1;
		f->tears =
			k->limit >= FENCE_LIMIT && f->close_cost + f->reopen_cost <= k->limit / 2;
	}
}

/* The fence that a cut at `at` would tear and that may be torn, among those from *i on; *i is where
 * to look next time. */
static const struct fenced *fence_at(const struct chunker *k, size_t at, size_t *i)
{
	while (*i < k->cuts.nfences && k->cuts.fences[*i].end <= at)
		++*i;
	if (*i == k->cuts.nfences)
		return NULL;

	const struct fenced *f = &k->cuts.fences[*i];

	return at > f->open && f->tears ? f : NULL;
}

/* Markers of a list item stand on its first line only. */
static void put_lead(struct str *out, struct view lead)
{
	uint32_t cp = 0;
	size_t n;

	for (; lead.n > 0; lead = view_from(lead, n > 0 ? n : 1)) {
		n = utf8_next(lead, &cp);
		str_addc(out, cp == '>' ? '>' : ' ');
	}
}

static bool at_line_start(const struct chunker *k, size_t at)
{
	return at > 0 && k->cuts.text.p[at - 1] == '\n';
}

static void put_reopened(struct chunker *k, const struct fenced *f, size_t at)
{
	put_lead(k->out, f->lead);
	str_add(k->out, f->mark);
	str_add(k->out, f->info);
	str_addc(k->out, '\n');
	if (!at_line_start(k, at))
		put_lead(k->out, f->lead);
}

static void put_closed(struct chunker *k, const struct fenced *f, size_t at)
{
	if (!at_line_start(k, at))
		str_addc(k->out, '\n');
	put_lead(k->out, f->lead);
	str_add(k->out, f->mark);
}

/* --- Where to cut ---------------------------------------------------------------------------- */

struct place {
	size_t at, count; /* the byte, and the code points of the part up to it; 0: none */
};

/* What is known of the part that begins at `from`. A place counts once something that is seen
 * stands on both sides of it: no part may be blank, or a bare fence. */
struct search {
	size_t from, base;
	struct place sure[CUT_LEVELS], open[CUT_LEVELS]; /* open: nothing seen behind it so far */
	size_t seen, nseen;    /* where the last thing that is seen begins; how many there are */
	size_t code_from;      /* where the fence at hand opens */
	size_t code_seen;      /* things seen in it */
	size_t end, end_count; /* how far the limit reaches */
};

static void note_place(struct search *s, enum cut level, size_t at, size_t count)
{
	if (s->open[level].at > 0 && s->open[level].at <= s->seen)
		s->sure[level] = s->open[level];
	s->open[level] = (struct place){ at, count };
}

/* May the part end at `at`, inside the code of f? Code must be seen before it and behind. */
static bool may_tear(const struct chunker *k, const struct search *s, const struct fenced *f,
	size_t at, size_t count)
{
	return at > f->body && at < f->close && at <= f->last_visible && s->code_seen > 0 &&
	       count + f->close_cost <= k->limit;
}

static void scan(const struct chunker *k, struct search *s)
{
	const struct cuts *c = &k->cuts;
	const struct fenced *f;
	size_t i = k->fence, count = s->base, at = s->from;

	while (at < c->text.n) {
		if (c->at[at] & CUT_VISIBLE) {
			s->seen = at;
			s->nseen++;
			s->code_seen++;
		}
		do
			at++;
		while ((c->at[at] & CUT_LEVEL) == CUT_NONE);
		if (++count > k->limit)
			return;
		f = fence_at(k, at, &i);
		if (f && f->open != s->code_from) {
			s->code_from = f->open;
			s->code_seen = 0;
		}
		if (s->nseen > 0 && (!f || may_tear(k, s, f, at, count)))
			note_place(s, c->at[at] & CUT_LEVEL, at, count);
		s->end = at;
		s->end_count = count;
	}
}

/* Places behind the last thing seen are good if the next part can carry the white space up to what
 * is seen next. */
static void settle(const struct chunker *k, struct search *s)
{
	const struct cuts *c = &k->cuts;
	size_t at = s->end, count = s->end_count, most = count + k->limit;

	while (at < c->text.n && !(c->at[at] & CUT_VISIBLE) && count < most) {
		count += (c->at[at + 1] & CUT_LEVEL) != CUT_NONE;
		at++;
	}

	bool more = at < c->text.n && (c->at[at] & CUT_VISIBLE);

	for (int l = CUT_POINT; l < CUT_LEVELS; l++) {
		struct place *p = &s->open[l];

		if (p->at > 0 && (p->at <= s->seen || (more && count - p->count < k->limit)))
			s->sure[l] = *p;
	}
}

static struct place best_from(const struct search *s, enum cut lowest, size_t count)
{
	for (int l = CUT_BLOCK; l >= (int)lowest; l--) {
		if (s->sure[l].at > 0 && s->sure[l].count >= count)
			return s->sure[l];
	}
	return (struct place){ 0, 0 };
}

static struct place last_of(const struct search *s, enum cut lowest, enum cut highest)
{
	struct place last = { 0, 0 };

	for (int l = (int)lowest; l <= (int)highest; l++) {
		if (s->sure[l].at > last.at)
			last = s->sure[l];
	}
	return last;
}

/* Code that fits into one part is rather left whole for the next; so are rows of a table. */
static bool keep_whole(const struct chunker *k, size_t at)
{
	size_t i = k->fence;
	const struct fenced *f = fence_at(k, at, &i);

	return !f || (f->end - f->open <= 4 * k->limit &&
			     utf8_count(view_cut(view_from(k->cuts.text, f->open),
				     f->end - f->open)) <= k->limit);
}

/* The best place in the second half of what the limit allows, else in its second quarter, else the
 * last one that tears nothing, else whatever there is. */
static size_t choose(const struct chunker *k, const struct search *s)
{
	static const struct {
		enum cut lowest, highest;
	} rest[] = { { CUT_CHAR, CUT_BLOCK }, { CUT_SPAN, CUT_SPAN }, { CUT_ROW, CUT_ROW },
		{ CUT_URL, CUT_URL }, { CUT_POINT, CUT_POINT } };
	struct place p = best_from(s, CUT_WORD, k->limit / 2);

	if (p.at > 0 && p.at == s->sure[CUT_BODY].at && keep_whole(k, p.at)) {
		struct place whole = best_from(s, CUT_LINE, k->limit / 4);

		p = whole.at > 0 ? whole : p;
	}
	if (p.at == 0)
		p = best_from(s, CUT_WORD, k->limit / 4);
	for (size_t i = 0; p.at == 0 && i < sizeof(rest) / sizeof(rest[0]); i++)
		p = last_of(s, rest[i].lowest, rest[i].highest);
	return p.at;
}

static size_t step_back(struct view v, size_t at, size_t chars)
{
	while (at > 0 && chars > 0) {
		at--;
		chars -= ((unsigned char)v.p[at] & 0xc0) != 0x80;
	}
	return at;
}

/* Behind the second mark of a run of backticks or tildes in from..end, 0 when there is none: what
 * is left is no fence on either side. */
static size_t break_fence(const struct chunker *k, size_t from, size_t end)
{
	struct view v = k->cuts.text;

	for (size_t at = from; at + 3 <= v.n && at + 2 < end; at++) {
		if ((v.p[at] == '`' || v.p[at] == '~') && v.p[at + 1] == v.p[at] &&
			v.p[at + 2] == v.p[at])
			return at + 2;
	}
	return 0;
}

/* There is no good place: more white space than a part can carry, or a fence's line that is longer
 * than the limit. The limit wins; only no part must look like a bare fence. */
static size_t force(const struct chunker *k, const struct search *s)
{
	size_t i = k->fence, at = s->end;
	const struct fenced *f = fence_at(k, s->seen, &i);

	/* Something seen goes with the white space behind it. */
	if (s->nseen > 1 && !f)
		return s->seen;
	if (s->nseen == 0 && break_fence(k, s->from, s->end) > 0)
		at = break_fence(k, s->from, s->end);
	i = k->fence;
	f = fence_at(k, at, &i);
	if (!f)
		return at;
	if (at <= f->body && f->open > s->from)
		return f->open;
	at = step_back(k->cuts.text, s->end, f->close_cost);
	if (at <= f->body && f->open > s->from)
		return f->open;
	return at > s->from ? at : s->end;
}

/* Where the part that begins at `from` ends. */
static size_t next_cut(const struct chunker *k, size_t from, size_t base)
{
	size_t i = k->fence, at;
	const struct fenced *f = fence_at(k, from, &i);
	struct search s = { .from = from,
		.base = base,
		.end = from,
		.code_from = f ? f->open : (size_t)-1 };

	scan(k, &s);
	if (s.end == k->cuts.text.n && s.nseen > 0)
		return s.end;
	settle(k, &s);
	at = choose(k, &s);
	return at > 0 ? at : force(k, &s);
}

/* --- Parts ----------------------------------------------------------------------------------- */

static int add_part(struct chunker *k, size_t at)
{
	size_t cap = k->cap > 0 ? k->cap * 2 : 8;

	if (k->n == k->cap) {
		struct part *more = reallocarray(k->parts, cap, sizeof(*more));

		if (!more)
			return -1;
		k->parts = more;
		k->cap = cap;
	}
	k->parts[k->n++] = (struct part){ at, k->out->n - at };
	return 0;
}

static int cut_all(struct chunker *k)
{
	struct view text = k->cuts.text;
	size_t from = 0, to;

	for (; from < text.n; from = to) {
		const struct fenced *f = fence_at(k, from, &k->fence);
		size_t i = k->fence, start = k->out->n;

		if (f)
			put_reopened(k, f, from);
		to = next_cut(k, from, utf8_count(view_from(str_view(k->out), start)));
		str_add(k->out, view_cut(view_from(text, from), to - from));
		f = to < text.n ? fence_at(k, to, &i) : NULL;
		if (f)
			put_closed(k, f, to);
		if (!str_ok(k->out) || add_part(k, start) < 0)
			return -1;
	}
	return 0;
}

static bool shows_something(const struct cuts *c)
{
	for (size_t i = 0; i < c->text.n; i++) {
		if (c->at[i] & CUT_VISIBLE)
			return true;
	}
	return false;
}

/* Code that holds nothing but what looks like fences is something to show after all. */
static bool shows_fences(struct cuts *c)
{
	bool any = false;

	for (size_t i = 0; i < c->nfences; i++) {
		struct fenced *f = &c->fences[i];

		for (size_t at = f->body; at < f->close; at++) {
			if ((c->at[at] & CUT_LEVEL) == CUT_NONE || cp_space(cp_at(c->text, at)))
				continue;
			c->at[at] |= CUT_VISIBLE;
			f->last_visible = at;
			any = true;
		}
	}
	return any;
}

static int hand_out(struct chunker *k, struct chunks *out)
{
	out->parts = calloc(k->n, sizeof(*out->parts));
	if (!out->parts)
		return -1;
	for (out->n = 0; out->n < k->n; out->n++) {
		const struct part *p = &k->parts[out->n];

		out->parts[out->n] = view_cut(view_from(str_view(&out->text), p->at), p->n);
	}
	return 0;
}

int chunk_text(struct view formatted, size_t limit, struct chunks *out, struct err *e)
{
	struct chunker k = { .limit = limit < 1 ? 1 : limit, .out = &out->text };
	int rc = -1;

	if (k.limit > CHUNK_LIMIT_MAX)
		k.limit = CHUNK_LIMIT_MAX;
	*out = (struct chunks){ .text = STR_INIT(2 * FORMAT_OUT_MAX) };
	if (cuts_make(&k.cuts, formatted) < 0)
		goto out;
	weigh_fences(&k);
	if (!shows_something(&k.cuts) && !shows_fences(&k.cuts)) {
		rc = 0;
		goto out;
	}
	if (cut_all(&k) == 0 && hand_out(&k, out) == 0)
		rc = 0;
out:
	cuts_release(&k.cuts);
	free(k.parts);
	if (rc < 0) {
		chunks_release(out);
		err_set(e, E_NOMEM, "no memory to cut the answer into parts");
	}
	return rc;
}

void chunks_release(struct chunks *c)
{
	free(c->parts);
	str_release(&c->text);
	*c = (struct chunks){ .parts = NULL, .text = STR_INIT(2 * FORMAT_OUT_MAX) };
}
