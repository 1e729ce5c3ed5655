#include "tools/host/todo.h"

#include <stdlib.h>

#include "base/json.h"
#include "tools/host/native.h"

#define REPLY_MAX ((size_t)TODO_ITEMS_MAX * (TODO_TEXT_MAX + 100))

struct todo {
	struct db *db;
	const struct clock *clock;
};

static const char *const states[] = { "pending", "in_progress", "done", NULL };
enum { STATE_PENDING, STATE_ACTIVE, STATE_DONE };

static const char *const schema[] = {
	"CREATE TABLE todo_list(conversation TEXT PRIMARY KEY, next_id INTEGER NOT NULL,"
	" changed_ms INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE todo_item(conversation TEXT NOT NULL REFERENCES todo_list ON DELETE CASCADE,"
	" id INTEGER NOT NULL, place INTEGER NOT NULL, state INTEGER NOT NULL, text TEXT NOT NULL,"
	" made_ms INTEGER NOT NULL, PRIMARY KEY(conversation, id)) WITHOUT ROWID;",
};

/* An item as it is wanted. */
struct item {
	int64_t id, made_ms; /* id 0: a new one */
	int state;
	struct view text;
};

struct list {
	struct item items[TODO_ITEMS_MAX];
	size_t n;
	int64_t next_id;
};

/* --- The database ----------------------------------------------------------------------------- */

/* Runs sql with the conversation as its first parameter. */
static int prepare(struct stmt **s, const struct todo *t, const char *conversation, const char *sql,
	struct err *e)
{
	if (stmt_open(s, t->db, sql, e) < 0)
		return -1;
	stmt_text(*s, 1, view_of(conversation));
	return 0;
}

static int run(struct stmt **s, struct err *e)
{
	int rc = stmt_run(*s, e);

	stmt_close(s);
	return rc;
}

/* Ids and times of what is there. */
static int load_known(struct list *l, const struct todo *t, const char *conversation, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	l->n = 0;
	l->next_id = 1;
	if (prepare(&s, t, conversation, "SELECT next_id FROM todo_list WHERE conversation = ?1",
		    e) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc > 0)
		l->next_id = stmt_col_int(s, 0);
	stmt_close(&s);
	if (rc <= 0)
		return rc;
	if (prepare(&s, t, conversation,
		    "SELECT id, made_ms FROM todo_item WHERE conversation = ?1", e) < 0)
		return -1;
	while ((rc = stmt_step(s, e)) > 0 && l->n < TODO_ITEMS_MAX) {
		l->items[l->n].id = stmt_col_int(s, 0);
		l->items[l->n++].made_ms = stmt_col_int(s, 1);
	}
	stmt_close(&s);
	return rc < 0 ? -1 : 0;
}

