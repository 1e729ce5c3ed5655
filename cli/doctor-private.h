/* cli/doctor-private.h: what the parts of `kairo doctor` share. A check says by itself what it has
 * found, one line a finding; a line that is not fine ends with what to do. */
#ifndef CLI_DOCTOR_PRIVATE_H
#define CLI_DOCTOR_PRIVATE_H

#include "account/account.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "tools/host/registry.h"

struct doctor {
	const struct home *home;
	struct config *cfg;
	struct account *account;
	struct loop *loop;
	struct http *ilink_http, *model_http;
	struct tools *tools; /* once the sandbox was looked at */
	int failed, warned;
	int64_t server_time; /* Unix seconds from the server's Date header; 0 unknown */
	bool reached;        /* the iLink host answered over HTTP */
};

__attribute__((format(printf, 2, 3))) void say_ok(const char *what, const char *fmt, ...);
__attribute__((format(printf, 5, 6))) void say_bad(struct doctor *d, bool fail, const char *what,
	const char *todo, const char *fmt, ...);

/* doctor_machine.c */
void doctor_home(struct doctor *d);
void doctor_disk(struct doctor *d);
void doctor_state(struct doctor *d);
void doctor_media(struct doctor *d);
bool doctor_config(struct doctor *d); /* false: without it nothing else can be looked at */
void doctor_policy(struct doctor *d);
void doctor_workspace(struct doctor *d);
void doctor_sandbox(struct doctor *d);
void doctor_libraries(struct doctor *d);

/* doctor_net.c: name and TCP; true when a connection could be made. */
bool doctor_host(struct doctor *d, const char *what, const char *url);

struct doctor_answer {
	struct loop *loop;
	bool done;
	enum http_fail fail;
	int status;
	struct err err;
	struct str *body;
};

/* A GET with the key, or (bearer NULL) the connection alone. body gets the answer's,
 * unless it is NULL. */
void doctor_reach(struct doctor *d, struct http *pool, const char *url, const char *bearer,
	struct doctor_answer *a, struct str *body);
const char *doctor_advice(const struct doctor *d, enum http_fail f);

/* doctor_link.c */
void doctor_account(struct doctor *d);
void doctor_daemon(struct doctor *d);

/* doctor_engine.c: try: one turn of it, too. */
void doctor_engine(struct doctor *d, bool try);

/* doctor_aids.c */
void doctor_search(struct doctor *d);
void doctor_voice(struct doctor *d);

#endif
