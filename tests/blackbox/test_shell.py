"""Commands from the phone: asked for, run behind the fence, and ended with all that comes of them."""

import os
import signal
import uuid

from harness import STOP_MS, Case, alive, main, wait_for


def shell(command, name="shell", **more):
    return {"tool_calls": [{"name": name, "arguments": dict(more, command=command)}]}


def session(command, **more):
    return shell(command, "shell_session", **more)


class ShellCase(Case):
    def setUp(self):
        super().setUp()
        self.mark = "600.%d" % (uuid.uuid4().int % 10**15)

    def results(self):
        """What the model was told of its calls, in their order."""
        return [m["content"] for m in self.sim.model_requests()[-1]["body"]["messages"] if m["role"] == "tool"]

    def left(self):
        """Processes that have the mark in their command line."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/cmdline" % name, "rb") as f:
                        if self.mark.encode() in f.read() and alive(int(name)):
                            found.append(int(name))
                except OSError:
                    pass
        return found

    def there(self, name):
        return os.path.exists(os.path.join(self.kairo.workspace, name))

    def question(self, text="please"):
        shown = self.ask(text)[-1]
        self.assertIn("Your permission is needed", shown)
        wait_for(lambda: self.kairo.status()["unsent"] == 0, "the question to be accepted")
        return shown


class Asked(ShellCase):
    def setUp(self):
        super().setUp()
        self.kairo.config(policy__shell="ask")
        self.kairo.start()

    def test_a_yes_runs_it_and_a_no_does_not(self):
        self.sim.script(shell("echo out; echo err >&2; echo made >made"), {"text": "done"},
                        shell("echo again >again", cwd="."), {"text": "not done"})
        shown = self.question()
        for words in ("echo out; echo err >&2; echo made >made", self.kairo.workspace):
            self.assertIn(words, shown)
        self.assertFalse(self.there("made"))
        self.assertEqual(self.ask("1"), ["done"])
        self.assertRegex(self.results()[-1], r"\Aexit status 0 after \d+\.\d\d s\n"
                                             r"\[stdout: 4 bytes\]\nout\n\[stderr: 4 bytes\]\nerr\n\Z")
        self.assertTrue(self.there("made"))
        self.question("again")
        self.assertEqual(self.ask("3"), ["not done"])
        self.assertIn("The user was asked and refused", self.results()[-1])
        self.assertFalse(self.there("again"))

    def test_a_failure_is_a_result(self):
        self.sim.script(shell("ls nowhere; exit 7"), {"text": "it failed"})
        self.question()
        self.assertEqual(self.ask("1"), ["it failed"])
        self.assertTrue(self.results()[-1].startswith("exit status 7 after "), self.results())
        self.assertIn("nowhere", self.results()[-1])

    def test_what_is_too_long_is_not_asked_for(self):
        self.sim.script(shell("x" * (100 * 1024 + 1)), {"text": "too long"})
        self.assertEqual(self.ask("please"), ["too long"])
        self.assertIn("Nothing was done", self.results()[-1])

    def test_a_command_of_full_length_runs(self):
        command = "printf %s "
        self.sim.script(shell(command + "x" * (100 * 1024 - len(command))), {"text": "done"})
        self.question()
        self.assertEqual(self.ask("1"), ["done"])
        self.assertIn("[stdout: 102390 bytes, truncated: 82390 in the middle are left out]", self.results()[-1])

    def test_a_session_lives_on_in_its_conversation(self):
        self.sim.script(session("mkdir sub; cd sub; A=5"), session("pwd; echo $A"), {"text": "one"},
                        session("pwd; echo \"[$A]\""), {"text": "two"})
        self.question()
        self.question("1")
        self.assertEqual(self.ask("1"), ["one"])
        self.assertTrue(self.results()[-1].startswith("session 1: exit status 0 after "), self.results())
        self.assertIn("\n%s/sub\n5\n" % os.path.realpath(self.kairo.workspace), self.results()[-1])
        self.ask("/new")
        self.question("in a new conversation")
        self.assertEqual(self.ask("1"), ["two"])
        self.assertTrue(self.results()[-1].startswith("session 1, new: "), self.results())
        self.assertIn("\n[]\n", self.results()[-1])

    def test_sessions_end_with_the_daemon(self):
        for end in (self.kairo.stop, self.kairo.kill):
            with self.subTest(end=end.__name__):
                self.sim.script(session("(setsid sleep %s &) & nohup sleep %s & : >here" % (self.mark, self.mark)),
                                {"text": "running"})
                self.question()
                self.assertEqual(self.ask("1"), ["running"])
                wait_for(lambda: len(self.left()) == 2, "the background")
                end()
                wait_for(lambda: not self.left(), "the end of what ran in the session")
                self.kairo.start()

    def test_no_secret_is_to_be_had(self):
        self.sim.script(shell("env; cat /proc/$PPID/environ; cat %s/*; ls -a %s; echo; ls /proc/self/fd" %
                              (self.kairo.home, self.kairo.home)), {"text": "done"})
        self.question()
        self.assertEqual(self.ask("1"), ["done"])
        self.assertNotRegex(self.results()[-1], r"bot_token|config\.toml|KAIRO|api_key")


class Ended(ShellCase):
    """A script that is allowed by name, and that does not want to end."""

    script = """(setsid sh -c '(setsid sleep {0} &)' &) &
