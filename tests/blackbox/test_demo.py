"""contrib/demo, the first command that a newcomer tries."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE, alive, command_of, descendants, main, may_unshare, wait_for

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "contrib", "demo")


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kairo-bb-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.env = {"HOME": self.folder, "TMPDIR": self.folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
                    "KAIRO_BUILD": os.path.realpath(BUILD),
                    # A proxy for everything else must not catch what stays on this machine.
                    "http_proxy": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def demo(self, *args, code=0, **env):
        p = subprocess.run([DEMO, *args], env={**self.env, **env}, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60 + PATIENCE * 2)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        self.assertEqual(os.listdir(self.folder), [], "the demo leaves nothing behind")
        return p

    def once(self, text, **more):
        return self.demo("--once", text, **more).stdout

    # --- One message ---

    def test_prints_the_answer_and_nothing_else(self):
        p = self.demo("--once", "hello")
        self.assertTrue(p.stdout.startswith("Hello! I am the **demo model**"), p.stdout)
        self.assertEqual(p.stderr, "")

    def test_answers_in_chinese(self):
        self.assertIn("演示模型", self.once("你好"))

    def test_the_agent_sees_the_workspace(self):
        answer = self.once("list files")
        self.assertIn("shopping.md", answer)
        self.assertIn("README.md", answer)

    def test_takes_any_text_as_it_stands(self):
        text = """it's "quoted" $HOME `id` \\n %s -n 😀"""
        answer = self.once(text)
        for piece in ("it's", '"quoted"', "$HOME", "%s", "😀"):
            self.assertIn(piece, answer)

    def test_a_command_is_answered_too(self):
        self.assertIn("/stop", self.once("/help"))

    def test_a_file_is_named(self):
        self.assertIn("[shopping.md]", self.once("send me shopping.md"))

    def test_a_long_answer_ends_in_a_file(self):
        answer = self.once("long")
        self.assertIn("## Section 1\n", answer)
        self.assertRegex(answer, r"\n\[answer-\d{8}-\d{4}\.md\]\n")

    def test_no_answer_of_the_model_is_a_failure_with_its_reason(self):
        p = self.demo("--once", "hello", code=1, KAIRO_MODEL_BASE_URL="http://127.0.0.1:9/v1",
                      KAIRO_MODEL_NAME="none")
        self.assertIn("Connection refused", p.stderr)
        self.assertIn("the turn failed", p.stderr)

    def test_no_answer_in_time_is_a_failure_with_its_reason(self):
        self.assertIn("for 60 seconds, or as many as KAIRO_DEMO_SECONDS says", self.demo("--help").stdout)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            p = self.demo("--once", "hello", code=1, KAIRO_MODEL_NAME="silent",
                          KAIRO_MODEL_BASE_URL="http://127.0.0.1:%d/v1" % silent.getsockname()[1],
                          KAIRO_DEMO_SECONDS="6")
        self.assertIn("no answer within 6 s", p.stderr)
        self.assertRegex(p.stderr, "turn +running for [0-9]+ s")

    @unittest.skipUnless(may_unshare("-n"), "no network can be taken away here")
    def test_a_machine_without_a_loopback_interface(self):
        p = subprocess.run(["unshare", "-n", DEMO, "--once", "hello"], env=self.env, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60 + PATIENCE * 2)
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        self.assertIn("ip link set lo up", p.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_wrong_usage_is_told(self):
        for args in (["--once"], ["--once", ""], ["--once", "  "], ["--once", "a", "b"], ["--twice"], [""],
                     ["hello"]):
            self.assertIn("usage: contrib/demo", self.demo(*args, code=2).stderr)
        self.assertIn("usage: contrib/demo", self.demo("--help").stdout)
        for seconds in ("0", "1m", "-1", "12345"):
            self.assertIn("number of seconds", self.demo("--once", "a", code=2, KAIRO_DEMO_SECONDS=seconds).stderr)

    # --- Until it is interrupted ---

    def begin(self):
        """The demo running with its page shown; (process, all processes it started, its folder)."""
        out = open(os.path.join(self.folder, "out"), "wb+")
        p = subprocess.Popen([DEMO], env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(out.close)
        self.addCleanup(lambda: p.poll() is None and (p.terminate(), p.wait()))

        def said():
            with open(out.name, errors="replace") as f:
                return f.read()
        self.said = said
        wait_for(lambda: p.poll() is not None or "link: starting" in said(), "the demo to run")
        self.assertIsNone(p.poll(), said())
        self.assertRegex(said(), r"The phone:  http://127\.0\.0\.1:\d+\n")
        folder = [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name != "out"]
        self.assertEqual(len(folder), 1)
        return p, descendants(p.pid), folder[0]

    def ends(self, p, started, folder, code):
        self.assertEqual(p.wait(PATIENCE), code, self.said())
        self.assertEqual([pid for pid in started if alive(pid)], [])
        self.assertFalse(os.path.exists(folder))

    def test_ctrl_c_ends_all_that_it_started(self):
        p, started, folder = self.begin()
        os.killpg(p.pid, signal.SIGINT)  # as the terminal does: to the whole group
        self.ends(p, started, folder, 130)

    def test_sigterm_to_the_script_alone_does_too(self):
        p, started, folder = self.begin()
        p.terminate()
        self.ends(p, started, folder, 143)

    def ends_with(self, name):
        p, started, folder = self.begin()
        for pid in started:
            if re.search(name, " ".join(command_of(pid))):
                os.kill(pid, signal.SIGKILL)
        self.ends(p, started, folder, 1)
        self.assertIn("ended by itself", self.said())

    def test_it_ends_with_the_simulator(self):
        self.ends_with("kairo-sim")

    def test_it_ends_with_the_daemon(self):
        self.ends_with("kairo run")


if __name__ == "__main__":
    main()
