#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *user_home(void)
{
	const char *dir = getenv("HOME");

	if (dir && dir[0] == '/')
		return dir;
	const struct passwd *pw = getpwuid(getuid());
	return pw && pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
}

/* The path as named, made absolute. */
static int named_root(char out[PATH_SIZE], struct err *e)
{
	const char *dir = getenv("KAIRO_HOME");
	char cwd[PATH_SIZE];

	if (dir && dir[0]) {
		if (dir[0] == '/')
			return copy_z(out, PATH_SIZE, view_of(dir)) < 0
			               ? err_set(e, E_FORMAT, "KAIRO_HOME is too long")
			               : 0;
		if (!getcwd(cwd, sizeof(cwd)))
			return err_sys(e, "the current folder");
		return path_join(out, cwd, dir, e);
	}
	if (!(dir = user_home()))
		return err_set(e, E_NOTFOUND, "no home folder is known: set KAIRO_HOME");
	return path_join(out, dir, ".kairo", e);
}

/* Files by which a folder is known as one of kairo's. */
static bool is_known(const char *name)
{
	static const char *const names[] = { "account.json", "config.toml", "kairo.lock",
		"state.db" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Empty, or with kairo's own files in it. */
static bool may_become_private(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *de;
	bool known = false, others = false;

	while (d && !known && (de = readdir(d))) {
		known = is_known(de->d_name);
		others = others || (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0);
	}
	if (d)
		closedir(d);
	return d && (known || !others);
}

/* A folder that is there and open to others is made private only when it is kairo's: a wrong
 * KAIRO_HOME shall not lock anybody out of /tmp. */
static int make_root(const char *root, struct err *e)
{
	struct stat st;

	if (lstat(root, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 077) &&
		!may_become_private(root))
		return err_set(e, E_DENIED,
			"%s is open to others and holds other things: set KAIRO_HOME to a folder of "
			"its own, or chmod 700 this one",
			root);
	return file_mkdir_private(root, e);
}

/* Symlinks above and at the root itself are the user's own business and resolved once, here; below
 * the root none is ever followed. What does not exist yet stands as it is written. */
static int resolve(char named[PATH_SIZE], char out[PATH_SIZE], struct err *e)
{
	char above[PATH_SIZE];
	const char *rest;
	size_t n = strlen(named);

	while (n > 1 && named[n - 1] == '/')
		named[--n] = '\0';
	memcpy(above, named, n + 1);
	while (!realpath(above, out)) {
		if (errno != ENOENT)
			return err_sys(e, "%s", named);
		while (n > 1 && above[n - 1] != '/')
			n--;
		while (n > 1 && above[n - 1] == '/')
			n--;
		above[n] = '\0';
	}
	rest = named + n + strspn(named + n, "/");
	if (!*rest)
		return 0;
	memcpy(above, out, strlen(out) + 1);
	return path_join(out, above, rest, e);
}

static int make_parents(const char *root, struct err *e)
{
	char above[PATH_SIZE];
	size_t n = (size_t)(strrchr(root, '/') - root);

	memcpy(above, root, n);
	above[n] = '\0';
	return n == 0 ? 0 : file_mkdirs(above, 0700, e);
}

static int resolve_root(struct home *h, bool create, struct err *e)
{
	char named[PATH_SIZE];

	if (named_root(named, e) < 0 || resolve(named, h->root, e) < 0)
		return -1;
	if (!create)
		return 0;
	if (!file_exists(h->root) && make_parents(h->root, e) < 0)
		return -1;
	return make_root(h->root, e);
}

static bool name_ok(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return n >= 1 && n <= 32 && name[0] != '-';
}

int home_find(struct home *h, const char *name, bool create, struct err *e)
{
	char accounts[PATH_SIZE];

	memset(h, 0, sizeof(*h));
	if (name && !name_ok(name))
		return err_set(e, E_FORMAT,
			"an account's name has 1 to 32 of A-Z a-z 0-9 _ - and does not begin with -");
	if (resolve_root(h, create, e) < 0)
		return -1;
	if (!name) {
		memcpy(h->dir, h->root, sizeof(h->dir));
		return 0;
	}
	if (copy_z(h->account, sizeof(h->account), view_of(name)) < 0 ||
		path_join(accounts, h->root, "accounts", e) < 0 ||
		path_join(h->dir, accounts, name, e) < 0)
		return -1;
	if (!create)
		return 0;
	return file_mkdir_private(accounts, e) < 0 ? -1 : file_mkdir_private(h->dir, e);
}
