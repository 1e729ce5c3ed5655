/* A resolver of the test's own, in place of the C library's: curl's threads call this one.
 *
 * "a-b-c-d.ip4.test" is the IPv4 address a.b.c.d; "mapped.ip6.test" ::ffff:127.0.0.1,
 * "one.ip6.test"
 * ::1; "both.test" 127.0.0.1 and ::1; "stuck.test" does not return before resolver_release; all
 * else does not exist. */
#ifndef TESTS_UNIT_NET_RESOLVER_H
#define TESTS_UNIT_NET_RESOLVER_H

int resolver_stuck(void);    /* lookups that hang at this moment */
void resolver_release(void); /* let them go, and wait until they have gone */
int resolver_calls(void);

#endif
