#include "base/testhook.h"

#ifdef KAIRO_TEST_HOOKS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

void test_halt(const char *where)
{
	static unsigned long long passed; /* a process of a test build dies but once */
	const char *at = getenv("KAIRO_TEST_HALT");
	size_t n = strlen(where);
	unsigned long long nth = 1;

	if (!at || strncmp(at, where, n) != 0)
		return;
	if (at[n] && (at[n] != ':' || parse_u64(view_of(at + n + 1), &nth) < 0))
		return;
	if (++passed >= nth)
		kill(getpid(), SIGKILL);
}

int64_t test_pause(int64_t ms)
{
	const char *at = getenv("KAIRO_TEST_PAUSE");
	unsigned long long most;

	return at && parse_u64(view_of(at), &most) == 0 && (unsigned long long)ms > most
	               ? (int64_t)most
	               : ms;
}
#endif
