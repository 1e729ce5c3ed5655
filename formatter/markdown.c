#include "formatter/formatter.h"

#include <cmark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formatter/format-private.h"

#define TABLE_WIDTH 44                 /* cells of a phone's line: 22 Han characters */
#define REFS_MAX    ((size_t)2048)     /* link definitions that tables are given */
#define LINK_WORK   ((size_t)16 << 20) /* bytes that link definitions may grow to */

struct doc {
	const struct style *style;
	struct page page;
	size_t table_width;
	struct arena *tree, *part; /* the piece's tree, and that of a part of it */
	struct str src;            /* the piece, shielded */
	struct str text, refs, marker;
	struct view *lines; /* of src */
	size_t nlines, cap;
	struct view *para;      /* of the paragraph at hand */
	unsigned flags;         /* for every span */
	bool pipes;             /* there may be tables */
	size_t quotes, lists;   /* that we are in */
	int number[PAGE_DEPTH]; /* of the next item, per level */
	int rc;
};

/* --- The source ------------------------------------------------------------------------------ */

static int grow_lines(struct doc *d)
{
	size_t cap = d->cap > 0 ? 2 * d->cap : 256;
	struct view *lines = realloc(d->lines, cap * sizeof(*lines));

	if (lines)
		d->lines = lines;
	free(d->para);
	d->para = lines ? calloc(cap, sizeof(*d->para)) : NULL;
	if (!d->para)
		return -1;
	d->cap = cap;
	return 0;
}

static int index_lines(struct doc *d)
{
	struct view v = str_view(&d->src);
	size_t next = 0;

	for (d->nlines = 0; v.n > 0; v = part_of(v, next, v.n)) {
		if (d->nlines == d->cap && grow_lines(d) < 0)
			return -1;
		d->lines[d->nlines++] = first_line(v, &next);
	}
	return 0;
}

/* Line `number` of the source from byte `column` on, both as cmark counts, from 1. */
static struct view source_line(const struct doc *d, int number, int column)
{
	if (number < 1 || (size_t)number > d->nlines || column < 1)
		return VIEW_NONE;
	return view_from(d->lines[number - 1], (size_t)column - 1);
}

static struct view without_quotes(struct view line, size_t quotes)
{
	size_t at = 0;

	for (; at < line.n; at++) {
		if (line.p[at] == '>' && quotes > 0)
			quotes--;
		else if (line.p[at] != ' ' && line.p[at] != '\t')
			break;
	}
	return view_from(line, at);
}

/* Every reference costs a copy of its definition: few long or many short ones, not both. */
static void bound_links(struct str *src)
{
	struct str safe = STR_INIT(2 * FORMAT_IN_MAX);
	struct view v = str_view(src);
	size_t brackets = 0;

	if (v.n == 0 || !memmem(v.p, v.n, "]:", 2))
		return;
	for (size_t i = 0; i < v.n; i++)
		brackets += v.p[i] == ']';
	if (brackets <= LINK_WORK / v.n)
		return;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == ']' && v.p[i + 1] == ':')
			str_adds(&safe, "\\");
		str_addc(&safe, v.p[i]);
	}
	str_reset(src);
	str_add(src, str_view(&safe));
	str_settle(&safe, src);
}

/* A table's cells are parsed on their own and need the definitions too. */
static void collect_refs(struct doc *d)
{
	str_truncate(&d->refs, 0);
	if (!d->pipes || !memmem(d->src.p, d->src.n, "]:", 2))
		return;
	for (size_t i = 0; i < d->nlines; i++) {
		struct view line = without_quotes(d->lines[i], d->lines[i].n);

		if (line.n > 4 && line.p[0] == '[' && memmem(line.p, line.n, "]:", 2) &&
			d->refs.n + line.n < REFS_MAX) {
			str_add(&d->refs, line);
			str_addc(&d->refs, '\n');
		}
	}
}

/* --- Gaps ------------------------------------------------------------------------------------ */

/* In lists the author's blank lines are kept, elsewhere there is one between blocks. */
static bool in_list(cmark_node *n)
{
	return cmark_node_get_type(n) == CMARK_NODE_ITEM ||
	       cmark_node_get_type(cmark_node_parent(n)) == CMARK_NODE_ITEM;
}

