/* tools/exec/call.h: one call of a tool, as the daemon asks for it.
 *
 * The request (tools/exec/serve.h) has also {"tool":NAME,"args":{...},"argv":[TEXT...],"time_ms":N};
 * argv (none) and time_ms may be absent. Events, JSON lines: {"event":"fence","namespaces":BOOL,
 * "landlock":N,"seccomp":BOOL}, {"event":"acting"} ahead of the first side effect, and at the end
 * {"event":"result","ok":BOOL,"text":TEXT}, with "python":[PATH...] where files were written that
 * parse_python can be asked about. */
#ifndef TOOLS_EXEC_CALL_H
#define TOOLS_EXEC_CALL_H

#include "tools/exec/serve.h"

#define CALL_ARGV_MAX 4096

extern const struct service call_service;

#endif
