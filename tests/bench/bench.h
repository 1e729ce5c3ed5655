/* tests/bench/bench.h: time and figures, the same way in every benchmark. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline double bench_now(void) /* seconds, monotonic */
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first lines of every benchmark: figures without their build mean nothing. */
static inline void bench_title(const char *title)
{
#ifdef __SANITIZE_ADDRESS__
	const char *note = ", sanitizers on: the figures say little";
#else
	const char *note = "";
#endif
	printf("%s\nkairo %s, %s build, %s, %ld processors%s\n", title, KAIRO_VERSION, BENCH_BUILD,
		BENCH_COMPILER, sysconf(_SC_NPROCESSORS_ONLN), note);
}

/* Of this process alone: what others run at the same time is not counted. */
static inline double bench_cpu(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A large block taken first makes malloc sort what the run before has freed, which would otherwise
 * fall to whoever is the first to need one. */
static inline double bench_once(void (*run)(void *), void *arg)
{
	void *volatile large = malloc(100000);
	double from;

	free(large);
	from = bench_cpu();

	run(arg);
	return bench_cpu() - from;
}

/* Seconds of processor time that the quickest run takes each of two ways, tried in turns, so that
 * whatever else the machine does hits both: as many turns as fit in a second, three at least.
 * Either may be NULL. */
static inline void bench_versus(void (*one)(void *), void (*two)(void *), void *arg, double best[2])
{
	double start = bench_now();

	best[0] = best[1] = 1e9;
	for (int i = 0; i < 3 || (i < 100000 && bench_now() - start < 1.0); i++) {
		double a = one ? bench_once(one, arg) : 0, b = two ? bench_once(two, arg) : 0;

		best[0] = a < best[0] ? a : best[0];
		best[1] = b < best[1] ? b : best[1];
	}
}

static inline double bench_best(void (*run)(void *), void *arg)
{
	double best[2];

	bench_versus(run, NULL, arg, best);
	return best[0];
}

static inline void bench_rate(const char *what, size_t bytes, double seconds)
{
	printf("  %-44s %9.1f MB/s  %10.1f us\n", what, (double)bytes / 1e6 / seconds,
		seconds * 1e6);
}

/* "gate and parse: 1.24 times the parser alone" */
static inline void bench_ratio(const char *what, double seconds, const char *base,
	double base_seconds)
{
	printf("  %-44s %9.2f times %s\n", what, seconds / base_seconds, base);
}

static inline int bench_by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of n samples, which are sorted on the way: q = 0.5 is the median. */
static inline double bench_quantile(double *samples, size_t n, double q)
{
	qsort(samples, n, sizeof(*samples), bench_by_value);
	return samples[(size_t)((double)(n - 1) * q)];
}

static inline void bench_latency(const char *what, double *samples, size_t n)
{
	printf("  %-44s %9.2f ms median, %.2f ms 95 %%, %.2f ms worst of %zu\n", what,
		bench_quantile(samples, n, 0.5) * 1e3, bench_quantile(samples, n, 0.95) * 1e3,
		bench_quantile(samples, n, 1.0) * 1e3, n);
}

#endif
