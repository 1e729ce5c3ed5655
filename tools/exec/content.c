#include "tools/exec/content.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int read_all(struct str *out, int fd, const struct place *p, struct err *e)
{
	char buf[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "reading %s", p->shown);
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > CONTENT_FILE_MAX)
			return err_set(e, E_FORMAT, "%s has more than %zu MiB", p->shown,
				CONTENT_FILE_MAX >> 20);
		if (memchr(buf, '\0', (size_t)n))
			return err_set(e, E_FORMAT, "%s is a binary file, not text", p->shown);
		if (str_add(out, (struct view){ buf, (size_t)n }) < 0)
			return err_set(e, E_NOMEM, "%s", p->shown);
	}
}

int content_read(struct str *out, const struct place *p, struct stat *st, struct err *e)
{
	struct stat own;
	int fd = place_open_file(p, st ? st : &own, e), rc;

	if (fd < 0)
		return -1;
	rc = read_all(out, fd, p, e);
	(void)close(fd);
	return rc;
}
