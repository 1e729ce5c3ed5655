"""Text on its way from the model to the phone: what WeChat renders, what it would eat, and where it is cut.

Every document goes the whole way: streamed by the model, formatted, cut, stored, sent. Each has a reader of its own,
so that none waits for the spacing between the parts of another."""

import re
import unicodedata

from harness import Case, main, wait_for

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # one cluster of five code points
FLAG = "\U0001f1e8\U0001f1f3"
ACCENT = "e\u0301\u0302"
FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")


def columns(text):
    """Cells of a terminal font; what is ambiguous counts as narrow."""
    text = text.replace(FAMILY, "汉").replace(FLAG, "汉")
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fences(text):
    """(lines outside any fence and lines of code, what is still open at the end), by CommonMark's rules."""
    fence, outside, code = "", [], []
    for line in text.split("\n"):
        m = FENCE.fullmatch(line)
        if not fence and m and not (m[1][0] == "`" and "`" in m[2]):
            fence = m[1]
        elif fence and m and m[1][0] == fence[0] and len(m[1]) >= len(fence) and not m[2].strip():
            fence = ""
        else:
            (code if fence else outside).append(line)
    return outside, code, fence


class Text(Case):
    mode = "native"

    def answers(self, *docs, limit=1800, **step):
        """What the phone shows of each document: a list of parts for each."""
        readers = ["reader%d@im.wechat" % n for n in range(len(docs))]
        self.kairo.config(render_mode=self.mode, text_limit=limit, allowed_users=readers)
        self.kairo.start()
        self.sim.script(*(dict(step, text=doc) for doc in docs))
        for reader in readers:
            self.sim.inject("say it", **{"from": reader})
        wait_for(lambda: self.kairo.status()["handled"] == len(docs), "all to be answered")
        self.kairo.idle()
        shown = [self.sim.texts(to=reader) for reader in readers]
        for parts, doc in zip(shown, docs):
            self.assertTrue(parts, doc)
            for part in parts:
                outside, code, fence = fences(part)
                self.assertLessEqual(len(part), limit)
                self.assertTrue("".join(outside + code).strip(), "nothing to read in one of %r" % parts)
                self.assertEqual(fence, "", "left open: %r" % part)
        return shown

    def code(self, parts):
        return "\n".join(line for part in parts for line in fences(part)[1])


