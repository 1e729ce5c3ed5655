/* ask, send */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/turn.h"
#include "base/json.h"
#include "base/text.h"
#include "channel/outfolder.h"
#include "channel/parcel.h"
#include "cli/app.h"
#include "cli/ask_view.h"
#include "cli/client.h"

/* --- With a daemon: through its FIFO ---------------------------------------------------------- */

struct remote {
	struct ask_view view;
	struct client *client;
};

static int on_line(void *arg, struct client *c, struct view line)
{
	struct remote *m = arg;

	m->client = c;
	m->view.loop = client_loop(c);
	ask_view_line(&m->view, line);
	return 0;
}

static void on_end(void *arg)
{
	struct remote *m = arg;

	ask_view_close(&m->view);
}

static void answer_daemon(void *arg, const char *id, uint64_t ticket, int choice)
{
	struct remote *m = arg;
	struct str body = STR_INIT(1024);
	struct json_out w;
	struct err e = ERR_INIT;

	json_out_begin(&w, &body);
	json_open(&w, NULL);
	json_put_u64(&w, "ticket", ticket);
	json_put_z(&w, "id", id);
	json_put_int(&w, "choice", choice);
	json_close(&w);
	if (json_out_end(&w, &e) < 0 ||
		client_post(m->client, "/v1/answer", str_view(&body), &e) < 0)
		(void)say_err(&e);
	str_release(&body);
}

static int ask_daemon(const struct home *h, struct view prompt, int *code, struct err *e)
{
	struct str body = STR_INIT((size_t)6 * ENGINE_INPUT_MAX + 1024); /* escapes, see socket.c */
	struct remote m = { .client = NULL };
	struct json_out w;
	int rc;

	m.view = (struct ask_view){ .answer = answer_daemon, .arg = &m, .code = EXIT_FAILED };
	json_out_begin(&w, &body);
	json_open(&w, NULL);
	json_put_str(&w, "text", prompt);
	json_close(&w);
	rc = json_out_end(&w, e);
	if (rc == 0) {
		const struct client_call call = {
			.method = "POST",
			.path = "/v1/ask",
			.body = str_view(&body),
			.timeout_ms = -1,
			.on_line = on_line,
			.on_end = on_end,
			.arg = &m,
		};
		rc = client_request(h, &call, e);
	}
	*code = m.view.code;
	str_release(&body);
	return rc;
}

/* --- Without one: the engine in this process -------------------------------------------------- */

struct local {
	struct loop *loop;
	struct turns *turns;
	struct db *db;
	struct ask_view view;
	struct ask_frame frame;
	struct room room; /* of the channel: no more than it takes to look for files */
	struct err *err;
	int rc;
};

static int save(struct local *l, const struct engine_event *ev)
{
	if (!ev->save)
		return 0;
	if (db_begin(l->db, l->err) < 0)
		return -1;
	if (ev->save(ev->save_arg, l->err) < 0) {
		db_rollback(l->db);
		return -1;
	}
	return db_commit(l->db, l->err);
}

static void show(struct local *l, const struct engine_event *ev)
{
	struct str line = STR_INIT(ENGINE_ANSWER_MAX + 65536);

	l->frame.streamed = l->view.streamed;
	if (ask_event_json(ev, &l->frame, &line) == 0 && line.n)
		ask_view_line(&l->view, view_cut(str_view(&line), line.n - 1));
	str_release(&line);
}

static void show_text(struct local *l, struct view text)
{
	const struct engine_event ev = { .type = ENGINE_TEXT, .text = text };

	show(l, &ev);
}

/* What was left in the out folder, behind the answer. */
static void name_files(struct local *l, const struct engine_event *done)
{
	struct str names = STR_INIT(1 << 20);

	parcel_name(&l->room, "", &names);
	if (names.n > 0 && !l->view.streamed)
		show_text(l, done->text);
	if (names.n > 0)
		show_text(l, str_view(&names));
	str_release(&names);
}

