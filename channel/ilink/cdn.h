/* channel/ilink/cdn.h: the server that holds the files (wire reference, 9): its addresses and how
 * it is spoken to. It gets neither the token nor a header of the API. */
#ifndef CHANNEL_ILINK_CDN_H
#define CHANNEL_ILINK_CDN_H

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/err.h"
#include "base/net/http.h"
#include "base/str.h"
#include "channel/ilink/ilink.h"
#include "channel/ilink/wire.h"

/* Bytes of an address: the longest parameter, each byte of it escaped, and what is around it. */
#define CDN_URL_MAX ((size_t)WIRE_PARAM_MAX * 3 + ACCOUNT_URL_MAX + 128)

struct cdn {
	struct loop *loop;
	struct log *log;
	struct http *http;
	bool loopback;
	char base[ACCOUNT_URL_MAX + 1];
};

/* E_DENIED, E_FORMAT: env's cdn_url is none of WeChat's. */
int cdn_init(struct cdn *c, const struct ilink_env *env, struct err *e);

/* Is it one that the server gave, and one of WeChat's? */
bool cdn_accepts(const struct cdn *c, const char *given);
/* The address made of a parameter, for when the server gave none; filekey NULL: to download. */
int cdn_built_url(const struct cdn *c, const char *param, const char *filekey, struct str *out,
	struct err *e);

/* Start a request that moves so many bytes at most; its limits and its TLS are filled in. */
int cdn_start(struct http_call **out, const struct cdn *c, struct http_req *req, int64_t bytes,
	struct err *e);

/* "the media server answered HTTP 403 (-5102031)"; no text of the server's. */
void cdn_refusal(const struct http_result *r, char *why, size_t size);

#endif
