/* channel/outfolder.h: WORKSPACE/.kairo-out. What an agent leaves there during a turn is sent to
 * the user when the turn ends, and moved into its folder "kept". Git does not see it. */
#ifndef CHANNEL_OUTFOLDER_H
#define CHANNEL_OUTFOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"
#include "channel/room.h"

#define OUTFOLDER_KEPT "kept"
#define OUTFOLDER_MAX  64 /* entries that are looked at */

struct outfolder_list {
	char name[OUTFOLDER_MAX][NAME_MAX + 1];
	size_t n;
	bool more; /* than these lie there */
};

/* Made where it is missing and the workspace is ours; emptied of what another turn has left. What
 * cannot be done is logged. */
void outfolder_begin(const struct room *r);
/* What lies there, by name; hidden entries and "kept" not counted. */
void outfolder_look(const struct room *r, struct outfolder_list *out);
/* Moves an entry into "kept", in the place of one of that name, or beside it under a longer name
 * where one is a folder and not empty, or only one of them is a folder. path: where it is now. -1:
 * it stays, path is where it was, and e says why. */
int outfolder_keep(const struct room *r, const char *name, char path[PATH_SIZE], struct err *e);

#endif
