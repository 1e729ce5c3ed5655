/* tests/unit/agent/dot.h: a PNG of one red pixel, as it is and as it is shown. */
#ifndef TESTS_UNIT_AGENT_DOT_H
#define TESTS_UNIT_AGENT_DOT_H

#include "base/base64.h"
#include "base/file.h"

#define DOT \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSu" \
	"QmCC"

static inline void put_dot(const char *path)
{
	struct str bytes = STR_INIT(1000);

	assert_int_equal(0, base64_decode(VIEW(DOT), &bytes));
	assert_int_equal(0, file_replace(path, 0600, str_view(&bytes), NULL));
	str_release(&bytes);
}

#endif
