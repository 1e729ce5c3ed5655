"""The fence around tools and programs, from outside: what tries to get out of it, and what is to end."""

import contextlib
import ctypes
import json
import os
import platform
import shlex
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from harness import BUILD, HOOKS, PATIENCE, Case, alive, main, wait_for

TOOL = os.path.join(BUILD, "tools", "kairo-tool")
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
NOBODY = 65534
libc = ctypes.CDLL(None)
ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
# Ignores what can be ignored, leaves its group, its session, its parent.
STUBBORN = """trap '' TERM HUP; sleep %(n)d & setsid sleep %(n)d & nohup sleep %(n)d >/dev/null 2>&1 &
(setsid sh -c 'sleep %(n)d & exit' &); sh -c 'trap "" TERM HUP; setsid sleep %(n)d' & echo up; sleep %(n)d"""


def probe(workspace, uid=None):
    out = subprocess.run([*as_user(uid), TOOL, "probe", workspace], capture_output=True, env=ENV, timeout=60)
    return json.loads(out.stdout)


def as_user(uid):
    if uid is None or uid == os.getuid():
        return []
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--"]


def on(descriptors):
    """For preexec_fn: these pipes at these numbers, all others closed."""
    def move():
        high = {n: os.dup2(fd, 200 + n) for n, fd in descriptors.items()}
        for n, fd in high.items():
            os.dup2(fd, n)
        os.closerange(max(descriptors) + 1, 300)
    return move