static void on_event(void *arg, const struct engine_event *ev)
{
	struct local *l = arg;

	if (ev->type == ENGINE_DONE && ev->fail == ENGINE_OK)
		name_files(l, ev);
	show(l, ev);
	if (ev->type != ENGINE_DONE)
		return;
	l->rc = save(l, ev);
	loop_stop(l->loop);
}

static void answer_here(void *arg, const char *id, uint64_t ticket, int choice)
{
	struct local *l = arg;
	struct err e = ERR_INIT;

	(void)ticket;
	if (turns_answer(l->turns, id, choice, &e) < 0)
		(void)say_err(&e);
}

static void on_interrupt(void *arg, int signo)
{
	struct local *l = arg;

	(void)signo;
	if (!turns_cancel(l->turns))
		loop_stop(l->loop);
}

static int run_local(struct local *l, struct workshop *shop, struct view prompt,
	const struct config *cfg, struct err *e)
{
	enum control_language lang = ask_language(cfg, prompt);
	const struct turn_input in = {
		.turn = (uint64_t)loop_wall(l->loop),
		.conversation = "terminal",
		.origin = ORIGIN_TERMINAL,
		.owner = true,
		.text = prompt,
		.language = lang == LANG_ZH ? "zh" : "en",
	};
	struct sigwatch *intr = NULL;
	int rc = -1;

	l->db = shop->db;
	l->room = (struct room){ .workspace = shop->workspace, .log = shop->log, .language = lang };
	outfolder_begin(&l->room);
	l->err = e;
	l->frame.ask_ms = ask_ms_from(cfg);
	l->frame.lang = lang;
	l->view = (struct ask_view){ .loop = l->loop,
		.answer = answer_here,
		.arg = l,
		.code = EXIT_FAILED };
	if (turns_open(&l->turns, l->loop, shop->engine, cfg->turn_minutes * 60000, on_event, NULL,
		    l, shop->log, e) == 0 &&
		sigwatch_new(&intr, l->loop, SIGINT, on_interrupt, l, e) == 0 &&
		turns_start(l->turns, &in, e) == 0 && loop_run(l->loop, e) == 0)
		rc = l->rc;
	sigwatch_free(&intr);
	ask_view_close(&l->view);
	turns_close(&l->turns);
	return rc;
}

static int ask_here(const struct home *h, struct view prompt, int *code, struct err *e)
{
	struct config *cfg = NULL;
	struct log *log = NULL;
	struct workshop shop = { .workspace_fd = -1 };
	struct local l = { .loop = NULL };
	int rc = -1;

	if (config_load(&cfg, h->dir, e) == 0 && config_load_key(cfg, e) == 0 &&
		log_open_fd(&log, STDERR_FILENO, LOG_ERROR, e) == 0 &&
		loop_open(&l.loop, NULL, e) == 0 &&
		workshop_open(&shop, h, cfg, l.loop, log, e) == 0)
		rc = run_local(&l, &shop, prompt, cfg, e);
	*code = l.view.code;
	workshop_close(&shop);
	loop_close(&l.loop);
	log_close(&log);
	config_free(&cfg);
	return rc;
}

int cmd_ask(const struct home *h, int argc, char **argv)
{
	struct str prompt = STR_INIT(ENGINE_INPUT_MAX);
	struct err e = ERR_INIT;
	int rc = 0, code = EXIT_FAILED;

	for (int i = 1; i < argc; i++)
		if (str_addf(&prompt, "%s%s", i > 1 ? " " : "", argv[i]) < 0)
			rc = err_set(&e, E_FORMAT, "the prompt is longer than 1 MiB");
	if (argc == 1)
		rc = read_stdin(ENGINE_INPUT_MAX, &prompt, &e);
	if (rc == 0 && !view_trim(str_view(&prompt)).n)
		rc = err_set(&e, E_FORMAT,
			"there is no prompt: kairo ask \"TEXT\", or through standard input");
	if (rc == 0 &&
		(!utf8_valid(str_view(&prompt)) || view_find(str_view(&prompt), '\0') != prompt.n))
		rc = err_set(&e, E_FORMAT, "the prompt is not valid UTF-8, or holds a NUL");
	if (rc == 0) {
		rc = ask_daemon(h, str_view(&prompt), &code, &e);
		if (rc < 0 && e.code == E_NOTFOUND) {
			err_clear(&e);
			rc = ask_here(h, str_view(&prompt), &code, &e);
		}
	}
	str_release(&prompt);
	return rc < 0 ? say_err(&e) : code;
}

