/* contrib/sim/world.h: bots, the people who write to them, what was written and what was answered.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim.h"

#define TOKENS_KEPT 1024 /* more than can pile up while a client takes nothing in */

struct bot {
	struct bot *next; /* newest first */
	char id[64], token[128];
	char *user; /* who scanned */
	int64_t made_at;
	int64_t void_at; /* simulated time; 0: live */
	bool started;    /* notifystart came */
	uint64_t last;   /* number of the newest inbound message */
	struct inbound *in, **in_end;
	size_t nin;
	struct peer *peers;
	size_t npeers;
	uint64_t answers; /* of getupdates; odd and even ones differ in shape */
};

struct inbound {
	struct inbound *next;
	uint64_t n;   /* position in the bot's log, from 1 */
	uint64_t seq; /* position in the whole conversation */
	int64_t at;
	char *from, *id, *token; /* id, token NULL: left out */
	char *client;            /* the sender's own id: the same at each coming; NULL: none */
	bool id_number;
	char *text;     /* or: */
	char *items;    /* JSON array as text */
	char *extra;    /* further members as JSON object text, or NULL */
	char *raw;      /* the whole message as JSON text: nothing else counts */
	char *label;    /* what the page shows when there is no text */
	char *ref;      /* JSON of ref_msg, with text; or NULL */
	char *quote;    /* what the page shows of it */
	uint64_t media; /* its file, or 0 */
	int type;
	uint64_t fetched; /* times handed out */
};

/* One person's side of a conversation with one bot. */
struct peer {
	struct peer *next;
	char *user;
	int64_t last_in;           /* simulated time of the newest inbound message; 0: none */
	int64_t used;              /* sends since then */
	char *tokens[TOKENS_KEPT]; /* newest at ntokens - 1, a ring */
	size_t ntokens;
	int64_t typing_until;
	char ticket[48];
	int64_t ticket_at;
	int64_t last_send;    /* real time, for the note on spacing */
	struct call *sending; /* a send to this person that has no answer yet */
	bool refused;         /* since the newest inbound message */
};

struct delivery {
	uint64_t n, seq;
	char bot[64];
	char *to, *client_id, *run_id, *text, *item, *errmsg;
	uint64_t message_id;
	int64_t at, ret;
	int attempts;
	bool accepted, shown;
	uint64_t media;       /* what the phone opened, or 0 */
	char media_state[48]; /* "opens", or why not */
};

int world_open(struct world **out, struct sim *s, struct err *e);
void world_close(struct world **w);

/* --- Bots ------------------------------------------------------------------------------------- */
struct bot *bot_new(struct sim *s, struct view user, struct err *e);
bool bot_live(const struct sim *s, const struct bot *b);
/* Void this bot's token ms from now; it never becomes later than it was. */
void bot_void(struct sim *s, struct bot *b, int64_t ms);
struct bot *bot_by_token(struct sim *s, struct view token); /* live or not; NULL */
struct bot *bot_by_id(struct sim *s, struct view id);
struct bot *bot_newest(struct sim *s); /* live; NULL */
struct bot *bots_first(struct sim *s);

/* --- People ----------------------------------------------------------------------------------- */
struct peer *peer_find(struct bot *b, struct view user);
bool peer_knows_token(const struct peer *p, struct view token);
int peer_add_token(struct peer *p, const char *token);
const char *peer_token(const struct peer *p); /* newest, or NULL */

/* --- Messages --------------------------------------------------------------------------------- */
struct inbound_spec {
	struct view from;
	struct view id; /* p NULL: the next one */
	bool no_id;
	int id_form;       /* 0: by turns, 1: number, 2: string */
	struct view token; /* p NULL: a new one (or the same, by setting) */
	bool no_token;
	struct view text, items, extra, raw, label, ref, quote; /* p NULL: not given */
	uint64_t media;
	struct view client; /* p NULL: made of the id */
	int64_t at;         /* 0: now */
	int type;
	bool repeat; /* an old message again: opens no window, resets no count */
};
struct inbound *world_put(struct sim *s, struct bot *b, const struct inbound_spec *m,
	struct err *e);
const struct inbound *world_inbound(const struct bot *b, struct view id); /* by message id */
uint64_t world_id(struct sim *s); /* a fresh message id, above 2^63 */
char *fresh_token(void);          /* about as long as real ones are; free() */

struct delivery *delivery_new(struct sim *s, struct bot *b, struct view to, struct err *e);
struct delivery *delivery_by_client_id(struct sim *s, const struct bot *b, struct view to,
	struct view client_id); /* newest; NULL */
/* Deliveries in order: the first with n over since; NULL at the end. */
const struct delivery *delivery_after(struct sim *s, uint64_t since);
uint64_t delivery_last(const struct sim *s);
void delivery_json(struct sim *s, const struct delivery *d, struct json_out *w);
void inbound_json(struct sim *s, const struct inbound *m, const struct bot *b, struct json_out *w);

#endif
