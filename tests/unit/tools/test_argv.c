/* Commands as argument vectors. What is accepted must mean to a shell just what is returned: every
 * accepted command here is also given to /bin/sh (POSIX.1-2017, XCU 2.2 and 2.3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/host/argv.h"

/* What sh makes of it: the words, each followed by a NUL. */
static size_t ask_shell(const char *command, char *out, size_t size)
{
	struct str script = STR_INIT(1 << 20);
	size_t n = 0;
	ssize_t got;
	int fd[2], status;
	pid_t pid;

	(void)str_addf(&script, "printf '%%s\\0' %s", command);
	assert_int_equal(0, pipe(fd));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(fd[1], 1);
		(void)execl("/bin/sh", "sh", "-c", str_cstr(&script), (char *)NULL);
		_exit(127);
	}
	(void)close(fd[1]);
	while (n < size && (got = read(fd[0], out + n, size - n)) > 0)
		n += (size_t)got;
	(void)close(fd[0]);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_int_equal(0, status);
	str_release(&script);
	return n;
}

static void words_are_what_a_shell_sees(void **state)
{
	static const struct {
		const char *command;
		const char *want[24]; /* ended by NULL */
	} cases[] = {
		{ "ls", { "ls" } },
		{ "  git \t status  ", { "git", "status" } },
		{ "npm run test:unit -- --watch=false",
			{ "npm", "run", "test:unit", "--", "--watch=false" } },
		{ "git commit -m 'two words'", { "git", "commit", "-m", "two words" } },
		{ "a '' \"\"", { "a", "", "" } },
		{ "a ''\"\" b", { "a", "", "b" } },
		{ "a'b'\"c\"d", { "abcd" } },
		{ "''ab \"\"c", { "ab", "c" } },
		{ "echo 'it'\\''s'", { "echo", "it's" } },
		{ "echo '$HOME `id` \\n ; & | < > ( ) { } * ? [ ] ~ # !'",
			{ "echo", "$HOME `id` \\n ; & | < > ( ) { } * ? [ ] ~ # !" } },
		{ "echo \"; & | < > ( ) { } * ? [ ] ~ # ! '\"",
			{ "echo", "; & | < > ( ) { } * ? [ ] ~ # ! '" } },
		{ "echo \"a \\\" \\\\ \\$ \\` \\n \\' \\a\"",
			{ "echo", "a \" \\ $ ` \\n \\' \\a" } },
		{ "echo \\; \\& \\| \\< \\> \\$ \\` \\( \\) \\* \\? \\[ \\~ \\# \\! \\\\ \\' \\\"",
			{ "echo", ";", "&", "|", "<", ">", "$", "`", "(", ")", "*", "?", "[", "~",
				"#", "!", "\\", "'", "\"" } },
		{ "echo a\\ b \\a\\b", { "echo", "a b", "ab" } },
		{ "echo a=b", { "echo", "a=b" } },
		{ "echo 'two\nlines' \"two\nlines\"", { "echo", "two\nlines", "two\nlines" } },
		{ "echo 今天 'a 　b' ，。", { "echo", "今天", "a 　b", "，。" } },
		{ "a -x,y:z@w%p+q.r/s_t^u", { "a", "-x,y:z@w%p+q.r/s_t^u" } },
		{ "sh -c 'rm -rf x'", { "sh", "-c", "rm -rf x" } },
		{ "env xargs find . -exec rm", { "env", "xargs", "find", ".", "-exec", "rm" } },
	};
	char seen[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct argv a;
		struct err e = ERR_INIT;
		size_t at = 0, n;

		if (argv_parse(&a, view_of(cases[i].command), &e) < 0)
			fail_msg("%s: %s", cases[i].command, e.msg);
		n = ask_shell(cases[i].command, seen, sizeof(seen));
		for (size_t k = 0; k < a.n; k++) {
			assert_non_null(cases[i].want[k]);
			assert_string_equal(cases[i].want[k], a.v[k]);
			assert_true(at < n);
			assert_string_equal(seen + at, a.v[k]);
			at += strlen(a.v[k]) + 1;
		}
		assert_int_equal(n, at);
		assert_null(cases[i].want[a.n]);
		assert_null(a.v[a.n]);
		argv_release(&a);
	}
}

