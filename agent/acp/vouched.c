#include "agent/acp/vouched.h"

#include <stdlib.h>
#include <string.h>

void vouched_add(struct vouched *v, struct view deed)
{
	char **at = &v->deeds[v->n++ % VOUCHED_MAX];

	free(*at);
	*at = strndup(deed.p, deed.n);
}

bool vouched_has(const struct vouched *v, const char *deed)
{
	for (size_t i = 0; deed && i < VOUCHED_MAX; i++)
		if (v->deeds[i] && strcmp(v->deeds[i], deed) == 0)
			return true;
	return false;
}

void vouched_clear(struct vouched *v)
{
	for (size_t i = 0; i < VOUCHED_MAX; i++) {
		free(v->deeds[i]);
		v->deeds[i] = NULL;
	}
}
