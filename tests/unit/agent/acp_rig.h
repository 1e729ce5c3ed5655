/* The engine that drives agents, with a scripted one as a real process (tests/agent). */
#ifndef TESTS_UNIT_AGENT_ACP_RIG_H
#define TESTS_UNIT_AGENT_ACP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/acp/acp.h"
#include "tools/host/audit.h"
#include "tools/host/policy.h"
#include "scratch.h"

#define PATIENCE   20000 /* passes of the loop of at most 50 ms */
#define LEAVE_OPEN (-9)  /* in place of a choice: the turn is cancelled */
#define NO_ANSWER  (-8)  /* in place of a choice: none comes */

struct fix {
	struct scratch dir;
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct engine *engine;
	struct policy *policy;
	struct audit *audit; /* with_policy: in "audit" */
	struct tools *tools;
	char script[512], record[512];
	uint64_t turn;
	/* of the newest turn */
	bool done;
	enum engine_fail fail;
	char detail[400];
	struct str text, seen;
	bool cancel_on_text;
	int choice;         /* the answer to whatever is asked, once these have been given: */
	const int *choices; /* as many as nchoices */
	size_t nchoices;
	char asked[128]; /* the id of what was asked last */
	struct str
		notices; /* "{user: text}" of what came outside of any turn, "<busy>", "</busy>" */
	/* for the next open_engine */
	struct acp_settings settings;
	struct acp_offer offer;
	bool strict;
	const char *hooks_home; /* as of acp_env */
	const char *instructions, *mcp;
	const char *language; /* "en" */
	const char *user;
	bool guest; /* what is asked is not the owner's */
};

int setup(void **state);
int teardown(void **state);

void write_script(struct fix *f, const char *script);
void open_engine(struct fix *f);
void on_event(void *arg, const struct engine_event *ev);           /* what open_engine sets */
void with_policy(struct fix *f, const struct policy_rules *rules); /* anew, with tools */

void begin(struct fix *f, const char *text);
void step(struct fix *f);
void finish(struct fix *f);
void ask(struct fix *f, const char *text);        /* begin and finish */
char *recorded(const struct fix *f);              /* the lines that the agent has had; free() */
int count(const struct fix *f, const char *what); /* in them */
void await(struct fix *f, const char *what);      /* until the agent has read that */

#define TEXT(t) \
	"{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\"," \
	"\"text\":\"" t "\"}}}"
#define END     "{\"result\":{\"stopReason\":\"end_turn\"}}"
#define SAYS(t) "\"session/prompt\":[" TEXT(t) "," END "]"
#define NO_RESUME \
	"\"initialize\":[{\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":" \
	"true}}}]"

#define ASK(call) \
	"{\"ask\":{\"method\":\"session/request_permission\",\"params\":{\"sessionId\":" \
	"\"$session\",\"toolCall\":{\"toolCallId\":\"t\"," call "},\"options\":[{\"optionId\":" \
	"\"always\",\"name\":\"Always\",\"kind\":\"allow_always\"},{\"optionId\":\"once\"," \
	"\"name\":\"Once\",\"kind\":\"allow_once\"},{\"optionId\":\"no\",\"name\":\"No\"," \
	"\"kind\":\"reject_once\"}]}}}"
#define COMMAND(c) "\"kind\":\"execute\",\"title\":\"Bash\",\"rawInput\":{\"command\":\"" c "\"}"

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
