/* tools/exec/html.h: what a web page says, as Markdown, without what surrounds it.
 *
 * The page is read as a stream (libxml2, SAX) into blocks of text, in a tree of the boxes that
 * hold them. What is noise by its nature (scripts, navigation, forms' controls, hidden elements) is
 * never taken. Then the main content is chosen by how much text a box holds that is no link, and
 * its blocks are written down. Memory and time are bounded by the size of the input. */
#ifndef TOOLS_EXEC_HTML_H
#define TOOLS_EXEC_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define HTML_IN_MAX  ((size_t)2 << 20)
#define HTML_OUT_MAX ((size_t)256 << 10)
#define HTML_TAG_MAX 8192 /* bytes of one tag; longer ones are left out */
#define HTML_DEPTH   1000 /* elements within one another; the page ends there */

struct html_page {
	struct str title;    /* one line */
	struct str about;    /* the page's description of itself, one line */
	struct str refresh;  /* the address it sends its reader on to; "" none */
	struct str text;     /* Markdown */
	size_t words;        /* bytes of what can be read, links among it, white space not */
	size_t left_out;     /* tags over HTML_TAG_MAX */
	bool cut;            /* a limit was reached, the text is its beginning */
	bool scripts, login; /* it has scripts; it asks for a password */
};

enum html_kind {
	HTML_CONTENT,
	HTML_EMPTY,  /* nothing to read */
	HTML_SCRIPT, /* (almost) nothing without a browser that runs its scripts */
	HTML_LOGIN   /* little more than a form to sign in */
};

/* Loads what reads a page, ahead of a fence that keeps it from its files. html_read does so itself
 * where it has not been done. */
int html_prepare(struct err *e);
/* utf8: valid UTF-8, at most HTML_IN_MAX (more is left out). base: the page's own address, which
 * links are resolved against. over may be NULL; when it says true the page ends there, as cut. */
int html_read(struct html_page *out, struct view utf8, struct view base, bool (*over)(const void *),
	const void *arg, struct err *e);
void html_release(struct html_page *p);
enum html_kind html_kind(const struct html_page *p);

#endif
