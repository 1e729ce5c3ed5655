/* ask, send */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/turn.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/client.h"

enum { EVENT_MAX = 24 << 20 };

/* --- What a person at a terminal sees of a turn ----------------------------------------------- */

struct view_state {
	bool streamed; /* text was printed as it came */
	bool at_start; /* of a line */
	int code;
};

static void show_text(struct view_state *v, struct view text)
{
	if (!text.n)
		return;
	print_safe(stdout, text);
	fflush(stdout);
	v->streamed = true;
	v->at_start = text.p[text.n - 1] == '\n';
}

/* What was said before a tool ran stands apart from what comes after it. */
static void show_tool(struct view_state *v, struct view name, struct view key)
{
	if (!v->at_start)
		puts("\n");
	v->at_start = true;
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "[%.*s] ", VIEW_FMT(name));
	print_safe(stderr, key);
	fputc('\n', stderr);
}

/* Failures that a person at this machine can do something about. */
static bool for_doctor(const char *result)
{
	static const enum engine_fail fails[] = { ENGINE_FAIL_NOT_SET_UP, ENGINE_FAIL_UNREACHABLE,
		ENGINE_FAIL_AUTH, ENGINE_FAIL_NO_MODEL };

	for (size_t i = 0; i < sizeof(fails) / sizeof(fails[0]); i++)
		if (!strcmp(result, engine_fail_name(fails[i])))
			return true;
	return false;
}

static void show_done(struct view_state *v, struct view text, const char *result,
	struct view detail)
{
	bool ok = !strcmp(result, "ok");

	if (!v->streamed)
		show_text(v, text);
	if (v->streamed && !v->at_start)
		putchar('\n');
	fflush(stdout);
	v->code = ok ? EXIT_DONE : EXIT_FAILED;
	if (ok)
		return;
	fprintf(stderr, "kairo: %s%s", result, detail.n ? ": " : "");
	print_safe(stderr, detail);
	fputs(for_doctor(result) ? "; kairo doctor says what to do\n" : "\n", stderr);
}

static int on_line(void *arg, struct view line)
{
	struct view_state *v = arg;
	const struct json_limits lim = { .bytes = EVENT_MAX, .depth = 8, .nodes = 1000 };
	struct json *j = NULL;
	struct view event = VIEW_NONE, text = VIEW_NONE, name = VIEW_NONE, detail = VIEW_NONE,
		    result = VIEW_NONE;
	struct err e = ERR_INIT;

	if (json_read(&j, line, &lim, &e) < 0 ||
		json_get_str(j, "event", JSON_REQUIRED, 1, 32, &event, &e) < 0 ||
		json_get_str(j, "text", JSON_OPTIONAL, 0, EVENT_MAX, &text, &e) < 0 ||
		json_get_str(j, "name", JSON_OPTIONAL, 0, 256, &name, &e) < 0 ||
		json_get_str(j, "result", JSON_OPTIONAL, 0, 64, &result, &e) < 0 ||
		json_get_str(j, "detail", JSON_OPTIONAL, 0, 1024, &detail, &e) < 0) {
		v->code = say_err(&e);
	} else if (view_eqs(event, "text")) {
		show_text(v, text);
	} else if (view_eqs(event, "tool")) {
		show_tool(v, name, text);
	} else if (view_eqs(event, "done")) {
		show_done(v, text, result.p ? result.p : "ok", detail);
	}
	json_free(&j);
	return 0;
}

/* --- With a daemon: through its FIFO ---------------------------------------------------------- */

static int ask_daemon(const struct home *h, struct view prompt, struct view_state *v, struct err *e)
{
	struct str body = STR_INIT((size_t)6 * ENGINE_INPUT_MAX + 1024); /* escapes, see socket.c */
	struct json_out w;
	int rc;

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
			.arg = v,
		};
		rc = client_request(h, &call, e);
	}
	str_release(&body);
	return rc;
}

/* --- Without one: the engine in this process -------------------------------------------------- */

