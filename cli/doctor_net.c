/* doctor: whether a host is there at all. */
#include "cli/doctor-private.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 5000, REQUEST_MS = 10000 };

static bool is_fake_ip(const struct sockaddr *sa)
{
	return !http_addr_public(sa, false) && http_addr_public(sa, true);
}

static int connect_within(const struct addrinfo *ai, int ms)
{
	int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int soerr = 0;
	socklen_t n = sizeof(soerr);

	if (fd < 0)
		return errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS)
		soerr = errno;
	else if (poll(&p, 1, ms) <= 0)
		soerr = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &soerr, &n);
	close(fd);
	return soerr;
}

bool doctor_host(struct doctor *d, const char *what, const char *url)
{
	struct http_url u;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	char host[256], port[16];
	struct err e = ERR_INIT;
	int rc;

	if (http_url_parse(view_of(url), &u, &e) < 0 || copy_z(host, sizeof(host), u.host) < 0) {
		say_bad(d, true, what, "write it as https://host/path", "%s is no usable address",
			url);
		return false;
	}
	if (d->cfg->network.proxy[0]) {
		say_ok(what, "by way of the proxy: name and connection are its matter");
		return true;
	}
	snprintf(port, sizeof(port), "%d", u.port);
	if ((rc = getaddrinfo(host, port, &hints, &list)) != 0) {
		say_bad(d, true, what, "check the network and /etc/resolv.conf",
			"the name %s cannot be resolved: %s", host, gai_strerror(rc));
		return false;
	}
	if (is_fake_ip(list->ai_addr) && !d->cfg->network.allow_fake_ip)
		say_bad(d, false, what,
			"if a proxy tool of yours does that: kairo config set network.allow_fake_ip true",
			"%s resolves to 198.18.0.0/15, a fake address", host);
	rc = ECONNREFUSED;
	for (const struct addrinfo *ai = list; ai && rc; ai = ai->ai_next)
		rc = connect_within(ai, CONNECT_MS);
	freeaddrinfo(list);
	if (rc) {
		say_bad(d, true, what, "check the network, a firewall, or network.proxy",
			"no connection to %s:%s: %s", host, port, strerror(rc));
		return false;
	}
	say_ok(what, "%s resolves and accepts connections on port %s", host, port);
	return true;
}

static void on_answer(void *arg, const struct http_result *r)
{
	struct doctor_answer *a = arg;

	a->done = true;
	a->fail = r->fail;
	a->status = r->status;
	a->err = *r->err;
	if (a->body)
		(void)str_add(a->body, r->body);
	loop_stop(a->loop);
}

void doctor_reach(struct doctor *d, struct http *pool, const char *url, const char *bearer,
	struct doctor_answer *a, struct str *body)
{
	char auth[ACCOUNT_TOKEN_MAX + 16];
	const struct http_header h[] = { { "Authorization", auth } };
	struct http_call *call = NULL;
	const struct http_req req = {
		.method = "GET",
		.url = url,
		.headers = h,
		.nheaders = bearer && bearer[0] ? 1 : 0,
		.timeout_ms = REQUEST_MS,
		.body_max = 4 << 20,
		.connect_only = !bearer,
		.on_done = on_answer,
		.arg = a,
	};

	*a = (struct doctor_answer){ .loop = d->loop, .body = body };
	snprintf(auth, sizeof(auth), "Bearer %s", bearer ? bearer : "");
	if (http_start(&call, pool, &req, &a->err) < 0)
		a->fail = HTTP_FAIL_URL;
	else if (loop_run(d->loop, &a->err) < 0)
		a->fail = HTTP_FAIL_BROKEN;
	explicit_bzero(auth, sizeof(auth));
}

const char *doctor_advice(const struct doctor *d, enum http_fail f)
{
	switch (f) {
	case HTTP_FAIL_TLS:
		return "check the clock, ca-certificates, and whether a proxy breaks TLS open";
	case HTTP_FAIL_URL:
	case HTTP_FAIL_PEER:
		return "the address is not public https; for a local test server set "
		       "network.allow_loopback";
	case HTTP_FAIL_TIMEOUT:
		return "the host does not answer in time; try again, or check the network";
	default:
		return d->cfg->network.proxy[0] ? "check network.proxy, the network and the address"
		                                : "check the network and the address";
	}
}
