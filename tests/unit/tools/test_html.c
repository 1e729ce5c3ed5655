/* Web pages to Markdown: what is kept, how it is written, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "tools/exec/html.h"

#define BASE VIEW("https://e.com/dir/page")

#define P40 \
	"A plain sentence that says something about the matter of the page, and then some more. "
#define PROSE "<p>" P40 P40 P40 "</p>"

static void read_page(struct html_page *p, const char *html)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, html_read(p, view_of(html), BASE, NULL, NULL, &e));
	assert_true(utf8_valid(str_view(&p->text)));
}

static void gives(const char *html, const char *markdown)
{
	struct html_page p;

	read_page(&p, html);
	assert_string_equal(str_cstr(&p.text), markdown);
	html_release(&p);
}

static void holds(const char *html, const char *in, const char *out)
{
	struct html_page p;

	read_page(&p, html);
	if (in && !strstr(str_cstr(&p.text), in))
		fail_msg("\"%s\" is not in: %s", in, str_cstr(&p.text));
	if (out && strstr(str_cstr(&p.text), out))
		fail_msg("\"%s\" is in: %s", out, str_cstr(&p.text));
	html_release(&p);
}

static void writes_each_element_as_markdown(void **state)
{
	static const struct {
		const char *html, *markdown;
	} rows[] = {
		{ "<p>one<p>two", "one\n\ntwo" },
		{ "<p> white \n space\t is  one </p>", "white space is one" },
		{ "<h1>Top</h1><h3>Low</h3>text", "# Top\n\n### Low\n\ntext" },
		{ "a<br>b<br/>c", "a\nb\nc" },
		{ "<p>a <b>bold</b> and <em>soft</em> <code>x = 1</code>.",
			"a **bold** and *soft* `x = 1`." },
		{ "<b></b>x<i> </i>y", "x y" },
		{ "<b>over<div>two</div></b>", "**over**\n\n**two**" },
		{ "<a href='/x?a=1#f'>there</a>", "[there](https://e.com/x?a=1)" },
		{ "<a href='../y'><b>bold</b> link</a>", "[**bold** link](https://e.com/y)" },
		{ "<a href='#top'>up</a> <a href='javascript:x()'>do</a> <a>none</a>",
			"up do none" },
		{ "<a href='/1'></a>text", "text" },
		{ "<a href='/1'><h2>Head</h2><p>Lead</p></a>",
			"## [Head](https://e.com/1)\n\n[Lead](https://e.com/1)" },
		{ "<ul><li>one<li>two<ul><li>deep</ul><li>three</ul>",
			"- one\n- two\n  - deep\n- three" },
		{ "<ol><li>one</li><li>two</li></ol><ol start=7><li>seven</ol>",
			"1. one\n2. two\n7. seven" },
		{ "<ul><li><p>first</p><p>more</p></li></ul>", "- first\n\n  more" },
		{ "<blockquote><p>said</p><p>again<br>and</p></blockquote>after",
			"> said\n\n> again\n> and\n\nafter" },
		{ "<pre>\nint  x;\n\n  y();\n</pre>", "```\nint  x;\n\n  y();\n```" },
		{ "<pre><code class='hljs language-c'>a < b\n</code></pre>", "```c\na < b\n```" },
		{ "<pre>``` inside</pre>", "````\n``` inside\n````" },
		{ "a<hr>b", "a\n\n---\n\nb" },
		{ "x <img src=a.png alt='A dog'> y <img src=b.png>", "x [image: A dog] y" },
		{ "&lt;b&gt; &amp; &copy; &#x4e2d;", "<b> & \xc2\xa9 \xe4\xb8\xad" },
		{ "<table><tr><th>a<th>b<tr><td>1|2<td>3</table>",
			"| a | b |\n|---|---|\n| 1\\|2 | 3 |" },
		{ "<table><caption>Cap</caption><tbody><tr><td>a<td><tr><td><div>c</div><td>d"
		  "</table>end",
			"Cap\n\n| a |  |\n|---|---|\n| c | d |\n\nend" },
		{ "<table><tr><td><p>one<p>two<td>side<tr><td>x<td>y</table>",
			"one\n\ntwo\n\nside\n\nx\n\ny" },
		{ "<table><tr><td><table><tr><td>in<td>ner<tr><td>1<td>2</table><td>o</table>",
			"| in | ner |\n|---|---|\n| 1 | 2 |\n\no" },
		{ "<dl><dt>term<dd>meaning</dl>", "term\n\nmeaning" },
		{ "<base href='https://o.org/d/'><a href=x>x</a>", "[x](https://o.org/d/x)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		gives(rows[i].html, rows[i].markdown);
}

static void leaves_out_what_is_not_content(void **state)
{
	static const char *const rows[] = {
		"<script>NOISE</script>",
		"<script type=x>if (a<b) '</div>NOISE';</script>",
		"<style>.NOISE{}</style>",
		"<nav>NOISE</nav>",
		"<header>NOISE</header>",
		"<footer><p>NOISE</footer>",
		"<aside>NOISE</aside>",
		"<noscript>NOISE</noscript>",
		"<template>NOISE</template>",
		"<svg><title>NOISE</title><text>NOISE</text></svg>",
		"<iframe>NOISE</iframe>",
		"<button>NOISE</button>",
		"<select><option>NOISE</select>",
		"<textarea>NOISE</textarea>",
		"<div hidden>NOISE</div>",
		"<div aria-hidden=true>NOISE</div>",
		"<div style='display: none'>NOISE</div>",
		"<span style='display:none'>NOISE</span>",
		"<div role=navigation>NOISE</div>",
		"<div class='left side-bar sidebar'>NOISE</div>",
		"<div id=cookie-notice>NOISE</div>",
		"<ul class='related'><li>NOISE</ul>",
		"<form><p>NOISE</p></form>",
		"<!-- NOISE -->",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str page = STR_INIT(8192);

		assert_int_equal(0, str_addf(&page, PROSE "%s<p>behind</p>" PROSE, rows[i]));
		holds(str_cstr(&page), "behind", "NOISE");
		str_release(&page);
	}
}

static void finds_the_main_content(void **state)
{
	(void)state;
	/* A box that says so. */
	holds("<div>AROUND " P40 "</div><main><h1>T</h1>" PROSE PROSE "</main>", "# T", "AROUND");
	holds("<div>AROUND</div><article>" PROSE PROSE "</article>", "plain sentence", "AROUND");
	/* The box with nine tenths of the text. */
	holds("<body><div>AROUND</div><div><div>" PROSE PROSE PROSE "</div></div>", "sentence",
		"AROUND");
	/* Two halves: neither is dropped. */
	holds("<div><div>FIRST" PROSE "</div><div>" PROSE "LAST</div></div>", "FIRST", NULL);
	holds("<div><div>FIRST" PROSE "</div><div>" PROSE "LAST</div></div>", "LAST", NULL);
	/* Links around the text. */
	holds("<main>" PROSE PROSE PROSE PROSE PROSE
	      "<ul><li><a href=1>AROUND</a><li><a href=2>two</a><li><a href=3>three</a>"
	      "<li><a href=4>four</a></ul><p>END</main>",
		"END", "AROUND");
	/* The head of an article is kept, a form that holds the page too. */
	holds("<article><header><h1>KEPT</h1></header>" PROSE PROSE "</article>", "# KEPT", NULL);
	holds("<body><form><input type=hidden><div>KEPT" PROSE PROSE "</div></form>", "KEPT", NULL);
	holds("<div class=widget>FIRST" PROSE "</div><div class=widget>" PROSE "LAST</div><p>x",
		"LAST", NULL);
	holds("<body class=social><div class=menu>KEPT" PROSE "</div>", "KEPT", NULL);
}

