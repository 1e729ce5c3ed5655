"""What the phone quotes reaches the agent as a quote: from older phones, which send the text along, and
from newer ones, which send no more than an id and the ends of what was marked."""

import json
import os
import re
import sqlite3

import samples
from harness import Case, main

GUEST = "guest@im.wechat"
LOST = "[quoted message: (its text is not at hand; ask for it if you need it)]"
WEATHER = "早上好，今天天气不错。早上好，明天也不错。"


class Quotes(Case):
    def setUp(self):
        super().setUp()
        self.sim.set(answer_shape=2)
        self.kairo.config(language="en", allowed_users=json.dumps([GUEST]))
        self.kairo.start()

    def prompt(self):
        """What the model was asked last, as the user's words."""
        return self.sim.model_requests()[-1]["body"]["messages"][-1]["content"]

    def say(self, text, answer, **more):
        """From the phone; the ids of that message and of the answer's first part."""
        self.sim.script({"text": answer})
        before = len(self.sim.sent())
        message = self.sim.inject(text, **more)[0]
        self.sim.wait("sent", before + 1)
        self.kairo.idle()
        return message["id"], self.sim.sent()[before]["message_id"]

    def asked(self, of, **quote):
        """The prompt of a message that quotes `of`."""
        more = {"from": quote.pop("by")} if "by" in quote else {}
        self.say("what of it?", "I see", quote=dict(quote, of=of), **more)
        return self.prompt()

    def test_what_either_side_said(self):
        mine, its = self.say("the first word", "the first answer")
        for style in ("svr_id", "msg_id", "inline"):
            with self.subTest(style=style):
                self.assertEqual(self.asked(mine, style=style), "[quoted message: the first word]\nwhat of it?")
                self.assertEqual(self.asked(its, style=style),
                                 "[quoted message: the first answer]\nwhat of it?")

    def test_what_came_along_beats_what_was_kept(self):
        mine, _ = self.say("the first word", "ok")
        self.assertEqual(self.asked(mine, style="inline", text="as the phone has it"),
                         "[quoted message: as the phone has it]\nwhat of it?")

    def test_each_part_of_a_long_answer(self):
        self.kairo.config(text_limit="40")
        self.kairo.run("restart")
        self.sim.script({"text": "alpha " * 6 + "\n\n" + "omega " * 6})
        before = len(self.sim.sent())
        self.sim.inject("go")
        self.sim.wait("sent", before + 2)
        self.kairo.idle()
        parts = self.sim.sent()[before:]
        self.assertEqual(len(parts), 2)
        self.assertIn("alpha", self.asked(parts[0]["message_id"]))
        self.assertIn("omega", self.asked(parts[1]["message_id"]))

    def test_over_a_restart_and_a_kill(self):
        mine, its = self.say("the first word", "the first answer")
        self.kairo.run("restart")
        self.assertIn("the first word", self.asked(mine))
        self.kairo.kill()
        self.kairo.start()
        self.assertIn("the first answer", self.asked(its))

    def test_a_part_of_it(self):
        mine, its = self.say(WEATHER, "one two three two four")
        for index in ("global", "relative"):
            for style in ("svr_id", "inline"):
                for md5 in (True, False):
                    with self.subTest(index=index, style=style, md5=md5):
                        self.assertEqual(
                            self.asked(mine, style=style, part="明天也不错", index=index, md5=md5),
                            "[quoted message: 明天也不错]\nwhat of it?")
        self.assertIn("[quoted message: two four]", self.asked(its, part="two four"))

    def test_marks_that_lead_nowhere_quote_all(self):
        mine, _ = self.say("one two", "ok")
        for partial in ({"start": "x", "end": "y", "startindex": 0, "endindex": 0, "quotemd5": ""},
                        {"start": "one", "end": "two", "startindex": 9223372036854775807, "endindex": -1},
                        {"start": ["one"]}, "one", None):
            with self.subTest(partial=partial):
                self.assertEqual(self.asked(mine, partial=partial), "[quoted message: one two]\nwhat of it?")

    def test_what_is_not_known(self):
        for of in ("12345678901234567890", "1"):
            self.assertEqual(self.asked(of), LOST + "\nwhat of it?")
        # In Chinese for whoever writes Chinese.
        self.kairo.config(language="auto")
        self.kairo.run("restart")
        self.say("这是什么？", "不知道", quote={"of": "2"})
        self.assertTrue(self.prompt().startswith("[引用的消息：（原文已查不到"), self.prompt())

    def test_what_the_server_gave_no_id_for(self):
        self.sim.set(answer_shape=3)
        _, its = self.say("hello", "taken without a receipt")
        self.assertEqual(self.asked(its), LOST + "\nwhat of it?")

    def test_what_is_past_its_time(self):
        mine, _ = self.say("the first word", "ok")
        self.kairo.stop()
        with sqlite3.connect(self.kairo.dir + "/state.db") as db:
            db.execute("DELETE FROM channel_said WHERE id = ?", (mine,))
        self.kairo.start()
        self.assertEqual(self.asked(mine), LOST + "\nwhat of it?")

    def bring(self, data, kind="image", **media):
        """Something that is no text, taken by the agent; its id."""
        self.sim.script({"text": "got it"})
        before = len(self.sim.sent())
        message = self.sim.inject_media(kind, data, **media)[0]
        self.sim.wait("sent", before + 1)
        self.kairo.idle()
        return message["id"]

    def test_a_picture_and_a_file(self):
        self.kairo.config(media__merge_ms=0)
        self.kairo.run("restart")
        for kind, data, media, word in (("image", samples.png(), {}, "picture"),
                                        ("file", b"hello\n", {"name": "report.txt"}, "report.txt")):
            mine = self.bring(data, kind, **media)
            for style in ("svr_id", "inline"):
                with self.subTest(kind + " " + style):
                    prompt = self.asked(mine, style=style)
                    if not isinstance(prompt, str):  # with the picture itself behind it
                        prompt = prompt[0]["text"]
                    self.assertIn("what of it?", prompt)
                    self.assertIn(word, prompt.replace(" (2)", ""))
                    self.assertIn("quoted", prompt)
                    self.assertNotIn("[quoted message", prompt)
                    path = re.search(r"(%s/[^\]]+)\]" % re.escape(self.kairo.dir), prompt)[1]
                    with open(path, "rb") as f:
                        self.assertEqual(f.read(), data)
                    self.assertNotIn("not at hand", prompt)

    def test_a_file_that_we_sent(self):
        with open(os.path.join(self.kairo.workspace, "plan.txt"), "w") as f:
            f.write("all of it")
        self.sim.script({"text": "Here it is.\n\n[send-file: plan.txt]"})
        before = len(self.sim.sent())
        self.sim.inject("send me the plan")
        self.sim.wait("sent", before + 2)
        self.kairo.idle()
        its = [d["message_id"] for d in self.sim.sent()[before:] if d.get("file")]
        self.assertEqual(len(its), 1)
        self.assertEqual(self.asked(its[0]),
                         "[quoted message: (the file that you sent: plan.txt)]\nwhat of it?")

    def test_nobody_is_shown_another_one_s_words(self):
        mine, its = self.say("the owner's secret", "as you wish")
        theirs, _ = self.say("a guest's word", "hello", **{"from": GUEST})
        self.assertEqual(self.asked(mine, by=GUEST), LOST + "\nwhat of it?")
        self.assertEqual(self.asked(its, by=GUEST), LOST + "\nwhat of it?")
        self.assertEqual(self.asked(theirs), LOST + "\nwhat of it?")
        self.assertIn("a guest's word", self.asked(theirs, by=GUEST))

    def test_a_quote_is_no_command_and_no_leave(self):
        """What is quoted is not the user's own word, nor is the name of a file: an address in it is asked about."""
        self.say("look at http://192.0.2.1/ one day", "ok")
        mine = self.kairo.db("SELECT id FROM channel_said WHERE text LIKE 'look at%'")[0][0]
        self.sim.script({"tool_calls": [{"name": "web_fetch", "arguments": {"url": "http://192.0.2.1/"}}]},
                        {"text": "done"})
        before = len(self.sim.sent())
        self.sim.quote("open it", mine)
        self.sim.wait("sent", before + 1)
        question = self.sim.texts()[before]
        self.assertIn("192.0.2.1", question)
        self.assertIn("1.", question)
        self.ask("/stop")
        self.kairo.idle()
        self.sim.script({"tool_calls": [{"name": "web_fetch", "arguments": {"url": "https://name.invalid/"}}]},
                        {"text": "done"})
        before = len(self.sim.sent())
        self.sim.inject_file(b"text", "name.invalid")
        self.sim.wait("sent", before + 1)
        self.assertIn("Your permission is needed", self.sim.texts()[before])
        self.assertIn("name.invalid", self.sim.model_requests()[-1]["body"]["messages"][-1]["content"])
        self.ask("/stop")
        self.kairo.idle()


if __name__ == "__main__":
    main()
