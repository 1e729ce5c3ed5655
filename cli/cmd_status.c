/* status */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "account/account.h"
#include "base/json.h"
#include "channel/daemon.h"
#include "cli/background.h"
#include "cli/app.h"
#include "cli/client.h"

enum { RELAXED_MAX = 8 };

static void print_age(const char *label, int64_t wall_ms)
{
	int64_t age = (clock_wall(clock_system()) - wall_ms) / 1000;
	char when[64];
	struct tm tm;
	time_t t = (time_t)(wall_ms / 1000);

	if (!wall_ms || !localtime_r(&t, &tm) || !strftime(when, sizeof(when), "%F %T", &tm)) {
		printf("%snone yet\n", label);
		return;
	}
	printf("%s%s (%" PRId64 " s ago)\n", label, when,
		age < 0 ? 0 : age); /* a clock may be turned back */
}

static const char *text_of(const struct json *obj, const char *name, char *buf, size_t size)
{
	struct view v = VIEW_NONE;
	struct err e = ERR_INIT;

	buf[0] = '\0';
	json_get_str(obj, name, JSON_OPTIONAL, 0, size - 1, &v, &e);
	copy_z(buf, size, v);
	return buf;
}

static void line(const char *label, const char *value)
{
	printf("%-13s", label);
	print_safe(stdout, view_of(value));
	putchar('\n');
}

static void print_link(const struct json *j)
{
	const struct json *link = json_member(j, "link");
	char buf[PATH_SIZE], why[512];

	line("link", text_of(link, "state", buf, sizeof(buf)));
	if (text_of(link, "why", why, sizeof(why))[0])
		line("", why);
	if (!strcmp(buf, "login expired"))
		line("", "log in again: kairo login --force, then kairo restart");
	print_age("last poll    ", answer_int(link, "last_good_poll"));
}

static void print_work(const struct json *j)
{
	const struct json *queue = json_member(j, "queue"), *turn = json_member(j, "turn"),
			  *sends = json_member(j, "sends"), *media = json_member(j, "media");
	char buf[PATH_SIZE];
	bool paused = false;
	struct err e = ERR_INIT;

	json_get_bool(j, "paused", JSON_OPTIONAL, &paused, &e);
	printf("queue        %" PRId64 " of %" PRId64 " waiting%s\n", answer_int(queue, "waiting"),
		answer_int(queue, "limit"),
		paused ? ", paused (/resume on the phone ends the pause)" : "");
	if (turn && json_type(turn) == JSON_OBJECT)
		printf("turn         running for %" PRId64 " s\n", answer_int(turn, "age_s"));
	else
		printf("turn         none\n");
	printf("sends        %" PRId64 " of %" PRId64 " since the owner's last message\n",
		answer_int(sends, "used"), answer_int(sends, "limit"));
	printf("parts        %" PRId64 " parked, %" PRId64 " refused, %" PRId64 " unknown, %" PRId64
	       " unconfirmed\n",
		answer_int(j, "parked"), answer_int(j, "refused"), answer_int(j, "unknown"),
		answer_int(j, "unconfirmed"));
	if (answer_int(media, "files") > 0)
		printf("received     %" PRId64 " files, %.1f MiB (media.days, media.keep_mb)\n",
			answer_int(media, "files"), (double)answer_int(media, "bytes") / (1 << 20));
	if (text_of(j, "intake_error", buf, sizeof(buf))[0])
		line("intake", buf);
}

static void print_status(const struct json *j)
{
	const struct json *acc = json_member(j, "account");
	char buf[PATH_SIZE];

	printf("kairo        %s, pid %" PRId64 ", up %" PRId64 " s\n",
		text_of(j, "state", buf, sizeof(buf)), answer_int(j, "pid"),
		answer_int(j, "uptime_s"));
	line("bot", text_of(acc, "bot_id", buf, sizeof(buf)));
	line("owner", text_of(acc, "user_id", buf, sizeof(buf)));
	print_link(j);
	print_work(j);
	line("engine", text_of(j, "engine", buf, sizeof(buf)));
	background_print(j, "background   ", "             ");
	line("workspace", text_of(j, "workspace", buf, sizeof(buf)));
	line("sandbox", text_of(j, "sandbox", buf, sizeof(buf)));
	json_each(w, json_member(j, "warnings")) {
		struct view v;

		if (json_str(w, &v) == 0 && copy_z(buf, sizeof(buf), v) == 0)
			line("warning", buf);
	}
}

