/* What is said of a text that was just written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/exec/diagnose.h"

#define BIG ((size_t)4 << 20)

static struct str out;

static const char *say(const char *path, struct view text)
{
	out.max = BIG;
	str_reset(&out);
	diagnose(path, text, &out);
	return str_cstr(&out);
}

static int teardown(void **state)
{
	(void)state;
	str_release(&out);
	return 0;
}

struct sample {
	const char *text, *fault; /* "line, column: words", or NULL */
};

static void judges(const char *path, const struct sample *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *said = say(path, view_of(list[i].text));
		char want[200];

		(void)snprintf(want, sizeof(want), "[%s: %s", path,
			list[i].fault ? list[i].fault : "no fault found (checked: ");
		if (list[i].fault)
			(void)snprintf(want, sizeof(want), "[%s: fault in line %s", path,
				list[i].fault);
		if (strncmp(want, said, strlen(want)) != 0)
			fail_msg("%s\nsaid: %swant: %s", list[i].text, said, want);
	}
}

#define JUDGES(path, list) judges(path, list, sizeof(list) / sizeof((list)[0]))

static void json(void **state)
{
	static const struct sample list[] = {
		{ "{\"a\": [1, 2.5e3, null, \"\\u0000\"]}\n", NULL },
		{ "{\"a\": 1,\n \"字\": x}", "2, column 7: " },
		{ "{\"a\": 1,}", "1, column 9: " },
		{ "", "1, column 1: " },
		{ "{\"a\": 1", "1, column 8: " },
		{ "// no\n{}", "1, column 1: " },
	};

	(void)state;
	JUDGES("x/package.json", list);
	say("a.json", VIEW("\xff"));
	assert_non_null(strstr(str_cstr(&out), "fault in line 1"));
	/* these have comments */
	assert_non_null(strstr(say("tsconfig.json", VIEW("// yes\n{ /* [ */ }")), "no fault"));
	assert_non_null(strstr(say(".vscode/x.json", VIEW("// yes\n{ ]")), "line 2, column 3"));
}

static const struct sample tomls[] = {
	{ "# c\na = 1\nb.\"c d\".'e' = \"x\\u00e4\\n\" # c\n[t]\n[t.u]\r\nx = [1, [2,\n 3,], # c\n]\n",
		NULL },
	{ "[[a.b]]\np = {x = 1, y.z = '''a\n'b''', e = {}}\n", NULL },
	{ "a = \"\"\"x \\\n  y \"quoted\"\"\"\"\"\n", NULL },
	{ "a = +1_000\nb = -0.5e-3\nc = 0xdead_BEEF\nd = 0o17\ne = 0b1\nf = inf\ng = -nan\nh = 6e2\n",
		NULL },
	{ "a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.99-07:00\nc = 1979-05-27\nd = 07:32:00\n",
		NULL },
	{ "", NULL },
	{ "a = true\nb = false", NULL },
	{ "3.14 = 'x'\n", NULL },
	{ "a = \n", "1, column 5: a value" },
	{ "a = x\n", "1, column 5: that is no value" },
	{ "a = 1 2\n", "1, column 7: the end" },
	{ "a 1\n", "1, column 3: = was" },
	{ "= 1\n", "1, column 1: a key" },
	{ "a. = 1\n", "1, column 4: a key" },
	{ "a = \"x\n", "1, column 5: the string" },
	{ "a = \"\\q\"\n", "1, column 7: no such escape" },
	{ "a = \"\\u12\"\n", "1, column 10: a digit" },
	{ "a = '''x\n", "1, column 5: the string" },
	{ "a = [1,\n2\n", "1, column 5: [ is not closed" },
	{ "a = [1 2]\n", "1, column 8: a comma" },
	{ "a = {x = 1\n", "1, column 5: { is not closed" },
	{ "[a\nb = 1\n", "1, column 3: ] was" },
	{ "[[a]\n", "1, column 4: ]] was" },
	{ "[]\n", "1, column 2: a key" },
	{ "a = 01\n", "1, column 5: that is no value" },
	{ "a = 1__0\n", "1, column 5: that is no value" },
	{ "a = 1.\n", "1, column 5: that is no value" },
	{ "a = +0x1\n", "1, column 5: that is no value" },
	{ "a = 1979-5-27\n", "1, column 5: that is no value" },
	{ "a = 1\rb = 2\n", "1, column 6: the end" },
	{ "a = \"\"\"x \\ y\"\"\"\n", "1, column 12: only blanks" },
	/* names */
	{ "a = 1\nb = 1\na = 2\n", "3, column 1: this name is defined" },
	{ "a = 1\n\"a\" = 2\n", "2, column 1: this name" },
	{ "a.b = 1\na.c = 2\n'a'.\"b\" = 3\n", "3, column 5: this name" },
	{ "a = 1\na.b = 2\n", "2, column 1: this name" },
	{ "a.b = 1\na = 2\n", "2, column 1: this name" },
	{ "a = {b = 1}\na.c = 2\n", "2, column 1: this name" },
	{ "a = {b = 1, b = 2}\n", "1, column 13: this name" },
	{ "a = {b.c = 1, b.d = 2}\n", NULL },
	{ "a = [{b = 1}, {b = 1}]\n", NULL },
	{ "a = {b = {c = 1}, b.d = 2}\n", "1, column 19: this name" },
	{ "[a]\nb = 1\n[c]\nb = 1\n[a.d]\nb = 1\n", NULL },
	{ "[a]\n[a]\n", "2, column 2: this name" },
	{ "[a.b]\n[a]\nc = 1\n[a.d]\n", NULL },
	{ "[a.b]\n[a]\nb = 1\n", "3, column 1: this name" },
	{ "[a.b.c]\n[a]\nb.d = 1\n", NULL },
	{ "[a.b.c]\n[a]\nb.c.d = 1\n", "3, column 3: this name" },
	{ "[a]\nb = 1\n[a.b]\n", "3, column 4: this name" },
	{ "[a]\nb.c = 1\n[a.b]\n", "3, column 4: this name" },
	{ "[a]\nb.c = 1\n[a.b.d]\ne = 1\n", NULL },
	{ "[[a]]\nb = 1\n[[a]]\nb = 1\n[a.c]\nd = 1\n[[a]]\n[a.c]\n", NULL },
	{ "[[a]]\n[a]\n", "2, column 2: this name" },
	{ "[a]\n[[a]]\n", "2, column 3: this name" },
	{ "a = [1]\n[[a]]\n", "2, column 3: this name" },
	{ "a = {}\n[a.b]\n", "2, column 2: this name" },
	{ "[[a]]\n[[a.b]]\n[[a.b]]\nc = 1\nc = 2\n", "5, column 1: this name" },
	{ "\"a.b\" = 1\na.b = 1\n", NULL },
};

