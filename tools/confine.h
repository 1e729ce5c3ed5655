/* tools/confine.h: what this kernel can confine a tool with; asked by both sides of the fence. */
#ifndef TOOLS_CONFINE_H
#define TOOLS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock's version; 0: the kernel has none, or it is switched off. */
static inline int confine_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1UL);

	return abi > 0 ? (int)abi : 0;
}

/* Filters that make a system call fail: SECCOMP_GET_ACTION_AVAIL of SECCOMP_RET_ERRNO. */
static inline bool confine_seccomp(void)
{
	uint32_t action = 0x00050000U;

	return syscall(SYS_seccomp, 2U, 0U, &action) == 0;
}

#endif
