/* cli/keys.h: keys of the model's providers and of web search: files beside the settings. They are
 * loaded and stored by config.h. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stdbool.h>

/* Has this provider (canonical name) a key of its own? */
bool key_is_stored(const char *home, const char *provider);
void key_wipe(char **key); /* overwritten, freed, NULL */

#endif
