/* contrib/sim/model_step.h: one answer of the model, piece by piece. */
#ifndef SIM_MODEL_STEP_H
#define SIM_MODEL_STEP_H

#include "model.h"

struct step {
	struct str bytes; /* all pieces one after the other */
	size_t *ends;     /* where each piece ends */
	size_t n;
	int status;
	char *headers, *type;       /* NULL: none, and the type that fits */
	int64_t first_ms, delay_ms; /* before the first piece, between pieces */
	bool stall, cut, reset;     /* how it ends, if not well */
	bool demo;                  /* the script leaves this one to the demo */
};

struct step *step_new(void); /* NULL: out of memory */
void step_free(struct step *s);
struct view step_view(const struct step *s, size_t i);
int step_slice(struct step *s, size_t bytes); /* all of it anew, in pieces of so many bytes */
/* By an entry of a script; id names the completion. */
int step_from_json(struct step *s, const struct json *j, const struct sim *sim, bool stream,
	const char *id, struct err *e);
int step_from_demo(struct step *s, const struct demo_answer *a, const struct sim *sim, bool stream,
	const char *id);

#endif
