/* Which files may be sent, and what whoever named another one is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/media.h"
#include "channel/sendable.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "world.h"

#define LIMIT 4096

static struct world w;
static char ws[80], media[80];

static const char *at(const char *dir, const char *name)
{
	static char path[2][512];
	static unsigned int turn;
	char *p = path[turn++ % 2];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void put(const char *path, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, (off_t)size));
	close(fd);
}

static int setup(void **state)
{
	char key[MEDIA_KEY_HEX + 1];

	(void)state;
	world_open(&w);
	snprintf(ws, sizeof(ws), "%s/ws", w.scratch.dir);
	snprintf(media, sizeof(media), "%s", w.room.media);
	assert_int_equal(0, mkdir(ws, 0755));
	w.room.workspace = ws;
	w.room.file_max = LIMIT;
	media_user_key(key, OWNER);
	assert_int_equal(0, mkdir(at(media, key), 0700));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_close(&w);
	return 0;
}

static void may_send(const char *path, const char *name)
{
	struct err e = ERR_INIT;
	struct sendable s;

	if (sendable_open(&s, &w.room, OWNER, view_of(path), &e) < 0)
		fail_msg("%s: %s", path, e.msg);
	assert_string_equal(name, s.name);
	assert_true(s.fd >= 0 && s.path[0] == '/');
	assert_int_equal(0, access(s.path, R_OK));
	sendable_close(&s);
	assert_int_equal(-1, s.fd);
}

static void refuse_as(const char *user, const char *path, enum err_code code, const char *says)
{
	struct err e = ERR_INIT;
	struct sendable s;

	if (sendable_open(&s, &w.room, user, view_of(path), &e) == 0)
		fail_msg("%s was accepted", path);
	assert_int_equal(-1, s.fd);
	assert_int_equal(code, e.code);
	if (!strstr(e.msg, says))
		fail_msg("%s: %s", path, e.msg);
}

static void refuse(const char *path, enum err_code code, const char *says)
{
	refuse_as(OWNER, path, code, says);
}

static void files_of_the_workspace_may_be_sent(void **state)
{
	(void)state;
	assert_int_equal(0, mkdir(at(ws, "out"), 0755));
	assert_int_equal(0, mkdir(at(ws, ".kairo-out"), 0755));
	put(at(ws, "out/a b.pdf"), 10);
	put(at(ws, ".kairo-out/c.png"), 0);
	may_send("out/a b.pdf", "a b.pdf");
	may_send("./out//a b.pdf", "a b.pdf");
	may_send(at(ws, "out/a b.pdf"), "a b.pdf");
	may_send(".kairo-out/c.png", "c.png");
}

static void so_may_what_this_user_has_sent(void **state)
{
	char key[MEDIA_KEY_HEX + 1], dir[300];

	(void)state;
	media_user_key(key, OWNER);
	snprintf(dir, sizeof(dir), "%s/%s/2026-01-02", media, key);
	assert_int_equal(0, mkdir(dir, 0700));
	put(at(dir, "photo.jpg"), 10);
	may_send(at(dir, "photo.jpg"), "photo.jpg");
	refuse_as("guest@im.wechat", at(dir, "photo.jpg"), E_DENIED, "outside the workspace");
	put(at(media, "index"), 1);
	refuse(at(media, "index"), E_DENIED, "outside the workspace");
}

static void what_lies_outside_is_refused(void **state)
{
	(void)state;
	put(at(w.scratch.dir, "secret"), 1);
	put(at(w.scratch.dir, "ws-other"), 1);
	refuse("/etc/passwd", E_DENIED, "outside the workspace");
	refuse(at(w.scratch.dir, "secret"), E_DENIED, "outside the workspace");
	refuse(at(w.scratch.dir, "ws-other"), E_DENIED, "outside the workspace");
	refuse("../secret", E_DENIED, "without \"..\"");
	refuse(at(ws, "../secret"), E_DENIED, "without \"..\"");
	refuse("out/../../secret", E_DENIED, "without \"..\"");
	refuse(ws, E_FORMAT, "is a folder; name a file in it");
	refuse(at(ws, ""), E_FORMAT, "folder");
	refuse(".", E_FORMAT, "folder");
}

static void what_is_hidden_is_refused(void **state)
{
	(void)state;
	assert_int_equal(0, mkdir(at(ws, ".git"), 0755));
	assert_int_equal(0, mkdir(at(ws, "sub"), 0755));
	assert_int_equal(0, mkdir(at(ws, "sub/.kairo-out"), 0755));
	assert_int_equal(0, mkdir(at(ws, ".kairo-out"), 0755));
	put(at(ws, ".env"), 1);
	put(at(ws, ".git/config"), 1);
	put(at(ws, "sub/.kairo-out/a"), 1);
	put(at(ws, ".kairo-out/.gitignore"), 1);
	refuse(".env", E_DENIED, "hidden");
	refuse(".git/config", E_DENIED, "hidden");
	refuse("sub/.kairo-out/a", E_DENIED, "hidden");
	refuse(".kairo-out/.gitignore", E_DENIED, "hidden");
	refuse(".kairo-out/.kairo-out", E_DENIED, "hidden");
}

static void links_are_not_followed(void **state)
{
	(void)state;
	put(at(w.scratch.dir, "secret"), 1);
	put(at(ws, "real"), 1);
	assert_int_equal(0, symlink("../secret", at(ws, "link")));
	assert_int_equal(0, symlink("real", at(ws, "inner")));
	assert_int_equal(0, symlink("..", at(ws, "up")));
	refuse("link", E_DENIED, "symbolic link");
	refuse("inner", E_DENIED, "symbolic link");
	refuse("up/secret", E_DENIED, "symbolic link");
	assert_int_equal(0, link(at(ws, "real"), at(w.scratch.dir, "other")));
	refuse("real", E_DENIED, "hard link");
}

static void only_regular_files_are_sent(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(0, mkdir(at(ws, "folder"), 0755));
	assert_int_equal(0, mkfifo(at(ws, "fifo"), 0600));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/sock", ws);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&sa, sizeof(sa)));
	close(fd);
	put(at(ws, "file"), 1);
	refuse("folder", E_FORMAT, "pack it");
	refuse("fifo", E_DENIED, "not a regular file");
	refuse("sock", E_DENIED, "not a regular file");
	refuse("file/below", E_NOTFOUND, "below a file");
	refuse("missing.pdf", E_NOTFOUND, "there is no missing.pdf");
	refuse("", E_FORMAT, "1 to");
}

static void the_limit_holds(void **state)
{
	(void)state;
	put(at(ws, "below"), LIMIT - 1);
	put(at(ws, "at"), LIMIT);
	put(at(ws, "above"), LIMIT + 1);
	may_send("below", "below");
	may_send("at", "at");
	refuse("above", E_FULL, "files.max_mb");
}

static void a_path_too_long_is_refused(void **state)
{
	char path[PATH_SIZE + 1];

	(void)state;
	memset(path, 'a', PATH_SIZE);
	path[PATH_SIZE] = '\0';
	refuse(path, E_FORMAT, "1 to 4095");
}

static void without_a_workspace_nothing_is_sent(void **state)
{
	(void)state;
	w.room.workspace = NULL;
	refuse("a", E_UNSUPPORTED, "no file can be sent");
}

static void the_name_says_how_it_is_shown(void **state)
{
	static const struct {
		const char *name;
		enum chan_item_kind kind;
	} cases[] = {
		{ "a.png", CHAN_IMAGE },
		{ "a.JPG", CHAN_IMAGE },
		{ "a.jpeg", CHAN_IMAGE },
		{ "a.gif", CHAN_IMAGE },
		{ "a.webp", CHAN_IMAGE },
		{ "a.mp4", CHAN_VIDEO },
		{ "a.MOV", CHAN_VIDEO },
		{ "a.mp3", CHAN_FILE },
		{ "a.silk", CHAN_FILE },
		{ "a.pdf", CHAN_FILE },
		{ "png", CHAN_FILE },
		{ "a.png.zip", CHAN_FILE },
		{ "a.", CHAN_FILE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(cases[i].kind, sendable_kind(cases[i].name));
}

static void names_are_made_fit_to_show(void **state)
{
	char name[SENDABLE_NAME_MAX + 1], wide[601] = "";

	(void)state;
	sendable_name(name, VIEW("a\n\x1b[31mb\xff.pdf"));
	assert_string_equal("ab\xef\xbf\xbd.pdf", name);
	sendable_name(name, VIEW(""));
	assert_string_equal("file", name);
	for (int i = 0; i < 100; i++)
		memcpy(wide + (size_t)6 * (size_t)i, "中文", 6);
	sendable_name(name, view_of(wide));
	assert_int_equal(SENDABLE_NAME_MAX, strlen(name)); /* 85 characters of three bytes */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_of_the_workspace_may_be_sent),
		T(so_may_what_this_user_has_sent),
		T(what_lies_outside_is_refused),
		T(what_is_hidden_is_refused),
		T(links_are_not_followed),
		T(only_regular_files_are_sent),
		T(the_limit_holds),
		T(a_path_too_long_is_refused),
		T(without_a_workspace_nothing_is_sent),
		T(the_name_says_how_it_is_shown),
		T(names_are_made_fit_to_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
