/* cli/background.h: what the agent does in the background, as `status` tells it. */
#ifndef CLI_BACKGROUND_H
#define CLI_BACKGROUND_H

#include "base/json.h"
#include "cli/cli.h"

/* A line each, `first` in front of the first one, `next` in front of the others. */
void background_print(const struct json *status, const char *first, const char *next);
/* Ahead of an end: what ends with the daemon, as far as it says so. E_CANCELLED: Ctrl-C. */
int background_warn(const struct home *h, struct err *e);

#endif
