/* The built-in engine with the real tools, a database and a scripted model server, on one loop. */
#ifndef TESTS_UNIT_AGENT_RIG_H
#define TESTS_UNIT_AGENT_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/react/react.h"
#include "lm.h"

#define KEY "key-for-tests-0123456789"

struct fix {
	char dir[64], ws[96], db_path[96], url[64];
	struct loop *loop;
	struct log *log;
	int log_fd;
	off_t log_mark;
	struct db *db;
	struct http *http;
	struct tools *tools;
	struct lm *lm;
	struct react_env env;
	struct engine *engine;
	uint64_t turn;

	/* what came */
	struct str text, thought, tools_seen, answer, detail;
	int done;
	enum engine_fail fail;
	bool acted, saves;
	uint64_t in, out;
	int cancel_after_text; /* cancel from inside this many text events; 0: never */
};

extern struct fix fix;

int setup(void **state);
int teardown(void **state);
void open_engine(void); /* anew, as fix.env says */

/* A turn with what has been filled in of it; by default of conversation "me". */
void begin_input(struct turn_input in);
/* The same of a text, of conversation "me" or of another one. */
void begin_as(const char *conversation, struct view text);
void begin(const char *text);
void step(void);
void wait_done(void);
void run(const char *text);
void ends(enum engine_fail fail, const char *answer);
bool detail_has(const char *word);

void wait_log(const char *word); /* until the log says this (again) */
/* The wait of a retry passes: not a millisecond less. */
void pass_retry(int64_t ms);

bool asked(int i, const char *word); /* does request i hold this? */
void raw(struct view body, size_t piece, enum lm_end end);
void make(const char *name, struct view content); /* a file in the workspace */
/* Every message of request i keeps the protocol: pairs of calls and results, an end before a new
 * user message, no id twice, nothing blank. */
void protocol_is_kept(int i);

#define DELTA(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define STOP        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE        "data: [DONE]\n\n"

#endif
