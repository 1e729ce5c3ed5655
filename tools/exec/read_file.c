/* read_file: a page of a text file, by lines, with the exact place to go on from. */
#include "tools/exec/tool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define LINES_DEFAULT 2000
#define LINES_MAX     10000
#define LINE_CHARS    4000 /* of one line in a page; the rest is for another page */
#define PAGE_CHARS    40000
#define CONTROLS_FREE 8 /* control characters that any text may have */
#define SCAN_MAX      ((int64_t)256 << 20)
#define COUNT_MAX     ((int64_t)16 << 20) /* read on this far behind the page to count lines */

struct page {
	/* wanted */
	int64_t offset, limit, column;
	/* where we are */
	int64_t line, chars; /* of the current line; both count from 1 and 0 */
	bool in_page, after_page;
	int64_t lines, shown; /* whole lines in the page; characters in it */
	bool cr;              /* the last byte was CR */
	int tail;             /* bytes 0x80-0xbf in a row */
	/* what was found */
	int64_t next_line, next_column; /* where to go on; 0: nowhere */
	int64_t cut_line;               /* the first line of which only LINE_CHARS are shown */
	int64_t first_chars;            /* of the line where the page begins, or so far */
	bool crlf, binary, ends_with_lf, any;
	struct str text;
};

/* More than three continuation bytes in a row belong to no character: they count one by one. */
static bool starts_char(struct page *p, char c)
{
	p->tail = ((unsigned char)c & 0xc0) == 0x80 ? p->tail + 1 : 0;
	return p->tail == 0 || p->tail > 3;
}

static void end_page(struct page *p, int64_t line, int64_t column)
{
	p->in_page = false;
	p->after_page = true;
	p->next_line = line;
	p->next_column = column;
}

/* A byte inside a line that belongs to the page. */
static void show_byte(struct page *p, char c)
{
	int64_t from = p->line == p->offset ? p->column : 1;

	if (starts_char(p, c)) {
		p->chars++;
		if (p->line == p->offset)
			p->first_chars = p->chars;
		if (p->chars >= from + LINE_CHARS) {
			if (p->chars == from + LINE_CHARS && p->cut_line == 0)
				p->cut_line = p->line;
		} else if (p->chars >= from && p->shown++ == PAGE_CHARS) {
			end_page(p, p->line, p->chars);
			return;
		}
	}
	if (p->chars >= from && p->chars < from + LINE_CHARS)
		(void)str_addc(&p->text, c);
}

static void end_line(struct page *p)
{
	if (p->in_page) {
		if (p->cr && view_ends(str_view(&p->text), VIEW("\r"))) {
			p->crlf = true;
			str_truncate(&p->text, p->text.n - 1);
		}
		(void)str_addc(&p->text, '\n');
		p->lines++;
		p->shown++;
	}
	p->line++;
	p->chars = 0;
	if (p->in_page && p->lines == p->limit)
		end_page(p, p->line, 1);
	else if (!p->after_page && p->line == p->offset)
		p->in_page = true;
}

/* A NUL, or more than a twentieth of control characters; a few make no short text binary. */
static bool looks_binary(struct view v)
{
	size_t controls = 0;

	if (memchr(v.p, '\0', v.n))
		return true;
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		controls += (c < 0x20 && !strchr("\t\n\r\f\b\x1b", c)) || c == 0x7f;
	}
	return controls > v.n / 20 + CONTROLS_FREE;
}

static void page_feed(struct page *p, struct view v)
{
	if (!p->after_page && looks_binary(v)) {
		p->binary = true;
		return;
	}
	p->any = true;
	p->ends_with_lf = v.p[v.n - 1] == '\n';
	for (size_t i = 0; i < v.n; i++) {
		if (!p->in_page) { /* nothing but the ends of lines matters */
			const char *lf = memchr(v.p + i, '\n', v.n - i);

			if (!lf)
				break;
			i = (size_t)(lf - v.p);
		}
		if (v.p[i] == '\n')
			end_line(p);
		else if (p->in_page)
			show_byte(p, v.p[i]);
		p->cr = v.p[i] == '\r';
	}
}

/* 1: read to the end. 0: stopped before it. */
static int scan(struct tool_job *j, struct page *p, int fd, int64_t size, struct err *e)
{
	char buf[65536];
	int64_t done = 0, past = 0;

	while (!p->binary && done < SCAN_MAX) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "reading");
		if (n == 0)
			return 1;
		page_feed(p, (struct view){ buf, (size_t)n });
		done += n;
		past += p->after_page ? n : 0;
		if (past > COUNT_MAX || done > size + (int64_t)sizeof(buf) || job_over(j))
			break;
	}
	return 0;
}

