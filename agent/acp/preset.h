/* agent/acp/preset.h: agents that are known by name, as a table: how each is started, what it may
 * inherit, where it keeps its own things, how its user logs in (acp, sections 17 and 18). */
#ifndef AGENT_ACP_PRESET_H
#define AGENT_ACP_PRESET_H

#include <stdbool.h>
#include <stddef.h>

struct acp_preset {
	const char *name;     /* "kimi" */
	const char *title;    /* "Kimi Code" */
	const char *argv[4];  /* the program and its arguments, NULL-terminated */
	const char *beside;   /* where else the program may be, below the user's home; NULL */
	const char *version;  /* the argument that makes it tell its version */
	const char *login;    /* what to type on the host to log in */
	const char *install;  /* what to type to install it */
	const char *keys[6];  /* names of variables with credentials that it may inherit */
	const char *fixed[4]; /* "NAME=value" that it always gets */
	/* Where it keeps its own things, below the user's home: folders, which are made so that
	 * they can be there for it to write to, and files. */
	const char *homes[6], *files[2];
	/* Instructions to its main agent, a file below the workspace: Markdown with front
	 * matter. */
	const char *manual;
	bool own_files; /* it cannot work with the offer to read and write files for it */
};

/* NULL: there is none of that name. */
const struct acp_preset *acp_preset_find(const char *name);
const struct acp_preset *acp_preset_at(size_t i); /* NULL behind the last */

#endif