static void what_needs_a_shell_is_no_vector(void **state)
{
	static const struct {
		const char *command, *why;
	} cases[] = {
		{ "", "empty" },
		{ " \t ", "empty" },
		{ "echo ok && touch x", "\"&\" at character 9" },
		{ "echo ok; touch x", "\";\" at character 8" },
		{ "echo ok;", "\";\"" },
		{ "echo ok | tee x", "\"|\"" },
		{ "echo ok || touch x", "\"|\"" },
		{ "echo ok & touch x", "\"&\"" },
		{ "echo ok &", "\"&\"" },
		{ "echo ok\ntouch x", "line break at character 8" },
		{ "echo ok\n", "line break" },
		{ "\necho ok", "line break" },
		{ "echo ok\rtouch x", "control character" },
		{ "echo ok\x0btouch", "control character" },
		{ "echo \x1b[31m", "control character" },
		{ "echo \x7f", "control character" },
		{ "echo x > run.sh", "\">\"" },
		{ "echo x >> run.sh", "\">\"" },
		{ "echo x>run.sh", "\">\"" },
		{ "cat <x", "\"<\"" },
		{ "cat <<EOF", "\"<\"" },
		{ "diff <(a) b", "\"<\"" },
		{ "echo $HOME", "\"$\"" },
		{ "echo $(id)", "\"$\"" },
		{ "echo `id`", "\"`\"" },
		{ "echo \"$HOME\"", "\"$\"" },
		{ "echo \"$(id)\"", "\"$\"" },
		{ "echo \"`id`\"", "\"`\"" },
		{ "echo \"\\\\$(id)\"", "\"$\"" },
		{ "echo $'a\\nb'", "\"$\"" },
		{ "(id)", "\"(\"" },
		{ "f() id", "\"(\"" },
		{ "{ id", "\"{\"" },
		{ "echo {a,b}", "\"{\"" },
		{ "echo a}", "\"}\"" },
		{ "ls *", "\"*\"" },
		{ "ls a?", "\"?\"" },
		{ "ls [ab]", "\"[\"" },
		{ "ls a]", "\"]\"" },
		{ "ls ~", "\"~\"" },
		{ "ls ~root", "\"~\"" },
		{ "a b=~c", "\"~\"" },
		{ "ls # x", "\"#\"" },
		{ "! ls", "\"!\"" },
		{ "git -c alias.x=!id x", "\"!\"" },
		{ "A=1 ls", "\"=\" in the first word" },
		{ "PATH=. ls", "\"=\"" },
		{ "'A'=1 ls", "\"=\"" },
		{ "=ls", "\"=\"" },
		{ "'' ls", "first word is empty" },
		{ "echo 'a", "quote at character 6 is not closed" },
		{ "echo \"a", "quote at character 6 is not closed" },
		{ "echo \"a\\\"", "not closed" },
		{ "今天 'a", "quote at character 4 is not closed" },
		{ "echo a\\", "ends in" },
		{ "echo a\\\nb", "line break" },
		{ "echo \"a\\\nb\"", "line ends in" },
		{ "echo \xff", "not valid text" },
		{ "echo \xc0\xbb", "not valid text" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct argv a;
		struct err e = ERR_INIT;

		if (argv_parse(&a, view_of(cases[i].command), &e) == 0)
			fail_msg("accepted: %s", cases[i].command);
		assert_int_equal(E_FORMAT, e.code);
		if (!strstr(e.msg, cases[i].why))
			fail_msg("%s: %s", cases[i].command, e.msg);
		assert_null(a.v);
		assert_int_equal(0, a.n);
	}
}

static void a_nul_does_not_end_it(void **state)
{
	struct argv a;

	(void)state;
	assert_int_equal(-1, argv_parse(&a, VIEW("ls\0; rm x"), NULL));
	assert_int_equal(-1, argv_parse(&a, VIEW("ls '\0'"), NULL));
}

static void its_size_is_bounded(void **state)
{
	struct str s = STR_INIT(1 << 20);
	struct argv a;
	struct err e = ERR_INIT;

	(void)state;
	(void)str_adds(&s, "ls ");
	while (s.n < ARGV_BYTES)
		(void)str_addc(&s, 'x');
	assert_int_equal(0, argv_parse(&a, str_view(&s), &e));
	argv_release(&a);
	(void)str_addc(&s, 'x');
	assert_int_equal(-1, argv_parse(&a, str_view(&s), &e));
	str_reset(&s);
	for (size_t i = 0; i < ARGV_WORDS; i++)
		(void)str_adds(&s, "a ");
	assert_int_equal(0, argv_parse(&a, str_view(&s), &e));
	assert_int_equal(ARGV_WORDS, a.n);
	argv_release(&a);
	(void)str_adds(&s, "a");
	assert_int_equal(-1, argv_parse(&a, str_view(&s), &e));
	assert_int_equal(E_FORMAT, e.code);
	str_release(&s);
}

static void vectors_are_equal_whole(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "git status", " git  'status' ", true },
		{ "git status", "\"git\" st\\atus", true },
		{ "git status", "git", false },
		{ "git", "git status", false },
		{ "git status", "git statu", false },
		{ "git status", "git status ''", false },
		{ "git status", "git 'status '", false },
		{ "git status", "Git status", false },
		{ "git status", "'git status'", false },
		{ "git status", "env git status", false },
		{ "git status", "/usr/bin/git status", false },
		{ "a b c", "a 'b c'", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct argv a, b;

		assert_int_equal(0, argv_parse(&a, view_of(cases[i].a), NULL));
		assert_int_equal(0, argv_parse(&b, view_of(cases[i].b), NULL));
		assert_int_equal(cases[i].equal, argv_equal(&a, &b));
		argv_release(&a);
		argv_release(&b);
	}
}

