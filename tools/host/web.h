/* tools/host/web.h: web_fetch and web_search, which work in the daemon because the tool process has
 * no network. What comes back is parsed in kairo-tool, behind its fence (web_fetch), or strictly as
 * JSON under small limits (web_search).
 *
 * web_fetch reaches public addresses only, at the ports 80 and 443, never by way of a proxy (behind
 * one the peer cannot be judged), and follows at most five redirects itself: each is resolved and
 * judged as the first address was, may lead to another host as long as that is public, and may not
 * leave https. Which address the model may name is policy's business, before any of this.
 * web_search asks the providers that the operator has set up, wherever they are. */
#ifndef TOOLS_HOST_WEB_H
#define TOOLS_HOST_WEB_H

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "tools/host/registry.h"
#include "tools/host/search.h"

struct web;

struct web_env {
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	const char *proxy;   /* for searches; NULL or "": none */
	const char *ca_file; /* trusted instead of the system's certificates; NULL: those */
	bool loopback;       /* pages of this machine may be fetched: tests only */
	struct search_account search[SEARCH_PROVIDERS]; /* texts outlive the web */
	enum search_provider order[SEARCH_PROVIDERS];   /* of those that are tried */
	size_t norder;
};

/* Registers web_fetch, and web_search when a provider in the order is set up. */
int web_open(struct web **out, const struct web_env *env, struct err *e);
void web_close(struct web **w); /* after the tools */

#endif
