"""The typing indicator: shown while a task runs, refreshed, taken away once on every way a task can end; and whatever
goes wrong with it, the answer never notices."""

import os
import signal
import time

from harness import Case, alive, main, needs_hooks, stalled, wait_for

ON, OFF = 1, 2


class Typing(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(model__idle_seconds=3600)  # what is left to run out here is the ticket

    def calls(self):
        """Every sendtyping: (status, accepted)."""
        return [(r["body"]["status"], not (r["answer"] or {}).get("ret")) for r in self.sim.requests("sendtyping")]

    def states(self):
        return [status for status, _ in self.calls()]

    def shown(self, n=1):
        wait_for(lambda: self.states().count(ON) >= n, "the indicator, %d times" % n)

    def runs(self, *steps, text="work"):
        self.sim.script(*steps)
        self.sim.inject(text)
        self.shown()

    def taken_away(self):
        """It was, once, last of all, with the ticket that it was shown with."""
        wait_for(lambda: OFF in self.states(), "the indicator to be taken away")
        self.kairo.idle()
        self.assertRegex("".join(map(str, self.states())), "^1+2$")
        self.assertEqual([c for c in self.calls() if not c[1]], [])
        self.assertEqual(len({r["body"]["typing_ticket"] for r in self.sim.requests("sendtyping")}), 1)


class Ends(Typing):
    def test_an_answer(self):
        self.kairo.start()
        self.runs({"text": "done", "first_ms": 300})
        self.sim.wait("sent", 1)
        self.taken_away()

    def test_a_failure(self):
        self.kairo.start()
        self.runs({"status": 400, "first_ms": 300})
        self.sim.wait("sent", 1)
        self.taken_away()

    def test_an_empty_answer(self):
        self.kairo.start()
        self.runs({"events": ["data: [DONE]\n\n"], "first_ms": 300})
        self.sim.wait("sent", 1)
        self.taken_away()

    def test_stop(self):
        for text in ("/stop", "/stop all"):
            with self.subTest(text):
                self.sim.call("POST", "forget")
                self.kairo.start()
                self.runs(stalled())
                self.ask(text)
                self.taken_away()
                self.kairo.stop()

    def test_stop_from_the_terminal(self):
        self.kairo.start()
        self.runs(stalled())
        self.assertEqual(self.kairo.request("POST", "/v1/stop", {})[0], 200)
        self.taken_away()

    def test_the_end_of_the_daemon(self):
        self.kairo.start()
        self.runs(stalled())
        pid = self.kairo.pid()
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not alive(pid), "the daemon to end")
        self.assertRegex("".join(map(str, self.states())), "^1+2$")

    @needs_hooks
    def test_the_time_limit_of_a_task(self):
        self.kairo.config(turn_minutes=1)
        self.kairo.start()
        self.runs(stalled())
        self.kairo.turn_clock(61000)
        wait_for(lambda: any("time limit" in t for t in self.sim.texts()) or self.kairo.turn_clock(1000), "the end")
        self.taken_away()

    def test_an_answer_after_tools_and_a_second_attempt(self):
        self.kairo.start()
        self.runs({"tool_calls": [{"name": "no_such_tool", "arguments": {}}], "first_ms": 300}, {"cut": True},
                  {"text": "done"})
        self.sim.wait("sent", 1)
        self.taken_away()

    def test_one_task_after_another(self):
        """Taken away when the first ends and shown again for the second: never shown by nobody's task."""
        self.kairo.start()
        self.runs({"text": "one", "first_ms": 300}, {"text": "two", "first_ms": 300})
        self.sim.inject("more work")
        self.sim.wait("sent", 2)
        wait_for(lambda: self.states().count(OFF) == 2, "the second to end")
        self.assertRegex("".join(map(str, self.states())), "^1+21+2$")


