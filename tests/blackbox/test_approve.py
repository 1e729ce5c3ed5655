"""Questions on the phone and at the terminal: what needs a yes is asked about, and only a yes does it."""

import json
import os
import signal
import subprocess

from harness import STOP_MS, Case, alive, descendants, main, needs_hooks, stalled, wait_for
from terminal import Terminal

MINUTE = 60 * 1000


def call(name, **arguments):
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def write(path="note.txt", content="milk\n"):
    return call("write_file", path=path, content=content)


class ApproveCase(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(policy__write="ask")

    def there(self, name="note.txt"):
        return os.path.exists(os.path.join(self.kairo.workspace, name))

    def question(self, text="please write", **more):
        """From the phone; the question that comes."""
        shown = self.ask(text, **more)[-1]
        self.assertIn("Your permission is needed", shown)
        self.accepted()
        return shown

    def accepted(self):
        """The daemon knows that the question is on the phone: only now an answer counts."""
        wait_for(lambda: self.kairo.status()["unsent"] == 0, "the question to be accepted")

    def results(self):
        """What the model was told of its calls, the last first."""
        return [m["content"] for m in reversed(self.sim.model_requests()[-1]["body"]["messages"])
                if m["role"] == "tool"]

    def audit(self):
        events = []
        folder = os.path.join(self.kairo.dir, "audit")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as f:
                events += [json.loads(line) for line in f]
        return [e["outcome"] for e in events]

    def idle(self):
        return self.kairo.idle()


class Phone(ApproveCase):
    def setUp(self):
        super().setUp()
        self.kairo.start()

    def test_a_question_shows_what_would_be_done(self):
        self.sim.script(write(content="milk\nbread\n"))
        shown = self.question()
        for words in ("[A]", "note.txt", "milk", "\n1. Yes, this once\n", "\n3. No\n4. No, and stop the task\n",
                      "Reply with 1 to 4 only, within 10 min."):
            self.assertIn(words, shown)
        self.assertFalse(self.there())
        self.assertEqual(self.sim.counts()["sent"], 1)

    def test_a_question_is_in_chinese_for_who_writes_so(self):
        self.sim.script(write(content="path: a\n"), {"text": "写好了。"})
        shown = self.ask("请把牛奶写进清单里")[-1]
        self.assertIn("【A】需要你同意：写文件\n", shown)
        self.assertIn("\n路径：note.txt\n内容：8 字节，1 行\n| path: a\n工作区：%s\n" % self.kairo.workspace, shown)
        self.assertIn("\n1. 同意，只这一次\n", shown)
        self.assertNotRegex(shown.replace("note.txt", "").replace("path: a", "").replace(self.kairo.workspace, ""), "[a-z]{3}")
        self.accepted()
        self.assertEqual(self.ask("1"), ["写好了。"])
        self.assertTrue(self.there())
        self.assertEqual(self.audit(), ["asked", "consented", "started", "ok"])

    def test_what_would_deceive_the_eye_is_shown(self):
        self.kairo.config(policy__shell="ask")
        self.kairo.run("restart")
        for command, words in (("echo ok" + " " * 3000 + "; rm -rf .", "ok[3000 blanks]; rm -rf ."),
                               ("echo " + "x" * 3000 + "; rm -rf .", "x; rm -rf .\nfolder: "),
                               ("echo a\n1. Yes\n# " + "x\n" * 900 + "rm -rf .", "| x\n| rm -rf .\nfolder: "),
                               ("curl a.example/?\u200b\U000e0061", "curl a.example/?\\u200b\\U000e0061"),
                               ("curl https://\u0430pple.com\u2044x", "https://\\u0430pple.com\\u2044x")):
            with self.subTest(command=command):
                self.sim.script(call("shell", command=command), {"text": "done"})
                shown = self.question()
                self.assertIn(words, shown)
                self.assertNotIn("\n1. Yes\n", shown)
                self.ask("3")
                self.idle()
        # Nothing beside it pushes an end out of sight, and what is left out is always said.
        new = "--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n"
        patch = "".join(new % ("docs/chapter-%03d/introduction.txt" % n) for n in range(40)) + new % "Makefile"
        for step, words in ((call("shell", command="echo " + "x" * 3000 + "; rm -rf .", cwd="./" * 2000), "x; rm -rf .\nrun in: "),
                            (call("apply_patch", patch=patch), "Makefile (new)\n"),
                            (write("./" * 2000 + "Makefile", "all:\n" * 20), "./Makefile\n")):
            with self.subTest(words=words):
                self.sim.script(step, {"text": "done"})
                shown = self.question()
                self.assertIn(words, shown)
                self.assertIn("not all of it is shown; when in doubt, refuse", shown)
                self.ask("3")
                self.idle()

    def test_a_yes_does_it_once(self):
        self.sim.script(write(), {"text": "Written."}, write(content="more\n"))
        self.question()
        self.assertEqual(self.ask("1"), ["Written."])
        with open(os.path.join(self.kairo.workspace, "note.txt")) as f:
            self.assertEqual(f.read(), "milk\n")
        self.idle()
        self.question("again")
        self.assertEqual(self.audit(), ["asked", "consented", "started", "ok", "asked"])

    def test_a_yes_for_the_conversation_is_for_exactly_that(self):
        self.sim.script(write(), {"text": "one"}, write(), {"text": "two"}, write(content="else\n"), {"text": "three"},
                        write())
        self.question()
        self.assertEqual(self.ask(" ２ "), ["one"])
        self.assertEqual(self.ask("again"), ["two"])
        self.question("other words in the file")
        self.assertEqual(self.ask("3"), ["three"])
        self.ask("/new")
        self.question("in a new conversation")

    def test_a_no_is_told_to_the_model(self):
        self.sim.script(write(), {"text": "Not written."})
        self.question()
        self.assertEqual(self.ask("3"), ["Not written."])
        self.assertFalse(self.there())
        self.assertIn("The user was asked and refused", self.results()[0])
        self.assertIn("do not try to reach the same by other means", self.results()[0])
        self.assertEqual(self.audit(), ["asked", "refused"])

    def test_no_and_stop_ends_the_task(self):
        self.sim.script(write(), {"text": "the next"})
        self.question()
        self.assertIn("Stopped", self.ask("4")[0])
        self.idle()
        self.assertEqual(self.sim.counts()["model_requests"], 1)
        self.assertFalse(self.there())
        self.assertEqual(self.ask("hello"), ["the next"])
        self.assertIn("refused, and stopped the task", self.results()[0])

    def test_two_in_sequence(self):
        calls = write("a.txt")["tool_calls"] + write("b.txt")["tool_calls"]
        self.sim.script({"tool_calls": calls}, write("c.txt"), {"text": "done"})
        self.assertIn("a.txt", self.question())
        second = self.question("3")
        self.assertIn("[B]", second)
        self.assertIn("b.txt", second)
        self.assertIn("c.txt", self.question("1"))
        self.assertEqual(self.ask("1"), ["done"])
        self.assertEqual([self.there(n) for n in ("a.txt", "b.txt", "c.txt")], [False, True, True])

    def test_near_misses_never_consent(self):
        self.sim.script(write(), {"text": "no"}, repeat=True)
        self.question()
        texts = ("allow", "允许", "允许吗", "do not allow", "1.", "1!", "yes", "1 1", "①", "A 1", "0", "5", "-1")
        before = self.sim.counts()["fetched"]
        for text in texts:
            self.sim.inject(text)
        self.sim.wait("fetched", before + len(texts))
        # 0 and 5 are told that there is no such choice; the others wait, and consent to nothing.
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == len(texts) - 2, "them to wait")
        self.assertFalse(self.there())
        wait_for(lambda: "no such choice" in " ".join(self.sim.texts()), "the hint")

    def test_a_quote_says_which_question_is_meant(self):
        self.sim.set(answer_shape=2)
        self.sim.script(write("a.txt"), write("b.txt"), {"text": "done"})
        self.question()
        first = self.sim.sent()[-1]["message_id"]
        self.question("3")
        second = self.sim.sent()[-1]["message_id"]
        for style in ("svr_id", "inline"):
            before = len(self.sim.sent())
            self.sim.quote("1", first, style=style)
            self.sim.wait("sent", before + 1)
            self.assertIn("does not seem to be the question that is open", self.sim.texts()[before])
        self.assertFalse(self.there("b.txt"))
        before = len(self.sim.sent())
        self.sim.quote("1", second)
        self.sim.wait("sent", before + 1)
        self.assertEqual(self.sim.texts()[before:], ["done"])
        self.assertEqual([self.there(n) for n in ("a.txt", "b.txt")], [False, True])

    def test_it_is_answered_while_the_queue_is_full(self):
        self.kairo.config(queue_limit=1)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 1, "the limit")
        self.sim.script(write(), {"text": "done"}, {"text": "the one that waited"})
        self.question()
        self.sim.inject("waits")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "the queue to be full")
        self.accepted()  # and that the question comes first has been said
        self.assertIn("queue is full", self.ask("too many")[0])
        self.assertEqual(self.ask("1", parts=2), ["done", "the one that waited"])
        self.assertTrue(self.there())

    def test_it_is_answered_while_new_tasks_are_paused(self):
        self.sim.script(write(), {"text": "done"})
        self.question()
        self.ask("/pause")
        self.assertEqual(self.ask("1"), ["done"])

    def test_only_who_began_the_task_may_answer(self):
        self.kairo.config(allowed_users=["friend@im.wechat"])
        self.kairo.run("restart")
        self.sim.script(write(), {"text": "done"}, {"text": "to the friend"})
        self.question()
        before = self.sim.counts()["fetched"]
        self.sim.inject("1", **{"from": "friend@im.wechat"})
        self.sim.inject("1", **{"from": "stranger@im.wechat"})
        self.sim.wait("fetched", before + 2)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "the friend's message")
        self.assertFalse(self.there())
        self.assertEqual(sorted(self.ask("1", parts=2)), ["done", "to the friend"])

    def test_an_answer_before_the_question_was_accepted_does_not_count(self):
        self.sim.script(write(), {"text": "done"})
        self.sim.fault("sendmessage", "delay", ms=1500)
        self.sim.inject("please write")
        wait_for(lambda: [r for r in self.sim.requests("sendmessage") if "permission" in json.dumps(r["body"])],
                 "the question to be on its way")
        self.sim.inject("1")
        self.sim.wait("sent", 2)
        self.assertIn("written before the question was shown", self.sim.texts()[-1])
        self.assertFalse(self.there())
        self.assertEqual(self.ask("1"), ["done"])
        self.assertTrue(self.there())

    def test_a_late_number_is_told_closed(self):
        self.sim.script(write(), {"text": "Not written."})
        self.question()
        self.ask("3")
        self.idle()
        self.assertIn("That question is closed", self.ask("1")[0])
        self.assertFalse(self.there())
        self.assertEqual(self.sim.counts()["model_requests"], 2)

    @needs_hooks
    def test_a_question_expires(self):
        self.kairo.config(policy__ask_minutes=3)
        self.kairo.run("restart")
        self.sim.script(write(), {"text": "Not written."})
        self.assertIn("within 3 min", self.question())
        self.kairo.turn_clock(3 * MINUTE)
        self.sim.wait("sent", 3)
        self.assertIn("no answer within 3 min, so it was taken as a no", self.sim.texts()[1])
        self.assertEqual(self.sim.texts()[2], "Not written.")
        self.assertIn("did not answer in time", self.results()[0])
        self.assertFalse(self.there())
        self.assertEqual(self.audit(), ["asked", "expired"])
        self.assertIn("That question is closed", self.ask("1")[0])

    @needs_hooks
    def test_without_a_send_left_it_is_a_no_at_once(self):
        calls = write("a.txt")["tool_calls"] + write("b.txt")["tool_calls"]
        self.sim.script({"text": "long ago."}, {"tool_calls": calls}, {"text": "Not written."})
        # Both messages come before the answer: what it spends, the second task lacks.
        self.narrow(7, "tell me", "please write")
        self.sim.wait("sent", 9)
        self.assertIn("a.txt", self.sim.texts()[8])
        self.accepted()
        self.kairo.turn_clock(10 * MINUTE)
        self.idle()
        self.assertEqual(self.audit(), ["asked", "expired", "asked", "undeliverable"])
        self.assertIn("The user could not be asked", self.results()[0])
        self.assertFalse(self.there("a.txt") or self.there("b.txt"))

    def test_a_restart_is_a_no(self):
        for end in (self.kairo.stop, self.kairo.kill):
            self.sim.script(write())
            self.question()
            before = len(self.sim.sent())
            end()
            self.kairo.start()
            self.sim.wait("sent", before + 1)
            self.assertIn("A question that was open then counts as a no", self.sim.texts()[before])
            self.assertIn("That question is closed", self.ask("1")[0])
            self.idle()
            self.assertFalse(self.there())
            self.assertEqual(self.audit()[-2:], ["asked", "cancelled" if end == self.kairo.stop else "lost"])
            self.ask("/new")

    def test_the_audit_never_holds_what_was_to_be_written(self):
        self.sim.script(write(content="the-secret-recipe"), {"text": "no"})
        self.question()
        self.ask("3")
        folder = os.path.join(self.kairo.dir, "audit")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as f:
                self.assertNotIn("the-secret-recipe", f.read())


