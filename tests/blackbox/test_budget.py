"""Ten sends for each inbound message, for a day: what fits, what is parked, and how it comes back."""

from harness import Case, main, needs_hooks, stalled, wait_for

LONG = "\n\n".join("Paragraph %d. " % n + "All of this is said only once. " * 50 for n in range(1, 6))


def squeezed(text):
    return "".join(text.split())


class Budget(Case):
    brisk = True

    def setUp(self):
        super().setUp()
        self.kairo.start()

    def marked(self, texts):
        """The answer's own text: without the note that more follows, and what used the window up."""
        return squeezed("".join(t.replace("(more follows: send /more)", "") for t in texts
                                if not t.startswith("spent ")))

    def tell(self):
        """The long answer, which has one send left: not enough for its beginning and a file."""
        self.narrow(7, "tell me everything")
        wait_for(lambda: self.kairo.status()["parked"] or self.let_pass(), "parts to be parked")
        self.idle()

    def test_a_long_answer_is_cut_parked_and_given_by_more(self):
        self.sim.script({"text": LONG})
        self.tell()
        first = self.sim.texts()
        self.assertEqual(len(first), 8)
        self.assertIn("/more", first[-1])
        for text in first:
            self.assertLessEqual(len(text), 1800)
        self.sim.inject("/more")
        wait_for(lambda: not self.kairo.status()["parked"] or self.let_pass(), "nothing to be parked")
        self.idle()
        self.assertEqual(self.marked(self.sim.texts()), squeezed(LONG))
        refused = [d for d in self.sim.sent(all=1) if not d["accepted"]]
        self.assertEqual(refused, [], "nothing was ever sent into a closed window")

    def test_any_message_releases_what_is_parked(self):
        self.sim.script({"text": LONG}, {"text": "second answer"})
        self.tell()
        self.sim.inject("and now this")
        wait_for(lambda: "second answer" in self.sim.texts() or self.let_pass(), "the second answer")
        self.idle()
        texts = [t for t in self.sim.texts() if t != "second answer"]
        self.assertEqual(self.marked(texts), squeezed(LONG))

    def test_parked_parts_outlive_a_restart(self):
        self.sim.script({"text": LONG})
        self.tell()
        parked = self.kairo.status()["parked"]
        self.kairo.run("restart")
        self.assertEqual(self.kairo.status()["parked"], parked)
        self.sim.inject("/more")
        wait_for(lambda: not self.kairo.status()["parked"] or self.let_pass(), "nothing to be parked")
        self.idle()
        self.assertEqual(self.marked(self.sim.texts()), squeezed(LONG))

    @needs_hooks
    def test_after_a_day_nothing_is_sent_before_the_next_message(self):
        self.sim.script(stalled(), {"text": "fresh"})
        self.ask("/status")
        self.kairo.turn_clock(24 * 3600 * 1000)
        self.sim.clock(24 * 3600 * 1000)
        refusal = self.kairo.run("send", "are you there?", code=1).err
        self.assertIn("window", refusal)
        self.assertEqual(len(self.sim.texts()), 1)

    def test_the_first_refusal_parks_and_the_next_message_delivers(self):
        self.sim.script({"text": "the answer"}, {"text": "the next"})
        self.sim.fault("sendmessage", "ret", ret=-2, errmsg="prepare failed")
        self.sim.inject("question")
        wait_for(lambda: self.kairo.status()["parked"] == 1, "the part to be parked")
        self.idle()
        self.assertEqual(self.sim.texts(), [])
        self.assertEqual(len(self.sim.requests("sendmessage")), 1, "a refusal is not retried")
        self.sim.inject("hello?")
        wait_for(lambda: "the next" in self.sim.texts() or self.let_pass(), "the next answer")
        self.idle()
        self.assertIn("the answer", self.sim.texts())
        self.assertEqual(self.kairo.status()["parked"], 0)


