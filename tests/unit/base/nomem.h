/* Allocations of our own code that fail on demand: the linker wraps malloc and its like (see
 * kairo_nomem in tests/CMakeLists.txt). To be included by one file of a program. */
#ifndef TESTS_NOMEM_H
#define TESTS_NOMEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "scratch.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int nomem_left = -1; /* allocations until one fails; -1: none does */

static bool nomem_now(void)
{
	return nomem_left >= 0 && nomem_left-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return nomem_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return nomem_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return nomem_now() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return nomem_now() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return nomem_now() ? NULL : __real_strndup(s, n);
}

int __wrap_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (nomem_now())
		return -1;
	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}

/* 0, or -1 with the error. What it leaves in the folder is there when it has failed and is called
 * again; prepare (or NULL) runs before each call, with memory. */
typedef int nomem_scenario(struct scratch *s, struct err *e);
typedef void nomem_prepare(struct scratch *s);

/* Run it with the first allocation failing, the second, ... until all of them succeed: an error
 * says that memory was wanting, and nothing crashes or leaks. */
static void nomem_each_once(nomem_scenario *run, nomem_prepare *prepare)
{
	int failed = 0;

	for (int n = 0;; n++) {
		struct err e = ERR_INIT;
		struct scratch s;
		int rc, unused;

		scratch_make(&s);
		if (prepare)
			prepare(&s);
		nomem_left = n;
		rc = run(&s, &e);
		unused = nomem_left;
		nomem_left = -1;
		scratch_remove(&s);
		if (unused >= 0) { /* the failure was not reached */
			if (rc != 0)
				fail_msg("%s", e.msg);
			break;
		}
		if (rc < 0) {
			if (e.code != E_NOMEM)
				fail_msg("allocation %d: %s", n, e.msg);
			failed++;
		}
	}
	assert_true(failed > 0);
}

#endif