/* Its lock is held, but nobody answers: it is just starting, or stuck. */
static int status_silent(pid_t pid, bool json)
{
	if (json)
		printf("{\"schema\":1,\"state\":\"silent\",\"pid\":%d}\n", (int)pid);
	else
		printf("kairo        runs as pid %d, but does not answer; kairo logs may tell why, "
		       "kairo restart ends it\n",
			(int)pid);
	return EXIT_FAILED;
}

static int stopped_json(const char *login, const char *const *warnings, size_t n)
{
	struct str text = STR_INIT(4096);
	struct json_out w;
	struct err e = ERR_INIT;

	json_out_begin(&w, &text);
	json_open(&w, NULL);
	json_put_int(&w, "schema", 1);
	json_put_z(&w, "state", "stopped");
	json_open(&w, "account");
	json_put_z(&w, "login", login);
	json_close(&w);
	json_open_array(&w, "warnings");
	for (size_t i = 0; i < n; i++)
		json_put_z(&w, NULL, warnings[i]);
	json_close_array(&w);
	json_close(&w);
	int rc = json_out_end(&w, &e);
	if (rc == 0)
		puts(str_cstr(&text));
	str_release(&text);
	return rc < 0 ? say_err(&e) : EXIT_DONE;
}

/* No daemon: what the files say. */
static int status_stopped(const struct home *h, bool json)
{
	struct account *acc = NULL;
	struct config *cfg = NULL;
	struct err e = ERR_INIT, ce = ERR_INIT;
	const char *lines[RELAXED_MAX + 2];
	bool login = account_load(&acc, h->dir, &e) == 0;
	bool unusable = !login && e.code != E_NOTFOUND;
	int code = login || unusable ? EXIT_NOT_RUNNING : EXIT_LOGIN_NEEDED;
	size_t n = 0;

	if (config_load(&cfg, h->dir, &ce) == 0)
		n = config_relaxed(cfg, false, lines, RELAXED_MAX);
	if (json && !cfg)
		lines[n++] = ce.msg;
	if (json && unusable)
		lines[n++] = e.msg;
	if (json) {
		if (stopped_json(login      ? "ok"
				 : unusable ? "unusable"
					    : "none",
			    lines, n) != EXIT_DONE)
			code = EXIT_FAILED;
	} else {
		line("kairo", "not running; start it with: kairo start");
		if (login)
			line("bot", account_bot_id(acc));
		else
			line("login", unusable ? e.msg : "nobody is logged in: kairo login");
		if (!cfg)
			line("config", ce.msg);
		for (size_t i = 0; i < n; i++)
			line("warning", lines[i]);
	}
	config_free(&cfg);
	account_free(&acc);
	return code;
}

int cmd_status(const struct home *h, int argc, char **argv)
{
	bool json = argc == 2 && !strcmp(argv[1], "--json");
	struct str answer = STR_INIT(1 << 20);
	const struct client_call call = { .method = "GET",
		.path = "/v1/status",
		.answer = &answer };
	struct json *j = NULL;
	struct err e = ERR_INIT, why = ERR_INIT;
	int rc = EXIT_DONE;
	pid_t pid;

	if (argc > 2 || (argc == 2 && !json))
		return say_usage("status", "status takes --json or nothing");
	if (client_request(h, &call, &e) < 0) {
		if (e.code != E_CANCELLED && daemon_find(h->dir, &pid, &why) == 1)
			rc = status_silent(pid, json);
		else if (e.code == E_NOTFOUND)
			rc = status_stopped(h, json);
		else
			rc = say_err(&e);
	} else if (json) {
		printf("%s\n", str_cstr(&answer));
	} else if (json_read(&j, str_view(&answer), &json_limits_config, &e) < 0) {
		rc = say_err(&e);
	} else {
		print_status(j);
	}
	json_free(&j);
	str_release(&answer);
	return rc;
}
