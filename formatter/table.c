/* Tables (GitHub's extension of Markdown), which cmark leaves as paragraphs: found in the source
 * lines, their cells parsed one by one, shown as a table or as one record a row. */
#include "formatter/format-private.h"

#include <cmark.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TICKS_MAX 32                  /* backticks that code in a cell may begin with */
#define KEYS_MAX  ((size_t)256 << 10) /* bytes that repeated headers may come to */

struct cell {
	struct view src;
	cmark_node *node; /* NULL: nothing in it needs the parser */
	size_t at, n;     /* what it comes to, in the pool */
	size_t width;
};

struct table {
	const struct style *style;
	struct page *page;
	size_t cols, rows;
	struct cell *cells;
	struct str pool, tmp;
	char align[TABLE_COLS];
	size_t widths[TABLE_COLS];
	size_t width; /* of the whole, with two columns between cells */
	bool bare;    /* the headers stand once, not in each record */
};

/* --- Finding --------------------------------------------------------------------------------- */

/* Bytes of the code span at v.p, or of the run of backticks if nothing ends it. */
static size_t code_or_ticks(struct view v, bool unclosed[TICKS_MAX + 1])
{
	size_t len = run_of(v, 0), at, n;

	if (len > TICKS_MAX || unclosed[len])
		return len;
	for (at = len; at < v.n; at += n) {
		at += view_find(view_from(v, at), '`');
		n = run_of(v, at);
		if (n == len)
			return at + n;
		if (n == 0)
			break;
	}
	unclosed[len] = true;
	return len;
}

/* Cuts a row at its pipes, not at those in code; an escaped one is shielded already. Cells past
 * `most` stay in the last one, so that nothing is lost. Returns their number. */
static size_t split_row(struct view line, struct view *cells, size_t most)
{
	static const unsigned char marks[256] = { ['`'] = 1, ['|'] = 1 };
	bool unclosed[TICKS_MAX + 1] = { false };
	size_t n = 0, from = 0, at;

	line = view_trim(line);
	if (line.n > 0 && line.p[0] == '|')
		from = 1;
	at = skip_to(marks, line, from);
	for (; at < line.n; at = skip_to(marks, line, at)) {
		if (line.p[at] == '`') {
			at += code_or_ticks(view_from(line, at), unclosed);
			continue;
		}
		if (n + 1 >= most && !is_blank_line(view_from(line, at + 1)))
			break;
		cells[n++] = view_trim(part_of(line, from, at));
		from = ++at;
		if (n == most)
			return n;
	}
	if (view_ends(line, VIEW("|")))
		line.n--;
	if (from < line.n && n < most)
		cells[n++] = view_trim(view_from(line, from));
	return n;
}

static bool delimiter_cell(struct view v, char *align)
{
	bool left = v.n > 0 && v.p[0] == ':', right = v.n > 1 && v.p[v.n - 1] == ':';
	size_t dashes = v.n - left - right;

	if (v.n == 0 || dashes == 0)
		return false;
	for (size_t i = left; i < left + dashes; i++) {
		if (v.p[i] != '-')
			return false;
	}
	*align = left && right ? 'c' : right ? 'r' : left ? 'l' : ' ';
	return true;
}

bool table_delimiter(struct view line, size_t *cols, char align[TABLE_COLS])
{
	struct view cells[TABLE_COLS + 1];
	size_t n;

	line = view_trim(line);
	if (line.n < 2 || !strchr("|:-", line.p[0]) || !memchr(line.p, '|', line.n))
		return false;
	n = split_row(line, cells, TABLE_COLS + 1);
	if (n == 0 || n > TABLE_COLS)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!delimiter_cell(cells[i], &align[i]))
			return false;
	}
	*cols = n;
	return true;
}

static bool has_pipe(struct view line)
{
	return memchr(line.p, '|', line.n) != NULL;
}

