"""What every command has in common: options, output that cannot be written, the home, a hidden key."""

import json
import os
import re
import signal
import subprocess

from harness import KAIRO, PATIENCE, Case, main, wait_for
from terminal import Terminal

KEY = "sk-averysecretkeyofthemodel0123456789"


class Options(Case):
    login = False

    def test_help_has_many_names(self):
        whole = self.kairo.run("help").out
        for args in (["--help"], ["-h"]):
            self.assertEqual(self.kairo.run(*args).out, whole)
        self.assertIn("[-n N]", self.kairo.run("help", "logs").out)
        self.assertEqual(self.kairo.run("logs", "--help").out, self.kairo.run("help", "logs").out)
        self.assertEqual(self.kairo.run("-V").out, self.kairo.run("version").out)

    def test_the_account_may_stand_behind_the_command(self):
        self.kairo.run("config", "--account", "work", "set", "language", "zh")
        self.kairo.run("config", "--account=work", "set", "text_limit", "900")
        with open(os.path.join(self.kairo.home, "accounts/work/config.toml")) as f:
            self.assertEqual(f.read(), 'language = "zh"\ntext_limit = 900\n')

    def test_every_command_tells_its_use(self):
        for name in re.findall("(?m)^  ([a-z]+)", self.kairo.run("help").out):
            with self.subTest(name):
                said = self.kairo.run("help", name).out
                self.assertRegex(said, r"\Akairo %s\b.*\n        .+\n\Z" % name)
                for option in ("--help", "-h"):
                    self.assertEqual(self.kairo.run(name, option).out, said)

    def test_an_account_without_a_name(self):
        for args in (["--account"], ["status", "--account"]):
            self.assertIn("--account wants a name", self.kairo.run(*args, code=2).err)
        self.assertIn("usage: kairo [--account NAME] COMMAND ...", self.kairo.run("--account", code=2).err)
        for name in ("", "-x", "a/b", "..", "a" * 33):
            self.assertIn("1 to 32 of", self.kairo.run("--account=" + name, "status", code=2).err)
        self.kairo.run("--account=" + "a" * 32, "status", code=4)

    def test_wrong_arguments_are_named_with_the_usage(self):
        for args, said in ((["status", "--jsn"], 'no option "--jsn"'),
                           (["status", "now"], "status takes --json or nothing"),
                           (["start", "-f"], 'no option "-f"'),
                           (["config", "--list"], 'no option "--list"'),
                           (["ask", "--json", "hi"], 'no option "--json"'),
                           (["run", "now"], "run takes no arguments"),
                           (["stop", "now"], "stop takes no arguments"),
                           (["restart", "now"], "restart takes no arguments"),
                           (["help", "logs", "audit"], "help takes the name of one command"),
                           (["config", "get"], "usage"),
                           (["config", "set", "language"], "usage"),
                           (["config", "list", "all"], "usage"),
                           (["config", "unset"], "usage"),
                           (["hooks", "now"], "hooks takes one of"),
                           (["logs", "-n", "0"], "from 1 to 100000"),
                           (["logs", "-n", "100001"], "from 1 to 100000"),
                           (["audit", "-n", "0"], "from 1 to 100"),
                           (["audit", "-n", "101"], "from 1 to 100"),
                           (["login", "--base-url"], "requires an argument"),
                           (["send", "a", "b"], "one TEXT is wanted"),
                           (["send", "--to"], "requires an argument"),
                           (["doctor", "now"], "doctor takes --engine, and nothing else"),
                           (["start", "now"], "start takes no arguments"),
                           (["logout", "all"], "logout takes no arguments"),
                           (["version", "--long"], 'no option "--long"'),
                           (["version", "all"], "version takes no arguments"),
                           (["logs", "100"], "logs takes options only"),
                           (["audit", "100"], "audit takes options only"),
                           (["login", "me"], "login takes options only"),
                           (["login", "--import", "/", "--force"], "--import goes with no other option"),
                           (["send"], "one TEXT is wanted"),
                           (["logs", "--all"], "kairo: unrecognized option '--all'"),
                           (["send", "--too", "x"], "kairo: unrecognized option '--too'")):
            with self.subTest(args):
                p = self.kairo.run(*args, code=2)
                self.assertIn(said, p.err)
                self.assertIn("usage: kairo [--account NAME] " + args[0], p.err)
                self.assertEqual(p.out, "")

    def test_options_end_where_the_words_begin(self):
        for args in (["help", "--", "logs"], ["logs", "-f", "--help"], ["logs", "-h"]):
            self.assertEqual(self.kairo.run(*args).out, self.kairo.run("help", "logs").out)
        self.kairo.run("status", "--json", "--", code=4)
        self.kairo.run("config", "--", "set", "language", "zh")
        self.assertEqual(self.kairo.run("config", "--", "get", "language").out, '"zh"\n')
        self.kairo.run("send", "--", "--text", code=3)

    def test_unknown_commands_are_named(self):
        for args in (["stats"], ["help", "stats"], ["--stats"], ["--accounts"]):
            self.assertIn('%s"; see kairo help' % args[-1], self.kairo.run(*args, code=2).err)

    def test_without_a_home_of_any_kind(self):
        for command in ("version", "help"):
            p = self.kairo.run(command, env={"KAIRO_HOME": "/proc/none/such"})
            self.assertEqual(p.err, "")


