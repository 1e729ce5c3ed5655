/* The words around a tool's call: its name, and what stands beside its values in a question. */
#include "channel/words-private.h"

#include <string.h>

/* en NULL: as it is called. */
struct named {
	const char *name, *zh, *en;
};

static const struct named tools[] = {
	{ "read_file", "读文件", NULL },
	{ "list_dir", "看文件夹", NULL },
	{ "glob", "按名字找文件", NULL },
	{ "grep", "在文件里查找", NULL },
	{ "write_file", "写文件", NULL },
	{ "apply_patch", "修改文件", NULL },
	{ "create_project", "新建项目", NULL },
	{ "shell", "运行命令", NULL },
	{ "shell_session", "在会话里运行命令", NULL },
	{ "web_search", "搜索网页", NULL },
	{ "web_fetch", "打开网页", NULL },
	{ "send_file", "发文件给你", NULL },
	{ "todo", "待办清单", NULL },
};

static const struct named arguments[] = {
	{ "path", "路径", "path" },
	{ "offset", "起点", "start at" },
	{ "limit", "最多", "at most" },
	{ "column", "列", "column" },
	{ "pattern", "匹配", "pattern" },
	{ "glob", "文件名", "file names" },
	{ "ignore_case", "不分大小写", "ignore case" },
	{ "content", "内容", "content" },
	{ "patch", "改动", "patch" },
	{ "template", "模板", "template" },
	{ "name", "名字", "name" },
	{ "description", "说明", "description" },
	{ "command", "命令", "command" },
	{ "cwd", "运行位置", "run in" },
	{ "timeout_s", "时限（秒）", "time limit in seconds" },
	{ "session", "会话", "session" },
	{ "stop", "结束会话", "end the session" },
	{ "query", "搜索词", "query" },
	{ "count", "条数", "results" },
	{ "provider", "搜索服务", "search service" },
	{ "url", "网址", "address" },
	{ "caption", "附言", "caption" },
	{ "items", "清单", "list" },
};

static const struct words_pair table[WORDING_COUNT] = {
	[WORDING_ARGUMENT] = { "{1}：", "{1}: " },
	[WORDING_FOLDER] = { "工作区：", "folder: " },
	[WORDING_FILES] = { "文件：", "files: " },
	[WORDING_FILE_NEW] = { "{1}（新建）", "{1} (new)" },
	[WORDING_FILE_DELETED] = { "{1}（删除）", "{1} (deleted)" },
	[WORDING_SIZE] = { "{1}，{2}", "{1}, {2}" },
	[WORDING_BYTE] = { "{1} 字节", "{1} byte" },
	[WORDING_BYTES] = { "{1} 字节", "{1} bytes" },
	[WORDING_LINE] = { "{1} 行", "{1} line" },
	[WORDING_LINES] = { "{1} 行", "{1} lines" },
	[WORDING_CUT] = { "[这里略去 {1}]", "[{1} not shown here]" },
};

static const struct named *find(const struct named *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

const char *words_tool(enum control_language lang, const char *name)
{
	const struct named *it = find(tools, sizeof(tools) / sizeof(tools[0]), name);

	return it && lang == LANG_ZH ? it->zh : name;
}

int words_wording(struct str *out, bool zh, enum wording w, const char *const *args)
{
	const char *label[] = { args[0], NULL };
	const struct named *it = NULL;

	if (w == WORDING_ARGUMENT && label[0])
		it = find(arguments, sizeof(arguments) / sizeof(arguments[0]), label[0]);
	if (it)
		label[0] = zh ? it->zh : it->en;
	return words_fill(out, zh ? table[w].zh : table[w].en, it ? label : args, "");
}