static void toml(void **state)
{
	(void)state;
	JUDGES("pyproject.toml", tomls);
}

static const struct sample pythons[] = {
	{ "def f(a, b=(1,\n  2)):\n    \"\"\"x\n  'y\n    \"\"\"\n    if a:\n\t# c\n        pass\n\n    return '}'\n",
		NULL },
	{ "x = 1 + \\\n    2\ny = {'a': [1,\n# ]\n2]}\n", NULL },
	{ "s = r'\\'\nt = ''\nu = '''it's'''\nv = b'\\''\n", "1, column 6: the string" },
	{ "s = r'\\\\'\nt = ''\nu = '''it's'''\nv = b'\\''\n", NULL },
	{ "if a:\n\tb\n\tc\nelse:\n  d\n", NULL },
	{ "class A: pass\nx: int = 3\nl = lambda: 0\nm = d[1:2]\n", NULL },
	{ "", NULL },
	{ "# only\n\n   # this\n", NULL },
	{ "x = 'a\\\nb'\r\ny = 2\r\nif y:\r\n  z = 1\r\n", NULL },
	{ "def f():\nreturn 1\n", "2, column 1: an indented line" },
	{ "def f():\n", "2, column 1: an indented line" },
	{ "a = 1\n  b = 2\n", "2, column 3: the line is indented" },
	{ "  a = 1\n", "1, column 3: the line is indented" },
	{ "if a:\n    b\n  c\n", "3, column 3: the indentation is" },
	{ "if a:\n        b\n\tc\n", "3, column 2: tabs and spaces" },
	{ "f(1, 2\ng()\n", "1, column 2: ( is not closed" },
	{ "f(1]\n", "1, column 4: ] does not close the ( of line 1, column 2" },
	{ "f)\n", "1, column 2: ) closes nothing" },
	{ "s = 'abc\nt = 1\n", "1, column 5: the string" },
	{ "s = \"\"\"abc\n", "1, column 5: the string" },
};

static void python(void **state)
{
	(void)state;
	JUDGES("a/b.py", pythons);
	/* valid since Python 3.12, and not to be judged here */
	assert_non_null(strstr(say("a.py", VIEW("x = f\"{d[\"it's\"]}\"\n")), "no fault"));
}

