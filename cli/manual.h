/* cli/manual.h: the operator's words in an agent's own file of instructions for the workspace,
 * where the agent has one (Kimi Code: .kimi-code/agents/agent.md). They stand there in a block with
 * marks; what is around it stays as it is. Only in the workspace that kairo makes itself: no other
 * project is touched. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/acp/preset.h"
#include "base/err.h"
#include "base/str.h"

#define MANUAL_MAX   ((size_t)256 << 10) /* bytes of the file */
#define MANUAL_BEGIN "<!-- kairo: begin. What stands outside of this block is yours. -->"
#define MANUAL_END   "<!-- kairo: end -->"

/* What the file is to be: `old` ("" where there is none) with the words as its block, or without
 * one when they are empty; *out is empty when nothing is left that is not ours. E_DENIED: what is
 * there is no file of instructions for the main agent; E_FORMAT: its marks, or those in words, are
 * not a pair. Pure. */
int manual_merge(struct view old, struct view words, struct str *out, struct err *e);

/* Brings the file to that. 1: the words stand there; 0: there are none, or the agent has no such
 * file; -1: it is not touched. */
int manual_place(const struct acp_preset *preset, const char *workspace, const char *words,
	struct err *e);

#endif
