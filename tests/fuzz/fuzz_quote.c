/* channel/quote: five lines are the two ends, the hash and the two numbers, the rest is the text.
 * What is quoted is always a part of it, and unless it is all of it, it begins and ends with the
 * marks. */
#include "fuzz.h"

#include "channel/quote.h"

#include <string.h>

static struct view take_line(struct view *v)
{
	struct view line = view_cut(*v, view_find(*v, '\n'));

	*v = view_from(*v, line.n + 1);
	return line;
}

static int64_t number(struct view v)
{
	long long n;

	return parse_i64(v, &n) == 0 && n >= 0 ? n : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size }, part;
	struct view first = take_line(&v), last = take_line(&v), md5 = take_line(&v);
	char start[256], end[256], hash[33];
	struct chan_partial p = { start, end, number(take_line(&v)), number(take_line(&v)), hash };

	if (copy_z(start, sizeof(start), first) < 0 || copy_z(end, sizeof(end), last) < 0 ||
		copy_z(hash, sizeof(hash), md5) < 0 || first.n == 0 || last.n == 0)
		p.start = NULL;
	part = quote_part(v, &p);
	must(part.n == 0 || (part.p >= v.p && part.p + part.n <= v.p + v.n));
	must(part.n == v.n || (view_starts(part, first) && view_ends(part, last)));
	must(p.start || part.n == v.n);
	return 0;
}
