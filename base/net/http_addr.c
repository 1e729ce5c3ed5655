#include "base/net/http-private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* The first `bits` of an address. */
struct prefix {
	unsigned char addr[16];
	unsigned bits;
};

/* IANA's registry of special-purpose IPv4 addresses, and multicast. */
static const struct prefix v4_special[] = {
	{ { 0 }, 8 },             /* this network; connecting to it reaches this machine */
	{ { 10 }, 8 },            /* private */
	{ { 100, 64 }, 10 },      /* carrier's NAT */
	{ { 127 }, 8 },           /* loopback */
	{ { 169, 254 }, 16 },     /* link-local, cloud metadata among it */
	{ { 172, 16 }, 12 },      /* private */
	{ { 192, 0, 0 }, 24 },    /* protocol assignments */
	{ { 192, 0, 2 }, 24 },    /* documentation */
	{ { 192, 88, 99 }, 24 },  /* 6to4 relays */
	{ { 192, 168 }, 16 },     /* private */
	{ { 198, 51, 100 }, 24 }, /* documentation */
	{ { 203, 0, 113 }, 24 },  /* documentation */
	{ { 224 }, 3 },           /* multicast, reserved, broadcast */
};
static const struct prefix v4_benchmark = { { 198, 18 }, 15 }; /* used by fake-IP DNS */

/* IPv6 is public inside 2000::/3 only; these lie there and are not. */
static const struct prefix v6_global = { { 0x20 }, 3 };
static const struct prefix v6_special[] = {
	{ { 0x20, 0x01 }, 23 },             /* protocol assignments, Teredo among them */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
	{ { 0x20, 0x02 }, 16 },             /* 6to4: carries any IPv4 address */
	{ { 0x3f, 0xff }, 20 },             /* documentation */
};

static bool has_prefix(const unsigned char *addr, const struct prefix *p)
{
	unsigned whole = p->bits / 8, rest = p->bits % 8;

	if (memcmp(addr, p->addr, whole) != 0)
		return false;
	return rest == 0 || ((addr[whole] ^ p->addr[whole]) >> (8 - rest)) == 0;
}

static bool has_any(const unsigned char *addr, const struct prefix *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_prefix(addr, &p[i]))
			return true;
	return false;
}

/* The bytes of an address: 4 (mapped IPv6 unwrapped) or 16; 0 for another family. */
static size_t addr_bytes(const struct sockaddr *sa, unsigned char addr[16], int *port)
{
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof in);
		memcpy(addr, &in.sin_addr, 4);
		*port = ntohs(in.sin_port);
		return 4;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof in6);
		*port = ntohs(in6.sin6_port);
		if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
			memcpy(addr, in6.sin6_addr.s6_addr + 12, 4);
			return 4;
		}
		memcpy(addr, &in6.sin6_addr, 16);
		return 16;
	}
	return 0;
}

static bool is_public(const unsigned char *addr, size_t n, bool fake_ip)
{
	if (n == 4)
		return !has_any(addr, v4_special, sizeof v4_special / sizeof *v4_special) &&
		       (fake_ip || !has_prefix(addr, &v4_benchmark));
	return n == 16 && has_prefix(addr, &v6_global) &&
	       !has_any(addr, v6_special, sizeof v6_special / sizeof *v6_special);
}

static bool is_loopback(const unsigned char *addr, size_t n)
{
	static const struct in6_addr one = IN6ADDR_LOOPBACK_INIT;

	return n == 4 ? addr[0] == 127 : n == 16 && memcmp(addr, &one, 16) == 0;
}

bool http_addr_public(const struct sockaddr *sa, bool fake_ip)
{
	unsigned char addr[16];
	int port;
	size_t n = addr_bytes(sa, addr, &port);

	return is_public(addr, n, fake_ip);
}

bool http_addr_allowed(const struct http_rules *r, bool tls, const struct sockaddr *sa)
{
	unsigned char addr[16];
	int port;
	size_t n = addr_bytes(sa, addr, &port);

	if (n == 0)
		return false;
	/* Plain http that only the loopback rule let in must end on this machine. */
	if (!tls && !r->plain_http)
		return r->loopback && is_loopback(addr, n);
	if (r->reach == HTTP_ANY || (r->loopback && is_loopback(addr, n)))
		return true;
	return is_public(addr, n, r->fake_ip) && port == (tls ? 443 : 80);
}

bool http_addr_parse(const char *text, int port, struct sockaddr_storage *out)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

	*out = (struct sockaddr_storage){ 0 };
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		memcpy(out, &in, sizeof in);
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		memcpy(out, &in6, sizeof in6);
	else
		return false;
	return true;
}

void http_addr_text(const struct sockaddr *sa, char *buf, size_t size)
{
	unsigned char addr[16];
	int port;
	size_t n = addr_bytes(sa, addr, &port);

	buf[0] = '\0';
	if (n > 0)
		(void)inet_ntop(n == 4 ? AF_INET : AF_INET6, addr, buf, (socklen_t)size);
}
