/* Native mode: Markdown stays what it is and becomes safe for WeChat (wire reference, 7.3). */
#include "check.h"

/* --- What needs no change is not changed ------------------------------------------------------ */

static void leaves_good_markdown_alone(void **state)
{
	static const char *const same[] = {
		"你好，世界。",
		"# 标题\n\n正文第一行\n正文第二行\n\n第二段",
		"## Two words ##x",
		"- one\n- two\n- three",
		"* one\n* two",
		"+ one\n+ two",
		"1. one\n2. two\n3. three",
		"7) seven\n8) eight",
		"- a\n  - b\n    - c\n- d",
		"1. a\n   - b\n   - c\n2. d",
		"- a\n\n  more of a\n\n- b",
		"> 引用\n> 第二行",
		"> 外层\n>\n> > 内层",
		"> - 列表\n> - 在引用里",
		"**粗体** 和 *italic* 和 `code_with_underscores`",
		"a ~~b~~ c",
		"[文档](https://example.com/a?b=c&d=e#f)",
		"```python\ndef f(a_b):\n\treturn a_b < 3\n```",
		"````markdown\n```c\nint x;\n```\n````",
		"段落\n\n---\n\n段落",
		"| 名称 | 价格 |\n| --- | --- |\n| 苹果 | 5 |",
		"| a | b | c |\n| :-- | :-: | --: |\n| 1 | 2 | 3 |",
		"one_underscore alone",
		"~/notes",
		"5 * 3 * 2",
		"C# and F#",
		"a | b | c",
		"2024. 年底",
		"第一行\n1986) 不是列表",
		"$5 and $10, $HOME and ${PATH}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		native(same[i], same[i]);
}

static void keeps_the_blank_lines_of_code(void **state)
{
	(void)state;
	native("```\na\n\n\n  b\n```", "```\na\n\n\n  b\n```");
	native("- ```\n  a\n\n  b\n  ```", "- ```\n  a\n\n  b\n  ```");
}

static void keeps_the_blank_lines_of_lists(void **state)
{
	static const char *const same[] = {
		"- a\n- b\n\n- c",
		"1. a\n   ```\n   x\n   ```\n2. b\n\n   ```\n   y\n   ```\n3. c",
		"- a\n  > q\n- b\n  1. c\n\n  2. d\n- e",
		"> - a\n>\n>   b\n> - c",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		native(same[i], same[i]);
	native("- a\n  ***\n- b", "- a\n\n  ---\n- b");
}

static void gives_one_blank_line_between_blocks(void **state)
{
	(void)state;
	native("\n\n\na\n\n\n\n# b\nc\n\n\n", "a\n\n# b\n\nc");
	native("text\n- item\n- item\n\nmore", "text\n\n- item\n- item\n\nmore");
}

/* --- Characters that WeChat eats -------------------------------------------------------------- */

static void widens_angle_brackets_outside_code(void **state)
{
	(void)state;
	native("当CPU使用率<80%时属于**正常范围**", "当CPU使用率＜80%时属于**正常范围**");
	native("a > b -> c", "a ＞ b -＞ c");
	native("Vec<T> 和 `Vec<T>`", "Vec＜T＞ 和 `Vec<T>`");
	native("填写 <your_name> 与 <your_id>", "填写 ＜your＿name＞ 与 ＜your＿id＞");
	native("## a < b", "## a ＜ b");
	native("| a<b |\n|---|\n| 1 |", "| a＜b |\n| --- |\n| 1 |");
}

static void widens_underscores_that_would_pair(void **state)
{
	(void)state;
	native("my_file_name.txt", "my＿file＿name.txt");
	native("a_b 和 c_d", "a＿b 和 c＿d");
	native("a_b\nc_d", "a＿b\nc＿d");
	native("a_b\n\nc_d", "a_b\n\nc_d");
	native("`a_b` and c_d", "`a_b` and c_d");
	native("__init__.py", "＿＿init＿＿.py");
	native("\\_a\\_", "＿a＿");
	native("# my_file_name", "# my＿file＿name");
	native("- my_file_name\n- x_y", "- my＿file＿name\n- x_y");
}

static void widens_tildes_and_asterisks_that_would_pair(void **state)
{
	(void)state;
	native("3~5天，10~20个", "3～5天，10～20个");
	native("~/a 与 ~/b", "～/a 与 ～/b");
	native("~~旧~~ 3~5", "~~旧~~ 3~5");
	native("\\~\\~不删\\~\\~", "～～不删～～");
	native("2*3*4=24", "2＊3＊4=24");
	native("x**2 + y**2", "x＊＊2 + y＊＊2");
	native("\\*\\*不是粗体\\*\\*", "＊＊不是粗体＊＊");
	native("src/**/*.ts 与 *.js", "src/＊＊/＊.ts 与 ＊.js");
}

static void decodes_entities(void **state)
{
	(void)state;
	native("a &amp; b &copy; &#20320;", "a & b © 你");
	native("&lt;div&gt;", "＜div＞");
	native("`&amp;`", "`&amp;`");
	native("```\n&lt;\n```", "```\n&lt;\n```");
}

/* A face, a mark that is spoken of: what stands amid the same punctuation marks nothing. */
static void marks_amid_punctuation_are_seen(void **state)
{
	(void)state;
	native("(>_<) (^_^)", "(＞＿＜) (^＿^)");
	plain("(>_<) (^_^) -_- (；´_ゝ｀)", "(>_<) (^_^) -_- (；´_ゝ｀)");
	plain("价格(*)与数量(*)，\"*\"和\"*\"，“_”与“_”",
		"价格(*)与数量(*)，\"*\"和\"*\"，“_”与“_”");
	plain("-*- coding: utf-8 -*-", "-*- coding: utf-8 -*-");
	native("（**甲**）“**乙**”\"*x*\"", "（**甲**）“**乙**”\"*x*\"");
	native("(see **f(x)**) *[1]*]", "(see **f(x)**) *[1]*]");
	plain("(see **f(x)**) (_f(x)_)，“**注意！**”！", "(see f(x)) (f(x))，“注意！”！");
	plain("(・_・) (・_・)", "(・_・) (・_・)");
	native("`a`**`b`**，\"甲\"**\"乙\"**", "`a`**`b`**，\"甲\"**\"乙\"**");
	native("`*`、`a`和\"*\"，2*3*4", "`*`、`a`和\"＊\"，2＊3＊4");
}

static void widens_backticks_that_would_pair(void **state)
{
	(void)state;
	native("\\`原样\\`", "｀原样｀");
	native("\\`x `code`", "｀x `code`");
	native("\\`\\`\\`js\nx", "｀``js\nx");
	native("用 ``` 包住", "用 ``` 包住");
	plain("\\`\\`\\`js\nx", "```js\nx");
}

static void text_does_not_become_a_heading(void **state)
{
	(void)state;
	native("\\#\\# 不是标题", "＃# 不是标题");
	native("- 一\n====\n- 二", "- 一\n\n  ====\n- 二");
	native("> 引\n===", "> 引\n>\n> ===");
	native("a == b\n== c", "a == b\n== c");
}

static void drops_backslashes_of_escapes(void **state)
{
	(void)state;
	native("1\\. 不是列表", "1. 不是列表");
	native("\\# 不是标题", "＃ 不是标题");
	both("\\https://x.com/a_b_c", "\\https://x.com/a_b_c");
	native("a\\\nb", "a\nb");
	native("C:\\dir\\file", "C:\\dir\\file");
	native("`\\*`", "`\\*`");
}

/* --- Inline ----------------------------------------------------------------------------------- */

static void closes_bold_next_to_chinese_punctuation(void **state)
{
	(void)state;
	native("**注意：**请先备份", "**注意：** 请先备份");
	native("他说**“好”**就走了", "他说 **“好”** 就走了");
	native("**注意**：请", "**注意**：请");
	native("用**`make`**编译", "用 **`make`** 编译");
}

static void unslants_chinese(void **state)
{
	(void)state;
	native("*强调* 与 *emphasis* 与 _both_", "强调 与 *emphasis* 与 *both*");
}

static void picks_a_longer_run_for_code_with_backticks(void **state)
{
	(void)state;
	native("`` a`b ``", "``a`b``");
	native("`` `a` ``", "`` `a` ``");
}

static void turns_html_into_what_it_meant(void **state)
{
	(void)state;
	native("一<br>二<br/>三", "一\n二\n三");
	native("10<sup>6</sup> H<sub>2</sub>O", "10^6 H2O");
	native("<b>粗</b><!-- 注释 -->字", "粗字");
	native("<a href=\"https://x.com/a_b\">链接</a>", "[链接](https://x.com/a_b)");
	native("<img src=\"https://x.com/i.png\" alt=\"图\">", "[图](https://x.com/i.png)");
	native("<details>\n<summary>更多</summary>\n\n内容\n\n</details>", "更多\n\n内容");
	native("<div align=\"center\">\n居中 &amp; 好\n</div>", "居中 & 好");
	native("<config>\n  <a>1</a>\n</config>", "＜config＞\n＜a＞1＜/a＞\n＜/config＞");
}

/* "the tag <p>": text about HTML is not HTML. */
static void shows_tags_that_are_spoken_of(void **state)
{
	(void)state;
	plain("标签如 <div>、<span> 与 <img> 用于布局", "标签如 <div>、<span> 与 <img> 用于布局");
	native("- <p>：段落\n- <div> 容器\n- <b>粗</b>", "- ＜p＞：段落\n- ＜div＞ 容器\n- 粗");
	native("| 标签 | 义 |\n|---|---|\n| <p> | 段落 |",
		"| 标签 | 义 |\n| --- | --- |\n| ＜p＞ | 段落 |");
	native("<details><summary>更多</summary>\n\n内容\n\n</details>", "更多\n\n内容");
	native("<p align=\"center\">居中\n\n后</p>", "居中\n\n后");
	plain("<code>a_b_c</code> 与 <code>d</code>", "a_b_c 与 d");
}

static void html_breaks_leave_one_blank_line(void **state)
{
	(void)state;
	native("一<br><br><br>二<ul><li>三</li><li>四</li></ul>", "一\n\n二\n\n三\n\n四");
}

static void removes_markers_that_hosts_leave_behind(void **state)
{
	(void)state;
	native("行。<bubble/>你先点", "行。\n你先点");
	native("答案。</event>", "答案。");
}

/* --- Links ------------------------------------------------------------------------------------ */

static void keeps_urls_whole(void **state)
{
	(void)state;
	both("https://example.com/a_b_c/d_e(f)?x=1&y=2",
		"https://example.com/a_b_c/d_e(f)?x=1&y=2");
	both("见 https://example.com/路径/文件_名_.html。后面",
		"见 https://example.com/路径/文件_名_.html。后面");
	both("https://x.com/*a*/b~~c~~d", "https://x.com/*a*/b~~c~~d");
	both("https://x.com/a[1]`", "https://x.com/a[1]`");
	both("（https://x.com/a）", "（https://x.com/a）");
	both("(https://x.com/a_b_)", "(https://x.com/a_b_)");
	both("https://x.com/?a=1&copy=2&amp;b=3", "https://x.com/?a=1&copy=2&b=3");
	both("http://[::1]:80/a_b_c", "http://[::1]:80/a_b_c");
	both("<https://x.com/a_b_c*d*>", "https://x.com/a_b_c*d*");
	both("www.example.com/a_b_c", "www.example.com/a_b_c");
	native("**https://x.com/a_b_c**", "**https://x.com/a_b_c**");
	native("[a](https://x.com/a_b_(c)_d \"title\")", "[a](https://x.com/a_b_(c)_d)");
	native("[a](https://x.com/a\\_b)", "[a](https://x.com/a_b)");
	native("[a](<https://x.com/a b>)", "[a](https://x.com/a%20b)");
	native("https://x.com/a_b a_b a_b", "https://x.com/a_b a＿b a＿b");
	native("`https://x.com/a_b`", "`https://x.com/a_b`");
	native("```\nhttps://x.com/a_b&amp;*c*\n```", "```\nhttps://x.com/a_b&amp;*c*\n```");
}

static void keeps_links_and_drops_what_cannot_be_opened(void **state)
{
	(void)state;
	native("[https://x.com](https://x.com)", "https://x.com");
	native("[](https://x.com)", "https://x.com");
	native("[文档][1]\n\n[1]: https://x.com/a_b", "[文档](https://x.com/a_b)");
	native("[a_b_c](https://x.com)", "[a＿b＿c](https://x.com)");
	native("[a \\[b\\]](https://x.com)", "[a ［b］](https://x.com)");
	native("<me@x.com> [邮件](mailto:me@x.com)", "me@x.com 邮件 (`mailto:me@x.com`)");
	native("[文件](./a_b_c.md)", "文件 (`./a_b_c.md`)");
	native("[点我](javascript:alert(1))", "点我");
	native("[下文](#section) [a](#) [b](c)", "下文 a b (`c`)");
	native("脚注[^1]\n\n[^1]: 注释", "脚注[^1]\n\n[^1]: 注释");
}

static void never_drops_an_image(void **state)
{
	(void)state;
	native("![架构图](https://x.com/a_b.png)", "[架构图](https://x.com/a_b.png)");
	native("![](https://x.com/a.png)", "https://x.com/a.png");
	native("![图](./out/my_chart_1.png)", "图 (`./out/my_chart_1.png`)");
	native("![图](data:image/png;base64,AAAA)", "图");
	native("[![徽章](https://x.com/b.svg)](https://x.com)", "[徽章](https://x.com)");
	plain("![架构图](https://x.com/a.png)", "架构图 (https://x.com/a.png)");
	plain("![](https://x.com/a.png)", "https://x.com/a.png");
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static void sets_deep_headings_one_level_deep(void **state)
{
	(void)state;
	native("#### 四\n\n##### 五\n\n###### 六 ######", "#### 四\n\n#### 五\n\n#### 六");
	native("标题\n===\n\n小标题\n---", "# 标题\n\n## 小标题");
}

static void sees_a_rule_where_one_was_meant(void **state)
{
	(void)state;
	native("第一句。\n---\n下一段", "第一句。\n\n---\n\n下一段");
	native("一\n二\n---", "一\n二\n\n---");
}

static void draws_task_boxes(void **state)
{
	(void)state;
	native("- [ ] 待办\n- [x] 完成\n- [X] 也完成\n- [y] 不是",
		"- ☐ 待办\n- ☑ 完成\n- ☑ 也完成\n- [y] 不是");
	native("1. [ ] 一", "1. ☐ 一");
}

static void fences_every_kind_of_code(void **state)
{
	(void)state;
	native("~~~sh\na\n~~~", "```sh\na\n```");
	native("~~~\n```\n~~~", "````\n```\n````");
	native("    indented_code_x\n", "```\nindented_code_x\n```");
	native("```js\nunclosed", "```js\nunclosed\n```");
	native("```\n```", "");
	native("``` c++ title=\"x\"\na\n```", "```c++ title=\"x\"\na\n```");
	native("~~~a&#10;b\nx\n~~~", "```a\nx\n```");
}

static void keeps_the_outer_fence(void **state)
{
	(void)state;
	native("````\n```js\nlet a;\n```\n````\n\n后", "````\n```js\nlet a;\n```\n````\n\n后");
}

/* --- Tables ----------------------------------------------------------------------------------- */

static void keeps_tables_that_fit(void **state)
{
	(void)state;
	native("名称|价格\n-|-\n苹果|5", "| 名称 | 价格 |\n| --- | --- |\n| 苹果 | 5 |");
	native("前文\n| a | b |\n|---|---|\n| 1 | 2 |\n后文",
		"前文\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n后文");
	native("| a | b |\n|---|---|\n| **x** | `y_z_w` |",
		"| a | b |\n| --- | --- |\n| **x** | `y_z_w` |");
	native("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |",
		"**a / b**\n\n- **1**\n- **1**：2 | 3");
	native("| a | b |\n|---|---|\n| 1 | 2 |\n| c | d |\n|---|---|\n| 3 | 4 |",
		"| a | b |\n| --- | --- |\n| 1 | 2 |\n\n| c | d |\n| --- | --- |\n| 3 | 4 |");
	native("> | a | b |\n> |---|---|\n> | 1 | 2 |",
		"> | a | b |\n> | --- | --- |\n> | 1 | 2 |");
	native("- 表\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |",
		"- 表\n\n  | a | b |\n  | --- | --- |\n  | 1 | 2 |");
	native("| a | b |\n|---|---|\n| 一<br>二 | x |",
		"| a | b |\n| --- | --- |\n| 一 / 二 | x |");
	native("| [文档][1] |\n|---|\n| 1 |\n\n[1]: https://x.com",
		"| [文档](https://x.com) |\n| --- |\n| 1 |");
}

static void makes_wide_tables_a_list(void **state)
{
	(void)state;
	native("| 参数 | 说明 |\n|---|---|\n"
	       "| `host` | 服务器的主机名或者地址，默认只监听本机的回环地址 |\n"
	       "| **port** | 端口 |",
		"**参数 / 说明**\n\n"
		"- **`host`**：服务器的主机名或者地址，默认只监听本机的回环地址\n"
		"- **port**：端口");
	native("| 型号 | 价格 | 特点 |\n|---|--:|---|\n"
	       "| A | 5999 | 屏幕很好，续航也不错，拍照很清楚呢 |\n"
	       "| B | | 便宜 |",
		"- 型号：A  \n  价格：5999  \n  特点：屏幕很好，续航也不错，拍照很清楚呢\n"
		"- 型号：B  \n  特点：便宜");
}

static void a_table_fits_up_to_44_cells(void **state)
{
	struct str out;

	(void)state;
	/* 2 cells between the columns: 20 + 2 + 22 = 44, then 45. */
	native("| 一二三四五六七八九十 | 一二三四五六七八九十一 |\n|---|---|\n| a | b |",
		"| 一二三四五六七八九十 | 一二三四五六七八九十一 |\n| --- | --- |\n| a | b |");
	native("| 一二三四五六七八九十 | 一二三四五六七八九十一x |\n|---|---|\n| a | b |",
		"**一二三四五六七八九十 / 一二三四五六七八九十一x**\n\n- **a**：b");
	out = formatted(VIEW("| a | b |\n|---|---|\n| c | d |"), FORMAT_NATIVE, 3);
	assert_string_equal(str_cstr(&out), "**a / b**\n\n- **c**：d");
	str_release(&out);
}

static void a_pipe_in_a_cell_survives(void **state)
{
	(void)state;
	native("| 命令 | 义 |\n|---|---|\n| `a \\| b` | 管道 |",
		"**命令 / 义**\n\n- **`a | b`**：管道");
	native("| 命令 | 义 |\n|---|---|\n| `a | b` | 管道 |",
		"**命令 / 义**\n\n- **`a | b`**：管道");
	native("| 或 | 义 |\n|---|---|\n| a \\|\\| b | 逻辑或 |",
		"**或 / 义**\n\n- **a || b**：逻辑或");
}

static void pipes_in_prose_are_no_table(void **state)
{
	(void)state;
	both("选择 a | b | c 之一", "选择 a | b | c 之一");
	both("a | b\nc | d", "a | b\nc | d");
	both("a | b\n--- | --- | ---", "a | b\n--- | --- | ---");
}

static void more_columns_or_cells_than_the_cap_are_text(void **state)
{
	struct str in = STR_INIT(1 << 20), out;

	(void)state;
	for (int row = 0; row < 2; row++) {
		for (int i = 0; i < 33; i++)
			str_adds(&in, row == 0 ? "|a" : "|-");
		str_adds(&in, "|\n");
	}
	out = formatted(str_view(&in), FORMAT_NATIVE, 0);
	assert_true(view_starts(str_view(&out), VIEW("|a|a")));
	str_release(&out);
	str_release(&in);
}

/* --- Formulas --------------------------------------------------------------------------------- */

static void formulas_stay_readable(void **state)
{
	(void)state;
	plain("$x_1 * y_2 * z$", "$x_1 * y_2 * z$");
	plain("$$\na_1 \\\\\n= b_{2}\n- c\n$$", "$$\na_1 \\\\\n= b_{2}\n- c\n$$");
	plain("\\(a_b * c\\) 与 \\[x^2\\]", "\\(a_b * c\\) 与 \\[x^2\\]");
	plain("\\begin{align}\na &= b \\\\\n\\end{align}",
		"\\begin{align}\na &= b \\\\\n\\end{align}");
	native("$x^2$ 与 $y_1$", "$x^2$ 与 $y_1$");
	native("$a_1 + a_2$", "$a＿1 + a＿2$");
	native("**$5** 与 **$6**", "**$5** 与 **$6**");
	both("$5 与 $6，$HOME/$PATH，$(date)", "$5 与 $6，$HOME/$PATH，$(date)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_good_markdown_alone),
		cmocka_unit_test(keeps_the_blank_lines_of_code),
		cmocka_unit_test(keeps_the_blank_lines_of_lists),
		cmocka_unit_test(gives_one_blank_line_between_blocks),
		cmocka_unit_test(widens_angle_brackets_outside_code),
		cmocka_unit_test(widens_underscores_that_would_pair),
		cmocka_unit_test(widens_tildes_and_asterisks_that_would_pair),
		cmocka_unit_test(marks_amid_punctuation_are_seen),
		cmocka_unit_test(widens_backticks_that_would_pair),
		cmocka_unit_test(text_does_not_become_a_heading),
		cmocka_unit_test(decodes_entities),
		cmocka_unit_test(drops_backslashes_of_escapes),
		cmocka_unit_test(closes_bold_next_to_chinese_punctuation),
		cmocka_unit_test(unslants_chinese),
		cmocka_unit_test(picks_a_longer_run_for_code_with_backticks),
		cmocka_unit_test(turns_html_into_what_it_meant),
		cmocka_unit_test(shows_tags_that_are_spoken_of),
		cmocka_unit_test(html_breaks_leave_one_blank_line),
		cmocka_unit_test(removes_markers_that_hosts_leave_behind),
		cmocka_unit_test(keeps_urls_whole),
		cmocka_unit_test(keeps_links_and_drops_what_cannot_be_opened),
		cmocka_unit_test(never_drops_an_image),
		cmocka_unit_test(sets_deep_headings_one_level_deep),
		cmocka_unit_test(sees_a_rule_where_one_was_meant),
		cmocka_unit_test(draws_task_boxes),
		cmocka_unit_test(fences_every_kind_of_code),
		cmocka_unit_test(keeps_the_outer_fence),
		cmocka_unit_test(keeps_tables_that_fit),
		cmocka_unit_test(makes_wide_tables_a_list),
		cmocka_unit_test(a_table_fits_up_to_44_cells),
		cmocka_unit_test(a_pipe_in_a_cell_survives),
		cmocka_unit_test(pipes_in_prose_are_no_table),
		cmocka_unit_test(more_columns_or_cells_than_the_cap_are_text),
		cmocka_unit_test(formulas_stay_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
