/* contrib/sim/model.h: an OpenAI-compatible endpoint: scripted by tests, else the demo. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim.h"

int model_open(struct model **out, struct sim *s, struct err *e);
void model_close(struct model **m);
void model_on_request(void *arg, struct hreq *r); /* arg: the sim */
/* {"script":[...],"repeat":bool,"append":bool}: what the next requests are answered. */
int model_script(struct sim *s, const struct json *j, struct err *e);
void model_print_requests(struct sim *s, struct json_out *w, uint64_t since);

/* demo.c: what the demo says to a request; never fails but for memory. */
struct demo_call {
	char name[64];
	struct str arguments;
};
struct demo_answer {
	struct str text;
	struct demo_call call; /* name empty: none */
	int64_t pause_ms;      /* before each sentence, over the usual delay; 0: none */
};
void demo_answer(const struct json *request, struct demo_answer *a);
void demo_release(struct demo_answer *a);

#endif