nohup sleep {0} >/dev/null 2>&1 &
setsid sleep {0} &
trap '' TERM INT HUP
echo begun; : >here
while :; do sleep {0}; done
"""

    def setUp(self):
        super().setUp()
        self.kairo.config(policy__shell="allowlist", policy__shell_allow=["sh trial"])
        self.kairo.start()

    def trial(self, text=None, **more):
        with open(os.path.join(self.kairo.workspace, "trial"), "w") as f:
            f.write((text or self.script).format(self.mark))
        self.sim.script(shell("sh trial", **more), {"text": "over"})

    def running(self):
        self.sim.inject("please")
        wait_for(lambda: self.there("here") and len(self.left()) >= 4, "the command")

    def test_by_its_time(self):
        self.trial(timeout_s=1)
        self.assertEqual(self.ask("please"), ["over"])
        self.assertIn("timed out at 1 s", self.results()[-1])
        self.assertIn("\nbegun\n", self.results()[-1])
        self.assertEqual(self.left(), [])

    def test_by_stop(self):
        self.trial()
        self.running()
        before = len(self.sim.sent())
        self.sim.inject("/stop")
        self.sim.wait("sent", before + 1, STOP_MS / 1000)
        self.assertIn("Stopped", self.sim.texts()[before])
        wait_for(lambda: not self.left(), "the end of the tree")
        self.assertEqual(self.kairo.idle()["turn"], None)

    def test_by_the_end_of_the_daemon(self):
        for end in (self.kairo.stop, self.kairo.kill, lambda: os.kill(self.kairo.pid(), signal.SIGTERM)):
            with self.subTest(end=getattr(end, "__name__", end)):
                self.trial()
                self.running()
                pid = self.kairo.pid()
                end()
                wait_for(lambda: not self.left(), "the end of the tree")
                wait_for(lambda: not alive(pid), "the end of the daemon")
                os.unlink(os.path.join(self.kairo.workspace, "here"))
                self.kairo.start()

    def test_what_it_leaves_behind_holds_nobody_up(self):
        self.trial("(setsid sh -c '(setsid sleep {0} &)' &) &\nnohup sleep {0} &\nsetsid sleep {0} &\necho done\n")
        self.assertEqual(self.ask("please"), ["over"])
        self.assertIn("[what it had left running in the background was ended]", self.results()[-1])
        self.assertEqual(self.left(), [])

    def test_endless_output_slows_nobody(self):
        def dirty():
            with open("/proc/%d/smaps_rollup" % self.kairo.pid()) as f:
                return sum(int(line.split()[1]) for line in f if line.startswith("Private_Dirty"))

        self.trial(": >here; sleep {0} & exec yes\n", timeout_s=5)
        self.ask("/status")
        before = dirty()
        self.sim.inject("please")
        wait_for(lambda: self.there("here"), "the output")
        self.assertTrue(self.ask("/status"))
        self.assertLess(dirty() - before, 8192)
        wait_for(lambda: "over" in self.sim.texts(), "the answer")
        self.assertRegex(self.results()[-1], r"\[stdout: \d{7,} bytes, truncated: \d{7,} in the middle are left out\]")
        self.assertLess(len(self.results()[-1]), 21000)
        self.assertEqual(self.left(), [])

    def test_a_bomb_under_the_limits(self):
        self.trial("f() {{ sleep {0} & f & f & wait; }}\nf 2>/dev/null\n", timeout_s=3)
        self.assertEqual(self.ask("please"), ["over"])
        self.assertRegex(self.results()[-1], "timed out at 3 s|more processes at once than it may have")
        self.assertEqual(self.left(), [])

    def test_nothing_else_rides_on_an_entry(self):
        self.trial("echo ran >ran\n")
        for command in ("sh trial; id", "sh  -x trial", "sh trial x", "sh ./trial", "SH trial"):
            self.sim.script(shell(command), {"text": "no"})
            self.assertEqual(self.ask("please"), ["no"])
            self.assertIn("not one that the policy of this machine allows", self.results()[-1])
        self.assertFalse(self.there("ran"))


if __name__ == "__main__":
    main()
