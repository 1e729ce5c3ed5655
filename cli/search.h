/* cli/search.h: the providers of web search as settings. */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "cli/config.h"
#include "tools/host/web.h"

/* What the settings say of search: env borrows from c, whose keys have been loaded. */
void search_settings(struct web_env *env, const struct config *c);
/* Would the list do? Names of providers, none twice. */
int search_check_order(char *const *order, struct err *e);
/* The providers that will be asked, in their order: "zhipu, brave"; nothing when there is none. */
void search_text(const struct config *c, struct str *out);

#endif