class Commands(ApproveCase):
    """The same for commands of the shell, which are denied unless they are to be asked about."""

    def setUp(self):
        super().setUp()
        self.kairo.config(policy__shell="ask")
        self.kairo.start()

    def test_the_exact_command_is_shown_and_run_after_the_yes(self):
        command = "echo one; echo `echo two` | tr a-z A-Z"
        self.sim.script(call("shell", command=command), {"text": "ran"})
        shown = self.question("run it")
        self.assertIn("shell\n", shown)
        self.assertIn(command, shown)
        self.assertIn(self.kairo.workspace, shown)
        self.assertEqual(self.ask("1"), ["ran"])
        self.assertIn("one", self.results()[0])
        self.assertIn("TWO", self.results()[0])

    def test_a_yes_for_the_conversation_covers_no_other_command(self):
        self.sim.script(call("shell", command="echo a"), {"text": "one"}, call("shell", command="echo a"), {"text": "two"},
                        call("shell", command="echo a "), {"text": "three"})
        self.question("run it")
        self.assertEqual(self.ask("2"), ["one"])
        self.assertEqual(self.ask("again"), ["two"])
        self.question("once more")
        self.assertEqual(self.ask("3"), ["three"])

    def test_stop_while_it_runs(self):
        self.sim.script(call("shell", command="echo $$ > pid; sleep 600 & sleep 601"), {"text": "next"})
        self.question("run it")
        pid = self.kairo.pid()
        self.sim.inject("1")
        wait_for(lambda: self.there("pid"), "the command to run")
        running = descendants(pid)
        self.assertTrue(running)
        before = len(self.sim.sent())
        asked = self.sim.inject("/stop")[0]["at"]
        self.sim.wait("sent", before + 1)
        notice = self.sim.sent()[before]
        self.assertIn("Stopped", notice["text"])
        self.assertLess(notice["at"] - asked, STOP_MS)
        wait_for(lambda: not any(alive(p) for p in running), "the command and its children to be gone")
        self.idle()
        self.assertEqual(self.ask("and now"), ["next"])
        self.assertIn("cancelled", self.results()[0])


