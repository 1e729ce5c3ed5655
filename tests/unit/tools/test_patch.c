/* A unified diff read and made, as text alone: what is taken, what is refused and in which
 * words, and whether diff, git and we agree. */
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

#include "base/file.h"
#include "tools/exec/patch_apply.h"
#include "remove_tree.h"

#define BIG ((size_t)8 << 20)

static struct patch *patch;
static struct err why;

static int teardown(void **state)
{
	(void)state;
	patch_free(&patch);
	return 0;
}

static int parse(struct view text)
{
	patch_free(&patch);
	err_clear(&why);
	return patch_parse(&patch, text, &why);
}

static void takes(const char *text)
{
	if (parse(view_of(text)) < 0)
		fail_msg("%s\n%s", text, why.msg);
}

static void refuses(const char *text, const char *word)
{
	if (parse(view_of(text)) == 0)
		fail_msg("taken:\n%s", text);
	assert_null(patch);
	if (!strstr(why.msg, word))
		fail_msg("%s\n%s", text, why.msg);
}

/* The only file of the patch, made. */
static void makes(const char *text, const char *old, const char *want)
{
	struct str out = STR_INIT(BIG), no = STR_INIT(4096);
	bool crlf;

	takes(text);
	if (patch_apply(&patch->files[0], view_of(old), &out, &crlf, &no) < 0)
		fail_msg("%s\n%s", text, str_cstr(&no));
	assert_string_equal(want, str_cstr(&out));
	assert_int_equal(0, no.n);
	str_release(&out);
	str_release(&no);
}

static void fails(const char *text, const char *old, const char *word)
{
	struct str out = STR_INIT(BIG), no = STR_INIT(4096);
	bool crlf;

	takes(text);
	assert_int_equal(-1, patch_apply(&patch->files[0], view_of(old), &out, &crlf, &no));
	if (!strstr(str_cstr(&no), word))
		fail_msg("%s\n%s", text, str_cstr(&no));
	str_release(&out);
	str_release(&no);
}

/* --- Headers ---------------------------------------------------------------------------------- */

#define HUNK "@@ -1 +1 @@\n-a\n+b\n"

