#include "formatter/format-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SPAN_MAX       400 /* bytes of bold, code or a label that are kept together if possible */
#define FENCE_LINE_MAX 48  /* bytes of a line that is taken for a fence where it is none */
#define TICKS          8   /* backticks that code kept together begins with */

struct marker {
	struct cuts *c;
	size_t at; /* the line at hand */
	struct view line;
	enum line_kind before; /* of the line above */
	bool heading;          /* the last text was a heading */
	int table;             /* rows of the table so far, 0: in none */
};

static void set(struct cuts *c, size_t at, enum cut level)
{
	c->at[at] = (unsigned char)((c->at[at] & CUT_VISIBLE) | level);
}

static void lower(struct cuts *c, size_t at, enum cut level)
{
	if ((c->at[at] & CUT_LEVEL) > level)
		set(c, at, level);
}

/* --- Inside a line --------------------------------------------------------------------------- */

static bool is_closing(uint32_t cp)
{
	static const char closing[] = ",.:;!?)]}%";

	if (cp < 0x80)
		return cp != 0 && strchr(closing, (int)cp) != NULL;
	switch (cp) {
	case 0x2019:
	case 0x201d:
	case 0x2026:
	case 0x3001:
	case 0x3002:
	case 0x3009:
	case 0x300b:
	case 0x300d:
	case 0x300f:
	case 0x3011:
	case 0x3015:
	case 0x3017:
	case 0xff01:
	case 0xff05:
	case 0xff09:
	case 0xff0c:
	case 0xff0e:
	case 0xff1a:
	case 0xff1b:
	case 0xff1f:
	case 0xff3d:
	case 0xff5d:
	case 0xff60:
	case 0xff61:
	case 0xff63:
	case 0xff64: return true;
	default: return false;
	}
}

static bool is_opening(uint32_t cp)
{
	switch (cp) {
	case '(':
	case '[':
	case '{':
	case 0x2018:
	case 0x201c:
	case 0x3008:
	case 0x300a:
	case 0x300c:
	case 0x300e:
	case 0x3010:
	case 0x3014:
	case 0x3016:
	case 0xff08:
	case 0xff3b:
	case 0xff5b:
	case 0xff5f:
	case 0xff62: return true;
	default: return false;
	}
}

static bool ends_sentence(uint32_t cp)
{
	return cp == '.' || cp == '!' || cp == '?' || cp == 0x3002 || cp == 0xff01 ||
	       cp == 0xff1f || cp == 0xff0e || cp == 0x2026;
}

static bool ends_clause(uint32_t cp)
{
	return cp == ',' || cp == ';' || cp == ':' || cp == 0xff0c || cp == 0xff1b ||
	       cp == 0xff1a || cp == 0x3001;
}

static bool is_wide(uint32_t cp)
{
	return cp_cjk(cp) || (cp >= 0x3000 && cp <= 0x303f) || (cp >= 0xff00 && cp <= 0xffef) ||
	       (cp >= 0x1f300 && cp <= 0x1faff);
}

/* What has been read of a line, as far as the next cut depends on it. */
struct context {
	enum cut end; /* CUT_SENTENCE or CUT_CLAUSE: one ended, closing marks may follow */
	bool wide;    /* its end needs no space behind it */
};

static enum cut level_between(struct context *x, uint32_t cp, uint32_t next)
{
	bool space = cp_space(cp);

	if (ends_sentence(cp) || ends_clause(cp)) {
		x->end = ends_sentence(cp) ? CUT_SENTENCE : CUT_CLAUSE;
		x->wide = cp >= 0x80;
	} else if (!space && !is_closing(cp) && cp != '"' && cp != '\'' && cp != '*') {
		x->end = CUT_WORD;
	}
	if (cp_space(next))
		return CUT_SPAN;
	if (space)
		return x->end;
	if (is_closing(next) || is_opening(cp))
		return CUT_SPAN;
	if (x->end > CUT_WORD && x->wide)
		return x->end;
	return is_wide(cp) || is_wide(next) ? CUT_WORD : CUT_CHAR;
}

/* Marks n bytes at `at`, one grapheme cluster. */
static void mark_cluster(struct cuts *c, size_t at, size_t n, bool visible)
{
	if (visible)
		c->at[at] |= CUT_VISIBLE;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)c->text.p[at + i] & 0xc0) != 0x80)
			set(c, at + i, CUT_POINT);
	}
}

