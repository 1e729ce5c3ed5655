#include "sim.h"

#include <openssl/evp.h>
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

static const struct {
	const char *name, *topic;
} tallies[T_ALL] = {
	[T_REQUESTS] = { "requests", "requests" },
	[T_POLLS] = { "polls", "polls" },
	[T_SENT] = { "sent", "chat" },
	[T_REFUSED] = { "refused", "chat" },
	[T_TYPING] = { "typing", "typing" },
	[T_TYPING_STOP] = { "typing_stop", "typing" },
	[T_NOTIFYSTART] = { "notifystart", "link" },
	[T_NOTIFYSTOP] = { "notifystop", "link" },
	[T_LOGINS] = { "logins", "login" },
	[T_QRCODES] = { "qrcodes", "login" },
	[T_QRPOLLS] = { "qrpolls", "polls" },
	[T_UPLOADS] = { "uploads", "media" },
	[T_UPLOADS_BEGUN] = { "uploads_begun", "media" },
	[T_DOWNLOADS] = { "downloads", "media" },
	[T_MODEL_REQUESTS] = { "model_requests", "model" },
	[T_MODEL_CUT] = { "model_cut", "model" },
	[T_VIOLATIONS] = { "violations", "violations" },
	[T_INBOUND] = { "inbound", "chat" },
	[T_FETCHED] = { "fetched", "fetched" },
	[T_POLLING] = { "polling", "link" },
	[T_MODEL_OPEN] = { "model_open", "model" },
};

const char *tally_name(enum tally t)
{
	return tallies[t].name;
}

void sim_count(struct sim *s, enum tally t)
{
	s->tally[t]++;
	watches_changed(s, tallies[t].topic);
}

void sim_gauge(struct sim *s, enum tally t, int step)
{
	if (step > 0)
		s->tally[t]++;
	else if (s->tally[t])
		s->tally[t]--;
	watches_changed(s, tallies[t].topic);
}

/* --- Time ------------------------------------------------------------------------------------- */
int64_t sim_now(const struct sim *s)
{
	return loop_wall(s->loop) + s->clock_offset;
}

/* What waits for its moment: voided tokens, "typing" that fades, codes that expire. */
static void sim_on_tick(void *arg)
{
	struct sim *s = arg;

	polls_wake(s);
	logins_wake(s);
	watches_changed(s, "typing");
}

void sim_due_in(struct sim *s, int64_t ms)
{
	if (!timer_armed(s->tick) || timer_left(s->tick) > ms)
		timer_arm(s->tick, ms);
}

void sim_advance(struct sim *s, int64_t ms)
{
	s->clock_offset += ms;
	sim_due_in(s, 0);
}

/* --- Opening ---------------------------------------------------------------------------------- */
static void set_defaults(struct sim *s)
{
	s->set = (struct settings){
		.hold_ms = s->o.hold_ms > 0 ? s->o.hold_ms : 25000,
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

/* --- Small things ----------------------------------------------------------------------------- */
char *dup_view(struct view v)
{
	char *p = malloc(v.n + 1);

	if (!p)
		return NULL;
	if (v.n)
		memcpy(p, v.p, v.n);
	p[v.n] = '\0';
	return p;
}

void plain_ascii(char *s)
{
	for (; s && *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

bool all_of(struct view v, const char *set)
{
	for (size_t i = 0; i < v.n; i++)
		if (!v.p[i] || !strchr(set, v.p[i]))
			return false;
	return true;
}

struct view find_bytes(struct view hay, struct view needle)
{
	const char *p = needle.n && hay.n ? memmem(hay.p, hay.n, needle.p, needle.n) : NULL;

	return p ? (struct view){ p, needle.n } : VIEW_NONE;
}

int replace_bytes(struct str *s, struct view from, struct view to)
{
	struct str out = STR_INIT(s->max);
	struct view rest = str_view(s), at;

	while ((at = find_bytes(rest, from)).p) {
		size_t before = (size_t)(at.p - rest.p);

		str_add(&out, view_cut(rest, before));
		str_add(&out, to);
		rest = view_from(rest, before + from.n);
	}
	str_add(&out, rest);
	if (!str_ok(&out)) {
		str_release(&out);
		return -1;
	}
	str_release(s);
	*s = out;
	return 0;
}

int base64_encode(struct view raw, struct str *out)
{
	size_t n = (raw.n + 2) / 3 * 4;

	if (raw.n > (size_t)64 << 20 || str_reserve(out, n + 1) < 0)
		return -1;
	EVP_EncodeBlock((unsigned char *)out->p + out->n, (const unsigned char *)raw.p, (int)raw.n);
	str_grew(out, n);
	return 0;
}

int base64_decode(struct view text, struct str *out)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t pad = 0;
	int n;

	while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
		pad++;
	if (text.n % 4 || text.n > (size_t)128 << 20 || !all_of(view_cut(text, text.n - pad), set))
		return -1;
	if (!text.n)
		return 0;
	if (str_reserve(out, text.n) < 0)
		return -1;
	n = EVP_DecodeBlock((unsigned char *)out->p + out->n, (const unsigned char *)text.p,
		(int)text.n);
	if (n < 0)
		return -1;
	str_grew(out, (size_t)n - pad);
	return 0;
}

struct view opt_str(const struct json *j, const char *name, const char *otherwise)
{
	struct view v = view_of(otherwise);

	(void)json_get_str(j, name, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, NULL);
	return v;
}

int64_t opt_int(const struct json *j, const char *name, int64_t otherwise)
{
	(void)json_get_int(j, name, JSON_OPTIONAL, INT64_MIN, INT64_MAX, &otherwise, NULL);
	return otherwise;
}

bool opt_bool(const struct json *j, const char *name, bool otherwise)
{
	(void)json_get_bool(j, name, JSON_OPTIONAL, &otherwise, NULL);
	return otherwise;
}

int opt_bytes(const struct json *j, const char *name, struct str *out, struct err *e)
{
	struct view v = VIEW_NONE;
	char b64[64];
	int rc = json_get_str(j, name, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, e);

	if (rc < 0)
		return -1;
	if (rc == 1)
		return str_add(out, v) < 0 ? err_set(e, E_NOMEM, "%s: too long", name) : 1;
	snprintf(b64, sizeof(b64), "%s_b64", name);
	rc = json_get_str(j, b64, JSON_OPTIONAL, 0, SIM_BODY_MAX, &v, e);
	if (rc <= 0)
		return rc;
	return base64_decode(v, out) < 0 ? err_set(e, E_FORMAT, "%s: not base64", b64) : 1;
}
