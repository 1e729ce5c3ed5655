/* Memory that runs out while a file is named, kept, loaded or told: an error says so, and nothing
 * crashes, leaks or is left half. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../base/nomem.h"
#include "channel/media-private.h"
#include "channel/prompt.h"

#include "world.h"

static struct world *w; /* made with memory; a scenario has no argument for it */

static int names_a_file(struct scratch *s, struct err *e)
{
	struct str out = STR_INIT(MEDIA_NAME_MAX);
	int rc = media_name(&out, VIEW("../报告.pdf"), CHAN_FILE, "application/pdf", 2);

	(void)s;
	if (rc == 0)
		assert_string_equal("报告 (2).pdf", str_cstr(&out));
	else
		err_set(e, E_NOMEM, "a name");
	str_release(&out);
	return rc;
}

static int keeps_a_file(struct scratch *s, struct err *e)
{
	struct media_part part;
	struct media_kept kept;

	(void)s;
	if (media_part_open(&part, &w->room, OWNER, e) < 0)
		return -1;
	must(write(part.fd, "%PDF-", 5) == 5);
	if (media_part_keep(&part, VIEW("a"), CHAN_FILE, &kept, e) < 0)
		return -1;
	assert_true(strncmp(kept.name, "a", 1) == 0);
	assert_int_equal(5, kept.size);
	return 0;
}

static int makes_a_prompt(struct scratch *s, struct err *e)
{
	struct prompt *p = __real_malloc(sizeof(*p));
	struct inbox_item it;
	int rc;

	(void)s;
	must(p);
	prompt_init(p);
	inbox_item_init(&it);
	it.seq = 1;
	it.lang = LANG_EN;
	(void)copy_z(it.user, sizeof(it.user), VIEW(OWNER));
	rc = str_adds(&it.text, "see this");
	if (rc < 0)
		err_set(e, E_NOMEM, "the text");
	else
		rc = prompt_of(p, &w->room, &it, e);
	if (rc == 0) {
		assert_int_equal(PROMPT_READY, p->state);
		assert_string_equal("see this\n[voice, transcribed by machine: hello]\n"
				    "[attachment: voice voice, not received: it was kept for its "
				    "time and is no longer here, please send it again]",
			str_cstr(&p->text));
	}
	inbox_item_release(&it);
	prompt_release(p);
	free(p);
	return rc;
}

static void a_name(void **state)
{
	(void)state;
	nomem_each_once(names_a_file, NULL);
}

static void a_file_on_its_way(void **state)
{
	(void)state;
	nomem_each_once(keeps_a_file, NULL);
}

static void a_prompt(void **state)
{
	(void)state;
	world_sql(w,
		"INSERT INTO channel_media (seq, message, at, kind, quoted, transcript, play_ms,"
		" full_url, param, key, state, name, hear, heard) VALUES"
		" (1, '', 0, 1, 0, 0, -1, '', '', '', 2, 'voice', 2, 'hello')");
	nomem_each_once(makes_a_prompt, NULL);
}

static int setup(void **state)
{
	w = calloc(1, sizeof(*w));
	*state = w;
	if (!w)
		return -1;
	world_open(w);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_close(w);
	free(w);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_on_its_way, setup, teardown),
		cmocka_unit_test_setup_teardown(a_prompt, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
