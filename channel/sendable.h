/* channel/sendable.h: may this file be sent to this user? The one check for tools, tags, the out
 * folder and the command line. */
#ifndef CHANNEL_SENDABLE_H
#define CHANNEL_SENDABLE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "channel/channel.h"
#include "channel/room.h"

#define SENDABLE_OUT      ".kairo-out" /* the one hidden folder of the workspace that counts */
#define SENDABLE_NAME_MAX 255

struct sendable {
	int fd; /* for reading; -1: none */
	struct stat st;
	char path[PATH_SIZE];             /* where it lies, absolute */
	char name[SENDABLE_NAME_MAX + 1]; /* as the phone shows it */
};

/* path is absolute or relative to the workspace. It must lie beneath the workspace or what `user`
 * has sent us, without a link, a hidden component or ".." in it, be a regular file with one link,
 * readable, and at most files.max_mb. -1: e tells whoever wrote the path why not and what to do.
 * Close it either way. */
int sendable_open(struct sendable *out, const struct room *r, const char *user, struct view path,
	struct err *e);
void sendable_close(struct sendable *s);

/* How WeChat shows a file of this name: image, video or file (wire reference, 7.5). */
enum chan_item_kind sendable_kind(const char *name);
/* A name the phone can show, out of any bytes: "" becomes "file". */
void sendable_name(char out[SENDABLE_NAME_MAX + 1], struct view name);

#endif
