#include "tools/exec/leftover.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "tools/exec/template.h"
#include "tools/exec/walk.h"

#define PREFIX  ".kairo-"
#define FILES   ".tmp"
#define FOLDERS ".new"
#define HEX     16

static void make_name(char name[LEFTOVER_SIZE], const char *suffix)
{
	char hex[HEX + 1];

	rand_hex(hex, HEX / 2);
	(void)snprintf(name, LEFTOVER_SIZE, PREFIX "%s%s", hex, suffix);
}

void leftover_file_name(char name[LEFTOVER_SIZE])
{
	make_name(name, FILES);
}

void leftover_project_name(char name[LEFTOVER_SIZE])
{
	make_name(name, FOLDERS);
}

static bool is_named(const char *name, const char *suffix)
{
	struct view v = view_of(name);

	if (v.n != strlen(PREFIX) + HEX + strlen(suffix) || !view_starts(v, VIEW(PREFIX)) ||
		!view_ends(v, view_of(suffix)))
		return false;
	return strspn(name + strlen(PREFIX), "0123456789abcdef") == HEX;
}

/* The folders above it too, as far as they are empty then. */
static void remove_file(int dir, const char *file)
{
	char path[256];
	char *slash;

	(void)copy_z(path, sizeof(path), view_of(file));
	(void)unlinkat(dir, path, 0);
	while ((slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		(void)unlinkat(dir, path, AT_REMOVEDIR);
	}
}

void leftover_remove_project(int dir, const char *name)
{
	int folder = file_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; folder >= 0 && template_at(i); i++)
		for (const struct template_file *f = template_at(i)->files; f->path; f++)
			remove_file(folder, f->path);
	if (folder >= 0)
		(void)close(folder);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

/* By ctime: a file that was moved aside keeps the mtime it had. */
static bool is_old(int dir, const char *name, mode_t kind)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind &&
	       st.st_ctime < time(NULL) - LEFTOVER_AGE_S;
}

void leftover_sweep(int dir)
{
	int list = file_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);
	struct names names;

	if (list < 0 || names_read(&names, list, NULL) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.list[i];

		if (is_named(name, FILES) && is_old(dir, name, S_IFREG))
			(void)unlinkat(dir, name, 0);
		else if (is_named(name, FOLDERS) && is_old(dir, name, S_IFDIR))
			leftover_remove_project(dir, name);
	}
	names_release(&names);
}
