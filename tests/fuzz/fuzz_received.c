/* channel/media: whatever a file claims to be called it gets a name that stays in its folder;
 * whatever is in it has a type. Input: a byte for kind and copy, then the name or head. */
#include "fuzz.h"

#include <string.h>

#include "base/text.h"
#include "channel/media.h"

static void is_safe(struct view v)
{
	must(v.n > 0 && v.n <= MEDIA_NAME_MAX);
	must(utf8_valid(v));
	must(!strchr(".-~ ", v.p[0]));
	must(v.p[v.n - 1] != '.' && v.p[v.n - 1] != ' ');
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		must(c >= 0x20 && c != 0x7f && !strchr("/\\:*?\"<>|", c));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str name = STR_INIT(MEDIA_NAME_MAX), again = STR_INIT(MEDIA_NAME_MAX);
	enum chan_item_kind kind;
	struct view claimed;
	const char *type;

	if (size == 0)
		return 0;
	kind = (enum chan_item_kind)(data[0] % (CHAN_OTHER + 1));
	claimed = (struct view){ (const char *)data + 1, size - 1 };
	type = media_sniff(data + 1, size - 1 < MEDIA_HEAD ? size - 1 : MEDIA_HEAD);
	must(strlen(type) <= MEDIA_TYPE_MAX && strchr(type, '/'));
	must(media_name(&name, claimed, kind, type, data[0] / 8) == 0);
	is_safe(str_view(&name));
	must(media_name(&again, str_view(&name), kind, type, 1) == 0);
	is_safe(str_view(&again));
	str_release(&name);
	str_release(&again);
	return 0;
}
