/* Plain stand-ins for the formatter: text as it is, parts of equal length. */
#include "formatter/formatter.h"

#include <stdlib.h>

#include "base/text.h"

int format_text(struct view markdown, const struct format_opts *o, struct str *out, struct err *e)
{
	(void)o;
	return str_add(out, markdown) < 0 ? err_set(e, E_NOMEM, "text") : 0;
}

int chunk_text(struct view formatted, size_t limit, struct chunks *out, struct err *e)
{
	size_t at = 0;

	*out = (struct chunks){ NULL, 0, STR_INIT(FORMAT_OUT_MAX) };
	if (str_add(&out->text, formatted) < 0)
		return err_set(e, E_NOMEM, "text");
	while (at < formatted.n) {
		struct view rest = view_from(str_view(&out->text), at);
		size_t n = utf8_cut_chars(rest, limit);
		struct view *parts = realloc(out->parts, (out->n + 1) * sizeof(*parts));

		if (!parts)
			return err_set(e, E_NOMEM, "parts");
		out->parts = parts;
		out->parts[out->n++] = view_cut(rest, n);
		at += n;
	}
	return 0;
}

void chunks_release(struct chunks *c)
{
	free(c->parts);
	str_release(&c->text);
	c->parts = NULL;
	c->n = 0;
}
