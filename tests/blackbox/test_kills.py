"""Killed at random moments, over and over: every message is answered exactly once, or its sender is told that it was
interrupted; none is lost, none runs twice. The seed is printed; KAIRO_SEED runs the same choices again."""

import os
import random
import subprocess
import sys
import time

from harness import HOOKS, Case, main, wait_for

ROUNDS = 40
MESSAGES = 120  # the simulator remembers 256 questions to the model
SECONDS = 45  # however slow the machine is
PEOPLE = ["person%d@im.wechat" % n for n in range(6)]  # sends to one person are a second apart
PLACES = ("inbox.commit", "inbox.commit:2", "cursor", "turn.start", "send.ack")


class Kills(Case):
    hold_ms = 100

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("KAIRO_SEED") or time.time_ns() % 10**9)
        self.random = random.Random(self.seed)
        sys.stderr.write("KAIRO_SEED=%d " % self.seed)
        self.kairo.config(allowed_users=PEOPLE, queue_limit=1000)
        os.makedirs(os.path.join(self.kairo.workspace, "d"))
        self.told = []  # text of each message

    def say(self, n):
        for _ in range(min(n, MESSAGES - len(self.told))):
            text = "task-%03d" % len(self.told)
            self.told.append(text)
            self.sim.inject(text, **{"from": self.random.choice(PEOPLE)})

    def round(self):
        """Start, let messages come, and kill: at a place in the program, or whenever it is."""
        halt = {"KAIRO_TEST_HALT": self.random.choice(PLACES)} if HOOKS and self.random.random() < 0.4 else None
        self.say(self.random.randrange(3))
        p = self.kairo.popen("run", env=halt, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + self.random.uniform(0.02, 0.5) * (3 if HOOKS else 1)
        while time.monotonic() < end and p.poll() is None:
            if self.random.random() < 0.1:
                self.say(1)
            time.sleep(0.02)
        p.kill()
        p.wait()
        self.kairo.children.remove(p)

    def test_nothing_is_lost_and_nothing_runs_twice(self):
        # What the model does differs from task to task: at once, late, in pieces, with a tool on the way.
        self.sim.script(*({"text": "ok"} if n % 3 else {"text": "slowly said", "first_ms": 60, "chunk": 2, "delay_ms": 20}
                          if n % 2 else {"tool_calls": [{"name": "list_dir", "arguments": {"path": "d"}}]}
                          for n in range(600)), {"text": "ok"}, repeat=True)
        end = time.monotonic() + SECONDS
        rounds = 0
        while rounds < ROUNDS and time.monotonic() < end:
            self.round()
            rounds += 1
        sys.stderr.write("%d rounds, %d messages " % (rounds, len(self.told)))
        self.assertGreater(rounds, 5)
        self.kairo.start()
        wait_for(lambda: not self.kairo.status()["unsent"] and self.settled(), "all to be settled", 90)
        self.look()

    def settled(self):
        s = self.kairo.status()
        self.kairo.hurry()  # what is spaced and retried
        return s["turn"] is None and not s["queue"]["waiting"] and not s["unsent"] and \
            self.kairo.db("SELECT count(*) FROM channel_inbox")[0][0] == len(self.told)

    def look(self):
        rows = {text: state for text, state in self.kairo.db("SELECT text, state FROM channel_inbox")}
        self.assertEqual(sorted(rows), self.told)
        begun = {}
        for r in self.sim.model_requests():
            messages = r["body"]["messages"]
            if messages[-1]["role"] == "user":
                begun[messages[-1]["content"]] = begun.get(messages[-1]["content"], 0) + 1
        # Each that ran, ran once; each that did not was told (a turn may be cut down before the model hears of it).
        self.assertEqual({t: n for t, n in begun.items() if n > 1}, {})
        self.assertLessEqual(set(begun), set(self.told))
        sent = self.sim.sent()
        shown = [d["text"] for d in sent]
        # Parked, or given up when three tries were cut down: /more gives either.
        kept = [text for text, client in self.kairo.db("SELECT text, client_id FROM channel_outbox WHERE state IN (5, 6)")
                if client not in {d["client_id"] for d in sent}]
        for text, state in rows.items():
            interrupted = [t for t in shown + kept if text in t and "/retry" in t]
            if state == 2:  # done
                self.assertEqual(begun.get(text), 1, text)
                self.assertEqual(interrupted, [], text)
            else:
                self.assertEqual(state, 4, "%s is neither done nor interrupted" % text)
                self.assertEqual(len(interrupted), 1, "%s: %s" % (text, interrupted))
        # Every answer of a task that is done went out, or waits for its reader; none twice.
        answers = self.kairo.db("SELECT i.text, o.client_id, o.state FROM channel_inbox i LEFT JOIN channel_outbox o"
                                " ON o.turn = i.turn AND o.kind = 3 WHERE i.state = 2")
        self.assertEqual(len({text for text, _, _ in answers}), len(answers))
        clients = [d["client_id"] for d in sent]
        self.assertEqual(len(set(clients)), len(clients))
        for text, client, state in answers:
            self.assertTrue(client in clients or state in (5, 6), "the answer to %s: %s, %s" % (text, client, state))
        self.assertEqual([d for d in sent if d["attempts"] > 3], [])


if __name__ == "__main__":
    main()