static int get_args(struct tool_job *j, struct page *p, struct err *e)
{
	p->offset = p->column = p->line = 1;
	p->limit = LINES_DEFAULT;
	if (json_get_int(j->args, "offset", JSON_OPTIONAL, 1, INT64_MAX / 2, &p->offset, e) < 0 ||
		json_get_int(j->args, "limit", JSON_OPTIONAL, 1, LINES_MAX, &p->limit, e) < 0 ||
		json_get_int(j->args, "column", JSON_OPTIONAL, 1, INT64_MAX / 2, &p->column, e) < 0)
		return -1;
	p->in_page = p->offset == 1;
	return 0;
}

/* What the page left out or shows otherwise than it is, and where to go on. */
static void report_rest(const struct page *p, bool whole, struct str *out)
{
	int64_t column = (p->cut_line == p->offset ? p->column : 1) + LINE_CHARS;

	if (!utf8_valid(str_view(&p->text)))
		(void)str_adds(out, "[bytes that are not UTF-8 are shown as U+FFFD]\n");
	if (p->crlf)
		(void)str_adds(out, "[lines end in CRLF]\n");
	if (whole && !p->next_line && !p->ends_with_lf)
		(void)str_adds(out, "[no line end behind the last line]\n");
	if (p->cut_line)
		(void)str_addf(out,
			"[lines longer than %d characters are cut; go on in the first of them with "
			"offset=%lld column=%lld]\n",
			LINE_CHARS, (long long)p->cut_line, (long long)column);
	if (p->next_line && p->next_column > 1)
		(void)str_addf(out, "[more: offset=%lld column=%lld]\n", (long long)p->next_line,
			(long long)p->next_column);
	else if (p->next_line)
		(void)str_addf(out, "[more: offset=%lld]\n", (long long)p->next_line);
}

/* The last line that the page shows, wholly or in part. */
static int64_t last_line(const struct page *p, int64_t total)
{
	if (p->next_line == 0)
		return total;
	return p->next_column == 1 ? p->next_line - 1 : p->next_line;
}

static int report(struct tool_job *j, struct page *p, const struct place *place, bool whole,
	struct err *e)
{
	/* A last line without its LF counts too. */
	int64_t total = p->line - (p->ends_with_lf || !p->any ? 1 : 0);
	struct str *out = j->out;

	if (!p->any) {
		(void)str_addf(out, "[%s is an empty file]\n", place->shown);
		return 0;
	}
	if (p->offset > total && !whole)
		return err_set(e, E_FORMAT,
			"line %lld of %s was not reached: only its first %lld lines were read, as 256 MiB "
			"and half a minute are the most that is",
			(long long)p->offset, place->shown, (long long)total);
	if (p->offset > total)
		return err_set(e, E_FORMAT, "%s has %lld lines; offset %lld is behind its end",
			place->shown, (long long)total, (long long)p->offset);
	if (p->column > p->first_chars + 1)
		return err_set(e, E_FORMAT,
			"line %lld of %s has %lld characters; column %lld is "
			"behind its end",
			(long long)p->offset, place->shown, (long long)p->first_chars,
			(long long)p->column);
	if (p->next_line > total)
		p->next_line = 0;
	(void)str_addf(out, "[%s: lines %lld-%lld of %s%lld]\n", place->shown, (long long)p->offset,
		(long long)last_line(p, total), whole ? "" : "at least ", (long long)total);
	if (utf8_repair(str_view(&p->text), out) < 0)
		return err_set(e, E_NOMEM, "a page of %s", place->shown);
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		(void)str_addc(out, '\n');
	report_rest(p, whole, out);
	return 0;
}

int tool_read_file(struct tool_job *j, struct err *e)
{
	struct page p = { .text = STR_INIT(TOOL_OUT_MAX / 2) };
	struct place place;
	struct stat st;
	int fd, whole, rc = -1;

	if (get_args(j, &p, e) < 0 || job_place(j, NULL, &place, e) < 0)
		return -1;
	fd = place_open_file(&place, &st, e);
	if (fd < 0)
		return -1;
	whole = scan(j, &p, fd, st.st_size, e);
	if (whole < 0)
		(void)err_wrap(e, "%s", place.shown);
	else if (p.binary)
		rc = err_set(e, E_FORMAT, "%s is a binary file of %lld bytes, not text",
			place.shown, (long long)st.st_size);
	else
		rc = report(j, &p, &place, whole > 0, e);
	str_release(&p.text);
	(void)close(fd);
	return rc;
}
