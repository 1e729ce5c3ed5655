"""Trials of whole turns: strict servers, long tools, answers that are hard to send, and what must be nowhere to be seen."""

import json
import os
import re
import signal

from harness import HOOKS, STOP_MS, Case, Sim, alive, command_of, descendants, main, needs_hooks, stalled, wait_for
from terminal import Terminal


def call(name, **arguments):
    """A model step that calls one tool."""
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


class Headers(Case):
    login = False

    def test_every_call_names_its_client(self):
        """A server that answers -14 to whoever does not say which app, and which version, it is."""
        self.sim.set(strict_headers=1)
        self.kairo.run("login", "--base-url", self.sim.api)
        self.kairo.start()
        self.sim.script({"text": "ok", "first_ms": 300})
        self.assertEqual(self.ask("hello"), ["ok"])
        self.kairo.run("send", "by the way")
        self.kairo.idle()
        self.kairo.stop()
        asked = self.sim.requests()
        self.assertLessEqual({"get_bot_qrcode", "get_qrcode_status", "notifystart", "getupdates", "getconfig", "sendtyping",
                              "sendmessage", "notifystop"}, {r["endpoint"] for r in asked})
        for r in asked:
            self.assertNotIn("-14", json.dumps(r["answer"]), r["endpoint"])


class Answers(Case):
    """What is hard to bring home."""

    def shown(self):
        return [t.replace("(more follows: send /more)", "").strip() for t in self.sim.texts()]

    def settled(self):
        s = self.kairo.status()
        return s["turn"] is None and not s["queue"]["waiting"] and not s["unsent"]

    def test_twenty_five_tools_and_lines_of_progress_leave_room_for_the_answer(self):
        steps = [dict(call("list_dir", path="d%d" % n), text="Looking into d%d ..." % n) for n in range(25)]
        for n in range(25):
            os.mkdir(os.path.join(self.kairo.workspace, "d%d" % n))
        self.sim.script(*steps, {"text": "All twenty-five are empty."})
        self.kairo.start()
        self.sim.inject("look into all of them")
        wait_for(lambda: self.sim.counts()["model_requests"] == 26, "twenty-five tools")
        wait_for(self.settled, "the answer")
        self.assertEqual(self.sim.counts()["model_requests"], 26)
        self.assertIn("All twenty-five are empty.", self.sim.texts()[-1])
        self.assertLessEqual(len(self.sim.requests("sendmessage")), 8)
        self.assertEqual([d for d in self.sim.sent(all=1) if not d["accepted"]], [])

    def test_a_long_answer_whose_second_part_fails_twice(self):
        text = "".join("第%04d句话说明一件事情。" % n for n in range(726))[:9446]
        self.assertEqual(len(text), 9446)
        self.sim.script({"text": text})
        for kind, more in (("drop", {"process": True}), ("502", {})):
            self.sim.fault("sendmessage", kind, after=1, **more)
        self.kairo.start()
        self.sim.inject("说来话长")
        wait_for(lambda: len("".join(self.shown())) >= len(text), "all parts")
        wait_for(self.settled, "the last acknowledgement")
        self.assertEqual("".join("".join(self.shown()).split()), text)
        self.assertEqual(len(self.sim.texts()), len(set(self.sim.texts())))
        s = self.kairo.status()
        self.assertEqual((s["parked"], s["unknown"], s["refused"]), (0, 0, 0))
        self.assertEqual(len(self.sim.requests("sendmessage")), len(self.sim.texts()) + 2)

    def test_an_only_answer_that_three_times_cannot_be_sent(self):
        for process in (False, True):
            with self.subTest(arrived=process):
                shown = len(self.sim.texts())
                self.sim.script({"text": "the only answer %s" % process})
                self.sim.fault("sendmessage", "502", times=3, process=process)
                if not process:
                    self.kairo.start()
                tried = len(self.sim.requests("sendmessage"))
                self.sim.inject("question")
                wait_for(lambda: len(self.sim.requests("sendmessage")) >= tried + 3, "three tries")
                wait_for(self.settled, "the part to be settled")
                # Kept, and offered at the next occasion, whatever became of it on the way.
                wait_for(lambda: any("/more" in t for t in self.sim.texts()[shown:]), "the offer")
                self.sim.inject("/more")
                wait_for(lambda: any("the only answer %s" % process in t for t in self.sim.texts()[shown:]), "the answer")
                wait_for(self.settled, "all to be settled")
                self.assertEqual(self.kairo.status()["parked"], 0)
                self.assertLessEqual(sum("the only answer" in t for t in self.sim.texts()[shown:]), 1)

    def test_ids_are_kept_digit_by_digit(self):
        ids = ["9007199254740993", "9007199254740992", "18446744073709551615", "9223372036854775808", "7"]
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        for n, i in enumerate(ids):
            self.sim.inject("message %d" % n, id=i, id_form="string" if n % 3 == 2 else "number")
        wait_for(lambda: self.sim.counts()["model_requests"] == len(ids), "a task for each")
        wait_for(self.settled, "all to be answered")
        self.assertEqual([i for i, in self.kairo.db("SELECT id FROM channel_inbox ORDER BY seq")], ids)
        # The other form is the same id.
        fetched = self.sim.counts()["fetched"]
        for n, i in enumerate(ids):
            self.sim.inject("message %d" % n, id=i, id_form="number" if n % 3 == 2 else "string")
        self.sim.wait("fetched", fetched + len(ids))
        self.sim.inject("the end")
        wait_for(lambda: self.sim.counts()["model_requests"] > len(ids), "the message behind")
        wait_for(self.settled, "all to be answered")
        self.assertEqual(self.sim.counts()["model_requests"], len(ids) + 1)


