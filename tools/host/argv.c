#include "tools/host/argv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static const char *const folders[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin",
	"/sbin", "/bin" };

/* --- Reading ---------------------------------------------------------------------------------- */

struct reader {
	struct view text;
	size_t at;
	struct str word;
	bool in_word; /* '' is a word too */
	struct argv *out;
	struct err *e;
};

static bool at_end(const struct reader *r)
{
	return r->at == r->text.n;
}

static char peek(const struct reader *r)
{
	return r->text.p[r->at];
}

static size_t characters(const struct reader *r, size_t at)
{
	return utf8_count(view_cut(r->text, at)) + 1;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static int needs_shell(const struct reader *r)
{
	char c = peek(r);

	if (c == '\n')
		return err_set(r->e, E_FORMAT, "the line break at character %zu needs a shell",
			characters(r, r->at));
	if (is_control(c))
		return err_set(r->e, E_FORMAT, "there is a control character at character %zu",
			characters(r, r->at));
	return err_set(r->e, E_FORMAT, "\"%c\" at character %zu needs a shell", c,
		characters(r, r->at));
}

static int take(struct reader *r)
{
	r->in_word = true;
	if (str_addc(&r->word, r->text.p[r->at++]) < 0)
		return err_set(r->e, E_NOMEM, "a command");
	return 0;
}

static int unclosed(const struct reader *r, size_t open)
{
	return err_set(r->e, E_FORMAT, "the quote at character %zu is not closed",
		characters(r, open));
}

static int single_quoted(struct reader *r)
{
	size_t open = r->at++;

	r->in_word = true;
	while (!at_end(r)) {
		if (peek(r) == '\'') {
			r->at++;
			return 0;
		}
		if (take(r) < 0)
			return -1;
	}
	return unclosed(r, open);
}

static int double_quoted(struct reader *r)
{
	size_t open = r->at++;

	r->in_word = true;
	while (!at_end(r)) {
		char c = peek(r);

		if (c == '"') {
			r->at++;
			return 0;
		}
		if (c == '$' || c == '`')
			return needs_shell(r);
		if (c == '\\' && r->at + 1 < r->text.n && r->text.p[r->at + 1] == '\n')
			return err_set(r->e, E_FORMAT, "the line ends in \"\\\"");
		if (c == '\\' && r->at + 1 < r->text.n && strchr("\"\\$`", r->text.p[r->at + 1]))
			r->at++;
		if (take(r) < 0)
			return -1;
	}
	return unclosed(r, open);
}

static int escaped(struct reader *r)
{
	r->at++;
	if (at_end(r))
		return err_set(r->e, E_FORMAT, "it ends in \"\\\"");
	return is_control(peek(r)) ? needs_shell(r) : take(r);
}

static int end_word(struct reader *r)
{
	if (!r->in_word)
		return 0;
	if (r->out->n == ARGV_WORDS)
		return err_set(r->e, E_FORMAT, "it has more than %zu words", ARGV_WORDS);
	if (r->out->n == 0 && view_find(str_view(&r->word), '=') < r->word.n)
		return err_set(r->e, E_FORMAT, "\"=\" in the first word needs a shell");
	if (r->out->n == 0 && r->word.n == 0)
		return err_set(r->e, E_FORMAT, "the first word is empty");
	r->out->v[r->out->n] = strndup(str_cstr(&r->word), r->word.n);
	if (!r->out->v[r->out->n])
		return err_set(r->e, E_NOMEM, "a command");
	r->out->n++;
	r->in_word = false;
	str_reset(&r->word);
	return 0;
}

static int read_one(struct reader *r)
{
	char c = peek(r);

	switch (c) {
	case ' ':
	case '\t': r->at++; return end_word(r);
	case '\'': return single_quoted(r);
	case '"': return double_quoted(r);
	case '\\': return escaped(r);
	default: break;
	}
	return is_control(c) || strchr(";&|<>$`(){}*?[]~#!", c) ? needs_shell(r) : take(r);
}

/* Give back what was taken for more words. */
static int fit(struct argv *a, struct err *e)
{
	char **v = realloc(a->v, (a->n + 1) * sizeof(*v));

	if (!v)
		return err_set(e, E_NOMEM, "a command");
	a->v = v;
	return 0;
}

int argv_parse(struct argv *out, struct view command, struct err *e)
{
	struct reader r = { .text = command, .word = STR_INIT(ARGV_BYTES), .out = out, .e = e };
	int rc = -1;

	*out = ARGV_INIT;
	if (command.n > ARGV_BYTES)
		return err_set(e, E_FORMAT, "it is longer than %zu bytes", ARGV_BYTES);
	if (!utf8_valid(command) || (command.n > 0 && memchr(command.p, '\0', command.n)))
		return err_set(e, E_FORMAT, "it is not valid text");
	out->v = calloc(ARGV_WORDS + 1, sizeof(*out->v));
	if (!out->v)
		return err_set(e, E_NOMEM, "a command");
	while (!at_end(&r))
		if (read_one(&r) < 0)
			goto out;
	if (end_word(&r) < 0)
		goto out;
	rc = out->n > 0 ? fit(out, e) : err_set(e, E_FORMAT, "it is empty");
out:
	str_release(&r.word);
	if (rc < 0)
		argv_release(out);
	return rc;
}

void argv_release(struct argv *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = ARGV_INIT;
}

bool argv_equal(const struct argv *a, const struct argv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

/* --- The program ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int find_program(const char *word, char out[PATH_SIZE], struct err *e)
{
	if (strchr(word, '/')) {
		if (word[0] != '/')
			return err_set(e, E_DENIED,
				"%s lies in the workspace; only programs of the system may be named",
				word);
		if (copy_z(out, PATH_SIZE, view_of(word)) == 0 && is_program(out))
			return 0;
	} else {
		for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
			if (path_join(out, folders[i], word, NULL) == 0 && is_program(out))
				return 0;
	}
	return err_set(e, E_NOTFOUND, "there is no program %s on this machine", word);
}

/* Nor by a link there that leads out now: it may lead elsewhere when it is run. */
int argv_program(const char *word, const char *workspace, char out[PATH_SIZE], struct err *e)
{
	if (find_program(word, out, e) < 0)
		return -1;
	if (path_goes_through(out, workspace))
		return err_set(e, E_DENIED,
			"%s lies in the workspace; only programs of the system may be named", out);
	return 0;
}
