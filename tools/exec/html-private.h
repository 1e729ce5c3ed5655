/* tools/exec/html-private.h: what the files of the converter share. html_tags.c knows the elements,
 * html_scan.c clears the way for the parser, html.c turns the parser's events into blocks and
 * boxes, html_pick.c chooses among them, html_write.c writes Markdown. */
#ifndef TOOLS_EXEC_HTML_PRIVATE_H
#define TOOLS_EXEC_HTML_PRIVATE_H

#include <stdint.h>

#include "tools/exec/html.h"

enum html_role {
	ROLE_INLINE, /* not known, or of no meaning here */
	ROLE_BOX,
	ROLE_MAIN, /* a box that says it is the content */
	ROLE_FORM, /* noise, unless the page lies in it */
	ROLE_PARA,
	ROLE_HEADING,
	ROLE_LIST,
	ROLE_ITEM,
	ROLE_QUOTE,
	ROLE_PRE,
	ROLE_TABLE,
	ROLE_ROW,
	ROLE_CELL,
	ROLE_LINK,
	ROLE_BOLD,
	ROLE_ITALIC,
	ROLE_CODE,
	ROLE_BREAK,
	ROLE_RULE,
	ROLE_IMAGE,
	ROLE_TITLE,
	ROLE_META,
	ROLE_BASE,
	ROLE_INPUT,
	ROLE_SCRIPT, /* noise that is counted */
	ROLE_HEADER, /* noise but for the head of an article */
	ROLE_NOISE
};

struct html_tag {
	const char *name;
	enum html_role role;
	int level; /* of a heading; 1: an ordered list */
};

const struct html_tag *html_tag(const char *name); /* never NULL */
/* Do these words of a class or id say that the box is beside the point? */
bool html_doubtful(const char *words);

/* Append the page without comments, control characters and tags over HTML_TAG_MAX (counted in
 * *left_out). */
int html_scan(struct view page, struct str *out, size_t *left_out);

/* A box; boxes stand in the order in which they begin, so that those within one are i..end-1. */
struct html_node {
	uint32_t parent, end;
	uint32_t table, cell; /* the nearest ones around or itself; 0: none */
	uint32_t text, links; /* bytes of text, of which in links; boxes within included */
	uint32_t nlinks;      /* links within */
	uint32_t rows, cells; /* of a table; cells of a row, and of a table's last row of several */
	uint32_t block;       /* of a cell: the number of its only block, counted from 1 */
	enum html_role role;
	bool doubtful, dropped;
	bool layout; /* of a table: it holds more than short texts */
};

enum html_block_kind { BLOCK_TEXT, BLOCK_HEADING, BLOCK_CODE, BLOCK_RULE };

struct html_block {
	size_t at, n;  /* its text in the arena */
	uint32_t node; /* the box it stands in */
	enum html_block_kind kind;
	int level;       /* of a heading */
	int quotes;      /* around it */
	int lists;       /* around it */
	uint32_t number; /* of the item in an ordered list; 0: a bullet */
	bool first;      /* the item begins with it */
	size_t lang;     /* of code: so many bytes at the beginning name its language */
};

struct html_doc {
	struct html_node *nodes; /* the first is the page */
	struct html_block *blocks;
	uint32_t nnodes, nodes_cap, nblocks, blocks_cap;
	struct str arena;
};

/* Mark what is dropped; returns the box that holds the content. */
uint32_t html_pick(struct html_doc *d);
/* Append the blocks of that box as Markdown, as many as fit; *cut: not all did. */
void html_write(const struct html_doc *d, uint32_t box, struct str *out, bool *cut);

#endif
