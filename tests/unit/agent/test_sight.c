/* The pictures of a message, as the built-in engine shows them to its model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "dot.h"
#include "rig.h"

#define SHOWN "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64," DOT "\"}}"

static int setup_seeing(void **state)
{
	if (setup(state) < 0)
		return -1;
	fix.env.model.vision = VISION_ON;
	open_engine();
	return 0;
}

static const char *in_workspace(const char *name)
{
	static char path[2][128];
	static int next;

	next = !next;
	(void)snprintf(path[next], sizeof(path[next]), "%s/%s", fix.ws, name);
	return path[next];
}

static void begin_with(const char *text, const char *media, const struct turn_file *files, size_t n)
{
	begin_input((struct turn_input){ .text = view_of(text),
		.media = media,
		.files = files,
		.nfiles = n });
}

static int count(int request, const char *word)
{
	int n = 0;

	for (const char *at = lm_body(fix.lm, request); (at = strstr(at, word)); at++)
		n++;
	return n;
}

static void a_picture_is_shown_with_its_message_only(void **state)
{
	(void)state;
	put_dot(in_workspace("dot.png"));
	lm_text(fix.lm, "It is red.");
	run("what is @image:dot.png?");
	ends(ENGINE_OK, "It is red.");
	assert_true(asked(0, "\"content\":[{\"type\":\"text\",\"text\":\"what is @image:dot.png?"));
	assert_true(asked(0, "[Picture 1, shown with this message only: dot.png]"));
	assert_true(asked(0, SHOWN));
	/* Of an earlier message the words stay. */
	lm_text(fix.lm, "Yes.");
	run("really?");
	assert_true(asked(1, "[Picture 1, shown with this message only: dot.png]"));
	assert_false(asked(1, "image_url"));
	assert_false(asked(1, DOT));
	/* Nor is it kept on disk. */
	open_engine();
	lm_text(fix.lm, "Yes.");
	run("and now?");
	assert_false(asked(2, DOT));
	protocol_is_kept(2);
}

static void a_picture_is_shown_with_every_request_of_its_turn(void **state)
{
	(void)state;
	put_dot(in_workspace("dot.png"));
	make("note.txt", VIEW("hello\n"));
	lm_call(fix.lm, "c1", "read_file", "{\"path\":\"note.txt\"}");
	lm_text(fix.lm, "done");
	run("@image:dot.png and the note");
	ends(ENGINE_OK, "done");
	assert_int_equal(1, count(0, SHOWN));
	assert_int_equal(1, count(1, SHOWN));
}

static void what_was_received_is_shown(void **state)
{
	char media[128], path[160], voice[160];
	const struct turn_file files[] = {
		{ TURN_PICTURE, path, "dot.png", "image/png", 70, false },
		{ TURN_VOICE, voice, "v.silk", "audio/silk", 5, false },
	};

	(void)state;
	(void)snprintf(media, sizeof(media), "%s/media", fix.dir);
	assert_int_equal(0, mkdir(media, 0700));
	(void)snprintf(path, sizeof(path), "%s/dot.png", media);
	(void)snprintf(voice, sizeof(voice), "%s/v.silk", media);
	put_dot(path);
	lm_text(fix.lm, "red");
	begin_with("what is that?", media, files, 2);
	wait_done();
	ends(ENGINE_OK, "red");
	assert_int_equal(1, count(0, SHOWN));
	assert_true(asked(0, "lies in another folder, which tools may read: "));
	/* Without the folder it is not the turn's to read. */
	lm_text(fix.lm, "no");
	begin_with("and now?", NULL, files, 1);
	wait_done();
	assert_int_equal(0, count(1, SHOWN));
	assert_true(asked(1, "is not shown to you: "));
}

static void what_cannot_be_shown_is_told_and_the_turn_goes_on(void **state)
{
	(void)state;
	make("photo.heic", (struct view){ "\0\0\0\x18"
					  "ftypheic\0\0\0\0mif1heic",
				   24 });
	put_dot(in_workspace("dot.png"));
	lm_text(fix.lm, "one of them");
	run("@image:photo.heic @image:none.png @image:/etc/passwd @image:dot.png");
	ends(ENGINE_OK, "one of them");
	assert_true(
		asked(0, "[The picture photo.heic is not shown to you: it is a HEIC picture; "));
	assert_true(asked(0, "[The picture none.png is not shown to you: there is no none.png. "));
	assert_true(
		asked(0, "[The picture /etc/passwd is not shown to you: /etc/passwd lies outside"));
	assert_true(asked(0, "[Picture 1, shown with this message only: dot.png]"));
	assert_int_equal(1, count(0, SHOWN));
}

static void eight_are_shown_and_the_ninth_is_named(void **state)
{
	struct str text = STR_INIT(1000);

	(void)state;
	for (int i = 1; i <= 9; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%d.png", i);
		put_dot(in_workspace(name));
		assert_int_equal(0, str_addf(&text, "@image:%s ", name));
	}
	lm_text(fix.lm, "nine");
	run(str_cstr(&text));
	assert_int_equal(8, count(0, SHOWN));
	assert_true(asked(0, "[Picture 8, shown with this message only: 8.png]"));
	assert_true(asked(0, "[The picture 9.png is not shown to you: there are too many at once"));
	str_release(&text);
}