class Batch(Case):
    @needs_hooks
    def test_a_batch_of_five_is_cut_down_in_the_middle(self):
        """Two are stored, then the power fails: no place in the stream is kept past the batch, and all five are done once."""
        for where in ("inbox.commit:3", "cursor"):
            with self.subTest(where):
                self.sim.script({"text": "ok"}, repeat=True)
                self.kairo.start()
                self.ask("/pause")  # the place is kept a moment after the messages: no task begins in it
                self.sim.wait("polls", self.sim.counts()["polls"] + 2)
                self.kairo.stop()
                before = self.sim.counts()["model_requests"]
                cursor = self.cursor()
                self.sim.inject("task {n} of " + where, count=5)
                out = self.kairo.start(env={"KAIRO_TEST_HALT": where}).out
                pid = int(re.search(r"pid (\d+)", out).group(1))
                wait_for(lambda: not alive(pid), "the daemon to stop dead")
                self.assertEqual(self.cursor(), cursor)
                stored = 2 if ":" in where else 5
                self.assertEqual(self.kairo.db("SELECT count(*) FROM channel_inbox WHERE text LIKE ?", "%" + where),
                                 [(stored,)])
                self.assertEqual(self.sim.counts()["model_requests"], before)
                self.kairo.start()
                self.sim.inject("/resume")
                wait_for(lambda: self.sim.counts()["model_requests"] >= before + 5, "five tasks")
                self.kairo.idle()
                asked = [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()][before:]
                self.assertEqual(asked, ["task %d of %s" % (n, where) for n in range(1, 6)])
                self.assertNotEqual(self.cursor(), cursor)
                self.kairo.stop()

    def cursor(self):
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            return json.load(f)["cursor"]


class Tools(Case):
    """A tool that takes long, and does not end by itself."""

    def begin(self):
        for n in range(30):
            with open(os.path.join(self.kairo.workspace, "big%d" % n), "w") as f:
                f.write(("y" + "x" * 100 + "\n") * 10000)
        # No letter that must be there, no place to begin at: each line costs what it can.
        self.sim.script(call("grep", pattern="x*x*[qz]"), {"text": "found"}, {"text": "next"})
        self.kairo.start()
        self.pid = self.kairo.pid()
        self.sim.inject("search for it")
        self.helpers = wait_for(lambda: [p for p in descendants(self.pid) if self.is_tool(p)], "the tool to run")

    def is_tool(self, pid):
        return "call" in command_of(pid)  # whatever path it was started by

    def gone(self):
        wait_for(lambda: not any(alive(p) for p in self.helpers), "the tool to be gone")

    def test_stop_ends_it(self):
        self.begin()
        self.sim.inject("waits")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "the next message")
        before = len(self.sim.sent())
        self.sim.inject("/stop")
        self.sim.wait("sent", before + 1, STOP_MS / 1000)
        answer = self.sim.texts()[before]
        self.assertIn("Stopped", answer)
        self.assertIn("1 still waiting", answer)
        self.gone()
        self.kairo.idle()
        self.assertEqual(len(self.sim.texts()), 2)
        self.assertEqual(self.sim.counts()["model_requests"], 2)
        # What the model is shown of the stopped call is whole: a result for every call.
        messages = self.sim.model_requests()[-1]["body"]["messages"]
        asked = [c["id"] for m in messages for c in m.get("tool_calls") or []]
        self.assertEqual([m["tool_call_id"] for m in messages if m["role"] == "tool"], asked)

    def test_sigterm_ends_it_and_the_next_start_is_clean(self):
        self.begin()
        os.kill(self.pid, signal.SIGTERM)
        wait_for(lambda: not alive(self.pid), "the daemon to end")
        self.gone()
        self.kairo.run("status", code=3)
        self.kairo.start()
        self.kairo.idle()
        self.assertEqual(self.sim.counts()["model_requests"], 1)
        self.assertTrue(any("/retry" in t for t in self.sim.texts()))

    def test_kill_ends_it(self):
        self.begin()
        self.kairo.kill(self.pid)
        self.gone()


