"""kill -9 at each step of a message's way: nothing lost, no task run twice."""

import os
import re
import signal

from harness import Case, alive, main, needs_hooks, stalled, wait_for


class Crash(Case):
    def dies(self, pid):
        wait_for(lambda: not alive(pid), "the daemon to stop dead")

    def halted_at(self, where, text="do it", **message):
        """Start a daemon that stops dead at `where`, send text, and wait until it has."""
        out = self.kairo.start(env={"KAIRO_TEST_HALT": where}).out
        pid = int(re.search(r"pid (\d+)", out).group(1))
        self.sim.inject(text, **message)
        self.dies(pid)

    @needs_hooks
    def test_before_the_inbox_commit(self):
        self.sim.script({"text": "done"}, repeat=True)
        self.halted_at("inbox.commit")
        self.assertEqual(self.sim.counts()["model_requests"], 0)
        self.kairo.start()
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertEqual(self.sim.texts(), ["done"])
        self.assertEqual(len(self.sim.model_requests()), 1)

    @needs_hooks
    def test_before_the_cursor_moves(self):
        self.sim.script({"text": "done"}, repeat=True)
        # A first daemon moves the cursor past what is no message, so that the next one stops at ours.
        self.kairo.start()
        self.sim.wait("polls", 2)
        self.kairo.stop()
        self.halted_at("cursor")
        self.kairo.start()
        # The message is fetched twice and handled once; it may have been answered the first time already.
        self.sim.wait("fetched", 2)
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertEqual(self.sim.texts(), ["done"])
        self.assertEqual(len(self.sim.model_requests()), 1)

    @needs_hooks
    def test_before_the_turn_starts(self):
        self.sim.script({"text": "done"}, repeat=True)
        self.halted_at("turn.start")
        self.kairo.start()
        self.sim.wait("sent", 1)
        self.kairo.idle()
        # It may have acted: the sender is told and asked, nothing runs by itself.
        self.assertEqual(self.sim.model_requests(), [])
        self.assertIn("/retry", self.sim.texts()[0])
        self.assertEqual(self.ask("/retry")[-1], "done")
        self.kairo.idle()
        self.assertEqual(len(self.sim.model_requests()), 1)
        self.assertEqual(self.sim.model_requests()[0]["body"]["messages"][-1]["content"], "do it")

    @needs_hooks
    def test_between_send_and_acknowledgement(self):
        self.sim.script({"text": "done"}, repeat=True)
        self.halted_at("send.ack")
        self.assertEqual(self.sim.texts(), ["done"])
        self.kairo.start()
        self.kairo.idle()
        shown = self.sim.sent()
        self.assertEqual([d["text"] for d in shown], ["done"])
        # Sent again with the same client id, which the server shows once.
        self.assertEqual(shown[0]["attempts"], 2)
        self.assertEqual(len(self.sim.model_requests()), 1)

    def test_in_the_middle_of_an_answer(self):
        self.kairo.start()
        self.sim.script(stalled(), {"text": "again"})
        self.sim.inject("long work")
        self.sim.wait("model_open", 1)
        self.kairo.kill()
        self.kairo.start()
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertEqual(len(self.sim.model_requests()), 1)
        self.assertIn("/retry", self.sim.texts()[0])
        self.assertEqual(self.ask("/retry")[-1], "again")

    def test_waiting_messages_outlive_a_kill(self):
        self.kairo.start()
        self.sim.script(stalled(), {"text": "two"}, {"text": "three"})
        self.sim.inject("one")
        self.sim.wait("model_open", 1)
        self.sim.inject("second")
        self.sim.inject("third")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 2, "two waiting messages")
        self.kairo.kill()
        self.kairo.start()
        self.kairo.idle()
        texts = self.sim.texts()
        self.assertEqual(texts[-2:], ["two", "three"])
        self.assertEqual(len(texts), 3)

    def test_a_repeat_after_a_kill_is_known(self):
        self.kairo.start()
        self.sim.script({"text": "done"}, repeat=True)
        message = self.sim.inject("once")[0]
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.kairo.kill()
        self.kairo.start()
        fetched = self.sim.counts()["fetched"]
        for form in ("same", "other_token"):
            self.sim.inject(dup_of=message["id"], form=form)
        self.sim.wait("fetched", fetched + 2)
        # The same words under a new id are a new wish.
        self.sim.inject("once")
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.assertEqual(self.sim.texts(), ["done", "done"])
        self.assertEqual(len(self.sim.model_requests()), 2)

    def test_five_kills_in_a_burst_lose_nothing(self):
        """Killed whenever the next answer has been shown; every message is answered or reported."""
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        self.sim.inject("message {n}", count=12)
        for n in range(1, 6):
            self.sim.wait("sent", n)
            self.kairo.kill()
            self.kairo.start()
        self.kairo.idle()
        answered = [t for t in self.sim.texts() if t.startswith("ok")]
        told = [t for t in self.sim.texts() if "/retry" in t]
        asked = [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]
        self.assertEqual(len(asked), len(set(asked)), "a task ran twice: %s" % asked)
        self.assertGreaterEqual(len(answered) + len(told) + self.kairo.status()["parked"], 12)
        rows = self.kairo.db("select count(*) from channel_inbox where state in (0, 1)")
        self.assertEqual(rows, [(0,)])


class Signals(Case):
    def test_sigterm_ends_a_daemon_in_the_middle_of_a_turn(self):
        self.kairo.start()
        self.sim.script(stalled())
        self.sim.inject("long work")
        self.sim.wait("model_open", 1)
        pid = self.kairo.pid()
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not alive(pid), "the daemon to end")
        self.sim.wait("notifystop", 1)
        self.kairo.run("status", code=3)


if __name__ == "__main__":
    main()
