#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/net/http-private.h"

static void takes_a_url_apart(void **state)
{
	static const struct {
		const char *url, *host, *path;
		int port;
		bool tls, user;
	} samples[] = {
		{ "https://example.com", "example.com", "", 443, true, false },
		{ "https://example.com/", "example.com", "/", 443, true, false },
		{ "HTTPS://Example.COM/a/b?c=d&e=%20|f", "Example.COM", "/a/b?c=d&e=%20|f", 443,
			true, false },
		{ "http://example.com/x", "example.com", "/x", 80, false, false },
		{ "http://example.com:8080/x", "example.com", "/x", 8080, false, false },
		{ "https://example.com:65535", "example.com", "", 65535, true, false },
		{ "https://example.com:1/", "example.com", "/", 1, true, false },
		{ "https://[2001:db8::1]/x", "2001:db8::1", "/x", 443, true, false },
		{ "http://[::1]:81/", "::1", "/", 81, false, false },
		{ "http://127.0.0.1:9/", "127.0.0.1", "/", 9, false, false },
		{ "https://a_b-c.d/", "a_b-c.d", "/", 443, true, false },
		{ "https://example.com/a#frag?x", "example.com", "/a", 443, true, false },
		{ "https://example.com#frag", "example.com", "", 443, true, false },
		{ "https://u:p@example.com/", "example.com", "/", 443, true, true },
		{ "https://@example.com/", "example.com", "/", 443, true, true },
		{ "https://a@b@example.com/", "example.com", "/", 443, true, true },
		{ "https://example.com/a@b", "example.com", "/a@b", 443, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct http_url u;
		struct err e = ERR_INIT;

		assert_int_equal(http_url_parse(view_of(samples[i].url), &u, &e), 0);
		assert_true(view_eqs(u.host, samples[i].host));
		assert_true(view_eqs(u.path, samples[i].path) || (!*samples[i].path && !u.path.n));
		assert_int_equal(u.port, samples[i].port);
		assert_int_equal(u.tls, samples[i].tls);
		assert_int_equal(u.has_user, samples[i].user);
	}
}

static void refuses_what_is_no_plain_http_url(void **state)
{
	static const char *const samples[] = { "", "example.com", "//example.com/",
		"ftp://example.com/", "file:///etc/passwd", "https:/example.com",
		"https:example.com", "https://", "https:///x", "https://?x",
		"https://example.com?x", "https://exa mple.com/", "https://example.com/a b",
		"https://example.com/\n", "https://example.com\\@evil.com/",
		"https://example.com/\\x", "https://example.com/\x7f",
		"https://example.com/\xc3\xa9", "https://ex\xc3\xa4mple.com/",
		"https://ex%61mple.com/", "https://.example.com/", "https://example..com/",
		"https://example.com./", "https://example.com:/", "https://example.com:0/",
		"https://example.com:65536/", "https://example.com:+80/",
		"https://example.com:80:80/", "https://example.com:080000/", "https://[::1/",
		"https://[::1]x/", "https://[]/", "https://[127.0.0.1]/",
		"https://[fe80::1%25eth0]/", "https://::1/", "https://[::1]:/",
		"javascript:alert(1)", " https://example.com/", "https://a*b/",
		"https://user:pass@/" };
	char longest[16 * 1024 + 2] = "https://example.com/";
	struct http_url u;

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct err e = ERR_INIT;

		if (http_url_parse(view_of(samples[i]), &u, &e) == 0)
			print_error("taken: %s\n", samples[i]);
		assert_int_equal(e.code, E_FORMAT);
	}
	memset(longest + strlen(longest), 'x', sizeof longest - strlen(longest));
	assert_int_equal(http_url_parse((struct view){ longest, sizeof longest - 2 }, &u, NULL), 0);
	assert_int_equal(http_url_parse((struct view){ longest, sizeof longest - 1 }, &u, NULL),
		-1);
	assert_int_equal(http_url_parse((struct view){ "https://a\0b/", 12 }, &u, NULL), -1);
}

