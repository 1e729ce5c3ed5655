/* kairo-tool: the program that lives inside the fence. It is started by kairo, one process a call,
 * and holds nothing worth stealing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/exec/call.h"
#include "tools/exec/fence.h"

#define REQUEST_FD 3
#define EVENTS_FD  4

int main(int argc, char **argv)
{
	fence_process();
	if (argc == 2 && strcmp(argv[1], "call") == 0) {
		(void)close_range(EVENTS_FD + 1, ~0U, 0);
		return call_main(REQUEST_FD, EVENTS_FD);
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)puts("kairo-tool " KAIRO_VERSION);
		return EXIT_SUCCESS;
	}
	(void)fputs("kairo-tool runs the tools of kairo's agent and is started by kairo itself.\n"
		    "usage: kairo-tool call   request on descriptor 3, events on descriptor 4\n",
		stderr);
	return 2;
}
