/* channel/outbox-private.h: shared by outbox.c (what is queued), outbox_send.c (what flies) and
 * outbox_file.c (what is a file). */
#ifndef CHANNEL_OUTBOX_PRIVATE_H
#define CHANNEL_OUTBOX_PRIVATE_H

#include "channel/outbox.h"
#include "channel/peer.h"
#include "channel/presence.h"

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
	int64_t landed_at;
	enum chan_outcome outcome;
	char message_id[32];
	char why[200];

	struct spool *spool;   /* NULL: no file can be sent */
	bool sweep;            /* something in it may not be needed any more */
	struct chan_file file; /* in flight; fd -1: none */
	struct timer *uploading;
	struct presence presence;

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

/* Cut so that a following "more follows" has room where it may be needed. */
int outbox_cut(const struct room *r, struct view text, const struct part_rule *rule,
	struct chunks *c, struct err *e);
int outbox_add_chunks(struct outbox *o, struct part_new *n, const struct chunks *c, int64_t *last,
	struct err *e);

/* outbox_file.c */
bool outbox_is_file(const struct part *p);
int outbox_files_open(struct outbox *o, struct err *e); /* the spool, and what a crash cut off */
void outbox_files_close(struct outbox *o);
/* The part in flight is a file: fills o->file. -1: its copy cannot be read. */
int outbox_file_open(struct outbox *o, struct err *e);
void outbox_file_close(struct outbox *o); /* it has landed, however */
int outbox_file_arrived(struct outbox *o, struct err *e);
/* The part does not go, for this reason: its user hears of it, and gets what stands in for it. */
int outbox_file_lost(struct outbox *o, struct part_ref ref, const char *why, struct err *e);

/* The step the timer runs: stores an outcome, or begins the next send. */
void outbox_step(struct outbox *o);

#endif
