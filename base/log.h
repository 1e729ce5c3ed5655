/* base/log.h: one line an event: time, level, room, subject, text. Every line passes redaction and
 * has its control bytes made visible, so that nothing untrusted can forge a line or hold a
 * secret. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#define LOG_LINE_MAX    4096               /* bytes, longer lines are cut with a mark */
#define LOG_FILE_MAX    ((int64_t)5 << 20) /* a file is rotated before it would pass this */
#define LOG_GENERATIONS 3                  /* kairo.log.1 .. kairo.log.3 are kept */

struct log;

/* To a descriptor that stays the caller's (stderr). */
int log_open_fd(struct log **out, int fd, enum log_level level, struct err *e);
/* To a private file (0600, no symlink component), rotated as above. max_bytes 0 means LOG_FILE_MAX.
 * A write that fails (disk full) is counted and tried again with the next line; it never fails the
 * caller. */
int log_open_file(struct log **out, const char *path, enum log_level level, int64_t max_bytes,
	struct err *e);
void log_close(struct log **l);
void log_set_level(struct log *l, enum log_level level);
int log_level_parse(const char *name, enum log_level *out); /* error warn info debug; else -1 */
uint64_t log_lost(const struct log *l);                     /* lines that could not be written */

/* l NULL: nothing happens. room is a short constant ("poll"); subject names what it is about
 * (an account, message id, turn, pid) or is NULL. */
void log_msg(struct log *l, enum log_level level, const char *room, const char *subject,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#define log_error(l, room, ...) log_msg((l), LOG_ERROR, (room), NULL, __VA_ARGS__)
#define log_warn(l, room, ...)  log_msg((l), LOG_WARN, (room), NULL, __VA_ARGS__)
#define log_info(l, room, ...)  log_msg((l), LOG_INFO, (room), NULL, __VA_ARGS__)
#define log_debug(l, room, ...) log_msg((l), LOG_DEBUG, (room), NULL, __VA_ARGS__)

/* Secrets known to this process (tokens, keys): whatever text they turn up in, they are masked.
 * At most 256, each 8 to 4,096 bytes; shorter ones are refused (-1). Kept until log_close. */
int log_add_secret(struct log *l, const char *secret, struct err *e);
/* The same for text that goes elsewhere; appended. l NULL: nothing is masked. */
int log_mask(const struct log *l, struct view in, struct str *out);

#endif
