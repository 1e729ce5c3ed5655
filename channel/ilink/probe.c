/* One request that proves the token. */
#include "channel/ilink/ilink.h"

#include <stdlib.h>

#include "channel/ilink/api.h"

#define NO_SESSION (-4) /* nothing was received yet; the token is good (11) */

struct ilink_probe {
	struct api api;
	bool owner; /* asked with the owner's id */
	const struct account *acc;
	struct http_call *call;
	ilink_probe_cb *cb;
	void *arg;
};

static void judge(struct ilink_probe *p, const struct http_result *r, struct err *out)
{
	struct wire_code code;
	char why[200];

	if (api_failed(r, why, sizeof(why))) {
		err_set(out, r->fail == HTTP_OK_ ? E_NET : r->err->code, "%s", why);
	} else if (wire_read_code(r->body, &code, out) < 0) {
		err_wrap(out, "the server's answer cannot be read");
	} else if (code.code == WIRE_EXPIRED) {
		err_set(out, E_AUTH,
			"the login has expired, or the account was connected elsewhere:"
			" run `kairo login`");
	} else if (code.code != 0 && code.code != NO_SESSION && p->owner) {
		api_refusal(&code, account_token(p->acc), NULL, why, sizeof(why));
		err_set(out, E_NET, "%s", why);
	}
	/* Without an owner any refusal but -14 proves the token as well. */
}

static void probe_on_done(void *arg, const struct http_result *r)
{
	struct ilink_probe *p = arg;
	struct err result = ERR_INIT;

	p->call = NULL;
	judge(p, r, &result);
	p->cb(p->arg, &result, r->status > 0 ? http_header(r->call, "Date") : NULL);
}

int ilink_probe_start(struct ilink_probe **out, const struct ilink_env *env,
	const struct account *acc, ilink_probe_cb *cb, void *arg, struct err *e)
{
	struct ilink_probe *p = calloc(1, sizeof(*p));
	struct str body = STR_INIT(4096);
	struct api_call c = { .http = env->api_http,
		.endpoint = "ilink/bot/getconfig",
		.timeout_ms = API_CONFIG_MS,
		.done = probe_on_done,
		.arg = p };
	const char *user = account_user_id(acc);

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "no memory for the probe");
	*p = (struct ilink_probe){ .acc = acc, .cb = cb, .arg = arg, .owner = user[0] != '\0' };
	if (api_init(&p->api, env, e) < 0 ||
		account_check_url(view_of(account_base_url(acc)), env->loopback, e) < 0 ||
		api_call_account(&p->call, &p->api, acc,
			wire_write_config(&body, &p->api.me, p->owner ? user : account_bot_id(acc),
				"", e),
			&body, c, e) < 0) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void ilink_probe_free(struct ilink_probe **pp)
{
	struct ilink_probe *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	http_cancel(&p->call);
	free(p);
}
