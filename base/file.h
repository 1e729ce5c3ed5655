/* base/file.h: private files, opened without following a symlink anywhere in the path.
 *
 * Paths are absolute. "No symlink" covers every component (openat2 RESOLVE_NO_SYMLINKS, else a walk
 * component by component); only regular files are ever read or written, so a FIFO or a device can
 * neither block nor feed us. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

/* Make a folder 0700 if it is missing (the parent must exist); an existing one must be a folder of
 * ours and gets its group and other bits removed. */
int file_mkdir_private(const char *path, struct err *e);
/* mkdir -p: what is missing is made with `mode` (less the umask); what exists is left as it is. */
int file_mkdirs(const char *path, mode_t mode, struct err *e);

/* Open an existing folder for reading (close-on-exec, fit for openat and fdopendir). */
int file_open_dir(const char *path, struct err *e);
/* openat2 of rel in the folder `dir`: no symbolic link anywhere in it, nothing above the folder,
 * whatever is moved or swapped; close-on-exec. -1 with errno: ELOOP a link, EXDEV outside, ENOSYS a
 * kernel before Linux 5.6. */
int file_open_beneath(int dir, const char *rel, int flags);
/* Open a regular file for reading; E_NOTFOUND when there is none. size may be NULL. */
int file_open_read(const char *path, int64_t *size, struct err *e);
/* Append or create, 0600; an existing file must be ours and loses its group and other bits. */
int file_open_append(const char *path, struct err *e);

/* Append the whole file to out, which is unchanged on failure. Reads at most max + 1 bytes; a file
 * longer than that, or than out has room for, is E_FORMAT. */
int file_read(const char *path, size_t max, struct str *out, struct err *e);
/* As above, but a file that others may read or write is refused with E_DENIED: for secrets. */
int file_read_private(const char *path, size_t max, struct str *out, struct err *e);
/* The last max bytes; *cut tells whether the file had more. */
int file_read_tail(const char *path, size_t max, struct str *out, bool *cut, struct err *e);
bool file_exists(const char *path); /* lstat; any kind of node */

/* Replace a file whole: a temporary file beside it (O_EXCL, random name), write, fsync, rename,
 * fsync of the folder. Until commit the old file stands; abort removes the temporary one. */
struct newfile;
int newfile_open(struct newfile **out, const char *path, mode_t mode, struct err *e);
int newfile_write(struct newfile *f, struct view v, struct err *e);
int newfile_commit(struct newfile **f, struct err *e); /* frees it either way */
void newfile_abort(struct newfile **f);                /* NULL or committed: nothing */
int file_replace(const char *path, mode_t mode, struct view content, struct err *e); /* all of it */
int file_remove(const char *path, struct err *e); /* a missing file is no error; folder synced */
/* Remove temporary files in this folder that a killed process left behind more than an hour ago. */
int file_sweep(const char *dir, const struct clock *clk, struct err *e);

/* Advisory lock on a private regular file that is never replaced or removed (an OFD or flock lock;
 * it dies with the descriptor). wait_ms 0: try once; E_BUSY when it is held. Waiting blocks: for
 * short critical sections only. */
struct lock;
int lock_take(struct lock **out, const char *path, int wait_ms, struct err *e);
void lock_release(struct lock **l);
/* Is it held by anybody now? 1 yes, 0 no (or no such file), -1 error. */
int lock_held(const char *path, struct err *e);
/* What errno means of a lock on path; -1. */
int lock_failed(const char *path, struct err *e);

/* "dir/name" into a fixed buffer; E_FORMAT when it does not fit. */
#define PATH_SIZE 4096
int path_join(char out[PATH_SIZE], const char *dir, const char *name, struct err *e);
/* Is path the folder or below it? By the text of both: real paths, without a slash at the end. */
bool path_lies_in(const char *path, const char *folder);
/* Does the way to an absolute path come through the folder (which has no link in it) anywhere, in
 * one of its links too? Then whoever writes there decides where it leads. */
bool path_goes_through(const char *path, const char *folder);

/* Cryptographic random bytes from the kernel. */
void rand_bytes(void *p, size_t n);
uint64_t rand_u64(void);
void rand_hex(char *out, size_t bytes); /* 2 * bytes digits and a NUL */

#endif
