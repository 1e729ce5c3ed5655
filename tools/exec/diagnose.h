/* tools/exec/diagnose.h: what is plainly wrong with a text that was just written.
 *
 * By the file's name: JSON and TOML are parsed, Python's strings, brackets and indentation are
 * looked at (parse_python.c asks Python itself for the rest), for C, C++, Java, JavaScript,
 * TypeScript, Go, Rust and CSS the brackets. What cannot be told for certain is not said: no
 * finding is no promise. The write is done by then and stays done. */
#ifndef TOOLS_EXEC_DIAGNOSE_H
#define TOOLS_EXEC_DIAGNOSE_H

#include <stdbool.h>

#include "base/str.h"

#define DIAGNOSE_BYTES_MAX ((size_t)1 << 20) /* longer texts are not looked at, which is said */

/* Appends at most one line, in time linear in the text. True: it is Python in which nothing was
 * found; Python itself can tell more. */
bool diagnose(const char *path, struct view text, struct str *out);

#endif
