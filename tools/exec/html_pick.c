#include "tools/exec/html-private.h"

#define FEW_BYTES   1000 /* a page with no more text than that is kept whole */
#define MAIN_BYTES  200  /* the least that a box which says it is the content must hold */
#define LINKS_LEAST 4    /* links of a box that is nothing but links */

/* Text that is no link. */
static uint32_t prose(const struct html_node *n)
{
	return n->text - n->links;
}

static void drop(struct html_doc *d, uint32_t i)
{
	uint32_t text = d->nodes[i].text, links = d->nodes[i].links, up = i;

	d->nodes[i].dropped = true;
	do {
		up = d->nodes[up].parent;
		d->nodes[up].text -= text;
		d->nodes[up].links -= links;
	} while (up > 0);
}

static bool is_beside(const struct html_doc *d, const struct html_node *n)
{
	return n->doubtful && (uint64_t)prose(n) * 3 < prose(&d->nodes[0]);
}

/* Boxes whose names say that they are beside the point go, unless a third of the page lies in one
 * of them, or half of it in all of them together. */
static void drop_doubtful(struct html_doc *d)
{
	uint64_t beside = 0;

	for (uint32_t i = 1; i < d->nnodes; i++)
		if (is_beside(d, &d->nodes[i])) {
			beside += prose(&d->nodes[i]);
			i = d->nodes[i].end - 1;
		}
	if (beside * 2 > prose(&d->nodes[0]))
		return;
	for (uint32_t i = 1; i < d->nnodes; i++)
		if (is_beside(d, &d->nodes[i])) {
			drop(d, i);
			i = d->nodes[i].end - 1;
		}
}

/* The page, or the box in it that says it is the content and holds a good part of the text. */
static uint32_t main_box(const struct html_doc *d)
{
	uint32_t best = 0, most = 0;

	for (uint32_t i = 1; i < d->nnodes; i++) {
		const struct html_node *n = &d->nodes[i];

		if (n->dropped) {
			i = n->end - 1;
			continue;
		}
		if (n->role == ROLE_MAIN && prose(n) > most) {
			best = i;
			most = prose(n);
		}
	}
	return most >= MAIN_BYTES && (uint64_t)most * 3 >= prose(&d->nodes[0]) ? best : 0;
}

/* One step towards the box that holds nine tenths of the text; box itself when there is none. */
static uint32_t inner_box(const struct html_doc *d, uint32_t box)
{
	uint32_t end = d->nodes[box].end;

	for (uint32_t i = box + 1; i < end; i = d->nodes[i].end) {
		const struct html_node *n = &d->nodes[i];
		bool plain = n->role == ROLE_BOX || n->role == ROLE_MAIN || n->role == ROLE_FORM;

		if (plain && !n->dropped &&
			(uint64_t)prose(n) * 10 >= (uint64_t)prose(&d->nodes[box]) * 9)
			return i;
	}
	return box;
}

/* Lists of links around the text. A page that is mostly links is an index, and keeps them. */
static void drop_links(struct html_doc *d, uint32_t box)
{
	const struct html_node *b = &d->nodes[box];

	if (b->text < FEW_BYTES || (uint64_t)b->links * 2 > b->text)
		return;
	for (uint32_t i = box + 1; i < b->end; i++) {
		const struct html_node *n = &d->nodes[i];

		if (n->dropped || (n->nlinks >= LINKS_LEAST &&
					  (uint64_t)n->links * 5 >= (uint64_t)n->text * 4)) {
			if (!n->dropped)
				drop(d, i);
			i = n->end - 1;
		}
	}
}

/* What lies in a dropped box is dropped with it; rows and cells are counted. */
static void settle(struct html_doc *d)
{
	for (uint32_t i = 1; i < d->nnodes; i++) {
		struct html_node *n = &d->nodes[i];

		n->dropped |= d->nodes[n->parent].dropped;
		if (n->role == ROLE_ROW)
			d->nodes[n->table].rows++;
		if (n->role == ROLE_CELL && ++d->nodes[n->parent].cells > 1)
			d->nodes[n->table].cells = d->nodes[n->parent].cells;
	}
}

uint32_t html_pick(struct html_doc *d)
{
	uint32_t box, inner;

	drop_doubtful(d);
	box = main_box(d);
	while (prose(&d->nodes[box]) > 0 && (inner = inner_box(d, box)) != box)
		box = inner;
	drop_links(d, box);
	settle(d);
	return box;
}