bool table_find(const struct table_source *src, size_t at, size_t *head, size_t *end)
{
	struct view cells[TABLE_COLS + 1];
	char align[TABLE_COLS];
	size_t cols, more;

	for (size_t i = at + 1; i < src->n; i++) {
		struct view above = src->lines[i - 1];

		if (!table_delimiter(src->lines[i], &cols, align) || !has_pipe(above) ||
			split_row(above, cells, TABLE_COLS + 1) != cols)
			continue;
		*head = i - 1;
		for (i++; i < src->n && has_pipe(src->lines[i]); i++) {
			/* The next table's header. */
			if (i + 1 < src->n && table_delimiter(src->lines[i + 1], &more, align))
				break;
		}
		*end = i;
		if ((*end - *head) * cols <= TABLE_CELLS)
			return true;
	}
	return false;
}

/* --- Cells ----------------------------------------------------------------------------------- */

static bool needs_parser(struct view v)
{
	static const unsigned char marks[256] = { ['*'] = 1,
		['_'] = 1,
		['`'] = 1,
		['['] = 1,
		['!'] = 1,
		['&'] = 1,
		['<'] = 1,
		['\\'] = 1 };

	return skip_to(marks, v, 0) < v.n;
}

/* "`name`" and nothing else, as so many cells are. */
static bool is_code(struct view v)
{
	return v.n > 2 && v.p[0] == '`' && view_find(view_from(v, 1), '`') == v.n - 2;
}

static int read_cells(struct table *t, const struct table_source *src, size_t head, size_t end)
{
	struct view row[TABLE_COLS];
	size_t at = 0;

	if (!table_delimiter(src->lines[head + 1], &t->cols, t->align))
		return -1;
	t->rows = end - head - 1;
	t->cells = calloc(t->rows * t->cols, sizeof(*t->cells));
	if (!t->cells)
		return -1;
	for (size_t i = head; i < end; i++) {
		if (i == head + 1)
			continue;

		size_t n = split_row(src->lines[i], row, t->cols);

		for (size_t c = 0; c < t->cols; c++)
			t->cells[at++].src = c < n ? row[c] : VIEW_NONE;
	}
	return 0;
}

/* One document for all cells that need the parser, a paragraph each. */
static int parse_cells(struct table *t, const struct table_source *src)
{
	cmark_node *p;
	size_t n = t->rows * t->cols, i;

	str_truncate(&t->tmp, 0);
	for (i = 0; i < n; i++) {
		if (!needs_parser(t->cells[i].src) || is_code(t->cells[i].src))
			continue;
		str_add(&t->tmp, VIEW(PARAGRAPH_PREFIX));
		str_add(&t->tmp, t->cells[i].src);
		str_add(&t->tmp, VIEW("\n\n"));
	}
	if (t->tmp.n == 0)
		return 0;
	str_add(&t->tmp, src->refs);
	p = str_ok(&t->tmp) ? arena_parse(src->arena, str_view(&t->tmp)) : NULL;
	if (!p)
		return -1;
	p = cmark_node_first_child(p);
	for (i = 0; i < n && p; i++) {
		if (needs_parser(t->cells[i].src) && !is_code(t->cells[i].src)) {
			t->cells[i].node = p;
			p = cmark_node_next(p);
		}
	}
	return 0;
}

static void render_cell(struct table *t, struct cell *c, unsigned flags)
{
	size_t at = t->pool.n;

	if (c->node)
		inline_render(t->style, c->node, flags | SPAN_LINE | SPAN_PREFIXED, &t->pool);
	else if (is_code(c->src))
		inline_code(t->style, part_of(c->src, 1, c->src.n - 1), &t->pool);
	else
		inline_text(t->style, c->src, SPAN_LINE, &t->pool);
	c->at = at;
	c->n = t->pool.n - at;
}

static struct view text_of(const struct table *t, size_t row, size_t col)
{
	const struct cell *c = &t->cells[row * t->cols + col];

	return view_cut(view_from(str_view(&t->pool), c->at), c->n);
}

static size_t width_of(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if ((unsigned char)v.p[i] >= 0x80)
			return utf8_width(v);
	}
	return v.n;
}

/* As it is seen: without the marks that the phone takes away. */
static size_t cell_width(struct table *t, const struct cell *c)
{
	struct view text = view_cut(view_from(str_view(&t->pool), c->at), c->n);

	if (!c->node)
		return width_of(text) - (is_code(text) && t->style->pipes ? 2 : 0);
	if (t->style == &style_plain)
		return width_of(text);
	str_truncate(&t->tmp, 0);
	inline_render(&style_plain, c->node, SPAN_LINE | SPAN_PREFIXED | SPAN_MEASURE, &t->tmp);
	return width_of(str_view(&t->tmp));
}

