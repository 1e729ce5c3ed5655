#include "base/text.h"

#include <string.h>

size_t text_distance(const char *a, const char *b)
{
	enum { MAX = 48 };
	size_t row[MAX + 1], na = strnlen(a, MAX), nb = strnlen(b, MAX);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = diag + (a[i - 1] != b[j - 1]);

			diag = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}
