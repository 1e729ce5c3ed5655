#include "cli/choice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "agent/engine.h"
#include "base/text.h"
#include "cli/cli.h"

#define TTY_LINE ((size_t)4096) /* what a terminal gives as one line at most */

struct choice {
	struct loop *loop;
	choice_cb *cb;
	void *arg;
	int fd;    /* for reading; -1: there is no terminal */
	FILE *out; /* the same terminal */
	struct watch *watch;
	struct timer *timer;
	int n;
	bool several;
	int64_t ms;
	enum control_language lang;
	struct str line;
};

void choice_close(struct choice **cp)
{
	struct choice *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	watch_free(&c->watch);
	timer_free(&c->timer);
	if (c->fd >= 0)
		close(c->fd);
	if (c->out)
		fclose(c->out);
	str_release(&c->line);
	free(c);
}

static void show_words(struct choice *c, enum word w, const char *arg)
{
	struct str text = STR_INIT(4096);

	words(&text, c->lang, w, arg);
	fputs(str_cstr(&text), c->out);
	str_release(&text);
}

static void end(struct choice *c, int choice)
{
	choice_cb *cb = c->cb;
	void *arg = c->arg;

	choice_close(&c);
	cb(arg, choice);
}

static void choice_on_time(void *arg)
{
	struct choice *c = arg;

	if (c->out) {
		fputc('\n', c->out);
		show_words(c, W_ASK_TIMEOUT, NUM(c->ms / 60000));
		fputc('\n', c->out);
	}
	end(c, c->out ? ANSWER_NONE : ANSWER_UNASKED);
}

/* The number alone counts. -1: it is none of them. */
static int read_number(const struct choice *c, struct view v)
{
	unsigned long long n;

	if (v.n == 0 || v.p[0] == '0' || parse_u64(v, &n) < 0 || n > (unsigned)c->n)
		return -1;
	return (int)n - 1;
}

static int read_choice(const struct choice *c, struct view line)
{
	struct view v = view_trim(line);
	unsigned int mask = 0;

	if (!c->several)
		return read_number(c, v);
	while (v.n > 0) {
		size_t end_of_word = view_find(v, ' ');
		int choice = read_number(c, view_cut(v, end_of_word));

		if (choice < 0)
			return -1;
		mask |= 1U << choice;
		v = view_trim(view_from(v, end_of_word));
	}
	return mask ? (int)mask : -1;
}

static void show_prompt(struct choice *c)
{
	show_words(c, c->several ? W_ASK_HERE_HOW_SEVERAL : W_ASK_HERE_HOW, NUM(c->n));
	fflush(c->out);
}

static void take_line(struct choice *c)
{
	int choice = read_choice(c, str_view(&c->line));

	str_reset(&c->line);
	if (choice >= 0)
		end(c, choice);
	else
		show_prompt(c);
}

static void choice_on_input(void *arg, int fd, int what)
{
	struct choice *c = arg;
	char buf[TTY_LINE];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fputc('\n', c->out);
		end(c, ANSWER_NONE);
		return;
	}
	if (str_add(&c->line, (struct view){ buf, (size_t)n }) < 0)
		str_reset(&c->line); /* far too long for an answer */
	else if (buf[n - 1] == '\n')
		take_line(c);
}

/* Each line set off, so that none can pass for a choice or a prompt of ours. */
static void show_text(FILE *out, struct view text)
{
	struct str safe = STR_INIT((size_t)64 << 20);

	(void)text_safe(view_trim(text), TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe);
	for (struct view v = str_view(&safe); v.n > 0;) {
		size_t end_of_line = view_find(v, '\n');

		fprintf(out, "  | %.*s\n", VIEW_FMT(view_cut(v, end_of_line)));
		v = view_from(v, end_of_line + 1);
	}
	str_release(&safe);
}

static void show_name(struct choice *c, struct view name)
{
	struct str safe = STR_INIT(4096);

	(void)text_safe(name, 0, &safe);
	show_words(c, W_ASK_HERE, words_tool(c->lang, str_cstr(&safe)));
	fputc('\n', c->out);
	str_release(&safe);
}

static void show(struct choice *c, const struct choice_ask *ask)
{
	fputc('\n', c->out);
	if (ask->name.n)
		show_name(c, ask->name);
	show_text(c->out, ask->text);
	if (!view_trim(ask->text).n) {
		fputs("  ", c->out);
		show_words(c, W_ASK_HIDDEN, NULL);
		fputc('\n', c->out);
	}
	for (int i = 0; i < ask->n; i++) {
		fprintf(c->out, "%d. ", i + 1);
		print_safe(c->out, ask->choices[i]);
		fputc('\n', c->out);
	}
	show_prompt(c);
}

/* -1: there is none, or another program is in front of it. */
static int open_terminal(struct choice *c)
{
	c->fd = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->fd >= 0 && tcgetpgrp(c->fd) == getpgrp())
		c->out = fopen("/dev/tty", "we");
	if (!c->out)
		return -1;
	(void)tcflush(c->fd, TCIFLUSH);
	return 0;
}

int choice_open(struct choice **out, struct loop *l, const struct choice_ask *ask, choice_cb *cb,
	void *arg, struct err *e)
{
	struct choice *c = calloc(1, sizeof(*c));
	bool asks;

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "a question");
	c->loop = l;
	c->cb = cb;
	c->arg = arg;
	c->n = ask->n;
	c->several = ask->several;
	c->ms = ask->ms;
	c->lang = ask->lang;
	c->line = (struct str)STR_INIT(2 * TTY_LINE);
	asks = open_terminal(c) == 0;
	if (timer_new(&c->timer, l, choice_on_time, c, e) < 0 ||
		(asks && watch_new(&c->watch, l, c->fd, WATCH_READ, choice_on_input, c, e) < 0)) {
		choice_close(&c);
		return -1;
	}
	if (asks)
		show(c, ask);
	timer_arm(c->timer, asks ? ask->ms : 0);
	*out = c;
	return 0;
}
