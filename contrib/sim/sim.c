#include "sim.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "blob.h"
#include "control.h"
#include "fault.h"
#include "ilink.h"
#include "journal.h"
#include "media.h"
#include "model.h"
#include "pki.h"
#include "watch.h"
#include "world.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* What waits for its moment: voided tokens, "typing" that fades, codes that expire. */
static void sim_on_tick(void *arg)
{
	struct sim *s = arg;

	polls_wake(s);
	logins_wake(s);
	watches_changed(s, "typing");
}

/* --- Opening ---------------------------------------------------------------------------------- */
static void set_defaults(struct sim *s)
{
	s->set = (struct settings){
		.hold_ms = s->o.hold_ms >= 0 ? s->o.hold_ms : 25000,
		.batch = 100,
		.quota = 10,
		.window_ms = DAY_MS,
		.text_cap = 5000,
		.text_over = OVER_REFUSE,
		.qr_life_ms = 120000,
		.void_delay_ms = 29000,
		.ticket_life_ms = DAY_MS,
		.typing_show_ms = 10000,
		.auto_confirm = s->o.auto_confirm,
		.model_delay_ms = s->o.model_delay_ms >= 0 ? s->o.model_delay_ms : 25,
	};
}

static int listen_all(struct sim *s, struct err *e)
{
	struct event_base *base = loop_base(s->loop);
	const struct listener {
		struct server **to;
		server_cb *cb, *head;
		struct ssl_ctx_st *tls;
		size_t body_max;
	} all[] = {
		{ &s->api, ilink_on_request, NULL, s->tls, SIM_BODY_MAX },
		{ &s->cdn, cdn_on_request, cdn_on_head, s->cdn_tls, BLOB_MAX },
		{ &s->model_server, model_on_request, NULL, NULL, SIM_BODY_MAX },
		{ &s->page, control_on_page, NULL, NULL, SIM_BODY_MAX },
		{ &s->control, control_on_request, NULL, NULL, SIM_BODY_MAX },
		{ &s->api2, ilink_on_request, NULL, s->tls, SIM_BODY_MAX },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct server_opts o = { .port = s->o.port_base ? s->o.port_base + (int)i : 0,
			.tls = all[i].tls,
			.body_max = all[i].body_max,
			.cb = all[i].cb,
			.head = all[i].head,
			.arg = s };

		if (server_open(all[i].to, base, &o, e) < 0)
			return -1;
	}
	return 0;
}

static void name_all(struct sim *s)
{
	const char *scheme = s->o.tls ? "https" : "http";

	snprintf(s->api_url, sizeof(s->api_url), "%s://127.0.0.1:%d", scheme, server_port(s->api));
	snprintf(s->api2_host, sizeof(s->api2_host), "127.0.0.1:%d", server_port(s->api2));
	snprintf(s->cdn_url, sizeof(s->cdn_url), "%s://127.0.0.1:%d/c2c", scheme,
		server_port(s->cdn));
	snprintf(s->model_url, sizeof(s->model_url), "http://127.0.0.1:%d/v1",
		server_port(s->model_server));
	snprintf(s->page_url, sizeof(s->page_url), "http://127.0.0.1:%d", server_port(s->page));
	snprintf(s->control_url, sizeof(s->control_url), "http://127.0.0.1:%d",
		server_port(s->control));
}

/* For scripts that did not start us themselves. */
static int leave_note(struct sim *s, struct err *e)
{
	struct str line = STR_INIT(4096);
	char path[PATH_SIZE];
	int rc = -1;

	if (!s->o.dir)
		return 0;
	if (path_join(path, s->o.dir, "sim.json", e) == 0 && sim_ready_line(s, &line, e) == 0)
		rc = file_replace(path, 0600, str_view(&line), e);
	str_release(&line);
	return rc;
}

static int open_tls(struct sim *s, struct err *e)
{
	if (!s->o.tls)
		return 0;
	if (!s->o.dir)
		return err_set(e, E_FORMAT, "--tls needs --dir for its certificates");
	return pki_open(&s->tls, &s->cdn_tls, s->o.dir, s->ca_file, sizeof(s->ca_file), e);
}

int sim_open(struct sim **out, struct loop *l, const struct sim_opts *o, struct err *e)
{
	struct sim *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return err_set(e, E_NOMEM, "out of memory");
	s->loop = l;
	s->o = *o;
	s->user = o->user ? o->user : USER_OWNER;
	set_defaults(s);
	if (timer_new(&s->tick, l, sim_on_tick, s, e) < 0 || watches_open(&s->watches, s, e) < 0 ||
		journal_open(&s->journal, s, e) < 0 || faults_open(&s->faults, e) < 0 ||
		world_open(&s->world, s, e) < 0 || logins_open(&s->logins, e) < 0 ||
		blobs_open(&s->blobs, e) < 0 || model_open(&s->model, s, e) < 0 ||
		open_tls(s, e) < 0 || listen_all(s, e) < 0) {
		sim_close(out);
		return -1;
	}
	name_all(s);
	if (leave_note(s, e) < 0) {
		sim_close(out);
		return -1;
	}
	return 0;
}

void sim_close(struct sim **sp)
{
	struct sim *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	/* First the connections: their calls look at everything else as they end. */
	server_close(&s->api);
	server_close(&s->api2);
	server_close(&s->cdn);
	server_close(&s->model_server);
	server_close(&s->page);
	server_close(&s->control);
	model_close(&s->model);
	blobs_close(&s->blobs);
	logins_close(&s->logins);
	world_close(&s->world);
	faults_close(&s->faults);
	journal_close(&s->journal);
	watches_close(&s->watches);
	timer_free(&s->tick);
	SSL_CTX_free(s->cdn_tls);
	SSL_CTX_free(s->tls);
	free(s);
}

int sim_ready_line(const struct sim *s, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "api", s->api_url);
	json_put_z(&w, "cdn", s->cdn_url);
	json_put_z(&w, "model", s->model_url);
	json_put_z(&w, "page", s->page_url);
	json_put_z(&w, "control", s->control_url);
	if (s->o.tls)
		json_put_z(&w, "ca", s->ca_file);
	json_close(&w);
	return json_out_end(&w, e) < 0 || str_addc(out, '\n') < 0 ? -1 : 0;
}
