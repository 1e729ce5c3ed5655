#include "tools/exec/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

/* Less than a hook's own limit, which is in seconds. */
struct post {
	int64_t until;
	int fd;
};

/* --- What is passed on ------------------------------------------------------------------------ */

static void shape_member(struct json_out *w, const struct json *hook, const char *name)
{
	const struct json *j = json_member(hook, name);
	struct view text;

	if (!j)
		return;
	if (json_str(j, &text) == 0)
		json_put_str(w, name, view_cut(text, utf8_cut(text, RELAY_TEXT_MAX)));
	else if (json_type(j) == JSON_BOOL || json_type(j) == JSON_NUMBER)
		json_put_json(w, name, j);
}

/* Of what a hook tells, what is passed on: appended. The user's prompts are not. */
static int relay_shape(struct view in, struct str *out, struct err *e)
{
	static const char *const names[] = { "hook_event_name", "session_id", "task_id", "kind",
		"description", "detached", "origin_kind", "notification_type", "body",
		"source_kind", "source_id", "response", "error_message" };
	static const struct json_limits limits = { .bytes = RELAY_IN_MAX,
		.depth = 32,
		.nodes = 200000,
		.nul = JSON_NUL_REPAIR,
		.repair_utf8 = true };
	struct json *hook = NULL;
	struct json_out w;

	if (json_read(&hook, in, &limits, e) < 0)
		return -1;
	if (json_type(hook) != JSON_OBJECT) {
		json_free(&hook);
		return err_set(e, E_FORMAT, "a hook tells an object");
	}
	json_out_begin(&w, out);
	json_open(&w, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		shape_member(&w, hook, names[i]);
	json_close(&w);
	json_free(&hook);
	return json_out_end(&w, e);
}

/* --- Within the time -------------------------------------------------------------------------- */

static bool ready(const struct post *p, int fd, short what)
{
	struct pollfd f = { .fd = fd, .events = what };
	int64_t left = p->until - clock_mono(clock_system());

	return left > 0 && poll(&f, 1, (int)left) > 0;
}

/* All that comes, up to its end. */
static int read_all(const struct post *p, int fd, struct str *out, struct err *e)
{
	char buf[65536];
	ssize_t n;

	for (;;) {
		if (!ready(p, fd, POLLIN))
			return err_set(e, E_TIMEOUT, "nothing more comes");
		n = read(fd, buf, sizeof(buf));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, "read");
		if (n > 0 && str_add(out, (struct view){ buf, (size_t)n }) < 0)
			return err_set(e, E_FORMAT, "it is too long");
	}
}

static int write_all(const struct post *p, struct view v, struct err *e)
{
	while (v.n > 0) {
		ssize_t n;

		if (!ready(p, p->fd, POLLOUT))
			return err_set(e, E_TIMEOUT, "it is not taken");
		n = send(p->fd, v.p, v.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, "send");
		if (n > 0)
			v = view_from(v, (size_t)n);
	}
	return 0;
}

/* --- The way ---------------------------------------------------------------------------------- */

/* Loopback and nothing else: no name is looked up. */
static int port_of(const char *url, in_port_t *port)
{
	static const char base[] = "http://127.0.0.1:";
	unsigned long long n;

	if (strncmp(url, base, sizeof(base) - 1) != 0 ||
		parse_u64(view_of(url + sizeof(base) - 1), &n) < 0 || n == 0 || n > 65535)
		return -1;
	*port = (in_port_t)n;
	return 0;
}

static int dial(struct post *p, in_port_t port, struct err *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int failed = 0;
	socklen_t size = sizeof(failed);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return err_sys(e, "socket");
	if (connect(p->fd, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return err_sys(e, "connect");
	if (!ready(p, p->fd, POLLOUT) ||
		getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0 || failed)
		return err_set(e, E_NET, "nobody listens");
	return 0;
}

static int post(struct post *p, const char *url, const char *token, struct view body, struct err *e)
{
	struct str head = STR_SECRET(4096), answer = STR_INIT(65536);
	in_port_t port;
	int rc = -1;

	if (port_of(url, &port) < 0)
		return err_set(e, E_FORMAT, "%s is no address on this machine", RELAY_URL);
	if (str_addf(&head,
		    "POST /hook HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n"
		    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		    (unsigned int)port, token, body.n) == 0 &&
		dial(p, port, e) == 0 && write_all(p, str_view(&head), e) == 0 &&
		write_all(p, body, e) == 0)
		rc = read_all(p, p->fd, &answer, e);
	if (p->fd >= 0)
		(void)close(p->fd);
	str_release(&answer);
	str_release(&head);
	return rc;
}

int relay_main(void)
{
	const char *url = getenv(RELAY_URL), *token = getenv(RELAY_TOKEN);
	struct post p = { .until = clock_mono(clock_system()) + RELAY_MS, .fd = -1 };
	struct str in = STR_INIT(RELAY_IN_MAX), body = STR_INIT(RELAY_IN_MAX);

	if (url && token && !strpbrk(token, "\r\n") && read_all(&p, STDIN_FILENO, &in, NULL) == 0 &&
		relay_shape(str_view(&in), &body, NULL) == 0)
		(void)post(&p, url, token, str_view(&body), NULL);
	str_release(&in);
	str_release(&body);
	return EXIT_SUCCESS;
}
