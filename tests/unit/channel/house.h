/* The whole room over its stand-ins: a fake channel below, a fake engine beside it. */
#ifndef TESTS_CHANNEL_HOUSE_H
#define TESTS_CHANNEL_HOUSE_H

#include "channel/control.h"

#include "world.h"

#define GUEST    "guest@im.wechat"
#define STRANGER "stranger@im.wechat"

struct house {
	struct world w;
	struct fake_engine engine;
	struct control *control;
	struct chan_events events;
	struct control_settings settings;
	const struct chan_ears *ears; /* from the next start on */
	int next_id;
	char workspace[128], outgoing[128]; /* "": no file can be sent */
};

/* In English, owner and one guest served, queue limit 20; running. */
void house_open(struct house *h);
void house_open_with_files(struct house *h); /* and with a workspace to send them from */
void house_close(struct house *h);
/* Fixtures of cmocka: one that is opened and closed, as the test's state. */
int house_setup(void **state);
int house_teardown(void **state);
/* As after a kill and a new start. */
void house_crash(struct house *h);
void house_start(struct house *h);
void house_begin(struct house *h); /* as house_start, but the loop does not run */

/* One typed message with a new id; the loop has settled when it returns. 0 or -1 as the batch. */
int house_hear(struct house *h, const char *user, const char *text);
int house_hear_msg(struct house *h, const struct chan_msg *m);
/* One attachment, served by the fake channel under param, with a new id; text may be "". */
int house_hear_item(struct house *h, const char *user, const struct chan_item *it,
	const char *text);
/* The same of a kind, a name and a param alone. */
int house_hear_file(struct house *h, enum chan_item_kind kind, const char *name, const char *param);
/* The answer of the running turn, sent. */
void house_answer(struct house *h, const char *text);
/* Lets a minute pass in steps, so that what waits for its second is sent. */
void house_wait(struct house *h, int64_t ms);
int house_rows(struct house *h, int state); /* of the inbox */

#endif