static void begin_block(struct doc *d, cmark_node *n)
{
	struct view above = source_line(d, cmark_node_get_start_line(n) - 1, 1);

	if (in_list(n) && cmark_node_previous(n))
		page_gap(&d->page, is_blank_line(without_quotes(above, d->quotes)) ? 2 : 1);
}

static void end_block(struct doc *d, cmark_node *n)
{
	page_gap(&d->page, in_list(n) ? 1 : 2);
}

/* --- Paragraphs and tables ------------------------------------------------------------------- */

static void put_text(struct doc *d)
{
	struct view v = str_view(&d->text);

	while (v.n > 0 && (v.p[v.n - 1] == '\n' || v.p[v.n - 1] == ' '))
		v.n--;
	while (v.n > 0 && v.p[0] == '\n')
		v = view_from(v, 1);
	page_lines(&d->page, v);
	if (!str_ok(&d->text))
		d->rc = -1;
}

/* Text that never was Markdown, line by line. */
static void put_raw(struct doc *d, struct view v)
{
	size_t next;

	for (; v.n > 0; v = view_from(v, next)) {
		str_truncate(&d->text, 0);
		inline_text(d->style, first_line(v, &next), d->flags, &d->text);
		put_text(d);
		page_gap(&d->page, 1);
	}
}

/* Lines of a paragraph in front of a table or behind it, which cmark saw as one. */
static void put_lines(struct doc *d, const struct view *lines, size_t n)
{
	struct str tmp = STR_INIT(2 * FORMAT_IN_MAX);
	cmark_node *first;
	size_t body;

	str_add(&tmp, VIEW(PARAGRAPH_PREFIX));
	for (size_t i = 0; i < n; i++) {
		str_add(&tmp, lines[i]);
		str_addc(&tmp, '\n');
	}
	body = tmp.n;
	str_addc(&tmp, '\n');
	str_add(&tmp, str_view(&d->refs));
	first = str_ok(&tmp) ? arena_parse(d->part, str_view(&tmp)) : NULL;
	if (!first)
		d->rc = -1;
	first = cmark_node_first_child(first);
	if (first && cmark_node_get_type(first) == CMARK_NODE_PARAGRAPH &&
		(size_t)cmark_node_get_end_line(first) == n) {
		str_truncate(&d->text, 0);
		inline_render(d->style, first, d->flags | SPAN_PREFIXED, &d->text);
		put_text(d);
	} else {
		put_raw(d, view_from(view_cut(str_view(&tmp), body), sizeof(PARAGRAPH_PREFIX) - 1));
	}
	str_settle(&tmp, d->page.out);
}

static size_t paragraph_lines(struct doc *d, cmark_node *n)
{
	int from = cmark_node_get_start_line(n), to = cmark_node_get_end_line(n);
	size_t count = 0;

	if (from < 1 || to < from || (size_t)to > d->nlines)
		return 0;
	d->para[count++] = source_line(d, from, cmark_node_get_start_column(n));
	for (int i = from + 1; i <= to; i++)
		d->para[count++] = without_quotes(d->lines[i - 1], d->quotes);
	return count;
}

/* The tables in a paragraph, and the text around them; false when there is none. */
static bool put_tables(struct doc *d, cmark_node *n)
{
	struct table_source src = { d->para, 0, str_view(&d->refs), d->part };
	size_t at = 0, head, end;

	if (!d->pipes || cmark_node_get_end_line(n) == cmark_node_get_start_line(n))
		return false;
	src.n = paragraph_lines(d, n);
	for (; table_find(&src, at, &head, &end); at = end) {
		if (at > 0)
			page_gap(&d->page, 2);
		if (head > at) {
			put_lines(d, src.lines + at, head - at);
			page_gap(&d->page, 2);
		}
		if (table_render(d->style, &d->page, &src, head, end, d->table_width) < 0)
			d->rc = -1;
	}
	if (at > 0 && at < src.n) {
		page_gap(&d->page, 2);
		put_lines(d, src.lines + at, src.n - at);
	}
	return at > 0;
}

/* "[ ] " or "[x] " at the start of a list item: 1 or 2, else 0. */
static int task_state(cmark_node *para)
{
	cmark_node *item = para ? cmark_node_parent(para) : NULL, *text;
	struct view v;

	if (!item || cmark_node_get_type(item) != CMARK_NODE_ITEM || cmark_node_previous(para) ||
		cmark_node_get_type(para) != CMARK_NODE_PARAGRAPH)
		return 0;
	text = cmark_node_first_child(para);
	if (!text || cmark_node_get_type(text) != CMARK_NODE_TEXT)
		return 0;
	v = view_of(cmark_node_get_literal(text));
	if (view_starts(v, VIEW("[ ] ")))
		return 1;
	return view_starts(v, VIEW("[x] ")) || view_starts(v, VIEW("[X] ")) ? 2 : 0;
}