static size_t cluster_at(struct view v, size_t at)
{
	unsigned char a = (unsigned char)v.p[at];

	if (a < 0x80 && a != '\r' && (at + 1 == v.n || (unsigned char)v.p[at + 1] < 0x80))
		return 1;
	return utf8_cluster(view_from(v, at));
}

static bool is_ticks(struct view v)
{
	return v.n > 2 && (v.p[0] == '`' || v.p[0] == '~') && v.p[1] == v.p[0] && v.p[2] == v.p[0];
}

/* Blanks, quote marks and list markers at the start of v. */
static size_t lead_span(struct view v)
{
	size_t at = 0, n;

	for (; at < v.n; at += n) {
		n = v.p[at] == ' ' || v.p[at] == '>' ? 1 : list_marker(view_from(v, at));
		if (n == 0)
			break;
	}
	return at;
}

static bool is_fence_run(struct view v)
{
	for (int i = 0; i < 8 && v.n > 0 && v.p[0] == ' '; i++)
		v = view_from(v, 1);
	return is_ticks(v);
}

/* Everything from `from` to `to` at one level, the position behind it not included. */
static void mark_flat(struct cuts *c, size_t from, size_t to, enum cut level, bool visible)
{
	struct view v = view_cut(c->text, to);

	for (size_t at = from, n; at < to; at += n) {
		n = cluster_at(v, at);
		mark_cluster(c, at, n, visible && !cp_space(cp_at(v, at)));
		if (at + n < to)
			set(c, at + n, is_fence_run(view_from(v, at + n)) ? CUT_POINT : level);
	}
}

static size_t url_at(struct view v, size_t at)
{
	switch (v.p[at] | 0x20) {
	case 'h':
	case 'f':
	case 'w': return at > 0 && ascii_alnum(v.p[at - 1]) ? 0 : url_length(view_from(v, at));
	default: return 0;
	}
}

/* A line that looks like a fence though it stands where it is none: too far in, or in code. */
static bool is_fence_line(struct view line)
{
	if (!is_fence_run(line) || line.n > FENCE_LINE_MAX)
		return false;
	while (line.n > 0 && line.p[0] == ' ')
		line = view_from(line, 1);
	if (line.p[0] == '~')
		return true;
	line = view_from(line, run_of(line, 0));
	return view_find(line, '`') == line.n;
}

/* Would a part that begins here begin with a heading, a quote, a row or a list item? */
static bool starts_block(struct view v)
{
	return v.n > 0 && (strchr("#>|", v.p[0]) || list_marker(v) > 0);
}

static void mark_text(struct cuts *c, size_t from, size_t to, enum cut most)
{
	struct view v = view_cut(c->text, to);
	struct context x = { CUT_WORD, false };
	size_t lead = from; /* the end of the last one, looked for once however long it is */
	enum cut level;

	for (size_t at = from, n; at < to; at += n) {
		n = url_at(v, at);
		if (n > 0) {
			mark_flat(c, at, at + n, CUT_URL, true);
			x.end = CUT_WORD;
			level = CUT_CHAR;
			if (is_closing(cp_at(v, at + n)) || cp_space(cp_at(v, at + n)))
				level = CUT_SPAN;
		} else {
			uint32_t cp = cp_at(v, at);

			n = cluster_at(v, at);
			mark_cluster(c, at, n, !cp_space(cp));
			level = level_between(&x, cp, cp_at(v, at + n));
		}
		if (level > CUT_ROW && starts_block(view_from(v, at + n)))
			level = CUT_ROW;
		if (lead < at + n)
			lead = at + n + lead_span(view_from(v, at + n));
		if (is_ticks(view_from(v, lead)))
			level = CUT_POINT;
		if (at + n < to)
			set(c, at + n, level < most ? level : most);
	}
}

static void keep_together(struct cuts *c, size_t from, size_t to)
{
	if (to - from > SPAN_MAX)
		return;
	for (size_t at = from + 1; at < to; at++)
		lower(c, at, CUT_SPAN);
}

