"""A machine that is short of everything, or damaged: each fault ends in one plain sentence, and nothing is lost."""

import json
import os
import resource
import shutil
import stat
import subprocess
import unittest

from harness import HOOKS, KAIRO, Case, Kairo, main, wait_for

SENTENCE = r"\Akairo: [^\n]{15,400}\n\Z"
NOBODY = 65534


class Machine(Case):
    """Everything that was kept is still there and works after the fault is gone."""

    def setUp(self):
        super().setUp()
        self.sim.script({"text": "ok"}, repeat=True)

    def limited(self, limit, value, *args, code=None, hard=True):
        """A command under a limit; one sentence if it fails."""
        def lower():
            _, most = resource.getrlimit(limit)
            resource.setrlimit(limit, (value, value if hard else most))
        p = subprocess.run(self.kairo.argv(*args), env=self.kairo.env, preexec_fn=lower, capture_output=True, timeout=60)
        p.out, p.err = p.stdout.decode(), p.stderr.decode()
        if code is not None:
            self.assertEqual(p.returncode, code, p.out + p.err)
        return p

    def serves(self):
        self.assertEqual(self.ask("are you there?")[-1], "ok")


class Limits(Machine):
    def test_few_descriptors(self):
        for n in (8, 16, 32, 63):
            with self.subTest(n):
                for args in (("start",), ("ask", "hello"), ("config", "list"), ("doctor",)):
                    p = self.limited(resource.RLIMIT_NOFILE, n, *args, code=1)
                    self.assertRegex(p.err, SENTENCE)
                    self.assertIn("ulimit", p.err)
        self.kairo.run("status", code=3)
        self.limited(resource.RLIMIT_NOFILE, 64, "start", code=0)
        self.sim.script({"tool_calls": [{"name": "list_dir", "arguments": {}}]}, {"text": "ok"}, repeat=True)
        self.serves()
        self.kairo.idle()
        self.kairo.stop()

    def test_a_soft_limit_is_raised(self):
        self.limited(resource.RLIMIT_NOFILE, 10, "start", code=0, hard=False)
        soft, _ = resource.prlimit(self.kairo.pid(), resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(soft, 64)
        self.serves()

    @unittest.skipIf(HOOKS, "a sanitized build takes the address space for itself")
    def test_little_memory(self):
        """It says that it is memory, or runs; and whatever it could not do is done where there is more."""
        worked = 0
        for mib in range(18, 44):
            p = self.limited(resource.RLIMIT_AS, mib << 20, "start")
            if p.returncode == 127:
                continue  # not even the loader found room
            self.assertIn(p.returncode, (0, 1), p.err)
            if p.returncode == 0:
                worked += 1
                if worked == 1:
                    self.sim.inject("in need")
                if worked == 6:
                    self.serves()
                self.kairo.stop()
            else:
                self.assertRegex(p.err, SENTENCE)
                self.assertIn("memory", p.err)
        self.assertGreater(worked, 6)
        self.kairo.start()
        self.serves()
        self.kairo.idle()
        asked = [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]
        self.assertLessEqual(asked.count("in need"), 1)
        told = [t for t in self.sim.texts() if "/retry" in t]
        self.assertEqual(bool(asked.count("in need") or told), True)


class Damage(Machine):
    """Files of the home folder that are not what they were."""

    def setUp(self):
        super().setUp()
        self.kairo.start()
        self.serves()
        self.kairo.idle()
        self.kairo.stop()
        self.good = self.kairo.home + ".good"
        shutil.copytree(self.kairo.home, self.good)

    def path(self, name):
        return os.path.join(self.kairo.home, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        os.chmod(self.path(name), 0o600)

    def restore(self):
        shutil.rmtree(self.kairo.home)
        shutil.copytree(self.good, self.kairo.home)

    def fails(self, name, *words, code=1):
        """start says what is wrong and leaves the file alone; put back, it works."""
        def content():
            if not os.path.isfile(self.path(name)):
                return stat.S_IFMT(os.lstat(self.path(name)).st_mode)
            with open(self.path(name), "rb") as f:
                return f.read()
        before = content()
        p = self.kairo.start(code=code)
        self.assertRegex(p.err, SENTENCE)
        for word in words:
            self.assertIn(word, p.err)
        self.assertEqual(content(), before)
        self.kairo.run("status", code=3)
        self.restore()
        self.kairo.start()
        self.serves()
        self.kairo.stop()

    def test_the_database(self):
        size = os.path.getsize(self.path("state.db"))
        with open(self.path("state.db"), "rb") as f:
            good = f.read()
        kinds = {"random": os.urandom(size), "cut": good[:size // 2 // 4096 * 4096], "torn": good[:5000], "text": b"hello\n",
                 "a bad page": good[:4096] + os.urandom(size - 4096)}
        for kind, data in kinds.items():
            with self.subTest(kind):
                self.write("state.db", data)
                self.assertIn("FAIL  state", self.kairo.run("doctor", code=1).out)
                self.assertRegex(self.kairo.run("ask", "x", code=1).err, SENTENCE)
                self.fails("state.db", self.path("state.db"), "damaged", "backup")

    def test_a_database_of_no_bytes_is_a_new_one(self):
        self.write("state.db", b"")
        self.kairo.start()
        self.serves()

    def test_a_log_of_the_database_that_is_none(self):
        """What SQLite had not yet moved into the database itself."""
        for kind, data in (("random", os.urandom(50000)), ("empty", b""), ("zeros", bytes(50000))):
            with self.subTest(kind):
                self.write("state.db-wal", data)
                self.write("state.db-shm", data[:32768])
                self.kairo.start()
                self.serves()
                self.kairo.stop()
                self.restore()

    def test_a_torn_log_loses_no_message(self):
        """Killed in the middle of a write: what was committed is there, and the rest comes again."""
        self.kairo.start()
        self.kairo.request("POST", "/v1/pause")
        self.sim.inject("kept {n}", count=3)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 3, "three to wait")
        self.kairo.kill()
        with open(self.path("state.db-wal"), "ab") as f:
            f.write(os.urandom(3000))
        self.kairo.start()
        self.assertEqual(self.kairo.status()["queue"]["waiting"], 3)

    def test_the_account(self):
        for data in (b"", b"\0" * 300, b"{", b"[]", os.urandom(300)):
            with self.subTest(data[:10]):
                self.write("account.json", data)
                self.fails("account.json", self.path("account.json"), "kairo login")
        os.unlink(self.path("account.json"))
        self.assertIn("kairo login", self.kairo.start(code=4).err)

    def test_the_settings(self):
        self.write("config.toml", b"")
        self.assertRegex(self.kairo.start(code=1).err, SENTENCE)  # the test server needs a setting
        self.restore()
        for data in (b"\0", b"\xff\xfe", b"queue_limit = ", b"[model\n"):
            with self.subTest(data):
                self.write("config.toml", data)
                self.fails("config.toml", "config.toml:1:")

    def test_things_of_another_kind(self):
        for name in ("state.db", "account.json", "config.toml", "kairo.lock", "control.sock", "state.db-wal", "logs", "audit"):
            for make in (os.mkdir, os.mkfifo, lambda p: os.symlink("/etc/passwd", p)):
                path = self.path(name)
                if os.path.isdir(path):
                    if make is os.mkdir:
                        continue
                    shutil.rmtree(path)
                elif os.path.exists(path):
                    os.unlink(path)
                make(path)
                with self.subTest(name=name, kind=oct(stat.S_IFMT(os.lstat(path).st_mode))):
                    if name == "control.sock" and not os.path.isdir(path):
                        self.kairo.start(code=None)
                        self.kairo.run("stop", code=None)
                        self.restore()
                    else:
                        self.fails(name, name.split("/")[-1])


class Homes(Machine):
    """Wherever $KAIRO_HOME is, and however it is written."""

    def test_names(self):
        os.makedirs(os.path.join(self.folder, "real"))
        os.symlink("real", os.path.join(self.folder, "link"))
        deep = os.path.join(self.folder, *["d" * 60] * 6)
        for home in ("with spaces and 'quotes\"", "中文 目录", "link/home", "trailing/", "a/../dots/./x", "-dash", "new\nline",
                     os.path.join(deep, "home")):
            with self.subTest(home):
                k = Kairo(self.folder, self.sim)
                k.home = os.path.join(self.folder, home)
                k.env["KAIRO_HOME"] = k.home
                os.makedirs(os.path.dirname(k.home.rstrip("/")), exist_ok=True)
                k.set_up()
                k.start()
                try:
                    self.assertEqual(k.run("ask", "hello").out, "ok\n")
                    self.assertEqual(self.ask("hello")[-1], "ok")
                finally:
                    k.stop()
        self.assertTrue(os.path.exists(os.path.join(deep, "home", "state.db")))

    def test_a_relative_one_means_the_same_for_the_daemon(self):
        env = {**self.kairo.env, "KAIRO_HOME": "home"}
        subprocess.run([KAIRO, "start"], env=env, cwd=self.folder, check=True, capture_output=True)
        self.kairo.run("status")
        self.serves()

    def test_a_path_too_long_is_told(self):
        deep = os.path.join(self.folder, *["d" * 60] * 8)
        self.assertIn("shorter", self.kairo.run("ask", "x", env={"KAIRO_HOME": deep, "KAIRO_MODEL_BASE_URL": self.sim.model,
                                                                 "KAIRO_MODEL_NAME": "demo"}, code=1).err)
        for n in (300, 5000):
            p = self.kairo.run("config", "list", env={"KAIRO_HOME": "/tmp/" + "x" * n}, code=None)
            self.assertIn(p.returncode, (0, 1, 2))
            if p.returncode:
                self.assertRegex(p.err, r"\Akairo: [^\n]{15,}\n\Z")
                self.assertIn("too long", p.err)
            self.assertNotEqual(self.kairo.run("start", env={"KAIRO_HOME": "/tmp/" + "x" * n}, code=None).returncode, 0)


@unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
class Plain(Machine):
    """As somebody without rights."""

    login = False

    def setUp(self):
        super().setUp()
        if subprocess.run(self.as_nobody(KAIRO, "version"), capture_output=True).returncode != 0:
            self.skipTest("nobody else may run this build")
        os.chmod(self.folder, 0o755)
        mine = os.path.join(self.folder, "nobody")
        os.makedirs(os.path.join(mine, "workspace"))
        self.chown(mine)
        test = self

        class Nobody(Kairo):
            def argv(self, *args):
                return test.as_nobody(*super().argv(*args))
        shutil.rmtree(self.kairo.home, ignore_errors=True)
        self.kairo = Nobody(mine, self.sim)
        self.addCleanup(self.kairo.close)
        self.kairo.set_up()

    def chown(self, path):
        for folder, dirs, files in os.walk(path):
            for name in [folder] + [os.path.join(folder, n) for n in dirs + files]:
                os.lchown(name, NOBODY, NOBODY)

    def as_nobody(self, *argv):
        return ["/usr/bin/setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--no-new-privs",
                "--bounding-set=-all", "--", *argv]

    def live(self):
        return json.loads(self.kairo.run("status", "--json").out)

    def test_the_whole_path(self):
        with open(os.path.join(self.kairo.workspace, "note.txt"), "w") as f:
            f.write("hello from the workspace\n")
        self.chown(self.kairo.workspace)
        self.sim.script({"tool_calls": [{"name": "read_file", "arguments": {"path": "note.txt"}}]},
                        {"tool_calls": [{"name": "write_file", "arguments": {"path": "out.txt", "content": "x"}}]},
                        {"text": "ok"}, repeat=True)
        self.kairo.start()
        self.serves()
        results = [m["content"] for m in self.sim.model_requests()[-1]["body"]["messages"] if m["role"] == "tool"]
        self.assertIn("hello from the workspace", results[0])
        self.assertEqual(os.stat(os.path.join(self.kairo.workspace, "out.txt")).st_uid, NOBODY)
        self.kairo.run("doctor")
        self.kairo.run("restart")
        self.serves()
        self.kairo.stop()

    def test_a_home_that_cannot_be_written(self):
        self.kairo.start()
        self.serves()
        self.kairo.stop()
        for folder, dirs, files in os.walk(self.kairo.home):
            os.chmod(folder, 0o500)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o400)
        for args in (("start",), ("run",), ("config", "set", "language", "en"), ("login", "--force", "--base-url", self.sim.api),
                     ("logout",)):
            with self.subTest(args):
                p = self.kairo.run(*args, code=1)
                self.assertRegex(p.err.splitlines()[-1] + "\n", SENTENCE)
                self.assertRegex(p.err, "ermission denied|readonly|read-only")
        self.kairo.run("status", code=3)
        self.assertIn("home", self.kairo.run("doctor", code=1).out)
        for folder, dirs, files in os.walk(self.kairo.home):
            os.chmod(folder, 0o700)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o600)
        self.kairo.start()
        self.serves()

    def test_a_home_of_somebody_else(self):
        theirs = os.path.join(self.folder, "theirs")
        os.mkdir(theirs, 0o700)
        p = self.kairo.run("start", env={"KAIRO_HOME": theirs}, code=1)
        self.assertRegex(p.err, SENTENCE)
        p = self.kairo.run("config", "set", "language", "en", env={"KAIRO_HOME": theirs}, code=1)
        self.assertRegex(p.err, SENTENCE)


if __name__ == "__main__":
    main()
