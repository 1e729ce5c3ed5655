#include "tools/host/vector.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define WORD_MAX ((size_t)2 * PATH_SIZE)

void vector_release(struct vector *v)
{
	for (size_t i = 0; i < v->nwords; i++)
		free(v->words[i]);
	for (size_t i = 0; i < v->nown; i++)
		free(v->own[i]);
	v->nwords = v->nread = v->nown = 0;
}

static bool is_systems(const char *folder)
{
	static const char *const parts[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (path_lies_in(folder, parts[i]))
			return true;
	return false;
}

/* What the agent can write it could make say anything; and a folder above ours shows it all. */
static int check_folder(const struct tools *t, const char *word, const char *folder, struct err *e)
{
	if (path_lies_in(t->env.workspace, folder) ||
		(t->home && (path_lies_in(t->home, folder) || path_lies_in(folder, t->home))))
		return err_set(e, E_DENIED,
			"%s lies in %s, which holds more than the program is to see: put it into a folder "
			"of its own",
			word, folder);
	return 0;
}

static int add_folder(struct vector *v, const struct tools *t, const char *word, const char *real,
	bool is_dir, struct err *e)
{
	char folder[PATH_SIZE];

	(void)copy_z(folder, sizeof(folder), view_of(real));
	if (!is_dir)
		*strrchr(folder, '/') = '\0';
	if (check_folder(t, word, folder[0] ? folder : "/", e) < 0)
		return -1;
	if (is_systems(folder))
		return 0;
	for (size_t i = 0; i < v->nread; i++)
		if (path_lies_in(folder, v->read[i]))
			return 0;
	if (v->nread == VECTOR_FOLDERS_MAX)
		return err_set(e, E_FULL, "it names more than %d folders", VECTOR_FOLDERS_MAX);
	v->own[v->nown] = strdup(folder);
	if (!v->own[v->nown])
		return err_set(e, E_NOMEM, "a program");
	v->read[v->nread++] = v->own[v->nown++];
	return 0;
}

/* Links are resolved here: what they lead to is all that will be there. */
static int add_path(struct vector *v, const struct tools *t, const char *word, struct str *out,
	struct err *e)
{
	char *real = realpath(word, NULL);
	struct stat st;
	int rc = 0;

	if (!real || stat(real, &st) < 0) {
		rc = err_sys(e, "%s", word);
	} else if (path_goes_through(word, t->env.workspace)) {
		rc = err_set(e, E_DENIED,
			"%s lies in the workspace, where the agent could change it", word);
	} else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		rc = add_folder(v, t, word, real, S_ISDIR(st.st_mode), e);
		(void)str_adds(out, real);
	} else {
		(void)str_adds(out, word); /* /dev/null, /dev/stdout */
	}
	free(real);
	return rc;
}

static void put_filled(struct str *out, struct view word, const char *file, const char *to)
{
	while (word.n > 0) {
		const char *brace = memchr(word.p, '{', word.n);
		size_t n = brace ? (size_t)(brace - word.p) : word.n;

		(void)str_add(out, view_cut(word, n));
		word = view_from(word, n);
		if (view_starts(word, VIEW("{file}"))) {
			(void)str_adds(out, file);
			word = view_from(word, 6);
		} else if (view_starts(word, VIEW("{out}"))) {
			(void)str_adds(out, to);
			word = view_from(word, 5);
		} else {
			(void)str_add(out, view_cut(word, 1));
			word = view_from(word, 1);
		}
	}
}

static int add_word(struct vector *v, const struct tools *t, const char *word, const char *file,
	const char *out, struct err *e)
{
	struct str s = STR_INIT(WORD_MAX);

	if (v->nwords == VECTOR_WORDS_MAX)
		return err_set(e, E_FORMAT, "it has more than %d words", VECTOR_WORDS_MAX);
	if (v->nwords > 0 && word[0] == '/' && !strchr(word, '{')) {
		if (add_path(v, t, word, &s, e) < 0) {
			str_release(&s);
			return -1;
		}
	} else {
		put_filled(&s, view_of(word), file, out);
	}
	if (s.n == 0)
		(void)str_reserve(&s, 1); /* an empty word is one */
	v->words[v->nwords] = str_take(&s);
	if (!v->words[v->nwords])
		return err_set(e, E_NOMEM, "a program");
	v->nwords++;
	return 0;
}

static int find_program(struct vector *v, const struct tools *t, const char *word, struct err *e)
{
	char *real;
	int rc;

	if (argv_program(word, t->env.workspace, v->path, e) < 0)
		return -1;
	real = realpath(v->path, NULL);
	if (!real)
		return err_sys(e, "%s", v->path);
	rc = add_folder(v, t, word, real, false, e);
	/* What a link of the system's is called decides what some programs do. */
	if (rc == 0 && !(is_systems(v->path) && is_systems(real)))
		rc = copy_z(v->path, sizeof(v->path), view_of(real));
	free(real);
	return rc;
}

int vector_fill(struct vector *v, const struct tools *t, const char *const *argv, const char *file,
	const char *out, struct err *e)
{
	if (!argv || !argv[0])
		return err_set(e, E_FORMAT, "it is empty");
	for (const char *const *p = t->env.read_paths; p && *p; p++)
		v->read[v->nread++] = *p;
	if (find_program(v, t, argv[0], e) < 0)
		return -1;
	for (; *argv; argv++)
		if (add_word(v, t, *argv, file, out, e) < 0)
			return -1;
	v->words[v->nwords] = NULL;
	v->read[v->nread] = NULL;
	return 0;
}
