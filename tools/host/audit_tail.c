#include <stdlib.h>
#include <string.h>

#include "tools/host/audit-private.h"

#define LOCK_MS 1000

struct tail {
	struct json *records[AUDIT_TAIL_MAX]; /* filled from the end */
	size_t at;                            /* the oldest; records wanted besides it */
	size_t bytes;                         /* that may still be looked at */
	size_t skipped;
};

static bool is_record(const struct json *j)
{
	struct view v;

	return json_type(j) == JSON_OBJECT &&
	       json_get_str(j, "time", JSON_REQUIRED, 1, 40, &v, NULL) == 1 &&
	       json_get_str(j, "tool", JSON_REQUIRED, 0, AUDIT_EVENT_MAX, &v, NULL) == 1 &&
	       json_get_str(j, "outcome", JSON_REQUIRED, 0, 40, &v, NULL) == 1;
}

static void take_line(struct tail *t, struct view line)
{
	struct json *j = NULL;

	if (json_read(&j, line, &json_limits_wire, NULL) == 0 && is_record(j)) {
		t->records[--t->at] = j;
		return;
	}
	json_free(&j);
	t->skipped++;
}

/* From the last line to the first. */
static void take_lines(struct tail *t, struct view text)
{
	while (text.n > 0 && t->at > 0) {
		size_t from = text.n - (view_ends(text, VIEW("\n")) ? 1 : 0), end = from;

		while (from > 0 && text.p[from - 1] != '\n')
			from--;
		if (end > from)
			take_line(t, view_from(view_cut(text, end), from));
		text = view_cut(text, from);
	}
}

static int take_file(struct tail *t, const char *dir, const char *name, struct err *e)
{
	struct str text = STR_INIT(t->bytes + 1);
	char path[PATH_SIZE];
	struct view v;
	bool cut;
	int rc = -1;

	/* One byte more tells whether what begins at the limit is a line of its own. */
	if (path_join(path, dir, name, e) == 0 &&
		file_read_tail(path, t->bytes + 1, &text, &cut, e) == 0) {
		v = str_view(&text);
		if (v.n > t->bytes)
			v = view_from(v, view_find(v, '\n') + 1);
		take_lines(t, v);
		t->bytes -= text.n > t->bytes ? t->bytes : text.n;
		rc = 0;
	}
	str_release(&text);
	return rc;
}

static int take_files(struct tail *t, const char *dir, struct err *e)
{
	struct audit_name *names = NULL;
	size_t n;
	int rc = audit_names(dir, &names, &n, e);

	if (rc == 0 && n == 0)
		rc = err_set(e, E_NOTFOUND, "nothing has been recorded in %s", dir);
	while (rc == 0 && n > 0 && t->at > 0 && t->bytes > 0)
		rc = take_file(t, dir, names[--n].text, e);
	free(names);
	return rc;
}

int audit_tail(const char *dir, size_t max, void (*found)(void *arg, const struct json *record),
	void *arg, size_t *skipped, struct err *e)
{
	struct tail t = { .bytes = AUDIT_TAIL_BYTES };
	char path[PATH_SIZE];
	struct lock *lock = NULL;
	size_t end = max < AUDIT_TAIL_MAX ? max : AUDIT_TAIL_MAX;
	int rc;

	t.at = end;
	/* So that no file is put aside meanwhile; without it, as well as it goes. */
	if (path_join(path, dir, AUDIT_LOCK, NULL) == 0 && file_exists(path))
		(void)lock_take(&lock, path, LOCK_MS, NULL);
	rc = take_files(&t, dir, e);
	lock_release(&lock);
	for (size_t i = t.at; i < end; i++) {
		if (rc == 0)
			found(arg, t.records[i]);
		json_free(&t.records[i]);
	}
	*skipped = t.skipped;
	return rc;
}
