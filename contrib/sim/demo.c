/* The demo: a handful of answers chosen by the person's words, in Chinese or English. It shows what
 * the program around it can do and never pretends to think. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "demo-private.h"

#define LONG_SECTIONS 140  /* over ten messages, in either language */
#define SHOW_MAX      1200 /* bytes of a tool's result that are shown */
#define WORDS_MAX     ((size_t)1 << 20)

/* --- Reading the request ---------------------------------------------------------------------- */
/* A tool's result is a string, or parts of which the last text counts. */
static struct view content_of(const struct json *message)
{
	const struct json *c = json_member(message, "content");
	struct view v = VIEW_NONE;

	if (!c || json_str(c, &v) == 0)
		return v;
	json_each(part, c)
		if (json_type(part) == JSON_OBJECT && opt_str(part, "text", NULL).p)
			v = opt_str(part, "text", NULL);
	return v;
}

/* What the message quotes is not what the person says. */
static bool read_quoted(struct demo *d, struct view line)
{
	static const struct view marks[] = { { "[quoted message: ", 17 }, { "[引用的消息：", 19 } };

	for (size_t i = 0; i < 2; i++)
		if (view_starts(line, marks[i]) && view_ends(line, VIEW("]"))) {
			d->quoted = view_from(view_cut(line, line.n - 1), marks[i].n);
			return true;
		}
	return false;
}

static void read_text(struct demo *d, struct view text)
{
	while (text.n) {
		size_t end = view_find(text, '\n');
		struct view line = view_cut(text, end);
		struct attached f;

		text = view_from(text, end + 1);
		if (read_quoted(d, line))
			continue;
		if (!read_attached(line, &f)) {
			str_addf(&d->words, "%s%.*s", d->words.n ? "\n" : "", VIEW_FMT(line));
			continue;
		}
		if (d->nfiles < FILES_MAX && !is_voice(&f))
			d->files[d->nfiles++] = f;
		if (is_picture(&f) && f.path.p)
			d->picture = f.path;
	}
}

/* What the person wrote last, in one string or in parts. */
static void read_user(struct demo *d, const struct json *message)
{
	const struct json *c = json_member(message, "content");
	struct view v = VIEW_NONE;

	str_reset(&d->words);
	d->message = message;
	d->nfiles = 0;
	d->quoted = d->result = VIEW_NONE;
	if (c && json_str(c, &v) == 0)
		read_text(d, v);
	else if (c)
		json_each(part, c)
			if (json_type(part) == JSON_OBJECT)
				read_text(d, opt_str(part, "text", NULL));
}

static struct view called_name(const struct json *message)
{
	const struct json *calls = json_member(message, "tool_calls");
	const struct json *first = calls ? json_first(calls) : NULL;

	return first ? opt_str(json_member(first, "function"), "name", "") : VIEW_NONE;
}

static bool has_cjk(struct view v)
{
	while (v.n) {
		uint32_t cp = 0;
		size_t n = utf8_next(v, &cp);

		if (cp >= 0x2e80 && cp <= 0x9fff)
			return true;
		v = view_from(v, n ? n : 1);
	}
	return false;
}

static void read_request(struct demo *d)
{
	const struct json *messages = json_member(d->request, "messages");

	json_each(m, messages) {
		struct view role = opt_str(m, "role", "");

		if (view_eqs(role, "user")) {
			read_user(d, m);
		} else if (view_eqs(role, "assistant")) {
			d->called = called_name(m);
		} else if (view_eqs(role, "tool")) {
			d->result = content_of(m);
			if (!d->result.p)
				d->result = VIEW("");
		}
	}
	d->user = view_trim(str_view(&d->words));
	d->zh = has_cjk(d->user.n || !d->nfiles ? d->user : d->files[0].what);
}

/* --- Words ------------------------------------------------------------------------------------ */
static bool letter_at(struct view v, size_t i)
{
	return i < v.n && ((v.p[i] | 32) >= 'a' && (v.p[i] | 32) <= 'z');
}

/* English words count as words, Chinese ones wherever they stand. */
static bool says(const struct demo *d, const char *word)
{
	bool english = letter_at(view_of(word), 0);
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= d->user.n; i++) {
		if (strncasecmp(d->user.p + i, word, n) != 0)
			continue;
		if (!english || !((i && letter_at(d->user, i - 1)) || letter_at(d->user, i + n)))
			return true;
	}
	return false;
}

bool says_any(const struct demo *d, const char *const *words)
{
	for (; *words; words++)
		if (says(d, *words))
			return true;
	return false;
}