class Cuts(Text):
    def test_no_character_is_torn(self):
        clusters = (FAMILY, FLAG, ACCENT)
        docs = ["a" * n + "汉" * 4001 for n in range(3)] + [c * 1000 for c in clusters]
        shown = self.answers(*docs)
        for doc, parts in zip(docs, shown):
            self.assertEqual("".join(parts), doc)
            self.assertGreater(len(parts), 1)
        for cluster, parts in zip(clusters, shown[3:]):
            for part in parts:
                self.assertEqual(part.replace(cluster, ""), "")

    def test_a_block_that_ends_at_the_edge(self):
        limit = 200
        code = [("x" * 39 + "\n") * 3 + "y" * n for n in range(59, 81)]  # 187 to 208 characters with the fences
        docs = ["```\n%s\n```" % c for c in code]
        self.assertEqual((min(map(len, docs)), max(map(len, docs))), (limit - 13, limit + 8))
        for doc, want, parts in zip(docs, code, self.answers(*docs, limit=limit)):
            self.assertEqual(self.code(parts), want)
            if len(doc) <= limit:
                self.assertEqual(parts, [doc])

    def test_a_block_behind_text_that_ends_at_the_edge(self):
        limit = 200
        text = "汉" * 100
        code = ["z" * n for n in range(82, 99)]
        docs = ["%s\n\n```\n%s\n```" % (text, c) for c in code]
        self.assertEqual((min(map(len, docs)), max(map(len, docs))), (limit - 8, limit + 8))
        for doc, want, parts in zip(docs, code, self.answers(*docs, limit=limit)):
            self.assertEqual(self.code(parts), want)
            if len(doc) <= limit:
                self.assertEqual(parts, [doc])

    def test_a_fence_holds_what_is_no_end_of_it(self):
        lines = "".join("line %d of the program\n" % n for n in range(12))
        docs = ["````markdown\n%s```c\n%s```\n%s````\n\nThe end." % (lines, lines, lines),
                "~~~\n%s```\n%s~~~\n\nThe end." % (lines, lines),
                "```\n%s~~~\n%s````\n\nThe end." % (lines, lines)]
        inner = [lines + "```c\n" + lines + "```\n" + lines, lines + "```\n" + lines, lines + "~~~\n" + lines]
        for want, parts in zip(inner, self.answers(*docs, limit=300)):
            self.assertGreater(len(parts), 2)
            self.assertEqual(self.code(parts), want.rstrip("\n"))
            self.assertIn("The end.", fences(parts[-1])[0])

    def test_links_are_never_cut(self):
        urls = ["https://example.com/a_b_c/d__e", "https://en.wikipedia.org/wiki/C_(programming_language)",
                "https://example.com/?a=1&b=2&copy=3#x_y", "https://example.com/路径/文_件",
                "https://example.com/" + "long_" * 20 + "end"]
        docs = ["字" * n + form % url for url in urls for form in (" %s", " [文档](%s)") for n in (150, 190)]
        for doc, parts in zip(docs, self.answers(*docs, limit=200)):
            url = next(u for u in urls if u in doc)
            lines = [line for part in parts for line in part.split("\n") if url in line]
            self.assertEqual(len(lines), 1, (url, parts))

    def test_a_table_is_cut_between_its_rows(self):
        rows = ["| %02d | %s |" % (n, "值" * 15) for n in range(34)]
        parts = self.answers("\n".join(["| 号 | 名称 |", "|---|---|", *rows]), limit=200)[0]
        self.assertGreater(len(parts), 3)
        for n in range(34):
            found = [line for part in parts for line in part.split("\n") if re.search(r"\b%02d\b" % n, line)]
            self.assertEqual(len(found), 1, n)
            self.assertIn("值" * 15, found[0])


class Native(Text):
    def test_what_the_phone_would_eat_is_widened_outside_code(self):
        doc = "当<80%时 see my_file_name.py, 3~5天，10~20个\n\n`my_file_name <x>`\n\n```\na_b_c < d ~ e\n```"
        self.assertEqual(self.answers(doc), [[
            "当＜80%时 see my＿file＿name.py, 3～5天，10～20个\n\n`my_file_name <x>`\n\n```\na_b_c < d ~ e\n```"]])

    def test_prose_with_pipes_is_no_table_and_images_become_links(self):
        docs = ["Choose a | b | c here.", "run `ls | wc` | or not", "![图](https://example.com/p.png)", "![](a.png)"]
        prose, code, image, bare = self.answers(*docs)
        self.assertEqual((prose, code), ([docs[0]], [docs[1]]))
        self.assertEqual(image, ["[图](https://example.com/p.png)"])
        self.assertIn("a.png", "".join(bare))

    def test_a_wide_table_becomes_a_list(self):
        rows = ["| 城市%d | %s | ①→… |" % (n, "天气很好出门走走吧" * 3) for n in range(34)]
        parts = self.answers("\n".join(["| 城市 | 天气 | 记号 |", "|:--|---|--:|", *rows]))[0]
        text = "".join(parts)
        for n in range(34):
            self.assertIn("- 城市：城市%d  \n  天气：%s  \n  记号：①→…" % (n, "天气很好出门走走吧" * 3), text)
        self.assertNotIn("|", "".join(parts))


