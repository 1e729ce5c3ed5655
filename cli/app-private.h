/* cli/app-private.h: the daemon put together: what app.c and app_status.c share. */
#ifndef CLI_APP_PRIVATE_H
#define CLI_APP_PRIVATE_H

#include "cli/app.h"

enum app_state { APP_STARTING, APP_RUNNING, APP_ENDING };

struct app {
	const struct home *home;
	struct app_opts opts;
	enum app_state state;
	int exit_code;
	int64_t started_ms; /* monotonic */

	struct loop *loop;
	struct log *log;
	struct config *cfg;
	struct account *account;
	struct daemon_claim *claim;
	struct workshop shop;
	struct http *poll_http, *api_http, *cdn_http;
	struct channel *channel;
	struct ears *ears;
	struct control *control;
	char outgoing[PATH_SIZE]; /* folder of the copies of files that are sent */
	struct httpd *socket;
	int socket_hold;  /* see socket_path; -1: none */
	bool in_terminal; /* and to end with it */
	struct sigwatch *term, *intr, *hup;
	struct err reload; /* why the newest settings were not taken over; E_OK: they were */
};

/* What /status on the phone shows of the rooms the channel does not see; arg: the app. */
void app_more_status(void *arg, bool zh, struct str *out);

#endif
