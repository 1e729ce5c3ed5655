#include "agent/acp/plugin.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define LOCK_MS   2000
#define TRIES     5 /* when somebody else changes the list meanwhile */
#define LIST_MAX  ((size_t)2 << 20)
#define HOOK_SECS 5
/* Whatever comes of it, the agent goes on: any other code would mean something to it. */
#define HOOK_COMMAND "test -z \"$KAIRO_RELAY_TOOL\" || \"$KAIRO_RELAY_TOOL\" relay; true"

struct place {
	char root[PATH_SIZE];     /* of the plugin */
	char manifest[PATH_SIZE]; /* in it */
	char list[PATH_SIZE];     /* of all plugins */
};

/* Kimi's folder may be a link; beneath it nothing is. */
static int find_place(struct place *p, const char *home, bool make, struct err *e)
{
	char real[PATH_SIZE], plugins[PATH_SIZE];

	if (!realpath(home, real))
		return err_sys(e, "%s", home);
	if (path_join(plugins, real, "plugins", e) < 0 ||
		path_join(p->root, plugins, PLUGIN_ID, e) < 0 ||
		path_join(p->manifest, p->root, "kimi.plugin.json", e) < 0 ||
		path_join(p->list, plugins, "installed.json", e) < 0)
		return -1;
	return make ? file_mkdirs(p->root, 0700, e) : 0;
}

/* --- The manifest ----------------------------------------------------------------------------- */

static int write_manifest(struct str *out, struct err *e)
{
	static const char *const events[] = { "TaskStarted", "Notification", "SubagentStop",
		"TurnStarted", "Stop", "StopFailure", "Interrupt" };
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "name", PLUGIN_ID);
	json_put_z(&w, "version", "1.0.0");
	json_put_z(&w, "description",
		"Tells Kairo, where Kairo has started this agent, of background work. Does nothing "
		"elsewhere. kairo hooks remove takes it away.");
	json_open_array(&w, "hooks");
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		json_open(&w, NULL);
		json_put_z(&w, "event", events[i]);
		json_put_z(&w, "command", HOOK_COMMAND);
		json_put_int(&w, "timeout", HOOK_SECS);
		json_close(&w);
	}
	json_close_array(&w);
	json_close(&w);
	return json_out_end(&w, e);
}

/* 1: it is as it should be. 0: not so, or not there. */
static int manifest_fits(const struct place *p, struct err *e)
{
	struct str wanted = STR_INIT(65536), found = STR_INIT(65536);
	struct err why = ERR_INIT;
	int rc = write_manifest(&wanted, e);

	if (rc == 0)
		rc = file_read(p->manifest, 65536, &found, &why) == 0 &&
		     view_eq(str_view(&wanted), str_view(&found));
	str_release(&wanted);
	str_release(&found);
	return rc;
}

static int put_manifest(const struct place *p, struct err *e)
{
	struct str wanted = STR_INIT(65536);
	int rc = write_manifest(&wanted, e);

	if (rc == 0)
		rc = file_replace(p->manifest, 0600, str_view(&wanted), e);
	str_release(&wanted);
	return rc;
}

/* --- The list --------------------------------------------------------------------------------- */

/* The text of the list, and what it says; a missing one is empty. */
static int read_list(const struct place *p, struct str *text, struct json **list, struct err *e)
{
	const struct json *plugins = NULL;
	struct err why = ERR_INIT;
	int rc;

	*list = NULL;
	if (file_read(p->list, LIST_MAX, text, &why) < 0 && why.code != E_NOTFOUND)
		return err_set(e, why.code, "%s", why.msg);
	rc = json_read(list, text->n > 0 ? str_view(text) : VIEW("{\"version\":1,\"plugins\":[]}"),
		&json_limits_wire, e);
	if (rc == 0 && json_type(*list) != JSON_OBJECT)
		rc = err_set(e, E_FORMAT, "it is no object");
	if (rc == 0)
		rc = json_get_array(*list, "plugins", JSON_REQUIRED, 10000, &plugins, e) < 0 ? -1
		                                                                             : 0;
	if (rc < 0) {
		json_free(list);
		err_wrap(e, "Kimi's list of plugins, %s, is not as it should be and was left alone",
			p->list);
	}
	return rc;
}

static bool is_ours(const struct json *record)
{
	struct view id;

	return json_type(record) == JSON_OBJECT &&
	       json_get_str(record, "id", JSON_OPTIONAL, 0, 200, &id, NULL) == 1 &&
	       view_eqs(id, PLUGIN_ID);
}

static const struct json *find_ours(const struct json *list)
{
	json_each(record, json_member(list, "plugins")) {
		if (is_ours(record))
			return record;
	}
	return NULL;
}