class Shown(Typing):
    @needs_hooks
    def test_it_is_refreshed_every_five_seconds_and_fades_after_half_an_hour(self):
        self.kairo.start()
        began = time.monotonic()
        self.runs(stalled())
        for n in range(2, 6):
            self.kairo.turn_clock(5000)
            self.shown(n)
        self.assertLessEqual(self.states().count(ON), 5 + (time.monotonic() - began) / 5)
        self.kairo.turn_clock(30 * 60 * 1000)
        wait_for(lambda: OFF in self.states(), "the indicator to fade")
        self.kairo.turn_clock(60000)
        self.assertIn("Stopped", self.ask("/stop")[-1])
        self.taken_away()

    @needs_hooks
    def test_a_ticket_that_expires_under_a_long_task(self):
        """Tickets live for 600 s here, the task for 700: shown to the end, and taken away with a ticket that is good."""
        self.sim.set(ticket_life_ms=600000)
        self.kairo.start()
        self.runs(stalled())
        for _ in range(140):
            n = self.states().count(ON)
            self.sim.clock(5000)
            self.kairo.turn_clock(5000)
            self.shown(n + 1)
        wait_for(lambda: self.calls()[-1] == (ON, True), "a fresh ticket to be shown with")
        refused = [c for c in self.calls() if not c[1]]
        self.assertLessEqual(len(refused), 2)
        self.ask("/stop")
        wait_for(lambda: OFF in self.states(), "the indicator to be taken away")
        self.assertEqual(self.calls()[-1], (OFF, True))
        self.assertEqual(self.states().count(OFF), 1)
        self.assertGreaterEqual(len(self.sim.requests("getconfig")), 2)

    def test_it_costs_no_send(self):
        self.kairo.start()
        self.runs({"text": "done", "first_ms": 300})
        self.sim.wait("sent", 1)
        self.taken_away()
        self.assertEqual(self.kairo.status()["sends"]["used"], 1)

    def test_strangers_and_commands_see_none(self):
        self.kairo.start()
        self.sim.inject("hello", **{"from": "stranger@im.wechat"})
        self.ask("/status")
        self.assertEqual(self.calls(), [])
        self.assertEqual(self.sim.requests("getconfig"), [])


class Faults(Typing):
    """Each fault of the two endpoints, for ever: the answer is what it would be, and nothing is said about it."""

    faults = (("502", {}), ("524", {}), ("404", {}), ("drop", {}), ("reset", {}), ("cut", {}), ("empty", {}),
              ("stall", {}), ("slow", {"ms": 1}), ("body", {"body": "[]"}), ("body", {"body": "<html>"}),
              ("body", {"body": "{\"ret\":\"x\"}"}), ("body", {"body": "{\"typing_ticket\":7}"}),
              ("body", {"body": "{\"typing_ticket\":\"\"}"}), ("body", {"body": "{\"typing_ticket\":\"a\\nb\"}"}),
              ("body", {"body": {"typing_ticket": "x" * 100000}}), ("ret", {"ret": -2}), ("ret", {"errcode": -4,
              "errmsg": "GetTypingTicket rpc failed"}), ("ret", {"ret": -1}), ("expired", {}),
              ("pad", {"bytes": 3 << 20}), ("redirect", {"name": "http://127.0.0.1:1/"}))

    def each(self, endpoint):
        people = ["person%d@im.wechat" % n for n in range(len(self.faults))]
        self.kairo.config(allowed_users=people)
        self.sim.script({"text": "done"}, repeat=True)
        self.kairo.start()
        for (kind, more), person in zip(self.faults, people):
            with self.subTest(kind=kind, **{k: str(v)[:40] for k, v in more.items()}):
                self.sim.clear_faults()
                self.sim.fault(endpoint, kind, times=-1, **more)
                sent = len(self.sim.sent())
                self.sim.inject("work", **{"from": person})
                self.sim.wait("sent", sent + 1)
                self.assertEqual(self.sim.texts(to=person), ["done"])
        self.sim.clear_faults()
        self.kairo.idle()
        s = self.kairo.status()
        self.assertEqual((s["link"]["state"], s["refused"], s["unknown"], s["parked"]), ("up", 0, 0, 0))
        self.assertEqual(len(self.sim.texts()), len(people))

    def test_of_getconfig(self):
        self.each("getconfig")

    def test_of_sendtyping(self):
        self.each("sendtyping")


if __name__ == "__main__":
    main()
