/* channel/peer.h: what we know of a person we may answer: the newest context token, the window it
 * opened, and how many sends that window has seen. One row a bot and user. */
#ifndef CHANNEL_PEER_H
#define CHANNEL_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/room.h"

/* Sending ends 24 h after the user's last message (wire reference, 6); we stop ten minutes early.
 */
#define PEER_WINDOW_MS ((int64_t)(23 * 60 + 50) * 60 * 1000)
#define PEER_SENDS_MAX 10 /* for each message the user writes */

struct peer {
	char user[CHAN_ID_MAX + 1];
	char token[CHAN_TOKEN_MAX + 1]; /* "": none yet. A secret */
	int64_t heard_at;               /* wall time of the newest message */
	int sends;                      /* since then */
	bool closed;                    /* the server has said that the window is over */
	bool told;                      /* that more waits for /more */
	enum control_language lang;     /* of the user's writing; AUTO: not known */
	int asked; /* choices of the last question; 0: nothing to be confused with */
};

/* 1, or 0: never heard of (or the row is unfit). */
int peer_load(const struct room *r, const char *user, struct peer *out, struct err *e);

/* A new message came: its token (unless empty) replaces the old one, its language (unless AUTO)
 * too; the window is open and `sends` are already spent in it (a send under way counts anew). */
int peer_heard(const struct room *r, const char *user, const char *token,
	enum control_language lang, int sends, struct err *e);
int peer_spend(const struct room *r, const char *user, int delta, struct err *e);
int peer_set_closed(const struct room *r, const char *user, struct err *e);
int peer_set_told(const struct room *r, const char *user, struct err *e);
int peer_set_asked(const struct room *r, const char *user, int choices, struct err *e);

/* Milliseconds until the window ends; 0 when it is over, was closed, or never opened. */
int64_t peer_window(const struct room *r, const struct peer *p);
/* The setting, or else the user's own. */
enum control_language peer_lang(const struct room *r, const char *user);

#endif
