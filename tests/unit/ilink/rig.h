/* A channel with everything around it: loop, scripted server, account on disk, HTTP pools, log. */
#ifndef TESTS_ILINK_RIG_H
#define TESTS_ILINK_RIG_H

#include "channel/ilink/ilink.h"
#include "depot.h"
#include "server.h"

#define RIG_BOT   "0123456789ab@im.bot"
#define RIG_USER  "o9cqExampleUser@im.wechat"
#define RIG_TOKEN "0123456789ab@im.bot:06000000aa11"

struct rig {
	struct loop *loop;
	struct server *srv;
	struct depot *depot;
	struct http *poll, *api, *cdn;
	struct account *acc;
	struct log *log;
	struct channel *ch;
	struct ilink_env env;
	char home[64], logfile[96];
	/* what the channel told */
	struct str ids; /* of all messages, "1,2," */
	int batches;
	bool refuse; /* batches are answered with -1 */
	int settles;
	bool unsettled; /* and these */
	void (*in_batch)(struct rig *);
	enum chan_link links[64];
	size_t nlinks;
	bool close_on_link;
	bool stopped;
	enum chan_outcome outcome;
	char message_id[32], why[256];
	int sent;
};

struct rig *rig_open(void); /* logged in, channel open, not started */
void rig_close(struct rig **r);
void rig_start(struct rig *r);
void rig_login(struct rig *r, const char *bot, const char *token); /* on disk only */
struct chan_status rig_status(const struct rig *r);
void rig_send(struct rig *r, const char *text);
bool rig_log_has(struct rig *r, const char *text);

void rig_step(struct rig *r);
void rig_settle(struct rig *r);           /* until nothing more happens by itself */
void rig_turn(struct rig *r, int64_t ms); /* the clock, then settle */

/* Run the loop until it is so. */
#define UNTIL(r, cond) \
	do { \
		for (int i_ = 0; !(cond); i_++) { \
			if (i_ > 4000) \
				fail_msg("never so: %s", #cond); \
			rig_step(r); \
		} \
	} while (0)

#endif
