#include "base/net/httpd-private.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, PAUSE_MS = 1000, ACCEPTS_A_PASS = 16 };

/* --- accepting -------------------------------------------------------------------------------- */

static void turn_away(int fd)
{
	static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
				   "Connection: close\r\nRetry-After: 1\r\n\r\n";

	(void)!send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

static void httpd_on_connection(void *arg, int fd, int what)
{
	struct httpd *h = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_A_PASS; i++) {
		int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (conn < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM) {
				log_warn(h->log, "httpd",
					"no descriptor for a connection; waiting");
				(void)watch_set(h->watch, 0);
				timer_arm(h->pause, PAUSE_MS);
			}
			return;
		}
		if (h->nreqs >= HTTPD_CONNS_MAX) {
			log_warn(h->log, "httpd", "more than %d connections: one is turned away",
				HTTPD_CONNS_MAX);
			turn_away(conn);
		} else {
			httpd_conn_open(h, conn);
		}
	}
}

static void httpd_on_pause_over(void *arg)
{
	struct httpd *h = arg;

	(void)watch_set(h->watch, WATCH_READ);
}

/* --- listening -------------------------------------------------------------------------------- */

static int unix_address(const char *path, struct sockaddr_un *un, struct err *e)
{
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (copy_z(un->sun_path, sizeof un->sun_path, view_of(path)) < 0)
		return err_set(e, E_FORMAT, "%s: a socket's path has at most %zu bytes", path,
			sizeof un->sun_path - 1);
	return 0;
}

/* A socket that nobody listens on was left by a process that was killed: it makes room. */
static int remove_stale(const char *path, const struct sockaddr_un *un, struct err *e)
{
	struct stat st;
	int fd, rc, why;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, E_EXISTS, "%s: something else than a socket has this name", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, "socket");
	rc = connect(fd, (const struct sockaddr *)un, sizeof *un);
	why = errno;
	(void)close(fd);
	if (rc == 0 || why != ECONNREFUSED)
		return err_set(e, E_BUSY, "%s: another process listens there", path);
	return unlink(path) < 0 && errno != ENOENT ? err_sys(e, "%s", path) : 0;
}

static int listen_unix(struct httpd *h, struct err *e)
{
	struct sockaddr_un un;
	struct stat st;

	if (unix_address(h->unix_path, &un, e) < 0 || remove_stale(h->unix_path, &un, e) < 0)
		return -1;
	h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode is set before the name exists, so that no umask opens it for a moment. */
	if (h->fd < 0 || fchmod(h->fd, 0600) < 0 ||
		bind(h->fd, (struct sockaddr *)&un, sizeof un) < 0 || lstat(h->unix_path, &st) < 0)
		return err_sys(e, "%s", h->unix_path);
	h->dev = st.st_dev;
	h->ino = st.st_ino;
	if ((st.st_mode & 07777) != 0600 && chmod(h->unix_path, 0600) < 0)
		return err_sys(e, "%s", h->unix_path);
	return listen(h->fd, BACKLOG) < 0 ? err_sys(e, "%s", h->unix_path) : 0;
}

static int listen_tcp(struct httpd *h, int port, struct err *e)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof in;
	int on = 1;

	if (port < 0 || port > 65535)
		return err_set(e, E_FORMAT, "port %d: a port is a number from 0 to 65535", port);
	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0 || setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
		bind(h->fd, (struct sockaddr *)&in, sizeof in) < 0 || listen(h->fd, BACKLOG) < 0 ||
		getsockname(h->fd, (struct sockaddr *)&in, &n) < 0)
		return err_sys(e, "127.0.0.1 port %d", port);
	h->port = ntohs(in.sin_port);
	return 0;
}

static void remove_own(const struct httpd *h)
{
	struct stat st;

	if (h->unix_path && h->ino && lstat(h->unix_path, &st) == 0 && st.st_dev == h->dev &&
		st.st_ino == h->ino)
		(void)unlink(h->unix_path);
}

int httpd_open(struct httpd **out, struct loop *l, const struct httpd_opts *o, httpd_cb *cb,
	void *arg, struct log *log, struct err *e)
{
	struct httpd *h = calloc(1, sizeof *h);

	if (!h)
		return err_set(e, E_NOMEM, "HTTP server");
	*h = (struct httpd){ .loop = l, .log = log, .cb = cb, .arg = arg, .fd = -1 };
	TAILQ_INIT(&h->reqs);
	h->body_max = o->body_max > 0 ? o->body_max : HTTPD_BODY_MAX;
	h->stream_max = o->stream_max > 0 ? o->stream_max : HTTPD_STREAM_MAX;
	if ((o->token && !(h->token = strdup(o->token))) ||
		(o->unix_path && !(h->unix_path = strdup(o->unix_path)))) {
		err_set(e, E_NOMEM, "HTTP server");
		goto fail;
	}
	if ((h->unix_path ? listen_unix(h, e) : listen_tcp(h, o->tcp_port, e)) < 0 ||
		timer_new(&h->pause, l, httpd_on_pause_over, h, e) < 0 ||
		watch_new(&h->watch, l, h->fd, WATCH_READ, httpd_on_connection, h, e) < 0)
		goto fail;
	*out = h;
	return 0;
fail:
	httpd_close(&h);
	return -1;
}

void httpd_close(struct httpd **hp)
{
	struct httpd *h = *hp;
	struct httpd_req *r;

	*hp = NULL;
	if (!h)
		return;
	while ((r = TAILQ_FIRST(&h->reqs)))
		httpd_conn_free(r);
	watch_free(&h->watch);
	timer_free(&h->pause);
	remove_own(h);
	if (h->fd >= 0)
		(void)close(h->fd);
	free(h->unix_path);
	if (h->token)
		explicit_bzero(h->token, strlen(h->token));
	free(h->token);
	free(h);
}

int httpd_port(const struct httpd *h)
{
	return h->port;
}