void say(struct demo *d, const char *zh, const char *en)
{
	str_adds(&d->out->text, d->zh ? zh : en);
}

struct view file_named(struct view text)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/";

	while (text.n) {
		size_t n = 0;

		while (n < text.n && memchr(set, text.p[n], sizeof(set) - 1))
			n++;
		if (n > 2 && n <= 200 && (text.p[0] == '/' || memchr(text.p + 1, '.', n - 2)))
			return view_cut(text, n);
		text = view_from(text, n ? n : 1);
	}
	return VIEW_NONE;
}

/* --- Calling tools ---------------------------------------------------------------------------- */
bool offered(const struct demo *d, const char *name)
{
	const struct json *tools = json_member(d->request, "tools");

	json_each(t, tools)
		if (view_eqs(opt_str(json_member(t, "function"), "name", ""), name))
			return true;
	return false;
}

void call(struct demo *d, const char *name, const char *key1, struct view value1, const char *key2,
	struct view value2)
{
	struct json_out w;

	snprintf(d->out->call.name, sizeof(d->out->call.name), "%s", name);
	json_out_begin(&w, &d->out->call.arguments);
	json_open(&w, NULL);
	json_put_str(&w, key1, value1);
	if (key2)
		json_put_str(&w, key2, value2);
	json_close(&w);
	if (json_out_end(&w, NULL) < 0) {
		str_reset(&d->out->call.arguments);
		str_adds(&d->out->call.arguments, "{}");
	}
}

/* With the file tools not there, say so instead. */
static bool missing_tool(struct demo *d, const char *name)
{
	if (offered(d, name))
		return false;
	say(d, "（演示）这里没有提供工具 ", "(Demo) I was not offered the tool ");
	str_addf(&d->out->text, "`%s`%s", name, d->zh ? "。" : ".");
	return true;
}

/* --- Scenes ----------------------------------------------------------------------------------- */
static void scene_hello(struct demo *d)
{
	say(d,
		"你好！我是 kairo-sim 里的**演示模型**，不是真正的语言模型：我只会按你的用词给出"
		"几种固定的回答，"
		"用来试 Kairo 的整条链路。\n\n你可以试试：\n\n"
		"- **列出文件**：我会调用 `list_dir`\n"
		"- **读 README.md**：我会调用 `read_file`\n"
		"- **记一条 买牛奶**：我会用 `write_file` 写一个文件\n"
		"- **表格**：看表格和代码在手机上的样子\n"
		"- **运行命令**：看策略怎样拒绝；设了 `policy.shell = \"ask\"` 时会先问你\n"
		"- **长文**：很长的回答，全文随后以文件送来\n"
		"- **慢一点**：慢慢说，期间可以发 `/stop`\n"
		"- 发来图片或文件，或引用一条消息：我说说收到了什么；**发个文件**：我发一个给你\n",
		"Hello! I am the **demo model** inside kairo-sim, not a real language model: I pick one of a "
		"few fixed answers by the words you use, so that you can try Kairo end to end.\n\nTry:\n\n"
		"- **list files**: I call `list_dir`\n"
		"- **read README.md**: I call `read_file`\n"
		"- **note buy milk**: I write a file with `write_file`\n"
		"- **table**: how tables and code look on the phone\n"
		"- **run a command**: how the policy refuses, or with `policy.shell = \"ask\"` asks you first\n"
		"- **long**: a very long answer; all of it comes as a file\n"
		"- **slow**: I take my time, so that you can send `/stop`\n"
		"- a picture, a file or a quote: I tell what I was given; **send me a file**: I send you one\n");
}

/* Many lines as code, without the head in brackets; one is quoted, since that is what a phone
 * wraps. */
void show_result(struct demo *d)
{
	struct view v = view_trim(d->result);
	size_t end = view_find(v, '\n');
	bool lines = end != v.n, more;

	if (end && v.p[0] == '[' && v.p[end - 1] == ']')
		v = lines ? view_from(v, end + 1) : view_from(view_cut(v, end - 1), 1);
	more = v.n > SHOW_MAX;
	v = view_cut(v, utf8_cut(v, SHOW_MAX));
	str_adds(&d->out->text, lines ? "````\n" : "> ");
	str_add(&d->out->text, v);
	str_adds(&d->out->text, lines ? "\n````\n" : "\n\n");
	if (more)
		say(d, "（结果很长，这里只给出开头。）\n",
			"(The result is long; this is its beginning.)\n");
}

bool result_has(const struct demo *d, const char *words)
{
	return d->result.p && memmem(d->result.p, d->result.n, words, strlen(words)) != NULL;
}

