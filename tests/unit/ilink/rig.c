#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/file.h"

static int rig_on_batch(void *arg, const struct chan_msg *msgs, size_t n, struct err *e)
{
	struct rig *r = arg;

	r->batches++;
	if (r->in_batch)
		r->in_batch(r);
	if (r->refuse)
		return err_set(e, E_FULL, "no space left on the disk");
	for (size_t i = 0; i < n; i++)
		str_addf(&r->ids, "%s,", msgs[i].id);
	return 0;
}

static int rig_on_settle(void *arg, struct err *e)
{
	struct rig *r = arg;

	r->settles++;
	return r->unsettled ? err_set(e, E_FULL, "the disk did not take it") : 0;
}

static void rig_on_link(void *arg, const struct chan_status *s)
{
	struct rig *r = arg;

	assert_true(r->nlinks < 64);
	r->links[r->nlinks++] = s->link;
	if (r->close_on_link)
		r->ch->ops->close(&r->ch);
}

void rig_login(struct rig *r, const char *bot, const char *token)
{
	struct account_login l = { .bot_id = bot,
		.user_id = RIG_USER,
		.token = token,
		.base_url = server_url(r->srv),
		.workspace = r->home };
	struct err e = ERR_INIT;

	if (account_store_login(r->home, &l, loop_clock(r->loop), &e) < 0)
		fail_msg("%s", e.msg);
}

struct rig *rig_open(void)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct http_rules rules = { .reach = HTTP_PUBLIC, .loopback = true };
	struct err e = ERR_INIT;

	assert_non_null(r);
	r->ids = (struct str)STR_INIT(65536);
	snprintf(r->home, sizeof(r->home), "/tmp/ilink-test-XXXXXX");
	assert_non_null(mkdtemp(r->home));
	snprintf(r->logfile, sizeof(r->logfile), "%s/log", r->home);
	assert_int_equal(loop_open(&r->loop, NULL, &e), 0);
	assert_int_equal(log_open_file(&r->log, r->logfile, LOG_DEBUG, 0, &e), 0);
	r->srv = server_open(r->loop);
	assert_int_equal(http_open(&r->poll, r->loop, &rules, r->log, &e), 0);
	assert_int_equal(http_open(&r->api, r->loop, &rules, r->log, &e), 0);
	r->depot = depot_open(r->loop);
	assert_int_equal(http_open(&r->cdn, r->loop, &rules, r->log, &e), 0);
	rig_login(r, RIG_BOT, RIG_TOKEN);
	if (account_load(&r->acc, r->home, &e) < 0)
		fail_msg("%s", e.msg);
	r->env = (struct ilink_env){ .loop = r->loop,
		.log = r->log,
		.poll_http = r->poll,
		.api_http = r->api,
		.cdn_http = r->cdn,
		.cdn_url = depot_url(r->depot),
		.loopback = true,
		.bot_agent = "Example/1.0.0" };
	if (ilink_open(&r->ch, &r->env, r->acc, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

void rig_close(struct rig **rp)
{
	struct rig *r = *rp;
	struct str cmd = STR_INIT(256);
	static const char *const files[] = { "log", "account.json", "account.lock" };

	*rp = NULL;
	if (r->ch)
		r->ch->ops->close(&r->ch);
	account_free(&r->acc);
	http_close(&r->poll);
	http_close(&r->api);
	http_close(&r->cdn);
	depot_close(&r->depot);
	server_close(&r->srv);
	log_close(&r->log);
	loop_close(&r->loop);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		str_reset(&cmd);
		str_addf(&cmd, "%s/%s", r->home, files[i]);
		unlink(str_cstr(&cmd));
	}
	rmdir(r->home);
	str_release(&cmd);
	str_release(&r->ids);
	free(r);
}

void rig_start(struct rig *r)
{
	struct chan_events ev = { .batch = rig_on_batch,
		.settle = rig_on_settle,
		.link = rig_on_link,
		.arg = r };

	assert_int_equal(r->ch->ops->start(r->ch, &ev, NULL), 0);
}

struct chan_status rig_status(const struct rig *r)
{
	struct chan_status s;

	r->ch->ops->status(r->ch, &s);
	return s;
}

static void rig_on_sent(void *arg, enum chan_outcome what, const char *id, const char *why)
{
	struct rig *r = arg;

	r->outcome = what;
	assert_int_equal(copy_z(r->message_id, sizeof(r->message_id), view_of(id)), 0);
	assert_int_equal(copy_z(r->why, sizeof(r->why), view_of(why)), 0);
	r->sent++;
}

void rig_send(struct rig *r, const char *text)
{
	struct chan_send s = { .to = RIG_USER,
		.token = "AARzContextTokenExample",
		.client_id = "kairo:1767225601000-1a2b3c4d",
		.text = view_of(text) };
	struct err e = ERR_INIT;

	if (r->ch->ops->send(r->ch, &s, rig_on_sent, r, &e) < 0)
		fail_msg("%s", e.msg);
}

bool rig_log_has(struct rig *r, const char *text)
{
	struct str s = STR_INIT(4 << 20);
	bool has;

	assert_int_equal(file_read(r->logfile, 4 << 20, &s, NULL), 0);
	has = strstr(str_cstr(&s), text) != NULL;
	str_release(&s);
	return has;
}

void rig_step(struct rig *r)
{
	assert_int_equal(loop_step(r->loop, 5, NULL), 0);
}

/* Both ends are on this loop, so that what is sent can be read in the next pass: a few passes in
 * which nothing comes mean that nothing will. */
void rig_settle(struct rig *r)
{
	size_t seen;

	do {
		seen = server_total(r->srv);
		for (int i = 0; i < 16; i++)
			assert_int_equal(loop_step(r->loop, i % 8 == 7, NULL), 0);
	} while (server_total(r->srv) != seen);
}

void rig_turn(struct rig *r, int64_t ms)
{
	loop_turn_clock(r->loop, ms);
	rig_settle(r);
}
