#include "tools/exec/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/text.h"
#include "tools/exec/system.h"

#define ARGS_MAX ((size_t)NAMESPACE_FOLDERS * 2 * PATH_SIZE + 65536)
#define SAID_MAX 2000

int namespace_add(struct namespace_plan *p, const char *path, int how, struct err *e)
{
	if (p->n == NAMESPACE_FOLDERS)
		return err_set(e, E_FULL, "more than %d folders for a sandbox", NAMESPACE_FOLDERS);
	p->folders[p->n].path = path;
	p->folders[p->n].how = how;
	p->n++;
	return 0;
}

/* --- What bubblewrap is told ------------------------------------------------------------------ */

/* Each word with its NUL, as --args wants them. */
static void put_words(struct str *args, const char *const *words)
{
	for (; *words; words++)
		(void)str_add(args, (struct view){ *words, strlen(*words) + 1 });
}

#define PUT(args, ...) put_words((args), (const char *const[]){ __VA_ARGS__, NULL })

/* The descriptor is bubblewrap's to close. */
static void put_copy(struct str *args, int fd, const char *path)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", fd);
	PUT(args, "--perms", "0444", "--file", number, path);
}

int namespace_file(const char *name, struct view content)
{
	int fd = memfd_create(name, 0);

	while (fd >= 0 && content.n > 0) {
		ssize_t n = write(fd, content.p, content.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			(void)close(fd);
			return -1;
		}
		content = view_from(content, (size_t)n);
	}
	if (fd >= 0)
		(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

static void put_file(struct str *args, const char *path, const char *content)
{
	int fd = namespace_file("file", view_of(content));

	if (fd >= 0) /* a program without names for its ids still runs */
		put_copy(args, fd, path);
}

/* Programs that ask for the name of who they are get one; the machine's other users are not
 * theirs to know. */
static void put_names(struct str *args)
{
	const char *name = getuid() == 0 ? "root" : "kairo";
	char text[300];

	(void)snprintf(text, sizeof(text),
		"%s:x:%u:%u::/tmp:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
		name, (unsigned)getuid(), (unsigned)getgid());
	put_file(args, "/etc/passwd", text);
	(void)snprintf(text, sizeof(text), "%s:x:%u:\nnogroup:x:65534:\n", name,
		(unsigned)getgid());
	put_file(args, "/etc/group", text);
}

static void put_programs(struct str *args, const char *path)
{
	char target[PATH_SIZE];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = '\0';
		PUT(args, "--symlink", target, path);
	} else {
		PUT(args, "--ro-bind-try", path, path);
	}
}

/* A file is copied, which takes less than a mount; what it says once is what it says to the end. */
static void put_read(struct str *args, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		put_copy(args, fd, path);
		return;
	}
	if (fd >= 0)
		(void)close(fd);
	PUT(args, "--ro-bind-try", path, path);
}

static void put_part(struct str *args, const struct system_part *s, const struct namespace_plan *p)
{
	if (s->use == SYSTEM_PROGRAMS)
		put_programs(args, s->path);
	else if (s->use == SYSTEM_LOADER)
		put_read(args, s->path);
	else if (!p->programs)
		return;
	else if (s->use == SYSTEM_FILES || (s->use == SYSTEM_NETWORK && p->network))
		put_read(args, s->path);
	else if (s->use == SYSTEM_DEVICES)
		PUT(args, "--dev-bind-try", s->path, s->path);
}

static void put_system(struct str *args, const struct namespace_plan *p)
{
	for (const struct system_part *s = system_parts; s->use != SYSTEM_END; s++)
		put_part(args, s, p);
	if (!p->programs)
		return;
	put_names(args);
	PUT(args, "--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "/proc/self/fd/0",
		"/dev/stdin", "--symlink", "/proc/self/fd/1", "/dev/stdout", "--symlink",
		"/proc/self/fd/2", "/dev/stderr");
}

