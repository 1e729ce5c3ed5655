#include "base/net/httpd_head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Every character is a letter, a digit or one of `more`, and there is one. */
static bool is_made_of(struct view v, const char *more)
{
	for (size_t i = 0; i < v.n; i++)
		if (!is_alnum(v.p[i]) && (v.p[i] == '\0' || !strchr(more, v.p[i])))
			return false;
	return v.n > 0;
}

static bool is_token(struct view v)
{
	return is_made_of(v, "!#$%&'*+-.^_`|~");
}

static bool same_name(struct view v, const char *name)
{
	return v.n == strlen(name) && strncasecmp(v.p, name, v.n) == 0;
}

/* --- the head --------------------------------------------------------------------------------- */

long httpd_head_end(struct view in, size_t seen)
{
	/* A CR that came last may have been waiting for its LF. */
	for (size_t i = seen > 0 ? seen - 1 : 0; i < in.n; i++) {
		unsigned char c = (unsigned char)in.p[i];

		if (c == '\r' && i + 1 < in.n && in.p[i + 1] != '\n')
			return -1;
		if (c == '\n' && (i == 0 || in.p[i - 1] != '\r'))
			return -1;
		if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
			return -1;
		if (c == '\n' && i >= 3 && in.p[i - 2] == '\n')
			return (long)i + 1;
	}
	return 0;
}

/* The next line without its CRLF, taken off text. */
static struct view take_line(struct view *text)
{
	size_t end = view_find(*text, '\r');
	struct view line = view_cut(*text, end);

	*text = view_from(*text, end + 2);
	return line;
}

static struct view take_word(struct view *line)
{
	size_t end = view_find(*line, ' ');
	struct view word = view_cut(*line, end);

	*line = view_from(*line, end + 1);
	return word;
}

static int parse_method(struct view word, struct httpd_head *out)
{
	static const char *const known[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (view_eqs(word, known[i])) {
			out->method = known[i];
			return 0;
		}
	return is_token(word) ? 501 : 400;
}

static int parse_version(struct view v)
{
	if (view_eqs(v, "HTTP/1.1"))
		return 0;
	return v.n == 8 && view_starts(v, VIEW("HTTP/")) && v.p[6] == '.' ? 505 : 400;
}

static int parse_request_line(struct view line, struct httpd_head *out)
{
	struct view method = take_word(&line), target = take_word(&line);
	int status = parse_version(line);

	/* Only "/path?query": no absolute form, no authority, no asterisk. */
	if (target.n == 0 || target.p[0] != '/' || !is_made_of(target, "-._~!$&'()*+,;=:@/?%"))
		return 400;
	out->path = view_cut(target, view_find(target, '?'));
	return status ? status : parse_method(method, out);
}

/* At most one, whether it is empty or not. */
static int take_once(struct view *slot, struct view value)
{
	if (slot->p)
		return 400;
	*slot = value;
	return 0;
}

static int parse_length(struct view value, struct httpd_head *out)
{
	unsigned long long n = 0;

	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < '0' || value.p[i] > '9')
			return 400;
	if (value.n == 0)
		return 400;
	out->length = parse_u64(value, &n) < 0 || n > SIZE_MAX ? SIZE_MAX : (size_t)n;
	return 0;
}

/* What the fields of the framing and of our own rules say. */
static int note_field(struct view name, struct view value, struct view *length, struct view *coding,
	struct httpd_head *out)
{
	if (same_name(name, "Host"))
		return take_once(&out->host, value);
	if (same_name(name, "Origin"))
		return take_once(&out->origin, value);
	if (same_name(name, "Authorization"))
		return take_once(&out->auth, value);
	if (same_name(name, "Content-Length"))
		return take_once(length, value) ? 400 : parse_length(value, out);
	if (same_name(name, "Transfer-Encoding")) {
		out->chunked = true;
		return take_once(coding, value) ? 400 : same_name(value, "chunked") ? 0 : 501;
	}
	if (same_name(name, "Expect")) {
		out->expects = true;
		return same_name(value, "100-continue") ? 0 : 417;
	}
	return 0;
}

