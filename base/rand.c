#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_bytes(void *p, size_t n)
{
	unsigned char *at = p;

	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort(); /* no kernel we run on; guessable ids would be worse than none */
		at += got;
		n -= (size_t)got;
	}
}

uint64_t rand_u64(void)
{
	uint64_t v;

	rand_bytes(&v, sizeof(v));
	return v;
}

/* The bytes are made in the second half of their own text, which is written from the front. */
void rand_hex(char *out, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char *b = (unsigned char *)out + bytes;

	rand_bytes(b, bytes);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char v = b[i];

		out[2 * i] = digits[v >> 4];
		out[2 * i + 1] = digits[v & 15];
	}
	out[2 * bytes] = '\0';
}
