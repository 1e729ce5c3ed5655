/* doctor: this machine, and the settings. */
#include "cli/doctor-private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/db/db.h"
#include "cli/app.h"
#include "cli/confinement.h"
#include "cli/policy.h"
#include "cli/workspace.h"

enum { DISK_FAIL_MIB = 16, DISK_WARN_MIB = 200 };

bool doctor_config(struct doctor *d)
{
	struct err e = ERR_INIT;

	if (config_load(&d->cfg, d->home->dir, &e) < 0) {
		say_bad(d, true, "config", "correct that line, or remove the file to start afresh",
			"%s", e.msg);
		return false;
	}
	if (config_load_key(d->cfg, &e) < 0)
		say_bad(d, true, "config", "kairo config set model.api_key --stdin", "%s", e.msg);
	else if (config_load_search(d->cfg, &e) < 0)
		say_bad(d, true, "config", "kairo config set search.PROVIDER_key --stdin", "%s",
			e.msg);
	else if (config_load_voice(d->cfg, &e) < 0)
		say_bad(d, true, "config", "kairo config set voice.api_key --stdin", "%s", e.msg);
	else if (check_ca_file(d->cfg, &e) < 0)
		say_bad(d, true, "config", "kairo config set network.ca_file PATH, or unset it",
			"%s", e.msg);
	else
		say_ok("config", "%s/" CONFIG_FILE, d->home->dir);
	const char *lines[8];
	size_t n = config_relaxed(d->cfg, false, lines, 8);
	for (size_t i = 0; i < n; i++)
		say_bad(d, false, "config", "fine while that is what you want", "%s", lines[i]);
	return true;
}

static void warn_of_policy(void *arg, const char *line)
{
	say_bad(arg, false, "policy", "fine while that is what you want", "%s", line);
}

static void warn_of_program(void *arg, const char *line)
{
	say_bad(arg, false, "policy", "install it, or name it by its whole path", "%s", line);
}

void doctor_policy(struct doctor *d)
{
	struct policy_rules rules;
	struct policy *p;
	struct err e = ERR_INIT;

	policy_rules_from(&rules, d->cfg);
	if (policy_open(&p, &rules, &e) < 0) {
		say_bad(d, true, "policy", "see kairo.toml(5), [policy]", "%s", e.msg);
		return;
	}
	say_ok("policy", "shell %s, write %s, web %s", d->cfg->policy.shell, d->cfg->policy.write,
		d->cfg->policy.web);
	policy_warn(p, false, warn_of_policy, d);
	policy_warn_programs(p, d->cfg->workspace, warn_of_program, d);
	policy_free(&p);
}

void doctor_home(struct doctor *d)
{
	struct stat st;

	if (lstat(d->home->dir, &st) < 0)
		say_bad(d, false, "home", "kairo login makes it", "%s does not exist yet",
			d->home->dir);
	else if (st.st_uid != geteuid())
		say_bad(d, true, "home",
			"run kairo as its owner, or set KAIRO_HOME to a folder of yours",
			"%s belongs to another user", d->home->dir);
	else if (st.st_mode & 077)
		say_bad(d, true, "home", "chmod 700 that folder: it holds credentials",
			"%s is open to others", d->home->dir);
	else if (access(d->home->dir, W_OK | X_OK) < 0)
		say_bad(d, true, "home",
			"let it be written, or set KAIRO_HOME to a folder that can be", "%s: %s",
			d->home->dir, strerror(errno));
	else
		say_ok("home", "%s", d->home->dir);
}

void doctor_disk(struct doctor *d)
{
	struct statvfs v;
	const char *at = access(d->home->dir, F_OK) == 0 ? d->home->dir : "/";

	if (statvfs(at, &v) < 0) {
		say_bad(d, false, "disk", "see why the file system does not answer", "%s: %s", at,
			strerror(errno));
		return;
	}
	unsigned long long mib = (unsigned long long)v.f_bavail * v.f_frsize >> 20;
	if (mib < DISK_FAIL_MIB)
		say_bad(d, true, "disk", "free some space: messages cannot be stored safely",
			"%llu MiB free at %s", mib, at);
	else if (mib < DISK_WARN_MIB)
		say_bad(d, false, "disk", "free some space soon", "%llu MiB free at %s", mib, at);
	else
		say_ok("disk", "%llu MiB free", mib);
}

/* Everything that comes from outside as a file goes there, and nowhere else. */
void doctor_media(struct doctor *d)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;
	int fd;

	if (path_join(path, d->home->dir, "media", &e) < 0 || !file_exists(path))
		return; /* the first start makes it */
	fd = file_open_dir(path, &e);
	if (fd < 0)
		say_bad(d, true, "media",
			"put a folder of your own in its place, or move it away: kairo makes a new one",
			"%s", e.msg);
	else
		close(fd);
}

