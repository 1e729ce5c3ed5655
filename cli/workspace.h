/* cli/workspace.h: the folder the agent works in, and the lock that keeps it to one task at a time.
 */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"

#define WORKSPACE_OWN "kairo" /* below the user's home: the one where no other is set */

/* The real path of `named`, made (0700) when missing and create is set. Refused: "/", the user's
 * home, and a folder that equals, contains or lies in the kairo home. */
int workspace_find(char out[PATH_SIZE], const char *named, const char *home_root, bool create,
	struct err *e);

/* Is this real path that of WORKSPACE_OWN? */
bool workspace_is_own(const char *path);

/* A lock on the folder itself, so that it holds for every account and every home of this machine.
 * Returns the descriptor to keep, -1 with E_BUSY when another kairo works there. */
int workspace_lock(const char *path, struct err *e);

#endif