static void a_model_that_takes_none_is_told_so(void **state)
{
	static const struct {
		const char *name;
		enum react_vision vision;
		bool shown;
	} rows[] = {
		{ "test-model", VISION_AUTO, false },
		{ "gpt-4o", VISION_AUTO, true },
		{ "gpt-4o", VISION_OFF, false },
		{ "test-model", VISION_ON, true },
	};

	(void)state;
	put_dot(in_workspace("dot.png"));
	for (int i = 0; i < 4; i++) {
		fix.env.model.name = rows[i].name;
		fix.env.model.vision = rows[i].vision;
		open_engine();
		lm_text(fix.lm, "ok");
		begin_as((const char[]){ (char)('a' + i), '\0' }, VIEW("@image:dot.png"));
		wait_done();
		assert_int_equal(rows[i].shown, count(i, SHOWN) == 1);
		/* A text alone is sent as such. */
		assert_int_equal(rows[i].shown, count(i, "\"content\":[") == 1);
		assert_int_equal(!rows[i].shown,
			asked(i,
				"dot.png is not shown to you: the model in use takes no pictures."));
	}
}

static void bare_base64_goes_to_those_who_want_it(void **state)
{
	(void)state;
	put_dot(in_workspace("dot.png"));
	fix.env.model.provider = "zhipu";
	fix.env.model.name = "glm-5v";
	fix.env.model.vision = VISION_AUTO;
	open_engine();
	lm_text(fix.lm, "ok");
	run("@image:dot.png");
	assert_int_equal(1, count(0, "\"image_url\":{\"url\":\"" DOT "\"}"));
}

static void a_provider_that_refuses_pictures_is_asked_once_more_without(void **state)
{
	static const struct {
		int status;
		const char *body;
	} rows[] = {
		{ 400, "{\"error\":{\"message\":\"This model does not support image input\"}}" },
		{ 404, "{\"error\":{\"message\":\"No endpoints found that support image input\"}}" },
	};

	(void)state;
	put_dot(in_workspace("dot.png"));
	for (int i = 0; i < 2; i++) {
		lm_reply(fix.lm, rows[i].status, NULL, view_of(rows[i].body), 0, LM_END);
		lm_text(fix.lm, "blind");
		run("@image:dot.png");
		ends(ENGINE_OK, "blind");
		assert_int_equal(1, count(2 * i, SHOWN));
		assert_int_equal(0, count(2 * i + 1, SHOWN));
		assert_true(asked(2 * i + 1,
			"dot.png is not shown to you: whoever serves the model has refused it."));
		assert_int_equal(2 * i + 2, lm_requests(fix.lm));
	}
}

static void another_refusal_is_none_of_the_pictures(void **state)
{
	(void)state;
	put_dot(in_workspace("dot.png"));
	lm_reply(fix.lm, 400, NULL, VIEW("{\"error\":{\"message\":\"max_tokens is wrong\"}}"), 0,
		LM_END);
	run("@image:dot.png");
	assert_int_equal(ENGINE_FAIL_REFUSED, fix.fail);
	assert_int_equal(1, lm_requests(fix.lm));
	/* Nor is a message without any. */
	lm_reply(fix.lm, 400, NULL, VIEW("{\"error\":{\"message\":\"image is wrong\"}}"), 0,
		LM_END);
	run("hello");
	assert_int_equal(ENGINE_FAIL_REFUSED, fix.fail);
	assert_int_equal(2, lm_requests(fix.lm));
}

static void a_cancel_while_pictures_are_loaded_ends_the_turn(void **state)
{
	(void)state;
	put_dot(in_workspace("dot.png"));
	begin("@image:dot.png");
	fix.engine->ops->cancel(fix.engine, fix.turn);
	wait_done();
	assert_int_equal(ENGINE_FAIL_CANCELLED, fix.fail);
	assert_int_equal(0, lm_requests(fix.lm));
	/* Closing does no harm either. */
	begin("@image:dot.png");
	open_engine();
	lm_text(fix.lm, "hello");
	run("hello");
	ends(ENGINE_OK, "hello");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup_seeing, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_picture_is_shown_with_its_message_only),
		T(a_picture_is_shown_with_every_request_of_its_turn),
		T(what_was_received_is_shown),
		T(what_cannot_be_shown_is_told_and_the_turn_goes_on),
		T(eight_are_shown_and_the_ninth_is_named),
		T(a_model_that_takes_none_is_told_so),
		T(bare_base64_goes_to_those_who_want_it),
		T(a_provider_that_refuses_pictures_is_asked_once_more_without),
		T(another_refusal_is_none_of_the_pictures),
		T(a_cancel_while_pictures_are_loaded_ends_the_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