static int parse_field(struct view line, struct httpd_field *f)
{
	size_t colon = view_find(line, ':');

	f->name = view_cut(line, colon);
	f->value = view_trim(view_from(line, colon + 1));
	/* A folded line begins with a space, which is no name either. */
	if (colon == line.n || !is_token(f->name))
		return 400;
	if (f->value.n == 0)
		f->value = VIEW(""); /* there, but empty */
	return 0;
}

int httpd_head_parse(struct view text, struct httpd_head *out)
{
	struct view length = VIEW_NONE, coding = VIEW_NONE;
	int status;

	memset(out, 0, sizeof *out);
	status = parse_request_line(take_line(&text), out);
	while (!status && text.n > 2) {
		struct httpd_field *f = &out->fields[out->nfields];

		if (out->nfields == HTTPD_FIELDS_MAX)
			return 431;
		status = parse_field(take_line(&text), f);
		if (!status)
			status = note_field(f->name, f->value, &length, &coding, out);
		out->nfields++;
	}
	if (!status && (!out->host.p || (length.p && coding.p)))
		status = 400;
	return status;
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int decode_bytes(struct view in, struct str *out)
{
	for (size_t i = 0; i < in.n; i++) {
		int c = (unsigned char)in.p[i];

		if (c == '%') {
			int hi = i + 2 < in.n ? hex_digit(in.p[i + 1]) : -1;
			int lo = i + 2 < in.n ? hex_digit(in.p[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return -1;
			c = hi << 4 | lo;
			i += 2;
		}
		if (c < ' ' || c == 0x7f)
			return -1;
		if (str_addc(out, (char)c) < 0)
			return -1;
	}
	return 0;
}

int httpd_decode(struct view in, struct str *out)
{
	size_t before = out->n;

	if (decode_bytes(in, out) < 0)
		return -1;
	return utf8_valid(view_from(str_view(out), before)) ? 0 : -1;
}

/* --- chunks ----------------------------------------------------------------------------------- */

enum {
	CHUNK_SIZE, /* hex digits */
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR, /* after the data */
	CHUNK_DATA_LF,
	CHUNK_END_CR, /* after the last chunk's line */
	CHUNK_END_LF,
	CHUNK_OVER
};

enum { CHUNK_DIGITS_MAX = 8 };

static int feed_size(struct httpd_chunks *c, char ch)
{
	int digit = hex_digit(ch);

	if (digit >= 0 && c->digits < CHUNK_DIGITS_MAX) {
		c->left = c->left << 4 | (size_t)digit;
		c->digits++;
		return 0;
	}
	if (ch != '\r' || c->digits == 0)
		return -1;
	c->state = CHUNK_SIZE_LF;
	return 0;
}

static int expect(struct httpd_chunks *c, char ch, char wanted, int next)
{
	c->state = next;
	return ch == wanted ? 0 : -1;
}

static int feed_byte(struct httpd_chunks *c, char ch)
{
	switch (c->state) {
	case CHUNK_SIZE: return feed_size(c, ch);
	case CHUNK_SIZE_LF: return expect(c, ch, '\n', c->left > 0 ? CHUNK_DATA : CHUNK_END_CR);
	case CHUNK_DATA_CR: return expect(c, ch, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF: c->digits = 0; return expect(c, ch, '\n', CHUNK_SIZE);
	case CHUNK_END_CR: return expect(c, ch, '\r', CHUNK_END_LF);
	default: return expect(c, ch, '\n', CHUNK_OVER);
	}
}

int httpd_chunks_feed(struct httpd_chunks *c, struct view *in, struct str *out)
{
	while (c->state != CHUNK_OVER && in->n > 0) {
		struct view part;

		if (c->state != CHUNK_DATA) {
			if (feed_byte(c, in->p[0]) < 0)
				return -1;
			*in = view_from(*in, 1);
			/* Known to be too long before a byte of it is there. */
			if (c->state == CHUNK_DATA && c->left > out->max - out->n)
				return -2;
			continue;
		}
		part = view_cut(*in, c->left);
		if (str_add(out, part) < 0)
			return -2;
		c->left -= part.n;
		*in = view_from(*in, part.n);
		if (c->left == 0)
			c->state = CHUNK_DATA_CR;
	}
	return c->state == CHUNK_OVER;
}