static void put_paragraph(struct doc *d, cmark_node *n)
{
	unsigned task = task_state(n) ? SPAN_TASK : 0;

	if (put_tables(d, n)) {
		end_block(d, n);
		return;
	}
	str_truncate(&d->text, 0);
	inline_render(d->style, n, d->flags | task, &d->text);
	put_text(d);
	end_block(d, n);
}

/* --- Other blocks ---------------------------------------------------------------------------- */

static bool ends_sentence(struct view v)
{
	static const struct view ends[] = { { "。", 3 }, { "！", 3 }, { "？", 3 }, { "：", 3 },
		{ "；", 3 }, { ".", 1 }, { "!", 1 }, { "?", 1 }, { ":", 1 } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (view_ends(v, ends[i]))
			return true;
	}
	return false;
}

static bool all_of(struct view v, char c)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] != c)
			return false;
	}
	return v.n > 0;
}

/* "---" right under a paragraph makes it a heading to Markdown, though a rule was meant. */
static bool is_ruled_text(const struct doc *d, cmark_node *n)
{
	int from = cmark_node_get_start_line(n);
	struct view text = source_line(d, from, cmark_node_get_start_column(n)), under;
	size_t lines = 0;

	if (view_starts(text, VIEW("#")))
		return false;
	/* The end that cmark tells is that of what follows. */
	do {
		lines++;
		under = view_trim(without_quotes(source_line(d, from + (int)lines, 1), d->quotes));
	} while (under.n > 0 && !all_of(under, '-') && !all_of(under, '='));
	return under.n > 2 && under.p[0] == '-' && (lines > 1 || ends_sentence(view_trim(text)));
}

static void put_heading(struct doc *d, cmark_node *n)
{
	bool ruled = is_ruled_text(d, n);

	str_truncate(&d->text, 0);
	inline_render(d->style, n, d->flags | (ruled ? 0U : SPAN_LINE), &d->text);
	if (ruled) {
		put_text(d);
		page_gap(&d->page, 2);
		page_add(&d->page, d->style->rule);
	} else if (view_trim(str_view(&d->text)).n > 0) {
		d->style->heading(&d->page, cmark_node_get_heading_level(n), str_view(&d->text));
	}
	if (!str_ok(&d->text))
		d->rc = -1;
	end_block(d, n);
}

static void put_code(struct doc *d, struct view info, struct view body)
{
	struct str safe = STR_INIT(FORMAT_IN_MAX);
	size_t next;

	str_truncate(&d->text, 0);
	if (body.n > 0 && memchr(body.p, 0xef, body.n)) {
		unshield(body, &d->text);
		body = str_view(&d->text);
	}
	while (view_ends(body, VIEW("\n")))
		body.n--;
	/* The info string may name a line end by an entity. */
	if (has_unsafe(info)) {
		(void)text_safe(info, TEXT_KEEP_LF, &safe);
		info = str_view(&safe);
	}
	info = view_trim(first_line(info, &next));
	if (view_trim(body).n > 0)
		d->style->code_block(&d->page, info, body);
	if (!str_ok(&d->text))
		d->rc = -1;
	str_settle(&safe, d->page.out);
}

static void put_code_node(struct doc *d, cmark_node *n)
{
	struct str info = STR_INIT(FORMAT_IN_MAX);

	unshield(view_of(cmark_node_get_fence_info(n)), &info);
	put_code(d, str_view(&info), view_of(cmark_node_get_literal(n)));
	str_settle(&info, d->page.out);
	end_block(d, n);
}

static void put_html(struct doc *d, cmark_node *n)
{
	struct str text = STR_INIT(FORMAT_OUT_MAX);
	struct view v, *lines;
	size_t count = 0, next;

	html_text(view_of(cmark_node_get_literal(n)), &text);
	for (size_t i = 0; i < text.n; i++)
		count += text.p[i] == '\n';
	lines = calloc(count + 1, sizeof(*lines));
	count = 0;
	for (v = str_view(&text); lines && v.n > 0; v = view_from(v, next)) {
		struct view line = view_trim(first_line(v, &next));

		if (line.n > 0)
			lines[count++] = line;
	}
	if (count > 0)
		put_lines(d, lines, count);
	if (!lines)
		d->rc = -1;
	free(lines);
	str_settle(&text, d->page.out);
	end_block(d, n);
}