class Sends(Case):
    """What a send may meet, and what becomes of the answer."""

    brisk = True

    def sent(self, n):
        wait_for(lambda: self.sim.counts()["sent"] >= n or self.let_pass(), "%d to be sent" % n)

    def setUp(self):
        super().setUp()
        self.sim.script({"text": "the answer"}, repeat=True)
        self.kairo.start()

    def answer(self):
        self.sim.inject("question")
        self.sent(1)
        self.idle()
        return self.sim.sent()

    def test_a_lost_acknowledgement_is_repeated_with_the_same_id(self):
        self.sim.fault("sendmessage", "drop", process=True)
        shown = self.answer()
        self.assertEqual([d["text"] for d in shown], ["the answer"])
        wait_for(lambda: self.sim.sent()[0]["attempts"] == 2 or self.let_pass(), "the second attempt")
        self.assertEqual(len({r["body"]["msg"]["client_id"] for r in self.sim.requests("sendmessage")}), 1)

    def test_a_broken_connection_is_tried_again(self):
        self.sim.fault("sendmessage", "reset")
        self.assertEqual([d["text"] for d in self.answer()], ["the answer"])

    def test_a_server_error_is_tried_again_three_times_in_all(self):
        self.sim.fault("sendmessage", "502", times=2)
        self.assertEqual([d["text"] for d in self.answer()], ["the answer"])
        self.assertEqual(len(self.sim.requests("sendmessage")), 3)

    def test_success_without_an_id_is_counted(self):
        self.sim.fault("sendmessage", "no_id")
        self.answer()
        self.assertEqual(self.kairo.status()["unconfirmed"], 1)

    def test_an_empty_answer_is_success_without_an_id(self):
        self.sim.fault("sendmessage", "empty")
        self.answer()
        wait_for(lambda: self.kairo.status()["unconfirmed"] == 1, "the part to count as unconfirmed")
        self.assertEqual(len(self.sim.requests("sendmessage")), 1)

    def test_invalid_arguments_are_never_repeated(self):
        self.sim.fault("sendmessage", "ret", ret=-2, errmsg="invalid arguments", times=1)
        self.sim.inject("question")
        wait_for(lambda: self.kairo.status()["refused"] == 1, "the refusal to be recorded")
        self.idle()
        bodies = [r["body"]["msg"]["item_list"][0]["text_item"]["text"] for r in self.sim.requests("sendmessage")]
        self.assertEqual(bodies.count("the answer"), 1)

    def test_a_bare_refusal_is_tried_once_more(self):
        self.sim.fault("sendmessage", "ret", ret=-2)
        self.sim.inject("question")
        self.sim.wait("sent", 1)
        self.idle()
        self.assertEqual(self.sim.texts(), ["the answer"])

    @needs_hooks
    def test_a_throttle_is_tried_again_after_ninety_seconds_and_then_parked(self):
        self.sim.fault("sendmessage", "ret", ret=-2, errmsg="rate limited", times=2)
        self.sim.inject("question")
        wait_for(lambda: self.kairo.db("SELECT 1 FROM channel_outbox WHERE state = 0 AND refusals = 1"), "the refusal")
        self.kairo.turn_clock(60000)
        self.assertEqual(len(self.sim.requests("sendmessage")), 1)
        self.kairo.turn_clock(31000)  # once: a request on its way would have had its time
        wait_for(lambda: self.kairo.status()["parked"], "the part to be parked")
        self.assertEqual(len(self.sim.requests("sendmessage")), 2)
        self.sim.inject("/more")
        self.sent(1)
        self.assertIn("the answer", self.sim.texts())

    def test_an_expired_login_keeps_the_answer(self):
        self.sim.fault("sendmessage", "expired", times=1)
        self.sim.inject("question")
        self.sent(1)
        self.idle()
        self.assertIn("the answer", self.sim.texts())


if __name__ == "__main__":
    main()
