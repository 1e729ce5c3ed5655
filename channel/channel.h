/* channel/channel.h: what any channel is. A channel fetches messages, hands them on in batches, and
 * sends one part at a time. It knows nothing of queues, turns or commands. */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define CHAN_TEXT_MAX  ((size_t)1 << 20) /* bytes of one message's text */
#define CHAN_ITEMS_MAX 32                /* items of one message that are kept */
#define CHAN_BATCH_MAX 1000              /* messages of one answer; more is a failed poll */
#define CHAN_ID_MAX    256
#define CHAN_TOKEN_MAX 4096
#define CHAN_TIME_MAX  ((int64_t)4102444800000) /* Unix ms: the year 2100 */

enum chan_item_kind { CHAN_IMAGE, CHAN_VOICE, CHAN_FILE, CHAN_VIDEO, CHAN_OTHER };

/* An attachment as announced; nothing has been fetched. Strings belong to the message. Keys and
 * parameters never enter a prompt, a log or a reply. */
struct chan_item {
	enum chan_item_kind kind;
	const char *name; /* as the sender claims, controls removed; may be "" */
	const char *full_url, *param,
		*key;    /* "" when absent. key: 32 hex or base64 as on the wire */
	int64_t size;    /* as claimed; -1 unknown */
	int64_t play_ms; /* of a voice; -1 unknown */
	bool transcript; /* voice whose transcript is in the text (or in the quote) */
	bool quoted;     /* belongs to the quoted message, not to this one */
};

enum chan_msg_state {
	CHAN_MSG_OK,
	CHAN_MSG_UNREADABLE, /* malformed, but the sender is known: worth an answer */
	CHAN_MSG_UNSUPPORTED /* a kind the service does not hand to bots (item type 8) */
};

/* A part of the quoted text (wire reference, 5.5); start NULL: the whole is quoted. */
struct chan_partial {
	const char *start, *end;
	int64_t start_index, end_index; /* which occurrence, from 0 */
	const char *md5;                /* of the result, 32 hex digits; "" when absent */
};

/* A received message, complete and checked. Good during the batch call only. */
struct chan_msg {
	const char *id; /* exact decimal digits, or "h:" + 64 hex when derived */
	bool derived_id;
	const char *twin;  /* "h:...", alike for the same message under another id; NULL: none */
	const char *from;  /* user id */
	const char *token; /* context token; "" when absent. A secret */
	struct view text;  /* all text items joined by LF, NUL and bad UTF-8 repaired */
	bool typed;        /* text holds what was typed (not only a transcript): commands allowed */
	struct view quote; /* text of the quoted message; empty when none or not known */
	bool quote_title;  /* no more than a summary of it, where the text may be known better */
	const char *quote_id; /* digits or "" */
	struct chan_partial partial;
	const struct chan_item *items;
	size_t nitems;
	int64_t sent_at; /* Unix ms as claimed, up to CHAN_TIME_MAX; 0 unknown */
	bool group;      /* from a group: log, never answer */
	enum chan_msg_state state;
};

enum chan_link {
	CHAN_LINK_STARTING,
	CHAN_LINK_UP,
	CHAN_LINK_DEGRADED, /* failing or silent; retried with backoff */
	CHAN_LINK_EXPIRED,  /* the login is over: probed rarely, the operator must log in */
	CHAN_LINK_REPLACED, /* another login took the account's place: the daemon must end */
	CHAN_LINK_STOPPED
};

struct chan_status {
	enum chan_link link;
	int64_t last_good_ms; /* wall time of the last good poll; 0: none yet */
	int failures;         /* in a row */
	char why[256];        /* of the last failure; safe and redacted; "" when up */
	uint64_t skipped;     /* malformed messages since the start */
};

/* Where the bytes of an item are, as the wire said; all of it secret. "" when absent. */
struct chan_source {
	enum chan_item_kind kind;
	const char *full_url, *param, *key;
};

enum chan_fetch_end {
	CHAN_FETCHED,
	CHAN_FETCH_TOO_BIG,     /* more than was allowed */
	CHAN_FETCH_GONE,        /* the server no longer has it, or never let us */
	CHAN_FETCH_BAD,         /* no usable key or address, wrong padding: never will be of use */
	CHAN_FETCH_UNREACHABLE, /* after its tries; may work later */
	CHAN_FETCH_DISK         /* it could not be written */
};
/* size: bytes written. why: for the log, safe and without a secret. From the loop, once. */
typedef void chan_fetched_cb(void *arg, enum chan_fetch_end what, int64_t size, const char *why);
struct chan_fetch; /* a download on its way */

