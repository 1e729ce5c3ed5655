"""Every fault switch (wire reference, section 14)."""

import http.client
import json
import time
import urllib.error

from simlib import ControlError, SimTest, main


def text_of(m):
    return m["item_list"][0]["text_item"]["text"]


class Transport(SimTest):
    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def fault(self, endpoint, kind, **more):
        return self.sim.post("fault", endpoint=endpoint, kind=kind, **more)["id"]

    def broken(self, call):
        with self.assertRaises((http.client.HTTPException, urllib.error.URLError, OSError)):
            call()

    def test_a_status_with_html_and_only_as_often_as_asked(self):
        self.fault("getupdates", "524", times=2)
        for _ in range(2):
            status, headers, body = self.c.call("getupdates", {"get_updates_buf": ""})
            self.assertEqual((status, headers["Content-Type"]), (524, "text/html"))
            self.assertIn(b"<html>", body)
        self.assertEqual(self.c.call("getupdates", {"get_updates_buf": ""})[0], 200)

    def test_for_ever_until_cleared(self):
        n = self.fault("*", "502", times=-1)
        for _ in range(3):
            self.assertEqual(self.c.call("getupdates", {"get_updates_buf": ""})[0], 502)
        self.sim.post("fault/clear", id=n)
        self.assertEqual(self.c.call("getupdates", {"get_updates_buf": ""})[0], 200)

    def test_a_token_is_lost_once_or_for_good(self):
        for times, answers in ((1, [-14, None, None]), (-1, [-14, -14, -14])):
            self.fault("getupdates", "expired", times=times)
            self.assertEqual([self.c.ask("getupdates", {"get_updates_buf": ""}).get("errcode") for _ in range(3)],
                             answers)

    def test_a_status_with_body_and_headers(self):
        self.fault("sendmessage", "status", status=429, body="slow down", type="text/plain",
                   headers={"Retry-After": "7"})
        status, headers, body = self.c.call("sendmessage", self.c.message())
        self.assertEqual((status, headers["Retry-After"], body), (429, "7", b"slow down"))

    def test_business_errors_of_every_form(self):
        for given, want in (
                ({"ret": -2, "errmsg": "rate limited"}, {"ret": -2, "errmsg": "rate limited"}),
                ({}, {"ret": -2}),
                ({"ret": -2, "errmsg": ""}, {"ret": -2, "errmsg": ""}),
                ({"errcode": -14, "errmsg": "session timeout"},
                 {"errcode": -14, "errmsg": "session timeout"}),
                ({"ret": 0, "errcode": -1}, {"ret": 0, "errcode": -1})):
            self.fault("sendmessage", "ret", **given)
            self.assertEqual(self.c.send(), want)
        self.fault("getupdates", "expired")
        self.assertEqual(self.c.ask("getupdates", {"get_updates_buf": ""})["errcode"], -14)
        self.assertEqual(self.sim.texts(), [])

    def test_a_message_is_delivered_and_its_answer_lost(self):
        for kind in ("drop", "reset"):
            self.fault("sendmessage", kind, process=True)
            self.broken(lambda k=kind: self.c.send(k, "id-" + k))
            self.assertEqual(self.c.send(kind, "id-" + kind).get("ret"), 0)
        self.assertEqual([(d["text"], d["attempts"]) for d in self.sim.get("sent")["sent"]],
                         [("drop", 2), ("reset", 2)])

    def test_a_message_is_lost(self):
        self.fault("sendmessage", "drop")
        self.broken(lambda: self.c.send("lost", "id-1"))
        self.assertEqual(self.sim.texts(), [])
        self.c.send("lost", "id-1")
        self.assertEqual(self.sim.get("sent")["sent"][0]["attempts"], 1)

    def test_no_answer_at_all(self):
        self.fault("getupdates", "stall")
        self.broken(lambda: self.c.call("getupdates", {"get_updates_buf": ""}, timeout=0.3))

    def test_an_answer_is_cut_in_the_middle(self):
        self.sim.post("inject", text="x" * 1000)
        self.fault("getupdates", "cut", bytes=100)
        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.c.poll()
        self.assertEqual(len(caught.exception.partial), 100)
        self.assertEqual(text_of(self.c.poll()[0]), "x" * 1000)

    def test_an_answer_drips_and_is_whole(self):
        self.fault("getconfig", "slow", bytes=7, ms=1)
        got = self.c.ask("getconfig", {"ilink_user_id": self.c.user})
        self.assertEqual(got["ret"], 0)

    def test_an_answer_is_late(self):
        self.fault("sendmessage", "delay", ms=150)
        t = time.monotonic()
        self.c.send("late")
        self.assertGreaterEqual(time.monotonic() - t, 0.15)
        self.assertEqual(self.sim.texts(), ["late"])

    def test_an_empty_answer_to_a_message_that_was_taken(self):
        self.fault("sendmessage", "empty")
        self.assertEqual(self.c.call("sendmessage", self.c.message("e"))[2], b"")
        self.assertEqual(self.sim.texts(), ["e"])

    def test_something_that_is_no_object(self):
        for body, want in (([], b"[]"), ("null", b"null"), ("{", b"{"), ("", b"")):
            self.fault("getupdates", "body", body=body)
            self.assertEqual(self.c.call("getupdates", {"get_updates_buf": ""})[2], want)

    def test_a_redirect(self):
        self.fault("getupdates", "redirect", name="http://127.0.0.1:1/x")
        connection = http.client.HTTPConnection(self.sim.urls["api"][7:], timeout=10)
        connection.request("POST", "/ilink/bot/getupdates", b"{}", self.c.headers())
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Location")),
                         (302, "http://127.0.0.1:1/x"))
        connection.close()

    def test_the_text_of_an_answer_is_changed(self):
        ask = {"ilink_user_id": self.c.user}
        self.fault("getconfig", "pad", bytes=50)
        self.assertEqual(self.c.ask("getconfig", ask)["sim_pad"], "x" * 50)
        self.fault("getconfig", "insert", body='"ret":0')
        self.assertEqual(self.c.call("getconfig", ask)[2].count(b'"ret":0'), 2)
        self.fault("getconfig", "replace", **{"from": '"ret":0', "body": '"ret":1e999'})
        self.assertIn(b'"ret":1e999', self.c.call("getconfig", ask)[2])

    def test_only_the_request_that_matches_and_only_after_some(self):
        self.fault("sendmessage", "ret", match="part two")
        self.assertEqual(self.c.send("part one").get("ret", 0), 0)
        self.assertEqual(self.c.send("part two")["ret"], -2)
        self.fault("sendmessage", "ret", after=1)
        self.assertEqual(self.c.send("a").get("ret", 0), 0)
        self.assertEqual(self.c.send("b")["ret"], -2)

    def test_a_fault_that_waits_for_messages(self):
        self.fault("getupdates", "cut", when="messages")
        self.assertEqual(self.c.poll(), [])
        self.sim.post("inject", text="x")
        with self.assertRaises(http.client.IncompleteRead):
            self.c.poll()

    def test_accepted_and_nothing_arrives(self):
        self.fault("sendmessage", "silent")
        self.assertEqual(self.c.send("a"), {"ret": 0})
        self.fault("sendmessage", "no_id")
        self.assertEqual(self.c.send("b"), {"ret": 0})
        self.assertEqual(self.sim.texts(), ["b"])
        self.assertEqual(self.sim.get("state")["bots"][0]["peers"][0]["used"], 2)

    def test_a_wrong_fault_is_refused_with_the_reason(self):
        for body in ({"kind": "nonsense"}, {"kind": "drop", "endpoint": "elsewhere"}, {}):
            with self.assertRaises(ControlError) as caught:
                self.sim.post("fault", **body)
            self.assertEqual(caught.exception.status, 400)

    def test_the_table_shows_what_is_left(self):
        self.fault("getupdates", "502", times=3)
        self.c.call("getupdates", {"get_updates_buf": ""})
        f = self.sim.get("faults")["faults"][0]
        self.assertEqual((f["kind"], f["times"], f["hits"]), ("status", 2, 1))


