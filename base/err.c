#include "base/err.h"

#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A message often quotes what came from outside. Whatever that was, it stays one line of valid
 * UTF-8; a sequence that the end of the buffer has cut goes altogether. */
static void tidy(char *msg, bool cut)
{
	size_t len = strlen(msg), at = 0;

	while (at < len) {
		uint32_t cp = 0;
		size_t n = utf8_next((struct view){ msg + at, len - at }, &cp);

		if (n == 0 && cut && len - at < 4 && ((unsigned char)msg[at] & 0xc0) == 0xc0) {
			msg[at] = '\0';
			return;
		}
		if (n == 0) {
			msg[at] = '?';
			n = 1;
		} else if (cp < 0x20 || cp == 0x7f) {
			msg[at] = ' ';
		}
		at += n;
	}
}

static void store(struct err *e, enum err_code code, const char *head, const char *tail)
{
	char msg[ERR_MSG_MAX];
	int n = snprintf(msg, sizeof(msg), "%s%s", head, tail);

	tidy(msg, n < 0 || (size_t)n >= sizeof(msg));
	e->code = code;
	memcpy(e->msg, msg, sizeof(msg));
}

/* Whoever runs out of memory names what it was for; that it was memory is said here. */
static const char *tail_of(enum err_code code, const char *msg)
{
	return code == E_NOMEM && !strstr(msg, "memory") ? ": out of memory" : "";
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	char head[ERR_MSG_MAX + 1]; /* one more, so that store() sees the cut */
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	if (vsnprintf(head, sizeof(head), fmt, ap) < 0)
		head[0] = '\0';
	va_end(ap);
	store(e, code, head, tail_of(code, head));
	return -1;
}

static enum err_code code_of_errno(int err)
{
	switch (err) {
	case ENOENT: return E_NOTFOUND;
	case EEXIST: return E_EXISTS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG: return E_FULL;
	case ENOMEM: return E_NOMEM;
	case EACCES:
	case EPERM:
	case ELOOP: return E_DENIED;
	default: return E_IO;
	}
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int err = errno;
	char head[160], tail[96], room[64];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	if (n < 0)
		head[0] = '\0';
	tidy(head, n < 0 || (size_t)n >= sizeof(head));
	(void)snprintf(tail, sizeof(tail), ": %s", strerror_r(err, room, sizeof(room)));
	store(e, code_of_errno(err), head, tail);
	errno = err;
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char head[ERR_MSG_MAX + 1], old[ERR_MSG_MAX + 2];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	if (vsnprintf(head, sizeof(head), fmt, ap) < 0)
		head[0] = '\0';
	va_end(ap);
	(void)snprintf(old, sizeof(old), ": %s", e->msg);
	store(e, e->code, head, old);
	return -1;
}

void err_clear(struct err *e)
{
	if (!e)
		return;
	e->code = E_OK;
	e->msg[0] = '\0';
}

const char *err_code_name(enum err_code code)
{
	switch (code) {
	case E_OK: return "ok";
	case E_NOMEM: return "out of memory";
	case E_IO: return "system error";
	case E_FULL: return "full";
	case E_FORMAT: return "malformed";
	case E_DENIED: return "denied";
	case E_TIMEOUT: return "timed out";
	case E_CANCELLED: return "cancelled";
	case E_NOTFOUND: return "not found";
	case E_EXISTS: return "exists already";
	case E_CONFLICT: return "conflict";
	case E_BUSY: return "busy";
	case E_NET: return "network error";
	case E_AUTH: return "not authorised";
	case E_UNSUPPORTED: return "unsupported";
	}
	return "unknown error";
}
