"""Messages that come twice, out of order, damaged, or of a kind that cannot be read: one task each, and nothing lost."""

from harness import Case, main, wait_for


class Messages(Case):
    """Messages that come twice, out of order, or damaged."""

    def setUp(self):
        super().setUp()
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()

    def prompts(self):
        return [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]

    def after(self, text="the end"):
        """Until a further message has been answered; all that came before has been decided on then."""
        self.sim.inject(text)
        wait_for(lambda: text in self.prompts(), "the message behind")

        def idle():
            s = self.kairo.status()
            return not (s["turn"] or s["queue"]["waiting"] or s["unsent"])
        wait_for(idle, "all to be answered")

    def test_a_message_that_comes_twice_is_one_task(self):
        for form in ("same", "other_token", "other_id", "no_id"):
            with self.subTest(form, when="in one answer"):
                self.sim.fault("getupdates", "dup", form=form)
                self.sim.inject("in one answer " + form)
                self.after("end " + form)
                self.assertEqual(self.prompts().count("in one answer " + form), 1)
            with self.subTest(form, when="in the next"):
                message = self.sim.inject("in the next " + form)[0]
                self.sim.wait("fetched", self.sim.counts()["inbound"])
                self.sim.inject(dup_of=message["id"], form=form)
                self.after("end of " + form)
                self.assertEqual(self.prompts().count("in the next " + form), 1)
        self.assertGreaterEqual(self.kairo.log().count("a duplicate, ignored"), 8)
        self.sim.fault("getupdates", "redeliver", bytes=10)
        self.after()
        self.assertEqual(len(self.prompts()), len(set(self.prompts())))

    def test_the_same_words_under_another_id_are_another_message(self):
        self.sim.inject("ok", count=2)
        self.after()
        self.assertEqual(self.prompts().count("ok"), 2)

    def test_a_nul_and_broken_bytes_lose_nothing_behind_them(self):
        for kind in ("nul_text", "bad_utf8"):
            with self.subTest(kind):
                self.sim.fault("getupdates", kind)
                self.sim.inject("behind %s 你好" % kind)
                text = wait_for(lambda: next((t for t in self.prompts() if t.endswith("behind %s 你好" % kind)), None),
                                "the text behind")
                self.assertNotIn("\x00", text)

    def test_a_text_at_and_over_the_limit(self):
        for size, word in ((1 << 20, "message is too big"), ((1 << 20) + 1, "could not be read"), (3 << 20, "ok")):
            with self.subTest(size):
                shown = len(self.sim.texts())
                fetched = self.sim.counts()["fetched"]
                self.sim.fault("getupdates", "big_text", bytes=size)
                self.sim.inject("x")
                self.sim.wait("fetched", fetched + 1)
                self.after("behind %d" % size)
                self.assertIn(word, self.sim.texts()[shown])

    def test_a_picture_and_its_question_in_either_order(self):
        for kind in (None, "reorder"):
            with self.subTest(kind):
                shown = len(self.sim.texts())
                if kind:
                    self.sim.fault("getupdates", kind)
                self.sim.inject(messages=[{"text": "what is this? %s" % kind},
                                          {"media": {"kind": "image", "size": 100}}])
                self.sim.wait("sent", shown + 1)
                self.after("behind %s" % kind)
                told = [p for p in self.prompts() if p.startswith("what is this? %s\n[attachment: picture " % kind)]
                self.assertEqual(len(told), 1, self.prompts())

    def test_a_voice_is_heard_by_its_transcript_or_honestly_not_at_all(self):
        self.sim.inject(media={"kind": "voice", "size": 100, "transcript": "turn on the light"})
        self.after()
        self.assertRegex(self.prompts()[0], r"^turn on the light\n\[attachment: voice voice, ")
        self.sim.inject(media={"kind": "voice", "size": 100})
        wait_for(lambda: any("cannot hear" in t for t in self.sim.texts()), "the word")
        self.assertEqual(len(self.prompts()), 2)

    def test_file_names_are_one_harmless_line(self):
        names = ["../../x", "..\\..\\x", "/etc/x", "", ".", "..", "名" * 300, "a\nb", "-rf", "x.", "a\u202etxt.exe",
                 "\x1b[31mred"]
        for n, name in enumerate(names):
            self.sim.inject(items=[{"type": 1, "text_item": {"text": "file %d" % n}},
                                   {"type": 4, "file_item": {"file_name": name, "len": "5"}}])
            wait_for(lambda: len(self.prompts()) == n + 1, "the task with file %d" % n)
        for n, text in enumerate(self.prompts()):
            lines = text.split("\n")
            self.assertEqual(lines[0], "file %d" % n)
            self.assertEqual(len(lines), 2, text)
            self.assertLess(len(lines[1]), 200)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\u202a-\u202e]")

    def test_malformed_messages_beside_good_ones(self):
        for n, body in enumerate((7, [], {"from_user_id": 5}, {"message_id": {}}, {"item_list": {}},
                                  {"from_user_id": "x" * 5000}, {"from_user_id": "a b"})):
            self.sim.fault("getupdates", "bad_message", body=body)
            self.sim.inject("good %d" % n)
            self.after("behind %d" % n)
            self.assertEqual(self.prompts().count("good %d" % n), 1)
        self.assertIn("malformed", self.kairo.log())

    def test_a_malformed_message_of_a_known_person_is_answered(self):
        owner = self.kairo.status()["account"]["user_id"]
        self.sim.inject(raw={"message_id": "77", "from_user_id": owner, "item_list": "x", "context_token": "t"})
        wait_for(lambda: any("could not be read" in t for t in self.sim.texts()), "the word")
        self.assertEqual(self.prompts(), [])
        self.violations_expected = True  # its token is nobody's

    def test_kinds_that_cannot_be_read(self):
        self.sim.inject(items=[{"type": 8}])
        wait_for(lambda: any("WeChat does not hand me" in t for t in self.sim.texts()), "the word")
        self.sim.inject("own echo", message_type=2)
        self.sim.inject("from a group", extra={"group_id": "g1@chatroom"})
        self.after()
        self.assertEqual(self.prompts(), ["the end"])


if __name__ == "__main__":
    main()