static void keeps_a_page_of_links(void **state)
{
	struct str page = STR_INIT(65536);

	(void)state;
	for (int i = 0; i < 60; i++)
		(void)str_addf(&page, "<li><a href=/n/%d>News of the day, number %d</a>", i, i);
	holds(str_cstr(&page), "- [News of the day, number 59](https://e.com/n/59)", NULL);
	str_release(&page);
}

static void tells_a_shell_from_a_page(void **state)
{
	static const struct {
		const char *html;
		enum html_kind kind;
	} rows[] = {
		{ "", HTML_EMPTY },
		{ "<html><body>  </body></html>", HTML_EMPTY },
		{ "<p>Hello", HTML_CONTENT },
		{ "<div id=root></div><script src=app.js></script>", HTML_SCRIPT },
		{ "<noscript>Turn it on</noscript><script></script><p>Loading", HTML_SCRIPT },
		{ "<script></script>" PROSE, HTML_CONTENT },
		{ "<p>Sign in<form><input name=u><input type=password></form>", HTML_LOGIN },
		{ "<p>Sign in<input TYPE=PASSWORD><script></script>", HTML_LOGIN },
		{ "<input type=password>" PROSE PROSE PROSE PROSE, HTML_CONTENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct html_page p;

		read_page(&p, rows[i].html);
		if (html_kind(&p) != rows[i].kind)
			fail_msg("row %zu: %d", i, (int)html_kind(&p));
		html_release(&p);
	}
}

static void says_what_the_page_says_of_itself(void **state)
{
	struct html_page p;

	(void)state;
	read_page(&p, "<head><title> A\n title </title><meta name=description content='About\nit'>"
		      "<meta http-equiv=Refresh content='0; url=/next'></head><title>No</title>");
	assert_string_equal(str_cstr(&p.title), "A title ");
	assert_string_equal(str_cstr(&p.about), "About it");
	assert_string_equal(str_cstr(&p.refresh), "https://e.com/next");
	html_release(&p);
}

static void leaves_out_a_tag_over_8_kib(void **state)
{
	(void)state;
	for (size_t over = 0; over < 2; over++) {
		struct str page = STR_INIT(65536);
		struct html_page p;

		(void)str_adds(&page, "<p>before</p><img alt=PICTURE src='");
		while (page.n - 13 < HTML_TAG_MAX + over - 2)
			(void)str_addc(&page, '>');
		(void)str_adds(&page, "'><p>after");
		read_page(&p, str_cstr(&page));
		assert_int_equal(p.left_out, over);
		assert_non_null(strstr(str_cstr(&p.text), "after"));
		assert_int_equal(strstr(str_cstr(&p.text), "PICTURE") != NULL, over == 0);
		html_release(&p);
		str_release(&page);
	}
}

/* Not in scripts, not in comments, and not by way of a quote that is none. */
static void sees_tags_where_the_parser_does(void **state)
{
	static const char *const rows[][2] = {
		{ "<p>before<script>if (a<b) {", "}</script><p>after" },
		{ "<p>before<!-- <a ", "--><p>after" },
		{ "<p>before<style>x<y", "</style><p>after" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str page = STR_INIT(65536);
		struct html_page p;

		(void)str_adds(&page, rows[i][0]);
		for (int n = 0; n < 10000; n++)
			(void)str_addc(&page, 'x');
		(void)str_adds(&page, rows[i][1]);
		read_page(&p, str_cstr(&page));
		assert_string_equal(str_cstr(&p.text), "before\n\nafter");
		assert_int_equal(p.left_out, 0);
		html_release(&p);
		str_release(&page);
	}
	gives("a<!-->b<!--->c<!-- x --!>d", "abcd");
	gives("<p title=\"a>b\">c", "c");
	gives("<p it's>c</p>d", "c\n\nd");
}

/* Deep, wide and endless pages end in their time, with what was there up to a limit. */
static void bounds_what_it_reads(void **state)
{
	static const char *const units[] = { "<div>", "<b>", "<table><tr><td>", "<ul><li>",
		"<a href=x>y</a>", "<blockquote>x", "<p>x", "</x>", "<", "<!--", "<a ", "&amp;",
		"<div class=menu>", "<table>", "<tr>", "<td>x", "<pre>`", "<script>", "</div><i>" };

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct str page = STR_INIT(HTML_IN_MAX);
		struct html_page p;
		struct err e = ERR_INIT;

		(void)str_adds(&page, "<p>begin</p>");
		while (page.n + 20 < (size_t)600000)
			(void)str_adds(&page, units[i]);
		assert_int_equal(0, html_read(&p, str_view(&page), BASE, NULL, NULL, &e));
		assert_true(p.text.n <= HTML_OUT_MAX);
		assert_non_null(strstr(str_cstr(&p.text), "begin"));
		html_release(&p);
		str_release(&page);
	}
}

static void ends_at_256_kib_of_markdown(void **state)
{
	struct str page = STR_INIT(HTML_IN_MAX);
	struct html_page p;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 40000; i++)
		(void)str_addf(&page, "<p>line %d", i);
	assert_int_equal(0, html_read(&p, str_view(&page), BASE, NULL, NULL, &e));
	assert_true(p.cut);
	assert_true(p.text.n <= HTML_OUT_MAX && p.text.n > HTML_OUT_MAX - 20);
	html_release(&p);

	/* 1,000 elements deep is read, deeper is not. */
	for (int deep = HTML_DEPTH - 3; deep <= HTML_DEPTH; deep += 3) {
		str_reset(&page);
		for (int i = 0; i < deep; i++)
			(void)str_adds(&page, "<b>");
		(void)str_adds(&page, "x");
		assert_int_equal(0, html_read(&p, str_view(&page), BASE, NULL, NULL, &e));
		assert_int_equal(p.cut, deep == HTML_DEPTH);
		html_release(&p);
	}
	str_release(&page);
}

static bool at_once(const void *arg)
{
	(void)arg;
	return true;
}

static void ends_when_it_is_told_to(void **state)
{
	struct html_page p;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, html_read(&p, VIEW("<p>text"), BASE, at_once, NULL, &e));
	assert_true(p.cut);
	assert_int_equal(p.text.n, 0);
	html_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_each_element_as_markdown),
		cmocka_unit_test(leaves_out_what_is_not_content),
		cmocka_unit_test(finds_the_main_content),
		cmocka_unit_test(keeps_a_page_of_links),
		cmocka_unit_test(tells_a_shell_from_a_page),
		cmocka_unit_test(says_what_the_page_says_of_itself),
		cmocka_unit_test(leaves_out_a_tag_over_8_kib),
		cmocka_unit_test(sees_tags_where_the_parser_does),
		cmocka_unit_test(bounds_what_it_reads),
		cmocka_unit_test(ends_at_256_kib_of_markdown),
		cmocka_unit_test(ends_when_it_is_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
