/* What a request must look like (wire reference, 1.3 and 1.4). Nothing is refused here: clients of
 * every kind are served, and what they got wrong is put down. */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"

#define VERSION_LOWEST 132096 /* 2.4.0: below it newer phones ask for an upgrade */

static const char *one_header(struct call *c, const char *name, const char *rule)
{
	const char *v = hreq_header(c->req, name);

	if (!v)
		violation(c, rule, "%s is missing", name);
	else if (hreq_header_count(c->req, name) > 1)
		violation(c, "repeated_header", "%s was sent %zu times", name,
			hreq_header_count(c->req, name));
	return v;
}

static void exact_header(struct call *c, const char *name, const char *want, const char *rule)
{
	const char *v = one_header(c, name, rule);

	if (v && strcmp(v, want) != 0)
		violation(c, rule, "%s is \"%.60s\", not \"%s\"", name, v, want);
}

static void check_version(struct call *c)
{
	const char *v = one_header(c, "iLink-App-ClientVersion", "client_version");
	unsigned long long n;

	if (!v)
		return;
	if (parse_u64(view_of(v), &n) < 0 || n > 0x00ffffff)
		violation(c, "client_version", "\"%.40s\" is no decimal 0x00MMNNPP", v);
	else if (n < VERSION_LOWEST)
		violation(c, "client_version_low", "%llu is below 2.4.0 (%d)", n, VERSION_LOWEST);
}

/* base64 of the decimal digits of a random uint32, a new one for every request. */
static void check_uin(struct call *c)
{
	const char *v = one_header(c, "X-WECHAT-UIN", "uin");
	struct str s = STR_INIT(64);
	unsigned long long n;

	if (!v)
		return;
	if (base64_decode(view_of(v), &s) < 0 || parse_u64(str_view(&s), &n) < 0 ||
		n > UINT32_MAX || (s.n > 1 && s.p[0] == '0'))
		violation(c, "uin", "\"%.40s\" is not base64 of a uint32 in decimal", v);
	else if (journal_uin_seen(c->sim->journal, (uint32_t)n))
		violation(c, "uin_not_fresh", "%llu was used before", n);
	str_release(&s);
}

static void check_token(struct call *c, int want)
{
	const char *v = hreq_header(c->req, "Authorization");

	if (!(want & WANT_TOKEN)) {
		if (v)
			violation(c, "token_unwanted", "Authorization where no token belongs");
		return;
	}
	v = one_header(c, "Authorization", "token");
	if (v && (strncmp(v, "Bearer ", 7) != 0 || !v[7] || v[7] == ' '))
		violation(c, "token", "Authorization is not \"Bearer <token>\"");
	else if (v && !c->bot)
		note(c, "token_unknown", "a token that was never given out");
}

static void check_type(struct call *c)
{
	const char *v = one_header(c, "Content-Type", "content_type");

	if (v && strncasecmp(v, "application/json", 16) != 0)
		violation(c, "content_type", "Content-Type is \"%.60s\"", v);
	exact_header(c, "AuthorizationType", "ilink_bot_token", "authorization_type");
}

void check_headers(struct call *c, int want)
{
	exact_header(c, "iLink-App-Id", "bot", "app_id");
	check_version(c);
	if (want & WANT_POST) {
		check_type(c);
		check_uin(c);
	}
	check_token(c, want);
	if (want & WANT_BASE_INFO)
		check_base_info(c);
}

/* --- base_info -------------------------------------------------------------------------------- */
#define NAME_SET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static bool product_ok(struct view v)
{
	size_t slash = view_find(v, '/');
	struct view name = view_cut(v, slash), version = view_from(v, slash + 1);

	return slash < v.n && name.n >= 1 && name.n <= 32 && version.n >= 1 && version.n <= 32 &&
	       all_of(name, NAME_SET) && all_of(version, NAME_SET "+");
}

