/* base/net/httpd_head: what passes the guard of the HTTP server is one plain request, by rules that
 * are checked here a second way; chunks decode the same in any split. */
#include "fuzz.h"

#include "base/net/httpd_head.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

/* Lines of the head whose name is this one. */
static int count(struct view head, const char *name)
{
	int n = 0;

	for (size_t i = 0; i + strlen(name) < head.n; i++)
		n += head.p[i] == '\n' && strncasecmp(head.p + i + 1, name, strlen(name)) == 0 &&
		     i + 1 + strlen(name) < head.n && head.p[i + 1 + strlen(name)] == ':';
	return n;
}

static void is_one_plain_request(struct view text, const struct httpd_head *h)
{
	must(count(text, "Host") == 1 && h->host.p);
	must(count(text, "Content-Length") + count(text, "Transfer-Encoding") <= 1);
	must(h->chunked == (count(text, "Transfer-Encoding") == 1));
	must(count(text, "Origin") == (h->origin.p ? 1 : 0));
	must(count(text, "Authorization") == (h->auth.p ? 1 : 0));
	must(h->path.n > 0 && h->path.p[0] == '/');
	must(view_find(h->path, ' ') == h->path.n && view_find(h->path, '?') == h->path.n);
	must(h->method && view_starts(text, view_of(h->method)));
	must(text.p[strlen(h->method)] == ' ');
	must(h->nfields <= HTTPD_FIELDS_MAX);
	for (size_t i = 0; i < text.n; i++) {
		must(text.p[i] != '\0');
		must(text.p[i] != '\n' || (i > 0 && text.p[i - 1] == '\r'));
		must(text.p[i] != '\r' || (i + 1 < text.n && text.p[i + 1] == '\n'));
	}
	for (size_t i = 0; i < h->nfields; i++) {
		must(h->fields[i].name.n > 0 &&
			view_find(h->fields[i].name, ' ') == h->fields[i].name.n);
		must(view_find(h->fields[i].value, '\r') == h->fields[i].value.n);
	}
}

static void decodes_to_text(struct view in)
{
	struct str out = STR_INIT(HTTPD_HEAD_MAX);

	if (httpd_decode(in, &out) == 0) {
		must(out.n <= in.n && utf8_valid(str_view(&out)));
		must(view_find(str_view(&out), '\0') == out.n);
	}
	str_release(&out);
}

struct body {
	struct str text;
	size_t used;
	int rc;
};

static void feed(struct body *b, struct view in, size_t step)
{
	struct httpd_chunks c = { 0 };
	size_t all = in.n;

	b->rc = 0;
	while (b->rc == 0 && in.n > 0) {
		struct view piece = view_cut(in, step), rest = piece;

		b->rc = httpd_chunks_feed(&c, &rest, &b->text);
		must(rest.n <= piece.n && (b->rc != 0 || rest.n == 0));
		in = view_from(in, piece.n - rest.n);
	}
	b->used = all - in.n;
}

static void decodes_chunks(struct view in)
{
	struct body whole = { .text = STR_INIT(300) };

	feed(&whole, in, in.n + 1);
	for (size_t step = 1; step <= 5; step += 2) {
		struct body b = { .text = STR_INIT(300) };

		feed(&b, in, step);
		must(b.rc == whole.rc);
		if (b.rc >= 0)
			must(b.used == whole.used &&
				view_eq(str_view(&b.text), str_view(&whole.text)));
		str_release(&b.text);
	}
	must(whole.text.n <= whole.used);
	str_release(&whole.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };
	struct httpd_head h;
	long whole = httpd_head_end(in, 0), n = 0;

	for (size_t i = 1; i <= in.n && n == 0; i++) {
		n = httpd_head_end(view_cut(in, i), i - 1);
		must(n <= 0 || (size_t)n == i);
	}
	/* A bad byte after the head is none of the head's. */
	must(n == whole);
	decodes_to_text(in);
	decodes_chunks(in);
	if (whole <= 0)
		return 0;
	in = view_cut(in, (size_t)whole);
	if (httpd_head_parse(in, &h) == 0)
		is_one_plain_request(in, &h);
	decodes_chunks(view_from((struct view){ (const char *)data, size }, (size_t)whole));
	return 0;
}