class Control(Case):
    """Every command in every state: what it says, and what it does."""

    brisk = True
    commands = ("/help", "/status", "/queue", "/more", "/retry", "/pause", "/resume", "/clear", "/new", "/stop", "/stop all")

    def setUp(self):
        super().setUp()
        self.kairo.config(queue_limit=2)
        self.kairo.start()

    def enter(self, state):
        """idle, paused (one waits), running (one waits) or full (one runs, two wait)."""
        self.kairo.request("POST", "/v1/stop", {"all": True})
        self.kairo.request("POST", "/v1/resume")
        self.idle()
        self.sim.script(stalled("begun"), repeat=True)
        if state == "paused":
            self.kairo.request("POST", "/v1/pause")
        if state in ("running", "full"):
            self.sim.inject("work")
            wait_for(lambda: self.kairo.status()["turn"], "the turn")
        n = {"idle": 0, "paused": 1, "running": 1, "full": 2}[state]
        if n:
            self.sim.inject("wait {n}", count=n) if n > 1 else self.sim.inject("wait 1")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == n, "%d to wait" % n)
        return n

    def after(self, waiting, running, paused):
        def reached():
            s = self.kairo.status()
            return (s["queue"]["waiting"], s["turn"] is not None, s["paused"]) == (waiting, running, paused)
        wait_for(reached, "waiting %d, running %s, paused %s" % (waiting, running, paused))

    def trial(self, state):
        runs, paused = state in ("running", "full"), state == "paused"
        for command in self.commands:
            with self.subTest(state=state, command=command):
                n = self.enter(state)
                asked = self.sim.counts()["model_requests"]
                answer = self.ask(command)[0]
                self.assertNotIn("begun", answer)
                if command == "/pause":
                    self.after(n, runs, True)
                elif command == "/resume":
                    self.after(0 if paused else n, runs or paused, False)
                elif command == "/clear":
                    self.assertIn(str(n) if n else "", answer)
                    self.after(0, runs, paused)
                elif command == "/stop":
                    self.assertIn("Stopped" if runs else "Nothing", answer)
                    self.after(n - 1 if runs else n, runs, paused)
                elif command == "/stop all":
                    self.after(0, False, paused)
                elif command == "/retry" and state == "running":
                    self.after(n + 1, runs, paused)  # the task stopped before this one
                elif command == "/retry":
                    self.assertIn("not taken" if state == "full" else "no failed or interrupted message", answer)
                else:
                    self.after(n, runs, paused)
                if command == "/queue":
                    for i in range(1, n + 1):
                        self.assertIn("wait %d" % i, answer)
                if command == "/status":
                    self.assertIn("%d of 2" % n, answer)
                if not runs and not paused and command != "/retry":
                    self.assertEqual(self.sim.counts()["model_requests"], asked)

    def test_idle(self):
        self.trial("idle")

    def test_paused(self):
        self.trial("paused")

    def test_running(self):
        self.trial("running")

    def test_full(self):
        self.trial("full")


