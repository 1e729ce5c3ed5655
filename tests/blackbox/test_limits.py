"""Too much of everything: a disk that is full, answers of any size. The daemon lives, says so, and recovers."""

import base64
import ctypes
import glob
import gzip
import hashlib
import http.server
import json
import os
import resource
import shutil
import subprocess
import threading

import samples
from harness import HOOKS, Case, main, needs_hooks, stalled, wait_for

MIB = 1 << 20


class Disk(Case):
    """What happens on a full disk, however it became full."""

    def trial(self, fill, free):
        self.sim.script(stalled(), {"text": "done"}, repeat=True)
        self.kairo.start()
        self.sim.inject("long work")
        self.sim.wait("model_open", 1)
        wait_for(lambda: self.kairo.status()["turn"], "the task to run")
        fill()
        # Intake stops, and says so: to the sender at once, and to the operator.
        self.sim.inject("not taken yet")
        self.sim.wait("sent", 1)
        self.assertIn("cannot be stored", self.sim.texts()[0])
        s = wait_for(lambda: self.kairo.status()["link"]["state"] == "degraded" and self.kairo.status() or
                     self.kairo.hurry(1000), "the warning")
        self.assertIn("cannot be stored", s["link"]["why"])
        self.assertIn("cannot be stored", self.kairo.run("status").out)
        self.assertEqual(s["queue"]["waiting"], 0)
        # It is told once, not with every try.
        for _ in range(3 if HOOKS else 1):
            polls = self.sim.counts()["polls"]
            wait_for(lambda: self.sim.counts()["polls"] > polls or self.kairo.hurry(1000), "another try")
        self.assertEqual(len(self.sim.texts()), 1)
        # /stop works all the same.
        self.sim.inject("/stop")
        wait_for(lambda: len(self.sim.texts()) > 1 or self.kairo.hurry(1000), "the notice")
        self.sim.wait("model_cut", 1)
        self.assertIn("Stopped", self.sim.texts()[1])
        self.assertEqual(self.sim.counts()["model_requests"], 1)
        free()
        wait_for(lambda: "done" in self.sim.texts() or self.kairo.hurry(1000), "the message to be taken after all")
        wait_for(lambda: self.kairo.status()["link"]["state"] == "up" or self.kairo.hurry(1000), "the link to recover")
        wait_for(lambda: not self.kairo.status()["unsent"] or self.kairo.hurry(1000), "all to be sent")
        asked = [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]
        self.assertEqual(asked, ["long work", "not taken yet"])
        self.assertEqual(self.sim.texts().count("done"), 1)
        # Nothing of it is left behind: the next message, and a restart.
        self.sim.inject("and again")
        wait_for(lambda: self.sim.texts().count("done") == 2 or self.kairo.hurry(1000), "the next answer")
        self.kairo.idle()
        self.kairo.run("restart")
        self.sim.inject("after a restart")
        self.sim.wait("sent", len(self.sim.texts()) + 1)
        self.assertEqual(self.sim.texts()[-1], "done")

    def test_no_file_may_grow(self):
        def limit(to):
            pid = self.kairo.pid()
            _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if to is None else to, hard))
        self.trial(lambda: limit(0), lambda: limit(None))

    def test_no_room_is_left(self):
        home = self.kairo.home
        # Less than the log of the database reserves where it can: then even that has to grow.
        if not self.small_disk(home, 3 * MIB):
            self.skipTest("mounting is not permitted here")
        filler = os.path.join(home, "filler")

        def fill():
            with open(filler, "wb", buffering=0) as f:
                for size in (65536, 4096, 1):
                    try:
                        while True:
                            f.write(b"x" * size)
                    except OSError:
                        pass
        self.trial(fill, lambda: os.unlink(filler))

    def small_disk(self, path, size):
        """A tmpfs with what is there already, seen by this process and its children only."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x20000) != 0 or \
                subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode != 0:
            return False
        os.rename(path, path + ".before")
        os.mkdir(path, 0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700,size=%d" % size, "tmpfs", path],
                          capture_output=True).returncode != 0:
            return False
        self.addCleanup(subprocess.run, ["umount", "-l", path])
        self.addCleanup(self.kairo.stop, None)  # ahead of that: nothing finds it afterwards
        shutil.copytree(path + ".before", path, dirs_exist_ok=True)
        return True


class Memory(Case):
    """However much comes, the daemon takes a bounded part of it."""

    def setUp(self):
        super().setUp()
        # What is freed under AddressSanitizer would else be kept for a while, and count.
        self.kairo.env["ASAN_OPTIONS"] = self.kairo.env.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        self.sim.script({"text": "ok"}, repeat=True)

    def peak(self):
        with open("/proc/%d/status" % self.process) as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))

    def begin(self):
        self.kairo.start()
        self.process = self.kairo.pid()
        self.answers()
        self.before = self.peak()

    def answers(self):
        n = self.sim.texts().count("ok")
        self.sim.inject("are you there?")
        wait_for(lambda: self.sim.texts().count("ok") > n or self.kairo.hurry(1000), "an answer")

    def bounded(self, bytes_more):
        self.assertLess(self.peak() - self.before, bytes_more)

    def zeros(self):
        return base64.b64encode(gzip.compress(b"{" + b" " * (200 * MIB))).decode()

    def test_answers_of_a_poll(self):
        many = json.dumps({"msgs": [{}] * 100000})
        people = json.dumps({"msgs": [{"from_user_id": "stranger@im.wechat", "message_id": n, "item_list": [
            {"type": 1, "text_item": {"text": "x"}}]} for n in range(15000)]})
        self.begin()
        kinds = (("pad", {"bytes": 50 * MIB}), ("body", {"body": many}), ("body", {"body": people}),
                 ("body", {"body_b64": self.zeros(), "headers": {"Content-Encoding": "gzip"}}),
                 ("body", {"body": "{\"x\":" * 300000}), ("body", {"body": "[" + "1," * 900000}),
                 ("body", {"body": "{" + ",".join("\"k%d\":1" % n for n in range(150000)) + "}"}),
                 ("insert", {"body": "\"a\":1e999,"}), ("insert", {"body": "\"\\u0000\":1,\"\\u0000\":2,"}))
        for kind, more in kinds if HOOKS else kinds[:4]:  # each costs a pause of two seconds
            with self.subTest(kind=kind, **{k: str(v)[:30] for k, v in more.items()}):
                self.sim.fault("getupdates", kind, **more)
                self.answers()
                self.bounded(48 * MIB)
        self.assertEqual(self.kairo.pid(), self.process)

    def test_a_file_of_a_hundred_mebibytes(self):
        """The most that is taken goes through a few pieces of memory, to the last byte; one byte more is refused."""
        self.kairo.config(language="en", media__merge_ms=0)
        self.begin()
        self.sim.inject_file(100 * MIB, name="at.bin")
        wait_for(lambda: self.kairo.status()["media"]["bytes"] == 100 * MIB, "the file")
        self.kairo.idle()
        path, = glob.glob(os.path.join(self.kairo.dir, "media", "*", "*", "at.bin"))
        with open(path, "rb") as f:
            self.assertEqual(hashlib.sha256(f.read()).digest(), hashlib.sha256(samples.pattern(100 * MIB)).digest())
        self.sim.inject_file(100 * MIB + 1, name="over.bin")
        wait_for(lambda: any("over.bin" in t and "too big" in t for t in self.sim.texts()), "the refusal")
        self.assertEqual(self.kairo.status()["media"]["files"], 1)
        self.bounded(48 * MIB if HOOKS else 8 * MIB)  # AddressSanitizer takes its part

    def test_a_thousand_messages_at_once(self):
        self.sim.set(batch=1000)
        self.kairo.config(queue_limit=20)
        self.begin()
        self.ask("/pause")
        self.sim.inject("message {n}", count=1000)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 20, "twenty to be taken")
        wait_for(lambda: any("980 message(s) were not taken" in t for t in self.sim.texts()) or
                 self.kairo.hurry(1000), "the word")
        self.assertIn("20", self.ask("/clear")[-1])
        self.bounded(48 * MIB)

    def test_answers_of_the_other_calls(self):
        self.begin()
        for endpoint in ("sendmessage", "getconfig", "sendtyping") if HOOKS else ("sendmessage",):
            for kind, more in (("pad", {"bytes": 20 * MIB}),
                               ("body", {"body_b64": self.zeros(), "headers": {"Content-Encoding": "gzip"}})):
                self.sim.fault(endpoint, kind, process=True, **more)
                self.answers()
        self.bounded(48 * MIB)
        self.sim.fault("get_bot_qrcode", "pad", bytes=50 * MIB, times=-1)
        self.assertIn("kairo: ", self.kairo.run("login", "--force", "--base-url", self.sim.api, code=1).err)

    @needs_hooks
    def test_what_stays_unreadable_has_a_way_out(self):
        self.begin()
        self.sim.fault("getupdates", "pad", bytes=3 * MIB, times=-1)
        wait_for(lambda: "kairo login --force" in self.kairo.status()["link"]["why"] or self.kairo.turn_clock(3000),
                 "the way out")
        self.assertIn("kairo login --force", self.kairo.run("doctor", code=1).out)
        self.sim.clear_faults()
        wait_for(lambda: self.kairo.status()["link"]["state"] == "up" or self.kairo.turn_clock(3000), "the link")
        self.answers()

    def test_an_endless_model(self):
        """One line, or many, that never end: cut off at the limit, and told."""
        test = self

        class Endless(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                try:
                    while True:
                        self.wfile.write(test.piece)
                        test.written += len(test.piece)
                except OSError:
                    pass

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.begin()
        self.kairo.config(model__base_url="http://127.0.0.1:%d/v1" % server.server_port)
        self.kairo.run("restart")
        self.process = self.kairo.pid()
        self.before = self.peak()
        for piece, most in ((b"x" * 65536, 4 * MIB), (b": x\n" * 16384, 24 * MIB)):
            self.piece, self.written = piece, 0
            shown = self.sim.counts()["sent"]
            self.sim.inject("go")
            self.sim.wait("sent", shown + 1)
            self.assertLess(self.written, most + 8 * MIB)  # what the sockets hold is not taken yet
            self.assertIn("did not keep the protocol", self.sim.texts()[-1])
        self.bounded(64 * MIB)


if __name__ == "__main__":
    main()
