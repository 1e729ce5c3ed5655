#include <dlfcn.h>
#include <libxml/HTMLparser.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"
#include "tools/exec/html-private.h"

#define BOXES_MAX   65536u
#define BLOCKS_MAX  65536u
#define MARKS_MAX   32
#define LISTS_MAX   16
#define PIECE_BYTES 16384 /* handed to the parser at once */
#define BLOCK_MAX   65536 /* a block's text; what is longer goes on in another */
#define HREF_MAX    500   /* of a link that is worth its place */
#define TITLE_MAX   300
#define ABOUT_MAX   500
#define LANG_MAX    20

/* What is used of libxml2. */
struct library {
	__typeof__(htmlCreatePushParserCtxt) *create;
	__typeof__(htmlCtxtUseOptions) *use_options;
	__typeof__(htmlParseChunk) *parse;
	__typeof__(xmlStopParser) *stop;
	__typeof__(xmlFreeDoc) *free_doc;
	__typeof__(htmlFreeParserCtxt) *release;
};

/* An element that has begun. */
struct open {
	const xmlChar *name;
	const struct html_tag *tag;
	bool noise, box, mark; /* what its end takes back */
};

/* Emphasis or a link: its sign is written with the first text inside, and again after a break. */
struct mark {
	enum html_role role;
	bool on;
};

struct html {
	struct html_doc doc;
	struct html_page *page;
	struct str base;
	struct library xml;
	htmlParserCtxtPtr parser;

	struct open stack[HTML_DEPTH];
	int depth, noise, pre, quotes, articles;
	uint32_t node;
	struct mark marks[MARKS_MAX];
	int nmarks;
	struct str href;
	uint32_t lists[LISTS_MAX]; /* the item's number; 0: bullets */
	bool ordered[LISTS_MAX];
	int nlists;

	struct str cur; /* the block that is being read */
	uint32_t cur_text, cur_links;
	enum html_block_kind kind;
	int level;
	char lang[LANG_MAX + 1];
	bool space, item, in_title, had_title, stopped, no_memory;
};

static void stop(struct html *h)
{
	h->stopped = h->page->cut = true;
	h->xml.stop(h->parser);
}

static void fail(struct html *h)
{
	h->no_memory = true;
	stop(h);
}

/* --- Boxes ------------------------------------------------------------------------------------ */

static void *grow(void *array, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? *cap * 2 : 64;
	void *bigger = reallocarray(array, more, size);

	if (bigger)
		*cap = more;
	return bigger;
}

/* False: there are too many, what is inside belongs to the box around it. */
static bool box_open(struct html *h, enum html_role role, bool doubtful)
{
	struct html_doc *d = &h->doc;
	struct html_node *n, *up;

	if (d->nnodes == BOXES_MAX)
		return false;
	if (d->nnodes == d->nodes_cap) {
		struct html_node *bigger = grow(d->nodes, &d->nodes_cap, sizeof(*d->nodes));

		if (!bigger) {
			fail(h);
			return false;
		}
		d->nodes = bigger;
	}
	n = &d->nodes[d->nnodes];
	*n = (struct html_node){ .parent = h->node, .role = role, .doubtful = doubtful };
	if (d->nnodes > 0) {
		up = &d->nodes[h->node];
		if (role == ROLE_TABLE && up->table)
			d->nodes[up->table].layout = true;
		n->table = role == ROLE_TABLE ? d->nnodes : up->table;
		n->cell = role == ROLE_CELL ? d->nnodes : role == ROLE_TABLE ? 0 : up->cell;
	}
	h->node = d->nnodes++;
	return true;
}

static void box_close(struct html *h)
{
	struct html_node *n = &h->doc.nodes[h->node], *up = &h->doc.nodes[n->parent];

	n->end = h->doc.nnodes;
	if (n == up)
		return;
	up->text += n->text;
	up->links += n->links;
	up->nlinks += n->nlinks;
	h->node = n->parent;
}

/* --- Text ------------------------------------------------------------------------------------- */

static void add(struct html *h, struct view v)
{
	if (str_add(&h->cur, v) < 0)
		fail(h);
}

