#include "tools/host/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/url.h"

#define TITLE_CHARS     200
#define TEXT_CHARS      600
#define DATE_CHARS      40
#define COMPLAINT_CHARS 160
#define FIELD_MAX       ((size_t)65536)
#define REQUEST_MAX     8192

const char *const search_names[SEARCH_PROVIDERS + 1] = { "zhipu", "serpapi", "searxng", "brave",
	"tavily", NULL };

enum search_auth { AUTH_NONE, AUTH_BEARER, AUTH_HEADER, AUTH_QUERY };

/* The contract of a provider, from its public documentation. */
struct contract {
	const char *base, *path;
	enum search_auth auth;
	const char *auth_name;     /* of the header or the query's member */
	const char *query, *count; /* names of the members; count NULL: it takes none */
	bool post;                 /* members go in a JSON body, else in the query */
	const char *fixed[2];      /* "name=value", text; up to the first NULL */
	const char *results[2];    /* the way to the array, from the outside in */
	const char *url, *text, *date;
	const char *none; /* in the answer's "error": there are no results; or NULL */
};

static const struct contract contracts[SEARCH_PROVIDERS] = {
	[SEARCH_ZHIPU] = {
		.base = "https://open.bigmodel.cn/api/paas/v4",
		.path = "/web_search",
		.auth = AUTH_BEARER,
		.query = "search_query",
		.count = "count",
		.post = true,
		.fixed = { "search_engine=search_std" },
		.results = { "search_result" },
		.url = "link",
		.text = "content",
		.date = "publish_date",
	},
	[SEARCH_SERPAPI] = {
		.base = "https://serpapi.com",
		.path = "/search.json",
		.auth = AUTH_QUERY,
		.auth_name = "api_key",
		.query = "q",
		.count = "num",
		.fixed = { "engine=google" },
		.results = { "organic_results" },
		.url = "link",
		.text = "snippet",
		.date = "date",
		.none = "hasn't returned any results",
	},
	[SEARCH_SEARXNG] = {
		.path = "/search",
		.query = "q",
		.fixed = { "format=json" },
		.results = { "results" },
		.url = "url",
		.text = "content",
		.date = "publishedDate",
	},
	[SEARCH_BRAVE] = {
		.base = "https://api.search.brave.com/res/v1",
		.path = "/web/search",
		.auth = AUTH_HEADER,
		.auth_name = "X-Subscription-Token",
		.query = "q",
		.count = "count",
		.results = { "web", "results" },
		.url = "url",
		.text = "description",
		.date = "age",
	},
	[SEARCH_TAVILY] = {
		.base = "https://api.tavily.com",
		.path = "/search",
		.auth = AUTH_BEARER,
		.query = "query",
		.count = "max_results",
		.post = true,
		.fixed = { "search_depth=basic" },
		.results = { "results" },
		.url = "url",
		.text = "content",
		.date = "published_date",
	},
};

static const char *base_of(enum search_provider p, const struct search_account *a)
{
	return a->url && a->url[0] ? a->url : contracts[p].base;
}

bool search_ready(enum search_provider p, const struct search_account *a)
{
	bool key = contracts[p].auth == AUTH_NONE || (a->key && a->key[0]);

	return key && base_of(p, a);
}

/* --- The request ------------------------------------------------------------------------------ */

/* "name=value" in two. */
static struct view name_of(const char *pair, struct view *value)
{
	struct view v = view_of(pair);
	size_t n = view_find(v, '=');

	*value = view_from(v, n + 1);
	return view_cut(v, n);
}

static void add_member(struct str *url, struct view name, struct view value)
{
	(void)str_addc(url, view_find(str_view(url), '?') == url->n ? '?' : '&');
	(void)str_add(url, name);
	(void)str_addc(url, '=');
	if (http_query_escape(value, url) < 0)
		url->failed = true;
}

static void put_query(struct search_request *r, const struct contract *c,
	const struct search_account *a, struct view query, int count)
{
	char number[8];

	(void)snprintf(number, sizeof(number), "%d", count);
	add_member(&r->url, view_of(c->query), query);
	if (c->count)
		add_member(&r->url, view_of(c->count), view_of(number));
	for (size_t i = 0; i < 2 && c->fixed[i]; i++) {
		struct view value, name = name_of(c->fixed[i], &value);

		add_member(&r->url, name, value);
	}
	if (c->auth == AUTH_QUERY)
		add_member(&r->url, view_of(c->auth_name), view_of(a->key));
}

static int put_body(struct search_request *r, const struct contract *c, struct view query,
	int count, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, &r->body);
	json_open(&w, NULL);
	json_put_str(&w, c->query, query);
	json_put_int(&w, c->count, count);
	for (size_t i = 0; i < 2 && c->fixed[i]; i++) {
		struct view value, name = name_of(c->fixed[i], &value);
		char member[32];

		(void)copy_z(member, sizeof(member), name);
		json_put_str(&w, member, value);
	}
	json_close(&w);
	return json_out_end(&w, e);
}

