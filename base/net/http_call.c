#include "base/net/http-private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the rules a request must keep ------------------------------------------------------------ */

static int check_url(const struct http *h, const struct http_url *u, bool proxied, struct err *e)
{
	const struct http_rules *r = &h->rules;
	struct sockaddr_storage sa;
	char host[256];

	if (u->has_user)
		return err_set(e, E_DENIED, "URL: a user name or password in it is not accepted");
	if (copy_z(host, sizeof host, u->host) < 0)
		return err_set(e, E_FORMAT, "URL: the host name is too long");
	if (r->unix_path)
		return 0;
	if (!u->tls && !r->plain_http && !(r->loopback && http_host_is_loopback(u->host)))
		return err_set(e, E_DENIED, "%s: plain http is not allowed, use https", host);
	/* Where the peer will be seen, it is judged then. */
	if (!proxied || r->reach == HTTP_ANY)
		return 0;
	if (u->port != (u->tls ? 443 : 80) ||
		(http_addr_parse(host, u->port, &sa) &&
			!http_addr_public((struct sockaddr *)&sa, r->fake_ip)))
		return err_set(e, E_DENIED, "%s: this address or port is not a public one", host);
	return 0;
}

static bool is_token(const char *s)
{
	for (const char *p = s; *p; p++)
		if (!((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
			    (*p >= 'A' && *p <= 'Z') || strchr("!#$%&'*+-.^_`|~", *p)))
			return false;
	return *s != '\0';
}

static bool has_controls(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

/* Headers that frame the message are the library's. */
static bool is_framing(const char *name)
{
	static const char *const names[] = { "Content-Length", "Transfer-Encoding", "Host",
		"Connection", "Expect", "TE", "Upgrade" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

static int add_header(struct http_call *c, const char *line)
{
	struct curl_slist *more = curl_slist_append(c->headers, line);

	if (!more)
		return -1;
	c->headers = more;
	return 0;
}

static int add_headers(struct http_call *c, const struct http_req *req, struct err *e)
{
	struct str line = STR_INIT(64 << 10);
	int rc = -1;

	if (req->nheaders > HTTP_HEADERS_MAX)
		return err_set(e, E_FORMAT, "request: more than %d headers", HTTP_HEADERS_MAX);
	for (size_t i = 0; i < req->nheaders; i++) {
		const char *name = req->headers[i].name, *value = req->headers[i].value;

		if (!is_token(name) || is_framing(name) || has_controls(value)) {
			err_set(e, E_FORMAT,
				"request: header %zu has a name or value that cannot be sent",
				i + 1);
			goto out;
		}
		str_reset(&line);
		/* curl takes "Name:" as a wish to leave it out; an empty value is written "Name;".
		 */
		if (value[strspn(value, " ")] == '\0')
			str_addf(&line, "%s;", name);
		else
			str_addf(&line, "%s: %s", name, value);
		if (!str_ok(&line) || add_header(c, str_cstr(&line)) < 0) {
			err_set(e, E_NOMEM, "request header");
			goto out;
		}
	}
	/* No waiting for "100 Continue", and only the content type the caller gave. */
	rc = add_header(c, "Expect:");
	if (rc == 0 && c->post) {
		bool typed = false;

		for (size_t i = 0; i < req->nheaders; i++)
			typed |= strcasecmp(req->headers[i].name, "Content-Type") == 0;
		if (!typed)
			rc = add_header(c, "Content-Type:");
	}
	if (rc < 0)
		err_set(e, E_NOMEM, "request header");
out:
	str_wipe(&line);
	return rc;
}

/* --- curl's callbacks ------------------------------------------------------------------------- */

static bool is_over(const struct http_call *c)
{
	return c->state == CALL_DEAD || c->pool->closing;
}

/* 0 as long as there is none, or only an interim one (1xx). */
static int status_of(const struct http_call *c)
{
	long status = 0;

	(void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status <= 999 ? (int)status : 0;
}

static curl_socket_t call_opens_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct http_call *c = arg;
	int fd;

	(void)purpose;
	if (is_over(c))
		return CURL_SOCKET_BAD;
	if (!c->proxied && !c->pool->rules.unix_path &&
		!http_addr_allowed(&c->pool->rules, c->tls, &a->addr)) {
		c->peers_denied++;
		http_addr_text(&a->addr, c->peer, sizeof c->peer);
		return CURL_SOCKET_BAD;
	}
	fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	if (fd < 0)
		return CURL_SOCKET_BAD;
	c->peers_tried++;
	return fd;
}

/* The connection stands, fresh or kept, and the request is about to go out. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static int call_is_connected(void *arg, char *peer_ip, char *local_ip, int peer_port,
	int local_port)
{
	struct http_call *c = arg;
	struct sockaddr_storage sa;

	(void)local_ip;
	(void)local_port;
	if (is_over(c))
		return CURL_PREREQFUNC_ABORT;
	if (!c->proxied && !c->pool->rules.unix_path &&
		(!http_addr_parse(peer_ip, peer_port, &sa) ||
			!http_addr_allowed(&c->pool->rules, c->tls, (struct sockaddr *)&sa))) {
		c->fail = HTTP_FAIL_PEER;
		(void)copy_z(c->peer, sizeof c->peer, view_of(peer_ip));
		return CURL_PREREQFUNC_ABORT;
	}
	c->state = CALL_SENT;
	c->touched = loop_now(c->pool->loop);
	http_call_arm(c);
	return CURL_PREREQFUNC_OK;
}

/* Up to max bytes of the body, one at least; -1 ends the transfer. */
static int give_body(struct http_call *c, char *buf, size_t max, size_t *given)
{
	ssize_t n;

	if (!c->body_read) {
		memcpy(buf, c->body.p + c->body_sent, max);
		*given = max;
		return 0;
	}
	n = c->body_read(c->arg, buf, max);
	if (is_over(c))
		return -1;
	if (n > 0 && (size_t)n <= max) {
		*given = (size_t)n;
		return 0;
	}
	c->fail = HTTP_FAIL_STOPPED;
	return err_set(&c->why, E_CANCELLED, "%s: the request was not sent to its end", c->host);
}

/* The body goes out by a callback and not as curl's own post data: curl repeats a request by itself
 * when a kept connection turns out dead, but cannot rewind this one. So what may have been seen by
 * the peer is never sent twice behind the caller's back. */
static size_t call_sends_body(char *buf, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;
	size_t room = size * n, left = c->body_size - c->body_sent;

	if (is_over(c))
		return CURL_READFUNC_ABORT;
	if (room > left)
		room = left;
	if (room > 0 && give_body(c, buf, room, &room) < 0)
		return CURL_READFUNC_ABORT;
	c->body_sent += room;
	c->touched = loop_now(c->pool->loop);
	return room;
}

static void head_over(struct http_call *c)
{
	c->fail = HTTP_FAIL_TOO_BIG;
	err_set(&c->why, E_FORMAT, "%s: its headers are longer than %zu bytes", c->host,
		HTTP_HEAD_MAX);
}

static int body_over(struct http_call *c)
{
	c->fail = HTTP_FAIL_TOO_BIG;
	return err_set(&c->why, E_FORMAT, "%s: its answer is longer than %zu bytes", c->host,
		c->body_max);
}

static int keep_header(struct http_call *c, struct view line)
{
	size_t colon = view_find(line, ':');

	if (colon == 0 || colon == line.n)
		return 0;
	str_add(&c->head, view_cut(line, colon));
	str_addc(&c->head, '\0');
	str_add(&c->head, view_trim(view_from(line, colon + 1)));
	str_addc(&c->head, '\0');
	return str_ok(&c->head) ? 0 : -1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static size_t call_gets_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;
	struct view line = { p, size * n };

	if (is_over(c))
		return CURL_WRITEFUNC_ERROR;
	c->touched = loop_now(c->pool->loop);
	c->head_bytes += line.n;
	if (c->head_bytes > HTTP_HEAD_MAX) {
		head_over(c);
		return CURL_WRITEFUNC_ERROR;
	}
	if (view_find(line, '\0') < line.n) {
		c->fail = HTTP_FAIL_BROKEN;
		err_set(&c->why, E_NET, "%s: a zero byte in its headers", c->host);
		return CURL_WRITEFUNC_ERROR;
	}
	if (line.p[0] == ' ' || line.p[0] == '\t')
		return line.n; /* the rest of a folded line */
	line = view_trim(line);
	if (line.n == 0)
		c->head_done = status_of(c) > 0; /* or only an interim answer's */
	else if (!c->head_done && view_starts(line, VIEW("HTTP/")))
		str_reset(&c->head);
	else if (!c->head_done && keep_header(c, line) < 0)
		return CURL_WRITEFUNC_ERROR;
	return size * n;
}

/* A piece of the answer, decoded. -1 ends the transfer. */
static int take_body(struct http_call *c, struct view piece)
{
	bool good = status_of(c) / 100 == 2;
	size_t room = (good ? c->body_max : c->error_body_max) - c->reply_bytes;

	if (piece.n > room && good)
		return body_over(c);
	c->cut = piece.n > room;
	piece = view_cut(piece, room);
	c->reply_bytes += piece.n;
	if (!good || !c->on_body) {
		if (str_add(&c->reply, piece) < 0)
			return err_set(&c->why, E_NOMEM, "%s: out of memory for its answer",
				c->host);
		return c->cut ? -1 : 0;
	}
	if (piece.n == 0 || c->on_body(c->arg, piece) == 0)
		return 0;
	if (!is_over(c)) {
		c->fail = HTTP_FAIL_STOPPED;
		err_set(&c->why, E_CANCELLED, "%s: the answer was not read to its end", c->host);
	}
	return -1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static size_t call_gets_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	if (is_over(c))
		return CURL_WRITEFUNC_ERROR;
	c->touched = loop_now(c->pool->loop);
	if (take_body(c, (struct view){ p, size * n }) < 0 || is_over(c))
		return CURL_WRITEFUNC_ERROR;
	return size * n;
}

/* --- deadlines -------------------------------------------------------------------------------- */

static int64_t idle_at(const struct http_call *c)
{
	return c->state == CALL_SENT && c->idle_ms > 0 ? c->touched + c->idle_ms : INT64_MAX;
}

static int64_t connect_at(const struct http_call *c)
{
	return c->state == CALL_CONNECTING ? c->connect_began + c->connect_ms : INT64_MAX;
}

static int64_t total_at(const struct http_call *c)
{
	return c->timeout_ms > 0 ? c->began + c->timeout_ms : INT64_MAX;
}

void http_call_arm(struct http_call *c)
{
	int64_t at = total_at(c);

	if (idle_at(c) < at)
		at = idle_at(c);
	if (connect_at(c) < at)
		at = connect_at(c);
	if (at == INT64_MAX)
		timer_disarm(c->timer);
	else
		timer_arm(c->timer, at - loop_now(c->pool->loop));
}

/* How far the call got, for "... within N ms". */
static const char *lacking(const struct http_call *c)
{
	if (c->state == CALL_WAITING)
		return "no turn under the rate limit";
	if (c->state == CALL_CONNECTING)
		return c->peers_tried == 0 ? "no answer to the name lookup" : "no connection";
	if (c->body_sent < c->body_size)
		return "the request was not taken";
	return status_of(c) == 0 ? "no answer" : "the answer did not end";
}

static void call_on_timer(void *arg)
{
	struct http_call *c = arg;
	int64_t now = loop_now(c->pool->loop);
	const char *what = lacking(c);
	int64_t limit;

	if (now >= total_at(c))
		limit = c->timeout_ms;
	else if (now >= connect_at(c))
		limit = c->connect_ms;
	else if (now >= idle_at(c)) {
		limit = c->idle_ms;
		if (status_of(c) > 0)
			what = "nothing more of the answer";
	} else {
		http_call_arm(c); /* a byte came meanwhile */
		return;
	}
	c->fail = HTTP_FAIL_TIMEOUT;
	err_set(&c->why, E_TIMEOUT, "%s: %s within %lld ms", c->host, what, (long long)limit);
	http_call_end(c, CURLE_OPERATION_TIMEDOUT);
}

/* --- setting up ------------------------------------------------------------------------------- */

/* One failed option makes the request another one than was asked for, so each must hold. */
#define OPT(name, value) \
	do { \
		if (curl_easy_setopt(c->easy, CURLOPT_##name, (value)) != CURLE_OK) \
			return -1; \
	} while (0)

static int set_basics(struct http_call *c)
{
	const struct http_rules *r = &c->pool->rules;

	OPT(PRIVATE, c);
	OPT(URL, str_cstr(&c->url));
	OPT(PROTOCOLS_STR, c->tls ? "https" : "http");
	OPT(PATH_AS_IS, 1L);
	OPT(FOLLOWLOCATION, 0L);
	OPT(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	OPT(NOSIGNAL, 1L);
	OPT(QUICK_EXIT, 1L);
	OPT(BUFFERSIZE, 16L << 10);
	OPT(UPLOAD_BUFFERSIZE, 16L << 10);
	OPT(TCP_KEEPALIVE, 1L);
	OPT(CONNECTTIMEOUT_MS, (long)c->connect_ms);
	OPT(PROXY, c->proxied ? r->proxy : "");
	OPT(NOPROXY, "");
	OPT(SUPPRESS_CONNECT_HEADERS, 1L);
	OPT(NETRC, (long)CURL_NETRC_IGNORED);
	OPT(HTTPHEADER, c->headers);
	if (c->connect_only)
		OPT(CONNECT_ONLY, 1L);
	if (r->user_agent)
		OPT(USERAGENT, r->user_agent);
	if (r->unix_path)
		OPT(UNIX_SOCKET_PATH, r->unix_path);
	/* A stream is wanted piece by piece, and compressing holds pieces back. */
	if (!c->on_body)
		OPT(ACCEPT_ENCODING, "gzip");
	return 0;
}

static int set_tls(struct http_call *c)
{
	const struct http_rules *r = &c->pool->rules;

	OPT(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	OPT(SSL_VERIFYPEER, 1L);
	OPT(SSL_VERIFYHOST, 2L);
	if (r->ca_file) {
		OPT(CAINFO, r->ca_file);
		OPT(CAPATH, NULL);
		OPT(PROXY_CAINFO, r->ca_file);
		OPT(PROXY_CAPATH, NULL);
	} else if (c->pool->ca_dir) {
		OPT(CAINFO, NULL);
		OPT(CAPATH, c->pool->ca_dir);
		OPT(PROXY_CAINFO, NULL);
		OPT(PROXY_CAPATH, c->pool->ca_dir);
	}
	if (c->ciphers)
		OPT(SSL_CIPHER_LIST, c->ciphers);
	return 0;
}

static int set_callbacks(struct http_call *c)
{
	OPT(OPENSOCKETFUNCTION, call_opens_socket);
	OPT(OPENSOCKETDATA, c);
	OPT(PREREQFUNCTION, call_is_connected);
	OPT(PREREQDATA, c);
	OPT(HEADERFUNCTION, call_gets_header);
	OPT(HEADERDATA, c);
	OPT(WRITEFUNCTION, call_gets_body);
	OPT(WRITEDATA, c);
	OPT(MAXFILESIZE_LARGE, (curl_off_t)c->body_max);
	if (!c->post) {
		OPT(HTTPGET, 1L);
		return 0;
	}
	OPT(POST, 1L);
	OPT(POSTFIELDSIZE_LARGE, (curl_off_t)c->body_size);
	OPT(READFUNCTION, call_sends_body);
	OPT(READDATA, c);
	/* Without a body there is nothing to rewind, so here only a connection of its own helps.
	 * One that is read on the way out would be lost to a kept connection that has died. Such a
	 * connection is not kept either: they would pile up beside those that are used again. */
	if (c->body_size == 0 || c->body_read) {
		OPT(FRESH_CONNECT, 1L);
		OPT(FORBID_REUSE, 1L);
	}
	return 0;
}

static int copy_req(struct http_call *c, const struct http_req *req, struct err *e)
{
	struct http_url u;
	size_t body_cap = req->body.n;

	if (strcmp(req->method, "GET") != 0 && strcmp(req->method, "POST") != 0)
		return err_set(e, E_UNSUPPORTED, "request: the method must be GET or POST");
	c->post = req->method[0] == 'P';
	if (!c->post && (req->body.n > 0 || req->body_read))
		return err_set(e, E_UNSUPPORTED, "request: GET has no body");
	if (http_url_parse(view_of(req->url), &u, e) < 0)
		return -1;
	/* What is on this machine is reached directly. */
	c->proxied =
		c->pool->rules.proxy && !c->pool->rules.unix_path && !http_host_is_loopback(u.host);
	if (check_url(c->pool, &u, c->proxied, e) < 0 || add_headers(c, req, e) < 0)
		return -1;
	(void)copy_z(c->host, sizeof c->host, u.host);
	c->port = u.port;
	c->tls = u.tls;
	c->url = STR_INIT(strlen(req->url));
	c->body = STR_INIT(body_cap);
	if (str_adds(&c->url, req->url) < 0 || (body_cap > 0 && str_add(&c->body, req->body) < 0) ||
		(req->ciphers && !(c->ciphers = strdup(req->ciphers))))
		return err_set(e, E_NOMEM, "request");
	return 0;
}

static void copy_limits(struct http_call *c, const struct http_req *req)
{
	c->connect_ms = req->connect_ms > 0 ? req->connect_ms : HTTP_CONNECT_MS;
	c->timeout_ms = req->timeout_ms;
	c->idle_ms = req->idle_ms;
	c->body_max = req->body_max > 0 ? req->body_max : HTTP_BODY_MAX;
	c->error_body_max = c->body_max;
	if (req->error_body_max > 0 && req->error_body_max < c->body_max)
		c->error_body_max = req->error_body_max;
	c->connect_only = req->connect_only;
	c->body_read = req->body_read;
	c->body_size = req->body_read ? (size_t)req->body_size : req->body.n;
	c->on_body = req->on_body;
	c->on_done = req->on_done;
	c->arg = req->arg;
	c->head = STR_INIT(2 * HTTP_HEAD_MAX);
	c->reply = STR_INIT(c->body_max);
}

int http_call_new(struct http_call **out, struct http *h, const struct http_req *req, struct err *e)
{
	struct http_call *c = calloc(1, sizeof *c);

	assert(req->on_done && req->body_size >= 0);
	if (!c)
		return err_set(e, E_NOMEM, "request");
	c->pool = h;
	copy_limits(c, req);
	if (copy_req(c, req, e) < 0 || timer_new(&c->timer, h->loop, call_on_timer, c, e) < 0)
		goto fail;
	c->easy = curl_easy_init();
	if (!c->easy || set_basics(c) < 0 || set_tls(c) < 0 || set_callbacks(c) < 0) {
		err_set(e, E_NOMEM, "%s: the request could not be set up", c->host);
		goto fail;
	}
	*out = c;
	return 0;
fail:
	http_call_free(&c);
	return -1;
}

void http_call_free(struct http_call **cp)
{
	struct http_call *c = *cp;

	if (!c)
		return;
	if (c->easy)
		curl_easy_cleanup(c->easy);
	timer_free(&c->timer);
	for (struct curl_slist *s = c->headers; s; s = s->next)
		explicit_bzero(s->data, strlen(s->data));
	curl_slist_free_all(c->headers);
	str_wipe(&c->url);
	str_wipe(&c->body);
	str_wipe(&c->head);
	str_wipe(&c->reply);
	free(c->ciphers);
	free(c);
	*cp = NULL;
}

/* --- the result ------------------------------------------------------------------------------- */

const char *http_fail_name(enum http_fail f)
{
	static const char *const names[] = { [HTTP_OK_] = "ok",
		[HTTP_FAIL_URL] = "url",
		[HTTP_FAIL_DNS] = "dns",
		[HTTP_FAIL_CONNECT] = "connect",
		[HTTP_FAIL_TLS] = "tls",
		[HTTP_FAIL_PEER] = "peer",
		[HTTP_FAIL_TIMEOUT] = "timeout",
		[HTTP_FAIL_TOO_BIG] = "too big",
		[HTTP_FAIL_BROKEN] = "broken",
		[HTTP_FAIL_STOPPED] = "stopped" };

	return (size_t)f < sizeof names / sizeof *names ? names[f] : "unknown";
}

const char *http_header(const struct http_call *c, const char *name)
{
	const char *found = NULL;

	for (size_t at = 0; at < c->head.n;) {
		const char *key = c->head.p + at, *value = key + strlen(key) + 1;

		if (strcasecmp(key, name) == 0)
			found = value;
		at = (size_t)(value + strlen(value) + 1 - c->head.p);
	}
	return found;
}

static int64_t retry_after(const struct http_call *c)
{
	unsigned long long s;
	const char *v = http_header(c, "Retry-After");

	if (!v || parse_u64(view_of(v), &s) < 0 || s > INT64_MAX / 1000)
		return -1;
	return (int64_t)s * 1000;
}

static bool is_in_head(const struct http_call *c)
{
	return c->state == CALL_SENT && !c->head_done;
}

static enum http_fail fail_of(const struct http_call *c, CURLcode code)
{
	switch (code) {
	case CURLE_OK: /* curl takes a head that ends early for an answer */
		return c->head_done || c->connect_only ? HTTP_OK_ : HTTP_FAIL_BROKEN;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY: return HTTP_FAIL_DNS;
	case CURLE_COULDNT_CONNECT:
		return c->peers_denied > 0 && c->peers_tried == 0 ? HTTP_FAIL_PEER
		                                                  : HTTP_FAIL_CONNECT;
	case CURLE_PROXY: return HTTP_FAIL_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return HTTP_FAIL_TLS;
	case CURLE_OPERATION_TIMEDOUT: return HTTP_FAIL_TIMEOUT;
	case CURLE_FILESIZE_EXCEEDED: return HTTP_FAIL_TOO_BIG;
	case CURLE_OUT_OF_MEMORY: /* what curl calls a header line past its own limit */
		return is_in_head(c) ? HTTP_FAIL_TOO_BIG : HTTP_FAIL_BROKEN;
	case CURLE_URL_MALFORMAT: return HTTP_FAIL_URL;
	default: return c->state == CALL_CONNECTING ? HTTP_FAIL_CONNECT : HTTP_FAIL_BROKEN;
	}
}

/* Why a TLS connection was not made, from OpenSSL's verdict where there is one. */
static const char *tls_reason(const struct http_call *c, CURLcode code)
{
	long verdict = 0;

	if (code == CURLE_SSL_CACERT_BADFILE)
		return "the file of trusted certificates cannot be read";
	(void)curl_easy_getinfo(c->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
	switch (verdict) { /* X509_V_ERR_... */
	case 0:
	case 1: break; /* none given */
	case 9: return "its certificate is not valid yet; check the clock";
	case 10: return "its certificate has expired; check the clock";
	case 18:
	case 19:
	case 20:
	case 21: return "its certificate is signed by no authority that is trusted here";
	default: return "its certificate is not accepted";
	}
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return "its certificate is for another host";
	return curl_easy_strerror(code);
}

static void explain(struct http_call *c, enum http_fail fail, CURLcode code)
{
	struct err *e = &c->why;
	long errnum = 0;

	switch (fail) {
	case HTTP_FAIL_DNS: err_set(e, E_NET, "%s: the name could not be resolved", c->host); break;
	case HTTP_FAIL_CONNECT:
		(void)curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &errnum);
		err_set(e, E_NET, "%s: no connection to port %d (%s)", c->host, c->port,
			code == CURLE_COULDNT_CONNECT && errnum ? strerrordesc_np((int)errnum)
								: curl_easy_strerror(code));
		break;
	case HTTP_FAIL_TLS: err_set(e, E_NET, "%s: TLS: %s", c->host, tls_reason(c, code)); break;
	case HTTP_FAIL_PEER:
		err_set(e, E_DENIED, "%s: its address %s is not allowed on port %d", c->host,
			c->peer, c->port);
		break;
	case HTTP_FAIL_TIMEOUT:
		err_set(e, E_TIMEOUT, "%s: %s within %lld ms", c->host, lacking(c),
			(long long)c->connect_ms);
		break;
	case HTTP_FAIL_TOO_BIG:
		if (code == CURLE_FILESIZE_EXCEEDED) /* a body announced in the head */
			(void)body_over(c);
		else
			head_over(c);
		break;
	case HTTP_FAIL_URL:
		err_set(e, E_FORMAT, "%s: the URL is not accepted by the HTTP library", c->host);
		break;
	default:
		err_set(e, E_NET, "%s: the connection broke (%s)", c->host,
			curl_easy_strerror(code));
		break;
	}
}

/* False only where the peer cannot have the whole request. */
static bool was_sent(const struct http_call *c, CURLcode code, int status)
{
	curl_off_t body = 0;
	long head = 0;

	if (status > 0)
		return true;
	if (c->state != CALL_SENT)
		return false;
	if (c->body_sent < c->body_size)
		return false;
	if (code == CURLE_SEND_FAIL_REWIND)
		return true; /* out; curl began to repeat it and reset its counters */
	(void)curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &head);
	(void)curl_easy_getinfo(c->easy, CURLINFO_SIZE_UPLOAD_T, &body);
	return head > 0 && (size_t)body >= c->body_size;
}

void http_call_result(struct http_call *c, CURLcode code, struct http_result *r)
{
	bool good = status_of(c) / 100 == 2;
	enum http_fail fail = c->fail != HTTP_OK_ ? c->fail : fail_of(c, code);

	/* Enough of an error's body is a whole answer; so is one too long to begin with. */
	if (c->fail == HTTP_OK_ && status_of(c) > 0 && !good &&
		(c->cut || code == CURLE_FILESIZE_EXCEEDED))
		fail = HTTP_OK_;
	if (fail != HTTP_OK_ && c->why.code == E_OK)
		explain(c, fail, code);
	*r = (struct http_result){ .fail = fail,
		.status = status_of(c),
		.body = str_view(&c->reply),
		.retry_after_ms = retry_after(c),
		.err = &c->why,
		.peer = c->peer,
		.call = c };
	r->request_sent = was_sent(c, code, r->status);
	log_debug(c->pool->log, "http", "%s %s: status %d, %s, %lld ms", c->post ? "POST" : "GET",
		c->host, r->status, http_fail_name(fail),
		(long long)(loop_now(c->pool->loop) - c->began));
}
