/* Stand-ins for the rooms around the channel's: a clock that only a test moves, a channel whose
 * outcomes are scripted, an engine that does what the test tells it to. */
#ifndef TESTS_CHANNEL_FAKES_H
#define TESTS_CHANNEL_FAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/engine.h"
#include "base/clock.h"
#include "base/db/db.h"
#include "base/loop.h"
#include "channel/channel.h"

/* As assert(), in every build. */
#define must(what) ((what) ? (void)0 : abort())

/* --- Time ------------------------------------------------------------------------------------- */
struct fake_clock {
	struct clock clock;
	int64_t mono, wall;
};
void fake_clock_init(struct fake_clock *c);
/* Runs the loop until nothing is due any more. */
void settle(struct loop *l);
/* Moves both clocks on, stopping at nothing, then settles. */
void pass(struct fake_clock *c, struct loop *l, int64_t ms);

/* --- Channel ---------------------------------------------------------------------------------- */
#define FAKE_SENT_MAX 4096

#define FAKE_BLOBS_MAX   64
#define FAKE_FETCHES_MAX 256

/* What a param leads to. */
struct fake_blob {
	char param[64];
	const char *bytes;
	size_t n;
	enum chan_fetch_end end; /* CHAN_FETCHED: bytes */
	int fails;               /* first so many times CHAN_FETCH_UNREACHABLE */
};

struct fake_sent {
	char to[64], token[64], client_id[64];
	char *text;              /* of a file: what it holds, the beginning of it */
	char file[256], md5[33]; /* "": a text */
	enum chan_item_kind kind;
	int64_t size;
	int64_t at;
	enum chan_outcome outcome;
};

struct fake_channel {
	struct channel channel; /* first */
	struct loop *loop;
	struct timer *timer;
	struct fake_sent sent[FAKE_SENT_MAX];
	int nsent;
	enum chan_outcome script[64]; /* of the next sends; then accepted */
	const char *why;
	int nscript, at_script;
	bool hold;   /* no outcome until fake_land() */
	bool refuse; /* send() returns -1 */
	bool flying;
	chan_sent_cb *cb;
	void *cb_arg;
	int aborts;
	char typing[64]; /* user it is shown to; "" none */
	int typing_on, typing_off;
	bool hurried;
	struct chan_events events;
	enum chan_link link;
	/* Fetches: what the server has, by param; asked for once each unless held. */
	struct fake_blob blobs[FAKE_BLOBS_MAX];
	int nblobs;
	bool hold_fetch; /* no end until fake_fetched() */
	struct chan_fetch *fetching[FAKE_BLOBS_MAX];
	int fetches, fetch_aborts;          /* begun; aborted */
	int fetching_max;                   /* most that were under way at a time */
	char fetched[FAKE_FETCHES_MAX][64]; /* params in the order they were asked for */
};
void fake_channel_open(struct fake_channel *f, struct loop *l);
void fake_channel_close(struct fake_channel *f);
void fake_script(struct fake_channel *f, const enum chan_outcome *list, int n);
/* The held send's outcome arrives. */
void fake_land(struct fake_channel *f, enum chan_outcome what);
/* The server has these bytes under param. */
struct fake_blob *fake_serve(struct fake_channel *f, const char *param, const void *bytes,
	size_t n);
/* All fetches that are held end. */
void fake_fetched(struct fake_channel *f);
int fake_fetching(const struct fake_channel *f);     /* under way now */
const char *fake_last(const struct fake_channel *f); /* text of the newest send, or "" */
int fake_count(const struct fake_channel *f, const char *needle); /* sends that hold it */
void fake_forget(struct fake_channel *f);                         /* nsent = 0 */

/* --- Engine ----------------------------------------------------------------------------------- */
struct fake_engine {
	struct engine engine; /* first */
	struct loop *loop;
	struct timer *timer;
	int starts, cancels, answers, saves;
	uint64_t turn;
	bool running;
	bool refuse; /* start() returns -1 */
	bool deaf;   /* a cancel does not end the turn at once */
	bool save_fails;
	bool own_accord; /* answers by itself: "answer to <text>" */
	char text[4096], conversation[64], language[8];
	size_t quoted, added;
	struct turn_file files[TURN_FILES_MAX]; /* strings of which were good at the start */
	size_t nfiles;
	char file_path[512]; /* of the first */
	char media[512];     /* "": NULL */
	enum origin origin;
	char answered_id[64];
	int choice;
	enum engine_command command;
	int commands;
	char command_arg[64], command_conversation[64];
	enum err_code command_fails; /* E_OK: it works */
	const char *const *slash;
	struct db *db; /* save() writes fake_history here */
};
void fake_engine_open(struct fake_engine *g, struct loop *l, struct db *db);
void fake_engine_close(struct fake_engine *g);
/* Ends the running turn. */
void fake_done(struct fake_engine *g, enum engine_fail fail, const char *text, const char *detail);
void fake_event(struct fake_engine *g, enum engine_event_type type, const char *text);
void fake_ask(struct fake_engine *g, enum engine_event_type type, const char *id, const char *text,
	const char *const *choices);
void fake_approval(struct fake_engine *g, const char *id, const char *text); /* standard choices */
int fake_history(struct db *db); /* rows that save() has left */

#endif
