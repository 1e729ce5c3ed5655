/* contrib/sim/control.h: the API for tests and for the page; README.md describes it. */
#ifndef SIM_CONTROL_H
#define SIM_CONTROL_H

#include "sim.h"

void control_on_request(void *arg, struct hreq *r); /* arg: the sim */
void control_on_page(void *arg, struct hreq *r);    /* the same API, and the page itself */

/* control_inject.c: POST /control/inject. The answer is written into w's open object. */
int control_inject(struct sim *s, const struct json *j, struct json_out *w, struct err *e);

/* page.c */
struct view page_html(void);
int page_qr_svg(const char *text, struct str *out, struct err *e);

#endif
