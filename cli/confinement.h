/* cli/confinement.h: what confines tools on this machine, as text for people. */
#ifndef CLI_CONFINEMENT_H
#define CLI_CONFINEMENT_H

#include "tools/host/sandbox.h"

/* One line, appended: what holds, and where a promise is weaker for the lack of something. */
void confinement_text(const struct sandbox *s, bool zh, struct str *out);

#endif
