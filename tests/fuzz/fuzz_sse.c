/* base/net/sse: however the stream is cut, the same events come out and the same verdict. */
#include "fuzz.h"

#include "base/net/sse.h"
#include "base/text.h"

#include <string.h>

struct outcome {
	struct str events; /* type, NUL, data, NUL NUL each */
	int rc;
	size_t event_max;
};

static int note(void *arg, struct view type, struct view data)
{
	struct outcome *o = arg;

	must(utf8_valid(type) && utf8_valid(data));
	must(type.n <= o->event_max && data.n <= o->event_max);
	must(view_find(type, '\n') == type.n && view_find(data, '\r') == data.n);
	str_add(&o->events, type);
	str_addc(&o->events, '\0');
	str_add(&o->events, data);
	str_add(&o->events, (struct view){ "\0", 2 });
	must(str_ok(&o->events));
	return 0;
}

/* The first piece has `first` bytes, the others `step`. */
static void run(struct outcome *o, struct view in, size_t first, size_t step, size_t total_max)
{
	struct err e = ERR_INIT;
	struct sse *s;

	must(sse_open(&s, o->event_max, total_max, note, o, &e) == 0);
	o->rc = sse_feed(s, view_cut(in, first), &e);
	for (in = view_from(in, first); in.n > 0 && o->rc == 0; in = view_from(in, step))
		o->rc = sse_feed(s, view_cut(in, step), &e);
	if (o->rc == 0)
		o->rc = sse_end(s, &e);
	must(o->rc == 0 || (o->rc == -1 && e.code == E_FORMAT && e.msg[0]));
	sse_close(&s);
}

static void compare(struct view in, size_t event_max, size_t total_max)
{
	const size_t cuts[][2] = { { 0, 1 }, { 1, 3 }, { in.n / 2, in.n + 1 },
		{ in.n ? (unsigned char)in.p[0] % in.n : 0, 7 } };
	struct outcome whole = { .events = STR_INIT((size_t)64 << 20), .event_max = event_max };

	run(&whole, in, in.n, 1, total_max);
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		struct outcome o = { .events = STR_INIT((size_t)64 << 20), .event_max = event_max };

		run(&o, in, cuts[i][0], cuts[i][1], total_max);
		must(o.rc == whole.rc);
		must(view_eq(str_view(&o.events), str_view(&whole.events)));
		str_release(&o.events);
	}
	str_release(&whole.events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };

	compare(in, (size_t)1 << 20, (size_t)1 << 20);
	compare(in, 24, 200);
	return 0;
}
