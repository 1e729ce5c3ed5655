"""Polling, sending, typing (wire reference, sections 4 to 8 and 14.1 to 14.4)."""

import base64
import json
import threading

from simlib import OWNER, SimTest, main

DAY = 24 * 3600 * 1000


def text_of(m):
    return m["item_list"][0]["text_item"]["text"]


class Polls(SimTest):
    def test_an_unknown_token_is_told_by_errcode_alone(self):
        c = self.sim.client()
        c.token = "no such token"
        for endpoint in ("getupdates", "sendmessage", "getconfig", "msg/notifystart"):
            self.assertEqual(c.ask(endpoint, {"get_updates_buf": ""}),
                             {"errcode": -14, "errmsg": "session timeout"}, endpoint)

    def test_nothing_new_has_no_ret_and_two_shapes(self):
        c = self.sim.client()
        first, second = (c.ask("getupdates", {"get_updates_buf": ""}) for _ in range(2))
        self.assertEqual(first["msgs"], [])
        self.assertNotIn("ret", first)
        self.assertTrue(base64.b64decode(first["get_updates_buf"], validate=True))
        self.assertEqual(second, {"get_updates_buf": ""})

    def test_the_same_cursor_gives_the_same_messages(self):
        c = self.sim.client()
        self.sim.post("inject", text="m{n}", count=3)
        first = c.poll("")
        self.assertEqual([text_of(m) for m in first], ["m1", "m2", "m3"])
        self.assertEqual(c.poll(""), first)
        self.assertEqual(c.poll(), [])

    def test_an_unknown_cursor_means_from_the_start(self):
        c = self.sim.client()
        self.sim.post("inject", text="one")
        self.assertEqual(len(c.poll("bm9uc2Vuc2U=")), 1)
        self.assertIn("cursor_unknown", self.sim.rules())

    def test_a_poll_is_answered_the_moment_a_message_arrives(self):
        self.sim.post("set", hold_ms=30000)
        c = self.sim.client()
        got = []
        t = threading.Thread(target=lambda: got.extend(c.poll()))
        t.start()
        self.assertTrue(self.sim.wait("polling"))
        self.sim.post("inject", text="now")
        t.join(10)
        self.assertEqual([text_of(m) for m in got], ["now"])
        self.assertEqual(self.sim.count("polling"), 0)

    def test_a_poll_ends_when_its_token_is_voided(self):
        self.sim.post("set", hold_ms=30000)
        c = self.sim.client()
        got = []
        t = threading.Thread(target=lambda: got.append(c.ask("getupdates", {"get_updates_buf": ""})))
        t.start()
        self.assertTrue(self.sim.wait("polling"))
        self.sim.post("revoke")
        t.join(10)
        self.assertEqual(got[0].get("errcode"), -14)

    def test_ids_are_above_2_63_and_by_turns_number_and_string(self):
        c = self.sim.client()
        made = self.sim.post("inject", text="m{n}", count=4)["messages"]
        got = c.poll()
        self.assertEqual([type(m["message_id"]) for m in got], [int, str, int, str])
        self.assertEqual([type(m["item_list"][0]["msg_id"]) for m in got], [str, int, str, int])
        self.assertEqual([str(m["message_id"]) for m in got], [m["id"] for m in made])
        self.assertTrue(all(2**63 < int(m["message_id"]) < 2**64 for m in got))
        self.assertIn("sim_unknown", got[0])

    def test_a_message_has_what_the_reference_lists(self):
        c = self.sim.client()
        self.sim.post("inject", text="hello")
        m = c.poll()[0]
        self.assertEqual((m["from_user_id"], m["to_user_id"]), (OWNER, c.bot))
        self.assertEqual((m["message_type"], m["message_state"]), (1, 2))
        self.assertGreater(len(m["context_token"]), 100)
        self.assertEqual(m["item_list"][0]["type"], 1)
        self.assertTrue(m["item_list"][0]["is_completed"])

    def test_what_is_injected_can_be_shaped(self):
        c = self.sim.client()
        self.sim.post("inject", text="a", id="18446744073709551615", id_form="string")
        self.sim.post("inject", text="b", id=None, token="none")
        self.sim.post("inject", text="c", token="AARzMine", extra={"group_id": "g", "seq": "9"})
        self.sim.post("inject", items=[{"type": 8}], **{"from": "o9cqStranger@im.wechat"})
        self.sim.post("inject", raw={"message_id": {}, "odd": True})
        a, b, d, e, f = c.poll()
        self.assertEqual(a["message_id"], "18446744073709551615")
        self.assertNotIn("message_id", b)
        self.assertNotIn("context_token", b)
        self.assertEqual((d["context_token"], d["group_id"], d["seq"]), ("AARzMine", "g", "9"))
        self.assertEqual((e["from_user_id"], e["item_list"]),
                         ("o9cqStranger@im.wechat", [{"type": 8}]))
        self.assertEqual(f, {"message_id": {}, "odd": True})

    def test_a_message_can_come_again_in_every_way(self):
        c = self.sim.client()
        first = self.sim.post("inject", text="a")["messages"][0]
        for form in ("same", "other_id", "other_token", "no_id"):
            self.sim.post("inject", dup_of=first["id"], form=form)
        m, same, other_id, other_token, no_id = c.poll()
        self.assertEqual((str(same["message_id"]), same["context_token"]),
                         (first["id"], first["token"]))
        self.assertNotEqual(str(other_id["message_id"]), first["id"])
        self.assertEqual(other_id["context_token"], first["token"])
        self.assertEqual(str(other_token["message_id"]), first["id"])
        self.assertNotEqual(other_token["context_token"], first["token"])
        self.assertNotIn("message_id", no_id)
        for x in (m, same, other_id, other_token, no_id):
            self.assertEqual((text_of(x), x["client_id"], x["create_time_ms"]),
                             ("a", "wx-" + first["id"], m["create_time_ms"]))

    def test_a_batch_is_bounded(self):
        c = self.sim.client()
        self.sim.post("set", batch=2)
        self.sim.post("inject", text="m{n}", count=3)
        self.assertEqual([len(c.poll()) for _ in range(3)], [2, 1, 0])

    def test_nobody_can_write_to_a_bot_that_is_not_there(self):
        from simlib import ControlError
        with self.assertRaises(ControlError) as caught:
            self.sim.post("inject", text="x")
        self.assertEqual(caught.exception.status, 409)