static void mark_sign(struct html *h, const struct mark *m, bool end)
{
	switch (m->role) {
	case ROLE_LINK:
		add(h, end ? VIEW("](") : VIEW("["));
		if (end)
			add(h, str_view(&h->href));
		if (end)
			add(h, VIEW(")"));
		break;
	case ROLE_BOLD: add(h, VIEW("**")); break;
	case ROLE_ITALIC: add(h, VIEW("*")); break;
	default: add(h, VIEW("`")); break;
	}
}

static bool in_link(const struct html *h)
{
	for (int i = 0; i < h->nmarks; i++)
		if (h->marks[i].role == ROLE_LINK)
			return true;
	return false;
}

static void marks_on(struct html *h)
{
	for (int i = 0; i < h->nmarks && !h->pre; i++) {
		if (!h->marks[i].on)
			mark_sign(h, &h->marks[i], false);
		h->marks[i].on = true;
	}
}

static void mark_off(struct html *h, struct mark *m)
{
	if (m->on)
		mark_sign(h, m, true);
	m->on = false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* A run of text without white space. */
static void add_word(struct html *h, struct view word)
{
	if (h->space && h->cur.n > 0 && h->cur.p[h->cur.n - 1] != '\n')
		add(h, VIEW(" "));
	h->space = false;
	marks_on(h);
	add(h, word);
	h->cur_text += (uint32_t)word.n;
	if (in_link(h))
		h->cur_links += (uint32_t)word.n;
}

static void add_pre(struct html *h, struct view text)
{
	/* The line end behind <pre> is no part of it. */
	if (h->cur.n == 0 && view_starts(text, VIEW("\n")))
		text = view_from(text, 1);
	add(h, text);
	for (size_t i = 0; i < text.n; i++)
		h->cur_text += !is_space(text.p[i]);
}

static uint32_t next_block(struct html *h)
{
	struct html_doc *d = &h->doc;

	if (d->nblocks == BLOCKS_MAX) {
		stop(h);
		return BLOCKS_MAX;
	}
	if (d->nblocks == d->blocks_cap) {
		struct html_block *bigger = grow(d->blocks, &d->blocks_cap, sizeof(*d->blocks));

		if (!bigger) {
			fail(h);
			return BLOCKS_MAX;
		}
		d->blocks = bigger;
	}
	return d->nblocks++;
}

/* A cell that holds more than a short text makes its table one that lays out the page. */
static void note_cell(struct html *h, const struct html_block *b, uint32_t number)
{
	struct html_node *cell = &h->doc.nodes[h->doc.nodes[h->node].cell];

	if (cell == h->doc.nodes)
		return;
	if (cell->block || b->kind != BLOCK_TEXT || b->lists || b->quotes || b->n > 400)
		h->doc.nodes[cell->table].layout = true;
	cell->block = number + 1;
}

static void put_block(struct html *h)
{
	uint32_t i = next_block(h);
	struct html_block *b;

	if (i == BLOCKS_MAX)
		return;
	b = &h->doc.blocks[i];
	*b = (struct html_block){ .at = h->doc.arena.n, .node = h->node, .kind = h->kind };
	b->level = h->level;
	b->quotes = h->quotes;
	b->lists = h->nlists;
	b->first = h->item;
	if (h->nlists > 0 && h->nlists <= LISTS_MAX && h->ordered[h->nlists - 1])
		b->number = h->lists[h->nlists - 1];
	if (h->kind == BLOCK_CODE && str_adds(&h->doc.arena, h->lang) == 0)
		b->lang = strlen(h->lang);
	if (str_add(&h->doc.arena, str_view(&h->cur)) < 0)
		stop(h);
	b->n = h->doc.arena.n - b->at;
	h->item = false;
	h->doc.nodes[h->node].text += h->cur_text;
	h->doc.nodes[h->node].links += h->cur_links;
	h->page->words += h->cur_text;
	note_cell(h, b, i);
}

static void trim_end(struct str *s, const char *what)
{
	while (s->n > 0 && strchr(what, s->p[s->n - 1]))
		str_truncate(s, s->n - 1);
}

/* The block is at its end. Marks that are on go on in the next one. */
static void flush(struct html *h)
{
	if (h->kind == BLOCK_CODE) {
		trim_end(&h->cur, "\n\r\t ");
	} else {
		for (int i = h->nmarks; i > 0; i--)
			mark_off(h, &h->marks[i - 1]);
		trim_end(&h->cur, "\n ");
	}
	if ((h->cur.n > 0 && h->cur_text > 0) || h->kind == BLOCK_RULE)
		put_block(h);
	str_reset(&h->cur);
	h->cur_text = h->cur_links = 0;
	h->space = false;
}

static void block_as(struct html *h, enum html_block_kind kind, int level)
{
	flush(h);
	h->kind = kind;
	h->level = level;
}

static void add_title(struct html *h, struct view text)
{
	for (size_t i = 0; i < text.n && h->page->title.n < TITLE_MAX; i++) {
		struct str *t = &h->page->title;

		if (!is_space(text.p[i]))
			(void)str_addc(t, text.p[i]);
		else if (t->n > 0 && t->p[t->n - 1] != ' ')
			(void)str_addc(t, ' ');
	}
}

static void on_text(void *arg, const xmlChar *bytes, int n)
{
	struct html *h = arg;
	struct view text = { (const char *)bytes, n > 0 ? (size_t)n : 0 };

	if (h->stopped)
		return;
	if (h->in_title) {
		add_title(h, text);
		return;
	}
	if (h->noise)
		return;
	if (h->cur.n > BLOCK_MAX)
		flush(h);
	if (h->pre) {
		add_pre(h, text);
		return;
	}
	while (text.n > 0) {
		size_t at = 0;

		while (at < text.n && is_space(text.p[at]))
			at++;
		h->space |= at > 0;
		text = view_from(text, at);
		for (at = 0; at < text.n && !is_space(text.p[at]);)
			at++;
		if (at > 0)
			add_word(h, view_cut(text, at));
		text = view_from(text, at);
	}
}

/* --- Elements --------------------------------------------------------------------------------- */

static const char *attr(const xmlChar **atts, const char *name)
{
	for (; atts && atts[0]; atts += 2)
		if (strcmp((const char *)atts[0], name) == 0)
			return atts[1] ? (const char *)atts[1] : "";
	return NULL;
}

static bool attr_is(const xmlChar **atts, const char *name, const char *value)
{
	const char *have = attr(atts, name);

	return have && strcasecmp(have, value) == 0;
}

/* Not meant to be seen, or beside the content by its own word. */
static bool is_aside(const xmlChar **atts)
{
	static const char *const roles[] = { "navigation", "banner", "contentinfo", "complementary",
		"search", "dialog", "alertdialog", "menu", "menubar" };
	const char *style = attr(atts, "style");

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (attr_is(atts, "role", roles[i]))
			return true;
	return attr(atts, "hidden") || attr_is(atts, "aria-hidden", "true") ||
	       (style && (strstr(style, "display:none") || strstr(style, "display: none")));
}

static bool is_noise(const struct html *h, const struct html_tag *tag, const xmlChar **atts)
{
	switch (tag->role) {
	case ROLE_NOISE:
	case ROLE_SCRIPT: return true;
	case ROLE_HEADER: return h->articles == 0;
	case ROLE_TITLE:
	case ROLE_META:
	case ROLE_BASE:
	case ROLE_INPUT: return false;
	/* Some pages hide their whole body until a script has run. */
	default: return h->depth > 2 && is_aside(atts);
	}
}

static bool is_doubt(const xmlChar **atts)
{
	const char *class = attr(atts, "class"), *id = attr(atts, "id");

	return (class && html_doubtful(class)) || (id && html_doubtful(id));
}

/* "language-c" or "lang-c" among the classes. */
static void take_lang(struct html *h, const xmlChar **atts)
{
	const char *class = attr(atts, "class"), *at = class ? strstr(class, "lang") : NULL;
	size_t n = 0;

	if (!at || (strncmp(at, "language-", 9) != 0 && strncmp(at, "lang-", 5) != 0))
		return;
	at = strchr(at, '-') + 1;
	for (; n < LANG_MAX && at[n] > ' ' && at[n] != '`' && at[n] < 0x7f; n++)
		h->lang[n] = at[n];
	if (n > 0)
		h->lang[n] = '\0';
}

static void take_meta(struct html *h, const xmlChar **atts)
{
	const char *content = attr(atts, "content"), *url;
	struct html_page *p = h->page;

	if (!content)
		return;
	if (p->about.n == 0 && (attr_is(atts, "name", "description") ||
				       attr_is(atts, "property", "og:description")))
		for (struct view v = view_trim(view_of(content)); v.n > 0; v = view_from(v, 1)) {
			if (p->about.n == ABOUT_MAX)
				break;
			(void)str_addc(&p->about, is_space(v.p[0]) ? ' ' : v.p[0]);
		}
	url = attr_is(atts, "http-equiv", "refresh") ? strcasestr(content, "url=") : NULL;
	if (url && p->refresh.n == 0)
		(void)url_resolve(str_view(&h->base), view_of(url + 4), &p->refresh, NULL);
}

static void take_base(struct html *h, const xmlChar **atts)
{
	struct str url = STR_INIT(URL_TEXT_MAX);
	const char *href = attr(atts, "href");

	if (href && url_resolve(str_view(&h->base), view_of(href), &url, NULL) == 0) {
		str_reset(&h->base);
		if (str_add(&h->base, str_view(&url)) < 0)
			fail(h);
	}
	str_release(&url);
}

static void take_image(struct html *h, const xmlChar **atts)
{
	const char *alt = attr(atts, "alt");
	struct view text = view_trim(view_of(alt));

	if (text.n == 0 || text.n > 300 || h->pre)
		return;
	add_word(h, VIEW("[image:"));
	h->space = true;
	on_text(h, (const xmlChar *)text.p, (int)text.n);
	add(h, VIEW("]"));
}

/* True when a mark was set that the element's end takes back. */
static bool mark_begin(struct html *h, enum html_role role, const xmlChar **atts)
{
	const char *href = attr(atts, "href");

	if (h->nmarks == MARKS_MAX || h->pre)
		return false;
	for (int i = 0; i < h->nmarks; i++)
		if (h->marks[i].role == role || h->marks[i].role == ROLE_CODE)
			return false;
	if (role == ROLE_LINK) {
		struct str url = STR_INIT(HREF_MAX);

		if (!href || href[0] == '#' ||
			url_resolve(str_view(&h->base), view_of(href), &url, NULL) < 0) {
			str_release(&url);
			return false;
		}
		str_release(&h->href);
		h->href = url;
		h->doc.nodes[h->node].nlinks++;
	}
	h->marks[h->nmarks++] = (struct mark){ .role = role };
	return true;
}

static void list_begin(struct html *h, const struct html_tag *tag, const xmlChar **atts)
{
	unsigned long long start = 1;
	const char *from = attr(atts, "start");

	flush(h);
	h->item = false;
	if (from && (parse_u64(view_of(from), &start) < 0 || start < 1 || start > 1000000))
		start = 1;
	if (h->nlists < LISTS_MAX) {
		h->lists[h->nlists] = (uint32_t)start - 1;
		h->ordered[h->nlists] = tag->level == 1;
	}
	h->nlists++;
}

static void item_begin(struct html *h)
{
	flush(h);
	h->item = true;
	if (h->nlists > 0 && h->nlists <= LISTS_MAX)
		h->lists[h->nlists - 1]++;
}

static bool is_box(enum html_role role)
{
	return role == ROLE_BOX || role == ROLE_MAIN || role == ROLE_FORM || role == ROLE_LIST ||
	       role == ROLE_QUOTE || role == ROLE_TABLE || role == ROLE_ROW || role == ROLE_CELL ||
	       role == ROLE_HEADER;
}

static void begin(struct html *h, struct open *o, const xmlChar **atts)
{
	switch (o->tag->role) {
	case ROLE_LIST: list_begin(h, o->tag, atts); break;
	case ROLE_ITEM: item_begin(h); break;
	case ROLE_HEADING: block_as(h, BLOCK_HEADING, o->tag->level); break;
	case ROLE_PRE:
		block_as(h, BLOCK_CODE, 0);
		h->lang[0] = '\0';
		take_lang(h, atts);
		h->pre++;
		break;
	case ROLE_CODE:
		if (h->pre)
			take_lang(h, atts);
		o->mark = mark_begin(h, ROLE_CODE, atts);
		break;
	case ROLE_LINK:
	case ROLE_BOLD:
	case ROLE_ITALIC: o->mark = mark_begin(h, o->tag->role, atts); break;
	case ROLE_BREAK:
		if (h->pre || (h->kind == BLOCK_TEXT && h->cur.n > 0))
			add(h, VIEW("\n"));
		h->space = false;
		break;
	case ROLE_RULE:
		block_as(h, BLOCK_RULE, 0);
		block_as(h, BLOCK_TEXT, 0);
		break;
	case ROLE_IMAGE: take_image(h, atts); break;
	case ROLE_QUOTE:
		flush(h);
		h->quotes++;
		break;
	case ROLE_MAIN: h->articles++; break;
	default: break;
	}
}

static void end(struct html *h, const struct open *o)
{
	switch (o->tag->role) {
	case ROLE_LIST:
		flush(h);
		h->item = false;
		h->nlists--;
		break;
	case ROLE_ITEM:
		flush(h);
		h->item = false;
		break;
	case ROLE_HEADING: block_as(h, BLOCK_TEXT, 0); break;
	case ROLE_PRE:
		block_as(h, BLOCK_TEXT, 0);
		h->pre--;
		break;
	case ROLE_QUOTE:
		flush(h);
		h->quotes--;
		break;
	case ROLE_MAIN: h->articles--; break;
	default: break;
	}
	if (o->mark)
		mark_off(h, &h->marks[--h->nmarks]);
}

static void on_begin(void *arg, const xmlChar *name, const xmlChar **atts)
{
	struct html *h = arg;
	struct open *o;

	if (h->stopped)
		return;
	if (h->depth == HTML_DEPTH) {
		stop(h);
		return;
	}
	o = &h->stack[h->depth++];
	*o = (struct open){ .name = name, .tag = html_tag((const char *)name) };
	o->noise = is_noise(h, o->tag, atts);
	h->page->scripts |= o->tag->role == ROLE_SCRIPT;
	h->page->login |= o->tag->role == ROLE_INPUT && attr_is(atts, "type", "password");
	if (o->tag->role == ROLE_TITLE && !h->noise)
		h->in_title = !h->had_title;
	h->space |= o->noise;
	h->noise += o->noise;
	if (h->noise)
		return;
	if (o->tag->role == ROLE_META)
		take_meta(h, atts);
	else if (o->tag->role == ROLE_BASE)
		take_base(h, atts);
	if (is_box(o->tag->role) || o->tag->role == ROLE_PARA)
		flush(h);
	if (is_box(o->tag->role))
		o->box = box_open(h, o->tag->role,
			o->tag->role == ROLE_FORM || (o->tag->role != ROLE_MAIN && is_doubt(atts)));
	begin(h, o, atts);
}

static void pop(struct html *h)
{
	struct open *o = &h->stack[--h->depth];

	if (o->tag->role == ROLE_TITLE && h->in_title) {
		h->in_title = false;
		h->had_title = true;
	}
	if (h->noise == 0) {
		end(h, o);
		if (is_box(o->tag->role) || o->tag->role == ROLE_PARA)
			flush(h);
		if (o->box)
			box_close(h);
	}
	h->noise -= o->noise;
}

/* The parser closes what it has opened, innermost first. */
static void on_end(void *arg, const xmlChar *name)
{
	struct html *h = arg;
	int at = h->depth;

	if (h->stopped)
		return;
	while (at > 0 && strcmp((const char *)h->stack[at - 1].name, (const char *)name) != 0)
		at--;
	while (at > 0 && h->depth >= at)
		pop(h);
}

/* --- The whole -------------------------------------------------------------------------------- */

static void parse(struct html *h, struct view page, bool (*over)(const void *), const void *arg)
{
	while (page.n > 0 && !h->stopped) {
		struct view piece = view_cut(page, PIECE_BYTES);

		if (over && over(arg)) {
			stop(h);
			return;
		}
		(void)h->xml.parse(h->parser, piece.p, (int)piece.n, 0);
		page = view_from(page, piece.n);
	}
	if (!h->stopped)
		(void)h->xml.parse(h->parser, NULL, 0, 1);
}

/* It stays loaded: whoever reads one page may read another. */
static int load(struct library *lib, struct err *e)
{
	static const struct {
		const char *name;
		size_t at;
	} calls[] = {
		{ "htmlCreatePushParserCtxt", offsetof(struct library, create) },
		{ "htmlCtxtUseOptions", offsetof(struct library, use_options) },
		{ "htmlParseChunk", offsetof(struct library, parse) },
		{ "xmlStopParser", offsetof(struct library, stop) },
		{ "xmlFreeDoc", offsetof(struct library, free_doc) },
		{ "htmlFreeParserCtxt", offsetof(struct library, release) },
	};
	void *so = dlopen(KAIRO_LIBXML2, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; so && i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(so, calls[i].name);

		if (!call)
			so = NULL;
		memcpy((char *)lib + calls[i].at, &call, sizeof(call));
	}
	return so ? 0
	          : err_set(e, E_UNSUPPORTED, "web pages cannot be read on this machine: %s",
			    dlerror());
}

int html_prepare(struct err *e)
{
	struct library lib;

	return load(&lib, e);
}

static int open_parser(struct html *h, struct err *e)
{
	htmlSAXHandler sax = { .startElement = on_begin, .endElement = on_end };

	if (load(&h->xml, e) < 0)
		return -1;
	sax.characters = on_text;
	sax.cdataBlock = on_text;
	sax.ignorableWhitespace = on_text;
	h->parser = h->xml.create(&sax, h, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
	if (!h->parser)
		return err_set(e, E_NOMEM, "a page");
	(void)h->xml.use_options(h->parser, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR |
						    HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
						    HTML_PARSE_IGNORE_ENC);
	return 0;
}

static void finish(struct html *h)
{
	h->stopped = false; /* what is there is kept */
	while (h->depth > 0)
		pop(h);
	flush(h);
	while (h->node > 0)
		box_close(h);
	box_close(h);
	html_write(&h->doc, html_pick(&h->doc), &h->page->text, &h->page->cut);
}

static void html_init(struct html *h, struct html_page *page)
{
	const struct str cur = STR_INIT((size_t)4 << 20), arena = STR_INIT((size_t)8 << 20);
	const struct str url = STR_INIT(URL_TEXT_MAX);

	h->page = page;
	h->cur = cur;
	h->doc.arena = arena;
	h->base = h->href = url;
}

static void html_free(struct html *h)
{
	if (h->parser) {
		if (h->parser->myDoc)
			h->xml.free_doc(h->parser->myDoc);
		h->xml.release(h->parser);
	}
	free(h->doc.nodes);
	free(h->doc.blocks);
	str_release(&h->doc.arena);
	str_release(&h->cur);
	str_release(&h->base);
	str_release(&h->href);
	free(h);
}

int html_read(struct html_page *out, struct view utf8, struct view base, bool (*over)(const void *),
	const void *arg, struct err *e)
{
	struct html *h = calloc(1, sizeof(*h));
	struct str page = STR_INIT(HTML_IN_MAX);
	int rc = -1;

	*out = (struct html_page){ .cut = utf8.n > HTML_IN_MAX };
	out->title = out->about = STR_INIT(TITLE_MAX + ABOUT_MAX);
	out->refresh = STR_INIT(URL_TEXT_MAX);
	out->text = STR_INIT(HTML_OUT_MAX);
	if (!h)
		return err_set(e, E_NOMEM, "a page");
	html_init(h, out);
	if (str_add(&h->base, base) < 0 ||
		html_scan(view_cut(utf8, HTML_IN_MAX), &page, &out->left_out) < 0) {
		err_set(e, E_NOMEM, "a page");
		goto out;
	}
	if (open_parser(h, e) < 0)
		goto out;
	if (box_open(h, ROLE_BOX, false))
		parse(h, str_view(&page), over, arg);
	if (h->no_memory) {
		err_set(e, E_NOMEM, "a page");
		goto out;
	}
	finish(h);
	rc = 0;
out:
	html_free(h);
	str_release(&page);
	if (rc < 0)
		html_release(out);
	return rc;
}

void html_release(struct html_page *p)
{
	str_release(&p->title);
	str_release(&p->about);
	str_release(&p->refresh);
	str_release(&p->text);
}

#define SHELL_BYTES 200 /* with less to read than that, a page with scripts is a shell */
#define LOGIN_BYTES 600 /* and one that asks for a password a login */

enum html_kind html_kind(const struct html_page *p)
{
	if (p->login && p->words < LOGIN_BYTES)
		return HTML_LOGIN;
	if (p->scripts && p->words < SHELL_BYTES)
		return HTML_SCRIPT;
	return p->words == 0 ? HTML_EMPTY : HTML_CONTENT;
}
