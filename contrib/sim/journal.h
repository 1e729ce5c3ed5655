/* contrib/sim/journal.h: what clients asked and got, and where they broke the protocol. Bounded:
 * the oldest go first. */
#ifndef SIM_JOURNAL_H
#define SIM_JOURNAL_H

#include <stdint.h>

#include "sim.h"

int journal_open(struct journal **out, struct sim *s, struct err *e);
void journal_close(struct journal **j);

/* A request has arrived; returns its number, counted from 1. */
uint64_t journal_request(struct journal *j, const char *endpoint, const struct hreq *r);
/* How it ended: status 0 with a word ("dropped", "gone") where no answer was given. */
void journal_answer(struct journal *j, uint64_t n, int status, const char *word, struct view body);
/* Requests with a number over `since`, as an array of objects. endpoint NULL: all. */
void journal_print_requests(struct journal *j, struct json_out *w, uint64_t since,
	struct view endpoint);

enum breach { BREACH_NOTE, BREACH_VIOLATION };
/* A rule of the wire reference was broken by request n, or (note) stretched. */
void journal_breach(struct journal *j, enum breach level, uint64_t n, const char *endpoint,
	const char *rule, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void journal_print_breaches(struct journal *j, struct json_out *w, enum breach level,
	uint64_t since);
uint64_t journal_last(const struct journal *j, enum breach level); /* number of the newest, or 0 */
void journal_forget(struct journal *j);                            /* everything; numbers go on */

/* Is this X-WECHAT-UIN one of the recent ones? Remembers it. */
int journal_uin_seen(struct journal *j, uint32_t uin);

#endif