/* Asked for and not granted. False: it was done, or the policy denies it. */
static bool refused(struct demo *d)
{
	if (!result_has(d, "needs the user's consent"))
		return false;
	if (result_has(d, "refused"))
		say(d, "你没有同意，所以我没有做。\n", "You refused, so it was not done.\n");
	else
		say(d, "没有得到你的同意，所以我没有做。\n",
			"I did not get your consent, so it was not done.\n");
	return true;
}

static void scene_list(struct demo *d)
{
	if (!d->result.p) {
		if (!missing_tool(d, "list_dir"))
			call(d, "list_dir", "path", VIEW("."), NULL, VIEW_NONE);
		return;
	}
	say(d, "工作区里有这些：\n\n", "This is in the workspace:\n\n");
	show_result(d);
}

static void scene_read(struct demo *d)
{
	struct view name = file_named(d->user);

	if (!name.p)
		name = VIEW("README.md");
	if (!d->result.p) {
		if (!missing_tool(d, "read_file"))
			call(d, "read_file", "path", name, NULL, VIEW_NONE);
		return;
	}
	say(d, "我读了 ", "I read ");
	str_addf(&d->out->text, "`%.*s`%s", VIEW_FMT(name), d->zh ? "：\n\n" : ":\n\n");
	show_result(d);
}

static void scene_note(struct demo *d)
{
	struct view name = file_named(d->user);
	struct str note = STR_INIT((size_t)64 << 10);

	if (!name.p)
		name = VIEW("demo-note.md");
	if (!d->result.p) {
		if (missing_tool(d, "write_file"))
			return;
		str_adds(&note, d->zh ? "# 演示笔记\n\n" : "# Demo note\n\n");
		str_add(&note, d->user);
		str_addc(&note, '\n');
		call(d, "write_file", "path", name, "content", str_view(&note));
		str_release(&note);
		return;
	}
	if (refused(d))
		return;
	say(d, "已写入 ", "Written to ");
	str_addf(&d->out->text, "`%.*s`%s", VIEW_FMT(name),
		d->zh ? "。工具的回答：\n\n" : ". The tool said:\n\n");
	show_result(d);
}

static void scene_table(struct demo *d)
{
	say(d,
		"## 一张表和一段代码\n\n| 项目 | 数值 |\n|---|---|\n| 首次轮询 | 20 ms |\n| 常驻"
		"内存 | 8 MiB |\n"
		"| 每条分片 | 1800 字 |\n\n一张更宽的表：\n\n| 城市 | 天气 | 气温 | 湿度 | 备注"
		" |\n|---|---|---|---|---|\n"
		"| 北京 | 晴 | 21 °C | 30% | 有风 |\n| 上海 | 小雨 | 18 °C | 85% | 带伞 |\n\n```c\n",
		"## A table and some code\n\n| item | value |\n|---|---|\n| first poll | 20 ms |\n"
		"| memory | 8 MiB |\n| part size | 1800 characters |\n\nA wider one:\n\n"
		"| city | sky | temp | humidity | note |\n|---|---|---|---|---|\n"
		"| Oslo | clear | 12 °C | 40% | windy |\n| Rome | rain | 18 °C | 85% | umbrella |\n\n```c\n");
	str_adds(&d->out->text,
		"#include <stdio.h>\n\nint main(void)\n{\n\tputs(\"hello, phone\");\n\treturn 0;\n}\n```\n\n");
	say(d, "> 引用也可以。文件名里的下划线如 `a_b_c` 应当原样显示：a_b_c.txt，还有 1 < 2。\n",
		"> Quotes work too. Underscores as in `a_b_c` should stay: a_b_c.txt, and so should 1 < 2.\n");
}

static void scene_shell(struct demo *d)
{
	if (!d->result.p) {
		say(d, "我来试试运行一条命令。", "Let me try to run a command.");
		call(d, "shell", "command", VIEW("uname -a"), NULL, VIEW_NONE);
		return;
	}
	if (refused(d))
		return;
	if (result_has(d, "policy")) {
		say(d, "我试着运行 `uname -a`，得到的回答是：\n\n",
			"I tried to run `uname -a` and was told:\n\n");
		show_result(d);
		say(d, "现在的策略不让手机上来的请求运行命令。\n",
			"The policy lets nothing that comes from the phone run commands.\n");
		return;
	}
	say(d, "我运行了 `uname -a`：\n\n", "I ran `uname -a`:\n\n");
	show_result(d);
}