static void c(void **state)
{
	static const struct sample list[] = {
		{ "int f(void)\n{\n\treturn a[0] == '{' ? \"}\\\"\" : 0; // )\n}\n/* ( */\n",
			NULL },
		{ "#define BEGIN { \\\n  (\n#include <x>\nint a = 1'000'0ff;\nchar b = L'\\'';\n",
			NULL },
		{ "#if A\nif (x) {\n#else\nif (y) {\n#endif\n}\n", NULL },
		{ "#if A\n#elif B\n{\n#endif\n#if B\n}\n#endif\n", NULL },
		{ "#if A\n(\n#endif\n]\n", NULL }, /* who knows */
		{ "#if A\n()\n#else\n[]\n#endif\n]\n", "6, column 1: ] closes nothing" },
		{ "#if A\n#else\n{\n#endif\n}\n", NULL },
		{ "#if 0\n(\n#endif\n]\n", "4, column 1: ] closes nothing" },
		{ "#if 0 /* off */\ndon't\n#else\nint x;\n#endif\n#ifdef B\n#elif C\n{\n#endif\n",
			NULL },
		{ "#if A\n#if B\n{\n#else\n{\n#endif\n}\n#else\n{\n# if C\n#else\n# endif\n#endif\n",
			NULL },
		{ "int f(void)\n{\n", "2, column 1: { is not closed" },
		{ "f(a];\n", "1, column 4: ] does not close the ( of line 1, column 2" },
		{ "}\n", "1, column 1: } closes nothing" },
		{ "char *s = \"abc;\n", "1, column 11: the string" },
		{ "char s = 'a;\n", "1, column 10: the string" },
		{ "int a; /* x\n", "1, column 8: the comment" },
		{ "字 x = (;\n", "1, column 7: ( is not closed" },
	};

	(void)state;
	JUDGES("src/x.c", list);
	assert_non_null(strstr(say("x.cpp", VIEW("auto s = R\"x()\" ( )x\";\n")), "no fault"));
	assert_non_null(strstr(say("x.cpp", VIEW("auto s = u8R\"(')\";\n")), "no fault"));
	assert_non_null(strstr(say("x.hpp", VIEW("auto s = R\"(x\";\n")), "line 1, column 11"));
}

static void other_languages(void **state)
{
	static const struct {
		const char *path, *text, *fault;
	} list[] = {
		{ "A.java", "class A { String s = \"\"\"\n a \" ( \n\"\"\"; char c = '\"'; }\n",
			NULL },
		{ "A.java", "class A { void f() { }\n", "line 1, column 9" },
		{ "a.js",
			"const a = `x ${f({b: `}`})} (`; // '\nconst r = /[/'(]/g, d = a / b / c;\n",
			NULL },
		{ "a.js", "if (x) /'/.test(y); f(\n", NULL }, /* who knows */
		{ "a.js", "const x = <p>don't</p>;\n", NULL },
		{ "a.ts", "function f<T>(a: T): T { return /}/.test('x') ? a : a }\n", NULL },
		{ "a.ts", "f({ a: [1, 2 }\n", "line 1, column 14: } does not close the [" },
		{ "a.mjs", "const s = `a ${b\n", "line 1, column 14: { is not closed" },
		{ "a.cjs", "const s = `a\n", "line 1, column 11: the template" },
		{ "a.go", "func f() { s := `\\ \" (`; r := '\\'' }\n", NULL },
		{ "a.go", "func f() { s := `x\n", "line 1, column 17: the string" },
		{ "a.rs", "fn f<'a>(x: &'a str) { let c = '}'; let d = '字'; let e = '\\''; }\n",
			NULL },
		{ "a.rs", "fn f() { let s = r#\"\" ( \"#; let t = br\"\\\"; /* /* */ ( */ }\n",
			NULL },
		{ "a.rs", "fn f() { let s = \"a\nb\"; r#type(1); ]\n",
			"line 2, column 16: ] does not" },
		{ "a.css", "a { background: url(http://x/y'z); content: \"}\\\"\" } /* ( */\n",
			NULL },
		{ "a.css", "a { color: red;\n", "line 1, column 3: { is not closed" },
		{ "a.scss", "a { // don't\n &:hover { color: #{$x}; } }\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const char *said = say(list[i].path, view_of(list[i].text));

		if (!strstr(said, list[i].fault ? list[i].fault : "no fault found"))
			fail_msg("%s\nsaid: %s", list[i].text, said);
	}
}

static void other_files_are_not_looked_at(void **state)
{
	static const char *const paths[] = { "README.md", "json", ".json", "a.txt", "Makefile",
		"a.", "a.py/b", "a.h h", "c" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_string_equal("", say(paths[i], VIEW("{")));
}

static void long_texts_are_not_looked_at(void **state)
{
	struct str text = STR_INIT(BIG);

	(void)state;
	while (text.n < DIAGNOSE_BYTES_MAX)
		(void)str_addc(&text, ' ');
	assert_non_null(strstr(say("a.c", str_view(&text)), "no fault"));
	(void)str_addc(&text, ' ');
	assert_string_equal("[a.c was not checked: it has more than 1 MiB]\n",
		say("a.c", str_view(&text)));
	str_release(&text);
}

/* A quarter of a mebibyte of what is dear to look at is done in a moment: each would take long
 * if it were not linear. */
static void hostile_texts_are_linear(void **state)
{
	static const char *const pieces[] = { "(", "'", "\"", "`${", "/*", "/", "R\"", "r#", "\\",
		"#if\n", "#if 0\n", "#else\n", "{\"a\":", "1'", "\n ", "a:\n", "[", "a.", "\"\"\"",
		"url(", "))" };
	static const char *const paths[] = { "a.c", "a.cpp", "a.js", "a.rs", "a.css", "a.py",
		"a.toml", "a.json", "a.java", "a.go" };
	struct str text = STR_INIT(BIG);

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		str_reset(&text);
		while (text.n + strlen(pieces[i]) <= DIAGNOSE_BYTES_MAX / 4)
			(void)str_adds(&text, pieces[i]);
		for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++)
			assert_int_equal('[', say(paths[k], str_view(&text))[0]);
	}
	str_release(&text);
}

