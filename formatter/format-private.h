/* formatter/format-private.h: what the files of this room share.
 *
 * The way of a text: controls and hidden reasoning go first; shield.c wraps what Markdown must not
 * touch; cmark makes a tree of it; markdown.c walks the blocks and inline.c what is in them; a
 * style (native.c, plain.c) writes both; table.c adds the tables that CommonMark does not know. */
#ifndef FORMATTER_FORMAT_PRIVATE_H
#define FORMATTER_FORMAT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "formatter/formatter.h"

struct cmark_node;

/* Release a text that was put together on the side; its failure becomes that of `out`. */
void str_settle(struct str *part, struct str *out);
/* str_add() for where bytes flow: no call while there is room. */
static inline void put(struct str *s, struct view v)
{
	if (v.n == 0)
		return;
	if (s->failed || v.n >= s->cap - s->n) {
		(void)str_add(s, v);
		return;
	}
	memcpy(s->p + s->n, v.p, v.n);
	s->n += v.n;
	s->p[s->n] = '\0';
}
/* The first byte from `at` on that has an entry in the table. */
static inline size_t skip_to(const unsigned char table[256], struct view v, size_t at)
{
	const unsigned char *p = (const unsigned char *)v.p;

	while (at + 4 <= v.n &&
		!(table[p[at]] | table[p[at + 1]] | table[p[at + 2]] | table[p[at + 3]]))
		at += 4;
	while (at < v.n && !table[p[at]])
		at++;
	return at;
}
/* How many bytes like the one at `at` stand there; 0 at the end. */
static inline size_t run_of(struct view v, size_t at)
{
	size_t n = 0;

	while (at + n < v.n && v.p[at + n] == v.p[at])
		n++;
	return n;
}
/* Part of a view, no call either. */
static inline struct view part_of(struct view v, size_t from, size_t to)
{
	return (struct view){ v.p + from, to - from };
}

/* --- Characters (scan.c) ---------------------------------------------------------------------- */

bool ascii_alnum(char c);
bool ascii_punct(char c);
bool cp_space(uint32_t cp);                   /* also 0: no character, the edge of a line */
bool cp_punct(uint32_t cp);                   /* ASCII punctuation and Unicode's P classes */
bool cp_cjk(uint32_t cp);                     /* Han, kana, hangul: what is set without spaces */
uint32_t cp_at(struct view v, size_t at);     /* the character at a byte, 0 at the end */
uint32_t cp_before(struct view v, size_t at); /* the one that ends there, 0 at the start */
bool has_cjk(struct view v);
/* The bytes of the bare URL that begins at v.p (a scheme we know, or "www."), else 0. Punctuation
 * behind it, full-width too, and a bracket it did not open are not part of it. */
size_t url_length(struct view v);
bool has_unsafe(struct view v); /* does text_safe() have anything to do here? */

/* --- Shields (shield.c) ----------------------------------------------------------------------- */
/* Punctuation that Markdown must not read is swapped for a noncharacter (U+FDD0 + index), which no
 * input holds any more, and swapped back on the way out; in code all of it goes back exactly. A
 * backslash before a shielded character is a Markdown escape. */

#define SHIELD_SIZE 3 /* bytes of one */
enum {
	SHIELD_JOIN = '`', /* a letter to cmark's eye, nothing to ours */
	SHIELD_URL = '"',  /* a bare URL begins */
	SHIELD_URL_END = '\''
};
int shield(struct view md, struct str *out);
/* The character shielded at v.p, or 0. */
char shielded(struct view v);
bool shield_marks(char c); /* does that one stand for something else? */
/* The source as the author wrote it: for code, HTML and comparisons. */
void unshield(struct view v, struct str *out);

/* --- Fences (fence.c) ------------------------------------------------------------------------- */
/* Follows fenced code line by line, with the lists and quotes around it as far as they matter. */

enum line_kind { LINE_BLANK, LINE_TEXT, LINE_OPEN, LINE_BODY, LINE_CLOSE };
struct fence {
	char mark;     /* '`' or '~' of the open fence, 0: none */
	size_t len;    /* of its run */
	size_t prefix; /* bytes before the run on its line */
	size_t indent; /* columns its container takes */
	size_t quotes; /* quotes it is in */
	size_t item;   /* columns the innermost list item takes */
	bool after_blank;
};
enum line_kind fence_line(struct fence *f, struct view line); /* without its line end */
/* The first line of v, without its end; *next is what comes after the end. */
struct view first_line(struct view v, size_t *next);
bool is_blank_line(struct view line);
/* Bytes of the list marker at v.p with the white space behind it, 0 when there is none. */
size_t list_marker(struct view v);