/* Bold, code and links of one line are not torn if there is another place. */
static void mark_spans(struct cuts *c, size_t from, size_t to)
{
	struct view v = view_cut(c->text, to);
	size_t ticks[TICKS + 1] = { 0 }, bold = 0, label = 0, n;

	for (size_t at = from; at < to; at += n) {
		n = 1;
		if (v.p[at] == '`' || v.p[at] == '*')
			n = run_of(v, at);
		if (v.p[at] == '`' && n <= TICKS) {
			if (ticks[n] > 0)
				keep_together(c, ticks[n] - 1, at + n);
			ticks[n] = ticks[n] > 0 ? 0 : at + 1;
		} else if (v.p[at] == '*' && n == 2) {
			if (bold > 0)
				keep_together(c, bold - 1, at + n);
			bold = bold > 0 ? 0 : at + 1;
		} else if (v.p[at] == '[') {
			label = at + 1;
		} else if (v.p[at] == ']' && label > 0 && at + 2 < to && v.p[at + 1] == '(') {
			size_t url = url_length(view_from(v, at + 2));

			if (url > 0) {
				keep_together(c, label - 1, at + 2);
				lower(c, at + 2, CUT_SPAN);
				lower(c, at + 2 + url, CUT_SPAN);
			}
			label = 0;
		}
	}
}

/* --- Lines ----------------------------------------------------------------------------------- */

static size_t bullet_at(struct view v)
{
	static const struct view bullets[] = { { "• ", 4 }, { "◦ ", 4 }, { "▪ ", 4 }, { "☐ ", 4 },
		{ "☑ ", 4 }, { "│ ", 4 } };

	for (size_t i = 0; i < sizeof(bullets) / sizeof(bullets[0]); i++) {
		if (view_starts(v, bullets[i]))
			return bullets[i].n;
	}
	return list_marker(v);
}

/* Bytes of quote marks, list markers, boxes and the marks of a heading at the start of a line. */
static size_t lead_length(struct view line, bool *heading)
{
	size_t at = 0, n, hashes = 0;

	while (at < line.n) {
		if (line.p[at] == ' ' || line.p[at] == '\t' || line.p[at] == '>') {
			at++;
			continue;
		}
		n = bullet_at(view_from(line, at));
		if (n == 0)
			break;
		at += n;
	}
	while (at + hashes < line.n && line.p[at + hashes] == '#')
		hashes++;
	*heading = hashes > 0 && hashes <= 6 && at + hashes < line.n && line.p[at + hashes] == ' ';
	return *heading ? at + hashes + 1 : at;
}

static struct view row_of(struct view line)
{
	bool heading;

	return view_from(line, lead_length(line, &heading));
}

static bool is_delimiter(struct view line)
{
	char align[TABLE_COLS];
	size_t cols;

	return table_delimiter(row_of(line), &cols, align);
}

/* Is the line a row of a table? Its header is known by the line below. */
static bool in_table(struct marker *m, struct view below)
{
	if (!memchr(m->line.p, '|', m->line.n)) {
		m->table = 0;
	} else if (m->table > 0) {
		m->table++;
	} else if (memchr(below.p, '-', below.n) && is_delimiter(below)) {
		m->table = 1;
	}
	return m->table > 0;
}

static bool starts_deep(struct view line)
{
	return line.n > 0 && (line.p[0] == '\t' || view_starts(line, VIEW("    ")));
}

/* How good a cut is right before this line. */
static enum cut level_above(const struct marker *m, enum line_kind kind)
{
	switch (kind) {
	case LINE_BLANK: return CUT_SPAN;
	case LINE_CLOSE: return CUT_ROW;
	case LINE_BODY: return m->before == LINE_OPEN ? CUT_ROW : CUT_BODY;
	default: break;
	}
	if (m->heading)
		return CUT_SPAN;
	if (m->table > 1)
		return m->table > 3 ? CUT_BODY : CUT_ROW;
	/* A part that begins four columns in would begin with code. */
	if (starts_deep(m->line))
		return m->before == LINE_BLANK ? CUT_BODY : CUT_CLAUSE;
	if (m->before == LINE_BLANK)
		return CUT_BLOCK;
	if (kind == LINE_TEXT && m->line.n > 0 && m->line.p[0] == ' ' &&
		bullet_at(view_trim(m->line)) == 0)
		return CUT_BODY;
	return CUT_LINE;
}

