#include "house.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void house_begin(struct house *h)
{
	struct control_env env = { .loop = h->w.loop,
		.log = h->w.log,
		.db = h->w.db,
		.channel = &h->w.wire.channel,
		.engine = &h->engine.engine,
		.bot_id = BOT,
		.owner = OWNER,
		.media = h->w.room.media,
		.ears = h->ears,
		.workspace = *h->workspace ? h->workspace : NULL,
		.outgoing = *h->outgoing ? h->outgoing : NULL };
	struct err e = ERR_INIT;

	fake_engine_open(&h->engine, h->w.loop, h->w.db);
	if (control_open(&h->control, &env, &h->settings, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		abort();
	}
	control_events(h->control, &h->events);
	control_run(h->control);
}

void house_start(struct house *h)
{
	house_begin(h);
	settle(h->w.loop);
}

static void open_house(struct house *h, bool files)
{
	static const char *const allowed[] = { GUEST, NULL };

	memset(h, 0, sizeof(*h));
	world_open(&h->w);
	if (files) {
		snprintf(h->workspace, sizeof(h->workspace), "%s/ws", h->w.scratch.dir);
		snprintf(h->outgoing, sizeof(h->outgoing), "%s/outgoing", h->w.scratch.dir);
		must(mkdir(h->workspace, 0755) == 0);
	}
	h->settings = (struct control_settings){ .language = LANG_EN,
		.text_limit = CHUNK_LIMIT_DEFAULT,
		.mode = FORMAT_NATIVE,
		.queue_limit = 20,
		.media_max = h->w.room.media_max,
		.media_days = h->w.room.media_days,
		.media_keep = h->w.room.media_keep,
		.merge_ms = h->w.room.merge_ms,
		.allowed_users = allowed,
		.file_max = 1 << 20 };
	h->next_id = 100;
	house_start(h);
}

void house_open(struct house *h)
{
	open_house(h, false);
}

void house_open_with_files(struct house *h)
{
	open_house(h, true);
}

void house_close(struct house *h)
{
	control_close(&h->control);
	fake_engine_close(&h->engine);
	world_close(&h->w);
}

void house_crash(struct house *h)
{
	/* Nothing of a closing control may reach the disk. */
	world_full(&h->w, true);
	control_close(&h->control);
	fake_engine_close(&h->engine);
	world_reopen_db(&h->w);
	house_start(h);
}

int house_hear_msg(struct house *h, const struct chan_msg *m)
{
	struct err e = ERR_INIT;
	int rc = h->events.batch(h->events.arg, m, 1, &e);

	settle(h->w.loop);
	return rc;
}

int house_hear(struct house *h, const char *user, const char *text)
{
	return house_hear_item(h, user, NULL, text);
}

int house_hear_file(struct house *h, enum chan_item_kind kind, const char *name, const char *param)
{
	struct chan_item it = { .kind = kind,
		.name = name,
		.full_url = "https://cdn.example/secret-url",
		.param = param,
		.key = "secret-key",
		.size = -1,
		.play_ms = -1 };

	return house_hear_item(h, OWNER, &it, "");
}

int house_hear_item(struct house *h, const char *user, const struct chan_item *it, const char *text)
{
	char id[24], token[32];
	struct chan_msg m = { .id = id,
		.from = user,
		.token = token,
		.text = view_of(text),
		.typed = true,
		.quote_id = "",
		.items = it,
		.nitems = it ? 1 : 0 };

	snprintf(id, sizeof(id), "%d", ++h->next_id);
	snprintf(token, sizeof(token), "token-%d", h->next_id);
	return house_hear_msg(h, &m);
}

void house_answer(struct house *h, const char *text)
{
	fake_done(&h->engine, ENGINE_OK, text, "");
	settle(h->w.loop);
}

void house_wait(struct house *h, int64_t ms)
{
	settle(h->w.loop);
	for (int64_t t = 0; t < ms; t += 1000)
		pass(&h->w.clock, h->w.loop, 1000);
}

int house_rows(struct house *h, int state)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM channel_inbox WHERE state = %d", state);
	return (int)world_int(&h->w, sql);
}

int house_setup(void **state)
{
	static struct house h;

	house_open(&h);
	*state = &h;
	return 0;
}

int house_teardown(void **state)
{
	house_close(*state);
	return 0;
}