/* --- Lists and quotes ------------------------------------------------------------------------ */

static int *item_number(struct doc *d)
{
	return &d->number[(d->lists - 1) % PAGE_DEPTH];
}

static void enter_list(struct doc *d, cmark_node *n)
{
	d->lists++;
	*item_number(d) = cmark_node_get_list_start(n);
}

static void put_bullet(struct doc *d, cmark_node *item, struct str *marker)
{
	struct view own =
		source_line(d, cmark_node_get_start_line(item), cmark_node_get_start_column(item));

	if (d->style->bullets[0].n > 0)
		str_add(marker, d->style->bullets[(d->lists - 1) % 3]);
	else if (own.n > 0 && own.p[0] == '*')
		str_adds(marker, "* ");
	else
		str_adds(marker, own.n > 0 && own.p[0] == '+' ? "+ " : "- ");
}

static void enter_item(struct doc *d, cmark_node *n)
{
	static const struct view blanks = { "                ", 16 };
	struct str *marker = &d->marker;
	cmark_node *list = cmark_node_parent(n);
	int task = task_state(cmark_node_first_child(n));
	bool bullet = cmark_node_get_list_type(list) != CMARK_ORDERED_LIST;
	size_t width;

	str_truncate(marker, 0);
	if (!bullet)
		str_addf(marker, "%d%c ", (*item_number(d))++,
			cmark_node_get_list_delim(list) == CMARK_PAREN_DELIM ? ')' : '.');
	else if (!task || !d->style->task_is_bullet)
		put_bullet(d, n, marker);
	width = utf8_count(str_view(marker));
	if (task)
		str_add(marker, d->style->task[task - 1]);
	page_push(&d->page, str_view(marker), view_cut(blanks, width > 0 ? width : 2));
	if (!str_ok(marker))
		d->rc = -1;
}

/* --- The walk -------------------------------------------------------------------------------- */

static void enter(struct doc *d, cmark_node *n)
{
	if (cmark_node_parent(n))
		begin_block(d, n);
	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_BLOCK_QUOTE:
		d->quotes++;
		page_push(&d->page, d->style->quote, d->style->quote);
		break;
	case CMARK_NODE_LIST: enter_list(d, n); break;
	case CMARK_NODE_ITEM: enter_item(d, n); break;
	case CMARK_NODE_CODE_BLOCK: put_code_node(d, n); break;
	case CMARK_NODE_HTML_BLOCK: put_html(d, n); break;
	case CMARK_NODE_PARAGRAPH: put_paragraph(d, n); break;
	case CMARK_NODE_HEADING: put_heading(d, n); break;
	case CMARK_NODE_THEMATIC_BREAK:
		/* Right under text it would make a heading of it. */
		if (cmark_node_previous(n))
			page_gap(&d->page, 2);
		page_add(&d->page, d->style->rule);
		end_block(d, n);
		break;
	default: break;
	}
}

static void leave(struct doc *d, cmark_node *n)
{
	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_BLOCK_QUOTE: d->quotes--; break;
	case CMARK_NODE_LIST: d->lists--; break;
	case CMARK_NODE_ITEM: break;
	default: return;
	}
	if (cmark_node_get_type(n) != CMARK_NODE_LIST)
		page_pop(&d->page);
	d->page.gap = 0; /* what its last block was owed does not count out here */
	end_block(d, n);
}

static bool holds_blocks(cmark_node *n)
{
	cmark_node_type t = cmark_node_get_type(n);

	return t == CMARK_NODE_DOCUMENT || t == CMARK_NODE_BLOCK_QUOTE || t == CMARK_NODE_LIST ||
	       t == CMARK_NODE_ITEM;
}

