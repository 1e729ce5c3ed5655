/* base/json: the gate and the reading agree, and what is read is printed and read again the same.
 */
#include "fuzz.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

#define ROOM ((size_t)64 << 20)

/* Whatever the value is, no getter may do more than say no. */
static void ask_everything(const struct json *obj, const char *name)
{
	static const char *const words[] = { "a", "b", NULL };
	struct view v;
	const struct json *sub;
	int64_t i;
	uint64_t u;
	double d;
	bool b;
	int at;
	char id[21];

	if (json_get_str(obj, name, JSON_OPTIONAL, 0, ROOM, &v, NULL) == 1)
		must(utf8_valid(v) && view_find(v, '\0') == v.n && v.p[v.n] == '\0');
	if (json_get_id(obj, name, JSON_REQUIRED, id, NULL) == 1)
		must(parse_u64(view_of(id), &(unsigned long long){ 0 }) == 0);
	if (json_get_int(obj, name, JSON_REQUIRED, 0, INT64_MAX, &i, NULL) == 1)
		must(json_get_u64(obj, name, JSON_REQUIRED, &u, NULL) == 1 && u == (uint64_t)i);
	(void)json_get_double(obj, name, JSON_OPTIONAL, &d, NULL);
	(void)json_get_bool(obj, name, JSON_OPTIONAL, &b, NULL);
	(void)json_get_object(obj, name, JSON_OPTIONAL, &sub, NULL);
	(void)json_get_array(obj, name, JSON_OPTIONAL, 3, &sub, NULL);
	(void)json_get_enum(obj, name, JSON_OPTIONAL, words, &at, NULL);
}

static void prints_and_reads_the_same(const struct json *j)
{
	struct json_limits lim = json_limits_wire;
	struct str once = STR_INIT(ROOM), twice = STR_INIT(ROOM), copy = STR_INIT(ROOM);
	struct json *again = NULL;
	struct json_out w;

	lim.bytes = ROOM;
	must(json_print(j, &once, NULL) == 0);
	must(json_read(&again, str_view(&once), &lim, NULL) == 0);
	must(json_print(again, &twice, NULL) == 0);
	must(view_eq(str_view(&once), str_view(&twice)));
	json_out_begin(&w, &copy);
	json_put_json(&w, NULL, j);
	must(json_out_end(&w, NULL) == 0);
	must(view_eq(str_view(&once), str_view(&copy)));
	json_free(&again);
	str_release(&once);
	str_release(&twice);
	str_release(&copy);
}

/* Text that already is JSON stays one line of the same JSON. */
static void raw_is_copied(struct view v)
{
	struct str raw = STR_INIT(ROOM);
	struct json_out w;

	json_out_begin(&w, &raw);
	json_put_raw(&w, NULL, v);
	must(json_out_end(&w, NULL) == 0);
	must(view_find(str_view(&raw), '\n') == raw.n);
	must(json_check(str_view(&raw), &json_limits_wire, NULL) == 0);
	str_release(&raw);
}

static void read_with(struct view v, const struct json_limits *lim)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;
	int checked = json_check(v, lim, NULL);

	if (json_read(&j, v, lim, &e) < 0) {
		must(!j && e.code == E_FORMAT && utf8_valid(view_of(e.msg)));
		must(checked < 0 || strstr(e.msg, "appears twice"));
		return;
	}
	must(checked == 0);
	prints_and_reads_the_same(j);
	json_each(it, j) {
		if (json_name(it))
			ask_everything(j, json_name(it));
	}
	json_free(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };

	read_with(v, &json_limits_wire);
	read_with(v, &json_limits_message);
	if (json_check(v, &json_limits_wire, NULL) == 0) {
		must(utf8_valid(v));
		must(json_check(v, &json_limits_message, NULL) == 0);
		raw_is_copied(v);
	}
	return 0;
}