static void names_of_one_file(void **state)
{
	static const struct {
		const char *headers, *path;
		enum patch_kind kind;
	} table[] = {
		{ "--- a/x.c\n+++ b/x.c\n", "x.c", PATCH_CHANGE },
		{ "--- x.c\n+++ x.c\n", "x.c", PATCH_CHANGE },
		{ "--- a/x.c\n+++ a/x.c\n", "a/x.c", PATCH_CHANGE },
		{ "--- b/x.c\n+++ b/x.c\n", "b/x.c", PATCH_CHANGE },
		{ "--- x y.c\t2026-01-01 10:00:00.0 +0000\n+++ x y.c\t2026-01-01\n", "x y.c",
			PATCH_CHANGE },
		{ "--- a/x.c\r\n+++ b/x.c\r\n", "x.c", PATCH_CHANGE },
		{ "--- \"a/\\344\\275\\240 \\\"\\\\\\t.c\"\n+++ \"b/\\344\\275\\240 \\\"\\\\\\t.c\"\n",
			"你 \"\\\t.c", PATCH_CHANGE },
		{ "diff --git a/x.c b/x.c\nindex 123..456 100644\n--- a/x.c\n+++ b/x.c\n", "x.c",
			PATCH_CHANGE },
		{ "diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n", "x y", PATCH_CHANGE },
		{ "diff --git x.c x.c\n--- x.c\n+++ x.c\n", "x.c", PATCH_CHANGE },
		{ "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- \"a/\\303\\244\"\n"
		  "+++ \"b/\\303\\244\"\n",
			"ä", PATCH_CHANGE },
		{ "diff -u -r old/x.c new/x.c\n\nIndex: x.c\n=======\n--- x.c\n+++ x.c\n", "x.c",
			PATCH_CHANGE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[1000];

		(void)snprintf(text, sizeof(text), "%s" HUNK, table[i].headers);
		takes(text);
		assert_int_equal(1, patch->nfiles);
		assert_string_equal(table[i].path, patch->files[0].path);
		assert_int_equal(table[i].kind, patch->files[0].kind);
	}
}

static void creating_and_deleting(void **state)
{
	(void)state;
	takes("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
	assert_int_equal(PATCH_CREATE, patch->files[0].kind);
	assert_string_equal("n", patch->files[0].path);
	takes("--- /dev/null\n+++ n\n@@ -0,0 +1 @@\n+x\n");
	assert_string_equal("n", patch->files[0].path);
	/* where git says that b is a folder's name */
	takes("diff --git b/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
	assert_string_equal("b/n", patch->files[0].path);
	takes("--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
	assert_int_equal(PATCH_DELETE, patch->files[0].kind);
	assert_string_equal("n", patch->files[0].path);
	takes("diff --git a/n b/n\ndeleted file mode 100755\nindex 1..0\n--- a/n\n+++ /dev/null\n"
	      "@@ -1 +0,0 @@\n-x\n");
	/* files without a line */
	takes("diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n"
	      "diff --git a/m b/m\ndeleted file mode 100644\nindex e69de29..0000000\n");
	assert_int_equal(2, patch->nfiles);
	assert_int_equal(PATCH_CREATE, patch->files[0].kind);
	assert_int_equal(PATCH_DELETE, patch->files[1].kind);
}

static void the_time_of_no_file_is_that_of_diff_N(void **state)
{
	static const struct {
		const char *old, *new, *hunk;
		enum patch_kind kind;
	} table[] = {
		{ "1970-01-01 00:00:00.000000000 +0000", "2026-01-02 03:04:05.678 +0000",
			"@@ -0,0 +1 @@\n+x\n", PATCH_CREATE },
		{ "1970-01-01 08:00:00 +0800", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CREATE },
		{ "1970-01-01 05:30:00.0 +0530\r", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CREATE },
		{ "", "1969-12-31 19:00:00.000000000 -0500", "@@ -1 +0,0 @@\n-x\n", PATCH_DELETE },
		/* A file of that time, if it has lines; an empty one of any other. */
		{ "1970-01-01 00:00:00 +0000", "", "@@ -1 +1 @@\n-x\n+y\n", PATCH_CHANGE },
		{ "", "1970-01-01 00:00:00 +0000", "@@ -1,2 +1 @@\n x\n-y\n", PATCH_CHANGE },
		{ "1970-01-01 00:00:00.5 +0000", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
		{ "1970-01-01 00:00:01 +0000", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
		{ "1970-01-01 00:00:00 +0100", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
		{ "1970-01-01 00:00:00", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
		{ "1970-01-01 00:00:00 +0000 x", "", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
		{ "(revision 0)", "(working copy)", "@@ -0,0 +1 @@\n+x\n", PATCH_CHANGE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[300];

		(void)snprintf(text, sizeof(text), "--- a/d/n\t%s\n+++ b/d/n\t%s\n%s", table[i].old,
			table[i].new, table[i].hunk);
		takes(text);
		assert_string_equal("d/n", patch->files[0].path);
		if (patch->files[0].kind != table[i].kind)
			fail_msg("%s", text);
	}
	/* With other names it is not known which part of them is the file's. */
	refuses("--- old/n\t1970-01-01 00:00:00 +0000\n+++ new/n\n@@ -0,0 +1 @@\n+x\n",
		"must name one file");
}

static void headers_that_do_not_agree(void **state)
{
	static const struct {
		const char *text, *word;
	} table[] = {
		{ "", "no file" },
		{ "\n\n", "no file" },
		{ "--- a/x\n+++ b/y\n" HUNK, "one file" },
		{ "--- x.orig\n+++ x\n" HUNK, "one file" },
		{ "--- a/x\n+++ x\n" HUNK, "one file" },
		{ "--- b/x\n+++ a/x\n" HUNK, "one file" },
		{ "--- /dev/null\n+++ /dev/null\n" HUNK, "both names" },
		{ "--- a/x\n" HUNK, "+++ NAME must follow" },
		{ "--- a/x\n", "+++ NAME must follow" },
		{ "--- \n+++ \n" HUNK, "no name" },
		{ "--- \"a/x\n+++ \"b/x\n" HUNK, "quoted name" },
		{ "--- \"a/\\9\"\n+++ \"b/\\9\"\n" HUNK, "quoted name" },
		{ "--- \"a/\\000\"\n+++ \"b/\\000\"\n" HUNK, "quoted name" },
		{ "--- \"a/x\"y\n+++ \"b/x\"y\n" HUNK, "quoted name" },
		{ "diff --git a/x b/y\n--- a/x\n+++ b/y\n" HUNK, "renaming" },
		{ "diff --git a/x b/xx\n--- a/x\n+++ b/x\n" HUNK, "one file" },
		{ "diff --git a/x\n--- a/x\n+++ b/x\n" HUNK, "one file" },
		{ "diff --git a/x b/x\n--- a/y\n+++ b/y\n" HUNK, "do not agree" },
		{ "diff --git a/x b/x\n--- x\n+++ x\n" HUNK, "do not agree" },
		{ "diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
			"- lines only" },
		{ "diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n" HUNK,
			"for a new file" },
		{ "diff --git a/x b/x\ndeleted file mode 100644\n--- /dev/null\n+++ b/x\n" HUNK,
			"for a new file" },
		{ "diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n",
			"either created or deleted" },
		{ "diff --git a/x b/x\n", "no hunks" },
		{ "diff --git a/x b/x\nindex 1..2 100644\n", "no hunks" },
		{ "--- a/x\n+++ b/x\n", "no hunks" },
		{ HUNK, "needs --- NAME" },
		{ "*** Begin Patch\n", "begins with --- NAME" },
		{ "```diff\n--- a/x\n+++ b/x\n" HUNK, "line 1 of the patch" },
		{ "--- a/x\n+++ b/x\n" HUNK "```\n", "line 6 of the patch" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		refuses(table[i].text, table[i].word);
}

static void what_no_line_can_say_is_refused(void **state)
{
	static const struct {
		const char *line, *word;
	} table[] = {
		{ "old mode 100644\nnew mode 100755", "mode" },
		{ "new mode 100755", "mode" },
		{ "new file mode 100755", "mode" },
		{ "new file mode 120000", "symbolic links" },
		{ "deleted file mode 120000", "symbolic links" },
		{ "new file mode 160000", "submodules" },
		{ "deleted file mode 160000", "submodules" },
		{ "index 123..456 120000", "symbolic links" },
		{ "index 123..456 160000", "submodules" },
		{ "similarity index 90%\nrename from x\nrename to y", "renaming" },
		{ "rename from x", "renaming" },
		{ "copy from x", "copying" },
		{ "dissimilarity index 90%", "rewriting" },
		{ "GIT binary patch\nliteral 3", "binary" },
		{ "Binary files a/x and b/x differ", "binary" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[400];

		(void)snprintf(text, sizeof(text),
			"diff --git a/x b/x\n%s\n--- a/x\n+++ b/x\n" HUNK, table[i].line);
		refuses(text, table[i].word);
	}
	refuses("Binary files x and y differ\n", "binary");
	assert_int_equal(-1, parse(VIEW("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\0\n+b\n")));
	assert_non_null(strstr(why.msg, "NUL"));
}

/* --- Hunks ------------------------------------------------------------------------------------ */

#define HEAD "--- a/x\n+++ b/x\n"

static void counts_must_be_right(void **state)
{
	static const struct {
		const char *text, *word;
	} table[] = {
		{ HEAD "@@ -1,2 +1,1 @@\n-a\n+b\n", "has 1 and 1" },
		{ HEAD "@@ -1,1 +1,2 @@\n-a\n+b\n", "has 1 and 1" },
		{ HEAD "@@ -1 +1 @@\n-a\n+b\n c\n", "write @@ -1,2 +1,2 @@" },
		{ HEAD "@@ -1 +1 @@\n-a\n+b\n+c\n", "has 1 and 2" },
		{ HEAD "@@ -1 +1 @@\n-a\n+b\n-c\n", "has 2 and 1" },
		{ HEAD "@@ -1,3 +1,3 @@\n-a\n+b\n c\n\n\n", "" },
		{ HEAD "@@ -1,9 +1,9 @@\n-a\n+b\n c\n\n", "has 2 and 2" },
		{ HEAD "@@ -1,3 +1,3 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n", "line 3 of the patch" },
		{ HEAD "@@ -1,3 +1,3 @@\n-a\n+b\n--- a/y\n+++ b/y\n" HUNK, "has 1 and 1" },
		{ HEAD "@@ -1,3 +1,3 @@\n-a\nx\n+b\n",
			"line 5 of the patch: a line of a hunk begins" },
		{ HEAD "@@ -1,3 +1,3 @@\n", "has 0 and 0" },
		{ HEAD "@@ -1 +1 @@\n a\n", "changes nothing" },
		{ HEAD "@@ -0,0 +0,0 @@\n", "changes nothing" },
		{ HEAD "@@ -0 +1 @@\n-a\n+b\n", "from 1" },
		{ HEAD "@@ -1 +0 @@\n-a\n+b\n", "from 1" },
		{ HEAD "@@ -1,1 +1,1\n-a\n+b\n", "begins with @@" },
		{ HEAD "@@ -x +1 @@\n-a\n+b\n", "begins with @@" },
		{ HEAD "@@ -1, +1 @@\n-a\n+b\n", "begins with @@" },
		{ HEAD "@@ -2147483648 +1 @@\n-a\n+b\n", "begins with @@" },
		{ HEAD "@@ -99999999999999999999 +1 @@\n-a\n+b\n", "begins with @@" },
		{ HEAD "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", "" },
		{ HEAD "@@ -1,2 +1,1 @@\n-a\n\\ No newline at end of file\n-b\n+c\n",
			"behind the last" },
		{ HEAD "@@ -1,1 +1,2 @@\n-b\n+c\n\\ No newline at end of file\n+d\n",
			"behind the last" },
		/* what a hunk lacks a sign before is no note on the line above */
		{ HEAD "@@ -1 +1 @@\n-a\n+b\n\\section{c}\n", "begins with --- NAME" },
		{ "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n\\section{c}\n",
			"line 5 of the patch: a line of a hunk begins" },
		{ HEAD "@@ -5 +5 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+b\n", "overlaps" },
		{ HEAD "@@ -5 +5 @@\n-a\n+b\n@@ -4,0 +4 @@\n+b\n@@ -1 +1 @@\n-a\n+b\n",
			"overlaps" },
		{ "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "+ lines only" },
		{ "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n@@ -0,0 +2 @@\n+b\n", "one hunk" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].word[0])
			refuses(table[i].text, table[i].word);
	takes(HEAD "@@ -1 +1 @@\n-a\n+b\n\r\n\n");
	takes(HEAD "@@ -5 +5 @@ void f(void)\n-a\n+b\n@@ -5,0 +6 @@\n+c\n@@ -6 +7 @@\n-d\n+e");
	assert_int_equal(3, patch->files[0].nhunks);
	assert_int_equal(3, patch->files[0].added);
	assert_int_equal(2, patch->files[0].removed);
}

static void limits_at_and_over(void **state)
{
	struct str text = STR_INIT(BIG);

	(void)state;
	for (int over = 0; over < 2; over++) {
		str_reset(&text);
		for (int i = 0; i < PATCH_FILES_MAX + over; i++)
			(void)str_addf(&text, "--- a/%d\n+++ b/%d\n" HUNK, i, i);
		assert_int_equal(-over, parse(str_view(&text)));
		str_reset(&text);
		(void)str_adds(&text, HEAD);
		for (int i = 0; i < PATCH_HUNKS_MAX + over; i++)
			(void)str_addf(&text, "@@ -%d +%d @@\n-a\n+b\n", i + 1, i + 1);
		assert_int_equal(-over, parse(str_view(&text)));
		str_reset(&text);
		(void)str_adds(&text, HEAD "@@ -1 +1 @@\n-a\n+");
		while (text.n < PATCH_BYTES_MAX + (size_t)over)
			(void)str_addc(&text, 'x');
		assert_int_equal(-over, parse(str_view(&text)));
	}
	str_release(&text);
}

/* --- Making ----------------------------------------------------------------------------------- */

static void hunks_are_made(void **state)
{
	static const struct {
		const char *hunks, *old, *want;
	} table[] = {
		{ "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nb\nc\n", "a\nB\nc\n" },
		{ "@@ -2 +2,2 @@\n-b\n+x\n+y\n@@ -4,0 +6 @@\n+z\n", "a\nb\nc\nd\n",
			"a\nx\ny\nc\nd\nz\n" },
		{ "@@ -0,0 +1 @@\n+x\n", "a\n", "x\na\n" },
		{ "@@ -0,0 +1 @@\n+x\n", "", "x\n" },
		{ "@@ -1 +0,0 @@\n-a\n", "a\n", "" },
		{ "@@ -1,2 +1,2 @@\n-a\n+b\n\n", "a\n\n", "b\n\n" },
		/* line ends */
		{ "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nb\r\n", "a\r\nc\r\n" },
		{ "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nb\r\nd\r\n", "a\r\nc\r\nd\r\n" },
		{ "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline\n+c\n", "a\r\nb", "a\r\nc\r\n" },
		{ "@@ -1 +1 @@\n-a\r\n+a\n", "a\r\nb\r\n", "a\nb\r\n" },
		{ "@@ -1 +1 @@\n-a\n+a\r\n", "a\n", "a\r\n" },
		{ "@@ -1,0 +2 @@\n+x\n", "a\r\nb\r\n", "a\r\nx\nb\r\n" }, /* it fits as it stands */
		/* no line end at the end */
		{ "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a", "b\n" },
		{ "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\n", "b" },
		{ "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ Kein Zeilenumbruch\n", "a",
			"b" },
		{ "@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n", "a\nc", "b\nc" },
		{ "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b", "a", "a\nb\n" },
		{ "@@ -0,0 +1 @@\n+x\n", "no end", "x\nno end" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[400];

		(void)snprintf(text, sizeof(text), HEAD "%s", table[i].hunks);
		makes(text, table[i].old, table[i].want);
	}
}

static void hunks_that_do_not_fit_say_where_they_would(void **state)
{
	static const struct {
		const char *hunks, *old, *word;
	} table[] = {
		{ "@@ -1 +1 @@\n-b\n+x\n", "a\nb\n",
			"its lines stand at line 2: its header begins @@ -2,1" },
		{ "@@ -1 +1 @@\n-b\n+x\n", "a\nb\nb\n", "line 2 and further on" },
		{ "@@ -1 +1 @@\n-c\n+x\n", "a\nb\n",
			"line 1 of the file is \"a\", the patch has \"c\"" },
		{ "@@ -1 +1 @@\n-c\n+x\n", "a\nb\n", "nowhere" },
		{ "@@ -7 +7 @@\n-b\n+x\n", "a\nb\n", "only 2 lines; its lines stand at line 2" },
		{ "@@ -2,2 +2 @@\n b\n-c\n", "a\nb\n", "only 2 lines" },
		{ "@@ -3,0 +4 @@\n+x\n", "a\nb\n", "only 2 lines" },
		{ "@@ -1 +1 @@\n-a\n+x\n", "a", "no line end in the file" },
		{ "@@ -1 +1 @@\n-a\n\\ No newline\n+x\n", "a\nb\n", "has a line end in the file" },
		{ "@@ -1 +1 @@\n-a\n+x\n", "a\r\nb\n", "ends in CRLF in the file" },
		{ "@@ -1 +1 @@\n-a\r\n+x\r\n", "a\nb\n", "\"a\", the patch has \"a\\r\"" },
		{ "@@ -1 +1 @@\n-    a\n+x\n", "\ta\n", "is \"\\ta\", the patch has \"    a\"" },
		{ "@@ -1,0 +2 @@\n+x\n", "no end", "behind the last one" },
		{ "@@ -1 +1 @@\n-a\n+x\n\\ No newline\n", "a\nb\n", "lines follow" },
		{ "@@ -1 +1 @@\n-1\n+x\n@@ -2 +2 @@\n-b\n+x\n@@ -3 +3 @@\n-3\n+x\n", "a\nb\nc\n",
			"line 9 of the patch: line 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[400];

		(void)snprintf(text, sizeof(text), HEAD "%s", table[i].hunks);
		fails(text, table[i].old, table[i].word);
	}
}

/* Millions of lines that are all nearly the hunk: looking for its place is given up. */
static void looking_for_a_place_is_bounded(void **state)
{
	struct str old = STR_INIT(BIG), text = STR_INIT(BIG), out = STR_INIT(BIG),
		   no = STR_INIT(BIG);
	bool crlf;

	(void)state;
	while (old.n < ((size_t)5 << 20))
		(void)str_adds(&old, "a\n");
	(void)str_adds(&text, HEAD "@@ -2,200001 +2,200000 @@\n");
	for (int i = 0; i < 200000; i++)
		(void)str_adds(&text, " a\n");
	(void)str_adds(&text, "-b\n");
	assert_int_equal(0, parse(str_view(&text)));
	assert_int_equal(-1, patch_apply(&patch->files[0], str_view(&old), &out, &crlf, &no));
	assert_non_null(strstr(str_cstr(&no), "the patch has \"b\""));
	str_release(&old);
	str_release(&text);
	str_release(&out);
	str_release(&no);
}

static void what_has_no_room_is_said(void **state)
{
	struct str out = STR_INIT(3), no = STR_INIT(4096);
	bool crlf;

	(void)state;
	takes(HEAD "@@ -1 +1,2 @@\n a\n+b\n");
	assert_int_equal(-1, patch_apply(&patch->files[0], VIEW("a\n"), &out, &crlf, &no));
	assert_non_null(strstr(str_cstr(&no), "more than 3 bytes"));
	str_release(&out);
	str_release(&no);
}

/* --- Peers ------------------------------------------------------------------------------------ */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/kairo-patch-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)teardown(state);
	return remove_tree(dir);
}

/* What a shell in the folder ends with. */
static int run_in_dir(const char *command)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* git by its own defaults, not by somebody's settings */
		(void)setenv("HOME", dir, 1);
		(void)unsetenv("XDG_CONFIG_HOME");
		(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
		if (chdir(dir) == 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool installed(const char *program)
{
	char command[100];

	(void)snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return run_in_dir(command) == 0;
}

static const char *in_dir(const char *folder, const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s/%s", dir, folder, name);
	return path;
}

static void put_file(const char *path, struct view text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_int_equal(text.n, text.n > 0 ? write(fd, text.p, text.n) : 0);
	assert_int_equal(0, close(fd));
}

static void get_file(const char *path, struct str *out)
{
	struct err e = ERR_INIT;

	str_reset(out);
	assert_int_equal(0, file_read(path, BIG, out, &e));
}

static unsigned long long seed = 88172645463325252ULL;

static unsigned any(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % below;
}

static void put_any_line(struct str *s)
{
	static const char *const lines[] = { "a", "b", "", "}", "-- x", "++ y", "@@ -1 +1 @@",
		"\\ z", "\tint a;", "字", " ", "diff --git a/x b/x", "--- a/x", "+++ b/x" };
	static const char *const ends[] = { "\n", "\n", "\n", "\n", "\r\n", "\r\r\n" };

	(void)str_adds(s, lines[any(sizeof(lines) / sizeof(lines[0]))]);
	(void)str_adds(s, ends[any(sizeof(ends) / sizeof(ends[0]))]);
}

static void make_text(struct str *s)
{
	str_reset(s);
	for (unsigned i = any(40); i > 0; i--)
		put_any_line(s);
	if (any(3) == 0 && s->n > 0 && s->p[s->n - 1] == '\n')
		str_truncate(s, s->n - 1);
}

/* Lines of old are dropped, replaced, and others put between. */
static void edit_text(struct view old, struct str *s)
{
	str_reset(s);
	while (old.n > 0) {
		struct view line = view_cut(old, view_find(old, '\n') + 1);
		unsigned what = any(12);

		old = view_from(old, line.n);
		if (what == 0)
			put_any_line(s);
		if (what > 1)
			(void)str_add(s, line);
		if (s->n > 0 && s->p[s->n - 1] != '\n' && old.n > 0)
			(void)str_addc(s, '\n');
	}
	if (any(4) == 0) {
		if (s->n > 0 && s->p[s->n - 1] != '\n')
			(void)str_addc(s, '\n');
		put_any_line(s);
	}
	if (any(4) == 0 && s->n > 0 && s->p[s->n - 1] == '\n')
		str_truncate(s, s->n - 1);
}

#define EDITS 120

/* In a folder each: old, new, and x to patch. */
static void make_edits(void)
{
	struct str old = STR_INIT(BIG), new = STR_INIT(BIG);

	for (int i = 0; i < EDITS; i++) {
		char folder[16];

		(void)snprintf(folder, sizeof(folder), "%d", i);
		assert_int_equal(0, mkdir(in_dir(folder, ""), 0755));
		make_text(&old);
		edit_text(str_view(&old), &new);
		put_file(in_dir(folder, "old"), str_view(&old));
		put_file(in_dir(folder, "new"), str_view(&new));
		put_file(in_dir(folder, "x"), str_view(&old));
	}
	str_release(&old);
	str_release(&new);
}

/* Random edits: what diff says of them, made to the old text, is the new text; git apply and patch
 * give the same. */
static void random_edits_go_round(const char *diff, const char *peer)
{
	struct str old = STR_INIT(BIG), new = STR_INIT(BIG), text = STR_INIT(BIG),
		   out = STR_INIT(BIG);
	struct str no = STR_INIT(4096);
	char command[600];

	make_edits();
	(void)snprintf(command, sizeof(command),
		"for d in [0-9]*; do cd $d; n=$((d %% 4)); %s; "
		"[ $n = 0 ] || [ ! -s diff ] || %s || exit 1; cd ..; done",
		diff, peer ? peer : "true");
	assert_int_equal(0, run_in_dir(command));
	for (int i = 0; i < EDITS; i++) {
		char folder[16];
		bool crlf;

		(void)snprintf(folder, sizeof(folder), "%d", i);
		get_file(in_dir(folder, "old"), &old);
		get_file(in_dir(folder, "new"), &new);
		get_file(in_dir(folder, "diff"), &text);
		if (text.n == 0)
			continue; /* the same */
		str_reset(&out);
		str_reset(&no);
		if (parse(str_view(&text)) < 0)
			fail_msg("%s\n%s", str_cstr(&text), why.msg);
		if (patch_apply(&patch->files[0], str_view(&old), &out, &crlf, &no) < 0)
			fail_msg("%s\n%s", str_cstr(&text), str_cstr(&no));
		assert_false(crlf);
		assert_true(view_eq(str_view(&out), str_view(&new)));
		get_file(in_dir(folder, "x"), &out);
		if (peer && i % 4 > 0)
			assert_true(view_eq(str_view(&out), str_view(&new)));
	}
	str_release(&old);
	str_release(&new);
	str_release(&text);
	str_release(&out);
	str_release(&no);
}

static void diff_and_patch_agree(void **state)
{
	(void)state;
	if (!installed("diff"))
		skip();
	random_edits_go_round("diff -U$n --label a/x --label b/x old new > diff",
		installed("patch") ? "patch -s --binary -p1 < diff" : NULL);
}

static void git_agrees(void **state)
{
	(void)state;
	if (!installed("git"))
		skip();
	random_edits_go_round("git -c core.autocrlf=false diff --no-index -U$n old new > diff; "
			      "sed -i -E '1,4s,(a|b)/(old|new),\\1/x,g' diff",
		"git -c core.autocrlf=false apply --whitespace=nowarn diff");
}

#define T(f) cmocka_unit_test_teardown(f, teardown)
#define P(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_one_file),
		T(creating_and_deleting),
		T(the_time_of_no_file_is_that_of_diff_N),
		T(headers_that_do_not_agree),
		T(what_no_line_can_say_is_refused),
		T(counts_must_be_right),
		T(limits_at_and_over),
		T(hunks_are_made),
		T(hunks_that_do_not_fit_say_where_they_would),
		T(looking_for_a_place_is_bounded),
		T(what_has_no_room_is_said),
		P(diff_and_patch_agree),
		P(git_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
