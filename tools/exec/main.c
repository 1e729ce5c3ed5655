/* kairo-tool: the program that lives inside the fence. It is started by kairo, one process a call,
 * and holds nothing worth stealing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/exec/call.h"
#include "tools/exec/fence.h"
#include "tools/exec/launch.h"
#include "tools/exec/probe.h"
#include "tools/exec/relay.h"
#include "tools/exec/session.h"
#include "tools/exec/terminal.h"

#define REQUEST_FD 3
#define EVENTS_FD  4

static const struct service *const services[] = { &call_service, &session_service,
	&terminal_service };

static const struct service *find_service(const char *mode)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (strcmp(mode, services[i]->mode) == 0)
			return services[i];
	return NULL;
}

static int run_service(const struct service *sv, bool inside)
{
	(void)clearenv();
	(void)close_range(inside ? SERVE_REQUEST_FD + 1 : EVENTS_FD + 1, ~0U, 0);
	return serve(sv, REQUEST_FD, EVENTS_FD, inside);
}

int main(int argc, char **argv)
{
	const struct service *sv = argc == 2 || argc == 3 ? find_service(argv[1]) : NULL;

	fence_process();
	if (sv && argc == 2)
		return run_service(sv, false);
	if (sv && strcmp(argv[2], SERVE_INSIDE) == 0)
		return run_service(sv, true);
	if (argc > 2 && strcmp(argv[1], "supervise") == 0)
		return launch_main((const char *const *)argv + 2);
	if (argc == 3 && strcmp(argv[1], "probe") == 0)
		return probe_main(argv[2]);
	if (argc == 2 && strcmp(argv[1], "libraries") == 0)
		return probe_libraries();
	if (argc == 2 && strcmp(argv[1], "relay") == 0)
		return relay_main();
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)puts("kairo-tool " KAIRO_VERSION);
		return EXIT_SUCCESS;
	}
	(void)fputs(
		"kairo-tool runs the tools of kairo's agent and is started by kairo itself.\n"
		"usage: kairo-tool call|session|terminal\n"
		"                                   request on descriptor 3, events on descriptor 4\n"
		"       kairo-tool supervise ...    a program on a lifeline, descriptor 3\n"
		"       kairo-tool probe WORKSPACE  what can confine tools here, as one line of JSON\n"
		"       kairo-tool libraries        what cannot be read here, as a library is missing\n"
		"       kairo-tool relay            what an agent's hook tells, to the daemon above it\n",
		stderr);
	return 2;
}
