/* tools/host/web-private.h: what the two tools of the web share. */
#ifndef TOOLS_HOST_WEB_PRIVATE_H
#define TOOLS_HOST_WEB_PRIVATE_H

#include "base/net/http.h"
#include "tools/host/native.h"
#include "tools/host/web.h"

#define WEB_RATE_MAX 30    /* requests of both tools, redirects and retries among them... */
#define WEB_RATE_MS  60000 /* ...in any such time */

#define WEB_PAGE_CHARS 20000 /* of a page at once, unless the model wants another number */

struct web {
	struct web_env env;
	struct http *pages, *providers; /* strangers; those whom the operator has named */
	int64_t asked[WEB_RATE_MAX];    /* when the last requests were made, a ring */
	size_t nasked, next;
};

/* A request is about to be made. E_FULL: there were too many, the message says when to go on. */
int web_take_turn(struct web *w, struct err *e);

extern const struct native_tool web_fetch_tool, web_search_tool; /* self is the web */

#endif