/* --- Programs --------------------------------------------------------------------------------- */

static void programs_come_from_the_system_alone(void **state)
{
	char dir[] = "/tmp/kairo-argv-XXXXXX", ws[64], tool[80], link[80], path[PATH_SIZE];
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(ws, sizeof(ws), "%s/ws", dir);
	(void)snprintf(tool, sizeof(tool), "%s/tool", ws);
	(void)snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(0, mkdir(ws, 0755));
	fd = open(tool, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(0, symlink(tool, link));

	assert_int_equal(0, argv_program("sh", ws, path, &e));
	assert_true(strcmp(path, "/usr/bin/sh") == 0 || strcmp(path, "/bin/sh") == 0);
	assert_int_equal(0, argv_program("/bin/sh", ws, path, &e));
	assert_string_equal("/bin/sh", path);

	assert_int_equal(-1, argv_program("no-such-program-anywhere", ws, path, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	assert_int_equal(-1, argv_program("tool", ws, path, &e)); /* nor the current folder */
	assert_int_equal(-1, argv_program("./tool", ws, path, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, argv_program("bin/tool", ws, path, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, argv_program(tool, ws, path, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, argv_program(link, ws, path, &e)); /* a link into it */
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(0, unlink(tool));
	assert_int_equal(0, symlink("/bin/sh", tool));
	assert_int_equal(-1, argv_program(tool, ws, path, &e)); /* nor one out of it, for now */
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, argv_program("/usr/bin", ws, path, &e));
	assert_int_equal(-1, argv_program("/etc/passwd", ws, path, &e));
	assert_int_equal(-1, argv_program("..", ws, path, &e));

	assert_int_equal(0, unlink(link));
	assert_int_equal(0, unlink(tool));
	assert_int_equal(0, rmdir(ws));
	assert_int_equal(0, rmdir(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_what_a_shell_sees),
		cmocka_unit_test(what_needs_a_shell_is_no_vector),
		cmocka_unit_test(a_nul_does_not_end_it),
		cmocka_unit_test(its_size_is_bounded),
		cmocka_unit_test(vectors_are_equal_whole),
		cmocka_unit_test(programs_come_from_the_system_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