static void put_record(struct json_out *w, const struct place *p, int64_t now_ms)
{
	time_t now = (time_t)(now_ms / 1000);
	char when[40];
	struct tm tm;

	json_open(w, NULL);
	json_put_z(w, "id", PLUGIN_ID);
	json_put_z(w, "root", p->root);
	json_put_z(w, "source", "local-path");
	json_put_bool(w, "enabled", true);
	if (gmtime_r(&now, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S.000Z", &tm) > 0)
		json_put_z(w, "installedAt", when);
	json_close(w);
}

/* The list with our record (now_ms >= 0) or without; everything else as it was. */
static int write_list(const struct place *p, const struct json *list, int64_t now_ms,
	struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_each(member, list) {
		if (strcmp(json_name(member), "plugins") != 0) {
			json_put_json(&w, json_name(member), member);
			continue;
		}
		json_open_array(&w, "plugins");
		json_each(record, member) {
			if (!is_ours(record))
				json_put_json(&w, NULL, record);
		}
		if (now_ms >= 0)
			put_record(&w, p, now_ms);
		json_close_array(&w);
	}
	json_close(&w);
	return json_out_end(&w, e);
}

/* Has somebody changed it since that was read? */
static bool is_still(const struct place *p, struct view was)
{
	struct str now = STR_INIT(LIST_MAX);
	struct err why = ERR_INIT;
	bool same;

	if (file_read(p->list, LIST_MAX, &now, &why) < 0 && why.code != E_NOTFOUND)
		return false;
	same = view_eq(str_view(&now), was);
	str_release(&now);
	return same;
}

static int replace_list(const struct place *p, struct view text, struct view was, struct err *e)
{
	struct newfile *f = NULL;
	struct stat st;
	mode_t mode = lstat(p->list, &st) == 0 ? st.st_mode & 0666 : 0600;
	int rc = -1;

	if (newfile_open(&f, p->list, mode, e) == 0 && newfile_write(f, text, e) == 0) {
		if (is_still(p, was))
			rc = newfile_commit(&f, e);
		else
			rc = err_set(e, E_CONFLICT, "Kimi changes %s at this moment; try again",
				p->list);
	}
	newfile_abort(&f);
	return rc;
}

/* 1: done. 0: it was so. */
static int change_list(const struct place *p, int64_t now_ms, struct err *e)
{
	struct str was = STR_INIT(LIST_MAX), text = STR_INIT(LIST_MAX);
	struct json *list = NULL;
	int rc = read_list(p, &was, &list, e);

	if (rc == 0 && (now_ms >= 0 || find_ours(list))) {
		rc = write_list(p, list, now_ms, &text, e);
		if (rc == 0)
			rc = replace_list(p, str_view(&text), str_view(&was), e) < 0 ? -1 : 1;
	}
	json_free(&list);
	str_release(&was);
	str_release(&text);
	return rc;
}

static int change_locked(const struct place *p, const char *lock, int64_t now_ms, struct err *e)
{
	struct err why = { .code = E_CONFLICT };
	struct lock *l = NULL;
	int rc = -1;

	if (lock_take(&l, lock, LOCK_MS, e) < 0)
		return -1;
	for (int i = 0; i < TRIES && rc < 0 && why.code == E_CONFLICT; i++)
		rc = change_list(p, now_ms, &why);
	lock_release(&l);
	return rc < 0 ? err_set(e, why.code, "%s", why.msg) : rc;
}

/* --- All of it -------------------------------------------------------------------------------- */

int plugin_state(const char *home, enum plugin_state *out, struct err *e)
{
	struct str text = STR_INIT(LIST_MAX);
	struct json *list = NULL;
	struct place p;
	const struct json *ours;
	struct view root = VIEW_NONE;
	bool on = false, fits;
	struct stat st;

	*out = PLUGIN_ABSENT;
	if (stat(home, &st) < 0)
		return 0;
	if (find_place(&p, home, false, e) < 0 || read_list(&p, &text, &list, e) < 0) {
		str_release(&text);
		return -1;
	}
	ours = find_ours(list);
	fits = manifest_fits(&p, e) == 1;
	if (ours) {
		(void)json_get_bool(ours, "enabled", JSON_OPTIONAL, &on, NULL);
		(void)json_get_str(ours, "root", JSON_OPTIONAL, 1, PATH_SIZE, &root, NULL);
		*out = !fits || !view_eqs(root, p.root) ? PLUGIN_STALE
		       : on                             ? PLUGIN_READY
		                                        : PLUGIN_OFF;
	}
	json_free(&list);
	str_release(&text);
	return 0;
}

int plugin_install(const char *home, const char *lock, int64_t now_ms, struct err *e)
{
	enum plugin_state state;
	struct place p;

	if (plugin_state(home, &state, e) < 0)
		return -1;
	if (state == PLUGIN_READY)
		return 0;
	if (find_place(&p, home, true, e) < 0 || put_manifest(&p, e) < 0)
		return -1;
	return change_locked(&p, lock, now_ms, e);
}

int plugin_remove(const char *home, const char *lock, struct err *e)
{
	struct place p;
	struct stat st;
	int rc;

	if (stat(home, &st) < 0)
		return 0;
	if (find_place(&p, home, false, e) < 0 || (rc = change_locked(&p, lock, -1, e)) < 0)
		return -1;
	if (lstat(p.root, &st) < 0)
		return rc;
	if (file_remove(p.manifest, e) < 0)
		return -1;
	(void)rmdir(p.root); /* what others have put there stays */
	return 1;
}
