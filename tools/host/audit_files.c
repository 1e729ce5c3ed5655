#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/host/audit-private.h"

#define DAY "dddd-dd-dd.jsonl"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Is it one of ours? */
static bool parse(const char *name, struct audit_name *out)
{
	size_t n = strlen(DAY);

	if (strnlen(name, AUDIT_NAME) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (DAY[i] == 'd' ? !is_digit(name[i]) : name[i] != DAY[i])
			return false;
	*out = (struct audit_name){ .generation = 0 };
	if (name[n] == '.' && name[n + 1] >= '1' && name[n + 1] <= '0' + AUDIT_GENERATIONS &&
		name[n + 2] == '\0')
		out->generation = name[n + 1] - '0';
	else if (name[n] != '\0')
		return false;
	return copy_z(out->text, sizeof(out->text), view_of(name)) == 0;
}

/* Older first: by day, then from the highest generation down; for qsort. */
static int older(const void *a, const void *b)
{
	const struct audit_name *x = a, *y = b;
	int days = strncmp(x->text, y->text, strlen(DAY));

	return days ? days : y->generation - x->generation;
}

static int add_name(struct audit_name **list, size_t *n, const struct audit_name *name,
	struct err *e)
{
	struct audit_name *more = realloc(*list, (*n + 1) * sizeof(**list));

	if (!more)
		return err_set(e, E_NOMEM, "the audit's files");
	*list = more;
	more[(*n)++] = *name;
	return 0;
}

int audit_names(const char *dir, struct audit_name **out, size_t *n, struct err *e)
{
	int fd = file_open_dir(dir, e), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct audit_name name;

	*out = NULL;
	*n = 0;
	if (fd < 0)
		return -1;
	if (!d) {
		(void)err_sys(e, "%s", dir);
		(void)close(fd);
		return -1;
	}
	for (struct dirent *it; rc == 0 && (it = readdir(d));)
		if (parse(it->d_name, &name))
			rc = add_name(out, n, &name, e);
	(void)closedir(d);
	if (rc == 0 && *n > 0)
		qsort(*out, *n, sizeof(**out), older);
	return rc;
}