class Stop(ApproveCase):
    """/stop is heard at once, whatever is under way."""

    def setUp(self):
        super().setUp()
        self.kairo.start()

    def stops(self):
        before = len(self.sim.sent())
        asked = self.sim.inject("/stop")[0]["at"]
        self.sim.wait("sent", before + 1)
        notice = self.sim.sent()[before]
        self.assertIn("Stopped", notice["text"])
        self.assertLess(notice["at"] - asked, STOP_MS)
        wait_for(lambda: self.sim.counts()["model_open"] == 0, "the model to be left")
        self.idle()
        self.assertEqual(len(self.sim.sent()), before + 1, "nothing late is shown")
        self.sim.script({"text": "fine"})
        self.assertEqual(self.ask("how are you"), ["fine"])

    def working(self, *script):
        self.sim.script(*script)
        self.sim.inject("work")
        self.sim.wait("model_requests", 1)

    def test_while_a_question_is_open(self):
        self.sim.script(write())
        self.question()
        self.stops()
        self.assertFalse(self.there())
        self.assertEqual(self.audit(), ["asked", "cancelled"])

    def test_while_the_model_stalls_before_its_answer(self):
        self.working({"stall": True})
        self.stops()

    def test_while_the_model_stalls_inside_its_answer(self):
        self.working(stalled("The beginning of an answer that never ends"))
        self.stops()

    def test_while_a_retry_waits(self):
        self.working({"status": 503, "body": {"error": {"message": "overloaded"}}, "headers": {"Retry-After": "20"}})
        wait_for(lambda: "asking -> waiting" in self.kairo.log(), "the retry to wait")
        self.stops()

    def test_while_tools_run(self):
        for n in range(30):
            with open(os.path.join(self.kairo.workspace, "big%d" % n), "w") as f:
                f.write(("y" + "x" * 100 + "\n") * 10000)
        search = {"name": "grep", "arguments": {"pattern": "x*x*[qz]"}}
        self.working({"tool_calls": [search] * 3 + write()["tool_calls"]})
        wait_for(lambda: "asking -> working" in self.kairo.log(), "the tools to run")
        self.stops()
        self.assertEqual(len(self.results()), 4)
        self.assertFalse(self.there())


