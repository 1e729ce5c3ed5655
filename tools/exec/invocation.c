#include "tools/exec/invocation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_cwd(struct invocation *inv, const struct roots *roots, const struct json *args,
	struct err *e)
{
	struct str pwd = STR_INIT(sizeof(inv->pwd) - 1);
	struct view path = VIEW(".");
	struct place place;

	if (json_get_str(args, "cwd", JSON_OPTIONAL, 1, PATH_SIZE - 1, &path, e) < 0 ||
		place_find(&place, roots, path, e) < 0)
		return -1;
	inv->dir = place_open_dir(&place, e);
	if (inv->dir < 0)
		return -1;
	(void)str_adds(&pwd, place.root->path);
	if (strcmp(place.rel, ".") != 0)
		(void)str_addf(&pwd, "/%s", place.rel);
	(void)copy_z(inv->pwd, sizeof(inv->pwd), str_view(&pwd));
	str_release(&pwd);
	return 0;
}

static int read_words(struct invocation *inv, const struct json *argv, struct err *e)
{
	size_t n = 0;

	json_each(item, argv) {
		struct view word;

		if (json_str(item, &word) < 0)
			return err_set(e, E_FORMAT, "a word of the command is not text");
		inv->argv[n++] = word.p;
	}
	inv->path = inv->argv[0];
	if (n == 0 || inv->path[0] != '/')
		return err_set(e, E_FORMAT, "the program of the command is not a full path");
	return 0;
}

/* The words live in JSON, which has a NUL behind each. */
static int read_vector(struct invocation *inv, const struct json *args, const struct json *argv,
	const char *shell, struct err *e)
{
	size_t count = argv ? json_count(argv) : 3;
	struct view text;

	if (json_get_str(args, "command", JSON_REQUIRED, 1, COMMAND_TEXT_MAX, &text, e) < 0)
		return -1;
	inv->argv = calloc(count + 1, sizeof(*inv->argv));
	if (!inv->argv)
		return err_set(e, E_NOMEM, "a command");
	if (argv)
		return read_words(inv, argv, e);
	inv->path = shell;
	inv->argv[0] = strrchr(shell, '/') + 1;
	inv->argv[1] = "-c";
	inv->argv[2] = text.p;
	return 0;
}

int invocation_read(struct invocation *inv, const struct roots *roots, const struct json *args,
	const struct json *argv, const char *shell, struct err *e)
{
	return read_vector(inv, args, argv, shell, e) < 0 || read_cwd(inv, roots, args, e) < 0 ? -1
	                                                                                       : 0;
}

void invocation_plan(const struct invocation *inv, struct command_plan *plan)
{
	plan->path = inv->path;
	plan->argv = inv->argv;
	plan->dir = inv->dir;
	plan->pwd = inv->pwd;
}

void invocation_release(struct invocation *inv)
{
	if (inv->dir >= 0)
		(void)close(inv->dir);
	inv->dir = -1;
	free(inv->argv);
	inv->argv = NULL;
}
