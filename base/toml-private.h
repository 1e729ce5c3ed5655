/* base/toml-private.h: shared by toml.c, toml_keys.c and toml_edit.c. */
#ifndef BASE_TOML_PRIVATE_H
#define BASE_TOML_PRIVATE_H

#include "base/toml.h"

/* A value, or a table's header. */
struct entry {
	char *key; /* in full */
	bool is_value;
	size_t table_len; /* of the header that a value stands under, as part of its key; 0: none */
	struct toml_value value;
};

struct toml {
	struct entry *entries;
	size_t n, cap;
	struct entry *tables; /* headers, for their names and places */
	size_t ntables, tables_cap;
	char **texts; /* every string the values point to */
	size_t ntexts;
	const char ***lists;
	size_t nlists;
};

struct scanner {
	const char *begin, *p, *end;
	const char *at; /* the last place asked for, with its line and column */
	int line, col;
};

/* As toml_read_value; *text becomes the bytes of the value alone. */
int toml_read_one(struct toml **hold, struct toml_value *out, struct view *text, struct err *e);
int toml_check_keys(const struct toml *t, struct err *e);

struct scanner toml_scanner(struct view text);
void toml_skip_blank(struct scanner *s);
int toml_scan_key(struct scanner *s, struct str *out, struct err *e);
int toml_scan_value(struct toml *t, struct scanner *s, struct toml_value *v, struct err *e);
/* At '[': the table's name, to the end of its line. */
int toml_scan_table(struct scanner *s, struct str *name, struct err *e);

#endif
