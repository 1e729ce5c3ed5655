#include "base/url.h"

#include <string.h>
#include <strings.h>

/* The five parts of RFC 3986, 3, but the fragment. */
struct parts {
	struct view scheme, authority, path, query;
	bool has_authority, has_query;
};

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Bytes ahead of the colon that ends a scheme; 0: there is none. */
static size_t scheme_span(struct view v)
{
	size_t n = 0;

	if (v.n == 0 || !is_alpha(v.p[0]))
		return 0;
	while (n < v.n && (is_alpha(v.p[n]) || (v.p[n] >= '0' && v.p[n] <= '9') || v.p[n] == '+' ||
				  v.p[n] == '-' || v.p[n] == '.'))
		n++;
	return n < v.n && v.p[n] == ':' ? n : 0;
}

static struct parts split(struct view v)
{
	struct parts p = { .scheme = VIEW_NONE };
	size_t n;

	v = view_cut(v, view_find(v, '#'));
	n = scheme_span(v);
	if (n > 0) {
		p.scheme = view_cut(v, n);
		v = view_from(v, n + 1);
	}
	n = view_find(v, '?');
	p.has_query = n < v.n;
	p.query = view_from(v, n + 1);
	v = view_cut(v, n);
	if (view_starts(v, VIEW("//"))) {
		v = view_from(v, 2);
		n = view_find(v, '/');
		p.has_authority = true;
		p.authority = view_cut(v, n);
		v = view_from(v, n);
	}
	p.path = v;
	return p;
}

static bool is_scheme(struct view v, const char *name)
{
	return v.n == strlen(name) && strncasecmp(v.p, name, v.n) == 0;
}

/* Text as it may stand in an address. */
static int clean(struct view ref, struct str *out, struct err *e)
{
	while (ref.n > 0 && (unsigned char)ref.p[0] <= ' ')
		ref = view_from(ref, 1);
	while (ref.n > 0 && (unsigned char)ref.p[ref.n - 1] <= ' ')
		ref.n--;
	for (size_t i = 0; i < ref.n; i++) {
		unsigned char c = (unsigned char)ref.p[i];

		if (c == '\t' || c == '\n' || c == '\r')
			continue;
		if (c < ' ' || c == 0x7f)
			return err_set(e, E_FORMAT, "the address holds a control character");
		if (c == ' ' || c > 0x7f || strchr("\"<>\\^`{|}", c))
			(void)str_addf(out, "%%%02X", (unsigned)c);
		else
			(void)str_addc(out, (char)c);
	}
	return str_ok(out)
	               ? 0
	               : err_set(e, E_FORMAT, "the address is longer than %d bytes", URL_TEXT_MAX);
}

/* Drop the last segment of the path that begins at start. */
static void drop_segment(struct str *out, size_t start)
{
	size_t n = out->n;

	while (n > start && out->p[n - 1] != '/')
		n--;
	str_truncate(out, n > start ? n - 1 : start);
}

/* RFC 3986, 5.2.4. */
static void add_path(struct str *out, struct view path)
{
	size_t start = out->n;

	if (path.n == 0)
		(void)str_addc(out, '/');
	while (path.n > 0) {
		struct view rest = view_from(path, path.p[0] == '/' ? 1 : 0);
		size_t n = view_find(rest, '/');
		struct view segment = view_cut(rest, n);
		bool dots = view_eqs(segment, "."), up = view_eqs(segment, "..");

		if (up)
			drop_segment(out, start);
		if ((!dots && !up) || n == rest.n)
			(void)str_addc(out, '/');
		if (!dots && !up)
			(void)str_add(out, segment);
		path = view_from(rest, n);
	}
}

static void add_merged(struct str *out, const struct parts *b, const struct parts *r)
{
	struct str path = STR_INIT((size_t)3 * URL_TEXT_MAX);
	size_t n = b->path.n;

	while (n > 0 && b->path.p[n - 1] != '/')
		n--;
	(void)str_add(&path, view_cut(b->path, n));
	if (n == 0)
		(void)str_addc(&path, '/');
	(void)str_add(&path, r->path);
	out->failed |= !str_ok(&path);
	add_path(out, str_view(&path));
	str_release(&path);
}

/* A host has no case (RFC 3986, 6.2.2.1), and its server must not be told in letters big and small
 * what it was not to know; a user's name in front of it has. */
static void add_authority(struct str *out, struct view v)
{
	size_t host = v.n;

	while (host > 0 && v.p[host - 1] != '@')
		host--;
	(void)str_add(out, view_cut(v, host));
	for (size_t i = host; i < v.n; i++) {
		bool big = v.p[i] >= 'A' && v.p[i] <= 'Z';

		(void)str_addc(out, (char)(v.p[i] | (big ? 0x20 : 0)));
	}
}

/* RFC 3986, 5.2.2: r is taken apart, b is the page it stands on. */
static void compose(struct str *out, const struct parts *b, const struct parts *r)
{
	bool own = r->scheme.n > 0, host = own || r->has_authority;
	bool same = !host && r->path.n == 0;
	struct view query = same && !r->has_query ? b->query : r->query;

	(void)str_adds(out,
		is_scheme(own ? r->scheme : b->scheme, "https") ? "https://" : "http://");
	add_authority(out, host ? r->authority : b->authority);
	if (same)
		add_path(out, b->path);
	else if (host || r->path.p[0] == '/')
		add_path(out, r->path);
	else
		add_merged(out, b, r);
	if (r->has_query || (same && b->has_query)) {
		(void)str_addc(out, '?');
		(void)str_add(out, query);
	}
}

/* A scheme and a host, by either. */
static bool is_whole(const struct parts *b, const struct parts *r)
{
	bool own = r->scheme.n > 0, host = own || r->has_authority;

	return (own || b->scheme.n > 0) && (host ? r : b)->authority.n > 0;
}

int url_resolve(struct view base, struct view ref, struct str *out, struct err *e)
{
	struct str text = STR_INIT(URL_TEXT_MAX), whole = STR_INIT(URL_TEXT_MAX);
	struct parts b = split(base), r;
	int rc = -1;

	if (clean(ref, &text, e) < 0)
		goto out;
	r = split(str_view(&text));
	if (r.scheme.n > 0 && !is_scheme(r.scheme, "http") && !is_scheme(r.scheme, "https")) {
		err_set(e, E_UNSUPPORTED, "the address is one of %.*s:, not of http or https",
			VIEW_FMT(view_cut(r.scheme, 20)));
		goto out;
	}
	if (!is_whole(&b, &r)) {
		err_set(e, E_FORMAT, "it is no address that begins with https:// or http://");
		goto out;
	}
	compose(&whole, &b, &r);
	if (!str_ok(&whole))
		err_set(e, E_FORMAT, "the address is longer than %d bytes", URL_TEXT_MAX);
	else if (str_add(out, str_view(&whole)) < 0)
		err_set(e, E_NOMEM, "an address");
	else
		rc = 0;
out:
	str_release(&text);
	str_release(&whole);
	return rc;
}
