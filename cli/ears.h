/* cli/ears.h: the voice of tools/host as the ears of the channel, by the settings. */
#ifndef CLI_EARS_H
#define CLI_EARS_H

#include "base/log.h"
#include "base/loop.h"
#include "channel/ears.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "tools/host/registry.h"
#include "tools/host/voice.h"

struct ears;

/* The texts belong to c. */
void voice_settings_from(struct voice_settings *s, const struct config *c);

/* *out stays NULL where nothing is set up. c and tools outlive the ears. */
int ears_open(struct ears **out, const struct home *h, const struct config *c, struct loop *loop,
	struct log *log, struct tools *tools, struct err *e);
void ears_close(struct ears **e);
const struct chan_ears *ears_hand(const struct ears *e); /* to hand down; NULL of NULL */

#endif
