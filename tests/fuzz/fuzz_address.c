/* tools/host/address: a normal form is its own normal form, and what is found in a text is one. */
#include "fuzz.h"

#include <string.h>

#include "tools/host/address.h"

static void must_be_normal(void *arg, struct view normal)
{
	struct str again = STR_INIT(ADDRESS_MAX + 16);

	(void)arg;
	must(normal.n > 8 && !memchr(normal.p, '\n', normal.n) && !memchr(normal.p, ' ', normal.n));
	must(normal.n > ADDRESS_MAX || address_normal(normal, &again) == 0);
	must(normal.n > ADDRESS_MAX || view_eq(normal, str_view(&again)));
	str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct str normal = STR_INIT(ADDRESS_MAX + 16);

	if (address_normal(v, &normal) == 0)
		must_be_normal(NULL, str_view(&normal));
	address_each(v, must_be_normal, NULL);
	str_release(&normal);
	return 0;
}