static void holds_a_host_name_to_253_bytes(void **state)
{
	char url[8 + 254 + 1] = "https://";
	struct http_url u;

	(void)state;
	memset(url + 8, 'a', 254);
	assert_int_equal(http_url_parse((struct view){ url, 8 + 253 }, &u, NULL), 0);
	assert_int_equal(http_url_parse((struct view){ url, 8 + 254 }, &u, NULL), -1);
}

static void knows_loopback_by_its_text(void **state)
{
	static const char *const yes[] = { "localhost", "LocalHost", "127.0.0.1", "127.255.255.254",
		"127.0.0.0", "::1", "0:0:0:0:0:0:0:1" };
	static const char *const no[] = { "", "localhost.", "localhost.evil.com", "evil-localhost",
		"127.0.0.1.evil.com", "128.0.0.1", "0.0.0.0", "127.1", "127.0.0.256", "0x7f000001",
		"2130706433", "0177.0.0.1", "::", "::2", "::ffff:127.0.0.1", "[::1]" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(http_host_is_loopback(view_of(yes[i])));
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(http_host_is_loopback(view_of(no[i])));
}

static struct sockaddr_storage address(const char *ip, int port)
{
	struct sockaddr_storage sa;

	assert_true(http_addr_parse(ip, port, &sa));
	return sa;
}

/* Each block of the registries at its first and last address, and the neighbours outside. */
static void knows_public_addresses(void **state)
{
	static const char *const yes[] = { "1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255",
		"11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
		"192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
		"203.0.112.255", "203.0.114.0", "223.255.255.255", "::ffff:8.8.8.8",
		"2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2003::1",
		"2400::", "2606::1", "3ffe::1", "3fff:1000::", "2001:200::1" };
	static const char *const no[] = { "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255",
		"100.64.0.0", "100.127.255.255", "127.0.0.0", "127.255.255.255", "169.254.0.0",
		"169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0",
		"192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.1", "192.168.0.0",
		"192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.9",
		"224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1",
		"::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::ffff:10.0.0.1",
		"::ffff:169.254.169.254", "64:ff9b::", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1",
		"1fff:ffff::", "2001::", "2001:0:4136:e378::1",
		"2001:1ff:ffff::", "2001:db8::", "2001:db8:ffff::1", "2002::", "2002:7f00:1::",
		"2002:ffff::", "3fff::", "3fff:fff::", "4000::", "5f00::1", "fc00::", "fdff::1",
		"fe80::1", "febf::1", "fec0::1", "ff00::", "ff02::1" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		struct sockaddr_storage sa = address(yes[i], 443);

		if (!http_addr_public((struct sockaddr *)&sa, false))
			fail_msg("%s is public", yes[i]);
	}
	for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
		struct sockaddr_storage sa = address(no[i], 443);

		if (http_addr_public((struct sockaddr *)&sa, false))
			fail_msg("%s is not public", no[i]);
	}
}

static void counts_fake_addresses_when_told(void **state)
{
	struct sockaddr_storage in = address("198.18.0.1", 443),
				end = address("198.19.255.255", 443),
				private = address("10.0.0.1", 443),
				mapped = address("::ffff:198.18.0.1", 443);
	struct sockaddr_storage unix_sa = { .ss_family = AF_UNIX };

	(void)state;
	assert_true(http_addr_public((struct sockaddr *)&in, true));
	assert_true(http_addr_public((struct sockaddr *)&end, true));
	assert_true(http_addr_public((struct sockaddr *)&mapped, true));
	assert_false(http_addr_public((struct sockaddr *)&private, true));
	assert_false(http_addr_public((struct sockaddr *)&unix_sa, true));
}

