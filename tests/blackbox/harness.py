"""Black-box tests: the real kairo against the real kairo-sim, over real sockets, files and signals.

Every wait has a condition and a bound; nothing sleeps for luck. Only processes started here are ended.
The build folder comes in KAIRO_BUILD (set by ctest)."""

import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

BUILD = os.environ.get("KAIRO_BUILD") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "dev")
KAIRO = os.path.join(BUILD, "cli", "kairo")
SIM = os.path.join(BUILD, "contrib", "sim", "kairo-sim")
HOOKS = os.environ.get("KAIRO_HOOKS", "1") == "1"
# A sanitized build on a busy machine is slow; bounds are for hangs, not for speed.
PATIENCE = float(os.environ.get("KAIRO_PATIENCE", "40"))
# Of a /stop, from its arrival at the server to the notice on the phone; a sanitized build is slow.
STOP_MS = 4000 if HOOKS else 1000

needs_hooks = unittest.skipUnless(HOOKS, "the build has no test hooks")


def wait_for(condition, what, seconds=None):
    """The first true value of condition(); fails after the bound, naming what was waited for."""
    end = time.monotonic() + (seconds or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("gave up waiting for " + what)
        time.sleep(0.02)


def stalled(text="begun"):
    """A model step that says text and then falls silent, the stream left open."""
    return {"events": [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}],
            "stall": True}


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def command_of(pid):
    """The words of a process's command; none when it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return [word.decode(errors="replace") for word in f.read().split(b"\0")[:-1]]
    except OSError:
        return []


def may_unshare(*what):
    """Can a program be started in namespaces of its own here? what: options of unshare(1)."""
    try:
        return subprocess.run(["unshare", *what, "true"], capture_output=True, timeout=30).returncode == 0
    except FileNotFoundError:
        return False


def descendants(pid):
    """Pids of every live process below pid."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open("/proc/%s/stat" % name) as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                if fields[0] != "Z":
                    parents.setdefault(int(fields[1]), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        kids = parents.get(todo.pop(), [])
        found += kids
        todo += kids
    return found


class Sim:
    """kairo-sim and its control API (contrib/sim/README.md)."""

    def __init__(self, folder, *options, hold_ms=200):
        os.makedirs(folder, exist_ok=True)
        self.log = open(os.path.join(folder, "sim.log"), "wb")
        self.process = subprocess.Popen(
            [SIM, "--dir", folder, "--auto-confirm", "--hold-ms", str(hold_ms), "--model-delay-ms", "0",
             *options], stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("kairo-sim did not start; see " + folder)
        self.where = json.loads(line)
        self.api, self.model = self.where["api"], self.where["model"]
        self.control = urllib.parse.urlsplit(self.where["control"])

    def raw(self, method, path, body=None, timeout=60):
        c = http.client.HTTPConnection(self.control.hostname, self.control.port, timeout=timeout)
        try:
            c.request(method, "/control/" + path, json.dumps(body or {}) if method == "POST" else None,
                      {"Content-Type": "application/json"})
            return json.loads(c.getresponse().read())
        finally:
            c.close()

    def call(self, method, path, body=None):
        answer = self.raw(method, path, body)
        if not answer.get("ok"):
            raise AssertionError("simulator: %s %s: %s" % (method, path, answer))
        return answer

    def inject(self, text=None, **more):
        body = dict(more)
        if text is not None:
            body["text"] = text
        return self.call("POST", "inject", body)["messages"]

    def inject_media(self, kind, data, message=None, **media):
        """A picture, file, voice or video from the phone. data: its bytes, or a number of them, which the
        simulator makes up (samples.pattern). media: see "media" in contrib/sim/README.md; message: the
        other members of the call, such as {"from": USER}."""
        media["kind"] = kind
        if isinstance(data, int):
            media["size"] = data
        else:
            media["data_b64"] = base64.b64encode(data).decode()
        return self.inject(media=media, **(message or {}))

    def inject_image(self, data, **more):
        return self.inject_media("image", data, **more)

    def inject_file(self, data, name="a.txt", **more):
        return self.inject_media("file", data, name=name, **more)

    def inject_voice(self, data, transcript=None, **more):
        if transcript is not None:
            more["transcript"] = transcript
        return self.inject_media("voice", data, **more)

    def inject_video(self, data, **more):
        return self.inject_media("video", data, **more)

    def quote(self, text, of, /, **quote):
        """Text that quotes the message with this id, as new phones do; `part`, `style` and the others of
        "quote" in contrib/sim/README.md."""
        return self.inject(text, quote=dict(quote, of=of))

    def files(self, since=0):
        """The pictures and files on the phone, each with its bytes as "data"; None for a grey box."""
        found = [d for d in self.sent(since) if d.get("media")]
        for d in found:
            d["data"] = self.media(d["media"]) if d["media_state"] == "opens" else None
        return found

    def media(self, number):
        c = http.client.HTTPConnection(self.control.hostname, self.control.port, timeout=60)
        try:
            c.request("GET", "/control/media?id=%d" % number)
            return c.getresponse().read()
        finally:
            c.close()

    def sent(self, since=0, **query):
        return self.call("GET", "sent?" + urllib.parse.urlencode(dict(query, since=since)))["sent"]

    def texts(self, since=0, **query):
        return [d["text"] for d in self.sent(since, **query)]

    def wait(self, what, count=1, seconds=None):
        """Until a count of the simulator is reached; returns what it has then."""
        ms = int((seconds or PATIENCE) * 1000)
        answer = self.raw("GET", "wait?what=%s&count=%d&ms=%d" % (what, count, ms), timeout=ms / 1000 + 10)
        if not answer.get("ok"):
            raise AssertionError("the simulator saw %s %s, wanted %d" % (answer.get("have", answer), what, count))
        return answer["have"]

    def counts(self):
        return self.call("GET", "state")["counts"]

    def script(self, *steps, **more):
        """What the model says: one step a request."""
        return self.call("POST", "model", dict(more, script=list(steps)))

    def fault(self, endpoint, kind, **more):
        return self.call("POST", "fault", dict(more, endpoint=endpoint, kind=kind))["id"]

    def clear_faults(self):
        self.call("POST", "fault/clear")

    def set(self, **settings):
        return self.call("POST", "set", settings)

    def clock(self, ms):
        self.call("POST", "clock", {"advance_ms": ms})

    def requests(self, endpoint=None, since=0):
        q = {"since": since}
        if endpoint:
            q["endpoint"] = endpoint
        return self.call("GET", "requests?" + urllib.parse.urlencode(q))["requests"]

    def model_requests(self, since=0):
        return self.call("GET", "model_requests?since=%d" % since)["requests"]

    def violations(self):
        return self.call("GET", "violations")["violations"]

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.close()
        return self.process.returncode


class Kairo:
    """One KAIRO_HOME and the commands on it."""

    def __init__(self, folder, sim=None, account=None):
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.workspace = os.path.join(folder, "workspace")
        os.makedirs(self.workspace, exist_ok=True)
        self.sim = sim
        self.account = account
        self.env = {"HOME": folder, "KAIRO_HOME": self.home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
                    "KAIRO_TEST_PAUSE": "120"}  # a little more than the simulator wants between two sends
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.children = []

    @property
    def dir(self):
        return os.path.join(self.home, "accounts", self.account) if self.account else self.home

    def argv(self, *args):
        return [KAIRO, *(["--account", self.account] if self.account else []), *args]

    def run(self, *args, code=0, stdin=b"", env=None, timeout=None):
        """A command to its end; the finished process, with .out and .err as text."""
        p = subprocess.run(self.argv(*args), input=stdin, capture_output=True, env={**self.env, **(env or {})},
                           timeout=timeout or PATIENCE * 2)
        p.out, p.err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
        if code is not None and p.returncode != code:
            raise AssertionError("kairo %s ended with %d, wanted %s\n%s%s" % (
                " ".join(args), p.returncode, code, p.out, p.err))
        return p

    def popen(self, *args, env=None, **more):
        p = subprocess.Popen(self.argv(*args), env={**self.env, **(env or {})},
                             **{"stdin": subprocess.DEVNULL, **more})
        self.children.append(p)
        return p

    def config(self, **settings):
        """Keys with __ for the dot: model__name="x"."""
        for key, value in settings.items():
            self.run("config", "set", key.replace("__", "."),
                     value if isinstance(value, str) else json.dumps(value))

    def set_up(self, login=True):
        self.config(workspace=self.workspace)
        with open(os.path.join(self.dir, "config.toml"), "a") as f:  # a program's start for each key takes its time
            f.write("""log_level = "debug"

[network]
allow_loopback = true

[model]
base_url = "%s"
name = "demo"

[ilink]
cdn_url = "%s"
""" % (self.sim.model, self.sim.where["cdn"]))
        if login:
            self.run("login", "--base-url", self.sim.api)
        return self

    def start(self, env=None, code=0):
        return self.run("start", env=env, code=code)

    def stop(self, code=0):
        return self.run("stop", code=code)

    def status(self):
        """What the daemon says of itself, which is what `kairo status --json` prints."""
        return self.request("GET", "/v1/status")[1]

    def pid(self):
        return self.status()["pid"]

    def files(self):
        """What lies in the workspace, but for the folder of files that are to be sent."""
        return sorted(name for name in os.listdir(self.workspace) if name != ".kairo-out")

    def idle(self):
        """The status once nothing runs, waits or is still to be sent."""
        def done():
            s = self.status()
            return s["turn"] is None and not s["queue"]["waiting"] and not s["unsent"] and s
        return wait_for(done, "the daemon to be idle")

    def request(self, method, path, body=None):
        """A raw call on the control socket; (status, answer)."""
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(PATIENCE)
        fd = os.open(self.dir, os.O_PATH)
        try:
            s.connect("/proc/self/fd/%d/control.sock" % fd)
        finally:
            os.close(fd)
        c = http.client.HTTPConnection("localhost")
        c.sock = s
        try:
            c.request(method, path, None if body is None else json.dumps(body),
                      {"Content-Type": "application/json"})
            r = c.getresponse()
            data = r.read()
            return r.status, json.loads(data) if data else None
        finally:
            c.close()

    def turn_clock(self, ms):
        """Test builds only: the daemon's clock."""
        status, answer = self.request("POST", "/test/clock", {"advance_ms": ms})
        if status != 200:
            raise AssertionError("test clock: %s %s" % (status, answer))

    def hurry(self, ms=500):
        """Backoffs are for the field; where the clock can be turned, it is. Never true, to stand in a condition."""
        if HOOKS:
            self.turn_clock(ms)

    def log(self):
        text = ""
        for name in ("stderr.log", "kairo.log"):
            with contextlib.suppress(FileNotFoundError):
                with open(os.path.join(self.dir, "logs", name), errors="replace") as f:
                    text += f.read()
        return text

    def db(self, sql, *args):
        """A read-only look at state.db."""
        c = sqlite3.connect("file:%s?mode=ro" % urllib.parse.quote(os.path.join(self.dir, "state.db")),
                            uri=True, timeout=PATIENCE)
        try:
            return c.execute(sql, args).fetchall()
        finally:
            c.close()

    def kill(self, pid=None):
        """kill -9 on the daemon; returns when it is gone."""
        pid = pid or self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), "the killed daemon to be gone")

    def close(self):
        for p in self.children:
            if p.poll() is None:
                p.terminate()
                try:
                    p.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
            for s in (p.stdout, p.stderr):
                if s:
                    s.close()
        stopped = False
        if os.path.isdir(self.dir):
            p = self.run("stop", code=None)
            if p.returncode not in (0, 3):  # a daemon would be left behind
                raise AssertionError("kairo stop ended with %d\n%s%s" % (p.returncode, p.out, p.err))
            stopped = p.returncode == 0
        if not stopped:  # a test may have taken the folder away: nothing else finds a daemon that runs
            for pid in self._daemons():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _daemons(self):
        """The processes that were started with our folder."""
        ours = ("KAIRO_HOME=" + self.home).encode()
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open("/proc/%s/environ" % name, "rb") as f:
                if ours in f.read().split(b"\0"):
                    found.append(int(name))
        return found


