/* Which hosts may be given our token (wire reference, 1.1) */
#include "account/account.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool is_loopback(struct view host)
{
	char z[16];
	unsigned char ip[4];

	if (host.n == 9 && !strncasecmp(host.p, "localhost", 9))
		return true;
	return copy_z(z, sizeof(z), host) == 0 && inet_pton(AF_INET, z, ip) == 1 && ip[0] == 127;
}

static bool under(struct view host, const char *domain)
{
	size_t n = strlen(domain);

	if (host.n < n || strncasecmp(host.p + host.n - n, domain, n) != 0)
		return false;
	return host.n == n || host.p[host.n - n - 1] == '.';
}

/* Letters, digits and hyphens between single dots. */
static int check_name(struct view host, struct err *e)
{
	if (!host.n || host.n > 253)
		return err_set(e, E_DENIED, "the server named no usable host");
	for (size_t i = 0; i < host.n; i++) {
		char c = host.p[i];

		if (c == '.' && i > 0 && host.p[i - 1] != '.')
			continue;
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-'))
			return err_set(e, E_DENIED,
				"the server named a host with characters no host has");
	}
	return 0;
}

/* What stands where a URL names its host. */
struct place {
	struct view host, port; /* port without its colon; empty: none */
	bool bracketed;         /* an IPv6 address */
};

static int take_apart(struct view v, struct place *out, struct err *e)
{
	unsigned long long n;
	size_t end = view_find(v, ':');

	*out = (struct place){ .bracketed = v.n && v.p[0] == '[' };
	if (out->bracketed) {
		end = view_find(v, ']') + 1;
		out->host = view_cut(view_from(v, 1), end - 2);
		if (end > v.n || (end < v.n && v.p[end] != ':'))
			return err_set(e, E_DENIED, "the address has a malformed host");
	} else {
		out->host = view_cut(v, end);
	}
	if (end == v.n)
		return 0;
	out->port = view_from(v, end + 1);
	if (parse_u64(out->port, &n) < 0 || n < 1 || n > 65535)
		return err_set(e, E_DENIED, "the server named a host with a bad port");
	return 0;
}

static int check_place(const struct place *at, bool tls, bool loopback, struct err *e)
{
	bool local = at->bracketed ? view_eqs(at->host, "::1") : is_loopback(at->host);

	if (loopback && local)
		return 0;
	if (!local && !at->bracketed && check_name(at->host, e) < 0)
		return -1;
	if (at->bracketed || (!under(at->host, "weixin.qq.com") && !under(at->host, "wechat.com")))
		return err_set(e, E_DENIED, "%.*s is none of WeChat's hosts%s", VIEW_FMT(at->host),
			local ? " (for a local test server set network.allow_loopback)" : "");
	if (!tls)
		return err_set(e, E_DENIED, "the address of %.*s is not https", VIEW_FMT(at->host));
	if (at->port.n && !view_eqs(at->port, "443"))
		return err_set(e, E_DENIED, "%.*s was given with a port other than 443",
			VIEW_FMT(at->host));
	return 0;
}

int account_check_host(struct view host, bool loopback, struct err *e)
{
	struct place at;

	return take_apart(host, &at, e) < 0 ? -1 : check_place(&at, true, loopback, e);
}

int account_check_url(struct view url, bool loopback, struct err *e)
{
	bool tls = view_starts(url, VIEW("https://"));
	struct place at;
	size_t end = 0;

	if (!tls && !view_starts(url, VIEW("http://")))
		return err_set(e, E_DENIED, "the address is not https");
	for (size_t i = 0; i < url.n; i++)
		if (url.p[i] <= ' ' || url.p[i] >= 0x7f || url.p[i] == '\\')
			return err_set(e, E_DENIED, "the address holds a character no address has");
	struct view rest = view_from(url, tls ? 8 : 7);
	while (end < rest.n && !strchr("/?#", rest.p[end]))
		end++;
	rest = view_cut(rest, end);
	if (view_find(rest, '@') != rest.n)
		return err_set(e, E_DENIED, "the address carries a user name");
	return take_apart(rest, &at, e) < 0 ? -1 : check_place(&at, tls, loopback, e);
}
