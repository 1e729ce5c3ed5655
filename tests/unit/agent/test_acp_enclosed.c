/* What came with a message, as blocks of an agent's prompt. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "acp_rig.h"
#include "base/file.h"
#include "dot.h"

#define BLIND "\"initialize\":[{\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}]"
#define IMAGE \
	"{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" DOT "\",\"uri\":\"file://"

static void make(struct fix *f, const char *name)
{
	char path[PATH_SIZE];

	assert_int_equal(0, path_join(path, f->dir.dir, name, NULL));
	put_dot(path);
}

static void with_tools(struct fix *f)
{
	const struct policy_rules rules = POLICY_RULES_DEFAULT;

	with_policy(f, &rules);
}

static void begin_with(struct fix *f, const char *text, const char *media,
	const struct turn_file *files, size_t n)
{
	const struct turn_input in = {
		.turn = ++f->turn,
		.conversation = f->user,
		.origin = ORIGIN_PHONE,
		.owner = true,
		.text = view_of(text),
		.language = f->language,
		.media = media,
		.files = files,
		.nfiles = n,
	};

	f->done = false;
	str_reset(&f->text);
	assert_int_equal(0, f->engine->ops->start(f->engine, &in, NULL));
}

/* ~ in it: the workspace. */
static void expect_count(struct fix *f, int n, const char *format)
{
	struct str what = STR_INIT(16384);
	const char *at = strchr(format, '~');

	assert_int_equal(0,
		str_add(&what, view_cut(view_of(format), view_find(view_of(format), '~'))));
	if (at)
		assert_int_equal(0, str_addf(&what, "%s%s", f->dir.dir, at + 1));
	if (count(f, str_cstr(&what)) != n)
		fail_msg("not %d times: %s\nin: %s", n, str_cstr(&what), recorded(f));
	str_release(&what);
}

static void pictures_come_as_blocks(void **state)
{
	struct fix *f = *state;

	make(f, "a b.png");
	with_tools(f);
	write_script(f, "{" SAYS("red") "}");
	ask(f, "see @image:<a b.png>, please");
	assert_int_equal(ENGINE_OK, f->fail);
	expect_count(f, 1, "{\"type\":\"text\",\"text\":\"see @image");
	expect_count(f, 1, "[Picture 1, shown with this message only: a b.png]");
	expect_count(f, 1, IMAGE "~/a%20b.png\"}");
}

static void what_an_agent_does_not_take_is_linked(void **state)
{
	struct fix *f = *state;

	make(f, "a.png");
	with_tools(f);
	write_script(f, "{" BLIND "," SAYS("fine") "}");
	ask(f, "see @image:a.png");
	assert_int_equal(ENGINE_OK, f->fail);
	expect_count(f, 0, "\"type\":\"image\"");
	expect_count(f, 1,
		"{\"type\":\"resource_link\",\"uri\":\"file://~/a.png\",\"name\":\"a.png\"}");
}

static void other_files_are_linked(void **state)
{
	struct fix *f = *state;
	char media[PATH_SIZE], pdf[PATH_SIZE], dot[PATH_SIZE];
	const struct turn_file files[] = {
		{ TURN_DOCUMENT, pdf, "\xe5\x9b\xbe 1.pdf", "application/pdf", 1234, false },
		{ TURN_PICTURE, dot, "dot.png", "image/png", 70, true },
	};

	assert_int_equal(0, path_join(media, f->dir.dir, "media", NULL));
	assert_int_equal(0, mkdir(media, 0700));
	assert_int_equal(0, path_join(pdf, media, "\xe5\x9b\xbe 1.pdf", NULL));
	assert_int_equal(0, path_join(dot, media, "dot.png", NULL));
	put_dot(dot);
	with_tools(f);
	write_script(f, "{" SAYS("read") "}");
	begin_with(f, "what are these?", media, files, 2);
	finish(f);
	assert_int_equal(ENGINE_OK, f->fail);
	expect_count(f, 1,
		"{\"type\":\"resource_link\",\"uri\":\"file://~/media/%E5%9B%BE%201.pdf\",\"name\":"
		"\"\xe5\x9b\xbe 1.pdf\",\"mimeType\":\"application/pdf\",\"size\":1234}");
	expect_count(f, 1, IMAGE "~/media/dot.png\"}");
}

static void a_picture_that_cannot_be_shown_is_told_and_linked(void **state)
{
	struct fix *f = *state;

	with_tools(f);
	write_script(f, "{" SAYS("fine") "}");
	ask(f, "see @image:none.png");
	assert_int_equal(ENGINE_OK, f->fail);
	expect_count(f, 1, "[The picture none.png is not shown to you: there is no none.png.");
	expect_count(f, 1, "\"uri\":\"file://~/none.png\"");
}

static void a_slash_command_stands_alone(void **state)
{
	struct fix *f = *state;
	const struct turn_file file = { TURN_DOCUMENT, "/m/b.pdf", "b.pdf", "application/pdf", 1,
		false };

	make(f, "a.png");
	with_tools(f);
	write_script(f, "{" SAYS("done") "}");
	begin_with(f, "/review @image:a.png", NULL, &file, 1);
	finish(f);
	assert_int_equal(ENGINE_OK, f->fail);
	expect_count(f, 1, "\"prompt\":[{\"type\":\"text\",\"text\":\"/review @image:a.png\"}]");
}

/* Which lies outside of its workspace. */
static void the_agent_reads_through_us_what_was_received(void **state)
{
	struct fix *f = *state;
	struct str script = STR_INIT(4096);
	struct scratch other;
	char path[PATH_SIZE];

	scratch_make(&other);
	assert_int_equal(0, path_join(path, other.dir, "note.txt", NULL));
	assert_int_equal(0, file_replace(path, 0600, VIEW("kept for you"), NULL));
	f->offer = (struct acp_offer){ .fs = true };
	with_tools(f);
	assert_int_equal(0,
		str_addf(&script,
			"{\"session/prompt\":[{\"ask\":{\"method\":\"fs/read_text_file\",\"params\":{"
			"\"sessionId\":\"$session\",\"path\":\"%s\"}}}," TEXT("done") "," END "]}",
			path));
	write_script(f, str_cstr(&script));
	begin_with(f, "read it", other.dir, NULL, 0);
	finish(f);
	expect_count(f, 1, "{\"content\":\"kept for you\"}");
	/* In another turn it is not there to be read. */
	begin_with(f, "again", NULL, NULL, 0);
	finish(f);
	expect_count(f, 1, "{\"content\":\"kept for you\"}");
	expect_count(f, 1, "\"error\":{\"code\":-32602");
	scratch_remove(&other);
	str_release(&script);
}

static void a_cancel_while_pictures_are_loaded_ends_the_turn(void **state)
{
	struct fix *f = *state;

	make(f, "a.png");
	with_tools(f);
	ask(f, "hello"); /* the agent is up, its session open */
	begin(f, "see @image:a.png");
	for (int i = 0; i < 3; i++)
		step(f);
	f->engine->ops->cancel(f->engine, f->turn);
	finish(f);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	ask(f, "hello");
	assert_int_equal(0, count(f, DOT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(pictures_come_as_blocks),
		T(what_an_agent_does_not_take_is_linked),
		T(other_files_are_linked),
		T(a_picture_that_cannot_be_shown_is_told_and_linked),
		T(a_slash_command_stands_alone),
		T(the_agent_reads_through_us_what_was_received),
		T(a_cancel_while_pictures_are_loaded_ends_the_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
