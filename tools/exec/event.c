#include "tools/exec/event.h"

#include <errno.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

#define EVENT_MAX ((size_t)8 << 20)

static int send_line(int fd, struct str *line)
{
	struct view rest;
	int rc = str_addc(line, '\n');

	for (rest = str_view(line); rc == 0 && rest.n > 0;) {
		ssize_t n = write(fd, rest.p, rest.n);

		if (n < 0 && errno != EINTR)
			rc = -1;
		else if (n > 0)
			rest = view_from(rest, (size_t)n);
	}
	return rc;
}

static void begin(struct json_out *w, struct str *line, const char *event)
{
	json_out_begin(w, line);
	json_open(w, NULL);
	json_put_z(w, "event", event);
}

/* Releases the line. */
static int end(struct json_out *w, struct str *line, int fd)
{
	int rc = -1;

	json_close(w);
	if (json_out_end(w, NULL) == 0)
		rc = send_line(fd, line);
	str_release(line);
	return rc;
}

void event_fence(int fd, const struct fence *f)
{
	struct str line = STR_INIT(EVENT_MAX);
	struct json_out w;

	begin(&w, &line, "fence");
	json_put_bool(&w, "namespaces", f->namespaces);
	json_put_int(&w, "landlock", f->landlock);
	json_put_bool(&w, "seccomp", f->seccomp);
	(void)end(&w, &line, fd);
}

void event_acting(int fd)
{
	struct str line = STR_INIT(EVENT_MAX);
	struct json_out w;

	begin(&w, &line, "acting");
	(void)end(&w, &line, fd);
}

void event_output(int fd, struct view text)
{
	struct str line = STR_INIT(EVENT_MAX);
	struct json_out w;

	begin(&w, &line, "output");
	json_put_str(&w, "text", text);
	(void)end(&w, &line, fd);
}

void event_end(int fd, int code, int signal)
{
	struct str line = STR_INIT(EVENT_MAX);
	struct json_out w;

	begin(&w, &line, "result");
	json_put_bool(&w, "ok", true);
	json_put_int(&w, signal ? "signal" : "code", signal ? signal : code);
	(void)end(&w, &line, fd);
}

/* Texts with a NUL behind each. Those that are not UTF-8 are left out. */
static void put_list(struct json_out *w, const char *name, struct view list)
{
	if (list.n == 0)
		return;
	json_open_array(w, name);
	while (list.n > 0) {
		struct view item = view_cut(list, view_find(list, '\0'));

		if (utf8_valid(item))
			json_put_str(w, NULL, item);
		list = view_from(list, item.n + 1);
	}
	json_close_array(w);
}

/* ended, error NULL: not a member; nor is an empty list. */
static int send_result(int fd, bool ok, const bool *ended, const char *error, struct view text,
	struct view python)
{
	struct str line = STR_INIT(EVENT_MAX), clean = STR_INIT(EVENT_MAX);
	struct json_out w;
	int rc = -1;

	if (utf8_repair(text, &clean) == 0) {
		begin(&w, &line, "result");
		json_put_bool(&w, "ok", ok);
		if (ended)
			json_put_bool(&w, "ended", *ended);
		if (error)
			json_put_z(&w, "error", error);
		json_put_str(&w, "text", str_view(&clean));
		put_list(&w, "python", python);
		rc = end(&w, &line, fd);
	}
	str_release(&clean);
	return rc;
}

int event_result(int fd, bool ok, struct view text)
{
	return send_result(fd, ok, NULL, NULL, text, VIEW_NONE);
}

int event_done(int fd, bool ok, struct view text, struct view python)
{
	return send_result(fd, ok, NULL, NULL, text, python);
}

int event_failure(int fd, const struct err *e)
{
	return send_result(fd, false, NULL, err_code_name(e->code), view_of(e->msg), VIEW_NONE);
}

int event_session(int fd, bool ok, bool ended, struct view text)
{
	return send_result(fd, ok, &ended, NULL, text, VIEW_NONE);
}
