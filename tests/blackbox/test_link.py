"""Polls that go wrong in every way the field has seen: the link degrades, says why, and recovers."""

import json
import os

from harness import Case, alive, main, needs_hooks, wait_for


class Polls(Case):
    violations_expected = False

    def setUp(self):
        super().setUp()
        self.sim.script({"text": "ok"}, repeat=True)

    def link(self, state):
        return wait_for(lambda: self.kairo.status()["link"]["state"] == state and self.kairo.status(),
                        "the link to be " + state)

    def still_answers(self):
        before = len(self.sim.sent())
        self.sim.inject("are you there")
        wait_for(lambda: len(self.sim.sent()) > before, "an answer")
        self.assertEqual(self.sim.texts()[before], "ok")

    def each(self, *faults):
        self.kairo.start()
        self.still_answers()
        for kind, more in faults:
            with self.subTest(kind=kind, **{k: str(v)[:40] for k, v in more.items()}):
                self.sim.fault("getupdates", kind, **more)
                self.still_answers()
        self.assertEqual(len({d["client_id"] for d in self.sim.sent()}), len(self.sim.sent()))

    @needs_hooks
    def test_http_and_transport_faults(self):
        self.each(("502", {}), ("524", {}), ("504", {}), ("403", {}), ("404", {}), ("drop", {}), ("reset", {}),
                  ("cut", {}), ("empty", {}), ("slow", {}), ("delay", {"ms": 300}),
                  ("redirect", {"name": "http://127.0.0.1:1/"}))

    @needs_hooks
    def test_bodies_that_are_no_answer(self):
        self.each(("body", {"body": "<html>"}), ("body", {"body": "[]"}), ("body", {"body": "null"}),
                  ("body", {"body": "{\"ret\":"}), ("body", {"body": "{\"ret\":0,\"ret\":0}"}),
                  ("body", {"body": "{\"ret\":NaN}"}), ("body", {"body": "{\"ret\":1e999}"}),
                  ("body", {"body": "{} {}"}), ("body", {"body": "{\"msgs\":{}}"}),
                  ("body", {"body": "{\"get_updates_buf\":7}"}), ("body", {"body": "[" * 100000}),
                  ("pad", {"bytes": 3 << 20}), ("insert", {"body": "\"ret\":0,\"ret\":0,"}))

    @needs_hooks
    def test_business_errors(self):
        self.each(("ret", {"ret": -1}), ("ret", {"errcode": -1}), ("ret", {"ret": "-1"}), ("ret", {"ret": 5}))

    @needs_hooks
    def test_hostile_timeouts_and_cursors(self):
        self.each(*[("timeout", {"value": v}) for v in (0, -1, "35000", 10**18, 1.5, None, [])],
                  *[("cursor", {"value": v}) for v in ("", None)])

    @needs_hooks
    def test_messages_that_are_strange_are_handled_or_skipped(self):
        self.each(("dup", {"form": "same"}), ("dup", {"form": "other_token"}), ("reorder", {}),
                  ("redeliver", {"bytes": 1}), ("nul_text", {}), ("bad_utf8", {}),
                  ("bad_message", {"body": 7}), ("bad_message", {"body": {"message_id": {}}}),
                  ("bad_message", {"body": {"item_list": "x"}}))

    def test_a_megabyte_of_text_is_taken(self):
        self.kairo.start()
        self.sim.fault("getupdates", "big_text", bytes=1 << 20)
        self.sim.inject("big")
        self.sim.wait("sent", 1)
        self.kairo.idle()

    @needs_hooks
    def test_the_link_degrades_says_why_and_recovers(self):
        self.kairo.start()
        self.link("up")
        self.sim.fault("getupdates", "502", times=-1)
        s = self.link("degraded")
        self.assertIn("502", s["link"]["why"])
        self.assertGreater(s["link"]["failures"], 0)
        self.assertIn("degraded", self.kairo.run("status").out)
        self.sim.clear_faults()
        self.link("up")
        self.assertEqual(self.kairo.status()["link"]["why"], "")


class Expiry(Case):
    def test_expired_once_is_survived(self):
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        self.sim.fault("getupdates", "expired", times=1)
        self.assertEqual(self.ask("still there?"), ["ok"])
        wait_for(lambda: self.kairo.status()["link"]["state"] == "up", "the link to be up again")
        wait_for(lambda: self.sim.counts()["notifystart"] >= 2, "the daemon to say again that it is there")

    def test_expired_for_good_is_said_plainly_and_never_opens_a_login(self):
        self.kairo.start()
        self.sim.call("POST", "revoke")
        wait_for(lambda: self.kairo.status()["link"]["state"] == "login expired", "the login to expire")
        self.assertIn("kairo login", self.kairo.run("status").out)
        self.assertEqual(self.sim.counts()["qrcodes"], 1)
        polls = self.sim.counts()["polls"]
        self.assertLess(polls, 100)
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            self.assertTrue(json.load(f)["token"])
        self.assertIn("expired", self.kairo.run("doctor", code=1).out)

    def test_errcode_alone_is_an_error(self):
        self.kairo.start()
        self.sim.fault("getupdates", "ret", errcode=-14, times=-1)
        wait_for(lambda: self.kairo.status()["link"]["state"] == "login expired", "the login to expire")

    def test_a_new_login_ends_the_old_daemon_without_harm(self):
        self.kairo.start()
        pid = self.kairo.pid()
        self.kairo.run("login", "--force", "--base-url", self.sim.api)
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            fresh = json.load(f)
        # The old bot's token still works: the next answer to a poll, with or without news, shows the change.
        wait_for(lambda: not alive(pid), "the old daemon to end")
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            self.assertEqual(json.load(f), fresh)
        self.assertIn("replaced", self.kairo.log())
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        self.sim.inject("for the new bot")
        wait_for(lambda: "ok" in self.sim.texts(), "the new bot's answer")

    def test_logout_ends_the_daemon(self):
        self.kairo.start()
        pid = self.kairo.pid()
        self.kairo.run("logout")
        self.assertFalse(os.path.exists(os.path.join(self.kairo.dir, "account.json")))
        wait_for(lambda: not alive(pid), "the daemon to end, though nothing comes for it")
        self.assertFalse(os.path.exists(os.path.join(self.kairo.dir, "account.json")))
        self.kairo.start(code=4)


class Ids(Case):
    def test_ids_beyond_what_a_double_holds_are_kept_apart(self):
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        ids = ["9007199254740993", "9007199254740992", "18446744073709551615", "7497484083968569736"]
        for n, i in enumerate(ids):
            self.sim.inject("message %s" % i, id=i, id_form="number" if n % 2 else "string")
        self.sim.wait("sent", 4)
        self.kairo.idle()
        self.assertEqual(len(self.sim.model_requests()), 4)
        for i in ids:
            self.sim.inject("again", id=i)
        self.sim.inject("the end")
        self.sim.wait("sent", 5)
        self.kairo.idle()
        self.assertEqual(len(self.sim.model_requests()), 5)

    def test_messages_without_an_id_are_told_apart_by_content(self):
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        self.sim.inject("first", id=None)
        self.sim.inject("second", id=None)
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.assertEqual(len(self.sim.model_requests()), 2)


if __name__ == "__main__":
    main()