static void put_header(struct search_request *r, const char *name, const char *value)
{
	r->headers[r->nheaders++] = (struct http_header){ .name = name, .value = value };
}

static void put_headers(struct search_request *r, const struct contract *c,
	const struct search_account *a)
{
	put_header(r, "Accept", "application/json");
	if (c->post)
		put_header(r, "Content-Type", "application/json");
	if (c->auth == AUTH_BEARER && str_addf(&r->auth, "Bearer %s", a->key) == 0)
		put_header(r, "Authorization", str_cstr(&r->auth));
	if (c->auth == AUTH_HEADER && str_adds(&r->auth, a->key) == 0)
		put_header(r, c->auth_name, str_cstr(&r->auth));
}

int search_request(struct search_request *out, enum search_provider p,
	const struct search_account *a, struct view query, int count, struct err *e)
{
	const struct str empty = STR_SECRET(REQUEST_MAX);
	const struct contract *c = &contracts[p];
	struct view base = view_of(base_of(p, a));

	*out = (struct search_request){ .post = c->post };
	out->url = out->body = out->auth = empty;
	while (view_ends(base, VIEW("/")))
		base.n--;
	(void)str_add(&out->url, base);
	(void)str_adds(&out->url, c->path);
	put_headers(out, c, a);
	if (c->post && put_body(out, c, query, count, e) < 0)
		return -1;
	if (!c->post)
		put_query(out, c, a, query, count);
	if (!str_ok(&out->url) || !str_ok(&out->auth))
		return err_set(e, E_FORMAT, "the query is too long");
	return 0;
}

void search_request_wipe(struct search_request *r)
{
	str_wipe(&r->url);
	str_wipe(&r->body);
	str_wipe(&r->auth);
}

/* --- The answer ------------------------------------------------------------------------------- */

static const struct json_limits answer_limits = {
	.bytes = SEARCH_ANSWER_MAX,
	.depth = 32,
	.nodes = 100000,
	.nul = JSON_NUL_REFUSE,
};

