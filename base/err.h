/* base/err.h: why something failed. Code branches on the code, people read the message. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum err_code {
	E_OK,
	E_NOMEM,  /* out of memory, or a text ceiling reached */
	E_IO,     /* the system refused: disk, descriptor, process */
	E_FULL,   /* a bounded thing has no room, or the disk has none */
	E_FORMAT, /* input that does not keep its grammar or its limits */
	E_DENIED, /* policy, permission or an unsafe path */
	E_TIMEOUT,
	E_CANCELLED,
	E_NOTFOUND,
	E_EXISTS,
	E_CONFLICT, /* somebody else changed it first */
	E_BUSY,     /* locked or running */
	E_NET,      /* the other side could not be reached, or broke off */
	E_AUTH,     /* credentials missing, refused or expired */
	E_UNSUPPORTED
};

/* Filled where the cause is known, handed up unchanged, logged once where it is handled. The
 * message is one line of UTF-8 without a full stop; if it must be cut, the middle goes, between
 * characters. */
#define ERR_MSG_MAX 256 /* the NUL counted */
struct err {
	enum err_code code;
	char msg[ERR_MSG_MAX];
};

#define ERR_INIT ((struct err){ .code = E_OK })

/* Set code and message. Always returns -1, so that a failing function can return the call itself.
 * A NULL e is allowed: the caller does not want to know. With E_NOMEM it is enough to name what
 * there was no room for. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, with ": <strerror(errno)>" appended; the code is chosen from errno (ENOENT gives
 * E_NOTFOUND, EEXIST E_EXISTS, ENOSPC, EDQUOT and EFBIG E_FULL, ENOMEM E_NOMEM, EACCES, EPERM and
 * ELOOP E_DENIED, else E_IO). */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "fmt: " in front of the message that is there, keeping the code. Always returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void err_clear(struct err *e);
const char *err_code_name(enum err_code code); /* "not found"; never NULL */

#endif
