/* base/testhook.h: where a test build stops dead, as a power cut would, and where it need not
 * wait. */
#ifndef BASE_TESTHOOK_H
#define BASE_TESTHOOK_H

#ifdef KAIRO_TEST_HOOKS
#include <stdint.h>

/* When the environment has KAIRO_TEST_HALT=<where>, or <where>:<n> for the n-th time that it is
 * passed: raise SIGKILL on this process. */
void test_halt(const char *where);
/* A pause between two attempts, which is no longer than KAIRO_TEST_PAUSE milliseconds when the
 * environment has it. For pauses alone: a limit on how long something may take stays what it is. */
int64_t test_pause(int64_t ms);
#else
#define test_halt(where) ((void)0)
#define test_pause(ms)   (ms)
#endif

#endif
