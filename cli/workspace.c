#include "cli/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/cli.h"

/* Is `inner` the same folder as `outer`, or below it? */
static bool within(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return !strncmp(inner, outer, n) && (inner[n] == '\0' || inner[n] == '/');
}

static int check(const char *path, const char *home_root, struct err *e)
{
	char user[PATH_SIZE];
	const char *home = user_home();

	if (!strcmp(path, "/"))
		return err_set(e, E_DENIED,
			"the workspace cannot be /: kairo config set workspace ~/kairo");
	if (home && realpath(home, user) && within(user, path))
		return err_set(e, E_DENIED,
			"the workspace cannot be your whole home folder, nor one that holds it: "
			"kairo config set workspace ~/kairo");
	if (within(path, home_root) || within(home_root, path))
		return err_set(e, E_DENIED,
			"the workspace %s and kairo's own folder %s may not contain one another",
			path, home_root);
	return 0;
}

/* The folder as the operator named it, made where it is missing. Links on the way are the
 * operator's own and are resolved here, once; what is made below them is made on the real path. */
static int make(const char *named, struct err *e)
{
	char there[PATH_SIZE], real[PATH_SIZE], path[PATH_SIZE];
	size_t n = strlen(named);

	if (copy_z(there, sizeof(there), view_of(named)) < 0)
		return err_set(e, E_FORMAT, "the workspace's path is too long");
	while (!realpath(there, real)) {
		if (errno != ENOENT || n < 2)
			return err_sys(e, "the workspace %s", named);
		while (n > 1 && there[n - 1] == '/')
			n--;
		while (n > 1 && there[n - 1] != '/')
			n--;
		there[n] = '\0';
	}
	if (!named[n])
		return 0;
	if (path_join(path, real, named + n, e) < 0 || file_mkdirs(path, 0700, e) < 0)
		return err_wrap(e, "the workspace");
	return 0;
}

int workspace_find(char out[PATH_SIZE], const char *named, const char *home_root, bool create,
	struct err *e)
{
	if (create && make(named, e) < 0)
		return -1;
	if (!realpath(named, out))
		return errno == ENOENT ? err_set(e, E_NOTFOUND,
						 "the workspace %s does not exist yet", named)
		                       : err_sys(e, "the workspace %s", named);
	return check(out, home_root, e);
}

bool workspace_is_own(const char *path)
{
	const char *home = user_home();
	char own[PATH_SIZE], real[PATH_SIZE];

	return home && path_join(own, home, WORKSPACE_OWN, NULL) == 0 && realpath(own, real) &&
	       strcmp(real, path) == 0;
}

int workspace_lock(const char *path, struct err *e)
{
	int fd = file_open_dir(path, e);
	/* file_open_dir may give an O_PATH descriptor, which cannot carry a lock. */
	int locked = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	close(fd);
	if (locked < 0)
		return err_sys(e, "the workspace %s", path);
	if (flock(locked, LOCK_EX | LOCK_NB) < 0) {
		int rc = errno == EWOULDBLOCK
		                 ? err_set(e, E_BUSY,
					   "another kairo works in %s: one task at a time", path)
		                 : lock_failed(path, e);

		close(locked);
		return rc;
	}
	return locked;
}