/* --- Against what is right -------------------------------------------------------------------- */

static int faults;

static int look(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct str text = STR_INIT(BIG);
	struct err e = ERR_INIT;

	(void)st;
	(void)ftw;
	if (type == FTW_F && !strstr(path, "corpus") && file_read(path, BIG, &text, &e) == 0 &&
		strstr(say(path, str_view(&text)), "fault in line")) {
		print_message("%s", str_cstr(&out));
		faults++;
	}
	str_release(&text);
	return 0;
}

static void our_own_sources_have_no_faults(void **state)
{
	static const char *const folders[] = { "", "base", "formatter", "account", "tools", "agent",
		"channel", "cli", "contrib" };

	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[PATH_SIZE];

		(void)snprintf(path, sizeof(path), TEST_SOURCE_DIR "/%s%s", i ? "../" : "",
			folders[i]);
		assert_int_equal(0, nftw(path, look, 16, FTW_PHYS));
	}
	assert_int_equal(0, faults);
}

/* Python's own word on each text, as a row of 0 and 1; without a Python that can tell it stays
 * empty. good is a function in it that takes bytes and raises what it finds. */
static void ask_python(const char *good, const struct sample *list, size_t n, struct str *row)
{
	struct str program = STR_INIT(2000);
	FILE *texts = tmpfile();
	int answers[2], status;
	char buf[1000];
	ssize_t got;
	pid_t pid;

	(void)str_addf(&program,
		"import sys\n%s\nfor t in sys.stdin.buffer.read().split(b'\\0')[:-1]:\n"
		"  try: good(t); print(0, end='')\n"
		"  except Exception: print(1, end='')\n",
		good);
	assert_non_null(texts);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(1, fwrite(list[i].text, strlen(list[i].text) + 1, 1, texts));
	rewind(texts);
	assert_int_equal(0, pipe(answers));
	pid = fork();
	if (pid == 0) {
		(void)dup2(fileno(texts), 0);
		(void)dup2(answers[1], 1);
		(void)execlp("python3", "python3", "-I", "-W", "ignore", "-c", str_cstr(&program),
			(char *)NULL);
		_exit(99);
	}
	(void)close(answers[1]);
	while ((got = read(answers[0], buf, sizeof(buf))) > 0)
		assert_int_equal(0, str_add(row, (struct view){ buf, (size_t)got }));
	(void)close(answers[0]);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_int_equal(0, fclose(texts));
	str_release(&program);
}

static void agrees_with(const char *good, const struct sample *list, size_t n)
{
	struct str row = STR_INIT(1000);

	ask_python(good, list, n, &row);
	if (row.n == 0) {
		str_release(&row);
		print_message("no Python here that can tell\n");
		skip();
	}
	assert_int_equal(n, row.n);
	for (size_t i = 0; i < n; i++)
		if (row.p[i] != (list[i].fault ? '1' : '0'))
			fail_msg("Python thinks otherwise of:\n%s", list[i].text);
	str_release(&row);
}

static void python_agrees_on_python(void **state)
{
	(void)state;
	agrees_with("import ast\ngood = ast.parse", pythons, sizeof(pythons) / sizeof(pythons[0]));
}

static void python_agrees_on_toml(void **state)
{
	(void)state;
	agrees_with("import tomllib\ngood = lambda t: tomllib.loads(t.decode())", tomls,
		sizeof(tomls) / sizeof(tomls[0]));
}

#define T(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(json),
		T(toml),
		T(python),
		T(c),
		T(other_languages),
		T(other_files_are_not_looked_at),
		T(long_texts_are_not_looked_at),
		T(hostile_texts_are_linear),
		T(our_own_sources_have_no_faults),
		T(python_agrees_on_python),
		T(python_agrees_on_toml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
