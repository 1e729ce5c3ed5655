/* tools/exec/call.h: one call of a tool, as the daemon asks for it.
 *
 * Request, one line of JSON: {"tool":NAME,"args":{...},"workspace":PATH,"read":[PATH...],
 * "required":BOOL,"network":BOOL,"argv":[TEXT...],"time_ms":N}. read, network (false), argv (none)
 * and time_ms may be absent. Events, JSON lines: {"event":"fence","landlock":N,"seccomp":BOOL},
 * {"event":"acting"} ahead of the first side effect, and at the end
 * {"event":"result","ok":BOOL,"text":TEXT}. */
#ifndef TOOLS_EXEC_CALL_H
#define TOOLS_EXEC_CALL_H

#define CALL_REQUEST_MAX ((size_t)8 << 20) /* a page of 5 MiB in base64, or a file's content */
#define CALL_ARGV_MAX    4096

/* Reads the request from `in`, answers on `out`; the end of `in` ends the call. Returns what the
 * program should exit with. */
int call_main(int in, int out);

#endif
