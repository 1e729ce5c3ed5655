#include <arpa/inet.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/net/http.h"

enum { URL_MAX = 16 * 1024, HOST_MAX = 253 };

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What every parser sees alike: no spaces, controls, backslashes or raw bytes past ASCII. */
static bool plain_text(struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~' || v.p[i] == '\\')
			return false;
	return true;
}

static bool take_prefix(struct view *v, const char *prefix)
{
	size_t n = strlen(prefix);

	if (v->n < n || strncasecmp(v->p, prefix, n) != 0)
		return false;
	*v = view_from(*v, n);
	return true;
}

static bool is_ip(struct view host, int family)
{
	unsigned char addr[16];
	char z[64];

	return copy_z(z, sizeof z, host) == 0 && inet_pton(family, z, addr) == 1;
}

/* Labels of letters, digits, hyphens and underscores, none empty. */
static bool is_name(struct view host)
{
	bool empty = true;

	if (host.n > HOST_MAX)
		return false;
	for (size_t i = 0; i < host.n; i++) {
		char c = host.p[i];

		if (c == '.' ? empty : !is_alnum(c) && c != '-' && c != '_')
			return false;
		empty = c == '.';
	}
	return !empty;
}

static int parse_port(struct view v, int *port)
{
	unsigned long long n;

	if (v.n > 5 || parse_u64(v, &n) < 0 || n < 1 || n > 65535)
		return -1;
	*port = (int)n;
	return 0;
}

/* "[v6]" or "[v6]:port": split into the address and what follows the bracket. */
static int split_v6(struct view rest, struct view *host, struct view *tail)
{
	size_t end = view_find(rest, ']');

	if (end == rest.n)
		return -1;
	*host = view_from(view_cut(rest, end), 1);
	*tail = view_from(rest, end + 1);
	return is_ip(*host, AF_INET6) ? 0 : -1;
}

static int parse_host_port(struct view rest, struct http_url *u, struct err *e)
{
	struct view tail;

	if (rest.n > 0 && rest.p[0] == '[') {
		if (split_v6(rest, &u->host, &tail) < 0)
			return err_set(e, E_FORMAT, "URL: no IPv6 address between the brackets");
	} else {
		size_t colon = view_find(rest, ':');

		u->host = view_cut(rest, colon);
		tail = view_from(rest, colon);
		if (!is_name(u->host))
			return err_set(e, E_FORMAT, "URL: no valid host name in it");
	}
	if (tail.n == 0)
		return 0;
	if (tail.p[0] != ':' || parse_port(view_from(tail, 1), &u->port) < 0)
		return err_set(e, E_FORMAT, "URL: the port must be a number from 1 to 65535");
	return 0;
}

int http_url_parse(struct view url, struct http_url *out, struct err *e)
{
	struct view rest = url, authority;
	size_t slash;

	*out = (struct http_url){ 0 };
	if (url.n > URL_MAX)
		return err_set(e, E_FORMAT, "URL: longer than %d bytes", URL_MAX);
	if (!plain_text(url))
		return err_set(e, E_FORMAT,
			"URL: spaces, backslashes and characters past ASCII must be percent-encoded");
	if (take_prefix(&rest, "https://"))
		out->tls = true;
	else if (!take_prefix(&rest, "http://"))
		return err_set(e, E_FORMAT, "URL: it must begin with https:// or http://");
	rest = view_cut(rest, view_find(rest, '#')); /* a fragment is never sent */
	slash = view_find(rest, '/');
	authority = view_cut(rest, slash);
	out->path = view_from(rest, slash);
	for (size_t at; (at = view_find(authority, '@')) < authority.n;) {
		out->has_user = true;
		authority = view_from(authority, at + 1);
	}
	out->port = out->tls ? 443 : 80;
	return parse_host_port(authority, out, e);
}

bool http_host_is_loopback(struct view host)
{
	static const struct in6_addr one = IN6ADDR_LOOPBACK_INIT;
	struct in6_addr v6;
	char z[64];

	if (copy_z(z, sizeof z, host) < 0)
		return false;
	if (strcasecmp(z, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET6, z, &v6) == 1)
		return memcmp(&v6, &one, sizeof v6) == 0;
	return is_ip(host, AF_INET) && strncmp(z, "127.", 4) == 0;
}

int http_query_escape(struct view v, struct str *out)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (is_alnum(c) || (c != '\0' && strchr("-._~", c)))
			str_addc(out, c);
		else
			str_addf(out, "%%%02X", (unsigned)(unsigned char)c);
	}
	return str_ok(out) ? 0 : -1;
}
