#include "tools/host/address.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/net/http.h"
#include "base/text.h"

#define TRIES_MAX 1000 /* addresses that one text may seem to hold */
#define RUN_MAX   2048 /* bytes of one as it is written */
#define TAIL_MAX  8    /* marks behind it that may be its own or the sentence's */

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* --- One form --------------------------------------------------------------------------------- */

static int encode(struct view v, struct str *out)
{
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		(void)(c < 0x80 ? str_addc(out, v.p[i]) : str_addf(out, "%%%02X", c));
	}
	return str_ok(out) ? 0 : -1;
}

static void add_lower(struct str *out, struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		(void)str_addc(out, (char)(v.p[i] | (v.p[i] >= 'A' && v.p[i] <= 'Z' ? 0x20 : 0)));
}

static void write_normal(const struct http_url *u, struct str *out)
{
	bool v6 = memchr(u->host.p, ':', u->host.n);

	(void)str_adds(out, u->tls ? "https://" : "http://");
	(void)str_adds(out, v6 ? "[" : "");
	add_lower(out, u->host);
	(void)str_adds(out, v6 ? "]" : "");
	if (u->port != (u->tls ? 443 : 80))
		(void)str_addf(out, ":%d", u->port);
	(void)str_adds(out, u->path.n == 0 ? "/" : "");
	(void)str_add(out, u->path);
}

int address_normal(struct view url, struct str *out)
{
	struct str ascii = STR_INIT(ADDRESS_MAX);
	struct http_url u;
	int rc = -1;

	if (encode(url, &ascii) == 0 && http_url_parse(str_view(&ascii), &u, NULL) == 0 &&
		!u.has_user) {
		write_normal(&u, out);
		rc = str_ok(out) ? 0 : -1;
	}
	str_release(&ascii);
	return rc;
}

/* --- In a text -------------------------------------------------------------------------------- */

struct search {
	void (*found)(void *arg, struct view normal);
	void *arg;
	int left;
};

static void offer(struct search *s, const char *scheme, struct view v)
{
	struct str url = STR_INIT(ADDRESS_MAX), normal = STR_INIT(ADDRESS_MAX + 16);

	if (s->left == 0)
		return;
	s->left--;
	if (str_adds(&url, scheme) == 0 && str_add(&url, v) == 0 &&
		address_normal(str_view(&url), &normal) == 0)
		s->found(s->arg, str_view(&normal));
	str_release(&url);
	str_release(&normal);
}

/* RFC 3986, 2: reserved and unreserved characters, and the percent sign. */
static bool is_url_char(char c)
{
	return is_alnum(c) || (c && strchr("-._~:/?#[]@!$&'()*+,;=%", c));
}

/* Letters past ASCII may belong to an address; marks, spaces and full-width forms do not. */
static bool ends_address(uint32_t cp)
{
	return cp < 0xc0 || cp == 0xd7 || cp == 0xf7 || (cp >= 0x2000 && cp <= 0x2bff) ||
	       (cp >= 0x3000 && cp <= 0x3004) || (cp >= 0x3008 && cp <= 0x3020) || cp == 0x3030 ||
	       (cp >= 0xfe10 && cp <= 0xfe6f) || (cp >= 0xff00 && cp <= 0xff0f) ||
	       (cp >= 0xff1a && cp <= 0xff20) || (cp >= 0xff3b && cp <= 0xff40) ||
	       (cp >= 0xff5b && cp <= 0xff65) || (cp >= 0xfff0 && cp <= 0xffff) ||
	       (cp >= 0x1f000 && cp <= 0x1ffff);
}

/* How far an address can go: in ASCII alone, and with letters past it. */
static void measure(struct view v, size_t *ascii, size_t *whole)
{
	size_t i = 0;
	uint32_t cp;

	v = view_cut(v, RUN_MAX);
	while (i < v.n && is_url_char(v.p[i]))
		i++;
	*ascii = i;
	while (i < v.n) {
		size_t n = is_url_char(v.p[i]) ? 1 : utf8_next(view_from(v, i), &cp);

		if (n == 0 || (n == 1 && !is_url_char(v.p[i])) || (n > 1 && ends_address(cp)))
			break;
		i += n;
	}
	*whole = i;
}

/* The address up to here, and without the marks at its end. */
static void offer_ends(struct search *s, const char *scheme, struct view v)
{
	offer(s, scheme, v);
	for (int i = 0; i < TAIL_MAX && v.n > 1 && strchr(".,;:!?'()[]*_~", v.p[v.n - 1]); i++)
		offer(s, scheme, v = view_cut(v, v.n - 1));
}

static void offer_run(struct search *s, const char *scheme, struct view v)
{
	size_t ascii, whole;

	measure(v, &ascii, &whole);
	offer_ends(s, scheme, view_cut(v, ascii));
	if (whole > ascii)
		offer_ends(s, scheme, view_cut(v, whole));
}

static bool has_scheme(struct view v)
{
	return (v.n > 7 && strncasecmp(v.p, "http://", 7) == 0) ||
	       (v.n > 8 && strncasecmp(v.p, "https://", 8) == 0);
}

/* Length of a name with a dot in it whose last label has letters alone, else 0. */
static size_t name_length(struct view v, size_t *token)
{
	size_t n = 0, dot = 0, letters = 0;

	while (n < v.n && (is_alnum(v.p[n]) || v.p[n] == '-' || v.p[n] == '.') &&
		!has_scheme(view_from(v, n)))
		n++;
	*token = n;
	while (n > 0 && !is_alnum(v.p[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++) {
		bool letter = is_alnum(v.p[i]) && v.p[i] > '9';

		dot = v.p[i] == '.' ? i + 1 : dot;
		letters = v.p[i] == '.' ? 0 : letters + letter;
	}
	return dot > 0 && letters >= 2 && letters == n - dot ? n : 0;
}

/* A name that stands by itself, not inside an e-mail address, a path or a longer word. */
static bool may_begin_name(struct view text, size_t at)
{
	char before = at > 0 ? text.p[at - 1] : ' ';

	return is_alnum(text.p[at]) && !is_alnum(before) &&
	       (before == '\0' || !strchr("@._/%+-:=", before));
}

/* What stands at this place, and how far it has been looked at. */
static size_t look_at(struct search *s, struct view text, size_t at)
{
	struct view rest = view_from(text, at);
	size_t token, n;

	if (has_scheme(rest)) {
		offer_run(s, "", rest);
		return 7;
	}
	if (!may_begin_name(text, at))
		return 1;
	n = name_length(rest, &token);
	if (n > 0 && !(n < rest.n && rest.p[n] == '@'))
		offer_run(s, "https://", rest);
	return token;
}

void address_each(struct view text, void (*found)(void *arg, struct view normal), void *arg)
{
	struct search s = { .found = found, .arg = arg, .left = TRIES_MAX };

	for (size_t i = 0; i < text.n && s.left > 0;)
		i += look_at(&s, text, i);
}
