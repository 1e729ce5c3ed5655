"""The daemon from outside: start to first poll, time added to a message, how soon /stop holds, memory with a
TLS poll open.

The peers of the times are a bare server in this process (plain http on loopback), so that both end points are
read from one clock; its own share is in the figures. Commits are synced, so the times are given for state on
the disk and in memory. Memory is what the daemon reports of itself against kairo-sim."""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blackbox"))
from harness import BUILD, Kairo, Sim, wait_for  # noqa: E402

MESSAGES, STARTS, STOPS = 20, 20, 5
now = time.monotonic_ns
# How a connection ends: by the other side, or still open when the loop does, which would else be shown as an error.
ENDED = (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError)


class Peer:
    """Both servers, with the moment of everything."""

    def __init__(self):
        self.first_poll = asyncio.Event()
        self.polled_at = self.prompt_at = self.last_byte_at = self.sent_at = 0
        self.delivered_at = self.dropped_at = 0
        self.stalls = None
        self.stalled, self.dropped = asyncio.Event(), asyncio.Event()
        self.next = None
        self.sent = asyncio.Event()
        self.serial = 0

    async def request(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return head, await reader.readexactly(length)

    async def reply(self, writer, body):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) +
                     body)
        await writer.drain()

    async def api(self, reader, writer):
        try:
            while True:
                head, body = await self.request(reader)
                await self.answer_api(head, body, writer)
        except ENDED:
            pass
        finally:
            writer.close()

    async def answer_api(self, head, body, writer):
        if b"/getupdates " in head:
            self.polled_at = now()
            self.first_poll.set()
            self.next = asyncio.get_running_loop().create_future()
            try:
                message = await asyncio.wait_for(asyncio.shield(self.next), 1.5)
            except asyncio.TimeoutError:
                message = b'{"msgs":[]}'
            else:
                self.delivered_at = now()
            await self.reply(writer, message)
        elif b"/sendmessage " in head:
            self.sent_at = now()
            self.sent.set()
            await self.reply(writer, b'{"ret":0,"message_id":%d}' % (10**18 + self.serial))
        elif b"/getconfig " in head:
            await self.reply(writer, b'{"ret":0,"typing_ticket":"t"}')
        else:
            await self.reply(writer, b'{"ret":0}')

    async def model(self, reader, writer):
        try:
            while True:
                await self.request(reader)
                self.prompt_at = now()
                if self.stalls is not None:
                    await self.stall(reader, writer)
                    break
                chunk = json.dumps({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "fine"}}]})
                end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                body = ("data: %s\n\ndata: %s\n\ndata: [DONE]\n\n" % (chunk, end)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" %
                             len(body))
                self.last_byte_at = now()
                writer.write(body)
                await writer.drain()
        except ENDED:
            pass
        finally:
            writer.close()

    async def stall(self, reader, writer):
        """Says so much of an answer, then nothing until the other side hangs up."""
        writer.write(self.stalls)
        await writer.drain()
        self.stalled.set()
        await reader.read()
        self.dropped_at = now()
        self.dropped.set()

    async def ready(self):
        """Until a poll is open."""
        while self.next is None or self.next.done():
            await asyncio.sleep(0.005)

    def deliver(self, text):
        self.serial += 1
        self.sent.clear()
        self.next.set_result(json.dumps({
            "msgs": [{"message_id": str(10**17 + self.serial), "from_user_id": "o9cqBench@im.wechat",
                      "to_user_id": "b@im.bot", "message_type": 1, "message_state": 2,
                      "create_time_ms": int(time.time() * 1000), "context_token": "tok-%d" % self.serial,
                      "item_list": [{"type": 1, "text_item": {"text": text}}]}],
            "get_updates_buf": "c%d" % self.serial}).encode())


def account(kairo, url):
    os.makedirs(kairo.dir, mode=0o700, exist_ok=True)
    path = os.path.join(kairo.dir, "account.json")
    with open(path, "w") as f:
        json.dump({"schema": 1, "generation": "0" * 32, "bot_id": "b@im.bot", "user_id": "o9cqBench@im.wechat",
                   "token": "bench-token-0123456789", "base_url": url, "workspace": "", "login_at": 1,
                   "cursor": "", "old_tokens": []}, f)
    os.chmod(path, 0o600)


def row(name, values, unit="ms"):
    values = sorted(values)
    print("%-52s min %8.2f  median %8.2f  max %8.2f %s  (n=%d)" % (
        name, values[0], statistics.median(values), values[-1], unit, len(values)))


STALLS = {
    "before its answer": b"",
    "in its stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                     b'data: {"choices":[{"index":0,"delta":{"content":"so f"}}]}\n\n',
}


