"""Who runs: pid files, locks, two at once, logs, exit codes."""

import json
import os
import re
import signal
import stat
import subprocess

from harness import PATIENCE, Case, Kairo, alive, descendants, main, stalled, wait_for

MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "man", "kairo.1")


class Life(Case):
    def test_start_status_stop(self):
        self.kairo.run("status", code=3)
        self.kairo.stop(code=3)
        out = self.kairo.start().out
        pid = int(re.search(r"pid (\d+)", out).group(1))
        self.assertEqual(self.kairo.pid(), pid)
        self.assertIn("already running", self.kairo.start().out)
        self.assertEqual(os.getpgid(pid), pid, "the daemon leads a process group of its own")
        self.assertEqual(os.getsid(pid), pid)
        text = self.kairo.run("status").out
        for line in (r"kairo +running, pid %d, up \d+ s" % pid, r"bot +\S+", r"owner +\S+", r"link +\S+",
                     r"last poll +\S+", r"queue +0 of 100 waiting", r"turn +none",
                     r"sends +\d+ of 10 since the owner's last message",
                     r"parts +0 parked, 0 refused, 0 unknown, 0 unconfirmed", r"engine +react, \S+",
                     r"workspace +" + re.escape(self.kairo.workspace), r"sandbox +files: \S+",
                     r"warning +network.allow_loopback is on: .+"):
            self.assertRegex(text, r"(?m)^%s" % line)
        self.sim.script(stalled())
        self.sim.inject("long work")
        self.sim.wait("model_open", 1)
        self.ask("/pause")
        text = self.kairo.run("status").out
        self.assertRegex(text, r"(?m)^turn +running for \d+ s$")
        self.assertRegex(text, r"(?m)^queue +0 of 100 waiting, paused")
        self.kairo.stop()
        self.assertFalse(alive(pid))
        self.assertFalse(os.path.exists(os.path.join(self.kairo.dir, "kairo.pid")))

    def test_status_for_programs_has_its_agreed_form(self):
        self.kairo.start()
        s = self.kairo.status()
        self.assertEqual((s["schema"], s["state"], s["pid"]), (1, "running", self.kairo.pid()))
        self.assertLessEqual({"uptime_s", "account", "link", "queue", "turn", "sends", "parked", "refused", "unknown",
                              "unconfirmed", "engine", "paused", "sandbox", "warnings"}, set(s))
        for member, inner in (("account", {"bot_id", "user_id", "login"}), ("link", {"state", "last_good_poll"}),
                              ("queue", {"waiting", "limit"}), ("sends", {"used", "limit"})):
            self.assertLessEqual(inner, set(s[member]))
        self.assertEqual((s["turn"], s["paused"], s["account"]["login"]), (None, False, "ok"))
        with open(MANUAL) as f:
            manual = f.read()
            manual = manual[manual.index(".SH FOR PROGRAMS"):]
        for name in [*s, *(inner for member in s.values() if isinstance(member, dict) for inner in member)]:
            self.assertRegex(manual, r"(?m)^\.BR? .*\b%s\b" % name)
        os.rename(self.kairo.workspace, self.kairo.workspace + ".away")
        self.assertIn("workspace is gone", self.kairo.status()["warnings"][-1])
        os.rename(self.kairo.workspace + ".away", self.kairo.workspace)
        self.assertNotIn("is gone", str(self.kairo.status()["warnings"]))
        self.kairo.stop()
        s = json.loads(self.kairo.run("status", "--json", code=3).out)
        relaxed = s.pop("warnings")
        self.assertEqual(s, {"schema": 1, "state": "stopped", "account": {"login": "ok"}})
        self.assertIn("network.allow_loopback is on", relaxed[0])
        self.assertRegex(self.kairo.run("status", code=3).out, "(?m)^warning +network.allow_loopback is on")
        self.kairo.config(network__allow_loopback=False)
        self.assertEqual(json.loads(self.kairo.run("status", "--json", code=3).out)["warnings"], [])

    def test_the_daemon_keeps_no_descriptor_of_its_starter(self):
        r, w = os.pipe()
        subprocess.run(self.kairo.argv("start"), env=self.kairo.env, check=True, pass_fds=(w,),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(w)
        # End of file at once: nobody else holds the writing end (communicate() above proves the same
        # for the starter's output).
        self.assertEqual(os.read(r, 1), b"")
        os.close(r)

    def test_everything_in_the_home_is_private(self):
        self.kairo.start()
        self.ask("hello")
        for folder, dirs, files in os.walk(self.kairo.home):
            for name in dirs + files:
                path = os.path.join(folder, name)
                self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode) & 0o077, 0, path)

    def test_two_at_once_twenty_times(self):
        for _ in range(20):
            pair = [self.kairo.popen("run", stderr=subprocess.PIPE) for _ in range(2)]
            loser = wait_for(lambda: next((p for p in pair if p.poll() is not None), None),
                             "one of two to give way")
            winner = pair[1 - pair.index(loser)]
            self.assertEqual(loser.returncode, 1)
            self.assertIn(b"already", loser.stderr.read())
            wait_for(lambda: self.kairo.run("status", code=None).returncode == 0, "the other to serve")
            self.assertEqual(self.kairo.pid(), winner.pid)
            self.kairo.stop()
            self.assertEqual(winner.wait(30), 0)

    def test_starts_at_once_are_told_of_the_same_daemon(self):
        for _ in range(3):
            starts = [self.kairo.popen("start", stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
            said = [p.communicate(timeout=PATIENCE * 2) for p in starts]
            self.assertEqual([p.returncode for p in starts], [0] * 4, said)
            pid = self.kairo.pid()
            self.assertEqual(sorted(out.decode() for out, _ in said),
                             ["kairo is already running, pid %d\n" % pid] * 3 + ["kairo is running, pid %d\n" % pid])
            self.kairo.stop()

    def test_a_start_beside_an_end_waits_for_it(self):
        self.kairo.start()
        pid = self.kairo.pid()
        self.sim.fault("notifystop", "stall")
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: "signal 15: ending" in self.kairo.log(), "the end to begin")
        self.assertIn("kairo is running", self.kairo.start().out)
        self.assertNotEqual(self.kairo.pid(), pid)

    def test_a_stale_pid_file_is_no_obstacle(self):
        self.kairo.start()
        self.kairo.kill()
        self.assertTrue(os.path.exists(os.path.join(self.kairo.dir, "kairo.pid")))
        self.kairo.run("status", code=3)
        self.kairo.stop(code=3)
        self.kairo.start()
        self.assertEqual(self.kairo.status()["state"], "running")

    def test_a_recycled_pid_is_never_signalled(self):
        other = subprocess.Popen(["/bin/sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        for text in ("%d\n" % other.pid, "%d 12345\n" % other.pid, "-1\n", "1\n", "x" * 200, ""):
            with open(os.path.join(self.kairo.dir, "kairo.pid"), "w") as f:
                f.write(text)
            self.kairo.run("status", code=3)
            self.kairo.stop(code=3)
            self.assertIsNone(other.poll())
        self.kairo.start()
        self.kairo.stop()
        self.assertIsNone(other.poll())

    def test_a_daemon_that_ignores_term_is_killed(self):
        self.kairo.start()
        pid = self.kairo.pid()
        os.kill(pid, signal.SIGSTOP)
        self.kairo.stop()
        self.assertFalse(alive(pid))

    def test_stop_leaves_no_child(self):
        self.kairo.start()
        pid = self.kairo.pid()
        self.sim.script({"tool_calls": [{"name": "grep", "arguments": {"pattern": "x"}}]},
                        stalled())
        self.sim.inject("go")
        self.sim.wait("model_requests", 2)
        children = descendants(pid)
        self.kairo.stop()
        self.assertEqual([c for c in children if alive(c)], [])

    def test_without_a_login(self):
        fresh = Kairo(os.path.join(self.folder, "fresh"), self.sim).set_up(login=False)
        self.addCleanup(fresh.close)
        self.assertIn("kairo login", fresh.start(code=4).err)
        self.assertIn("kairo login", fresh.run("status", code=4).out)
        self.assertIn("kairo login", fresh.run("run", code=4).err)

    def test_a_named_account_is_a_daemon_of_its_own(self):
        other = Kairo(self.folder, self.sim, account="work")
        other.workspace = os.path.join(self.folder, "workspace2")
        os.makedirs(other.workspace)
        self.addCleanup(other.close)
        other.config(workspace=other.workspace, network__allow_loopback=True, model__base_url=self.sim.model,
                     model__name="demo")
        self.assertIn("takes --account work", other.start(code=4).err)
        self.assertIn("takes --account work", other.run("status", code=4).err)
        other.run("login", "--base-url", self.sim.api, "--force")
        self.kairo.start()
        other.start()
        self.assertNotEqual(self.kairo.pid(), other.pid())
        other.stop()
        self.assertEqual(self.kairo.status()["state"], "running")

    def test_two_accounts_never_share_a_workspace(self):
        other = Kairo(self.folder, self.sim, account="work")
        self.addCleanup(other.close)
        other.set_up()
        self.kairo.start()
        self.assertIn("workspace", other.start(code=1).err)

    def test_a_bad_setting_is_named_with_its_place(self):
        with open(os.path.join(self.kairo.dir, "config.toml"), "a") as f:
            f.write("\n[modle]\nname = 'x'\n")
        self.assertRegex(self.kairo.start(code=1).err, r"config\.toml:\d+:1: no setting .*model\.name")

    def test_unsafe_workspaces_are_refused(self):
        for path in ("/", self.folder, self.kairo.home, os.path.join(self.kairo.home, "w"),
                     os.path.dirname(self.kairo.home)):
            self.kairo.config(workspace=path)
            self.assertIn("workspace", self.kairo.start(code=1).err)

    def test_usage_errors_are_code_two(self):
        for args in (("nonsense",), ("logs", "-n", "x"), ("status", "--what"), ("--account", "../x", "status"),
                     ("send",)):
            self.kairo.run(*args, code=2)
        self.assertIn("language", self.kairo.run("config", "get", "lanugage", code=2).err)


class Logs(Case):
    def test_lines_and_their_number(self):
        path = os.path.join(self.kairo.dir, "logs", "kairo.log")
        os.makedirs(os.path.dirname(path), mode=0o700)

        def logs(lines, *args):
            with open(path, "w") as f:
                f.write("".join(lines))
            os.chmod(path, 0o600)
            return self.kairo.run("logs", *args).out.splitlines(keepends=True)
        short = ["line %d\n" % n for n in range(300)]
        self.assertEqual(logs(short), short[-100:])
        self.assertEqual(logs(short[:100]), short[:100])
        for n in (1, 3, 300, 301):
            self.assertEqual(logs(short, "-n", str(n)), short[-n:])
        self.assertEqual(logs([]), [])
        self.assertEqual(logs(["no end"]), ["no end"])
        # Of a long one the last 64 KiB are looked at, and whole lines of these shown.
        long = ["%099d\n" % n for n in range(2000)]
        self.assertEqual(logs(long, "-n", "100000"), long[-655:])
        self.assertEqual(logs(["\x1b[2Jclear\n", "\xff\n"]), ["clear\n", "\xff\n"])

    def test_the_log_is_followed_through_a_rotation(self):
        """Each line once and in order, those of the old file and those of the new one."""
        logs = os.path.join(self.kairo.dir, "logs")
        os.makedirs(logs, mode=0o700)
        path = os.path.join(logs, "kairo.log")
        filler = "filler\n" * ((5 << 20) // 7)
        with open(path, "w") as f:
            f.write(filler[:-1400])
        os.chmod(path, 0o600)
        self.kairo.start()
        p = self.kairo.popen("logs", "-f", stdout=subprocess.PIPE)
        os.set_blocking(p.stdout.fileno(), False)
        seen = b""

        def has(word):
            nonlocal seen
            seen += p.stdout.read() or b""
            return word in seen
        wait_for(lambda: has(b"app: kairo "), "the first line")
        for _ in range(20):
            if os.path.exists(path + ".1"):
                break
            self.ask("hello")
        self.kairo.stop()
        wait_for(lambda: has(b"app: kairo ended\n"), "the last line")
        written = []
        for name in (path + ".1", path):
            with open(name) as f:
                written += [line for line in f.read().splitlines() if line != "filler"]
        self.assertEqual([line for line in seen.decode().splitlines() if line != "filler"], written)
        with open(path, "w") as f:  # as where nothing can be renamed
            f.write("anew\n")
        wait_for(lambda: has(b"anew\n"), "the first line of a file that begins anew")
        p.terminate()

    def test_rotation_keeps_three_generations(self):
        logs = os.path.join(self.kairo.dir, "logs")
        os.makedirs(logs, mode=0o700, exist_ok=True)
        for name in ("kairo.log", "kairo.log.1", "kairo.log.2", "kairo.log.3"):
            with open(os.path.join(logs, name), "w") as f:
                f.write((name + " filler\n") * (400000 if name == "kairo.log" else 1))
            os.chmod(os.path.join(logs, name), 0o600)
        self.kairo.start()
        self.ask("hello")
        self.assertLess(os.path.getsize(os.path.join(logs, "kairo.log")), 5 << 20)
        with open(os.path.join(logs, "kairo.log.1")) as f:
            self.assertTrue(f.readline().startswith("kairo.log filler"))
        with open(os.path.join(logs, "kairo.log.3")) as f:
            self.assertTrue(f.readline().startswith("kairo.log.2 filler"))
        self.assertFalse(os.path.exists(os.path.join(logs, "kairo.log.4")))
        self.assertIn("kairo", self.kairo.run("logs").out)

    def test_no_secret_in_any_file(self):
        """Debug level, HTTP 500s and refusals: token, context token and key appear in no log."""
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=b"sk-verysecretmodelkey0123456789\n")
        self.kairo.config(log_level="debug")
        self.sim.fault("sendmessage", "500", times=1)
        self.sim.fault("getconfig", "500", times=1)
        self.sim.fault("getupdates", "500", times=1)
        self.kairo.start()
        message = self.sim.inject("hello")[0]
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.kairo.stop()
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            token = re.search(r'"token":"([^"]+)"', f.read()).group(1)
        secrets = [token, message["token"], "sk-verysecretmodelkey0123456789"]
        for folder in ("logs", "audit"):
            for base, _, files in os.walk(os.path.join(self.kairo.dir, folder)):
                for name in files:
                    with open(os.path.join(base, name), errors="replace") as f:
                        text = f.read()
                    for secret in secrets:
                        self.assertNotIn(secret, text, name)
                    self.assertNotIn("typing_ticket\":\"A", text)


if __name__ == "__main__":
    main()
