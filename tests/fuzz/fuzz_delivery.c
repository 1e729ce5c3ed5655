/* channel/delivery: what is left of an answer and what was taken out are pieces of it in order;
 * text without a mark stays as it is; what is left wants nothing more sent. */
#include "fuzz.h"

#include "channel/delivery.h"

#include <string.h>

static void check_views(const struct delivery *d, struct view answer)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct delivery_file *f = &d->files[i];
		struct str body = STR_INIT(answer.n);

		must(f->path.n <= answer.n && f->body.n <= answer.n);
		if (f->path.n > 0)
			must(f->path.p >= answer.p && f->path.p + f->path.n <= answer.p + answer.n);
		must(!f->block || f->path.n > 0);
		must(delivery_body(f, &body, NULL) == 0 && body.n <= f->body.n);
		str_release(&body);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view answer = { (const char *)data, size };
	struct str text = STR_INIT(size);
	struct delivery d;

	must(delivery_read(&d, answer, &text, NULL) == 0);
	must(text.n <= size && d.n <= DELIVERY_MAX && (d.surplus == 0 || d.n == DELIVERY_MAX));
	if (d.n == 0)
		must(view_eq(str_view(&text), answer));
	else
		must(text.n < size);
	check_views(&d, answer);
	str_release(&text);
	return 0;
}