class AtTheTerminal(ApproveCase):
    """kairo ask, with and without a daemon: the same questions in the same words."""

    login = False

    def setUp(self):
        super().setUp()
        # Writes from the terminal are allowed unless the tool is named.
        self.kairo.config(policy__tools=["write_file=ask"])

    def terminal(self, *script, text="please write"):
        self.sim.script(*script)
        t = Terminal(self.kairo, "ask", text)
        self.addCleanup(t.close)
        return t

    def asked(self, t):
        t.expect(r"write_file needs your consent:\n.*note\.txt.*1\. Yes, this once\n.*4\. No, and stop the task\n"
                 r"Your answer, 1 to 4: ")

    def test_a_yes(self):
        t = self.terminal(write(), {"text": "Written."})
        self.asked(t)
        self.assertFalse(self.there())
        t.type("1\n")
        t.expect("Written")
        self.assertEqual(t.code(), 0)
        self.assertTrue(self.there())
        self.assertTrue(t.sane())

    def test_only_a_number_is_an_answer(self):
        t = self.terminal(write(), {"text": "Not written."})
        self.asked(t)
        for text in ("", "y", "yes", "0", "5", "01", "1.", "1 2", "+1"):
            t.type(text + "\n")
            t.expect("Your answer, 1 to 4: ")
        self.assertFalse(self.there())
        t.type(" 3 \n")
        t.expect("Not written")
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())

    def test_no_and_stop(self):
        t = self.terminal(write())
        self.asked(t)
        t.type("4\n")
        self.assertEqual(t.code(), 1)
        self.assertIn("cancelled", t.text)
        self.assertFalse(self.there())
        t = self.terminal(write(), {"text": "没有写。"}, text="请把牛奶写进清单里")
        t.expect(r"需要你同意：写文件\n  \| 路径：note\.txt\n  \| 内容：5 字节，1 行\n.*工作区：.*"
                 r"3\. 不同意\n4\. 不同意，并停下任务\n请回答，1 到 4：")
        t.type("3\n")
        t.expect("没有写。")
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())

    def test_ctrl_c_and_ctrl_d(self):
        t = self.terminal(write())
        self.asked(t)
        t.interrupt()
        self.assertEqual(t.code(), 1)
        self.assertTrue(t.sane())
        t = self.terminal(write(), {"text": "Not written."})
        self.asked(t)
        t.type("\x04")
        t.expect("Not written")
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())

    def test_without_a_terminal_it_is_a_no(self):
        self.sim.script(write(), {"text": "Not written."})
        p = self.kairo.popen("ask", "please write", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
        out, err = p.communicate(timeout=60)
        self.assertEqual((p.returncode, out), (0, b"Not written.\n"))
        self.assertIn(b"no terminal to ask at: denied", err)
        self.assertIn("could not be asked", self.results()[0])
        self.assertFalse(self.there())

    def test_a_command_is_asked_about_unless_the_policy_says_otherwise(self):
        t = self.terminal(call("shell", command="echo he''llo"), {"text": "ran"})
        t.expect(r"shell needs your consent:\n.*echo he''llo.*Your answer, 1 to 4: ")
        t.type("1\n")
        self.assertEqual(t.code(), 0)
        self.assertIn("hello", self.results()[0])

    def test_what_is_typed_ahead_is_no_answer(self):
        t = self.terminal(dict(write(), first_ms=1500), {"text": "no"})
        self.sim.wait("model_requests", 1)
        t.type("1\n")
        self.asked(t)
        self.assertFalse(self.there())
        t.type("3\n")
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())