/* product [ (comment)] separated by single spaces, at most 256 bytes. */
static bool agent_ok(struct view v)
{
	if (view_eqs(v, "OpenClaw")) /* what the official client says for want of anything better */
		return true;
	if (!v.n || v.n > 256)
		return false;
	for (bool product = true; v.n;) {
		struct view word;
		size_t n;

		if (v.p[0] == '(') {
			n = view_find(v, ')');
			if (product || n == v.n || n < 2 || n > 65)
				return false;
			for (size_t i = 1; i < n; i++)
				if (v.p[i] < ' ' || v.p[i] > '~' || v.p[i] == '(')
					return false;
			n++;
			product = true;
		} else {
			n = view_find(v, ' ');
			word = view_cut(v, n);
			if (!product_ok(word))
				return false;
			product = false;
		}
		v = view_from(v, n);
		if (v.n && (v.p[0] != ' ' || v.n == 1))
			return false;
		v = view_from(v, 1);
	}
	return true;
}

static void check_channel_version(struct call *c, struct view v)
{
	const char *header = hreq_header(c->req, "iLink-App-ClientVersion");
	unsigned long long part[3] = { 0 }, want;

	for (int i = 0; i < 3; i++) {
		size_t n = view_find(v, '.');

		if (parse_u64(view_cut(v, n), &part[i]) < 0) {
			violation(c, "channel_version", "not of the form 2.4.9");
			return;
		}
		v = view_from(v, n + 1);
	}
	want = (part[0] & 255) << 16 | (part[1] & 255) << 8 | (part[2] & 255);
	if (header && strtoull(header, NULL, 10) != want)
		violation(c, "channel_version", "the header says %.40s, base_info %llu", header,
			want);
}

void check_base_info(struct call *c)
{
	const struct json *info = NULL;
	struct view version, agent;

	if (!c->body)
		return;
	if (json_get_object(c->body, "base_info", JSON_REQUIRED, &info, NULL) < 0) {
		violation(c, "base_info", "base_info is missing or no object");
		return;
	}
	version = check_str(c, info, "channel_version");
	if (version.p)
		check_channel_version(c, version);
	if (!json_member(info, "bot_agent")) {
		note(c, "bot_agent", "bot_agent is missing");
		return;
	}
	agent = check_str(c, info, "bot_agent");
	if (agent.p && !agent_ok(agent))
		violation(c, "bot_agent", "\"%.*s\" breaks the grammar of products",
			agent.n < 100 ? (int)agent.n : 100, agent.p);
}

void check_cdn(struct call *c, bool upload)
{
	static const char *const never[] = { "Authorization", "AuthorizationType", "X-WECHAT-UIN",
		"iLink-App-Id", "iLink-App-ClientVersion", "SKRouteTag", NULL };
	const char *type = hreq_header(c->req, "Content-Type");

	for (const char *const *p = never; *p; p++)
		if (hreq_header(c->req, *p))
			violation(c, p == never ? "token_on_cdn" : "header_on_cdn",
				"%s was sent to the CDN", *p);
	if (!upload)
		return;
	if (!type || strcasecmp(type, "application/octet-stream") != 0)
		violation(c, "upload_type", "Content-Type is \"%.60s\"", type ? type : "(none)");
	if (hreq_chunked(c->req))
		violation(c, "upload_chunked", "an upload needs a length");
}

struct view check_str(struct call *c, const struct json *obj, const char *name)
{
	struct view v = VIEW_NONE;
	struct err e;

	if (json_get_str(obj, name, JSON_REQUIRED, 0, SIM_BODY_MAX, &v, &e) < 0) {
		violation(c, json_member(obj, name) ? "wrong_type" : "missing_field", "%s", e.msg);
		return VIEW_NONE;
	}
	return v;
}

int64_t check_int(struct call *c, const struct json *obj, const char *name, int64_t otherwise)
{
	int64_t v = otherwise;
	struct err e;

	if (json_get_int(obj, name, JSON_REQUIRED, INT64_MIN, INT64_MAX, &v, &e) < 0) {
		violation(c, json_member(obj, name) ? "wrong_type" : "missing_field", "%s", e.msg);
		return otherwise;
	}
	return v;
}
