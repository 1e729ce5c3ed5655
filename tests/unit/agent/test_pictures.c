/* Which pictures a message names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/pictures.h"

/* The paths, a bar behind each. */
static void expect_refs(const char *text, const char *paths)
{
	struct str path = STR_INIT(4095), all = STR_INIT(8192);
	size_t at = 0;

	while (image_ref_next(view_of(text), &at, &path))
		assert_int_equal(0, str_addf(&all, "%s|", str_cstr(&path)));
	if (strcmp(str_cstr(&all), paths) != 0)
		fail_msg("%s\n\twanted: %s\n\tgot:    %s", text, paths, str_cstr(&all));
	assert_int_equal(strlen(text), at);
	str_release(&path);
	str_release(&all);
}

static void references_are_found(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "no picture here, nor @images: or @image a.png", "" },
		{ "@image:a.png", "a.png|" },
		{ "what is @image:shots/a.png?", "shots/a.png|" },
		{ "@image:a.png, @image:b.jpg.", "a.png|b.jpg|" },
		{ "(@image:/abs/a.png)", "/abs/a.png|" },
		{ "\"@image:a.png\"", "a.png|" },
		{ "@image:<my shots/a b.png> and more", "my shots/a b.png|" },
		{ "@image:<a.png>@image:<b.png>", "a.png|b.png|" },
		{ "@image:file:///tmp/a%20b.png", "/tmp/a b.png|" },
		{ "@image:<file:///tmp/a%e5%9b%be.png>", "/tmp/a图.png|" },
		{ "@image:file://localhost/a.png", "/a.png|" },
		{ "@image:file:/a.png", "/a.png|" },
		/* Chinese does not part words with spaces. */
		{ "看@image:a.png这是什么", "a.png|" },
		{ "看@image:截图.png里有什么", "截图.png|" },
		{ "看@image:截图.PNG，再看@image:b.webp。", "截图.PNG|b.webp|" },
		/* Not at all. */
		{ "me@image:a.png", "" },
		{ "@image:", "" },
		{ "@image: a.png", "" },
		{ "@image:<>", "" },
		{ "@image:<a.png", "" },
		{ "@image:<a\n.png>", "" },
		{ "@image:...", "" },
		{ "@image:file:///a%00b.png", "" },
		{ "@image:<file:>", "" },
		/* What is no encoding stays. */
		{ "@image:file:///50%.png", "/50%.png|" },
		{ "@image:file:///a%zz.png", "/a%zz.png|" },
		{ "@image:50%25.png", "50%25.png|" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refs(rows[i][0], rows[i][1]);
}

static void a_path_that_is_too_long_is_left_out(void **state)
{
	struct str text = STR_INIT(20000), path = STR_INIT(4095);
	size_t at = 0;

	(void)state;
	assert_int_equal(0, str_adds(&text, "@image:"));
	for (int i = 0; i < 4096; i++)
		assert_int_equal(0, str_addc(&text, 'a'));
	assert_int_equal(0, str_adds(&text, " @image:b.png"));
	assert_true(image_ref_next(str_view(&text), &at, &path));
	assert_string_equal("b.png", str_cstr(&path));
	str_release(&text);
	str_release(&path);
}

static void many_marks_that_lead_nowhere_take_no_time(void **state)
{
	struct str text = STR_INIT(ENGINE_INPUT_MAX), path = STR_INIT(4095);
	size_t at = 0;

	(void)state;
	while (str_adds(&text, "@image:<") == 0)
		;
	assert_false(image_ref_next(str_view(&text), &at, &path));
	str_release(&text);
	str_release(&path);
}

/* --- What came with a message ----------------------------------------------------------------- */

static struct turn_input message(const char *text, size_t quoted, const struct turn_file *files,
	size_t n)
{
	struct turn_input in = { .turn = 1, .conversation = "me", .text = view_of(text) };

	in.quoted = quoted;
	in.files = files;
	in.nfiles = n;
	return in;
}

