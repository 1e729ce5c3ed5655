/* agent/react/provider.h: where providers of OpenAI-compatible chat differ: a table of contracts.
 *
 * A provider is found by its name or by the host of the address in use; what holds for one model of
 * it (window, request members, endpoint) by a part of the model's name. An address that nobody in
 * the table owns gets the plain contract. */
#ifndef AGENT_REACT_PROVIDER_H
#define AGENT_REACT_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define PROVIDER_WINDOW 128000 /* tokens, of a model that nothing is known of */

/* One member of the request's body: its name, and its value as JSON. */
struct provider_member {
	const char *name, *json;
};

/* What holds for models whose name has `part` in it; "" holds for all that no earlier one named. */
struct provider_rule {
	const char *part;
	const struct provider_member *request; /* ended by a NULL name; NULL: none */
	const char *base_url; /* where it is served when the address is one of this provider's */
	bool raw_pictures;    /* pictures go as bare base64, not as a data: address */
};

struct provider {
	const char *name;           /* canonical; "" is the plain contract */
	const char *const *aliases; /* these lists are ended by NULL */
	const char *const *hosts;   /* the host itself, or what it ends with after a dot */
	const char *base_url;       /* "" for the plain contract only */
	const char *const *models;  /* known ones, the default first; may be empty */
	const char *const *replays; /* parts of names whose models want their reasoning back */
	const struct provider_rule *rules; /* ended by a NULL part */
	const char *header_name, *header;  /* one more header of each request, or NULL */
	int64_t window;                    /* of its models that are not known by name */
	bool no_tools;                     /* requests go without tools */
	bool no_key;                       /* a server of one's own */
};

/* The table, for lists and manuals; NULL behind the last. The plain contract is not in it. */
const struct provider *provider_at(size_t i);
/* By canonical name or alias, whatever the case; NULL: none of them. */
const struct provider *provider_named(struct view name);
/* By host; never NULL. */
const struct provider *provider_of(struct view host);

/* "kimi, deepseek, ...": for messages. */
void provider_names(struct str *out);

/* What holds for one model. */
struct contract {
	const struct provider *provider;
	const struct provider_member *request; /* as above; never NULL */
	const char *base_url;
	int64_t window; /* tokens */
	bool replays;   /* reasoning of the messages before goes back */
	bool tools;
	bool raw_pictures;
	bool sees; /* takes pictures; of a model that nothing is known of: no */
};

/* base_url and host: the address in use; base_url must outlive the contract. */
void provider_contract(struct contract *out, const struct provider *p, const char *base_url,
	struct view host, const char *model);

#endif
