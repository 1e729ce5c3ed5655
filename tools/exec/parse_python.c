/* parse_python: what Python itself says of files that were just written. It is asked for by the
 * daemon, in a process of its own: programs may run there, which they may not where files are
 * written. Python gets each file as its input and reads it; it runs nothing of it. */
#include "tools/exec/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/exec/command.h"
#include "tools/exec/diagnose.h"
#include "tools/patch_parse.h"

#define SAID_MAX  ((size_t)4000)
#define SHOWN_MAX ((size_t)200)

/* "VERSION LINE COLUMN MESSAGE"; line 0 and no message: it is Python. Whatever else goes wrong (too
 * deep, no memory) is no word about the file. */
static const char script[] =
	"import ast, sys\n"
	"line, column, what = 0, 0, ''\n"
	"text = sys.stdin.buffer.read()\n"
	"try:\n"
	"    text = text.decode('utf-8-sig')\n" /* columns in characters; else Python looks for itself */
	"except UnicodeDecodeError:\n"
	"    pass\n"
	"try:\n"
	"    ast.parse(text)\n"
	"except SyntaxError as e:\n"
	"    line, column, what = max(e.lineno or 1, 1), max(e.offset or 1, 1), e.msg\n"
	"said = '%d.%d %d %d %s' % (*sys.version_info[:2], line, column, what)\n"
	"sys.stdout.buffer.write(said.encode('utf-8', 'replace'))\n";

static const char *find_python(void)
{
	static const char *const paths[] = { "/usr/bin/python3", "/usr/local/bin/python3" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static void on_output(void *said, struct view piece)
{
	(void)str_add(said, piece);
}

/* True: it had its time and came to an end of its own. */
static bool run(const struct tool_job *j, struct command *c, const char *python, int file,
	struct str *said)
{
	const char *const argv[] = { "python3", "-I", "-S", "-B", "-W", "ignore", "-c", script,
		NULL };
	const struct command_plan plan = {
		.path = python,
		.argv = argv,
		.dir = j->roots->list[0].fd,
		.pwd = j->roots->list[0].path,
		.tmp = j->tmp,
		.in = file,
		.frames = -1,
		.on_output = on_output,
		.arg = said,
	};
	bool ended;

	if (command_start(c, &plan, NULL) < 0)
		return false;
	while (!c->exited && !c->stopped && !job_over(j))
		command_step(c, NULL, 0, j->until);
	command_end(c);
	(void)command_leaves(c);
	ended = command_succeeded(c);
	command_release(c);
	return ended && str_ok(said);
}

static struct view take_word(struct view *v)
{
	size_t n = view_find(*v, ' ');
	struct view word = view_cut(*v, n);

	*v = view_from(*v, n + 1);
	return word;
}

static void tell(const struct place *p, struct view said, struct str *out)
{
	struct str what = STR_INIT(8 * SAID_MAX);
	struct view version = take_word(&said), line = take_word(&said), column = take_word(&said);
	unsigned long long l, c;

	if (parse_u64(line, &l) < 0 || parse_u64(column, &c) < 0)
		return;
	(void)str_addf(out, "[%s: ", p->shown);
	(void)text_visible(said, &what);
	if (l == 0)
		(void)str_addf(out, "Python %.*s reads it without a fault]\n", VIEW_FMT(version));
	else
		(void)str_addf(out,
			"fault in line %llu, column %llu: %.*s (checked: Python %.*s)]\n", l, c,
			VIEW_FMT(view_cut(str_view(&what), utf8_cut(str_view(&what), SHOWN_MAX))),
			VIEW_FMT(version));
	str_release(&what);
}

static void look(const struct tool_job *j, struct command *c, const char *python, struct view path)
{
	struct str said = STR_INIT(SAID_MAX);
	struct place place;
	struct stat st;
	int file = -1;

	if (place_find(&place, j->roots, path, NULL) == 0)
		file = place_open_file(&place, &st, NULL);
	if (file >= 0 && (size_t)st.st_size <= DIAGNOSE_BYTES_MAX && run(j, c, python, file, &said))
		tell(&place, str_view(&said), j->out);
	if (file >= 0)
		(void)close(file);
	str_release(&said);
}

int tool_parse_python(struct tool_job *j, struct err *e)
{
	struct command *c = calloc(1, sizeof(*c));
	const char *python = find_python();
	const struct json *paths = NULL;
	int rc = -1;

	if (!c)
		return err_set(e, E_NOMEM, "a look at files");
	if (json_get_array(j->args, "paths", JSON_REQUIRED, PATCH_FILES_MAX, &paths, e) < 0)
		goto out;
	rc = 0;
	json_each(item, paths) {
		struct view path;

		if (python && !job_over(j) && json_str(item, &path) == 0)
			look(j, c, python, path);
	}
out:
	free(c);
	return rc;
}
