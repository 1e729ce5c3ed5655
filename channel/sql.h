/* channel/sql.h: one statement, one call. `types` has a letter an argument: i int, l int64_t,
 * s const char * (NULL binds NULL), v struct view. */
#ifndef CHANNEL_SQL_H
#define CHANNEL_SQL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/db/db.h"
#include "base/err.h"

int sql_run(struct db *d, struct err *e, const char *sql, const char *types, ...);
/* The first column of the first row. 1: there is one. 0: none, or NULL; *out is 0. */
int sql_int(struct db *d, struct err *e, int64_t *out, const char *sql, const char *types, ...);
/* For rows: step it, then stmt_close. */
int sql_open(struct stmt **out, struct db *d, struct err *e, const char *sql, const char *types,
	...);
int sql_vopen(struct stmt **out, struct db *d, struct err *e, const char *sql, const char *types,
	va_list ap);

/* Ends a transaction begun with db_begin: commits when rc is not negative, else takes all back. rc
 * when it went well, or -1. */
int sql_end(struct db *d, int rc, struct err *e);

/* The tables of this room, channel_*. */
int sql_migrate(struct db *d, struct err *e);

/* Small numbers that outlive the program: "paused", "turn". 0 while never set. */
int sql_meta(struct db *d, const char *name, int64_t *out, struct err *e);
int sql_set_meta(struct db *d, const char *name, int64_t value, struct err *e);

#endif