static void render_cells(struct table *t)
{
	for (size_t i = 0; i < t->rows * t->cols; i++)
		render_cell(t, &t->cells[i], SPAN_ENTITIES);
}

/* Column widths; false as soon as the table is wider than that. */
static bool measure(struct table *t, size_t most)
{
	t->width = 2 * (t->cols - 1);
	for (size_t i = 0; i < t->rows * t->cols && t->width <= most; i++) {
		struct cell *c = &t->cells[i];
		size_t *width = &t->widths[i % t->cols];

		c->width = cell_width(t, c);
		if (*width < c->width) {
			t->width += c->width - *width;
			*width = c->width;
		}
	}
	return t->width <= most;
}

/* --- As a table ------------------------------------------------------------------------------ */

static void put_delimiters(struct table *t)
{
	for (size_t c = 0; c < t->cols; c++) {
		switch (t->align[c]) {
		case 'c': page_add(t->page, VIEW("| :-: ")); break;
		case 'r': page_add(t->page, VIEW("| --: ")); break;
		case 'l': page_add(t->page, VIEW("| :-- ")); break;
		default: page_add(t->page, VIEW("| --- ")); break;
		}
	}
	page_add(t->page, VIEW("|"));
	page_gap(t->page, 1);
}

static void put_piped(struct table *t)
{
	for (size_t r = 0; r < t->rows; r++) {
		for (size_t c = 0; c < t->cols; c++) {
			page_add(t->page, VIEW("| "));
			page_add(t->page, text_of(t, r, c));
			page_add(t->page, VIEW(" "));
		}
		page_add(t->page, VIEW("|"));
		page_gap(t->page, 1);
		if (r == 0)
			put_delimiters(t);
	}
}

static void put_spaces(struct page *p, size_t n)
{
	while (n-- > 0)
		page_add(p, VIEW(" "));
}

static void put_aligned_row(struct table *t, size_t r)
{
	size_t owed = 0; /* spaces that are written only if something follows */

	for (size_t c = 0; c < t->cols; c++) {
		struct view text = text_of(t, r, c);
		size_t room = t->widths[c] - t->cells[r * t->cols + c].width, left = 0;

		if (t->align[c] == 'r')
			left = room;
		else if (t->align[c] == 'c')
			left = room / 2;
		owed += left;
		if (text.n > 0) {
			put_spaces(t->page, owed);
			page_add(t->page, text);
			owed = 0;
		}
		owed += room - left + 2 + (text.n > 0 ? 0 : t->cells[r * t->cols + c].width);
	}
	page_gap(t->page, 1);
}

static void put_aligned(struct table *t)
{
	for (size_t r = 0; r < t->rows; r++) {
		put_aligned_row(t, r);
		if (r > 0)
			continue;
		for (size_t i = 0; i < t->width; i++)
			page_add(t->page, VIEW("─"));
		page_gap(t->page, 1);
	}
}

/* --- As records ------------------------------------------------------------------------------ */

/* The colon belongs to the language of what stands before it. */
static struct view colon_after(const struct table *t, struct view key)
{
	uint32_t last = cp_before(key, key.n);

	return t->style->pipes || cp_cjk(last) || (last >= 0xff00 && last <= 0xffef) ? VIEW("：")
	                                                                             : VIEW(": ");
}

static struct view without_colon(struct view v)
{
	if (view_ends(v, VIEW("：")))
		v = view_cut(v, v.n - 3);
	else if (view_ends(v, VIEW(":")))
		v = view_cut(v, v.n - 1);
	return v;
}

/* Two columns: the first names the second. */
static void put_pair(struct table *t, size_t r)
{
	struct view key = without_colon(text_of(t, r, 0)), value = text_of(t, r, 1);

	if (key.n > 0) {
		page_add(t->page, t->style->pipes ? VIEW("**") : VIEW_NONE);
		page_add(t->page, key);
		page_add(t->page, t->style->pipes ? VIEW("**") : VIEW_NONE);
		if (value.n > 0)
			page_add(t->page, colon_after(t, key));
	}
	page_add(t->page, value);
}

