/* tools/exec/template.h: the starter projects, as data. */
#ifndef TOOLS_EXEC_TEMPLATE_H
#define TOOLS_EXEC_TEMPLATE_H

#include "base/str.h"

#define TEMPLATE_FILES_MAX 8

struct template_file {
	const char *path; /* below the project's folder; NULL ends the list */
	const char
		*text; /* with @name@, and @about@ as it is, @about:q@ quoted, @about:x@ for XML */
};

struct template
{
	const char *name;  /* what the model asks for */
	const char *about; /* the description of a project that has none */
	const char *run;   /* how it is run, in its folder */
	struct template_file files[TEMPLATE_FILES_MAX + 1];
};

const struct template *template_at(size_t i);           /* NULL behind the last */
const struct template *template_find(struct view name); /* NULL: there is none */
/* "python, node, java or c" */
void template_names(struct str *out);
/* Appends the text with its places filled in. about is one line without control characters. */
void template_fill(const char *text, struct view name, struct view about, struct str *out);

#endif