def running(word):
    """Pids of live processes with this word on their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % name, "rb") as f:
                    words = f.read().split(b"\0")
                if word.encode() in words and alive(int(name)):
                    found.append(int(name))
    return found


class Fence(unittest.TestCase):
    def setUp(self):
        # Not in /tmp, which is private inside: what is outside must be there to be refused.
        self.folder = tempfile.mkdtemp(prefix="kairo-fence-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        self.counter = 0

    def users(self):
        """Root and a plain user; one of them where the other cannot be had."""
        if os.getuid() != 0:
            print("skipped: as root (this test is not run by root)")
            return [os.getuid()]
        if not shutil.which("setpriv"):
            print("skipped: as a plain user (there is no setpriv)")
            return [0]
        return [0, NOBODY]

    def place(self, uid):
        """A fresh workspace, an outside with a secret, and a stand-in for Kairo's folder."""
        self.counter += 1
        base = os.path.join(self.folder, str(self.counter))
        for name in ("", "workspace", "outside", "home"):
            os.mkdir(os.path.join(base, name))
            os.chown(os.path.join(base, name), uid, uid)
        for name in ("outside/secret", "home/account.json", "home/config.toml"):
            with open(os.path.join(base, name), "w") as f:
                f.write("top-secret")
            os.chown(f.name, uid, uid)
            os.chmod(f.name, 0o600)
            os.utime(f.name, (1000000000, 1000000000))
        return base

    def layers(self, workspace, uid):
        """With the namespaces where they can be had, and with what is behind them."""
        told = probe(workspace, uid)
        found = []
        if told["namespaces"]:
            found.append(True)
        else:
            print("skipped: with namespaces (%s)" % told["why"])
        if told["landlock"] and told["seccomp"]:
            found.append(False)
        else:
            print("skipped: without namespaces (no Landlock or no seccomp)")
        return found

    def each(self, check):
        """check(uid, namespaces, base) for all that this machine has."""
        for uid in self.users():
            for namespaces in self.layers(self.place(uid), uid):
                with self.subTest(uid=uid, namespaces=namespaces):
                    check(uid, namespaces, self.place(uid))

    def launch(self, base, uid, namespaces, *options, argv, kind="--fenced", env=None, **more):
        """kairo-tool supervise; the process and the lifeline."""
        down, line = os.pipe()
        p = subprocess.Popen(
            [*as_user(uid), TOOL, "supervise", kind, *(["--namespaces"] if namespaces else []),
             "--workspace", os.path.join(base, "workspace"), *options, "--", *argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False,
            preexec_fn=on({3: down}), env=env or ENV, **more)
        os.close(down)
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p, line

    def run_in(self, base, uid, namespaces, *options, argv, kind="--fenced", timeout=60, env=None):
        p, line = self.launch(base, uid, namespaces, *options, argv=argv, kind=kind, env=env)
        try:
            out = p.communicate(timeout=timeout)[0].decode(errors="replace")
        finally:
            os.close(line)
        return p.returncode, out

    def call(self, base, uid, namespaces, tool, read=(), network=False, **args):
        """One call of a tool; (ok, text)."""
        down, line = os.pipe()
        events, up = os.pipe()
        p = subprocess.Popen([*as_user(uid), TOOL, "call"], stdin=subprocess.DEVNULL, close_fds=False,
                             preexec_fn=on({3: down, 4: up}), env=ENV)
        os.close(down)
        os.close(up)
        request = {"tool": tool, "args": args, "workspace": os.path.join(base, "workspace"), "read": list(read),
                   "required": True, "network": network, "namespaces": namespaces}
        os.write(line, json.dumps(request).encode() + b"\n")
        with os.fdopen(events, "rb") as f:
            said = [json.loads(x) for x in f.read().splitlines()]
        os.close(line)
        p.wait()
        results = [x for x in said if x["event"] == "result"]
        self.assertEqual(len(results), 1, said)
        for x in said:
            if x["event"] == "fence":
                self.assertEqual(x["namespaces"], namespaces)
        return results[0]["ok"], results[0]["text"]

    def untouched(self, base):
        for name in ("outside/secret", "home/account.json", "home/config.toml"):
            path = os.path.join(base, name)
            with open(path) as f:
                self.assertEqual(f.read(), "top-secret")
            st = os.lstat(path)
            self.assertEqual((st.st_mtime, stat.S_IMODE(st.st_mode), st.st_nlink), (1000000000, 0o600, 1), path)
            self.assertEqual(os.listxattr(path), [])
        self.assertEqual(os.listdir(os.path.join(base, "outside")), ["secret"])

    # --- Getting out ---

    @contextlib.contextmanager
    def others(self, base, uid):
        """Programs of the same user outside: what there is to reach."""
        path = os.path.join(base, "outside-socket")
        victim = subprocess.Popen([*as_user(uid), "sleep", "600"], start_new_session=True,
                                  env={**ENV, "API_KEY": "sk-secret"})
        with contextlib.ExitStack() as stack:
            def listen(family, address, kind=socket.SOCK_STREAM):
                s = stack.enter_context(socket.socket(family, kind))
                s.bind(address)
                if kind == socket.SOCK_STREAM:
                    s.listen()
                return s
            try:
                abstract = "kairo-fence-%d" % os.getpid()
                for p, kind in ((path, socket.SOCK_STREAM), (path + ".dgram", socket.SOCK_DGRAM),
                                (os.path.join(base, "home", "control.sock"), socket.SOCK_STREAM)):
                    listen(socket.AF_UNIX, p, kind)
                    os.chmod(p, 0o777)
                listen(socket.AF_UNIX, "\0" + abstract)
                port = listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
                key = 0x6b616972 + os.getpid()
                memory = libc.shmget(key, 1, 0o1666)
                stack.callback(libc.shmctl, memory, 0, None)  # IPC_RMID
                yield {"outside": os.path.join(base, "outside"), "home": os.path.join(base, "home"),
                       "daemon": victim.pid, "socket": path, "abstract": abstract, "port": port, "fd": 20, "memory": key}
                self.assertIsNone(victim.poll())
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, victim.pid), 0)
            finally:
                victim.kill()
                victim.wait()

    def escape(self, run, network):
        if platform.machine() != "x86_64" or not os.path.exists(PYTHON):
            self.skipTest("the probe is for x86-64 and %s" % PYTHON)
        folder = os.path.join(self.folder, "probe")
        os.mkdir(folder, 0o755)
        shutil.copy(os.path.join(HERE, "escape.py"), folder)

        def check(uid, namespaces, base):
            with self.others(base, uid) as targets:
                targets["network"] = network
                argv = [PYTHON, "-IB", os.path.join(folder, "escape.py"), json.dumps(targets)]
                run(base, uid, namespaces, folder, argv, network)
            os.unlink(os.path.join(base, "home", "control.sock"))
            self.untouched(base)
        self.each(check)

    def by_launch(self, base, uid, namespaces, folder, argv, network):
        code, out = self.run_in(base, uid, namespaces, "--read", folder, *(["--network"] if network else []),
                                argv=argv)
        self.assertEqual((code, out.strip()), (0, "[]"))

    def by_shell(self, base, uid, namespaces, folder, argv, network):
        command = " ".join(shlex.quote(word) for word in argv)
        ok, text = self.call(base, uid, namespaces, "shell", read=[folder], network=network, command=command)
        self.assertTrue(ok, text)
        self.assertIn("[]", text.splitlines())

    def test_a_program_does_not_get_out(self):
        self.escape(self.by_launch, network=False)

    def test_nor_does_one_with_a_network(self):
        self.escape(self.by_launch, network=True)

    def test_a_command_of_the_shell_does_not_get_out(self):
        self.escape(self.by_shell, network=False)

    def test_nor_does_an_allowed_one_with_a_network(self):
        self.escape(self.by_shell, network=True)

    def test_file_tools_do_not_get_out(self):
        def check(uid, namespaces, base):
            outside = os.path.join(base, "outside")
            os.chdir(os.path.join(base, "workspace"))
            self.addCleanup(os.chdir, "/")
            os.symlink(os.path.join(outside, "secret"), "link")
            os.symlink(os.path.join(outside, "new"), "dangling")
            os.symlink(outside, "folder")
            os.link(os.path.join(outside, "secret"), "hard")
            os.mkfifo("pipe")
            with socket.socket(socket.AF_UNIX) as s:
                s.bind("socket")
            paths = ["link", "dangling", "folder/secret", "folder/new", "hard", "pipe", "socket",
                     "../outside/secret", "x/../../outside/secret", os.path.join(outside, "secret"),
                     "/proc/self/root" + outside + "/secret", "/proc/self/environ", "/dev/zero", "/dev/tty",
                     "/etc/passwd", os.path.join(base, "home", "account.json")]
            if os.getuid() == 0:
                os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
                paths.append("device")
            for path in paths:
                for tool, args in (("read_file", {}), ("write_file", {"content": "changed"}), ("list_dir", {}),
                                   ("grep", {"pattern": "secret"})):
                    ok, text = self.call(base, uid, namespaces, tool, path=path, **args)
                    self.assertFalse(ok and "no match" not in text, (tool, path, text))
                    self.assertNotIn("top-secret", text)
            ok, text = self.call(base, uid, namespaces, "grep", pattern="secret")
            self.assertNotIn("top-secret", text)
            for name in ("link", "hard"):
                os.unlink(name)
            self.untouched(base)
        self.each(check)

    def test_a_link_swapped_in_while_a_tool_works_leads_nowhere(self):
        def check(uid, namespaces, base):
            outside, inner = os.path.join(base, "outside"), os.path.join(base, "workspace", "inner")
            over = threading.Event()

            def swap():
                while not over.is_set():
                    with contextlib.suppress(OSError):  # the tool is in the way now and then
                        os.mkdir(inner)
                        os.chown(inner, uid, uid)
                        time.sleep(0.001)
                    shutil.rmtree(inner, ignore_errors=True)
                    with contextlib.suppress(OSError):
                        os.symlink(outside, inner)
                        time.sleep(0.001)
                        os.unlink(inner)
            swapper = threading.Thread(target=swap)
            swapper.start()
            try:
                for _ in range(12):
                    self.call(base, uid, namespaces, "write_file", path="inner/secret", content="changed")
                    _, text = self.call(base, uid, namespaces, "read_file", path="inner/secret")
                    self.assertNotIn("top-secret", text)
            finally:
                over.set()
                swapper.join()
            self.untouched(base)
        self.each(check)

    def test_what_may_be_read_may_not_be_written(self):
        def check(uid, namespaces, base):
            extra = os.path.join(base, "outside")
            ok, text = self.call(base, uid, namespaces, "read_file", read=[extra], path=extra + "/secret")
            self.assertTrue(ok and "top-secret" in text, text)
            ok, text = self.call(base, uid, namespaces, "write_file", read=[extra], path=extra + "/secret",
                                 content="changed")
            self.assertFalse(ok, text)
            code, out = self.run_in(
                base, uid, namespaces, "--read", extra, argv=["sh", "-c", """
                cd %s && cat secret && ! echo x >> secret && ! chmod 777 secret && ! touch -d @1 secret &&
                ! rm -f secret && ! ln secret other && ! mv secret other && ! cp secret new""" % extra])
            self.assertEqual(code, 0, out)
            self.assertIn("top-secret", out)
            self.untouched(base)
        self.each(check)

    def test_a_folder_that_cannot_be_reached_is_as_none(self):
        def check(uid, namespaces, base):
            closed = os.path.join(base, "closed")
            os.makedirs(os.path.join(closed, "inner"))
            with open(os.path.join(closed, "inner", "secret"), "w") as f:
                f.write("top-secret")
            os.chmod(closed, 0o700)  # whose owner is not who the tool becomes
            os.chmod(os.path.join(closed, "inner"), 0o700)
            with open(os.path.join(base, "workspace", "a"), "w") as f:
                f.write("mine")
            os.chmod(f.name, 0o644)
            for folder in (os.path.join(closed, "inner"), os.path.join(base, "none")):
                ok, text = self.call(base, uid, namespaces, "read_file", read=[folder], path="a")
                self.assertTrue(ok and "mine" in text, text)
                if uid != os.getuid():
                    ok, text = self.call(base, uid, namespaces, "read_file", read=[folder], path=folder + "/secret")
                    self.assertFalse(ok or "top-secret" in text, text)
        self.each(check)

    def test_a_folder_to_read_that_became_a_link_is_not_followed(self):
        """It lies where tools write, and one of them has put a link in its place."""
        def check(uid, namespaces, base):
            inner = os.path.join(base, "workspace", "toolchain")
            os.symlink(os.path.join(base, "outside"), inner)
            for tool, args in (("read_file", {"path": inner + "/secret"}), ("shell", {"command": "cat toolchain/secret"})):
                ok, text = self.call(base, uid, namespaces, tool, read=[inner], **args)
                self.assertFalse(ok or "top-secret" in text, text)
            ok, text = self.call(base, uid, namespaces, "shell", read=[inner], command="echo x > works")
            self.assertTrue(ok, text)
        self.each(check)

    def test_a_workspace_inside_a_folder_to_read_is_still_written(self):
        def check(uid, namespaces, base):
            inner = os.path.join(base, "workspace", "sub")
            ok, text = self.call(base, uid, namespaces, "write_file", read=[base, inner], path="a", content="x")
            self.assertTrue(ok, text)
            ok, text = self.call(base, uid, namespaces, "write_file", read=[base], path="../outside/secret",
                                 content="x")
            self.assertFalse(ok, text)
            code, out = self.run_in(base, uid, namespaces, "--read", base, argv=[
                "sh", "-c", "echo x > b && cat ../outside/secret && ! cp b ../outside/secret"])
            self.assertEqual(code, 0, out)
            self.untouched(base)
        self.each(check)

    # --- What a call may use up ---

    def test_without_memory_they_go_first(self):
        """What the kernel would end before anything else: seen from outside, as no program may lower it."""
        def check(uid, namespaces, base):
            for kind in ("--fenced", "--open"):
                n = str(400000 + os.getpid() % 100000)
                p, line = self.launch(base, uid, namespaces, kind=kind, argv=["sh", "-c", "echo up; exec sleep " + n])
                self.assertEqual(p.stdout.readline(), b"up\n")
                wait_for(lambda word=n: running(word), "the program")
                with open("/proc/%d/oom_score_adj" % running(n)[0]) as f:
                    self.assertEqual(f.read(), "1000\n")
                os.close(line)
                p.wait(PATIENCE)
        self.each(check)

    # --- Ending ---

    def begin_tree(self, base, uid, namespaces, kind, n):
        p, line = self.launch(base, uid, namespaces, kind=kind, argv=["sh", "-c", STUBBORN % {"n": n}])
        self.assertEqual(p.stdout.readline(), b"up\n")
        wait_for(lambda: len(running(str(n))) >= 6, "the whole tree")
        return p, line

    def test_the_end_of_the_lifeline_ends_the_whole_tree(self):
        def check(uid, namespaces, base):
            for kind in ("--fenced", "--open"):
                n = 100000 + os.getpid() % 100000
                p, line = self.begin_tree(base, uid, namespaces, kind, n)
                os.close(line)
                self.assertEqual(p.wait(PATIENCE), 143)
                wait_for(lambda: not running(str(n)), "the tree to be gone")
        self.each(check)

    def test_a_namespace_ends_with_whoever_made_it(self):
        def check(uid, namespaces, base):
            if not namespaces:
                return
            n = 200000 + os.getpid() % 100000
            p, line = self.begin_tree(base, uid, namespaces, "--fenced", n)
            p.kill()
            p.wait()
            wait_for(lambda: not running(str(n)), "the tree to be gone")
            os.close(line)
        self.each(check)

    def test_what_a_program_leaves_behind_ends_with_it(self):
        def check(uid, namespaces, base):
            n = 300000 + os.getpid() % 100000
            code, out = self.run_in(base, uid, namespaces, argv=[
                "sh", "-c", "setsid sleep %d >/dev/null 2>&1 & (setsid nohup sleep %d &) ; exit 7" % (n, n)])
            self.assertEqual(code, 7, out)
            wait_for(lambda: not running(str(n)), "what it left to be gone")
        self.each(check)

    def test_a_fork_bomb_is_held_and_ends(self):
        def check(uid, namespaces, base):
            if uid == 0 and not namespaces:
                return  # nothing holds root then, as the manual says
            me = "b() { b | b & }; b; sleep 2 # %d" % os.getpid()
            code, _ = self.run_in(base, uid, namespaces, argv=["sh", "-c", me])
            self.assertIn(code, (0, 2, 143))
            # The machine has room for others all the time, and afterwards nothing of it is left.
            self.assertEqual(subprocess.run(["true"], timeout=30).returncode, 0)
            wait_for(lambda: not running(me), "the bomb to be gone")
        self.each(check)

    def test_a_command_cannot_cancel_itself(self):
        def check(uid, namespaces, base):
            ok, text = self.call(base, uid, namespaces, "shell", command="kill $PPID; sleep 0.2; echo went on")
            self.assertTrue(ok and "went on" in text, text)
        self.each(check)

    def test_limits_hold(self):
        def check(uid, namespaces, base):
            code, out = self.run_in(base, uid, namespaces, argv=[
                "sh", "-c", "ulimit -c; ulimit -n; ulimit -n 2000 || echo held; ulimit -f"])
            self.assertEqual(out.split()[0:2], ["0", "1024"], out)
            self.assertIn("held", out)
            self.assertNotIn("unlimited", out)
        self.each(check)

    def test_an_agent_does_not_see_what_is_hidden(self):
        def check(uid, namespaces, base):
            if not namespaces:
                return
            home, own = os.path.join(base, "home"), os.path.join(base, "own")
            os.mkdir(own)
            os.chown(own, uid, uid)
            code, out = self.run_in(
                base, uid, namespaces, "--hide", home, "--write", own, kind="--open", argv=["sh", "-c", """
                test -z "$(ls -A %s)" && echo x > %s/x && echo x > x && ! cp x %s/secret && ! cp x /etc/x &&
                ! chmod 666 /dev/null && ! sh -c 'exec 3<>/proc/sys/kernel/core_pattern'""" %
                (home, own, base + "/outside")])
            self.assertEqual(code, 0, out)
            self.assertTrue(os.path.exists(os.path.join(own, "x")))
            self.untouched(base)
        self.each(check)

    def test_an_agent_reads_what_was_received_in_what_is_hidden(self):
        def check(uid, namespaces, base):
            if not namespaces:
                return
            home = os.path.join(base, "home")
            media = os.path.join(home, "media")
            os.mkdir(media)
            with open(os.path.join(media, "note"), "w") as f:
                f.write("received")
            for path in (media, os.path.join(media, "note")):
                os.chown(path, uid, uid)
            code, out = self.run_in(
                base, uid, namespaces, "--hide", home, "--read", media, kind="--open", argv=["sh", "-c", """
                test "$(ls -A %s)" = media && grep -q received %s/note && ! echo x > %s/x && ! rm %s/note &&
                ! mkdir %s/x""" % (home, media, media, media, home)])
            self.assertEqual(code, 0, out)
            with open(os.path.join(media, "note")) as f:
                self.assertEqual(f.read(), "received")
        self.each(check)

    def test_usage_is_told(self):
        for argv in ([], ["--fenced"], ["--fenced", "--open", "--workspace", "/tmp", "--", "true"],
                     ["--workspace", "/tmp", "--", "true"], ["--fenced", "--workspace", "tmp", "--", "true"],
                     ["--fenced", "--workspace", "/tmp", "--"], ["--fenced", "--nothing", "--", "true"]):
            p = subprocess.run([TOOL, "supervise", *argv], capture_output=True, env=ENV, timeout=30)
            self.assertEqual(p.returncode, 2, argv)
        base = self.place(os.getuid())
        self.assertEqual(self.run_in(base, None, False, argv=["/no/such/program"])[0], 127)


