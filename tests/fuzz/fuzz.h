/* tests/fuzz/fuzz.h: what every fuzz target needs. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that must hold for every input, in every build. */
#define must(claim) \
	do { \
		if (!(claim)) { \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #claim); \
			abort(); \
		} \
	} while (0)

#endif
