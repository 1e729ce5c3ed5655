#include "channel/room.h"

#include <string.h>

bool room_is_owner(const struct room *r, const char *user)
{
	return *r->owner && strcmp(r->owner, user) == 0;
}

bool room_serves(const struct room *r, const char *user)
{
	if (!*r->owner)
		return false;
	for (size_t i = 0; r->allowed && r->allowed[i]; i++)
		if (strcmp(r->allowed[i], user) == 0)
			return true;
	return room_is_owner(r, user);
}

int64_t room_now(const struct room *r)
{
	int64_t wall = loop_wall(r->loop);

	return wall > r->server_ms ? wall : r->server_ms;
}

int64_t room_age(const struct room *r)
{
	int64_t wall = loop_wall(r->loop);

	return wall < r->server_ms ? wall : r->server_ms;
}