class Denied(Case):
    """Where bubblewrap does not work, and the kernel says why."""

    # No further user namespace, and not the rights to do without one.
    PREFIX = ["unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && "
              'exec setpriv --bounding-set=-all --inh-caps=-all -- "$@"', "sh"]

    def setUp(self):
        super().setUp()
        told = subprocess.run([*self.PREFIX, TOOL, "probe", self.kairo.workspace], capture_output=True, env=ENV)
        if told.returncode != 0:
            self.skipTest("user namespaces cannot be denied here: %r" % told.stderr)
        self.told = json.loads(told.stdout)
        self.assertFalse(self.told["namespaces"], self.told)
        if not self.told["landlock"]:
            self.skipTest("the kernel has no Landlock")

    def denied(self, *args, code=0):
        p = subprocess.run([*self.PREFIX, *self.kairo.argv(*args)], capture_output=True, env=self.kairo.env,
                           stdin=subprocess.DEVNULL, timeout=120)
        if code is not None:
            self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p.stdout.decode()

    def write(self):
        """A turn that writes a file; what the model was told of it."""
        self.sim.script({"tool_calls": [{"name": "write_file", "arguments": {"path": "a", "content": "x"}}]},
                        {"text": "done"})
        self.assertEqual(self.ask("write"), ["done"])
        return [m["content"] for m in self.sim.model_requests()[-1]["body"]["messages"] if m["role"] == "tool"][-1]

    def test_status_and_doctor_name_what_is_missing(self):
        self.denied("start")
        for line in (self.kairo.status()["sandbox"], self.kairo.run("status").out, self.denied("doctor", code=None)):
            self.assertIn("Landlock ABI", line)
            self.assertIn("no namespaces: " + self.told["why"], line)
            self.assertIn("control group" if self.told["cgroup"] else "weaker", line)
        self.assertIn("package bubblewrap", self.denied("doctor", code=None))

    def test_file_tools_run_with_what_there_is(self):
        self.denied("start")
        self.write()
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "a")))

    def test_a_command_ends_by_stop_and_with_a_daemon_that_is_killed(self):
        n = str(500000 + os.getpid() % 100000)
        self.kairo.config(policy__shell="allowlist", policy__shell_allow=["sh trial"])
        with open(os.path.join(self.kairo.workspace, "trial"), "w") as f:
            f.write(STUBBORN % {"n": int(n)})
        self.denied("start")
        for killed in (False, True):
            self.sim.script({"tool_calls": [{"name": "shell", "arguments": {"command": "sh trial"}}]}, {"text": "over"})
            self.sim.inject("please")
            wait_for(lambda: len(running(n)) >= 6, "the whole tree")
            if killed:
                self.kairo.kill()
            else:
                self.sim.inject("/stop")
            wait_for(lambda: not running(n), "the tree to be gone")
            if not killed:
                self.kairo.idle()

    def test_required_refuses_them_and_says_how_to_have_it(self):
        self.kairo.config(sandbox__mode="required")
        self.denied("start")
        self.assertIn("refused", self.kairo.status()["sandbox"])
        said = self.write()
        for word in ("write_file is refused", "sandbox.mode", "bubblewrap", self.told["why"]):
            self.assertIn(word, said)
        self.assertFalse(os.path.exists(os.path.join(self.kairo.workspace, "a")))


