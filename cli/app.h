/* cli/app.h: the daemon put together: opens the rooms in order, runs the loop, closes them. */
#ifndef CLI_APP_H
#define CLI_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "base/net/httpd.h"
#include "channel/channel.h"
#include "channel/control.h"
#include "channel/daemon.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/model_choice.h"
#include "tools/host/audit.h"
#include "tools/host/registry.h"

/* The parts that a turn needs: shared by the daemon and by `ask` without one. */
struct workshop {
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct http *model_http;
	struct audit *audit;
	struct policy *policy;
	struct tools *tools;
	struct web *web;
	struct todo *todo;
	struct engine *engine;
	struct model_choice choice;
	char workspace[PATH_SIZE];
	int workspace_fd;
};

/* Takes the workspace lock, opens state.db, tools and engine. cfg's key must be loaded; it
 * changes when another model is chosen. On failure what was opened is closed again. loop and log
 * stay the caller's. */
int workshop_open(struct workshop *w, const struct home *h, struct config *cfg, struct loop *loop,
	struct log *log, struct err *e);
void workshop_close(struct workshop *w);
/* What may change while it works: the policy, how long the audit is kept. */
int workshop_apply(struct workshop *w, const struct config *cfg, struct err *e);

struct app;

#define SEND_FILES 20 /* of one kairo send */

struct app_opts {
	bool background; /* log to logs/kairo.log, report readiness on ready_fd */
	int ready_fd;    /* -1: none. Gets one of these lines, or "CODE MESSAGE\n" */
};

#define APP_READY  "ok\n"
#define APP_SECOND "second\n" /* another one has the lock */

/* Runs a daemon to its end; returns an exit code. */
int app_run(const struct home *h, const struct app_opts *o);

/* --- For the control socket ------------------------------------------------------------------- */
int app_status_json(struct app *a, struct str *out, struct err *e);
struct control *app_control(struct app *a);
struct loop *app_loop(struct app *a);
const struct config *app_config(const struct app *a);
/* *hold as in socket_path, for as long as the server is open. */
int app_socket_open(struct httpd **out, int *hold, struct app *a, const struct home *h,
	struct loop *l, struct log *log, struct err *e);

/* What the line of an event says beside the event itself. */
struct ask_frame {
	uint64_t ticket; /* to answer a question by */
	int64_t ask_ms;  /* how long it is open */
	enum control_language lang;
	bool streamed; /* the text was shown as it came: the end does not repeat it */
};
/* One event as a JSON line (nothing for events a terminal does not show). */
int ask_event_json(const struct engine_event *ev, const struct ask_frame *f, struct str *out);
int64_t ask_ms_from(const struct config *c); /* how long a question is open */
/* Chinese or English: as it is set, else as the prompt is written. */
enum control_language ask_language(const struct config *c, struct view prompt);

/* Settings that loosen something: a line each, ended by NULL, at most max - 1. */
size_t config_relaxed(const struct config *c, bool zh, const char **out, size_t max);

/* http rules for the iLink hosts, and for the model's host. */
void rules_for_ilink(struct http_rules *r, const struct config *c);
void rules_for_model(struct http_rules *r, const struct config *c);
/* E_NOTFOUND, E_DENIED: network.ca_file is set and cannot be read; said by its name, before a TLS
 * failure would say it by the host's. */
int check_ca_file(const struct config *c, struct err *e);
/* The path of kairo-tool: beside this program (build tree), else in libexec. */
int find_helper(char out[PATH_SIZE], struct err *e);

/* "/proc/self/fd/N/control.sock" when the real path is too long for a socket address: *hold is N
 * then, to be closed when the path is used no more, else -1. */
int socket_path(char out[PATH_SIZE], const struct home *h, int *hold, struct err *e);

#endif