static void scene_long(struct demo *d)
{
	say(d, "# 一篇很长的演示文\n\n", "# A very long demo text\n\n");
	for (int i = 1; i <= LONG_SECTIONS; i++) {
		str_addf(&d->out->text, d->zh ? "## 第 %d 节\n\n" : "## Section %d\n\n", i);
		say(d,
			"这一节只是用来占篇幅的：每条消息至多约一千八百字，一次来信之后最多能发十条，所"
			"以这篇文章一定装不下。第一条之后会附上一个文件，全文都在里面；文件发不出去时，剩"
			"下的部分留在本机，发 `/more` 就接着送来。分段总在段落、句子的边上，不会切坏一个字。\n\n",
			"This section only takes up room: a message holds about eighteen hundred characters and ten "
			"messages may follow each of yours, so this text cannot fit. A file with all of it comes "
			"behind the first message; if it cannot be sent, the rest stays on the machine and `/more` "
			"brings it. Parts end where paragraphs and sentences end, and no character is ever cut in "
			"two.\n\n");
		if (i % 10 == 0)
			str_addf(&d->out->text, "```\nsection = %d\n```\n\n", i);
	}
	say(d, "（全文完。）\n", "(The end.)\n");
}

static void scene_slow(struct demo *d)
{
	d->out->pause_ms = 1000;
	say(d, "我会慢慢数到六十，随时可以发 /stop 让我停下。\n\n",
		"I will count to sixty, slowly. Send /stop at any time.\n\n");
	for (int i = 1; i <= 60; i++)
		str_addf(&d->out->text,
			d->zh ? "%d，慢慢来，不着急，一步一步走，这里多说几个字。\n"
			      : "%d, there is no hurry\n",
			i);
}

static void repeat(struct demo *d, const char *zh, const char *en, struct view v)
{
	say(d, zh, en);
	str_adds(&d->out->text, "\n\n> ");
	for (size_t i = 0, n = utf8_cut(v, 300); i < n; i++) {
		str_addc(&d->out->text, v.p[i]);
		if (v.p[i] == '\n')
			str_adds(&d->out->text, "> ");
	}
	str_adds(&d->out->text, v.n > 300 ? " …\n\n" : "\n\n");
}

static void scene_other(struct demo *d)
{
	if (d->quoted.p) {
		repeat(d, "（演示模型）你引用了：", "(Demo model) You quoted:", d->quoted);
		repeat(d, "并且说：", "and said:", d->user);
	} else {
		repeat(d, "（演示模型）你说的是：", "(Demo model) You said:", d->user);
	}
	say(d,
		"我不是真正的语言模型，只会几种固定的回答。发“你好”看看我会什么；"
		"要真正的回答，请在配置里填一个模型。\n",
		"I am not a real language model and know a few fixed answers only. Say hello to see which; "
		"for real answers, set a model in the configuration.\n");
}

#define WORDS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}

static void choose(struct demo *d)
{
	const struct {
		const char *const *words;
		void (*scene)(struct demo *d);
	} scenes[] = {
		{ WORDS("shell", "command", "commands", "run", "命令", "运行", "执行"),
			scene_shell },
		{ WORDS("slow", "慢"), scene_slow },
		{ WORDS("long", "长文", "很长", "长一点"), scene_long },
		{ WORDS("table", "tables", "code", "表格", "代码"), scene_table },
		{ WORDS("note", "notes", "write", "remember", "记", "写"), scene_note },
		{ WORDS("read", "open", "cat", "读", "看看", "打开"), scene_read },
		{ WORDS("list", "file", "files", "ls", "列", "文件", "目录"), scene_list },
		{ WORDS("hello", "hi", "hey", "help", "你好", "您好", "嗨", "帮助"), scene_hello },
	};

	if (says_any(d, demo_send_words)) {
		demo_send(d);
		return;
	}
	if (demo_got_media(d)) {
		demo_media(d);
		return;
	}
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (says_any(d, scenes[i].words)) {
			scenes[i].scene(d);
			return;
		}
	scene_other(d);
}

void demo_answer(const struct json *request, struct demo_answer *a)
{
	struct demo d = { .request = request, .words = STR_INIT(WORDS_MAX), .out = a };

	*a = (struct demo_answer){ .text = STR_INIT((size_t)1 << 20),
		.call = { .arguments = STR_INIT((size_t)256 << 10) } };
	read_request(&d);
	choose(&d);
	str_release(&d.words);
}

void demo_release(struct demo_answer *a)
{
	str_release(&a->text);
	str_release(&a->call.arguments);
}
