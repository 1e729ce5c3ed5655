/* contrib/sim/sim.h: what all files of the simulator share. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"
#include "server.h"
#include "small.h"

#define USER_OWNER "o9cqSimOwner7Qk@im.wechat"

struct blob;
struct blobs;
struct faults;
struct journal;
struct logins;
struct model;
struct watches;
struct world;
struct call;

struct sim_opts {
	const char *dir;  /* files (CA, key, sim.json); NULL: none */
	const char *user; /* id of the phone's person; NULL: USER_OWNER */
	bool tls;         /* api and cdn over https */
	bool auto_confirm;
	bool verbose;           /* a line a request on stderr */
	int port_base;          /* 0: the kernel chooses */
	int64_t hold_ms;        /* of a poll; 0: 25 s */
	int64_t model_delay_ms; /* between the demo's pieces; -1: 25 */
};

/* What a test may turn while it runs: POST /control/set (table in control.c). Truth values are 0/1.
 */
struct settings {
	int64_t hold_ms, batch;
	int64_t quota, window_ms, text_cap, text_over, answer_shape;
	int64_t token_strict, token_same, strict_headers, retry_counts;
	int64_t auto_confirm, qr_life_ms, void_delay_ms, refuse_tokens;
	int64_t ticket_life_ms, typing_show_ms, upload_token;
	int64_t model_delay_ms;
};

enum { OVER_REFUSE, OVER_CUT, OVER_DELIVER };                    /* text_over */
enum { SHAPE_ALTERNATE, SHAPE_FULL, SHAPE_NO_RET, SHAPE_EMPTY }; /* answer_shape */

/* Things counted since the start; GET /control/wait names them. */
enum tally {
	T_REQUESTS,
	T_POLLS,
	T_SENT,
	T_REFUSED,
	T_TYPING,
	T_TYPING_STOP,
	T_NOTIFYSTART,
	T_NOTIFYSTOP,
	T_LOGINS,
	T_QRCODES,
	T_QRPOLLS,
	T_UPLOADS,
	T_UPLOADS_BEGUN,
	T_DOWNLOADS,
	T_MODEL_REQUESTS,
	T_MODEL_CUT,
	T_VIOLATIONS,
	T_INBOUND,
	T_FETCHED,
	T_COUNTED,
	T_POLLING = T_COUNTED,
	T_MODEL_OPEN,
	T_ALL /* open at this moment */
};

struct sim {
	struct loop *loop;
	struct sim_opts o;
	struct settings set;
	int64_t clock_offset;
	struct ssl_ctx_st *tls, *cdn_tls; /* NULL: plain */
	struct server *api, *api2, *cdn, *model_server, *page, *control;
	char api_url[64], api2_host[40], cdn_url[64], model_url[64], page_url[64], control_url[64];
	char ca_file[4096];
	const char *user;
	struct journal *journal;
	struct faults *faults;
	struct world *world;
	struct logins *logins;
	struct blobs *blobs;
	struct model *model;
	struct watches *watches;
	struct call *calls; /* requests under way on api, cdn */
	struct timer *tick; /* something falls due: a token is voided, typing fades */
	uint64_t tally[T_ALL];
};

int sim_open(struct sim **out, struct loop *l, const struct sim_opts *o, struct err *e);
void sim_close(struct sim **s);
/* The line for the program that started us: {"api":...,"cdn":...,...}. */
int sim_ready_line(const struct sim *s, struct str *out, struct err *e);

/* tally.c. The simulated clock: real time and what tests have added. */
int64_t sim_now(const struct sim *s); /* Unix milliseconds */
void sim_advance(struct sim *s, int64_t ms);
void sim_due_in(struct sim *s, int64_t ms); /* have sim_due run no later than this */

/* Count it, wake those who wait, tell the page. */
void sim_count(struct sim *s, enum tally t);
void sim_gauge(struct sim *s, enum tally t, int step);
const char *tally_name(enum tally t);

#endif