class Case(unittest.TestCase):
    """A private folder, a simulator (self.sim) and a logged-in kairo (self.kairo), not yet started."""

    login = True
    sim_options = ()
    hold_ms = 200
    violations_expected = False
    brisk = False  # pauses between sends are turned away; then kairo's clock is ahead of the phone's

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kairo-bb-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.sim = Sim(os.path.join(self.folder, "sim"), *self.sim_options, hold_ms=self.hold_ms)
        self.addCleanup(self.sim.close)
        self.kairo = Kairo(self.folder, self.sim)
        self.addCleanup(self._finish)
        self.kairo.set_up(login=self.login)

    def _finish(self):
        breaches = self.sim.violations() if self.sim.process.poll() is None else []
        self.kairo.close()
        log = self.kairo.log()
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            sys.stderr.write("--- %s: the daemon's log ---\n%s\n---\n" % (self.id(), log[-30000:]))
        if not self.violations_expected:
            self.assertEqual(breaches, [])
        for word in ("AddressSanitizer", "LeakSanitizer", "runtime error:"):
            self.assertNotIn(word, log)

    def narrow(self, sends, *texts):
        """Messages from the phone whose answers find so many sends of their window used."""
        self.kairo.request("POST", "/v1/pause")
        for text in texts:
            self.sim.inject(text)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == len(texts), "the messages to wait")
        for n in range(sends):
            self.kairo.run("send", "spent %d" % n)
        wait_for(lambda: self.kairo.status()["sends"]["used"] == sends or self.let_pass(), "the window to be used")
        self.kairo.request("POST", "/v1/resume")

    def let_pass(self, ms=500):
        """Nothing, or where it is wanted and can be had some time of kairo's: for the end of a condition that waits."""
        if self.brisk and HOOKS:
            self.kairo.turn_clock(ms)

    def idle(self):
        """Until nothing runs, waits or is still to be sent."""
        def done():
            s = self.kairo.request("GET", "/v1/status")[1]
            return not (s["turn"] or s["queue"]["waiting"] or s["unsent"]) or self.let_pass()
        wait_for(done, "the daemon to be idle")

    def ask(self, text, parts=1, **more):
        """Send text from the phone; the texts of the answer, at least `parts` of them."""
        before = len(self.sim.sent())
        self.let_pass(1000)
        self.sim.inject(text, **more)
        self.sim.wait("sent", before + parts)
        return self.sim.texts()[before:]


def main():
    unittest.main(verbosity=2)
