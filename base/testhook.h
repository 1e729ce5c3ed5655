/* base/testhook.h: places where a test build stops dead, as a power cut would. */
#ifndef BASE_TESTHOOK_H
#define BASE_TESTHOOK_H

#ifdef KAIRO_TEST_HOOKS
/* When the environment has KAIRO_TEST_HALT=<where>, or <where>:<n> for the n-th time that it is
 * passed: raise SIGKILL on this process. */
void test_halt(const char *where);
#else
#define test_halt(where) ((void)0)
#endif

#endif
