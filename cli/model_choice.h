/* cli/model_choice.h: the model as the settings choose it, and how /model changes them. */
#ifndef CLI_MODEL_CHOICE_H
#define CLI_MODEL_CHOICE_H

#include "agent/react/react.h"
#include "base/log.h"
#include "cli/config.h"

struct model_choice {
	struct config *cfg;   /* in force; a choice that is kept changes it too */
	struct config *would; /* of the newest look */
	struct log *log;
};

void model_choice_init(struct model_choice *c, struct config *cfg, struct log *log);
void model_choice_release(struct model_choice *c);
/* What the engine is handed; it works as long as c lives. */
struct react_choice model_choice_of(struct model_choice *c);

/* Its strings are cfg's. */
struct react_model model_choice_now(const struct config *cfg);

#endif