struct local {
	struct loop *loop;
	struct turns *turns;
	struct db *db;
	struct view_state *view;
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

static void on_event(void *arg, const struct engine_event *ev)
{
	struct local *l = arg;
	struct str line = STR_INIT(ENGINE_ANSWER_MAX + 65536);

	if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION)
		turns_answer(l->turns, ev->id, -1, NULL);
	if (ask_event_json(ev, &line) == 0 && line.n)
		on_line(l->view, view_cut(str_view(&line), line.n - 1));
	str_release(&line);
	if (ev->type != ENGINE_DONE)
		return;
	l->rc = save(l, ev);
	loop_stop(l->loop);
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
	const struct turn_input in = {
		.turn = (uint64_t)loop_wall(l->loop),
		.conversation = "terminal",
		.origin = ORIGIN_TERMINAL,
		.text = prompt,
		.language = strcmp(cfg->language, "zh") ? "en" : "zh",
	};
	struct sigwatch *intr = NULL;
	int rc = -1;

	l->db = shop->db;
	l->err = e;
	if (turns_open(&l->turns, l->loop, shop->engine, cfg->turn_minutes * 60000, on_event, l,
		    shop->log, e) == 0 &&
		sigwatch_new(&intr, l->loop, SIGINT, on_interrupt, l, e) == 0 &&
		turns_start(l->turns, &in, e) == 0 && loop_run(l->loop, e) == 0)
		rc = l->rc;
	sigwatch_free(&intr);
	turns_close(&l->turns);
	return rc;
}

static int ask_here(const struct home *h, struct view prompt, struct view_state *v, struct err *e)
{
	struct config *cfg = NULL;
	struct log *log = NULL;
	struct workshop shop = { .workspace_fd = -1 };
	struct local l = { .view = v };
	int rc = -1;

	if (config_load(&cfg, h->dir, e) == 0 && config_load_key(cfg, e) == 0 &&
		log_open_fd(&log, STDERR_FILENO, LOG_ERROR, e) == 0 &&
		loop_open(&l.loop, NULL, e) == 0 &&
		workshop_open(&shop, h, cfg, l.loop, log, e) == 0)
		rc = run_local(&l, &shop, prompt, cfg, e);
	workshop_close(&shop);
	loop_close(&l.loop);
	log_close(&log);
	config_free(&cfg);
	return rc;
}

int cmd_ask(const struct home *h, int argc, char **argv)
{
	struct str prompt = STR_INIT(ENGINE_INPUT_MAX);
	struct view_state v = { .at_start = true, .code = EXIT_FAILED };
	struct err e = ERR_INIT;
	int rc = 0;

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
		rc = ask_daemon(h, str_view(&prompt), &v, &e);
		if (rc < 0 && e.code == E_NOTFOUND) {
			err_clear(&e);
			rc = ask_here(h, str_view(&prompt), &v, &e);
		}
	}
	str_release(&prompt);
	return rc < 0 ? say_err(&e) : v.code;
}

int cmd_send(const struct home *h, int argc, char **argv)
{
	static const struct option longs[] = { { "to", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 } };
	struct str body = STR_INIT(4 << 20), answer = STR_INIT(65536);
	const char *to = NULL;
	struct json_out w;
	struct err e = ERR_INIT;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt != 't')
			return say_usage("send", NULL);
		to = optarg;
	}
	if (optind != argc - 1 || !argv[optind][0])
		return say_usage("send", "one TEXT is wanted");
	if (!utf8_valid(view_of(argv[optind])) || (to && !utf8_valid(view_of(to)))) {
		err_set(&e, E_FORMAT, "the text is not valid UTF-8");
		return say_err(&e);
	}
	json_out_begin(&w, &body);
	json_open(&w, NULL);
	json_put_z(&w, "text", argv[optind]);
	if (to)
		json_put_z(&w, "to", to);
	json_close(&w);
	rc = json_out_end(&w, &e);
	if (rc == 0) {
		const struct client_call call = { .method = "POST",
			.path = "/v1/send",
			.body = str_view(&body),
			.answer = &answer };
		rc = client_request(h, &call, &e);
	}
	str_release(&body);
	str_release(&answer);
	if (rc == 0) {
		puts("handed to the outbox; kairo status shows what became of it");
		return EXIT_DONE;
	}
	rc = say_err(&e);
	return e.code == E_NOTFOUND ? EXIT_NOT_RUNNING : rc;
}