static void judges_a_peer_by_the_rules(void **state)
{
	enum { P = 1, L = 2, F = 4, ANY = 8 }; /* plain_http, loopback, fake_ip, HTTP_ANY */
	static const struct {
		int rules;
		bool tls;
		const char *ip;
		int port;
		bool ok;
	} samples[] = {
		{ 0, true, "8.8.8.8", 443, true },
		{ 0, true, "8.8.8.8", 8443, false },
		{ 0, true, "8.8.8.8", 80, false },
		{ 0, false, "8.8.8.8", 80, false },
		{ P, false, "8.8.8.8", 80, true },
		{ P, false, "8.8.8.8", 443, false },
		{ 0, true, "10.0.0.1", 443, false },
		{ 0, true, "127.0.0.1", 443, false },
		{ P, false, "127.0.0.1", 80, false },
		{ L, true, "127.0.0.1", 9999, true },
		{ L, true, "::1", 9999, true },
		{ L, true, "::ffff:127.0.0.1", 9999, true },
		{ L, true, "10.0.0.1", 443, false },
		{ L, false, "127.0.0.1", 9999, true },
		{ L, false, "8.8.8.8", 80, false },
		{ L, false, "0.0.0.0", 80, false },
		{ L | P, false, "127.0.0.1", 9999, true },
		{ L | P, false, "8.8.8.8", 80, true },
		{ 0, true, "198.18.0.1", 443, false },
		{ F, true, "198.18.0.1", 443, true },
		{ F, true, "198.18.0.1", 444, false },
		{ ANY, true, "10.0.0.1", 8443, true },
		{ ANY, true, "127.0.0.1", 8443, true },
		{ ANY, false, "10.0.0.1", 8080, false },
		{ ANY | L, false, "127.0.0.1", 8080, true },
		{ ANY | L, false, "10.0.0.1", 8080, false },
		{ ANY | P, false, "10.0.0.1", 8080, true },
		{ ANY | P, false, "127.0.0.1", 8080, true },
	};
	struct sockaddr_storage unix_sa = { .ss_family = AF_UNIX };
	struct http_rules any = { .reach = HTTP_ANY, .plain_http = true };

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		int r = samples[i].rules;
		struct http_rules rules = { .reach = r & ANY ? HTTP_ANY : HTTP_PUBLIC,
			.loopback = r & L,
			.plain_http = r & P,
			.fake_ip = r & F };
		struct sockaddr_storage sa = address(samples[i].ip, samples[i].port);

		if (http_addr_allowed(&rules, samples[i].tls, (struct sockaddr *)&sa) !=
			samples[i].ok)
			fail_msg("sample %zu: %s", i, samples[i].ip);
	}
	assert_false(http_addr_allowed(&any, true, (struct sockaddr *)&unix_sa));
}

/* RFC 3986, 2.3: only the unreserved characters stand as they are. */
static void escapes_a_query_value(void **state)
{
	struct str out = STR_INIT(1000), small = STR_INIT(5);

	(void)state;
	assert_int_equal(http_query_escape(VIEW("aZ09-._~"), &out), 0);
	assert_string_equal(str_cstr(&out), "aZ09-._~");
	assert_int_equal(http_query_escape(VIEW(" &=+/?#%\"\n\0\x7f\xe4\xbd\xa0"), &out), 0);
	assert_string_equal(str_cstr(&out),
		"aZ09-._~%20%26%3D%2B%2F%3F%23%25%22%0A%00%7F%E4%BD%A0");
	assert_int_equal(http_query_escape(VIEW("aaa%"), &small), -1);
	str_release(&out);
	str_release(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_url_apart),
		cmocka_unit_test(refuses_what_is_no_plain_http_url),
		cmocka_unit_test(holds_a_host_name_to_253_bytes),
		cmocka_unit_test(knows_loopback_by_its_text),
		cmocka_unit_test(knows_public_addresses),
		cmocka_unit_test(counts_fake_addresses_when_told),
		cmocka_unit_test(judges_a_peer_by_the_rules),
		cmocka_unit_test(escapes_a_query_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