class ThroughTheDaemon(AtTheTerminal):
    login = True

    def setUp(self):
        super().setUp()
        self.kairo.start()

    def test_the_phone_hears_nothing_of_it(self):
        t = self.terminal(write(), {"text": "Written."})
        self.asked(t)
        self.assertEqual(self.sim.counts()["sent"], 0)
        t.type("2\n")
        self.assertEqual(t.code(), 0)
        t = self.terminal(write(), {"text": "Again."})
        self.assertEqual(t.code(), 0)
        self.assertNotIn("consent", t.text)
        self.assertEqual(self.sim.counts()["sent"], 0)

    def test_stop_on_the_phone_ends_it(self):
        t = self.terminal(write())
        self.asked(t)
        self.assertIn("Stopped", self.ask("/stop")[0])
        self.assertEqual(t.code(), 1)
        self.assertFalse(self.there())

    def test_a_number_on_the_phone_answers_nothing(self):
        t = self.terminal(write(), {"text": "no"}, {"text": "a task"})
        self.asked(t)
        self.sim.inject("1")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "it to wait as a task")
        t.type("3\n")
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())

    def test_a_killed_terminal_is_a_no(self):
        t = self.terminal(write())
        self.asked(t)
        t.process.send_signal(signal.SIGKILL)
        self.idle()
        self.assertFalse(self.there())
        self.assertEqual(self.audit(), ["asked", "cancelled"])

    @needs_hooks
    def test_a_terminal_that_sleeps_cannot_hold_the_queue(self):
        t = self.terminal(write(), {"text": "Not written."}, {"text": "for the phone"})
        self.asked(t)
        t.process.send_signal(signal.SIGSTOP)
        self.sim.inject("a task")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "it to wait")
        self.kairo.turn_clock(10 * MINUTE)
        self.sim.wait("sent", 1)
        self.assertEqual(self.sim.texts(), ["for the phone"])
        t.process.send_signal(signal.SIGCONT)
        self.assertEqual(t.code(), 0)
        self.assertFalse(self.there())

    def test_answers_over_the_socket_are_checked(self):
        t = self.terminal(write(), {"text": "no"})
        self.asked(t)
        for body in ({}, {"ticket": 1}, {"ticket": 1, "id": "1.1"}, {"ticket": 0, "id": "1.1", "choice": 0},
                     {"ticket": 1, "id": "", "choice": 0}, {"ticket": 1, "id": "1.1", "choice": -3},
                     {"ticket": 1, "id": "1.1", "choice": "0"}):
            self.assertEqual(self.kairo.request("POST", "/v1/answer", body)[0], 400, body)
        for body in ({"ticket": 77, "id": "1.1", "choice": 0}, {"ticket": 1, "id": "9.9", "choice": 0}):
            self.assertEqual(self.kairo.request("POST", "/v1/answer", body)[0], 404, body)
        self.assertFalse(self.there())
        t.type("3\n")
        self.assertEqual(t.code(), 0)


if __name__ == "__main__":
    main()
