/* channel/ilink/api.h: one way to call the iLink API: URL, headers and who we say we are. */
#ifndef CHANNEL_ILINK_API_H
#define CHANNEL_ILINK_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/net/http.h"
#include "base/str.h"
#include "channel/ilink/ilink.h"
#include "channel/ilink/wire.h"

#define API_SEND_MS   15000 /* client timeouts, wire reference 1.2 */
#define API_CONFIG_MS 10000

struct api {
	struct loop *loop;
	struct log *log;
	struct http *poll_http, *api_http;
	bool loopback;
	struct wire_self me; /* points into the two below */
	char version[32], bot_agent[WIRE_BOT_AGENT_MAX + 1];
	char version_number[11], route_tag[128];
};

/* Checks and copies what env says of us. */
int api_init(struct api *a, const struct ilink_env *env, struct err *e);

/* The log shows this nowhere from now on. */
void api_hide(struct api *a, const char *secret);

struct api_call {
	struct http *http;        /* which pool */
	const char *base, *token; /* of the account; token NULL: none */
	const char *endpoint;     /* "ilink/bot/getupdates" */
	struct view body;         /* of a POST; unused by GET */
	int64_t timeout_ms;
	http_done_cb *done; /* as http_req's */
	void *arg;
};
int api_post(struct http_call **out, struct api *a, const struct api_call *c, struct err *e);
int api_get(struct http_call **out, struct api *a, const struct api_call *c, struct err *e);

/* The same with the account's base and token; the body is given by a str that is wiped and released
 * here whatever happens. `written` is what wire_write_* returned. */
int api_call_account(struct http_call **out, struct api *a, const struct account *acc, int written,
	struct str *body, struct api_call c, struct err *e);

/* Why a call failed below the API: a transport failure or a status other than 2xx. Returns whether
 * it did. why holds no secret and no query. */
bool api_failed(const struct http_result *r, char *why, size_t size);
/* "the server answered -2 (prepare failed)"; the secrets given are masked (NULL or "" are none). */
void api_refusal(const struct wire_code *c, const char *secret, const char *secret2, char *why,
	size_t size);

/* Under wechat.com: the edge cuts long polls there (P1). */
bool api_is_international(const char *base);

/* How long to wait after so many failures in a row (1 and up): 2 s, 2 s, then 30 s doubling to
 * 5 min; +-20 % by rnd, any number. */
int64_t backoff_ms(int failures, uint64_t rnd);

#endif
