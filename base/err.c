#include "base/err.h"

#include "base/file.h"
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

#define TEXT_MAX  (PATH_SIZE + 512) /* of a message before it is shortened */
#define HEAD_KEPT 120
#define GAP       VIEW(" ... ")

static bool inside_char(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What is wrong stands at the end, behind names that may be long: the middle goes. */
static void shorten(char *text)
{
	size_t n = strlen(text), head = HEAD_KEPT, tail;

	if (n < ERR_MSG_MAX)
		return;
	while (inside_char(text[head]))
		head--;
	tail = n - (ERR_MSG_MAX - 1 - head - GAP.n);
	while (inside_char(text[tail]))
		tail++;
	memcpy(text + head, GAP.p, GAP.n);
	memmove(text + head + GAP.n, text + tail, n - tail + 1);
}

/* text has room for TEXT_MAX bytes. */
static void store(struct err *e, enum err_code code, char *text, bool cut)
{
	tidy(text, cut);
	shorten(text);
	e->code = code;
	memcpy(e->msg, text, strlen(text) + 1);
}

static void add(char *text, const char *tail)
{
	size_t n = strlen(text);

	(void)snprintf(text + n, TEXT_MAX - n, "%s", tail);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		text[0] = '\0';
	/* Whoever runs out of memory names what it was for; that it was memory is said here. */
	if (code == E_NOMEM && !strstr(text, "memory"))
		add(text, ": out of memory");
	store(e, code, text, n >= TEXT_MAX);
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
	char text[TEXT_MAX], room[64];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(text, TEXT_MAX - sizeof(room) - 2, fmt, ap);
	va_end(ap);
	if (n < 0)
		text[0] = '\0';
	add(text, ": ");
	add(text, strerror_r(err, room, sizeof(room)));
	store(e, code_of_errno(err), text, false);
	errno = err;
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(text, TEXT_MAX - ERR_MSG_MAX - 2, fmt, ap);
	va_end(ap);
	if (n < 0)
		text[0] = '\0';
	add(text, ": ");
	add(text, e->msg);
	store(e, e->code, text, false);
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
