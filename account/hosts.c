/* Which hosts may be given our token (wire reference, 1.1) */
#include <string.h>
#include <strings.h>

#include "account/account.h"

static bool is_loopback(struct view host)
{
	if (host.n == 9 && !strncasecmp(host.p, "localhost", 9))
		return true;
	if (view_eqs(host, "::1"))
		return true;
	if (!view_starts(host, VIEW("127.")))
		return false;
	int dots = 0;
	for (size_t i = 0; i < host.n; i++) {
		dots += host.p[i] == '.';
		if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
			return false;
	}
	return dots == 3;
}

static bool under(struct view host, const char *domain)
{
	size_t n = strlen(domain);

	if (host.n < n || strncasecmp(host.p + host.n - n, domain, n) != 0)
		return false;
	return host.n == n || host.p[host.n - n - 1] == '.';
}

static int check_name(struct view host, struct err *e)
{
	if (!host.n || host.n > 253)
		return err_set(e, E_DENIED, "the server named no usable host");
	for (size_t i = 0; i < host.n; i++) {
		char c = host.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '.' || c == ':'))
			return err_set(e, E_DENIED,
				"the server named a host with characters no host has");
	}
	return 0;
}

/* host, port taken off. The port must be 443 or absent, but on loopback. */
static int split_port(struct view *host, struct view *port, struct err *e)
{
	size_t at = view_find(*host, ':');
	unsigned long long n;

	*port = VIEW_NONE;
	if (at == host->n)
		return 0;
	*port = view_from(*host, at + 1);
	*host = view_cut(*host, at);
	if (parse_u64(*port, &n) < 0 || n < 1 || n > 65535)
		return err_set(e, E_DENIED, "the server named a host with a bad port");
	return 0;
}

static int check_split(struct view host, struct view port, bool tls, bool loopback, struct err *e)
{
	if (loopback && is_loopback(host))
		return 0;
	if (check_name(host, e) < 0)
		return -1;
	if (!under(host, "weixin.qq.com") && !under(host, "wechat.com"))
		return err_set(e, E_DENIED, "%.*s is none of WeChat's hosts%s", VIEW_FMT(host),
			is_loopback(host) ? " (for a local test server set network.allow_loopback)"
					  : "");
	if (!tls)
		return err_set(e, E_DENIED, "the address of %.*s is not https", VIEW_FMT(host));
	if (port.n && !view_eqs(port, "443"))
		return err_set(e, E_DENIED, "%.*s was given with a port other than 443",
			VIEW_FMT(host));
	return 0;
}

int account_check_host(struct view host, bool loopback, struct err *e)
{
	struct view port;

	if (view_eqs(host, "::1"))
		return check_split(host, VIEW_NONE, true, loopback, e);
	if (split_port(&host, &port, e) < 0)
		return -1;
	return check_split(host, port, true, loopback, e);
}

int account_check_url(struct view url, bool loopback, struct err *e)
{
	bool tls = view_starts(url, VIEW("https://"));
	struct view host, port = VIEW_NONE;

	if (!tls && !view_starts(url, VIEW("http://")))
		return err_set(e, E_DENIED, "the address is not https");
	for (size_t i = 0; i < url.n; i++)
		if (url.p[i] <= ' ' || url.p[i] >= 0x7f || url.p[i] == '\\')
			return err_set(e, E_DENIED, "the address holds a character no address has");
	host = view_from(url, tls ? 8 : 7);
	size_t end = 0;
	while (end < host.n && !strchr("/?#", host.p[end]))
		end++;
	host = view_cut(host, end);
	if (view_find(host, '@') != host.n)
		return err_set(e, E_DENIED, "the address carries a user name");
	if (host.n && host.p[0] == '[') {
		size_t close = view_find(host, ']');
		struct view rest = view_from(host, close + 1);

		if (close == host.n || (rest.n && rest.p[0] != ':'))
			return err_set(e, E_DENIED, "the address has a malformed host");
		port = view_from(rest, 1);
		host = view_cut(view_from(host, 1), close - 1);
	} else if (split_port(&host, &port, e) < 0) {
		return -1;
	}
	return check_split(host, port, tls, loopback, e);
}