static const char *state_advice(enum err_code code)
{
	switch (code) {
	case E_FULL: return "free some space; nothing is lost";
	case E_DENIED: return "do as it says, or let it be read and written by you";
	case E_FORMAT:
		return "kairo stop; put a copy of it back, or move it away: conversations and waiting "
		       "messages begin anew then";
	default: return "run this again; if it stays, see kairo logs";
	}
}

void doctor_state(struct doctor *d)
{
	char path[PATH_SIZE];
	struct db *db = NULL;
	struct err e = ERR_INIT;

	if (path_join(path, d->home->dir, "state.db", &e) == 0 && !file_exists(path))
		return; /* the first start makes it */
	if (e.code || db_open(&db, path, &e) < 0 || db_check(db, &e) < 0)
		say_bad(d, true, "state", state_advice(e.code), "%s", e.msg);
	else
		say_ok("state", "%s", path);
	db_close(&db);
}

void doctor_workspace(struct doctor *d)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;

	if (workspace_find(path, d->cfg->workspace, d->home->root, false, &e) < 0)
		say_bad(d, e.code != E_NOTFOUND, "workspace",
			e.code == E_NOTFOUND
				? "kairo start (kairo restart, where it runs) makes it; kairo config "
				  "set workspace PATH names another"
				: "kairo config set workspace PATH",
			"%s", e.msg);
	else if (access(path, R_OK | W_OK | X_OK) < 0)
		say_bad(d, true, "workspace", "give yourself read and write access to it", "%s: %s",
			path, strerror(errno));
	else
		say_ok("workspace", "%s", path);
}

static void warn_of_read_paths(struct doctor *d)
{
	for (char **p = d->cfg->sandbox.read; *p; p++)
		if (access(*p, F_OK) < 0)
			say_bad(d, false, "sandbox", "make it, or take it out of sandbox.read",
				"sandbox.read: %s: %s", *p, strerror(errno));
}

void doctor_sandbox(struct doctor *d)
{
	char helper[PATH_SIZE], path[PATH_SIZE];
	struct str line = STR_INIT(1000);
	struct err e = ERR_INIT;
	const char *advice;

	if (find_helper(helper, &e) < 0) {
		say_bad(d, true, "sandbox", "install kairo again: cmake --install BUILD", "%s",
			e.msg);
		return;
	}
	/* Before there is a workspace, what this machine can do is tried with another folder. */
	bool there = workspace_find(path, d->cfg->workspace, d->home->root, false, &e) == 0;
	if (!there && (e.code != E_NOTFOUND || copy_z(path, sizeof(path), VIEW("/tmp")) < 0))
		return; /* said above */
	const struct tools_env env = { .loop = d->loop,
		.helper = helper,
		.workspace = path,
		.hide = there ? d->home->root : NULL,
		.read_paths = (const char *const *)d->cfg->sandbox.read,
		.sandbox_required = !strcmp(d->cfg->sandbox.mode, "required") };
	err_clear(&e);
	if (tools_open(&d->tools, &env, &e) < 0) {
		say_bad(d, true, "sandbox",
			e.code == E_DENIED ? "kairo config set sandbox.read LIST"
					   : "install kairo again: cmake --install BUILD",
			"%s", e.msg);
		return;
	}
	advice = sandbox_advice(tools_sandbox(d->tools));
	confinement_text(tools_sandbox(d->tools), false, &line);
	if (advice[0])
		say_bad(d, false, "sandbox", advice, "%s", str_cstr(&line));
	else
		say_ok("sandbox", "%s", str_cstr(&line));
	str_release(&line);
	warn_of_read_paths(d);
}

static void say_lacks(struct doctor *d, struct view lines)
{
	while (lines.n > 0) {
		struct view line = view_cut(lines, view_find(lines, '\n'));

		say_bad(d, false, "libraries",
			"install it; on Debian: apt install libturbojpeg0 libspng0 libwebp7 libgif7 "
			"libxml2",
			"%.*s", VIEW_FMT(line));
		lines = view_from(lines, line.n + 1);
	}
}

/* Kairo works without them, but for the files that they read. */
void doctor_libraries(struct doctor *d)
{
	struct str lacks = STR_INIT(4096);
	struct err e = ERR_INIT;

	if (!d->tools) /* said above */
		return;
	if (tools_lacks(d->tools, &lacks, &e) < 0)
		say_bad(d, true, "libraries", "install kairo again: cmake --install BUILD", "%s",
			e.msg);
	else if (lacks.n == 0)
		say_ok("libraries", "pictures and web pages can be read");
	else
		say_lacks(d, str_view(&lacks));
	str_release(&lacks);
}
