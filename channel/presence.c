#include "channel/presence.h"

#include "channel/peer.h"

#include <string.h>

static bool is_shown(const struct presence *p, const char *user)
{
	for (int i = 0; i < PRESENCE_CAUSES; i++)
		if (strcmp(p->user[i], user) == 0)
			return true;
	return false;
}

static void typing(const struct presence *p, const char *user, bool on)
{
	struct channel *c = p->room->channel;
	struct peer peer;

	if (peer_load(p->room, user, &peer, NULL) != 1)
		peer.token[0] = '\0';
	c->ops->typing(c, user, peer.token, on);
}

void presence_show(struct presence *p, enum presence_cause cause, const char *user)
{
	char before[CHAN_ID_MAX + 1];

	if (!user)
		user = "";
	memcpy(before, p->user[cause], sizeof(before));
	if (strcmp(before, user) == 0)
		return;
	p->user[cause][0] = '\0';
	if (*before && !is_shown(p, before))
		typing(p, before, false);
	if (*user && !is_shown(p, user))
		typing(p, user, true);
	(void)copy_z(p->user[cause], CHAN_ID_MAX + 1, view_of(user));
}
