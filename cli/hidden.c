/* Reading a secret from a terminal without showing it. */
#include <errno.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"

enum { CTRL_C = 3, CTRL_D = 4, BACKSPACE = 8, CTRL_U = 21, DEL = 127 };

/* One key. 1: the line goes on, 0: it is done, -1: it is not wanted. */
static int take_key(char c, size_t max, struct str *out, struct err *e)
{
	switch (c) {
	case '\r':
	case '\n': return 0;
	case CTRL_C: return err_set(e, E_CANCELLED, "interrupted; nothing was changed");
	case CTRL_D: return out->n ? 0 : err_set(e, E_CANCELLED, "nothing was changed");
	case BACKSPACE:
	case DEL: str_truncate(out, out->n ? out->n - 1 : 0); return 1;
	case CTRL_U: str_truncate(out, 0); return 1;
	default: break;
	}
	if (out->n >= max)
		return err_set(e, E_FORMAT, "that is longer than %zu characters", max);
	return str_addc(out, c) < 0 ? err_set(e, E_NOMEM, "out of memory") : 1;
}

static int take_line(size_t max, struct str *out, struct err *e)
{
	for (;;) {
		char c;
		ssize_t n = read(STDIN_FILENO, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "the terminal");
		int rc = n == 0 ? 0 : take_key(c, max, out, e);
		if (rc <= 0)
			return rc;
	}
}

int read_hidden(const char *prompt, size_t max, struct str *out, struct err *e)
{
	struct termios before, quiet;
	int rc;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return err_sys(e, "the terminal");
	quiet = before;
	/* Without signals by key: the terminal must not stay as it is now. */
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG | IEXTEN);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) < 0)
		return err_sys(e, "the terminal");
	fputs(prompt, stderr); /* only now: what is typed before is neither hidden nor kept */
	rc = take_line(max, out, e);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	fputc('\n', stderr);
	return rc;
}
