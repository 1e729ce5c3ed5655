#include "tools/host/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "tools/confine.h"

#define PROBE_MS  5000
#define PROBE_MAX ((size_t)4096)

#define GET_BUBBLEWRAP \
	"install the package bubblewrap, and allow user namespaces (sysctl user.max_user_namespaces " \
	"above 0; kernel.unprivileged_userns_clone=1 on Debian; kernel.apparmor_restrict_" \
	"unprivileged_userns=0 or a profile for bwrap on Ubuntu)"
#define GET_OWNER \
	"run kairo as the owner of the workspace, or give the workspace to the user who runs kairo " \
	"(chown -R): as it is, tools cannot read what is received"

#define GET_LANDLOCK "use a kernel with Landlock (5.13 or newer, \"landlock\" in its lsm= list)"
#define GET_SECCOMP  "use a kernel with seccomp (CONFIG_SECCOMP_FILTER)"

/* --- Asking the helper ------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* arg may be NULL. */
static int spawn_probe(pid_t *pid, const char *helper, const char *mode, const char *arg, int out)
{
	union {
		const char *const *given;
		char *const *wanted; /* posix_spawn changes nothing */
	} argv = { .given = (const char *const[]){ "kairo-tool", mode, arg, NULL } },
	  env = { .given = (const char *const[]){ "PATH=/usr/bin:/bin", NULL } };
	posix_spawn_file_actions_t fa;
	int rc;

	if (posix_spawn_file_actions_init(&fa) != 0)
		return ENOMEM;
	rc = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDWR, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&fa, out, 1);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&fa, 0, 2);
	if (rc == 0)
		rc = posix_spawn(pid, helper, &fa, NULL, argv.wanted, env.wanted);
	(void)posix_spawn_file_actions_destroy(&fa);
	return rc;
}

/* To the end of what it says, within the time. */
static int read_answer(const struct sandbox_probe *probe, struct str *out, struct err *e)
{
	for (;;) {
		struct pollfd p = { .fd = probe->fd, .events = POLLIN };
		int64_t left = probe->until - now_ms();
		char buf[1024];
		ssize_t n;

		if (left <= 0)
			return err_set(e, E_TIMEOUT, "trying the sandbox took more than %d s",
				PROBE_MS / 1000);
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(probe->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (str_add(out, (struct view){ buf, (size_t)n }) < 0)
			return err_set(e, E_FORMAT, "kairo-tool says too much");
	}
}

static int ask(struct sandbox_probe *p, const char *helper, const char *mode, const char *arg,
	struct err *e)
{
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "a pipe");
	rc = spawn_probe(&p->pid, helper, mode, arg, fds[1]);
	(void)close(fds[1]);
	if (rc != 0) {
		(void)close(fds[0]);
		errno = rc;
		return err_sys(e, "the helper program %s", helper);
	}
	p->asked = true;
	p->fd = fds[0];
	p->until = now_ms() + PROBE_MS;
	return 0;
}

/* Returns how it ended. */
static int end_probe(struct sandbox_probe *p, bool kills)
{
	int status = 0;

	if (kills)
		(void)kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)close(p->fd);
	p->asked = false;
	return status;
}

static int take_answer(struct sandbox *s, struct view answer, struct err *e)
{
	struct json *j = NULL;
	struct view why = VIEW_NONE;
	int64_t landlock = 0, user = geteuid();
	int rc = -1;

	if (json_read(&j, view_trim(answer), &json_limits_wire, e) == 0 &&
		json_get_int(j, "user", JSON_OPTIONAL, 0, UINT32_MAX, &user, e) >= 0 &&
		json_get_bool(j, "namespaces", JSON_REQUIRED, &s->namespaces, e) == 1 &&
		json_get_str(j, "why", JSON_REQUIRED, 0, SIZE_MAX, &why, e) == 1 &&
		json_get_int(j, "landlock", JSON_REQUIRED, 0, 1000, &landlock, e) == 1 &&
		json_get_bool(j, "seccomp", JSON_REQUIRED, &s->seccomp, e) == 1 &&
		json_get_bool(j, "cgroup", JSON_REQUIRED, &s->cgroup, e) == 1)
		rc = copy_z(s->why, sizeof(s->why),
			view_cut(why, utf8_cut(why, sizeof(s->why) - 1)));
	s->landlock = (int)landlock;
	s->other = user != geteuid() ? (uid_t)user : 0;
	json_free(&j);
	return rc;
}