class Secrets(Case):
    """At the chattiest level, with everything failing that can."""

    def secrets(self):
        """Every token, ticket and cursor that went over the wire, the key of the model, the codes of logins."""
        found = {"the model's key": {"sk-modelkey-0123456789abcdef"}}

        def note(name, value):
            if isinstance(value, str) and len(value) >= 8:
                found.setdefault(name, set()).add(value)

        def look(value):
            if isinstance(value, dict):
                for k, v in value.items():
                    if k in ("bot_token", "context_token", "typing_ticket", "get_updates_buf", "qrcode", "local_token_list"):
                        for x in v if isinstance(v, list) else [v]:
                            note(k, x)
                    look(v)
            elif isinstance(value, list):
                for v in value:
                    look(v)
        for r in self.sim.requests():
            look(r["body"])
            look(r["answer"])
            for name, value in r["headers"].items():
                if name.lower() == "authorization":
                    note("bot_token", value.split(" ", 1)[1])
        return found

    def test_no_secret_leaves_its_file(self):
        outputs = []

        def run(*args, code=None, stdin=b""):
            p = self.kairo.run(*args, code=code, stdin=stdin)
            outputs.append((" ".join(args), p.out + p.err))
        run("config", "set", "model.api_key_file", os.path.join(self.kairo.home, "model.key"))
        with open(os.path.join(self.kairo.home, "model.key"), "w") as f:
            f.write("sk-modelkey-0123456789abcdef\n")
        os.chmod(f.name, 0o600)
        run("login", "--force", "--base-url", self.sim.api)
        self.sim.script({"text": "ok", "first_ms": 200}, call("list_dir", path="."), {"text": "done"},
                        {"status": 401, "body": {"error": {"message": "bad key sk-modelkey-0123456789abcdef"}}}, {"text": "ok"},
                        repeat=True)
        self.kairo.start()
        for endpoint in ("getupdates", "sendmessage", "getconfig", "sendtyping", "notifystart"):
            for kind, more in (("status", {"status": 500, "body": "<html>%s</html>" % ("x" * 50)}), ("reset", {}),
                               ("ret", {"ret": -1, "errmsg": "nope"}))[:None if HOOKS else 1]:  # or the pauses are long
                self.sim.fault(endpoint, kind, **more)
        for n in range(4):
            self.sim.inject("message %d" % n)
            wait_for(lambda: self.kairo.status()["handled"] > n, "task %d" % n)
        wait_for(lambda: not self.kairo.status()["unsent"],
                 "all to be sent")
        for command in ("/status", "/queue", "/help"):
            self.sim.inject(command)
        run("status")
        run("status", "--json")
        run("doctor")
        run("send", "hello")
        run("ask", "what is this?")
        run("restart")
        run("logs", "-n", "1000")
        run("config", "list")
        # A server whose certificate nobody has signed, in the account's place.
        other = Sim(os.path.join(self.folder, "sim", "other"), "--tls")
        self.addCleanup(other.close)
        path = os.path.join(self.kairo.dir, "account.json")
        with open(path) as f:
            text = f.read()
        self.kairo.stop()
        with open(path, "w") as f:
            f.write(text.replace(self.sim.api, other.api))
        self.kairo.start()
        wait_for(lambda: "TLS" in self.kairo.log(), "the failure")
        run("doctor")
        run("logout")
        self.look_for(self.secrets(), outputs)

    def look_for(self, secrets, outputs):
        for name in ("bot_token", "context_token", "typing_ticket", "get_updates_buf", "qrcode"):
            self.assertTrue(secrets.get(name), "no %s was seen at all" % name)
        texts = list(outputs)
        for folder, _, files in os.walk(self.folder):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.isfile(path) and not re.search(r"/(account\.json|state\.db(-wal|-shm)?|model\.key)$|/sim/", path):
                    with open(path, "rb") as f:
                        texts.append((path, f.read().decode(errors="replace")))
        texts += [("the phone", t) for t in self.sim.texts()]
        texts += [("the model", json.dumps(r["body"])) for r in self.sim.model_requests()]
        for name, values in secrets.items():
            for value in values:
                for where, text in texts:
                    if name == "qrcode" and where.startswith("login"):
                        continue  # the code's link is meant to be seen
                    self.assertNotIn(value, text, "%s in %s" % (name, where))


class Hangup(Case):
    """kairo run in a terminal."""

    def begin(self, *args):
        t = Terminal(self.kairo, *args)
        wait_for(lambda: self.kairo.run("status", code=None).returncode == 0, "the daemon to serve")
        return t

    def test_it_ends_with_the_terminal(self):
        t = self.begin("run")
        os.close(t.master)
        os.close(t.slave)
        self.assertEqual(t.process.wait(60), 0)
        self.sim.wait("notifystop", 1)
        self.kairo.run("status", code=3)

    def test_a_signal_with_the_terminal_still_there_is_a_reload(self):
        t = self.begin("run")
        self.addCleanup(t.close)
        self.kairo.config(queue_limit=7)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 7, "the new limit")
        self.assertIsNone(t.process.poll())
        t.interrupt()
        self.assertEqual(t.code(), 0)


if __name__ == "__main__":
    main()
