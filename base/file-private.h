/* base/file-private.h: what file.c, newfile.c, lock.c, log.c and db/db.c share. */
#ifndef BASE_FILE_PRIVATE_H
#define BASE_FILE_PRIVATE_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Open or create (0600) for reading and writing a file of ours that nobody else may touch; an
 * existing one loses its group and other bits. extra: O_APPEND, O_EXCL or 0. */
int path_open_private(const char *path, int extra, struct stat *st, struct err *e);
/* The folder that holds path (an O_PATH descriptor), and the last component's name. */
int path_open_parent(const char *path, char name[NAME_MAX + 1], struct err *e);
/* Make the entries of the folder behind this descriptor durable. */
int dir_sync(int dir, const char *path, struct err *e);

#endif
