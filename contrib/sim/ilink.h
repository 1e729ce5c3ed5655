/* contrib/sim/ilink.h: the bot API (wire reference, sections 2 to 9), endpoint by endpoint. */
#ifndef SIM_ILINK_H
#define SIM_ILINK_H

#include "call.h"

void ilink_on_request(void *arg, struct hreq *r); /* of both API listeners; arg: the sim */

/* The handlers. Each answers its call now or later. */
void get_bot_qrcode(struct call *c);
void get_qrcode_status(struct call *c);
void notifystart(struct call *c);
void notifystop(struct call *c);
void getupdates(struct call *c);
void sendmessage(struct call *c);
void getconfig(struct call *c);
void sendtyping(struct call *c);
void getuploadurl(struct call *c);

/* New messages, or a token was voided: look at the polls that are held. */
void polls_wake(struct sim *s);
/* The same for polls of a login's state. */
void logins_wake(struct sim *s);

/* --- Logins (login.c) ------------------------------------------------------------------------- */
int logins_open(struct logins **out, struct err *e);
void logins_close(struct logins **l);
/* What the next QR codes do; see README.md, POST /control/login. */
int logins_script(struct sim *s, const struct json *j, struct err *e);
/* The phone's side; key empty: the newest code. -1: no such code, or not in the right state. */
int logins_scan(struct sim *s, struct view key, struct err *e);
int logins_confirm(struct sim *s, struct view key, struct view user, struct err *e);
int logins_expire(struct sim *s, struct view key, struct err *e);
void logins_json(struct sim *s, struct json_out *w); /* the newest codes, newest first */
/* What the newest code's symbol says, or NULL. */
const char *logins_content(struct sim *s);

#endif
