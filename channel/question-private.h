/* channel/question-private.h: the questions' insides, shared by their files alone. */
#ifndef CHANNEL_QUESTION_PRIVATE_H
#define CHANNEL_QUESTION_PRIVATE_H

#include "channel/question.h"

#define QUESTION_OFFSETS 4

enum question_state {
	Q_FREE,
	Q_ASKED, /* on its way out */
	Q_SHOWN, /* accepted by the server */
	Q_FAILED /* the turn is about to hear that it could not be asked */
};

struct question {
	enum question_state state;
	unsigned int serial;
	char letter;
	char user[CHAN_ID_MAX + 1]; /* "": it is shown elsewhere */
	char *id;
	char *text; /* as it is shown */
	int choices;
	bool standard; /* enum approval_choice */
	bool several;  /* any number of the choices */
	int64_t part;
	int64_t ms;                 /* to answer it */
	int64_t shown_at, deadline; /* monotonic */
	bool hinted;
};

/* A question for which there was no room. */
struct turned_away {
	struct turned_away *next;
	char *id;
};

struct questions {
	const struct room *room;
	struct outbox *outbox;
	question_answer_cb *cb;
	void *arg;
	struct timer *timer;
	struct question slot[QUESTIONS_MAX];
	struct turned_away *away; /* the turn is about to hear of them */
	unsigned int serial;
	/* How much later than claimed messages came in lately; the least is the offset between the
	 * senders' clock and our monotonic one, which nobody sets. */
	struct {
		int64_t offset, at;
	} heard[QUESTION_OFFSETS];
	unsigned int nheard;
};

static inline bool question_is_open(const struct question *it)
{
	return it->state == Q_ASKED || it->state == Q_SHOWN;
}

/* question.c. NULL: it is over. */
struct question *question_by_serial(struct questions *q, unsigned int serial);

/* question_show.c: the text of one part, whatever there is to show. */
int question_compose(const struct questions *q, const struct question *it,
	const struct engine_event *ev, struct str *out);

#endif
