#include "tools/exec/evidence.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

void evidence_add(struct evidence *ev, struct view in)
{
	if (ev->total < EVIDENCE_HEAD) {
		size_t room = EVIDENCE_HEAD - (size_t)ev->total;
		struct view first = view_cut(in, room);

		memcpy(ev->head + ev->total, first.p, first.n);
		ev->total += first.n;
		in = view_from(in, first.n);
	}
	while (in.n > 0) {
		size_t at = (size_t)((ev->total - EVIDENCE_HEAD) % EVIDENCE_TAIL);
		struct view part = view_cut(in, EVIDENCE_TAIL - at);

		memcpy(ev->tail + at, part.p, part.n);
		ev->total += part.n;
		in = view_from(in, part.n);
	}
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Without the beginning of a character whose rest is not there. */
static struct view whole_end(struct view v)
{
	size_t n = v.n;

	while (n > 0 && v.n - n < 3 && continues(v.p[n - 1]))
		n--;
	if (n > 0 && (unsigned char)v.p[n - 1] >= 0xc0 && utf8_valid_span(view_from(v, n - 1)) == 0)
		return view_cut(v, n - 1);
	return v;
}

/* Without the rest of a character whose beginning is not there. */
static struct view whole_start(struct view v)
{
	for (int i = 0; i < 3 && v.n > 0 && continues(v.p[0]); i++)
		v = view_from(v, 1);
	return v;
}

/* What was kept of what came after the head, in order. */
static void unroll(const struct evidence *ev, struct str *out)
{
	uint64_t n = ev->total - EVIDENCE_HEAD;
	size_t at = (size_t)(n % EVIDENCE_TAIL);

	if (n < EVIDENCE_TAIL) {
		(void)str_add(out, (struct view){ ev->tail, (size_t)n });
		return;
	}
	(void)str_add(out, (struct view){ ev->tail + at, EVIDENCE_TAIL - at });
	(void)str_add(out, (struct view){ ev->tail, at });
}

static bool is_text(struct view v)
{
	return utf8_valid(v) && view_find(v, '\0') == v.n;
}

static void write_name(const struct evidence *ev, const char *name, uint64_t missing, bool text,
	struct str *out)
{
	(void)str_addf(out, "[%s: %" PRIu64 " byte%s", name, ev->total, ev->total == 1 ? "" : "s");
	if (missing > 0)
		(void)str_addf(out, ", truncated: %" PRIu64 " in the middle are left out", missing);
	if (!text)
		(void)str_adds(out, ", not all of them text: what cannot be shown is left out");
	(void)str_adds(out, "]\n");
}

/* On lines of its own. */
static void write_part(struct view v, struct str *out)
{
	(void)text_safe(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, out);
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		(void)str_addc(out, '\n');
}

static void write_cut(const struct evidence *ev, const char *name, struct view kept,
	struct str *out)
{
	struct view head = whole_end(view_cut(kept, EVIDENCE_HEAD));
	struct view tail = whole_start(view_from(kept, EVIDENCE_HEAD));
	uint64_t missing = ev->total - head.n - tail.n;

	write_name(ev, name, missing, is_text(head) && is_text(tail), out);
	write_part(head, out);
	(void)str_addf(out, "[... %" PRIu64 " bytes of %s are left out here ...]\n", missing, name);
	write_part(tail, out);
}

void evidence_write(const struct evidence *ev, const char *name, struct str *out)
{
	struct str kept = STR_INIT(EVIDENCE_HEAD + EVIDENCE_TAIL);
	size_t head = ev->total < EVIDENCE_HEAD ? (size_t)ev->total : EVIDENCE_HEAD;

	if (ev->total == 0)
		return;
	(void)str_add(&kept, (struct view){ ev->head, head });
	if (ev->total > EVIDENCE_HEAD)
		unroll(ev, &kept);
	if (!str_ok(&kept)) {
		(void)str_addf(out, "[%s: %" PRIu64 " bytes, lost for want of memory]\n", name,
			ev->total);
	} else if (ev->total > EVIDENCE_HEAD + EVIDENCE_TAIL) {
		write_cut(ev, name, str_view(&kept), out);
	} else {
		write_name(ev, name, 0, is_text(str_view(&kept)), out);
		write_part(str_view(&kept), out);
	}
	str_release(&kept);
}