class Output(Case):
    login = False

    def shell(self, script):
        return subprocess.run(["/bin/sh", "-c", script, KAIRO], env=self.kairo.env, capture_output=True)

    def test_a_full_disk_is_told(self):
        p = self.shell('"$0" config list >/dev/full')
        self.assertEqual(p.returncode, 1)
        self.assertIn(b"could not be written", p.stderr)

    def test_nobody_reads_to_the_end(self):
        for command in ("config list", "help"):
            r, w = os.pipe()
            os.close(r)
            p = self.kairo.popen(*command.split(), stdout=w, stderr=subprocess.PIPE)
            os.close(w)
            self.assertEqual(p.communicate(timeout=PATIENCE), (None, b""))
            self.assertEqual(p.returncode, 0)

    def test_closed_descriptors_are_not_written_to(self):
        """What is opened first would else get the number of standard output."""
        path = os.path.join(self.kairo.home, "config.toml")
        self.shell('"$0" config set language zh <&- >&- 2>&-')
        with open(path) as f:
            first = f.read()
        self.assertIn('language = "zh"\n', first)
        self.shell('"$0" config list >&- 2>&-; "$0" config set language fr >&- 2>&-')
        with open(path) as f:
            self.assertEqual(f.read(), first)


class Home(Case):
    login = False

    def mode(self, path):
        return os.stat(path).st_mode & 0o777

    def test_a_folder_of_somebody_else_is_left_alone(self):
        shared = os.path.join(self.folder, "shared")
        os.makedirs(os.path.join(shared, "others"))
        os.chmod(shared, 0o755)
        p = self.kairo.run("config", "set", "language", "zh", code=1, env={"KAIRO_HOME": shared})
        self.assertIn("holds other things", p.err)
        self.assertEqual(self.mode(shared), 0o755)
        self.assertEqual(os.listdir(shared), ["others"])

    def test_an_empty_folder_and_one_of_kairos_become_private(self):
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        os.chmod(empty, 0o755)
        self.kairo.run("config", "set", "language", "zh", env={"KAIRO_HOME": empty})
        self.assertEqual(self.mode(empty), 0o700)
        os.chmod(empty, 0o755)
        self.kairo.run("config", "set", "language", "en", env={"KAIRO_HOME": empty})
        self.assertEqual(self.mode(empty), 0o700)


class HiddenKey(Case):
    login = False

    def terminal(self):
        t = Terminal(self.kairo, "config", "set", "model.api_key", "--stdin")
        self.addCleanup(t.close)
        t.expect("Enter: ")
        return t

    def test_a_typed_key_is_not_shown(self):
        t = self.terminal()
        t.type("wrong\x15" + KEY + "xx\x7f\x7f\r")
        self.assertEqual(t.code(), 0)
        self.assertNotIn(KEY[:8], t.text)
        self.assertTrue(t.sane())
        with open(os.path.join(self.kairo.home, "model.key")) as f:
            self.assertEqual(f.read(), KEY)

    def test_ctrl_c_changes_nothing(self):
        t = self.terminal()
        t.type(KEY)
        t.interrupt()
        self.assertEqual(t.code(), 1)
        self.assertTrue(t.sane())
        self.assertFalse(os.path.exists(os.path.join(self.kairo.home, "model.key")))


class Daemon(Case):
    def test_following_the_log_ends_with_its_reader(self):
        self.kairo.start()
        p = self.kairo.popen("logs", "-f", stdout=subprocess.PIPE)
        p.stdout.readline()
        p.stdout.close()
        wait_for(lambda: p.poll() is not None, "logs -f to end")
        self.assertEqual(p.returncode, 0)

    def test_a_daemon_that_does_not_answer_is_not_called_stopped(self):
        self.kairo.start()
        pid = self.kairo.pid()
        os.unlink(os.path.join(self.kairo.dir, "control.sock"))
        self.assertIn("runs as pid %d" % pid, self.kairo.run("status", code=1).out)
        answer = json.loads(self.kairo.run("status", "--json", code=1).out)
        self.assertEqual((answer["state"], answer["pid"]), ("silent", pid))
        os.kill(pid, signal.SIGTERM)

    def test_one_that_is_stuck_is_told_as_such(self):
        self.kairo.start()
        pid = self.kairo.pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            waiting = [self.kairo.popen(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                       for args in (["status", "--json"], ["start"], ["send", "hi"])]
            said = [p.communicate(timeout=PATIENCE * 2) for p in waiting]
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual([p.returncode for p in waiting], [1, 1, 1])
        self.assertEqual(json.loads(said[0][0]), {"schema": 1, "state": "silent", "pid": pid})
        for out, err in said[1:]:
            self.assertEqual(out, b"")
            self.assertIn(b"does not answer; kairo logs may tell why, kairo restart ends it", err)


if __name__ == "__main__":
    main()
