#include "world.h"

#include <sys/syscall.h>
#include <unistd.h>

static int waits;

/* The database's own calls end here as well. */
int fdatasync(int fd)
{
	waits++;
	return (int)syscall(SYS_fdatasync, fd);
}

int world_disk_waits(void)
{
	return waits;
}

/* A kill is played in this process: what SQLite has written is there afterwards, synced or not. */
static void open_db(struct world *w)
{
	struct err e = ERR_INIT;

	must(db_open(&w->db, scratch_path(&w->scratch, "state.db"), &e) == 0);
	must(db_exec(w->db, "PRAGMA synchronous = OFF", &e) == 0);
	must(sql_migrate(w->db, &e) == 0);
}

void world_open(struct world *w)
{
	struct err e = ERR_INIT;

	memset(w, 0, sizeof(*w));
	scratch_make(&w->scratch);
	fake_clock_init(&w->clock);
	must(loop_open(&w->loop, &w->clock.clock, &e) == 0);
	if (getenv("KAIRO_TEST_LOG"))
		must(log_open_fd(&w->log, 2, LOG_DEBUG, &e) == 0);
	open_db(w);
	fake_channel_open(&w->wire, w->loop);
	(void)snprintf(w->media, sizeof(w->media), "%s", scratch_path(&w->scratch, "media"));
	must(mkdir(w->media, 0700) == 0);
	w->room = (struct room){ .loop = w->loop,
		.log = w->log,
		.db = w->db,
		.channel = &w->wire.channel,
		.bot = BOT,
		.owner = OWNER,
		.language = LANG_AUTO,
		.text_limit = CHUNK_LIMIT_DEFAULT,
		.mode = FORMAT_NATIVE,
		.queue_limit = 20,
		.media = w->media,
		.media_max = 1 << 20,
		.media_days = 7,
		.media_keep = 10 << 20,
		.merge_ms = 1500 };
}

void world_close(struct world *w)
{
	fake_channel_close(&w->wire);
	db_close(&w->db);
	log_close(&w->log);
	loop_close(&w->loop);
	scratch_remove(&w->scratch);
}

void world_reopen_db(struct world *w)
{
	db_close(&w->db);
	open_db(w);
	w->room.db = w->db;
	w->wire.flying = false;
	timer_disarm(w->wire.timer);
}

int64_t world_int(struct world *w, const char *sql)
{
	int64_t v;

	return sql_int(w->db, NULL, &v, sql, NULL) == 1 ? v : -1;
}

void world_sql(struct world *w, const char *sql)
{
	struct err e = ERR_INIT;

	if (db_exec(w->db, sql, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		abort();
	}
}

void world_pass(struct world *w, int64_t ms)
{
	w->clock.wall += ms;
	w->room.server_ms = w->clock.wall;
}

void world_full(struct world *w, bool on)
{
	world_sql(w, on ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF");
}

int world_setup(void **state)
{
	static struct world w;

	world_open(&w);
	*state = &w;
	return 0;
}

int world_teardown(void **state)
{
	world_close(*state);
	return 0;
}