/* --- Pieces (pieces.c) ------------------------------------------------------------------------ */
/* The parser gets at most so much at once: its work grows with the square on hostile input. Cut at
 * blank lines outside fences, before and behind fences. */
#define PIECE_MAX ((size_t)64 << 10)
enum piece_kind {
	PIECE_MARKDOWN,
	PIECE_CODE, /* one fence that is longer than PIECE_MAX */
	PIECE_RAW   /* a paragraph that is: nothing to cut it at */
};
struct piece {
	enum piece_kind kind;
	struct view text, info;
};
bool piece_next(struct view *rest, struct piece *p);

/* --- Arena (arena.c) -------------------------------------------------------------------------- */
/* A tree lives until the arena parses another text. */
struct arena;
int arena_open(struct arena **out); /* -1: memory */
void arena_close(struct arena **a);
/* NULL when memory or the ceiling is reached. The text must be valid UTF-8. */
struct cmark_node *arena_parse(struct arena *a, struct view md);

/* --- Page (page.c) ---------------------------------------------------------------------------- */
/* Lines on their way out: inside lists and quotes each begins with the prefix. */

#define PAGE_DEPTH 32 /* lists and quotes nested deeper are set flat */
struct page {
	struct str *out;
	struct str prefix;
	size_t marks[PAGE_DEPTH]; /* length of the prefix below each level */
	size_t depth, over;       /* levels; levels past the cap */
	size_t start;
	int gap; /* line ends owed before the next text: 0, 1, 2 */
};
void page_init(struct page *p, struct str *out);
void page_release(struct page *p);
void page_add(struct page *p, struct view v);   /* one line or a piece of it */
void page_lines(struct page *p, struct view v); /* may hold line ends */
void page_gap(struct page *p, int lines);       /* at least so many line ends come next */
/* Enter a container: `first` is written now, `rest` begins each further line. */
void page_push(struct page *p, struct view first, struct view rest);
void page_pop(struct page *p);

/* --- Inline content (inline.c) ---------------------------------------------------------------- */

enum {
	SPAN_LINE = 1,     /* one line: breaks become spaces */
	SPAN_NOBOLD = 2,   /* is set in bold as a whole */
	SPAN_MEASURE = 4,  /* as it is seen, for its width */
	SPAN_PREFIXED = 8, /* begins with PARAGRAPH_PREFIX, which goes */
	SPAN_TASK = 16,    /* the task box in front has been set */
	SPAN_ENTITIES = 32 /* the source may have named a control character */
};
/* White space to the inline parser, text to the block parser: makes a paragraph of anything. */
#define PARAGRAPH_PREFIX "\xe1\x9a\x80"

struct pairs { /* marks in a span's text that could pair up, though they are none */
	bool known, open;
	size_t under, stars, tildes, ticks; /* ticks: runs of them, code too */
	size_t strikes;                     /* pairs of ~~ that do strike something out */
};

struct span { /* the content of a paragraph, heading or cell */
	const struct style *style;
	struct str *out;
	unsigned flags;
	struct cmark_node *block; /* what it is made of: that, or else the text */
	struct view text;
	struct pairs pairs; /* by way of span_pairs() */
	size_t struck;      /* pairs of ~~ so far */
	bool strike, first;
	int links;        /* links that are open */
	size_t label;     /* where the open link's text begins in out */
	struct view href; /* of an open HTML link */
	uint64_t closed;  /* HTML tags that have an end, by way of closed_tags() */
	bool closed_known;
	struct str tmp;
};

struct style {
	const unsigned char *stops; /* bytes that put_char() is asked about */
	void (*put_char)(struct span *s, char c, struct view rest); /* rest begins behind c */
	void (*code)(struct span *s, struct view raw);
	void (*bold)(struct span *s, struct cmark_node *n, bool open);
	void (*italic)(struct span *s, struct cmark_node *n, bool open);
	void (*strike)(struct span *s);
	void (*link_open)(struct span *s, struct view url);
	void (*link_close)(struct span *s, struct view url);

	struct view quote, bullets[3]; /* per level; empty: the author's own */
	struct view rule, task[2];
	bool task_is_bullet; /* the box stands for the bullet */
	void (*heading)(struct page *p, int level, struct view text);
	void (*code_block)(struct page *p, struct view info, struct view body);
	bool pipes; /* tables that fit stay tables */
};
extern const struct style style_native, style_plain;