class Sends(SimTest):
    def test_the_answers_take_three_shapes_by_turns(self):
        c = self.ready()
        shapes = [frozenset(c.send(f"m{i}")) for i in range(3)]
        self.assertEqual(set(shapes), {frozenset({"ret", "message_id"}),
                                       frozenset({"message_id"}), frozenset()})
        self.assertEqual(self.sim.texts(), ["m0", "m1", "m2"])

    def test_one_shape_can_be_chosen(self):
        c = self.ready()
        self.sim.post("set", answer_shape=3)
        self.assertEqual([c.send() for _ in range(3)], [{}, {}, {}])

    def test_the_eleventh_send_is_refused_until_the_person_writes(self):
        c = self.ready()
        for i in range(10):
            self.assertNotEqual(c.send(f"m{i}").get("ret", 0), -2)
        self.assertEqual(c.send("m10"), {"ret": -2, "errmsg": "prepare failed"})
        self.sim.post("inject", text="more")
        c.poll()
        self.assertEqual(c.send("m11").get("ret", 0), 0)
        self.assertEqual(len(self.sim.texts()), 11)
        self.assertEqual(self.sim.count("refused"), 1)

    def test_a_repeat_of_an_old_message_resets_nothing(self):
        c = self.sim.client()
        first = self.sim.post("inject", text="a")["messages"][0]
        c.poll()
        for _ in range(10):
            c.send()
        self.sim.post("inject", dup_of=first["id"])
        self.assertEqual(c.send()["ret"], -2)

    def test_the_window_closes_after_a_day(self):
        c = self.ready()
        self.sim.post("clock", advance_ms=DAY - 60000)
        self.assertEqual(c.send().get("ret", 0), 0)
        self.sim.post("clock", advance_ms=60001)
        self.assertEqual(c.send(), {"ret": -2, "errmsg": "prepare failed"})

    def test_the_person_must_speak_first(self):
        c = self.sim.client()
        self.assertEqual(c.send(), {"ret": -2, "errmsg": "prepare failed"})

    def test_the_same_client_id_is_one_message(self):
        c = self.ready()
        self.sim.post("set", answer_shape=1)
        first, again = c.send("a", "id-1"), c.send("a", "id-1")
        self.assertEqual(str(first["message_id"]), str(again["message_id"]))
        sent = self.sim.get("sent")["sent"]
        self.assertEqual([(d["text"], d["attempts"]) for d in sent], [("a", 2)])
        self.assertEqual(self.sim.get("state")["bots"][0]["peers"][0]["used"], 1)

    def test_several_items_are_refused(self):
        c = self.ready()
        two = [{"type": 1, "text_item": {"text": "x"}}] * 2
        self.assertEqual(c.send(item_list=two), {"ret": -2, "errmsg": "invalid arguments"})
        self.assertEqual(c.send(item_list=[])["ret"], -2)
        self.assertEqual(self.sim.rules(), ["several_items", "no_item"])

    def test_message_type_must_be_2(self):
        c = self.ready()
        self.assertEqual(c.send(message_type=1), {"ret": -2, "errmsg": "invalid arguments"})
        self.assertEqual(self.sim.rules(), ["message_type"])

    def test_strict_about_tokens_when_told(self):
        c = self.ready()
        c.context = "AARzWrong"
        self.assertEqual(c.send().get("ret", 0), 0)
        self.sim.post("set", token_strict=1)
        self.assertEqual(c.send(), {"ret": -2, "errmsg": "prepare failed"})
        c.context = None
        self.assertEqual(c.send(), {"ret": -2, "errmsg": "prepare failed"})

    def test_text_over_the_cap_is_refused_cut_or_delivered(self):
        c = self.ready()
        self.sim.post("set", text_cap=5)
        self.assertEqual(c.send("六个汉字哦哦"), {"ret": -2, "errmsg": "unknown error"})
        self.assertEqual(c.send("五个汉字哦").get("ret", 0), 0)
        self.sim.post("set", text_over=1)
        c.send("六个汉字哦哦")
        self.sim.post("set", text_over=2)
        c.send("六个汉字哦哦")
        self.assertEqual(self.sim.texts(), ["五个汉字哦", "六个汉字哦", "六个汉字哦哦"])

    def test_tool_items_are_taken_and_not_shown(self):
        c = self.ready()
        item = {"type": 11, "tool_call_start_item": {"tool_name": "x", "tool_call_id": "t"}}
        self.assertEqual(c.send(item_list=[item]).get("ret", 0), 0)
        self.assertEqual(self.sim.texts(), [])
        self.assertEqual(self.sim.get("state")["bots"][0]["peers"][0]["used"], 1)

    def test_a_delivery_tells_all_there_is(self):
        c = self.ready()
        c.send("a", "id-1", run_id="run-1")
        d = self.sim.get("sent")["sent"][0]
        self.assertEqual((d["n"], d["to"], d["text"], d["client_id"], d["run_id"], d["accepted"],
                          d["shown"], d["attempts"], d["ret"]),
                         (1, OWNER, "a", "id-1", "run-1", True, True, 1, 0))
        self.assertEqual(self.sim.get("sent", since=1)["sent"], [])

    def test_what_was_refused_is_listed_on_request(self):
        c = self.sim.client()
        c.send("a")
        self.assertEqual(self.sim.get("sent")["sent"], [])
        d = self.sim.get("sent", all=1)["sent"][0]
        self.assertEqual((d["accepted"], d["shown"], d["ret"], d["errmsg"]),
                         (False, False, -2, "prepare failed"))

    def test_both_sides_of_the_talk_are_in_order(self):
        c = self.ready()
        c.send("answer")
        self.sim.post("inject", text="second")
        self.assertEqual([(e["dir"], e["text"]) for e in self.sim.get("chat")["chat"]],
                         [("in", "first"), ("out", "answer"), ("in", "second")])


