#include <string.h>

#include "tools/exec/html-private.h"

#define PREFIX_MAX  512
#define QUOTES_MAX  8
#define INDENTS_MAX 16

/* What each line of a block begins with: signs of quotes, and the indent of a list. */
struct prefix {
	struct str first, rest;
};

static int at_most(int n, int most)
{
	return n < most ? n : most;
}

static void prefix_of(struct prefix *p, const struct html_block *b)
{
	int depth = at_most(b->lists, INDENTS_MAX);

	p->first = p->rest = STR_INIT(PREFIX_MAX);
	for (int i = 0; i < at_most(b->quotes, QUOTES_MAX); i++) {
		(void)str_adds(&p->first, "> ");
		(void)str_adds(&p->rest, "> ");
	}
	for (int i = 0; i < depth; i++) {
		bool own = i + 1 == depth && b->first;

		(void)str_adds(&p->rest, "  ");
		if (!own)
			(void)str_adds(&p->first, "  ");
		else if (b->number)
			(void)str_addf(&p->first, "%u. ", b->number);
		else
			(void)str_adds(&p->first, "- ");
	}
	if (depth == 0 && b->first)
		(void)str_adds(&p->first, "- ");
}

static void prefix_release(struct prefix *p)
{
	str_release(&p->first);
	str_release(&p->rest);
}

/* Each line of the text with its prefix. */
static void put_lines(struct str *out, const struct prefix *p, bool *begun, struct view text)
{
	do {
		size_t n = view_find(text, '\n');

		if (*begun)
			(void)str_addc(out, '\n');
		(void)str_add(out, str_view(*begun ? &p->rest : &p->first));
		(void)str_add(out,
			view_trim(view_cut(text, n)).n > 0 ? view_cut(text, n) : VIEW_NONE);
		*begun = true;
		text = view_from(text, n + 1);
	} while (text.n > 0);
}

/* A fence longer than any run of its sign in the text. */
static void put_fence(struct str *out, struct view code)
{
	size_t run = 0, longest = 2;

	for (size_t i = 0; i < code.n; i++) {
		run = code.p[i] == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	for (size_t i = 0; i <= longest && i < 64; i++)
		(void)str_addc(out, '`');
}

static void put_block(const struct html_doc *d, const struct html_block *b, struct str *out)
{
	struct view text = { d->arena.p + b->at, b->n };
	struct str fence = STR_INIT(128);
	struct prefix p;
	bool begun = false;

	prefix_of(&p, b);
	switch (b->kind) {
	case BLOCK_RULE: put_lines(out, &p, &begun, VIEW("---")); break;
	case BLOCK_HEADING:
		for (int i = 0; i < b->level; i++)
			(void)str_addc(&p.first, '#');
		(void)str_addc(&p.first, ' ');
		put_lines(out, &p, &begun, text);
		break;
	case BLOCK_CODE:
		put_fence(&fence, view_from(text, b->lang));
		put_lines(out, &p, &begun, str_view(&fence));
		(void)str_add(out, view_cut(text, b->lang));
		put_lines(out, &p, &begun, view_from(text, b->lang));
		put_lines(out, &p, &begun, str_view(&fence));
		break;
	case BLOCK_TEXT: put_lines(out, &p, &begun, text); break;
	}
	prefix_release(&p);
	str_release(&fence);
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* The table of figures or words that the box lies in; 0: none, or one that lays out a page. */
static uint32_t data_table(const struct html_doc *d, uint32_t node)
{
	uint32_t i = d->nodes[node].table;
	const struct html_node *t = &d->nodes[i];

	return i > 0 && !t->layout && t->rows > 1 && t->cells > 1 ? i : 0;
}

static void put_cell(const struct html_doc *d, const struct html_node *cell, struct str *out)
{
	const struct html_block *b = cell->block ? &d->blocks[cell->block - 1] : NULL;

	(void)str_addc(out, ' ');
	for (size_t i = 0; b && i < b->n; i++) {
		char c = d->arena.p[b->at + i];

		if (c == '|')
			(void)str_addc(out, '\\');
		(void)str_addc(out, c == '\n' ? ' ' : c);
	}
	(void)str_adds(out, " |");
}

static void put_row(const struct html_doc *d, uint32_t row, struct str *out)
{
	(void)str_addc(out, '|');
	for (uint32_t i = row + 1; i < d->nodes[row].end; i++)
		if (d->nodes[i].role == ROLE_CELL)
			put_cell(d, &d->nodes[i], out);
}

static void put_table(const struct html_doc *d, uint32_t table, struct str *out)
{
	bool begun = false;

	for (uint32_t i = table + 1; i < d->nodes[table].end; i++) {
		if (d->nodes[i].role != ROLE_ROW || d->nodes[i].cells == 0)
			continue;
		if (begun)
			(void)str_addc(out, '\n');
		put_row(d, i, out);
		for (uint32_t c = 0; !begun && c < d->nodes[i].cells; c++)
			(void)str_adds(out, c == 0 ? "\n|---|" : "---|");
		begun = true;
	}
}

/* --- The whole -------------------------------------------------------------------------------- */

/* As many whole lines as fit; false: not all did. */
static bool put_piece(struct str *out, struct view between, struct view piece)
{
	size_t room = out->max - out->n, n = piece.n;

	if (out->n == 0)
		between = VIEW_NONE;
	if (room < between.n)
		return false;
	if (n > room - between.n)
		for (n = room - between.n; n > 0 && piece.p[n] != '\n';)
			n--;
	if (n > 0) {
		(void)str_add(out, between);
		(void)str_add(out, view_cut(piece, n));
	}
	return n == piece.n;
}

void html_write(const struct html_doc *d, uint32_t box, struct str *out, bool *cut)
{
	struct str piece = STR_INIT(2 * HTML_OUT_MAX);
	uint32_t end = d->nodes[box].end, written = 0;

	for (uint32_t i = 0; i < d->nblocks; i++) {
		const struct html_block *b = &d->blocks[i];
		const struct html_node *n = &d->nodes[b->node];
		uint32_t table = n->cell ? data_table(d, b->node) : 0;
		bool close = b->lists > 0 && b->first && out->n > 0;

		if (b->node < box || b->node >= end || n->dropped || (table && table == written))
			continue;
		str_reset(&piece);
		if (table)
			put_table(d, table, &piece);
		else
			put_block(d, b, &piece);
		written = table ? table : written;
		if (!put_piece(out, close ? VIEW("\n") : VIEW("\n\n"), str_view(&piece)) ||
			!str_ok(&piece)) {
			*cut = true;
			break;
		}
	}
	str_release(&piece);
}