/* No recursion: the input decides how deep the tree is. */
static void walk(struct doc *d, cmark_node *root)
{
	cmark_node *n = root;

	while (n && d->rc == 0 && str_ok(d->page.out)) {
		bool blocks = holds_blocks(n);

		enter(d, n);
		if (blocks && cmark_node_first_child(n)) {
			n = cmark_node_first_child(n);
			continue;
		}
		if (blocks)
			leave(d, n);
		while (n && n != root && !cmark_node_next(n)) {
			n = cmark_node_parent(n);
			leave(d, n);
		}
		n = n == root ? NULL : cmark_node_next(n);
	}
}

/* "&#27;", "&rlm;": may an entity name what the filter in front could not see? */
static bool names_characters(struct view md)
{
	for (; md.n > 0; md = view_from(md, 1)) {
		md = view_from(md, view_find(md, '&'));
		if (md.n > 3 && (md.p[1] == '#' || ascii_alnum(md.p[1])) &&
			memchr(md.p, ';', md.n < 40 ? md.n : 40))
			return true;
	}
	return false;
}

static void put_markdown(struct doc *d, struct view md)
{
	cmark_node *root;

	str_truncate(&d->src, 0);
	if (shield(md, &d->src) < 0) {
		d->rc = -1;
		return;
	}
	bound_links(&d->src);
	d->pipes = memchr(md.p, '|', md.n) != NULL;
	d->flags = names_characters(md) ? SPAN_ENTITIES : 0U;
	if (!str_ok(&d->src) || index_lines(d) < 0) {
		d->rc = -1;
		return;
	}
	collect_refs(d);
	if (!str_ok(&d->refs))
		d->rc = -1;
	root = arena_parse(d->tree, str_view(&d->src));
	if (root)
		walk(d, root);
	else
		d->rc = -1;
}

static int put_pieces(struct doc *d, struct view md)
{
	struct piece p;

	while (d->rc == 0 && str_ok(d->page.out) && piece_next(&md, &p)) {
		page_gap(&d->page, 2);
		switch (p.kind) {
		case PIECE_MARKDOWN: put_markdown(d, p.text); break;
		case PIECE_CODE: put_code(d, p.info, p.text); break;
		case PIECE_RAW: put_raw(d, p.text); break;
		}
	}
	return d->rc < 0 || !str_ok(d->page.out) || !str_ok(&d->page.prefix) ? -1 : 0;
}

/* --- The whole ------------------------------------------------------------------------------- */

/* Controls and hidden reasoning go. *v may come to lie in one of the two buffers. */
static int clean(struct view *v, struct str *safe, struct str *open, struct err *e)
{
	struct think_filter *t = NULL;
	int rc = -1;

	if (has_unsafe(*v) || !utf8_valid(*v)) {
		if (text_safe(*v, TEXT_KEEP_LF | TEXT_KEEP_TAB, safe) < 0)
			return -1;
		*v = str_view(safe);
	}
	if (!think_needed(*v))
		return 0;
	if (think_open(&t, e) == 0 && think_feed(t, *v, open) == 0 && think_end(t, open) == 0) {
		*v = view_from(str_view(open), think_orphan(t));
		rc = 0;
	}
	think_close(&t);
	return rc;
}

int format_text(struct view markdown, const struct format_opts *o, struct str *out, struct err *e)
{
	struct str safe = STR_INIT(2 * FORMAT_IN_MAX), open = STR_INIT(2 * FORMAT_IN_MAX);
	struct doc d = {
		.style = o->mode == FORMAT_PLAIN ? &style_plain : &style_native,
		.table_width = o->table_cells > 0 ? (size_t)o->table_cells : TABLE_WIDTH,
		.src = STR_INIT(4 * FORMAT_IN_MAX),
		.text = STR_INIT(FORMAT_OUT_MAX),
		.refs = STR_INIT(REFS_MAX),
		.marker = STR_INIT(64),
	};
	int rc = -1;

	page_init(&d.page, out);
	if (markdown.n <= FORMAT_IN_MAX && arena_open(&d.tree) == 0 && arena_open(&d.part) == 0 &&
		clean(&markdown, &safe, &open, e) == 0)
		rc = put_pieces(&d, markdown);
	if (rc < 0)
		err_set(e, E_NOMEM, "the answer is too long to be formatted, or memory is short");
	page_release(&d.page);
	arena_close(&d.tree);
	arena_close(&d.part);
	free(d.lines);
	free(d.para);
	str_release(&d.src);
	str_release(&d.text);
	str_release(&d.refs);
	str_release(&d.marker);
	str_release(&safe);
	str_release(&open);
	return rc;
}
