/* cli/config-private.h: what the files of the settings share: config_table.c (every key),
 * config_value.c (one value: into its field, out of it), config_check.c (what the table cannot say
 * of a value), config.c (reading) and config_edit.c (writing). */
#ifndef CLI_CONFIG_PRIVATE_H
#define CLI_CONFIG_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "base/toml.h"
#include "cli/config.h"

/* A key and where its value goes. */
struct config_row {
	struct config_key key;
	size_t offset;
	const char *env; /* an override from the environment, or NULL */
};

#define CONFIG_OFFSET(field) offsetof(struct config, field)

/* --- The table -------------------------------------------------------------------------------- */
const struct config_row *config_row_at(size_t i); /* NULL behind the last */
const struct config_row *config_row_named(const char *name);

/* --- One value -------------------------------------------------------------------------------- */
/* Of a string, a path or one of several words; of a list, NULL before it is filled. */
char *config_string(const struct config *c, const struct config_row *r);
char **config_list(const struct config *c, const struct config_row *r);
/* Does it fit the key, as far as the key's type goes? */
bool config_fits(const struct config_row *r, const struct toml_value *v);
int config_misfit(const struct config_row *r, struct err *e); /* says what fits; -1 */
/* A copy takes the place of the value there was. */
int config_put(struct config *c, const struct config_row *r, const struct toml_value *v,
	struct err *e);
int config_put_string(struct config *c, const struct config_row *r, const char *s, struct err *e);
int config_put_default(struct config *c, const struct config_row *r, struct err *e);
void config_drop(struct config *c, const struct config_row *r); /* frees it; the field stays */
void config_exchange(struct config *a, struct config *b, const struct config_row *r);

bool config_is_plain(const char *s); /* text for headers, paths and logs */
bool config_is_path(const char *s);  /* "", absolute, or with "~/" before it */
/* The value of one key, once it is in its place. */
int config_check(const struct config *c, const struct config_row *r, struct err *e);

/* --- The file --------------------------------------------------------------------------------- */
/* Its path and its text, "" when there is none. */
int config_read_file(const char *home, char path[PATH_SIZE], struct str *text, struct err *e);
/* The settings that a text makes, with the environment's overrides or without. */
int config_from_text(struct config **out, const char *home, struct view text, bool env,
	struct err *e);
/* A message of base/toml, which begins with "line:col: ", with the file before it. */
void config_in_file(const struct err *toml, struct err *e);

#endif