/* Bytes of the entity at v, with the character it stands for; 0: none that is known. */
static size_t entity(struct view v, const char **text)
{
	static const char *const known[][2] = { { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" },
		{ "&quot;", "\"" }, { "&#39;", "'" }, { "&#x27;", "'" }, { "&apos;", "'" },
		{ "&nbsp;", " " } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (view_starts(v, view_of(known[i][0]))) {
			*text = known[i][1];
			return strlen(known[i][0]);
		}
	return 0;
}

/* Bytes of a tag of emphasis at v, as some providers put into their extracts; 0: none. */
static size_t tag(struct view v)
{
	static const char *const known[] = { "<strong>", "</strong>", "<b>", "</b>", "<em>",
		"</em>", "<i>", "</i>", "<br>", "<br/>" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (view_starts(v, view_of(known[i])))
			return strlen(known[i]);
	return 0;
}

static void add_space(struct str *out)
{
	if (out->n > 0 && out->p[out->n - 1] != ' ')
		(void)str_addc(out, ' ');
}

/* One line of at most `chars` characters. */
static int put_plain(struct str *out, struct view in, size_t chars)
{
	struct str safe = STR_INIT(3 * FIELD_MAX), line = STR_INIT(3 * FIELD_MAX);
	struct view rest;
	int rc = text_safe(in, TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe);

	for (rest = str_view(&safe); rc == 0 && rest.n > 0;) {
		const char *text = NULL;
		size_t n = entity(rest, &text);

		if (n > 0) {
			(void)str_adds(&line, text);
		} else if ((n = tag(rest)) == 0) {
			n = 1;
			if (strchr(" \t\n", rest.p[0]))
				add_space(&line);
			else
				(void)str_addc(&line, rest.p[0]);
		}
		rest = view_from(rest, n);
	}
	rest = view_trim(str_view(&line));
	if (rc == 0)
		rc = str_add(out, view_cut(rest, utf8_cut_chars(rest, chars)));
	str_release(&safe);
	str_release(&line);
	return rc;
}

static int put_url(struct str *out, struct view in)
{
	struct http_url u;

	if (url_resolve(VIEW_NONE, in, out, NULL) < 0)
		return -1;
	return http_url_parse(str_view(out), &u, NULL) < 0 || u.has_user ? -1 : 0;
}

static void result_release(struct search_result *r)
{
	str_release(&r->title);
	str_release(&r->url);
	str_release(&r->text);
	str_release(&r->date);
}

static int get_field(const struct json *item, const char *name, enum json_need need,
	struct view *out)
{
	*out = VIEW_NONE;
	return json_get_str(item, name, need, 0, FIELD_MAX, out, NULL);
}

/* -1: the entry is of no use. */
static int take_result(struct search_result *r, const struct contract *c, const struct json *item)
{
	const struct str field = STR_INIT((size_t)4 * TEXT_CHARS);
	struct view title, url, text, date;

	r->title = r->url = r->text = r->date = field;
	if (json_type(item) != JSON_OBJECT || get_field(item, "title", JSON_REQUIRED, &title) < 0 ||
		get_field(item, c->url, JSON_REQUIRED, &url) < 0 ||
		get_field(item, c->text, JSON_OPTIONAL, &text) < 0 ||
		get_field(item, c->date, JSON_OPTIONAL, &date) < 0)
		return -1;
	if (put_url(&r->url, url) < 0 || put_plain(&r->title, title, TITLE_CHARS) < 0 ||
		put_plain(&r->text, text, TEXT_CHARS) < 0 ||
		put_plain(&r->date, date, DATE_CHARS) < 0)
		return -1;
	return r->title.n > 0 ? 0 : -1;
}

/* The array of results. 0: the answer says that there are none. */
static int find_results(const struct contract *c, const struct json *answer,
	const struct json **out, struct err *e)
{
	const struct json *at = answer;
	struct view error;

	if (json_type(answer) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "its answer is not an object");
	if (c->none && json_get_str(answer, "error", JSON_OPTIONAL, 0, FIELD_MAX, &error, NULL) > 0)
		return strstr(error.p, c->none) ? 0
		                                : err_set(e, E_FORMAT, "it answered with an error");
	for (size_t i = 0; i < 2 && c->results[i]; i++) {
		at = json_type(at) == JSON_OBJECT ? json_member(at, c->results[i]) : NULL;
		/* Some leave the outer part away when there is nothing to put into it. */
		if (!at && i == 0 && c->results[1])
			return 0;
		if (!at)
			return err_set(e, E_FORMAT, "its answer has no \"%s\"", c->results[i]);
	}
	if (json_type(at) == JSON_NULL)
		return 0;
	if (json_type(at) != JSON_ARRAY)
		return err_set(e, E_FORMAT, "its results are not a list");
	*out = at;
	return 1;
}

int search_parse(struct search_results *out, enum search_provider p, struct view answer, int count,
	struct err *e)
{
	const struct json *list = NULL;
	struct json *j = NULL;
	int rc = -1, found;

	out->n = 0;
	if (json_read(&j, answer, &answer_limits, e) < 0)
		return err_wrap(e, "its answer");
	found = find_results(&contracts[p], j, &list, e);
	if (found < 0)
		goto out;
	json_each(item, list) {
		if (out->n == (size_t)count)
			break;
		if (take_result(&out->list[out->n], &contracts[p], item) == 0)
			out->n++;
		else
			result_release(&out->list[out->n]);
	}
	if (out->n == 0 && found > 0 && json_count(list) > 0)
		err_set(e, E_FORMAT, "its results have no usable titles and addresses");
	else
		rc = 0;
out:
	json_free(&j);
	return rc;
}

void search_release(struct search_results *r)
{
	for (size_t i = 0; i < r->n; i++)
		result_release(&r->list[i]);
	r->n = 0;
}

/* --- What went wrong -------------------------------------------------------------------------- */

/* "error": TEXT, "error": {"message": TEXT}, "message": TEXT, "detail": TEXT or {"error": TEXT}. */
static struct view complaint_of(const struct json *j)
{
	static const char *const names[] = { "error", "message", "detail" };
	struct view text = VIEW_NONE;

	for (int deep = 0; deep < 2 && json_type(j) == JSON_OBJECT; deep++) {
		const struct json *inner = NULL;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const struct json *m = json_member(j, names[i]);

			if (m && json_str(m, &text) == 0 && text.n > 0)
				return text;
			if (m && json_type(m) == JSON_OBJECT)
				inner = m;
		}
		if (!inner)
			break;
		j = inner;
	}
	return VIEW_NONE;
}

void search_complaint(struct view answer, const struct search_account *a, struct str *out)
{
	struct str plain = STR_INIT(4096), safe = STR_INIT(4096);
	struct json *j = NULL;

	if (json_read(&j, answer, &answer_limits, NULL) == 0 &&
		put_plain(&plain, complaint_of(j), COMPLAINT_CHARS) == 0 &&
		text_redact(str_view(&plain), &safe) == 0 &&
		!(a->key && a->key[0] && strstr(str_cstr(&plain), a->key)))
		(void)str_add(out, str_view(&safe));
	json_free(&j);
	str_release(&plain);
	str_release(&safe);
}