void inline_render(const struct style *st, struct cmark_node *block, unsigned flags,
	struct str *out);
/* A code span on its own, as a table's cell. */
void inline_code(const struct style *st, struct view raw, struct str *out);
/* Text that never was Markdown, made safe as the style does it. */
void inline_text(const struct style *st, struct view text, unsigned flags, struct str *out);
const struct pairs *span_pairs(struct span *s); /* counted when first asked for */
uint32_t inline_first(struct cmark_node *n);    /* the first character it shows, 0: none known */
uint32_t inline_after(struct cmark_node *n);    /* the first character behind it */
bool inline_cjk(struct cmark_node *n);          /* does the text right in it hold any? */
enum link_kind { LINK_WEB, LINK_SHOW, LINK_HIDE };
enum link_kind link_kind(struct view url);      /* may be opened; may be read; neither */
void put_url(struct view url, struct str *out); /* unshielded, on one line */

/* --- HTML (html.c) ---------------------------------------------------------------------------- */

enum html_kind {
	HTML_UNKNOWN, /* not HTML but a <placeholder>: shown */
	HTML_DROP,
	HTML_BREAK,
	HTML_SPACE,
	HTML_POWER,
	HTML_LINK,
	HTML_IMAGE
};
struct html_tag {
	enum html_kind kind;
	bool close;
	bool bare;    /* wants an end, has no attributes */
	uint64_t bit; /* its name's, for sets of them */
	size_t n;     /* bytes of it */
	struct view url, alt;
};
bool html_tag(struct view v, struct html_tag *t); /* v.p[0] is '<' */
/* "use <p> for": a tag without an end, where those in `closed` have one, is spoken of. */
bool html_is_named(const struct html_tag *t, uint64_t closed);
/* An HTML block as Markdown: known tags gone, line breaks where they stood. Shields stay. */
void html_text(struct view html, struct str *out);

/* --- Tables (table.c) ------------------------------------------------------------------------- */

#define TABLE_COLS  32
#define TABLE_CELLS 20000
struct table_source {
	struct view *lines; /* a paragraph's, containers stripped */
	size_t n;
	struct view refs;    /* the document's link definitions */
	struct arena *arena; /* for the trees of cells */
};
bool table_delimiter(struct view line, size_t *cols, char align[TABLE_COLS]);
/* Is there a table whose header is lines[at] or later? Its first line and the one behind it. */
bool table_find(const struct table_source *src, size_t at, size_t *head, size_t *end);
int table_render(const struct style *st, struct page *p, const struct table_source *src,
	size_t head, size_t end, size_t width);

/* --- Cuts (cuts.c) ---------------------------------------------------------------------------- */
/* How good it is to cut a text before a byte, worst first. */
enum cut {
	CUT_NONE,  /* inside a UTF-8 sequence: never */
	CUT_POINT, /* inside a grapheme cluster */
	CUT_URL,   /* inside a URL */
	CUT_ROW,   /* inside a table's row, a marker, a fence */
	CUT_SPAN,  /* inside bold, code, a link; before a closing bracket */
	CUT_CHAR,  /* inside a word */
	CUT_WORD,
	CUT_CLAUSE,
	CUT_SENTENCE,
	CUT_BODY, /* between lines of code, rows, lines of one list item */
	CUT_LINE,
	CUT_BLOCK,
	CUT_LEVELS
};
#define CUT_LEVEL   0x0f
#define CUT_VISIBLE 0x10 /* something that is seen begins at this byte */

struct fenced {                        /* a fence in the text */
	size_t open, body, close, end; /* its first line, its code, its last line, what follows */
	size_t run;                    /* where the backticks of its first line begin */
	struct view mark;              /* them */
	struct view lead, info;        /* what stands before and behind them */
	size_t last_visible;           /* where the last thing that is seen in it begins; 0: none */
	/* chunk.c's own: may it be torn, and what closing and opening it again costs at most. */
	bool tears;
	size_t close_cost, reopen_cost;
};
struct cuts {
	struct view text;
	unsigned char *at; /* text.n + 1 */
	struct fenced *fences;
	size_t nfences, cap;
};
int cuts_make(struct cuts *c, struct view text); /* -1: memory */
void cuts_release(struct cuts *c);

#endif
