"""Faults of the calls around the talk: the login's, the greeting and the farewell."""

from harness import HOOKS, Case, main, wait_for


class Life(Case):
    """The calls at the beginning and the end."""

    kinds = (("502", {}), ("404", {}), ("drop", {}), ("reset", {}), ("cut", {}), ("empty", {}), ("stall", {}),
             ("body", {"body": "<html>"}), ("body", {"body": "[]"}), ("ret", {"ret": -1}), ("pad", {"bytes": 3 << 20}))

    def test_a_greeting_that_fails_stops_nobody(self):
        self.sim.script({"text": "ok"}, repeat=True)
        for kind, more in self.kinds if HOOKS else self.kinds[:6]:
            with self.subTest(kind=kind, **more):
                self.sim.fault("notifystart", kind, **more)
                self.kairo.start()
                sent = len(self.sim.sent())
                self.sim.inject("hello")
                wait_for(lambda: len(self.sim.sent()) > sent, "the answer")
                self.kairo.stop()
                self.sim.clear_faults()
        self.assertEqual(set(self.sim.texts()), {"ok"})

    def test_a_farewell_that_fails_holds_nobody_up(self):
        for kind, more in self.kinds:
            with self.subTest(kind=kind, **more):
                self.sim.fault("notifystop", kind, **more)
                self.kairo.start()
                wait_for(lambda: self.kairo.status()["link"]["state"] == "up", "the link")
                self.kairo.stop()
                self.sim.clear_faults()
        self.assertEqual(len(self.sim.requests("notifystop")), len(self.kinds))


class Login(Case):
    """A login over a bad line."""

    login = False

    def test_asking_for_the_code(self):
        for kinds in ((("502", {}), ("cut", {})), (("drop", {}), ("body", {"body": "[]"}))):
            for kind, more in kinds:
                self.sim.fault("get_bot_qrcode", kind, **more)
            self.assertIn("connected", self.kairo.run("login", "--force", "--base-url", self.sim.api).out)

    def test_asking_how_far_it_is(self):
        for kind, more in (("502", {}), ("drop", {}), ("cut", {}), ("empty", {}), ("slow", {}), ("delay", {"ms": 300}),
                           ("body", {"body": "[]"}), ("body", {"body": {"status": 7}}), ("pad", {"bytes": 3 << 20}),
                           ("redirect", {"name": "http://127.0.0.1:1/"})):
            self.sim.fault("get_qrcode_status", kind, **more)
        self.assertIn("connected", self.kairo.run("login", "--force", "--base-url", self.sim.api).out)

    def test_no_code_at_all_is_one_plain_sentence(self):
        for kind, more in (("empty", {}), ("ret", {"ret": -7}), ("body", {"body": {"qrcode": "", "ret": 0}})):
            with self.subTest(kind=kind, **more):
                self.sim.fault("get_bot_qrcode", kind, times=-1, **more)
                err = self.kairo.run("login", "--base-url", self.sim.api, code=1).err
                self.assertRegex(err, r"\Akairo: [^\n]{10,300}\n\Z")
                self.sim.clear_faults()


if __name__ == "__main__":
    main()
