"""The control socket under abuse: each request is refused or answered, and the daemon lives on."""

import contextlib
import json
import os
import re
import socket
import stat
import unittest

from harness import HOOKS, PATIENCE, Case, Kairo, main, stalled, wait_for

MIB = 1 << 20
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\n"


def post(path, body=b"", *fields):
    return HEAD % path.encode() + b"".join(f + b"\r\n" for f in fields) + \
        b"Content-Length: %d\r\n\r\n" % len(body) + body


def get(path, *fields):
    return b"GET %s HTTP/1.1\r\nHost: localhost\r\n" % path.encode() + b"".join(f + b"\r\n" for f in fields) + b"\r\n"


class Socket(Case):
    def setUp(self):
        super().setUp()
        self.kairo.start()
        self.pid = self.kairo.pid()

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(os.path.join(self.kairo.dir, "control.sock"))  # waits where the backlog is full
        s.settimeout(PATIENCE)
        return s

    def raw(self, data, half_close=True):
        """Everything that comes back before the server closes."""
        with self.connect() as s:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        return answer
                    answer += piece
            return answer

    def status_of(self, data):
        """The status, or 0 when nothing came; never more than one answer."""
        answer = self.raw(data)
        # An answer to the bytes that follow a refused or finished request would be a second one.
        self.assertLessEqual(len(re.findall(rb"HTTP/1\.1 \d", answer)), 1, answer)
        return int(answer.split(b" ", 2)[1]) if answer else 0

    def lives(self):
        s = json.loads(self.kairo.run("status", "--json").out)
        self.assertEqual((s["state"], s["pid"]), ("running", self.pid))
        return s

    def refused(self, data, *statuses):
        status = self.status_of(data)
        self.assertIn(status, statuses or (400,), data[:200])

    def tearDown(self):
        with contextlib.suppress(AttributeError):
            self.lives()


class Plain(Socket):
    def test_only_the_owner_can_reach_it(self):
        mode = os.lstat(os.path.join(self.kairo.dir, "control.sock")).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(mode & 0o777, 0o600)

    def test_a_home_whose_path_no_socket_address_holds(self):
        self.kairo.stop()
        deep = Kairo(os.path.join(self.folder, "d" * 100, "e" * 100), self.sim).set_up()
        self.addCleanup(deep.close)
        deep.start()
        self.sim.script({"text": "from afar"})
        self.assertEqual(deep.run("ask", "x").out, "from afar\n")
        deep.stop()
        deep.run("status", code=3)
        self.kairo.start()
        self.pid = self.kairo.pid()

    def test_every_route(self):
        self.assertEqual(self.kairo.request("GET", "/v1/status")[0], 200)
        self.assertEqual(self.kairo.request("POST", "/v1/pause", {}), (200, {"paused": True}))
        self.assertTrue(self.lives()["paused"])
        self.assertEqual(self.kairo.request("POST", "/v1/resume"), (200, {"paused": False}))
        self.assertEqual(self.kairo.request("POST", "/v1/stop", {"all": True}), (200, {"stopped": False, "dropped": 0}))

    def test_the_status_names_no_secret(self):
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            token = json.load(f)["token"]
        self.assertNotIn(token, json.dumps(self.kairo.request("GET", "/v1/status")))

    def test_stop_ends_what_runs_and_drops_what_waits(self):
        self.sim.script(stalled())
        for i in range(3):
            self.sim.inject("message %d" % i)
        self.sim.wait("model_requests", 1)
        wait_for(lambda: self.lives()["queue"]["waiting"] == 2, "two to wait")
        self.assertEqual(self.kairo.request("POST", "/v1/stop", {"all": True}), (200, {"stopped": True, "dropped": 2}))
        wait_for(lambda: self.lives()["turn"] is None, "the turn to end")

    def test_methods_and_routes(self):
        for method, path, status in (("POST", "/v1/status", 405), ("GET", "/v1/pause", 405), ("GET", "/v1/send", 405),
                                     ("GET", "/v1/ask", 405), ("PUT", "/v1/stop", 405), ("DELETE", "/v1/status", 405),
                                     ("GET", "/", 404), ("GET", "/v1", 404), ("GET", "/v1/status/", 404),
                                     ("GET", "/v1/../v1/status", 404), ("GET", "//v1/status", 404),
                                     ("POST", "/v1/unknown", 404), ("GET", "/v1/statu%73x", 404)):
            with self.subTest(method + " " + path):
                got, answer = self.kairo.request(method, path)
                self.assertEqual(got, status)
                self.assertTrue(answer["error"])

    def test_bodies(self):
        for body in (b"{", b"[]", b"null", b"\"x\"", b"{}x", b"{\"text\":1}", b"{\"text\":\"\"}", b"{}", b"{\"text\":null}",
                     b"{\"text\":\"a\",\"text\":\"b\"}", b"{\"text\":\"\xff\"}", b"{\"text\":\"\\ud800\"}",
                     b"{\"text\":\"\\u0000\"}", b"\xef\xbb\xbf{}", b"{\"text\":\"x\"}\0", b"{'text':'x'}",
                     b"[" * 100000, b"{\"a\":" * 50 + b"1" + b"}" * 50, b"{\"text\":1e999}", b"{\"text\":NaN}",
                     b"{" + b",".join(b"\"k%d\":0" % i for i in range(20000)) + b"}",
                     json.dumps({"text": "x" * (MIB + 1)}).encode(), b"{\"text\":\" \\n\"}"):
            for path in ("/v1/send", "/v1/ask"):
                with self.subTest(path + " " + repr(body[:30])):
                    self.refused(post(path, body), 400)
        for body in (b"{\"all\":1}", b"{\"all\":\"true\"}", b"{\"all\":[]}"):
            self.refused(post("/v1/stop", body), 400)
        self.assertEqual(self.sim.counts()["model_requests"], 0)

    def test_bodies_that_are_too_large(self):
        for path in ("/v1/send", "/v1/ask", "/v1/status"):
            self.refused(post(path, b"x" * (8 * MIB)), 413, 0)
            self.refused(HEAD % path.encode() + b"Content-Length: 99999999999999999999\r\n\r\n", 400, 413)
        self.refused(HEAD % b"/v1/send" + b"Transfer-Encoding: chunked\r\n\r\n" +
                     (b"100000\r\n" + b"x" * MIB + b"\r\n") * 8 + b"0\r\n\r\n", 413, 0)

    def test_send_to_somebody_odd(self):
        for to in ("x" * 129, "a\nb", "\x1b[2J", "..", "' OR 1=1 --"):
            status, answer = self.kairo.request("POST", "/v1/send", {"text": "x", "to": to})
            self.assertIn(status, (400, 403))
            self.assertTrue(answer["error"])
        self.assertEqual(self.sim.counts()["sent"], 0)


