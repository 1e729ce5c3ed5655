/* channel/outbox-private.h: shared by outbox.c (what is queued) and outbox_send.c (what flies). */
#ifndef CHANNEL_OUTBOX_PRIVATE_H
#define CHANNEL_OUTBOX_PRIVATE_H

#include "channel/outbox.h"
#include "channel/peer.h"

#define OUTBOX_NEWS 64

/* A user's turn on the one line. Times are monotonic. */
struct lane {
	char user[CHAN_ID_MAX + 1];
	int64_t hold_until, last_sent;
	bool has_sent;
};

enum flight {
	FLIGHT_NONE,
	FLIGHT_SENT,   /* the channel has it */
	FLIGHT_LANDED, /* its outcome is known, not yet stored */
	FLIGHT_SHOUT   /* a text without a row */
};

struct outbox {
	const struct room *room;
	struct timer *timer;
	bool running;
	bool expired; /* a send was told so; once more may be tried before all are held */
	bool held;    /* the login has expired: nothing can be sent */

	enum flight flight;
	struct part part; /* in flight */
	char token[CHAN_TOKEN_MAX + 1];
	bool stopped; /* it belongs to what /stop ended */
	enum chan_outcome outcome;
	char message_id[32];
	char why[200];

	struct lane *lanes;
	size_t nlanes;

	/* Fates of questions, told when the transaction that decided them is over. */
	struct {
		int64_t part;
		bool shown;
	} news[OUTBOX_NEWS];
	int nnews;
	outbox_question_cb *on_question;
	void *question_arg;

	struct {
		char user[CHAN_ID_MAX + 1];
		char token[CHAN_TOKEN_MAX + 1];
		struct str text; /* empty: nothing to shout */
	} shout;
	void (*on_landed)(void *); /* when halted */
	void *landed_arg;
	bool failing; /* the database failed at the last step */
};

/* What a kind of part may do. */
struct part_rule {
	int cap;     /* sends of the window that may be used up to and with this one */
	bool urgent; /* before what is not */
	bool unspaced;
	bool follows; /* more of it may follow by /more */
	bool parks;   /* false: what cannot be sent now is dropped */
	bool whole;   /* one part, and so one send, whatever the limit of a part */
};
extern const struct part_rule part_rules[PART_KINDS];

/* The one way a part's state changes here: tells the question flow what it must know. */
int outbox_move(struct outbox *o, struct part_ref ref, enum part_state to, const char *why,
	struct err *e);
/* Each of refs; then the refs are released. rc is part_select's. *n (or NULL) tells how many. */
int outbox_move_each(struct outbox *o, int rc, struct part_refs *refs, enum part_state to,
	const char *why, int *n, struct err *e);
struct lane *outbox_lane(struct outbox *o, const char *user); /* NULL: no memory */

/* The step the timer runs: stores an outcome, or begins the next send. */
void outbox_step(struct outbox *o);

#endif