struct chan_events {
	/* Take these. 0: all are stored, so that they outlive the program. -1: nothing may be lost:
	 * the channel keeps its cursor, reports DEGRADED and fetches again later. */
	int (*batch)(void *arg, const struct chan_msg *msgs, size_t n, struct err *e);
	/* A moment later, before the cursor is moved past them: 0: they outlive the machine as
	 * well. -1: as above. What has come of them by then has spared the disk a wait. */
	int (*settle)(void *arg, struct err *e);
	void (*link)(void *arg, const struct chan_status *s); /* on each change of link */
	void *arg;
};

/* What became of a send. "Accepted" is the server's word, never "delivered". */
enum chan_outcome {
	CHAN_ACCEPTED,
	CHAN_UNCONFIRMED,  /* success without a message id: may never arrive */
	CHAN_NOT_SENT,     /* failed before the request can have been seen: try again */
	CHAN_UNKNOWN,      /* broke off after it was sent: may have arrived */
	CHAN_CLOSED,       /* -2 "prepare failed": window or quota over */
	CHAN_THROTTLED,    /* -2 "rate limited", "freq limit"; -12 */
	CHAN_REFUSED_BARE, /* -2 with no or an unknown text */
	CHAN_INVALID,      /* -2 "invalid arguments": our body is wrong, never again */
	CHAN_EXPIRED,      /* -14 */
	/* The file did not get through after its tries, nothing was sent: CHAN_UPLOAD_... */
	CHAN_NOT_UPLOADED
};

/* A file to be sent. */
struct chan_file {
	enum chan_item_kind kind; /* image, video or file */
	int fd;           /* of a regular file that stays as it is; borrowed until the end */
	const char *name; /* as the phone shows it */
	int64_t size;
	const char *md5; /* of the contents, 32 lower-case hex digits */
};

struct chan_send {
	const char *to;               /* user id */
	const char *token;            /* newest context token */
	const char *client_id;        /* unique per part, kept over retries */
	struct view text;             /* formatted, within the limit; empty with a file */
	const struct chan_file *file; /* NULL: text. Uploaded first, as a part of the send */
};

/* What `why` of CHAN_NOT_UPLOADED is, so that it can be worded: one of these. */
#define CHAN_UPLOAD_UNREADABLE  "unreadable"  /* our copy could not be read to its end */
#define CHAN_UPLOAD_REFUSED     "refused"     /* the server wants no file now, or not this one */
#define CHAN_UPLOAD_UNREACHABLE "unreachable" /* no connection, or none that held, at every try */
#define CHAN_UPLOAD_UNCONFIRMED "unconfirmed" /* taken, but never with a receipt to send it by */

/* message_id: digits or "". why: the server's text, safe and redacted, or the failure's. */
typedef void chan_sent_cb(void *arg, enum chan_outcome what, const char *message_id,
	const char *why);

struct channel {
	const struct channel_ops *ops;
};

struct channel_ops {
	const char *name;
	int (*start)(struct channel *c, const struct chan_events *ev, struct err *e);
	/* Say goodbye to the server (bounded, 2 s) and stop; done fires once, from the loop. */
	void (*stop)(struct channel *c, void (*done)(void *), void *arg);
	/* One send at a time; -1 when one is under way or nothing could be started (cb not
	 * called). */
	int (*send)(struct channel *c, const struct chan_send *s, chan_sent_cb *cb, void *arg,
		struct err *e);
	void (*abort_send)(struct channel *c); /* no callback; the outcome is unknown */
	/* Typing on: shown at once and refreshed until off. Off: cancelled once. Failures are
	 * silent. */
	void (*typing)(struct channel *c, const char *user, const char *token, bool on);
	void (*hurry)(struct channel *c, bool on); /* polls of at most 3 s while a task runs */
	void (*status)(const struct channel *c, struct chan_status *out);
	void (*close)(struct channel **c);
	/* Fetch and decrypt one item: its plain bytes to fd (borrowed, from its beginning), never
	 * more than max. Several may be under way. On failure what fd holds is of no use. -1:
	 * nothing was started. */
	int (*fetch)(struct channel *c, struct chan_fetch **out, const struct chan_source *src,
		int fd, int64_t max, chan_fetched_cb *cb, void *arg, struct err *e);
	void (*abort_fetch)(struct channel *c, struct chan_fetch **f); /* no callback */
};

#endif