class Updates(SimTest):
    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def with_fault(self, kind, text="hello", **more):
        self.sim.post("fault", endpoint="getupdates", kind=kind, **more)
        if text:
            self.sim.post("inject", text=text)
        return self.c.call("getupdates", {"get_updates_buf": self.c.cursor})[2]

    def test_an_escaped_nul_in_the_text(self):
        self.assertIn(b'"text":"a\\u0000bhello"', self.with_fault("nul_text"))

    def test_broken_utf8_in_the_text(self):
        raw = self.with_fault("bad_utf8")
        self.assertIn(b'"text":"a\xff\xc0\xaf\xed\xa0\x80bhello"', raw)
        with self.assertRaises(UnicodeDecodeError):
            raw.decode()

    def test_a_text_of_a_mebibyte(self):
        self.assertEqual(len(text_of(json.loads(self.with_fault("big_text"))["msgs"][0])), 1 << 20)

    def test_a_message_twice(self):
        for form in ("same", "other_id", "other_token", "no_id"):
            first, second = json.loads(self.with_fault("dup", form=form))["msgs"][-2:]
            self.assertEqual(text_of(first), text_of(second))
            self.assertEqual(first.get("message_id") == second.get("message_id"),
                             form in ("same", "other_token"), form)
            self.assertEqual(first["context_token"] == second["context_token"],
                             form != "other_token", form)
            self.c.poll()

    def test_messages_out_of_order(self):
        self.sim.post("inject", text="m{n}", count=3)
        msgs = json.loads(self.with_fault("reorder", text=None))["msgs"]
        self.assertEqual([text_of(m) for m in msgs], ["m3", "m2", "m1"])

    def test_old_messages_again(self):
        msgs = json.loads(self.with_fault("redeliver"))["msgs"]
        self.assertEqual([text_of(m) for m in msgs], ["first", "hello"])

    def test_a_malformed_message_beside_a_good_one(self):
        bad, good = json.loads(self.with_fault("bad_message"))["msgs"]
        self.assertNotIsInstance(bad["from_user_id"], str)
        self.assertEqual(text_of(good), "hello")
        bad = json.loads(self.with_fault("bad_message", body={"x": 1}))["msgs"][0]
        self.assertEqual(bad, {"x": 1})

    def test_the_timeout_that_is_told(self):
        for value in (0, -1, "35000", 10**15, None):
            raw = self.with_fault("timeout", text=None, value=value)
            self.assertEqual(json.loads(raw)["longpolling_timeout_ms"], value)

    def test_the_cursor_that_is_told(self):
        raw = self.with_fault("cursor", value=7)
        self.assertEqual(json.loads(raw)["get_updates_buf"], 7)


if __name__ == "__main__":
    main()
