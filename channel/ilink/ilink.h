/* channel/ilink/ilink.h: WeChat by Tencent's iLink bot API. The wire reference is the authority. */
#ifndef CHANNEL_ILINK_ILINK_H
#define CHANNEL_ILINK_ILINK_H

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "channel/channel.h"

#define ILINK_CLIENT_VERSION "2.4.9" /* declared in iLink-App-ClientVersion and channel_version */

struct ilink_env {
	struct loop *loop;
	struct log *log;
	struct http *poll_http, *api_http; /* sends go on another connection than the poll */
	struct http *cdn_http; /* of the media server alone: its TLS is weaker; unused by a login */
	const char *cdn_url;   /* NULL: ACCOUNT_CDN_URL */
	bool loopback;         /* network.allow_loopback: for simulators */
	const char *client_version; /* NULL: ILINK_CLIENT_VERSION */
	const char *bot_agent;      /* NULL: "Kairo/<version> (linux; <machine>)" */
	const char *route_tag;      /* SKRouteTag; NULL: none */
};

/* The account stays the caller's and must outlive the channel; the channel moves its cursor after
 * each batch that was made durable. */
int ilink_open(struct channel **out, const struct ilink_env *env, struct account *acc,
	struct err *e);

/* --- Login by QR code ------------------------------------------------------------------------- */
struct login;

enum login_event {
	LOGIN_SHOW_QR,      /* text: what goes into the symbol; left_ms: its expected life */
	LOGIN_SCANNED,      /* waiting for the tap on the phone */
	LOGIN_NEED_NUMBER,  /* the phone shows a number: ask for it, then login_number() */
	LOGIN_WRONG_NUMBER, /* the same, again */
	LOGIN_BLOCKED,      /* too many wrong numbers; a new code follows */
	LOGIN_QR_EXPIRED,   /* a new code follows */
	LOGIN_REDIRECTED,   /* text: host; for the log */
	LOGIN_TROUBLE,      /* text: a poll failed and is repeated; shown once a cause */
	LOGIN_DONE,         /* result is filled */
	LOGIN_ALREADY,      /* this installation is already connected; nothing new was given */
	LOGIN_FAILED        /* err: why, and what to do */
};

struct login_report {
	enum login_event event;
	struct view text;
	int64_t left_ms;
	struct account_login
		result;        /* LOGIN_DONE: without workspace; strings during the call only */
	const struct err *err; /* LOGIN_FAILED */
};
typedef void login_cb(void *arg, const struct login_report *r);

struct login_opts {
	const char *base_url;      /* NULL: ACCOUNT_LOGIN_URL */
	const char *const *tokens; /* known tokens, newest first; ignored when force */
	size_t ntokens;
	bool force;
	int64_t total_ms; /* 0: 480,000 */
	int max_codes;    /* 0: 3 */
};

/* After DONE, ALREADY or FAILED nothing follows; login_free at any time, no callback afterwards. */
int login_start(struct login **out, const struct ilink_env *env, const struct login_opts *o,
	login_cb *cb, void *arg, struct err *e);
int login_number(struct login *l, struct view digits, struct err *e); /* 1..16 digits */
void login_free(struct login **l);

/* One request that proves the token (getconfig): for doctor. result is E_OK, E_AUTH (expired) or
 * what failed; date is the answer's Date header, or NULL. */
typedef void ilink_probe_cb(void *arg, const struct err *result, const char *date);
struct ilink_probe;
int ilink_probe_start(struct ilink_probe **out, const struct ilink_env *env,
	const struct account *acc, ilink_probe_cb *cb, void *arg, struct err *e);
void ilink_probe_free(struct ilink_probe **p);

#endif
