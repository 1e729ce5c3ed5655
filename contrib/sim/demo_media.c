/* The demo's answers about pictures and files, in both directions. */
#include <string.h>

#include "demo-private.h"

const char *const demo_send_words[] = { "send", "发个", "发一", "发送", "发我", "发给我", "发回",
	"传个", NULL };

static bool is_of(const struct attached *f, struct view en, struct view zh)
{
	struct view what = f->what;

	if (view_starts(what, VIEW("quoted ")))
		what = view_from(what, VIEW("quoted ").n);
	if (view_starts(what, VIEW("引用的")))
		what = view_from(what, VIEW("引用的").n);
	return view_starts(what, en) || view_starts(what, zh);
}

bool is_picture(const struct attached *f)
{
	return is_of(f, VIEW("picture"), VIEW("图片"));
}

bool is_voice(const struct attached *f)
{
	return is_of(f, VIEW("voice"), VIEW("语音"));
}

/* The last n bytes go when they are these. */
static struct view without(struct view v, struct view end)
{
	return view_ends(v, end) ? view_cut(v, v.n - end.n) : v;
}

bool read_attached(struct view line, struct attached *f)
{
	static const struct view marks[] = { { "[attachment: ", 13 }, { "[附件：", 10 } };

	for (size_t i = 0; i < 2; i++) {
		size_t slash;

		if (!view_starts(line, marks[i]) || !view_ends(line, VIEW("]")))
			continue;
		line = view_from(view_cut(line, line.n - 1), marks[i].n);
		slash = view_find(line, '/');
		/* The type has a slash as well; a path begins with it. */
		while (slash < line.n && !view_ends(view_cut(line, slash), VIEW(" ")) &&
			!view_ends(view_cut(line, slash), VIEW("，")))
			slash += 1 + view_find(view_from(line, slash + 1), '/');
		f->path = slash < line.n ? view_from(line, slash) : VIEW_NONE;
		f->what = without(without(view_cut(line, slash), VIEW(", ")), VIEW("，"));
		return true;
	}
	return false;
}

/* "data:image/png;base64,..." as "image/png, 109 B". */
static void put_picture(struct str *out, struct view url)
{
	size_t comma = view_find(url, ','), type = view_find(url, ';'), size;

	if (!view_starts(url, VIEW("data:")) || type > comma || comma == url.n)
		return;
	size = (url.n - comma - 1) / 4 * 3 -
	       (view_ends(url, VIEW("==")) ? 2 : view_ends(url, VIEW("=")));
	str_addf(out, "- %.*s, ", VIEW_FMT(view_from(view_cut(url, type), 5)));
	if (size < 1024)
		str_addf(out, "%zu B\n", size);
	else
		str_addf(out, "%.1f KB\n", (double)size / 1024);
}

/* How many the model was given to look at; told one a line, unless out is NULL. */
static size_t pictures(const struct demo *d, struct str *out)
{
	const struct json *content = json_member(d->message, "content");
	size_t n = 0;

	if (!content || json_type(content) != JSON_ARRAY)
		return 0;
	json_each(part, content) {
		struct view url = opt_str(json_member(part, "image_url"), "url", NULL);

		n += url.p != NULL;
		if (out && url.p)
			put_picture(out, url);
	}
	return n;
}

/* The first text among what came, so that something can be read aloud. */
static const struct attached *readable(const struct demo *d)
{
	for (size_t i = 0; i < d->nfiles; i++)
		if (d->files[i].path.p &&
			memmem(d->files[i].what.p, d->files[i].what.n, "text/", 5))
			return &d->files[i];
	return NULL;
}

bool demo_got_media(const struct demo *d)
{
	return d->nfiles || pictures(d, NULL);
}

/* A line of a list; a name may hold what Markdown would act on. */
static void put_item(struct str *out, struct view what)
{
	static const char marks[] = "\\`*_[]<>~&";

	str_adds(out, "- ");
	for (size_t i = 0; i < what.n; i++) {
		if (memchr(marks, what.p[i], sizeof(marks) - 1))
			str_addc(out, '\\');
		str_addc(out, what.p[i]);
	}
	str_addc(out, '\n');
}

void demo_media(struct demo *d)
{
	const struct attached *text = readable(d);

	if (text && !d->result.p && offered(d, "read_file")) {
		call(d, "read_file", "path", text->path, NULL, VIEW_NONE);
		return;
	}
	say(d, "你发来了：\n\n", "You sent me:\n\n");
	for (size_t i = 0; i < d->nfiles; i++)
		put_item(&d->out->text, d->files[i].what);
	if (pictures(d, NULL)) {
		say(d, "\n交给模型看的图片：\n\n", "\nGiven to the model to look at:\n\n");
		(void)pictures(d, &d->out->text);
	}
	if (d->result.p) {
		say(d, "\n文件的内容：\n\n", "\nIt says:\n\n");
		show_result(d);
	}
	say(d, "\n我是演示模型，看不懂内容；换成真正的模型，就可以问它图片和文件里有什么了。\n",
		"\nI am the demo model and understand none of it; a real one can be asked what is in it.\n");
}

static void send_made_up(struct demo *d)
{
	say(d,
		"这个文件是我现写的：\n\n````file:演示.md\n# 演示\n\n- 这是演示模型写的文件\n- "
		"它放在回答里，由 Kairo 取出来发给你\n````\n",
		"I have just written this one:\n\n````file:demo.md\n# Demo\n\n- This file was written by "
		"the demo model\n- It stood in the answer, and Kairo took it out and sent it\n````\n");
}

void demo_send(struct demo *d)
{
	static const char *const words[] = { "picture", "photo", "image", "图", "照片", NULL };
	struct view name = file_named(d->user);

	if (result_has(d, "It is sent")) {
		say(d, "好的，这就是。\n", "Here it is.\n");
	} else if (result_has(d, "nothing is sent to a terminal") && name.p) {
		say(d, "文件在这里：", "You find it here: ");
		str_addf(&d->out->text, "`%.*s`\n", VIEW_FMT(name));
	} else if (d->result.p) {
		say(d, "`send_file` 的回答：\n\n", "`send_file` said:\n\n");
		show_result(d);
	} else if (name.p && offered(d, "send_file")) {
		call(d, "send_file", "path", name, NULL, VIEW_NONE);
	} else if (name.p) {
		str_addf(&d->out->text, "[send-file: %.*s]\n", VIEW_FMT(name));
	} else if (!says_any(d, words)) {
		send_made_up(d);
	} else if (d->picture.p) {
		say(d, "这是你发来的那张：\n\n", "This is the one you sent:\n\n");
		str_addf(&d->out->text, "[send-image: %.*s]\n", VIEW_FMT(d->picture));
	} else {
		say(d, "我这里没有图片：先发一张给我。\n",
			"I have no picture: send me one first.\n");
	}
}