static int store_item(const struct todo *t, const char *conversation, const struct item *i,
	size_t place, struct err *e)
{
	struct stmt *s = NULL;

	if (prepare(&s, t, conversation,
		    "INSERT INTO todo_item(conversation, id, place, state, text, made_ms)"
		    " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		    e) < 0)
		return -1;
	stmt_int(s, 2, i->id);
	stmt_int(s, 3, (int64_t)place);
	stmt_int(s, 4, i->state);
	stmt_text(s, 5, i->text);
	stmt_int(s, 6, i->made_ms);
	return run(&s, e);
}

static int store_list(const struct todo *t, const char *conversation, int64_t next_id,
	struct err *e)
{
	struct stmt *s = NULL;

	if (prepare(&s, t, conversation,
		    "INSERT INTO todo_list(conversation, next_id, changed_ms) VALUES(?1, ?2, ?3)"
		    " ON CONFLICT(conversation) DO UPDATE SET next_id = excluded.next_id,"
		    " changed_ms = excluded.changed_ms",
		    e) < 0)
		return -1;
	stmt_int(s, 2, next_id);
	stmt_int(s, 3, clock_wall(t->clock));
	if (run(&s, e) < 0 ||
		prepare(&s, t, conversation, "DELETE FROM todo_item WHERE conversation = ?1", e) <
			0 ||
		run(&s, e) < 0 ||
		prepare(&s, t, conversation,
			"DELETE FROM todo_list WHERE conversation <> ?1 AND conversation NOT IN"
			" (SELECT conversation FROM todo_list ORDER BY changed_ms DESC LIMIT ?2)",
			e) < 0)
		return -1;
	stmt_int(s, 2, TODO_LISTS_MAX);
	return run(&s, e);
}

/* The list as the model sees it. */
static int show(const struct todo *t, const char *conversation, struct str *out, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (prepare(&s, t, conversation,
		    "SELECT id, state, text FROM todo_item WHERE conversation = ?1 ORDER BY place",
		    e) < 0)
		return -1;
	while ((rc = stmt_step(s, e)) > 0) {
		int64_t state = stmt_col_int(s, 1);

		(void)str_addf(out, "%s%lld. [%s] ", out->n ? "\n" : "",
			(long long)stmt_col_int(s, 0),
			states[state >= 0 && state <= STATE_DONE ? state : STATE_PENDING]);
		(void)str_add(out, stmt_col_text(s, 2));
	}
	stmt_close(&s);
	if (rc == 0 && out->n == 0)
		(void)str_adds(out, "The list is empty.");
	if (rc == 0 && !str_ok(out))
		return err_set(e, E_NOMEM, "the list");
	return rc;
}

/* --- A new list ------------------------------------------------------------------------------- */

/* Of an id that is named: it was there, and is named once. */
static int keep_id(struct item *i, const struct list *before, const struct list *after,
	struct err *e)
{
	for (size_t k = 0; k < after->n; k++)
		if (after->items[k].id == i->id)
			return err_set(e, E_FORMAT, "items: the id %lld stands there twice",
				(long long)i->id);
	for (size_t k = 0; k < before->n; k++)
		if (before->items[k].id == i->id) {
			i->made_ms = before->items[k].made_ms;
			return 0;
		}
	return err_set(e, E_FORMAT, "items: there is no item %lld; leave the id out for a new item",
		(long long)i->id);
}

static int read_items(struct list *after, const struct list *before, const struct json *items,
	int64_t now, struct err *e)
{
	int active = 0;

	after->n = 0;
	json_each(j, items) {
		struct item i = { .made_ms = now, .state = STATE_PENDING };

		if (json_get_int(j, "id", JSON_OPTIONAL, 1, INT32_MAX, &i.id, e) < 0 ||
			json_get_str(j, "text", JSON_REQUIRED, 1, TODO_TEXT_MAX, &i.text, e) < 0 ||
			json_get_enum(j, "state", JSON_OPTIONAL, states, &i.state, e) < 0)
			return -1;
		active += i.state == STATE_ACTIVE;
		if (i.id > 0 && keep_id(&i, before, after, e) < 0)
			return -1;
		after->items[after->n++] = i;
	}
	if (active > 1)
		return err_set(e, E_FORMAT, "items: %d are in_progress, at most one may be",
			active);
	after->next_id = before->next_id;
	for (size_t k = 0; k < after->n; k++)
		if (after->items[k].id == 0)
			after->items[k].id = after->next_id++;
	return 0;
}

static int replace(const struct todo *t, const char *conversation, const struct json *items,
	struct err *e)
{
	struct list before, after;

	if (load_known(&before, t, conversation, e) < 0 ||
		read_items(&after, &before, items, clock_wall(t->clock), e) < 0 ||
		store_list(t, conversation, after.next_id, e) < 0)
		return -1;
	for (size_t k = 0; k < after.n; k++)
		if (store_item(t, conversation, &after.items[k], k, e) < 0)
			return -1;
	return 0;
}

/* --- The tool --------------------------------------------------------------------------------- */

static int todo_start(void *self, struct native_call *nc, const struct tool_call *c,
	const struct json *args, struct err *e)
{
	const char *conversation = native_conversation(nc);
	const struct json *items = NULL;
	struct str text = STR_INIT(REPLY_MAX);
	struct todo *t = self;
	int rc = -1;

	(void)c;
	if (!conversation[0])
		return err_set(e, E_UNSUPPORTED,
			"there is no conversation that a list could be of");
	if (json_get_array(args, "items", JSON_OPTIONAL, TODO_ITEMS_MAX, &items, e) < 0 ||
		db_begin(t->db, e) < 0)
		return -1;
	if ((items && replace(t, conversation, items, e) < 0) ||
		show(t, conversation, &text, e) < 0)
		db_rollback(t->db);
	else
		rc = db_commit(t->db, e);
	if (rc == 0)
		native_finish(nc, true, str_view(&text));
	str_release(&text);
	return rc;
}

static void todo_cancel(void *self, struct native_call *nc)
{
	(void)self; /* it is over before anyone could */
	(void)nc;
}

int todo_open(struct todo **out, struct db *db, const struct clock *clk, struct tools *tools,
	struct err *e)
{
	struct todo *t = calloc(1, sizeof(*t));
	const struct native_tool tool = {
		.name = "todo",
		.self = t,
		.start = todo_start,
		.cancel = todo_cancel,
	};

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "the list of what is to be done");
	t->db = db;
	t->clock = clk;
	if (db_migrate(db, "todo", schema, sizeof(schema) / sizeof(schema[0]), e) < 0 ||
		tools_add_native(tools, &tool, e) < 0) {
		free(t);
		return -1;
	}
	*out = t;
	return 0;
}

void todo_close(struct todo **t)
{
	free(*t); /* NULL is fine */
	*t = NULL;
}