/* What can be seen without the helper. */
static void do_without(struct sandbox *s, const struct err *e)
{
	s->namespaces = false;
	(void)copy_z(s->why, sizeof(s->why), view_cut(view_of(e->msg), sizeof(s->why) - 1));
	s->landlock = confine_landlock_abi();
	s->seccomp = confine_seccomp();
}

int sandbox_begin(struct sandbox *s, const char *helper, const char *workspace, bool all)
{
	struct err e = ERR_INIT;

	memset(s, 0, sizeof(*s));
	s->all = all;
	if (ask(&s->probe, helper, "probe", workspace, &e) == 0)
		return s->probe.fd;
	do_without(s, &e);
	return -1;
}

void sandbox_settle(struct sandbox *s)
{
	struct str answer = STR_INIT(PROBE_MAX);
	struct err e = ERR_INIT;

	if (!s->probe.asked)
		return;
	int rc = read_answer(&s->probe, &answer, &e);
	int status = end_probe(&s->probe, rc < 0);
	if (rc == 0 && status != 0)
		rc = err_set(&e, E_IO, "the helper program cannot say what confines it");
	if (rc < 0 || take_answer(s, str_view(&answer), &e) < 0)
		do_without(s, &e);
	str_release(&answer);
}

void sandbox_abandon(struct sandbox *s)
{
	if (s->probe.asked)
		(void)end_probe(&s->probe, true);
}

int sandbox_lacks(const char *helper, struct str *out, struct err *e)
{
	struct sandbox_probe p = { .asked = false };
	int rc;

	if (ask(&p, helper, "libraries", NULL, e) < 0)
		return -1;
	rc = read_answer(&p, out, e);
	if (end_probe(&p, rc < 0) != 0 && rc == 0)
		rc = err_set(e, E_IO, "the helper program cannot say what it lacks");
	return rc;
}

/* --- What is enough --------------------------------------------------------------------------- */

enum lack { LACKS_NOTHING, LACKS_NAMESPACES, LACKS_FILES, LACKS_CALLS };

/* Programs may do anything but what a layer keeps them from; our own code does what it was told and
 * may run with what there is. */
static enum lack lack_of(const struct sandbox *s, bool programs)
{
	if (s->all && !s->namespaces)
		return LACKS_NAMESPACES;
	if (programs && !s->namespaces && s->landlock == 0)
		return LACKS_FILES;
	return programs && !s->seccomp ? LACKS_CALLS : LACKS_NOTHING;
}

static void say_lack(const struct sandbox *s, enum lack lack, struct str *why)
{
	switch (lack) {
	case LACKS_NOTHING: break;
	case LACKS_NAMESPACES:
		(void)str_addf(why,
			"the setting sandbox.mode = \"required\" wants namespaces around every tool, and "
			"bubblewrap does not work on this machine (%s). The operator can " GET_BUBBLEWRAP
			", or set sandbox.mode = \"best\"",
			s->why);
		break;
	case LACKS_FILES:
		(void)str_addf(why,
			"nothing on this machine keeps a program away from files that are not its own: "
			"bubblewrap does not work (%s), and the kernel has no Landlock. The operator can " GET_BUBBLEWRAP
			", or " GET_LANDLOCK,
			s->why);
		break;
	case LACKS_CALLS:
		(void)str_adds(why,
			"this machine's kernel takes no filter for system calls. The operator can " GET_SECCOMP);
		break;
	}
}

bool sandbox_allows(const struct sandbox *s, bool programs, struct str *why)
{
	enum lack lack = lack_of(s, programs);

	if (why)
		say_lack(s, lack, why);
	return lack == LACKS_NOTHING;
}

const char *sandbox_advice(const struct sandbox *s)
{
	if (!s->namespaces)
		return GET_BUBBLEWRAP;
	if (s->landlock == 0)
		return GET_LANDLOCK;
	if (!s->seccomp)
		return GET_SECCOMP;
	return s->other ? GET_OWNER : "";
}
