/* agent: the pictures that a text names, whatever the text. */
#include "fuzz.h"

#include <string.h>

#include "agent/pictures.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view text = { (const char *)data, size };
	struct str path = STR_INIT(PATH_SIZE - 1);
	size_t at = 0, before;

	do {
		before = at;
		if (!image_ref_next(text, &at, &path))
			break;
		must(at > before && at <= size);
		must(path.n > 0 && strlen(str_cstr(&path)) == path.n);
	} while (at < size);
	must(at <= size);
	str_release(&path);
	return 0;
}