class Smuggling(Socket):
    """What two servers might read in two ways is refused; nothing behind a request is run."""

    INNER = post("/v1/pause")

    def never_paused(self):
        self.assertFalse(self.lives()["paused"])

    def test_lengths_in_conflict(self):
        for fields in ((b"Content-Length: 0", b"Transfer-Encoding: chunked"),
                       (b"Transfer-Encoding: chunked", b"Content-Length: 5"),
                       (b"Content-Length: 0", b"Content-Length: 0"), (b"Content-Length: 0", b"Content-Length: 50"),
                       (b"Content-Length: 0, 0",), (b"Content-Length: +0",), (b"Content-Length: -1",),
                       (b"Content-Length: 0x0",), (b"Content-Length: 1e1",), (b"Content-Length: ",),
                       (b"Content-Length : 0",), (b"Content-Length: 0\r\n ,1",), (b" Content-Length: 0",),
                       (b"Content-Length\t: 0",), (b"Transfer-Encoding: gzip",), (b"Transfer-Encoding: chunked, gzip",),
                       (b"Transfer-Encoding: xchunked",), (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",),
                       (b"Transfer-Encoding:\x0bchunked",), (b"Transfer-Encoding: identity",)):
            with self.subTest(fields):
                head = HEAD % b"/v1/resume" + b"\r\n".join(fields) + b"\r\n\r\n"
                self.refused(head + self.INNER, 400, 413, 501)
                self.refused(head + b"0\r\n\r\n" + self.INNER, 400, 413, 501)
        self.never_paused()

    def test_a_second_request_on_the_connection_is_not_run(self):
        for first in (get("/v1/status"), post("/v1/resume", b"{}"), get("/nowhere"), post("/v1/send", b"{}")):
            self.assertGreater(self.status_of(first + self.INNER), 0)
        self.never_paused()

    def test_bytes_beyond_the_length_are_not_run(self):
        body = b"{}" + self.INNER
        self.assertEqual(self.status_of(HEAD % b"/v1/resume" + b"Content-Length: 2\r\n\r\n" + body), 200)
        self.never_paused()

    def test_chunks(self):
        head = HEAD % b"/v1/resume" + b"Transfer-Encoding: chunked\r\n\r\n"
        self.assertEqual(self.status_of(head + b"2\r\n{}\r\n0\r\n\r\n"), 200)
        for body in (b"2\n{}\n0\n\n", b"2;x=1\r\n{}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"2 \r\n{}\r\n0\r\n\r\n",
                     b"0x2\r\n{}\r\n0\r\n\r\n", b"2\r\n{}0\r\n\r\n", b"2\r\n{}\r\n0\r\nX: y\r\n\r\n",
                     b"fffffffffffffffff\r\n", b"\r\n", b"g\r\n"):
            with self.subTest(body):
                self.refused(head + body + self.INNER, 400, 413)
        self.never_paused()

    def test_hosts_and_origins(self):
        for fields, statuses in (((b"Host: localhost", b"Host: localhost"), (400,)), ((b"X: y",), (400, 421)),
                                 ((b"Host: evil.example",), (421,)), ((b"Host: localhost.evil.example",), (421,)),
                                 ((b"Host: ",), (400, 421)), ((b"Host: localhost", b"Origin: https://evil.example"), (403,)),
                                 ((b"Host: localhost", b"Origin: null"), (403,))):
            with self.subTest(fields):
                self.refused(b"POST /v1/pause HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\nContent-Length: 0\r\n\r\n",
                             *statuses)
        self.never_paused()

    def test_heads_that_are_none(self):
        for data in (b"\0" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET /v1/status\r\n\r\n",
                     b"GET /v1/status HTTP/2.0\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     b"POST  /v1/pause HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /v1/pause HTTP/1.1\nHost: localhost\n\n",
                     b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
                     b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
                     b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
                     b"POST /v1/pa\x80use HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"POST /v1/pause%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"post /v1/pause HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     get("/v1/status", b"X: " + b"y" * (17 << 10)), get("/v1/status", *[b"X: y"] * 3000),
                     b"GET /" + b"a" * (64 << 10) + b" HTTP/1.1\r\n\r\n", b"a" * MIB):
            with self.subTest(data[:40]):
                status = self.status_of(data)
                self.assertTrue(status == 0 or 400 <= status < 600, (status, data[:100]))
        self.never_paused()

    def test_many_connections(self):
        """More than are served at once, left open without a word; then room again."""
        held = []
        for _ in range(80):
            with contextlib.suppress(OSError):
                held.append(self.connect())
        for s in held:
            s.close()
        self.never_paused()

    def test_requests_cut_short(self):
        whole = post("/v1/pause", b"{} ")
        for n in range(0, len(whole)):
            with self.connect() as s:
                s.sendall(whole[:n])
        self.never_paused()

    def test_one_byte_at_a_time(self):
        with self.connect() as s:
            for i in range(0, len(self.INNER)):
                s.sendall(self.INNER[i:i + 1])
            self.assertIn(b" 200 ", s.recv(65536))
        self.assertTrue(self.lives()["paused"])


class Ask(Socket):
    def test_a_stream_of_json_lines(self):
        self.sim.script({"tool_calls": [{"name": "list_dir", "arguments": {}}]}, {"text": "done\nhere"})
        answer = self.raw(post("/v1/ask", json.dumps({"text": "x"}).encode()), half_close=False)
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertIn(b" 200 ", head)
        if b"chunked" in head.lower():
            body = re.sub(rb"(?:^|\r\n)[0-9a-f]+\r\n", b"", body)
        events = [json.loads(line) for line in body.decode().splitlines() if line.strip()]
        self.assertEqual([e["event"] for e in events], ["tool", "tool_done", "text", "done"])
        self.assertEqual((events[0]["name"], events[1]["ok"]), ("list_dir", True))
        self.assertEqual((events[2]["text"], events[3]["result"]), ("done\nhere", "ok"))
        self.assertNotIn("text", events[3], "what was streamed is not told again")

    def test_a_reader_that_leaves_ends_the_turn(self):
        self.sim.script(stalled())
        with self.connect() as s:
            s.sendall(post("/v1/ask", b'{"text":"x"}'))
            self.sim.wait("model_requests", 1)
        wait_for(lambda: self.lives()["turn"] is None, "the turn to end")
        self.assertEqual(self.sim.model_requests()[-1]["outcome"], "gone")

    def test_a_reader_that_does_not_read(self):
        """What cannot be handed over is bounded, and so is what it costs."""
        self.sim.script({"text": "word " * 20000, "chunk": 1000}, repeat=True)
        held = []
        for _ in range(5):
            s = self.connect()
            s.sendall(post("/v1/ask", b'{"text":"x"}'))
            held.append(s)
        wait_for(lambda: self.lives()["handled"] == 5, "all five to end")
        for s in held:
            s.close()


class Hooks(Socket):
    @unittest.skipIf(HOOKS, "this build has them")
    def test_a_release_has_no_clock_to_turn(self):
        for path in ("/test/clock", "/test/", "/test/halt"):
            self.assertEqual(self.kairo.request("POST", path, {"advance_ms": 1})[0], 404)
        self.kairo.stop()
        # The halting points of the tests are not there either.
        for where in ("inbox.commit", "cursor", "turn.start", "send.ack"):
            self.kairo.start(env={"KAIRO_TEST_HALT": where})
            self.pid = self.kairo.pid()
            self.sim.script({"text": "not halted"})
            self.assertEqual(self.ask("x"), ["not halted"])
            self.kairo.stop()
        self.kairo.start()
        self.pid = self.kairo.pid()

    @unittest.skipUnless(HOOKS, "the build has no test hooks")
    def test_the_clock_takes_numbers_only(self):
        for body in ({}, {"advance_ms": "1"}, {"advance_ms": -1}, {"advance_ms": 1.5}, {"advance_ms": 10 ** 15}):
            self.assertEqual(self.kairo.request("POST", "/test/clock", body)[0], 400)


if __name__ == "__main__":
    main()