static void files_and_references_are_taken_once(void **state)
{
	static const struct turn_file files[] = {
		{ TURN_PICTURE, "/m/a.png", "a.png", "image/png", 10, false },
		{ TURN_DOCUMENT, "/m/b.pdf", "b.pdf", "application/pdf", 20, false },
		{ TURN_PICTURE, "/m/c.jpg", "c.jpg", "image/jpeg", 30, true },
		{ TURN_DOCUMENT, "/m/f.gif", "f.gif", "image/gif", 40, false },
		{ TURN_DOCUMENT, "/m/g.png", "g.png", "text/plain", 50, false },
	};
	static const char text[] =
		"@image:q.png said. @image:/m/a.png @image:d/e.png @image:d/e.png";
	const struct turn_input in = message(text, 18, files, 5);
	static const char *const paths[] = { "/m/a.png", "/m/b.pdf", "/m/c.jpg", "/m/f.gif",
		"/m/g.png", "d/e.png" };
	struct pictures *p;

	(void)state;
	assert_int_equal(0, pictures_open(&p, NULL, &in, NULL));
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(paths[i], pictures_at(p, i)->path);
		assert_int_equal(i != 1 && i != 4, pictures_at(p, i)->picture);
	}
	assert_null(pictures_at(p, 6));
	assert_string_equal("e.png", pictures_at(p, 5)->name);
	assert_int_equal(-1, pictures_at(p, 5)->size);
	assert_true(pictures_any(p) && !pictures_loaded(p));
	assert_int_equal(0, pictures_shown(p));
	pictures_free(&p);
	assert_null(p);
}

static void a_message_without_any_has_none(void **state)
{
	const struct turn_input plain = message("hello", 0, NULL, 0);
	static const struct turn_file file = { TURN_DOCUMENT, "/m/b", "b", "text/plain", 1, false };
	const struct turn_input other = message("hello", 0, &file, 1);
	struct str told = STR_INIT(1000);
	struct pictures *p;

	(void)state;
	assert_int_equal(0, pictures_open(&p, NULL, &plain, NULL));
	assert_null(p);
	assert_false(pictures_any(p));
	assert_true(pictures_loaded(p));
	assert_null(pictures_at(p, 0));
	assert_int_equal(0, pictures_open(&p, NULL, &other, NULL));
	assert_non_null(p);
	assert_false(pictures_any(p));
	assert_true(pictures_loaded(p));
	pictures_tell(p, NULL, &told);
	assert_int_equal(0, told.n);
	pictures_free(&p);
	str_release(&told);
}

static void on_loaded(void *arg)
{
	++*(int *)arg;
}

static void what_cannot_be_shown_is_told(void **state)
{
	const struct turn_input in = message("@image:<a\t图.png>", 0, NULL, 0);
	struct str told = STR_INIT(1000);
	struct pictures *p;
	int loaded = 0;

	(void)state;
	assert_int_equal(0, pictures_open(&p, NULL, &in, NULL));
	pictures_load(p, on_loaded, &loaded);
	assert_int_equal(1, loaded);
	assert_true(pictures_loaded(p));
	pictures_tell(p, NULL, &told);
	assert_string_equal("[The picture a\\t图.png is not shown to you: pictures cannot be read "
			    "here. Do not guess what it shows; unless you see it some other "
			    "way, tell the user that you have not, and why.]\n",
		str_cstr(&told));
	str_reset(&told);
	pictures_tell(p, "the model is blind", &told);
	assert_non_null(strstr(str_cstr(&told), "the model is blind."));
	pictures_free(&p);
	str_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_found),
		cmocka_unit_test(a_path_that_is_too_long_is_left_out),
		cmocka_unit_test(many_marks_that_lead_nowhere_take_no_time),
		cmocka_unit_test(files_and_references_are_taken_once),
		cmocka_unit_test(a_message_without_any_has_none),
		cmocka_unit_test(what_cannot_be_shown_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
