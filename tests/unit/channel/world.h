/* A room with a database of its own in a private folder, for tests of one part of it. */
#ifndef TESTS_CHANNEL_WORLD_H
#define TESTS_CHANNEL_WORLD_H

#include "channel/room.h"
#include "channel/sql.h"

#include "../base/scratch.h"
#include "fakes.h"

#define OWNER "owner@im.wechat"
#define BOT   "bot@im.bot"

struct world {
	struct scratch scratch;
	struct fake_clock clock;
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct fake_channel wire;
	char media[80]; /* folder of received files */
	struct room room;
};

/* log to stderr when KAIRO_TEST_LOG is set. */
void world_open(struct world *w);
void world_close(struct world *w);
/* Fixtures of cmocka: one that is opened and closed, as the test's state. */
int world_setup(void **state);
int world_teardown(void **state);
/* As after a kill: the database is opened anew, memory is lost. */
void world_reopen_db(struct world *w);
/* One integer out of the database; -1 when there is none. */
int64_t world_int(struct world *w, const char *sql);
void world_sql(struct world *w, const char *sql);
/* Time goes by, here and on the server. */
void world_pass(struct world *w, int64_t ms);
/* From now on every write fails, or works again. */
void world_full(struct world *w, bool on);
int world_disk_waits(void); /* of the databases of this program, so far */

#endif