static int add_fence(struct marker *m, const struct fence *f, size_t n)
{
	struct cuts *c = m->c;
	size_t cap = c->cap > 0 ? c->cap * 2 : 8;
	struct fenced *more;

	if (c->nfences == c->cap) {
		more = reallocarray(c->fences, cap, sizeof(*more));
		if (!more)
			return -1;
		c->fences = more;
		c->cap = cap;
	}
	c->fences[c->nfences++] = (struct fenced){
		.open = m->at,
		.body = m->at + n,
		.close = c->text.n,
		.end = c->text.n,
		.run = m->at + f->prefix,
		.mark = view_cut(view_from(m->line, f->prefix), f->len),
		.lead = view_cut(m->line, f->prefix),
		.info = view_trim(view_from(m->line, f->prefix + f->len)),
	};
	return 0;
}

static void mark_body(struct marker *m)
{
	struct fenced *f = &m->c->fences[m->c->nfences - 1];

	if (is_fence_line(row_of(m->line))) {
		mark_flat(m->c, m->at, m->at + m->line.n, CUT_ROW, false);
		return;
	}
	mark_text(m->c, m->at, m->at + m->line.n, CUT_WORD);
	for (size_t at = m->at + m->line.n; at > m->at; at--) {
		if (m->c->at[at - 1] & CUT_VISIBLE) {
			f->last_visible = at - 1;
			break;
		}
	}
}

static void mark_line(struct marker *m, struct view below)
{
	struct cuts *c = m->c;
	size_t end = m->at + m->line.n, lead;

	if (in_table(m, below)) {
		set(c, m->at, level_above(m, LINE_TEXT));
		mark_text(c, m->at, end, CUT_ROW);
		m->heading = false;
		return;
	}
	set(c, m->at, level_above(m, LINE_TEXT));
	lead = lead_length(m->line, &m->heading);
	if (is_fence_line(view_from(m->line, lead))) {
		mark_flat(c, m->at, end, CUT_ROW, false);
		return;
	}
	/* What combines with the last blank of it belongs to that. */
	if (lead > 0 && cluster_at(m->line, lead - 1) > 1)
		lead--;
	mark_flat(c, m->at, m->at + lead, CUT_ROW, true);
	if (lead > 0 && lead < m->line.n)
		set(c, m->at + lead, CUT_SPAN);
	mark_text(c, m->at + lead, end, CUT_SENTENCE);
	mark_spans(c, m->at + lead, end);
}

/* One line, n bytes with its end. */
static int mark(struct marker *m, struct fence *f, size_t n)
{
	struct cuts *c = m->c;
	size_t end = m->at + m->line.n, next;
	enum line_kind kind = fence_line(f, m->line);

	if (m->before == LINE_BODY || m->before == LINE_OPEN) {
		struct fenced *last = &c->fences[c->nfences - 1];

		if (kind == LINE_CLOSE) {
			last->close = m->at;
			last->end = m->at + n;
		} else if (kind != LINE_BODY) {
			last->close = last->end = m->at;
		}
	}
	if (kind == LINE_TEXT) {
		mark_line(m, first_line(view_from(c->text, m->at + n), &next));
	} else {
		set(c, m->at, level_above(m, kind));
		m->table = 0;
		if (kind != LINE_BLANK)
			m->heading = false;
		if (kind == LINE_OPEN && add_fence(m, f, n) < 0)
			return -1;
		if (kind == LINE_BODY)
			mark_body(m);
		else
			mark_flat(c, m->at, end, CUT_ROW, false);
	}
	if (n > m->line.n && m->line.n > 0)
		set(c, end, CUT_ROW); /* before the line end */
	m->before = kind;
	return 0;
}

int cuts_make(struct cuts *c, struct view text)
{
	struct marker m = { .c = c, .before = LINE_TEXT };
	struct fence f = { 0 };
	size_t n;

	*c = (struct cuts){ .text = text, .at = calloc(text.n + 1, 1) };
	if (!c->at)
		return -1;
	for (; m.at < text.n; m.at += n) {
		m.line = first_line(view_from(text, m.at), &n);
		if (mark(&m, &f, n) < 0)
			return -1;
	}
	set(c, text.n, CUT_BLOCK);
	return 0;
}

void cuts_release(struct cuts *c)
{
	free(c->at);
	free(c->fences);
	*c = (struct cuts){ .at = NULL };
}