/* --- send ------------------------------------------------------------------------------------ */

struct sending {
	const char *to, *text;
	char *files[SEND_FILES]; /* absolute, without links */
	size_t n;
};

static int add_file(struct sending *s, const char *path, struct err *e)
{
	if (s->n == SEND_FILES)
		return err_set(e, E_FORMAT, "at most %d files are sent at a time", SEND_FILES);
	s->files[s->n] = realpath(path, NULL);
	if (!s->files[s->n])
		return err_sys(e, "%s", path);
	if (!utf8_valid(view_of(s->files[s->n++])))
		return err_set(e, E_FORMAT, "the path of %s is not valid UTF-8; rename it", path);
	return 0;
}

/* 0; 1: usage; 2: the same, and getopt has said what is wrong; -1. */
static int read_sending(struct sending *s, int argc, char **argv, struct err *e)
{
	static const struct option longs[] = { { "to", required_argument, NULL, 't' },
		{ "file", required_argument, NULL, 'f' }, { NULL, 0, NULL, 0 } };
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt != 't' && opt != 'f')
			return 2;
		if (opt == 'f' && add_file(s, optarg, e) < 0)
			return -1;
		if (opt == 't')
			s->to = optarg;
	}
	if (optind < argc - 1 || (optind < argc && !argv[optind][0]) ||
		(optind == argc && s->n == 0))
		return 1;
	s->text = optind < argc ? argv[optind] : NULL;
	if ((s->text && !utf8_valid(view_of(s->text))) || (s->to && !utf8_valid(view_of(s->to))))
		return err_set(e, E_FORMAT, "the text is not valid UTF-8");
	return 0;
}

static int write_sending(const struct sending *s, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	if (s->text)
		json_put_z(&w, "text", s->text);
	if (s->to)
		json_put_z(&w, "to", s->to);
	json_open_array(&w, "files");
	for (size_t i = 0; i < s->n; i++)
		json_put_z(&w, NULL, s->files[i]);
	json_close_array(&w);
	json_close(&w);
	return json_out_end(&w, e);
}

int cmd_send(const struct home *h, int argc, char **argv)
{
	struct str body = STR_INIT(4 << 20), answer = STR_INIT(65536);
	const struct client_call call = { .method = "POST", .path = "/v1/send", .answer = &answer };
	struct client_call c = call;
	struct sending s = { .to = NULL };
	struct err e = ERR_INIT;
	int rc = read_sending(&s, argc, argv, &e), code = EXIT_DONE;

	if (rc > 0) {
		code = say_usage("send", rc == 1 ? "one TEXT is wanted, or --file PATH" : NULL);
	} else if (rc < 0) {
		code = say_err(&e);
	} else if (write_sending(&s, &body, &e) < 0) {
		code = say_err(&e);
	} else {
		c.body = str_view(&body);
		if (client_request(h, &c, &e) < 0)
			code = e.code == E_NOTFOUND ? (say_err(&e), EXIT_NOT_RUNNING) : say_err(&e);
		else
			puts("handed to the outbox; kairo status shows what became of it");
	}
	for (size_t i = 0; i < s.n; i++)
		free(s.files[i]);
	str_release(&body);
	str_release(&answer);
	return code;
}
