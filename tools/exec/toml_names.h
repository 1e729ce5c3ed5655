/* tools/exec/toml_names.h: which tables and keys a TOML document has defined so far, and whether
 * one more name may stand (TOML 1.0: Keys, Table, Inline Table, Array of Tables). For
 * check_toml.c. */
#ifndef TOOLS_EXEC_TOML_NAMES_H
#define TOOLS_EXEC_TOML_NAMES_H

#include "base/str.h"

struct toml_names; /* NULL: no memory; then no name ever stands twice */

struct toml_names *toml_names_open(void);
void toml_names_close(struct toml_names **n);

#define TOML_DOCUMENT 0 /* the table that all of it is */

enum toml_use {
	TOML_THROUGH, /* a part of a dotted key that others follow */
	TOML_DOWN,    /* the same of a [header] */
	TOML_VALUE,   /* the last part: of a key, */
	TOML_TABLE,   /* of a [header], */
	TOML_ITEM,    /* of a [[header]] */
};

/* part lives as long as the names do; an empty view without a place is a name that is like no
 * other. Returns the table it stands for; -1: it may not stand here. */
int toml_names_add(struct toml_names *n, int in, struct view part, enum toml_use use);
/* Dotted keys from here on belong to this table: that of a header, or an inline one. Returns the
 * one before. */
int toml_names_section(struct toml_names *n, int table);

#endif
