"""Logging in (wire reference, section 2 and 14.7)."""

import json

from simlib import OWNER, Client, ControlError, SimTest, main


class Login(SimTest):
    def setUp(self):
        super().setUp()
        self.c = Client(self.sim)

    def code(self, tokens=()):
        return self.c.qrcode(tokens)["qrcode"]

    def test_a_code_waits_is_scanned_and_is_confirmed_once(self):
        got = self.c.qrcode()
        key = got["qrcode"]
        self.assertEqual(got["ret"], 0)
        self.assertIn(key, got["qrcode_img_content"])
        self.assertEqual(self.c.status(key), {"ret": 0, "status": "wait"})
        self.sim.post("scan")
        self.assertEqual(self.c.status(key), {"ret": 0, "status": "scaned"})
        self.sim.post("confirm")
        done = self.c.status(key)
        self.assertEqual(done["status"], "confirmed")
        self.assertEqual(done["ilink_user_id"], OWNER)
        self.assertRegex(done["ilink_bot_id"], r"^[0-9a-f]{12}@im\.bot$")
        self.assertTrue(done["bot_token"].startswith(done["ilink_bot_id"] + ":"))
        self.assertEqual(done["baseurl"], self.sim.urls["api"])
        self.assertEqual(self.c.status(key)["bot_token"], done["bot_token"])
        self.assertEqual(self.sim.count("logins"), 1)
        self.assertEqual(self.sim.rules(), [])

    def test_the_phone_cannot_confirm_what_it_has_not_scanned(self):
        self.code()
        with self.assertRaises(ControlError) as caught:
            self.sim.post("confirm")
        self.assertEqual(caught.exception.status, 409)

    def test_a_status_poll_is_answered_as_soon_as_the_phone_acts(self):
        self.sim.post("set", hold_ms=20000)
        key = self.code()
        self.sim.post("login")
        import threading
        got = []
        t = threading.Thread(target=lambda: got.append(self.c.status(key)))
        t.start()
        self.assertTrue(self.sim.wait("qrpolls"))
        self.sim.post("scan")
        t.join(10)
        self.assertEqual(got, [{"ret": 0, "status": "scaned"}])

    def test_a_code_grows_old_on_the_simulated_clock(self):
        key = self.code()
        self.sim.post("clock", advance_ms=119000)
        self.assertEqual(self.c.status(key)["status"], "wait")
        self.sim.post("clock", advance_ms=1001)
        self.assertEqual(self.c.status(key)["status"], "expired")
        with self.assertRaises(ControlError):
            self.sim.post("scan")

    def test_an_unknown_code_is_expired(self):
        self.assertEqual(self.c.status("nonsense")["status"], "expired")

    def test_statuses_follow_a_script_and_the_last_one_stays(self):
        self.sim.post("login", statuses=["wait", {"status": "odd", "x": 1}, "expired"])
        key = self.code()
        self.assertEqual([self.c.status(key) for _ in range(4)], [
            {"ret": 0, "status": "wait"}, {"ret": 0, "status": "odd", "x": 1},
            {"ret": 0, "status": "expired"}, {"ret": 0, "status": "expired"}])

    def test_each_code_takes_the_next_script(self):
        self.sim.post("login", codes=[["expired"], ["expired"], ["expired"], ["confirmed"]])
        seen = [self.c.status(self.code())["status"] for _ in range(5)]
        self.assertEqual(seen, ["expired", "expired", "expired", "confirmed", "wait"])

    def test_a_number_must_be_typed(self):
        self.sim.post("login", verify_code="42")
        key = self.code()
        self.sim.post("scan")
        self.assertEqual(self.c.status(key)["status"], "need_verifycode")
        self.assertEqual(self.c.status(key, "41")["status"], "need_verifycode")
        with self.assertRaises(ControlError):
            self.sim.post("confirm")
        self.assertEqual(self.c.status(key, "42")["status"], "scaned")
        self.sim.post("confirm")
        self.assertEqual(self.c.status(key)["status"], "confirmed")

    def test_the_third_wrong_number_blocks(self):
        self.sim.post("login", verify_code="42")
        key = self.code()
        self.sim.post("scan")
        seen = [self.c.status(key, n)["status"] for n in ("1", "2", "3", "42")]
        self.assertEqual(seen, ["need_verifycode", "need_verifycode", "verify_code_blocked",
                                "verify_code_blocked"])

    def test_a_redirect_goes_on_at_the_second_listener(self):
        self.sim.post("login", redirect=True)
        key = self.code()
        self.assertEqual(self.c.status(key)["status"], "wait")
        self.sim.post("scan")
        told = self.c.status(key)
        self.assertEqual(told["status"], "scaned_but_redirect")
        there = "http://" + told["redirect_host"]
        self.assertEqual(self.c.status(key, base=there)["status"], "scaned")
        self.sim.post("confirm")
        self.assertEqual(self.c.status(key, base=there)["status"], "confirmed")

    def test_a_redirect_host_may_be_anything(self):
        self.sim.post("login", statuses=[
            {"status": "scaned_but_redirect", "redirect_host": "evil.example/x"},
            {"status": "scaned_but_redirect", "redirect_host": "a@b/c"},
            {"status": "scaned_but_redirect", "no_host": True}])
        key = self.code()
        self.assertEqual([self.c.status(key)["redirect_host"] for _ in range(2)], ["evil.example/x", "a@b/c"])
        self.assertNotIn("redirect_host", self.c.status(key))

    def test_the_live_token_in_the_list_means_bound_already(self):
        c = self.sim.client()
        key = c.qrcode([c.token])["qrcode"]
        self.sim.post("scan")
        self.sim.post("confirm")
        self.assertEqual(self.c.status(key), {"ret": 0, "status": "binded_redirect"})

    def test_a_new_login_voids_the_old_token_after_a_while(self):
        old = self.sim.client()
        self.sim.post("login", auto_confirm=True)
        new = Client(self.sim, self.c.status(self.code())["bot_token"])
        self.assertEqual(old.poll(), [])
        self.sim.post("clock", advance_ms=28000)
        self.assertEqual(old.poll(), [])
        self.sim.post("clock", advance_ms=1001)
        self.assertEqual(old.ask("getupdates", {"get_updates_buf": ""}),
                         {"errcode": -14, "errmsg": "session timeout"})
        self.assertEqual(new.poll(), [])

    def test_another_person_voids_nothing(self):
        old = self.sim.client()
        self.sim.client(user="o9cqOther@im.wechat")
        self.sim.post("clock", advance_ms=60000)
        self.assertEqual(old.poll(), [])

    def test_tokens_may_be_refused(self):
        self.sim.post("set", refuse_tokens=True)
        self.assertEqual(self.c.qrcode(["t"])["ret"], -3)
        self.assertEqual(self.c.qrcode()["ret"], 0)

    def test_the_older_form_by_GET_works(self):
        url = self.sim.urls["api"] + "/ilink/bot/get_bot_qrcode?bot_type=3"
        self.assertEqual(json.loads(self.sim.http("GET", url)[2])["ret"], 0)

    def test_the_code_is_drawn(self):
        self.code()
        status, headers, svg = self.sim.http("GET", self.sim.urls["page"] + "/control/qr.svg")
        self.assertEqual((status, headers["Content-Type"]), (200, "image/svg+xml"))
        self.assertIn(b"<path", svg)


class AutoConfirm(SimTest):
    options = (*SimTest.options, "--auto-confirm")

    def test_a_login_needs_nobody(self):
        c = Client(self.sim)
        self.assertEqual(c.status(c.qrcode()["qrcode"])["status"], "confirmed")


class Tls(SimTest):
    options = (*SimTest.options, "--auto-confirm", "--tls")

    def test_the_api_speaks_https_under_its_own_authority(self):
        self.assertTrue(self.sim.urls["api"].startswith("https://127.0.0.1:"))
        self.assertTrue(self.sim.urls["cdn"].startswith("https://127.0.0.1:"))
        c = Client(self.sim)
        c.token = c.status(c.qrcode()["qrcode"])["bot_token"]
        c.start()
        self.sim.post("inject", text="over tls")
        self.assertEqual(c.poll()[0]["item_list"][0]["text_item"]["text"], "over tls")


if __name__ == "__main__":
    main()