class Typing(SimTest):
    def ticket(self, c):
        return c.ask("getconfig", {"ilink_user_id": c.user, "context_token": c.context})

    def test_a_ticket_comes_after_the_first_message(self):
        c = self.sim.client()
        self.assertEqual(c.ask("getconfig", {"ilink_user_id": c.user})["ret"], -4)
        self.sim.post("inject", text="hi")
        self.assertTrue(self.ticket(c)["typing_ticket"])

    def test_the_key_is_ilink_user_id(self):
        c = self.ready()
        self.assertEqual(c.ask("getconfig", {"user_id": c.user}),
                         {"ret": -2, "errmsg": "ilink_user_id required"})
        self.assertEqual(self.sim.rules(), ["user_id_key"])

    def test_typing_shows_and_stops(self):
        c = self.ready()
        body = {"ilink_user_id": c.user, "typing_ticket": self.ticket(c)["typing_ticket"]}

        def shown():
            return self.sim.get("state")["bots"][0]["peers"][0]["typing"]
        self.assertEqual(c.ask("sendtyping", {**body, "status": 1}), {"ret": 0})
        self.assertTrue(shown())
        self.assertEqual(c.ask("sendtyping", {**body, "status": 2}), {"ret": 0})
        self.assertFalse(shown())
        c.ask("sendtyping", {**body, "status": 1})
        self.sim.post("clock", advance_ms=10001)
        self.assertFalse(shown())
        self.assertEqual((self.sim.count("typing"), self.sim.count("typing_stop")), (2, 1))

    def test_a_ticket_expires(self):
        c = self.ready()
        self.sim.post("set", ticket_life_ms=600000)
        old = self.ticket(c)["typing_ticket"]
        self.sim.post("clock", advance_ms=600000)
        body = {"ilink_user_id": c.user, "typing_ticket": old, "status": 1}
        self.assertEqual(c.ask("sendtyping", body)["ret"], -2)
        body["typing_ticket"] = self.ticket(c)["typing_ticket"]
        self.assertEqual(c.ask("sendtyping", body), {"ret": 0})

    def test_starts_and_stops_are_counted(self):
        c = self.sim.client()
        c.start()
        self.assertTrue(self.sim.get("state")["bots"][0]["started"])
        c.ask("msg/notifystop")
        self.assertFalse(self.sim.get("state")["bots"][0]["started"])
        self.assertEqual((self.sim.count("notifystart"), self.sim.count("notifystop")), (1, 1))


class Waiting(SimTest):
    def test_a_wait_ends_with_the_event(self):
        c = self.ready()
        got = []
        t = threading.Thread(target=lambda: got.append(self.sim.wait("sent", 1, 20000)))
        t.start()
        c.send()
        t.join(10)
        self.assertEqual(got, [True])

    def test_a_wait_is_bounded(self):
        self.assertFalse(self.sim.wait("sent", 1, 30))

    def test_changes_are_told_as_they_happen(self):
        import urllib.request
        with urllib.request.urlopen(self.sim.urls["page"] + "/control/events", timeout=10) as f:
            self.assertEqual(f.headers["Content-Type"], "text/event-stream")
            self.assertEqual(f.readline(), b'data: {"changed":["all"]}\n')
            f.readline()
            self.sim.client()
            self.assertIn("login", json.loads(f.readline()[6:])["changed"])


if __name__ == "__main__":
    main()