class Plain(Text):
    mode = "plain"

    def test_no_mark_is_left(self):
        doc = ("# 标题\n\n**粗** *斜* ~~删~~ `code_x` [文档](https://example.com/a_b)\n\n"
               "- [x] 完成\n  - 子项\n\n> 引用\n\n---\n\n```c\nint a_b;\n```\n\n![图](https://example.com/p.png)")
        text = "".join(self.answers(doc)[0])
        self.assertEqual([c for c in "#*`~[" if c in text], [])
        for word in ("标题", "粗 斜 删 code_x 文档 (https://example.com/a_b)", "☑ 完成", "◦ 子项", "│ 引用",
                     "    int a_b;", "https://example.com/p.png"):
            self.assertIn(word, text)

    def test_links_are_never_cut(self):
        urls = ["https://en.wikipedia.org/wiki/C_(programming_language)", "https://example.com/路径/文_件"]
        docs = ["字" * n + form % url for url in urls for form in (" %s", " [文档](%s)") for n in (150, 190)]
        for doc, parts in zip(docs, self.answers(*docs, limit=200)):
            url = next(u for u in urls if u in doc)
            lines = [line for part in parts for line in part.split("\n") if url in line]
            self.assertEqual(len(lines), 1, (url, parts))

    def test_tables_align_or_become_records(self):
        cells = ["苹果", "a", FAMILY, FLAG + "x", "ｆｕｌｌ", "é" + ACCENT]
        narrow = ["| %s | %d |" % (cells[n % len(cells)], n) for n in range(34)]
        wide = ["| 第%d行 | %s |" % (n, "很长的内容" * 6) for n in range(34)]
        first, second = self.answers("\n".join(["| 名称 | 数 |", "|---|---|", *narrow]),
                                     "\n".join(["| 名称 | 说明 |", "|---|---|", *wide]))
        lines = "".join(first).split("\n")
        starts = {columns(re.match(r"(.*\S) +\d+$", line)[0][:-len(line.split()[-1])])
                  for line in lines[2:] if line.strip()}
        self.assertEqual(len(starts), 1, lines)
        self.assertEqual(len(lines), 36)
        text = "".join(second)
        for n in range(34):
            self.assertIn("第%d行：%s" % (n, "很长的内容" * 6), text)
        for part in first + second:
            self.assertNotIn("|", part)


class Hidden(Text):
    """What is not for the phone at all."""

    codes = ["\x1b[31mred\x1b[0m", "\x1b[38;2;1;2;3mdeep\x1b[m", "\x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x07",
             "\x1b]0;title\x07shown", "\x1bPq#0;dcs\x1b\\shown", "bell\x07 back\x08space \x9b32mC1", "rtl\u202eevil",
             "shown \x1b[3"]

    def test_terminal_codes_leave_no_trace_however_they_arrive(self):
        want = ["red", "deep", "link", "shown", "shown", "bell backspace C1", "rtlevil", "shown"]
        for chunk in (0, 1):
            with self.subTest(chunk=chunk):
                self.assertEqual([p[0].rstrip() for p in self.answers(*self.codes, chunk=chunk)], want)
                self.kairo.stop()
                self.sim.call("POST", "forget")

    def test_reasoning_is_not_shown(self):
        thought = "Let me think about <b>this</b> again. " * 130  # 5,000 characters
        docs = ["<think>%s</think>\n\nThe answer." % thought, "%s\n</think>\n\nThe answer." % thought,
                "<THINKING>\n%s\n</THINKING>The answer.<thought>one more" % thought,
                "The answer.\n\n```\n<think>code</think>\n```"]
        shown = self.answers(*docs, chunk=7)
        self.assertEqual(shown[:3], [["The answer."]] * 3)
        self.assertIn("<think>code</think>", shown[3][0])

    def test_an_answer_of_reasoning_alone_is_said_to_be_empty(self):
        parts = self.answers("<think>" + "hm " * 2000)[0]
        self.assertEqual(len(parts), 1)
        self.assertIn("empty answer", parts[0])


if __name__ == "__main__":
    main()