static void put_private(struct str *args)
{
	static const char *const folders[] = { "/tmp", "/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		PUT(args, "--perms", "1777", "--size", "1073741824", "--tmpfs", folders[i]);
}

/* The outer ones first, so that the ones inside them are not covered. */
static void sort_folders(struct namespace_plan *p)
{
	for (int i = 1; i < p->n; i++) {
		struct namespace_folder f = p->folders[i];
		int at = i;

		for (; at > 0 && strlen(p->folders[at - 1].path) > strlen(f.path); at--)
			p->folders[at] = p->folders[at - 1];
		p->folders[at] = f;
	}
}

/* What lies in a folder to write is there with it. It is not looked up once more: whoever writes
 * there could put a link in its place meanwhile, and that would be followed out here. */
static bool is_covered(const struct namespace_plan *p, const struct namespace_folder *f)
{
	const struct namespace_folder *above = f;

	do {
		if (above-- == p->folders)
			return false;
	} while (!path_lies_in(f->path, above->path));
	return f->how != NAMESPACE_HIDE && above->how == NAMESPACE_WRITE;
}

static void put_folders(struct str *args, struct namespace_plan *p)
{
	sort_folders(p);
	for (int i = 0; i < p->n; i++) {
		const char *path = p->folders[i].path;

		if (is_covered(p, &p->folders[i]))
			continue;
		switch (p->folders[i].how) {
		case NAMESPACE_READ: PUT(args, "--ro-bind-try", path, path); break;
		case NAMESPACE_WRITE: PUT(args, "--bind-try", path, path); break;
		case NAMESPACE_HIDE: PUT(args, "--tmpfs", path); break;
		}
	}
	/* Only now: what lies in one of them needs a place to be mounted on. */
	for (int i = 0; i < p->n; i++)
		if (p->folders[i].how == NAMESPACE_HIDE)
			PUT(args, "--remount-ro", p->folders[i].path);
}

static int fill(struct str *args, struct namespace_plan *p, struct err *e)
{
	PUT(args, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--hostname", "kairo");
	if (p->network)
		PUT(args, "--share-net");
	if (p->open)
		PUT(args, "--ro-bind", "/", "/", "--dev", "/dev");
	else
		put_system(args, p);
	PUT(args, "--proc", "/proc");
	if (getuid() == 0) /* whose the machine's settings in it are, in whatever namespace */
		PUT(args, "--remount-ro", "/proc");
	if (p->programs)
		put_private(args);
	put_folders(args, p);
	if (!p->open)
		PUT(args, "--remount-ro", "/");
	PUT(args, "--chdir", p->start);
	return str_ok(args) ? 0 : err_set(e, E_NOMEM, "the sandbox's arguments");
}

/* --- Going there ------------------------------------------------------------------------------ */

/* The owner of a device may change its mode for the whole machine, and root is theirs. In a mount
 * namespace of our own they become read-only, which keeps nobody from writing to what they stand
 * for; bubblewrap takes them as they are. Without the right to it they are a container's own. */
static void shut_devices(void)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty" };
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (mount(devices[i], devices[i], NULL, MS_BIND, NULL) == 0)
			(void)mount(NULL, devices[i], NULL, flags, NULL);
}

static int say_exec(struct err *e)
{
	return errno == ENOENT
	               ? err_set(e, E_NOTFOUND, "bubblewrap is not installed (there is no %s)",
				 KAIRO_BWRAP)
	               : err_sys(e, "%s", KAIRO_BWRAP);
}

int namespace_exec(struct namespace_plan *p, const char *const argv[], struct err *e)
{
	struct str args = STR_INIT(ARGS_MAX);
	const char *words[NAMESPACE_ARGV + 8];
	char number[16], self[32];
	int n = 0, args_fd = -1, self_fd;

	if (getuid() == 0)
		shut_devices();
	if (fill(&args, p, e) == 0)
		args_fd = namespace_file("args", str_view(&args));
	str_release(&args);
	/* By its descriptor: its path is not there any more when it is run. */
	self_fd = open("/proc/self/exe", O_PATH);
	if (args_fd < 0 || self_fd < 0)
		return err_sys(e, "starting bubblewrap");
	(void)snprintf(number, sizeof(number), "%d", args_fd);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", self_fd);
	const char *const head[] = { "bwrap", "--args", number, "--", self };
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		words[n++] = head[i];
	for (int i = 0; i < NAMESPACE_ARGV && argv[i]; i++)
		words[n++] = argv[i];
	words[n] = NULL;
	union {
		const char *const *given;
		char *const *wanted; /* execv changes nothing; its prototype is older than const */
	} u = { .given = words };
	(void)execv(KAIRO_BWRAP, u.wanted);
	(void)say_exec(e);
	(void)close(args_fd);
	(void)close(self_fd);
	return -1;
}

/* --- Trying it -------------------------------------------------------------------------------- */

static void probe_child(struct namespace_plan *p, int said)
{
	const char *const argv[] = { "--version", NULL };
	struct err e = ERR_INIT;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(said, STDERR_FILENO);
	(void)namespace_exec(p, argv, &e);
	(void)dprintf(STDERR_FILENO, "%s\n", e.msg);
	_exit(EXIT_FAILURE);
}

/* Its last line, without the name of the program in front. */
static int say_why(struct view said, struct err *e)
{
	struct str safe = STR_INIT((size_t)4 * SAID_MAX);
	struct view line = view_trim(said);
	const char *lf = memrchr(line.n > 0 ? line.p : "", '\n', line.n);

	if (lf)
		line = view_from(line, (size_t)(lf + 1 - line.p));
	if (view_starts(line, VIEW("bwrap: ")))
		line = view_from(line, 7);
	(void)text_visible(line, &safe);
	(void)err_set(e, E_UNSUPPORTED, "%s",
		safe.n > 0 ? str_cstr(&safe) : "bubblewrap failed without a word");
	str_release(&safe);
	return -1;
}

int namespace_probe(struct namespace_plan *p, struct err *e)
{
	char buf[SAID_MAX];
	size_t n = 0;
	ssize_t got;
	int fds[2], status = -1;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "a pipe");
	pid = fork();
	if (pid == 0)
		probe_child(p, fds[1]);
	(void)close(fds[1]);
	while (pid > 0 && n < sizeof(buf)) {
		got = read(fds[0], buf + n, sizeof(buf) - n);
		if (got <= 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	(void)close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_sys(e, "a process to try it");
	if (status == 0)
		return 0;
	return say_why((struct view){ buf, n }, e);
}
