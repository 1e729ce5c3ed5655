/* Memory that runs out on the way of a file: an error says so, and nothing crashes or leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "../base/nomem.h"
#include "channel/ilink/cdn.h"
#include "channel/ilink/crypt.h"
#include "channel/ilink/fetch.h"
#include "channel/ilink/letter.h"
#include "channel/ilink/wire.h"

static const struct wire_self me = { "2.4.9", "Example/1.0.0" };
static const struct chan_file file = { .kind = CHAN_FILE,
	.fd = 0,
	.name = "a.pdf",
	.size = 11,
	.md5 = "a0e581bef9105ace19c7d2e59e66374d" };
static const struct chan_send message = { .to = "user@im.wechat",
	.token = "token",
	.client_id = "client",
	.file = &file };

static int encrypts(struct scratch *s, struct err *e)
{
	struct media_key key;
	struct crypt *c = NULL;
	struct view v;
	int rc = -1;

	(void)s;
	media_key_random(&key);
	if (crypt_open(&c, &key, true, e) == 0 && crypt_feed(c, VIEW("hello"), &v, e) == 0 &&
		crypt_end(c, &v, e) == 0)
		rc = 0;
	crypt_close(&c);
	return rc;
}

static int copies_a_letter(struct scratch *s, struct err *e)
{
	struct letter l = { .hold = { NULL } };
	int rc = letter_copy(&l, &message, e);

	(void)s;
	if (rc == 0) {
		assert_string_equal(l.send.to, "user@im.wechat");
		assert_string_equal(l.send.file->name, "a.pdf");
	}
	letter_release(&l);
	return rc;
}

static int writes_the_message(struct scratch *s, struct err *e)
{
	const struct wire_media m = { .param = "p", .aes_key = "k", .size = 16 };
	struct str body = STR_INIT(4096);
	int rc = wire_write_file(&body, &me, &message, &m, e);

	(void)s;
	str_release(&body);
	return rc;
}

static int asks_for_an_address(struct scratch *s, struct err *e)
{
	const struct wire_upload u = { .kind = CHAN_FILE,
		.to = "user@im.wechat",
		.token = "token",
		.filekey = "f",
		.aeskey = "a",
		.md5 = file.md5,
		.plain_size = 11,
		.size = 16 };
	struct str body = STR_INIT(4096);
	int rc = wire_write_upload(&body, &me, &u, e);

	(void)s;
	str_release(&body);
	return rc;
}

static int reads_an_address(struct scratch *s, struct err *e)
{
	struct wire_grant g;

	(void)s;
	return wire_read_grant(VIEW("{\"ret\":0,\"upload_param\":\"p\"}"), &g, e);
}

static void on_fetched(void *arg, enum chan_fetch_end what, int64_t size, const char *why)
{
	(void)arg;
	(void)what;
	(void)size;
	(void)why;
	fail_msg("it was given up");
}

/* The loop is the caller's; what is begun is given up at once. */
static int begins_a_download(struct scratch *s, struct err *e)
{
	const struct chan_source src = { .kind = CHAN_FILE,
		.full_url = "https://novac2c.cdn.weixin.qq.com/c2c/download?x",
		.param = "p",
		.key = "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=" };
	struct cdn cdn = { .base = "https://novac2c.cdn.weixin.qq.com/c2c" };
	struct fetcher *fetcher = NULL;
	struct chan_fetch *f = NULL;
	int rc = -1;

	(void)s;
	if (loop_open(&cdn.loop, NULL, e) == 0 && fetcher_new(&fetcher, &cdn, e) == 0)
		rc = fetch_start(&f, fetcher, &src, -1, 100, on_fetched, NULL, e);
	fetch_abort(&f);
	fetcher_free(&fetcher);
	loop_close(&cdn.loop);
	return rc;
}

static void fails_every_allocation_once(void **state)
{
	static nomem_scenario *const scenarios[] = { encrypts, copies_a_letter, writes_the_message,
		asks_for_an_address, reads_an_address, begins_a_download };

	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		nomem_each_once(scenarios[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fails_every_allocation_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