class Daemon(Case):
    def test_the_namespaces_are_named_and_used(self):
        if not probe(self.kairo.workspace)["namespaces"]:
            self.skipTest("bubblewrap does not work here")
        self.kairo.config(sandbox__mode="required")
        self.kairo.start()
        line = self.kairo.status()["sandbox"]
        for word in ("files: bubblewrap", "calls: seccomp", "network: a namespace", "ending: PID namespace"):
            self.assertIn(word, line)
        self.sim.script({"tool_calls": [{"name": "write_file", "arguments": {"path": "a", "content": "x"}}]},
                        {"text": "done"})
        self.assertEqual(self.ask("write"), ["done"])
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "a")))
        self.assertIn('"namespaces":true', self.kairo.log())

    @unittest.skipIf(HOOKS, "a build with sanitizers stays dumpable")
    def test_nobody_looks_into_the_daemon(self):
        uid = NOBODY if os.getuid() == 0 else os.getuid()
        if os.getuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest("root may look everywhere, and there is no setpriv")
            os.chmod(self.folder, 0o711)
            for path, folders, files in os.walk(self.folder):
                for name in ("", *folders, *files):
                    os.chown(os.path.join(path, name), uid, uid, follow_symlinks=False)
        p = subprocess.Popen([*as_user(uid), *self.kairo.argv("run")], env=self.kairo.env,
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.kairo.children.append(p)
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.dir, "control.sock")), "the daemon")
        for name in ("environ", "mem", "maps", "fd/0"):
            look = subprocess.run([*as_user(uid), "head", "-c", "1", "/proc/%d/%s" % (p.pid, name)],
                                  capture_output=True, env=ENV)
            self.assertNotEqual(look.returncode, 0, name)
            self.assertIn(b"ermission denied", look.stderr)


if __name__ == "__main__":
    main()
