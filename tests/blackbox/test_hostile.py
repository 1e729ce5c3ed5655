"""What an unkind machine or user does to the real binaries; nothing may be lost, left open or told wrongly."""

import os
import resource
import signal
import stat
import subprocess

from harness import KAIRO, Case, main, stalled, wait_for


class Start(Case):
    """How and where it is started."""

    def started(self, *argv, **more):
        p = subprocess.Popen([*argv], env=self.kairo.env, **more)
        self.kairo.children.append(p)
        wait_for(lambda: p.poll() is not None or self.kairo.run("status", code=None).returncode == 0,
                 "the daemon to serve, or to give up")
        return p

    def test_closed_standard_descriptors_are_no_place_for_errors(self):
        p = self.started("/bin/sh", "-c", "exec %s run <&- >&- 2>&-" % KAIRO)
        for fd in (0, 1, 2):
            self.assertEqual(os.readlink("/proc/%d/fd/%d" % (p.pid, fd)), "/dev/null")
        self.assertEqual(os.path.getsize(os.path.join(self.kairo.dir, "kairo.lock")), 0)
        self.assertTrue(self.ask("hello"))

    def test_the_form_for_starters_alone_wants_their_pipe(self):
        # It would write to, and close, whatever else has that number: the lock, for one.
        for tail in ("", " 3</dev/null"):
            p = subprocess.run(["/bin/sh", "-c", "exec %s run --background%s" % (KAIRO, tail)],
                               env=self.kairo.env, capture_output=True)
            self.assertEqual(p.returncode, 2, p.stderr)

    def test_ignored_and_blocked_signals_are_not_inherited(self):
        def deaf():
            for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(s, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD})
        p = self.started(KAIRO, "run", preexec_fn=deaf, stderr=subprocess.DEVNULL)
        self.sim.script({"tool_calls": [{"name": "list_dir", "arguments": {}}]}, {"text": "looked"})
        self.assertEqual(self.ask("look"), ["looked"])
        os.kill(p.pid, signal.SIGTERM)
        self.assertEqual(p.wait(60), 0)

    def test_a_folder_of_others_is_not_taken_over(self):
        shared = os.path.join(self.folder, "shared")
        os.makedirs(os.path.join(shared, "stuff"))
        os.chmod(shared, 0o755)
        for home in (shared, shared + "//", "/"):
            before = stat.S_IMODE(os.stat(home).st_mode)
            p = self.kairo.run("config", "set", "language", "en", env={"KAIRO_HOME": home}, code=1)
            self.assertIn("KAIRO_HOME", p.err)
            self.assertEqual(stat.S_IMODE(os.stat(home).st_mode), before)
        self.assertEqual(os.listdir(shared), ["stuff"])

    def test_an_empty_or_a_former_folder_is_made_private(self):
        empty = os.path.join(self.folder, "empty")
        os.makedirs(empty)
        for _ in range(2):
            os.chmod(empty, 0o755)
            self.kairo.run("config", "set", "language", "en", env={"KAIRO_HOME": empty})
            self.assertEqual(stat.S_IMODE(os.stat(empty).st_mode), 0o700)

    def test_a_workspace_that_holds_the_home_folder_is_refused(self):
        user = os.path.join(self.folder, "u", "me")
        os.makedirs(user)
        for path in (user, os.path.dirname(user)):
            self.kairo.config(workspace=path)
            self.assertIn("home folder", self.kairo.run("start", env={"HOME": user}, code=1).err)

    def test_a_file_size_limit_is_a_full_disk(self):
        limit = 400000
        p = self.started(KAIRO, "run", stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.sim.script({"text": "ok"}, repeat=True)
        self.assertEqual(self.ask("hello"), ["ok"])
        before = len(self.sim.texts())
        self.sim.inject("x" * limit)
        self.sim.wait("sent", before + 1)
        self.assertIn("disk", self.sim.texts()[-1])
        self.assertIsNone(p.poll())
        self.assertIn("full", self.kairo.status()["intake_error"])


class Stop(Case):
    def test_stop_asks_once(self):
        """A second TERM means at once: goodbyes unsaid, terminals cut off."""
        for _ in range(12):
            self.kairo.start()
            self.kairo.stop()
        self.assertNotIn("again: ending at once", self.kairo.log())

    def test_prompts_of_the_terminal_hear_of_the_end(self):
        self.kairo.start()
        self.sim.script(stalled())
        asks = [self.kairo.popen("ask", "one", stdout=subprocess.PIPE, stderr=subprocess.PIPE)]
        self.sim.wait("model_open", 1)
        asks.append(self.kairo.popen("ask", "two", stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "a waiting prompt")
        self.kairo.stop()
        for p in asks:
            _, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 1)
            self.assertIn(b"cancelled", err)

    def test_logs_end_with_their_reader(self):
        self.kairo.start()
        p = self.kairo.popen("logs", "-f", stdout=subprocess.PIPE)
        self.assertTrue(p.stdout.readline())
        p.stdout.close()
        p.stdout = None
        self.assertEqual(p.wait(60), 0)


class Reload(Case):
    def test_warnings_speak_of_what_is_in_force(self):
        self.kairo.start()
        self.assertTrue(any("allow_loopback" in w for w in self.kairo.status()["warnings"]))
        self.kairo.config(network__allow_loopback=False, queue_limit=7)
        os.kill(self.kairo.pid(), signal.SIGHUP)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 7, "the new limit")
        self.assertTrue(any("allow_loopback" in w for w in self.kairo.status()["warnings"]))
        self.assertRegex(self.kairo.log(), r"not in force before kairo restart: .*network\.allow_loopback")


class Lost(Case):
    def test_an_answer_given_up_by_kills_is_told(self):
        self.sim.script({"text": "precious"}, repeat=True)
        self.sim.fault("sendmessage", "stall", times=3, process=False)
        self.kairo.start()
        self.sim.inject("work")
        for n in range(1, 4):
            wait_for(lambda: len(self.sim.requests("sendmessage")) >= n, "attempt %d" % n)
            self.kairo.kill()
            self.kairo.start()
        self.sim.wait("sent", 1)
        self.assertIn("/more", self.sim.texts()[0])
        self.assertEqual(self.ask("/more"), ["precious"])

    def test_the_biggest_message_is_answered(self):
        self.kairo.start()
        # The latest time of all is kept for good: from then on no window would be open.
        self.sim.inject("hello", **{"from": "stranger@im.wechat", "extra": {"create_time_ms": 2 ** 63 - 1}})
        items = [{"type": 1, "text_item": {"text": "x" * (1 << 20)}}]
        items += [{"type": 4, "file_item": {"file_name": "数" * 80, "len": "5",
                                            "media": {"encrypt_query_param": "QWJj"}}} for _ in range(31)]
        self.sim.inject(items=items)
        self.sim.wait("sent", 1)
        self.assertIn("1 MiB", self.sim.texts()[0])


if __name__ == "__main__":
    main()