/* More: each value behind its header, a line each. Two spaces at the end keep the line break. */
static void put_record(struct table *t, size_t r)
{
	bool any = false;

	for (size_t c = 0; c < t->cols; c++) {
		struct view key = without_colon(text_of(t, 0, c)), value = text_of(t, r, c);

		if (value.n == 0)
			continue;
		if (any) {
			page_add(t->page, t->style->pipes ? VIEW("  ") : VIEW_NONE);
			page_gap(t->page, 1);
		}
		any = true;
		if (key.n > 0 && !t->bare) {
			page_add(t->page, key);
			page_add(t->page, colon_after(t, key));
		}
		page_add(t->page, value);
	}
}

static bool row_is_empty(const struct table *t, size_t r)
{
	for (size_t c = 0; c < t->cols; c++) {
		if (text_of(t, r, c).n > 0)
			return false;
	}
	return true;
}

/* What the columns are called, as a line of its own. */
static void put_caption(struct table *t)
{
	struct view mark = t->style->pipes ? VIEW("**") : VIEW_NONE;
	bool any = false;

	page_add(t->page, mark);
	for (size_t c = 0; c < t->cols; c++) {
		struct view name = text_of(t, 0, c);

		page_add(t->page, any && name.n > 0 ? VIEW(" / ") : VIEW_NONE);
		page_add(t->page, name);
		any = any || name.n > 0;
	}
	page_add(t->page, mark);
	page_gap(t->page, t->style->pipes ? 2 : 1);
}

static bool has_caption(const struct table *t)
{
	return t->cols <= 2 || t->rows == 1 || t->bare;
}

static void put_records(struct table *t)
{
	bool bullets = t->style->pipes, few = t->cols <= 2;

	if (has_caption(t) && !row_is_empty(t, 0))
		put_caption(t);
	for (size_t r = 1; r < t->rows; r++) {
		if (row_is_empty(t, r))
			continue;
		if (bullets)
			page_push(t->page, VIEW("- "), VIEW("  "));
		if (t->cols == 1)
			page_add(t->page, text_of(t, r, 0));
		else if (t->cols == 2)
			put_pair(t, r);
		else
			put_record(t, r);
		if (bullets)
			page_pop(t->page);
		page_gap(t->page, bullets || few ? 1 : 2);
	}
}

/* A pipe inside a cell would cut it in two. */
static bool pipes_inside(const struct table *t)
{
	return t->style->pipes && memchr(t->pool.p, '|', t->pool.n);
}

/* Records set their keys in bold as a whole; bold in there would end it. */
static void render_keys(struct table *t)
{
	for (size_t r = 0; t->style->pipes && has_caption(t) && r < t->rows; r++) {
		for (size_t c = 0; c < (r == 0 ? t->cols : t->cols == 2); c++)
			render_cell(t, &t->cells[r * t->cols + c], SPAN_NOBOLD | SPAN_ENTITIES);
	}
}

static void put_table(struct table *t, size_t width)
{
	bool fits = t->pool.n > 0 && !pipes_inside(t) && measure(t, width);
	size_t header = 0;

	for (size_t c = 0; c < t->cols; c++)
		header += t->cells[c].n;
	t->bare = header > KEYS_MAX / t->rows;
	if (fits && t->style->pipes) {
		put_piped(t);
	} else if (fits) {
		put_aligned(t);
	} else {
		render_keys(t);
		put_records(t);
	}
}

int table_render(const struct style *st, struct page *p, const struct table_source *src,
	size_t head, size_t end, size_t width)
{
	struct table t = { .style = st,
		.page = p,
		.pool = STR_INIT(FORMAT_OUT_MAX),
		.tmp = STR_INIT(FORMAT_OUT_MAX) };
	int rc = -1;

	if (read_cells(&t, src, head, end) < 0 || parse_cells(&t, src) < 0)
		goto out;
	render_cells(&t);
	if (str_ok(&t.pool) && str_ok(&t.tmp)) {
		put_table(&t, width);
		rc = str_ok(&t.pool) && str_ok(&t.tmp) ? 0 : -1;
	}
out:
	free(t.cells);
	str_release(&t.pool);
	str_release(&t.tmp);
	return rc;
}
