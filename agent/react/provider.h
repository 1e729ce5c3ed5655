/* agent/react/provider.h: where providers differ, as a table by the host of their address. */
#ifndef AGENT_REACT_PROVIDER_H
#define AGENT_REACT_PROVIDER_H

#include <stdbool.h>

#include "base/str.h"

struct provider {
	const char
		*host; /* the host itself, or what it ends with after a dot; NULL ends the table */
	const char *name; /* for people */
	bool thoughts;    /* wants the reasoning of a turn's tool calls back */
};

/* Never NULL: an unknown host gets the plain contract, named by nothing but its host. */
const struct provider *provider_of(struct view host);

#endif
