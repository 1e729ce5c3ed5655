#include "channel/command-private.h"

#include "base/text.h"

#include <string.h>

/* --- The reply -------------------------------------------------------------------------------- */

void command_line(struct str *s)
{
	if (s->n)
		str_addc(s, '\n');
}

int command_said(const struct str *s, struct err *e)
{
	return str_ok(s) ? 0 : err_set(e, E_NOMEM, "a command's reply");
}

/* --- Reading ---------------------------------------------------------------------------------- */

void command_lower(struct view word, char *out, size_t size)
{
	size_t n = 0;

	while (word.n && n + 5 < size) {
		uint32_t cp = 0;
		size_t len = utf8_next(word, &cp);

		if (len == 0)
			len = 1;
		if (cp >= 0xff01 && cp <= 0xff5e)
			cp -= 0xfee0;
		if (cp < 0x80 && cp > 0) {
			out[n++] = (char)(cp >= 'A' && cp <= 'Z' ? cp | 0x20 : cp);
		} else {
			memcpy(out + n, word.p, len);
			n += len;
		}
		word = view_from(word, len);
	}
	out[n] = '\0';
}

/* Space of any width, zero too, as phones and what is pasted on them put around words. */
static bool is_space(struct view v, size_t *len)
{
	uint32_t c = 0;

	*len = utf8_next(v, &c);
	return *len &&
	       (c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || (c >= 0x2000 && c <= 0x200d) ||
		       c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x2060 ||
		       c == 0x3000 || c == 0xfeff);
}

static struct view skip_space(struct view v)
{
	size_t len;

	while (v.n && is_space(v, &len))
		v = view_from(v, len);
	return v;
}

static struct view trim_end(struct view v)
{
	size_t end = 0, len;

	for (size_t i = 0; i < v.n; i += len)
		if (!is_space(view_from(v, i), &len)) {
			len = 1;
			end = i + 1;
		}
	return view_cut(v, end);
}

static struct view cut_word(struct view *rest)
{
	struct view v = *rest;
	size_t n = 0, len;

	while (n < v.n && !is_space(view_from(v, n), &len))
		n++;
	*rest = skip_space(view_from(v, n));
	return view_cut(v, n);
}

/* "/stop." and "/停止。" are meant as /stop. */
static void drop_period(char *word)
{
	static const char *const ends[] = { ".", "!", "。" };
	size_t n = strlen(word);

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(ends[i]);

		if (n > len + 1 && strcmp(word + n - len, ends[i]) == 0)
			word[n - len] = '\0';
	}
}

static bool starts_with_digit(struct view v)
{
	uint32_t c = 0;

	(void)utf8_next(v, &c);
	return (c >= '0' && c <= '9') || (c >= 0xff10 && c <= 0xff19);
}

bool command_takes(const struct command_call *call, const char *en, const char *zh,
	struct view *rest)
{
	struct view v = call->arg, behind = view_from(v, strlen(zh));
	char word[32];

	if (view_starts(v, view_of(zh)) && starts_with_digit(behind)) {
		if (rest)
			*rest = behind;
		return true;
	}
	command_lower(cut_word(&v), word, sizeof(word));
	drop_period(word);
	if (rest)
		*rest = v;
	return strcmp(word, en) == 0 || strcmp(word, zh) == 0;
}

/* --- Which command is it? --------------------------------------------------------------------- */

static bool engine_knows(const struct control *c, const char *name)
{
	const char *const *list =
		c->engine->ops->commands ? c->engine->ops->commands(c->engine) : NULL;

	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(name, list[i][0] == '/' ? list[i] + 1 : list[i]) == 0)
			return true;
	return false;
}

/* "/停止全部", "/打开2": Chinese has no spaces. Only with what is an argument beyond doubt. */
static void find_joined(struct view text, struct command_call *call)
{
	struct view arg = VIEW_NONE;
	const struct command *cmd;
	uint32_t slash;

	cmd = command_joined(view_from(text, utf8_next(text, &slash)), &arg);
	if (!cmd || !(starts_with_digit(arg) || view_starts(arg, VIEW("全部")) ||
			    view_starts(arg, VIEW("删除"))))
		return;
	call->word[1 + strlen(cmd->zh)] = '\0';
	call->arg = trim_end(arg);
	call->cmd = cmd;
}

/* "/打开 ２": the digits of Chinese keyboards, for engines too. */
static void narrow_number(struct command_call *call)
{
	if (call->arg.n + 5 >= sizeof(call->number)) /* it would be cut */
		return;
	command_lower(call->arg, call->number, sizeof(call->number));
	if (strspn(call->number, "0123456789") == strlen(call->number))
		call->arg = view_of(call->number);
}

enum command_parse command_parse(struct control *c, struct view text, struct command_call *call)
{
	struct view rest = skip_space(text), all = rest;

	if (!view_starts(rest, VIEW("/")) && !view_starts(rest, VIEW("／")))
		return COMMAND_NONE;
	command_lower(cut_word(&rest), call->word, sizeof(call->word));
	drop_period(call->word);
	call->arg = trim_end(rest);
	call->cmd = command_find(call->word + 1);
	if (!call->cmd)
		find_joined(all, call);
	narrow_number(call);
	if (call->cmd && !call->cmd->queued)
		return COMMAND_OURS;
	/* By its first name, whatever it was called by. */
	if (engine_knows(c, call->cmd ? call->cmd->name : call->word + 1)) {
		call->engine_name = call->cmd ? call->cmd->name : call->word + 1;
		call->denied = call->cmd && call->cmd->who != ANYBODY && !call->owner;
		return call->denied ? COMMAND_OURS : COMMAND_ENGINE;
	}
	return call->cmd ? COMMAND_OURS : COMMAND_UNKNOWN;
}

void command_more(struct command_call *call)
{
	call->cmd = command_find("more");
}

static bool is(const struct command_call *call, const char *name)
{
	return call->cmd && strcmp(call->cmd->name, name) == 0;
}

bool command_is_stop(const struct command_call *call)
{
	return is(call, "stop");
}

bool command_releases(const struct command_call *call)
{
	return call->cmd && !is(call, "stop") && !is(call, "more");
}

int command_run(struct control *c, struct command_call *call, struct err *e)
{
	if (call->denied || (call->cmd->who == OWNER && !call->owner))
		return say(call, W_OWNER_ONLY, call->word);
	return call->cmd->run(c, call, e);
}
