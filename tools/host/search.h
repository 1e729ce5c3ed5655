/* tools/host/search.h: the providers of web search as a table: where each is asked, how it is shown
 * the key, and where its answer has what. Pure: requests are built and answers read here, sent
 * elsewhere. */
#ifndef TOOLS_HOST_SEARCH_H
#define TOOLS_HOST_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/net/http.h"
#include "base/str.h"

enum search_provider {
	SEARCH_ZHIPU,
	SEARCH_SERPAPI,
	SEARCH_SEARXNG,
	SEARCH_BRAVE,
	SEARCH_TAVILY,
	SEARCH_PROVIDERS
};
/* "zhipu", "serpapi", "searxng", "brave", "tavily", NULL: the order in which they are tried. */
extern const char *const search_names[SEARCH_PROVIDERS + 1];

#define SEARCH_QUERY_MAX   400 /* characters */
#define SEARCH_RESULTS_MAX 10
#define SEARCH_ANSWER_MAX  ((size_t)2 << 20)

/* What the operator has set up. */
struct search_account {
	const char *url; /* instead of the provider's own address; NULL or "": that */
	const char *key; /* NULL or "": none */
};

/* Has it all that it needs: a key, or (searxng) an address? */
bool search_ready(enum search_provider p, const struct search_account *a);

struct search_request {
	bool post;
	struct str url, body, auth; /* secret */
	struct http_header headers[3];
	size_t nheaders;
};
/* On failure too, search_request_wipe is due. */
int search_request(struct search_request *out, enum search_provider p,
	const struct search_account *a, struct view query, int count, struct err *e);
void search_request_wipe(struct search_request *r);

/* Plain text in one line each; url is http or https without credentials. */
struct search_result {
	struct str title, url, text, date;
};
struct search_results {
	struct search_result list[SEARCH_RESULTS_MAX];
	size_t n;
};
/* The results of an answer with status 2xx, at most count of them; none is no failure. Entries
 * without a title or a good address are left out; when that leaves nothing of something, or the
 * answer is not what the provider's contract says, it is E_FORMAT. search_release is due always. */
int search_parse(struct search_results *out, enum search_provider p, struct view answer, int count,
	struct err *e);
void search_release(struct search_results *r);
/* What the provider says went wrong, in one short line without secrets; nothing when it says
 * nothing that can be shown. */
void search_complaint(struct view answer, const struct search_account *a, struct str *out);

#endif
