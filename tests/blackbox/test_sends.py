"""Every fault of sendmessage, switched on in the simulator: what the person is shown, and what is tried again."""

from harness import HOOKS, Case, main, needs_hooks, wait_for


class Sends(Case):
    """One answer for each fault of sendmessage, each to a person of its own."""

    def setUp(self):
        super().setUp()
        self.people = ["person%d@im.wechat" % n for n in range(40)]
        self.kairo.config(allowed_users=self.people)
        self.sim.script({"text": "the answer"}, repeat=True)
        self.kairo.start()

    def send(self, kind, pause=0, **more):
        """The deliveries to a new person whose answer meets the fault; self.requests: what was tried. pause: ms that pass
        when the first try has come so far: in the simulator's hands, or put off."""
        person = self.people.pop()
        since = len(self.sim.requests("sendmessage"))
        self.sim.fault("sendmessage", kind, **more)
        self.sim.inject("question", **{"from": person})
        wait_for(lambda: self.kairo.status()["handled"] == 40 - len(self.people), "the task")
        if pause:
            wait_for(lambda: self.sim.requests("sendmessage")[since:] and (kind == "stall" or self.kairo.db(
                "SELECT 1 FROM channel_outbox WHERE state = 0 AND refusals = 1")), "the first try")
            self.kairo.turn_clock(pause)
        wait_for(lambda: not self.kairo.status()["unsent"], "the send to be settled")
        self.requests = self.sim.requests("sendmessage")[since:]
        return self.sim.sent(to=person)

    def once(self, kind, **more):
        with self.subTest(kind=kind, **{k: str(v)[:40] for k, v in more.items()}):
            shown = self.send(kind, **more)
            self.assertEqual([d["text"] for d in shown], ["the answer"])
            self.assertEqual(len({r["body"]["msg"]["client_id"] for r in self.requests}), 1)
            self.assertEqual(len({str(r["body"]) for r in self.requests}), 1, "sent again unchanged")
            return len(self.requests)

    def test_lost_on_the_way_there_or_back(self):
        """Whatever breaks: shown once, under one client id."""
        for process in (False, True):
            for kind, more in (("502", {}), ("524", {}), ("504", {}), ("drop", {}), ("reset", {}),
                               ("body", {"body": "<html>"}), ("body", {"body": "[]"}), ("body", {"body": "{\"ret\":"}),
                               ("pad", {"bytes": 3 << 20}), ("redirect", {"name": "http://127.0.0.1:1/"})) \
                    if HOOKS else (("502", {}), ("drop", {})):
                self.assertEqual(self.once(kind, process=process, **more), 2)
        self.assertEqual(self.once("cut", process=True), 2)
        s = self.kairo.status()
        self.assertEqual((s["unknown"], s["parked"], s["refused"]), (0, 0, 0))

    def test_late_and_slow_answers_are_waited_for(self):
        self.assertEqual(self.once("delay", ms=500), 1)
        self.assertEqual(self.once("slow", ms=5), 1)

    def test_an_answer_that_never_comes(self):
        if not HOOKS:
            self.skipTest("it takes fifteen seconds")
        self.assertEqual(self.once("stall", pause=16000, process=True), 2)

    @needs_hooks
    def test_each_refusal(self):
        """By its text: held for the next message, tried again once, or never again."""
        for code, text, tries, state in (
                (-2, "prepare failed", 1, "parked"), (-2, "rate limited", 2, ""), (-2, "freq limit", 2, ""),
                (-12, "", 2, ""), (-2, "unknown error", 2, ""), (-2, "", 2, ""), (-2, "invalid arguments", 1, "refused"),
                (-14, "session timeout", 2, ""), (-14, "", 2, "")):
            for form in ("ret", "errcode"):
                with self.subTest(code=code, text=text, form=form):
                    before = self.kairo.status()
                    pause = 90000 if code == -12 or text in ("rate limited", "freq limit") else 0
                    more = {form: code, "errmsg": text} if text else {form: code}
                    shown = [d["text"] for d in self.send("ret", pause=pause, **more)]
                    answers = [r for r in self.requests
                               if r["body"]["msg"]["item_list"][0]["text_item"]["text"] == "the answer"]
                    self.assertEqual(len(answers), tries)
                    self.assertEqual(shown.count("the answer"), 0 if state else 1)
                    after = self.kairo.status()
                    self.assertEqual(after["parked"] - before["parked"], int(state == "parked"))
                    self.assertEqual(after["refused"] - before["refused"], int(state == "refused"))
                    self.assertEqual(any("refused a part" in t for t in shown), state == "refused")

    def test_success_without_an_id_is_counted_and_not_repeated(self):
        for kind in ("no_id", "empty", "silent"):
            with self.subTest(kind):
                before = self.kairo.status()["unconfirmed"]
                shown = self.send(kind)
                self.assertEqual(len(self.requests), 1)
                self.assertEqual(len(shown), int(kind != "silent"))
                self.assertEqual(self.kairo.status()["unconfirmed"], before + 1)

    @needs_hooks
    def test_a_refusal_holds_nobody_else_up(self):
        first, other = self.people.pop(), self.people.pop()
        self.sim.fault("sendmessage", "ret", ret=-2, errmsg="rate limited")
        self.sim.inject("question", **{"from": first})
        wait_for(lambda: self.kairo.db("SELECT 1 FROM channel_outbox WHERE state = 0 AND refusals = 1"), "the first try")
        self.sim.inject("question", **{"from": other})
        self.sim.wait("sent", 1)  # the clock stands: the pause of the first is not over
        self.assertEqual(self.sim.texts(to=other), ["the answer"])
        self.kairo.turn_clock(91000)
        wait_for(lambda: self.sim.texts(to=first), "the second try")


if __name__ == "__main__":
    main()