async def stops(peer):
    """/stop while the model says nothing more: until its connection is closed, and until the word of it is sent."""
    for where, peer.stalls in STALLS.items():
        to_end, to_word = [], []
        for _ in range(STOPS):
            await peer.ready()
            peer.stalled.clear()
            peer.dropped.clear()
            peer.deliver("a task")
            await asyncio.wait_for(peer.stalled.wait(), 20)
            await peer.ready()
            peer.deliver("/stop")
            await asyncio.wait_for(asyncio.gather(peer.dropped.wait(), peer.sent.wait()), 20)
            to_end.append((peer.dropped_at - peer.delivered_at) / 1e6)
            to_word.append((peer.sent_at - peer.delivered_at) / 1e6)
            await asyncio.sleep(1.1)
        row("/stop, model stalls %s -> hung up" % where, to_end)
        row("/stop, model stalls %s -> told" % where, to_word)
    peer.stalls = None


async def latency(folder):
    peer = Peer()
    api = await asyncio.start_server(peer.api, "127.0.0.1", 0, limit=1 << 22)
    model = await asyncio.start_server(peer.model, "127.0.0.1", 0, limit=1 << 22)
    url = "http://127.0.0.1:%d" % api.sockets[0].getsockname()[1]
    k = Kairo(folder)
    k.env["PATH"] = "/usr/bin:/bin"
    k.config(workspace=k.workspace, network__allow_loopback=True, model__name="bench", log_level=os.environ.get("BENCH_LOG", "warn"),
             model__base_url="http://127.0.0.1:%d/v1" % model.sockets[0].getsockname()[1])
    account(k, url)

    starts = []
    for _ in range(STARTS):
        peer.first_poll.clear()
        began = now()
        p = k.popen("run", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await asyncio.wait_for(peer.first_poll.wait(), 20)
        starts.append((peer.polled_at - began) / 1e6)
        p.terminate()
        while p.poll() is None:
            await asyncio.sleep(0.01)
    row("process started -> first poll received", starts)

    p = k.popen("run", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peer.first_poll.clear()
    await asyncio.wait_for(peer.first_poll.wait(), 20)
    to_prompt, to_send = [], []
    for n in range(MESSAGES):
        await peer.ready()
        peer.deliver("message %d" % n)
        await asyncio.wait_for(peer.sent.wait(), 20)
        to_prompt.append((peer.prompt_at - peer.delivered_at) / 1e6)
        to_send.append((peer.sent_at - peer.last_byte_at) / 1e6)
        await asyncio.sleep(1.1)  # parts are a second apart; that pause is not what is measured
    row("message delivered -> prompt received by the model", to_prompt)
    row("model's last byte -> sendmessage received", to_send)
    row("added to a message in all", [a + b for a, b in zip(to_prompt, to_send)])
    await stops(peer)
    p.terminate()
    p.wait()
    api.close()
    model.close()


def print_memory(when, kairo):
    m = kairo.status()["memory"]
    print("%-52s %.1f MiB resident, %.1f MiB proportional, %.1f MiB private dirty" % (
        when, m["rss_kib"] / 1024, m["pss_kib"] / 1024, m["private_dirty_kib"] / 1024))


def memory(folder):
    sim = Sim(os.path.join(folder, "sim"), "--tls", hold_ms=25000)
    k = Kairo(folder, sim)
    try:
        k.config(workspace=k.workspace, network__allow_loopback=True, network__ca_file=sim.where["ca"],
                 model__name="demo", model__base_url=sim.model)
        k.run("login", "--base-url", sim.api)
        k.start()
        sim.wait("polling", 1)
        wait_for(lambda: k.status()["uptime_s"] >= 2, "two quiet seconds")
        print_memory("idle, TLS poll open", k)
        sim.inject("hello")
        sim.wait("sent", 1)
        k.idle()
        print_memory("after one message", k)
    finally:
        k.close()
        sim.close()


def medium(folder):
    """The file system that holds folder."""
    best = ("", "?")
    with open("/proc/mounts") as f:
        for line in f:
            _, point, kind = line.split()[:3]
            if os.path.realpath(folder).startswith(point) and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1]


def main():
    print("build %s" % os.path.basename(os.path.abspath(BUILD)))
    places = [("plain http on loopback, state on %s", latency, d) for d in (tempfile.gettempdir(), "/dev/shm")
              if os.access(d, os.W_OK)]
    places.append(("TLS on loopback, state on %s", memory, tempfile.gettempdir()))
    for title, part, where in places:
        folder = tempfile.mkdtemp(prefix="kairo-bench-", dir=where)
        print("-- " + title % medium(folder))
        try:
            if asyncio.iscoroutinefunction(part):
                asyncio.run(part(folder))
            else:
                part(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
