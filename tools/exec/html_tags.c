#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/exec/html-private.h"

/* In the order of their names. */
static const struct html_tag tags[] = {
	{ "a", ROLE_LINK, 0 },
	{ "address", ROLE_PARA, 0 },
	{ "article", ROLE_MAIN, 0 },
	{ "aside", ROLE_NOISE, 0 },
	{ "audio", ROLE_NOISE, 0 },
	{ "b", ROLE_BOLD, 0 },
	{ "base", ROLE_BASE, 0 },
	{ "blockquote", ROLE_QUOTE, 0 },
	{ "body", ROLE_BOX, 0 },
	{ "br", ROLE_BREAK, 0 },
	{ "button", ROLE_NOISE, 0 },
	{ "canvas", ROLE_NOISE, 0 },
	{ "caption", ROLE_PARA, 0 },
	{ "center", ROLE_BOX, 0 },
	{ "code", ROLE_CODE, 0 },
	{ "dd", ROLE_PARA, 0 },
	{ "details", ROLE_BOX, 0 },
	{ "dialog", ROLE_NOISE, 0 },
	{ "div", ROLE_BOX, 0 },
	{ "dl", ROLE_BOX, 0 },
	{ "dt", ROLE_PARA, 0 },
	{ "em", ROLE_ITALIC, 0 },
	{ "embed", ROLE_NOISE, 0 },
	{ "fieldset", ROLE_BOX, 0 },
	{ "figcaption", ROLE_PARA, 0 },
	{ "figure", ROLE_BOX, 0 },
	{ "footer", ROLE_NOISE, 0 },
	{ "form", ROLE_FORM, 0 },
	{ "h1", ROLE_HEADING, 1 },
	{ "h2", ROLE_HEADING, 2 },
	{ "h3", ROLE_HEADING, 3 },
	{ "h4", ROLE_HEADING, 4 },
	{ "h5", ROLE_HEADING, 5 },
	{ "h6", ROLE_HEADING, 6 },
	{ "header", ROLE_HEADER, 0 },
	{ "hr", ROLE_RULE, 0 },
	{ "i", ROLE_ITALIC, 0 },
	{ "iframe", ROLE_NOISE, 0 },
	{ "img", ROLE_IMAGE, 0 },
	{ "input", ROLE_INPUT, 0 },
	{ "kbd", ROLE_CODE, 0 },
	{ "li", ROLE_ITEM, 0 },
	{ "listing", ROLE_PRE, 0 },
	{ "main", ROLE_MAIN, 0 },
	{ "map", ROLE_NOISE, 0 },
	{ "menu", ROLE_LIST, 0 },
	{ "meta", ROLE_META, 0 },
	{ "nav", ROLE_NOISE, 0 },
	{ "noscript", ROLE_NOISE, 0 },
	{ "object", ROLE_NOISE, 0 },
	{ "ol", ROLE_LIST, 1 },
	{ "option", ROLE_NOISE, 0 },
	{ "p", ROLE_PARA, 0 },
	{ "pre", ROLE_PRE, 0 },
	{ "samp", ROLE_CODE, 0 },
	{ "script", ROLE_SCRIPT, 0 },
	{ "section", ROLE_BOX, 0 },
	{ "select", ROLE_NOISE, 0 },
	{ "strong", ROLE_BOLD, 0 },
	{ "style", ROLE_NOISE, 0 },
	{ "summary", ROLE_PARA, 0 },
	{ "svg", ROLE_NOISE, 0 },
	{ "table", ROLE_TABLE, 0 },
	{ "td", ROLE_CELL, 0 },
	{ "template", ROLE_NOISE, 0 },
	{ "textarea", ROLE_NOISE, 0 },
	{ "th", ROLE_CELL, 0 },
	{ "title", ROLE_TITLE, 0 },
	{ "tr", ROLE_ROW, 0 },
	{ "tt", ROLE_CODE, 0 },
	{ "ul", ROLE_LIST, 0 },
	{ "video", ROLE_NOISE, 0 },
	{ "xmp", ROLE_PRE, 0 },
};

static int by_name(const void *name, const void *tag)
{
	return strcmp(name, ((const struct html_tag *)tag)->name);
}

const struct html_tag *html_tag(const char *name)
{
	static const struct html_tag unknown = { "", ROLE_INLINE, 0 };
	const struct html_tag *t =
		bsearch(name, tags, sizeof(tags) / sizeof(tags[0]), sizeof(tags[0]), by_name);

	return t ? t : &unknown;
}

static bool is_doubtful(struct view word)
{
	static const char *const words[] = { "ad", "ads", "advert", "advertisement", "breadcrumb",
		"breadcrumbs", "cookie", "cookies", "copyright", "footer", "menu", "modal", "nav",
		"navbar", "navigation", "newsletter", "pager", "pagination", "popup", "promo",
		"recommend", "recommended", "related", "share", "sharing", "sidebar", "social",
		"sponsor", "sponsored", "subscribe", "toolbar", "widget" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == word.n && strncasecmp(words[i], word.p, word.n) == 0)
			return true;
	return false;
}

bool html_doubtful(const char *words)
{
	while (*words) {
		size_t n = strcspn(words, " \t\r\n-_");

		if (n > 0 && is_doubtful((struct view){ words, n }))
			return true;
		words += n + (words[n] != '\0');
	}
	return false;
}
