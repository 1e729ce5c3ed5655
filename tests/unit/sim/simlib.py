"""Starts kairo-sim and talks to it: as a client of the bot API, and as a test."""

import base64
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

OWNER = "o9cqSimOwner7Qk@im.wechat"
BASE_INFO = {"channel_version": "2.4.9", "bot_agent": "Kairo/0.1.0 (linux; x86_64)"}


class Sim:
    """A running simulator. stop() returns its exit status: not 0 if a sanitizer had to complain."""

    def __init__(self, *options, binary=None):
        self.dir = tempfile.mkdtemp(prefix="kairo-sim-")
        self.process = subprocess.Popen(
            [binary or sys.argv_binary, "--dir", self.dir, *options],
            stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            self.stop()
        self.urls = json.loads(line)
        self.tls = None
        if "ca" in self.urls:
            self.tls = ssl.create_default_context(cafile=self.urls["ca"])

    def stop(self, signo=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signo)
        status = self.process.wait(timeout=20)
        self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        return status

    # -- HTTP
    def http(self, method, url, body=None, headers=None, timeout=60):
        """(status, headers, bytes); never raises for a status."""
        request = urllib.request.Request(url, body, headers or {}, method=method)
        context = self.tls if url.startswith("https") else None
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=context) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    @staticmethod
    def encrypt(key, plain):
        """AES-128-ECB with PKCS#7, by the program that comes with the library."""
        return subprocess.run(["openssl", "enc", "-aes-128-ecb", "-K", key.hex()], input=plain,
                              capture_output=True, check=True).stdout

    # -- The control API
    def get(self, path, **query):
        url = self.urls["control"] + "/control/" + path
        if query:
            url += "?" + urllib.parse.urlencode(query)
        return self._control("GET", url)

    def post(self, path, **body):
        return self._control("POST", self.urls["control"] + "/control/" + path,
                             json.dumps(body).encode())

    def _control(self, method, url, body=None):
        status, _, text = self.http(method, url, body)
        answer = json.loads(text)
        if not answer["ok"] and "error" in answer:
            raise ControlError(status, answer["error"])
        return answer

    def wait(self, what, count=1, ms=5000):
        return self.get("wait", what=what, count=count, ms=ms)["ok"]

    def count(self, what):
        return self.get("state")["counts"][what]

    def rules(self):
        return [v["rule"] for v in self.get("violations")["violations"]]

    def notes(self):
        return [v["rule"] for v in self.get("violations")["notes"]]

    def texts(self):
        return [d["text"] for d in self.get("sent")["sent"]]

    def client(self, **member):
        """A client with a token, by a binding without the QR flow."""
        bound = self.post("bind", **member)
        return Client(self, bound["bot_token"], bound["ilink_user_id"], bound["ilink_bot_id"])


class ControlError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Client:
    """A well-mannered client of the bot API."""

    def __init__(self, sim, token=None, user=OWNER, bot=None):
        self.sim, self.token, self.user, self.bot = sim, token, user, bot
        self.cursor = ""
        self.context = None

    def headers(self, post=True):
        h = {"iLink-App-Id": "bot", "iLink-App-ClientVersion": "132105"}
        if post:
            digits = str(random.getrandbits(32)).encode()
            h.update({"Content-Type": "application/json", "AuthorizationType": "ilink_bot_token",
                      "X-WECHAT-UIN": base64.b64encode(digits).decode()})
            if self.token:
                h["Authorization"] = "Bearer " + self.token
        return h

    def call(self, endpoint, body=None, raw=None, **change):
        """(status, headers, bytes)"""
        headers = self.headers()
        for name, value in change.pop("headers", {}).items():
            if value is None:
                headers.pop(name, None)
            else:
                headers[name] = value
        if raw is None:
            raw = json.dumps({**(body or {}), "base_info": BASE_INFO}).encode()
        return self.sim.http("POST", self.sim.urls["api"] + "/ilink/bot/" + endpoint, raw, headers,
                             **change)

    def ask(self, endpoint, body=None, **change):
        status, _, text = self.call(endpoint, body, **change)
        assert status == 200, (status, text)
        return json.loads(text)

    def qrcode(self, tokens=()):
        raw = json.dumps({"local_token_list": list(tokens)}).encode()
        token, self.token = self.token, None
        try:
            return json.loads(self.call("get_bot_qrcode?bot_type=3", raw=raw)[2])
        finally:
            self.token = token

    def status(self, key, code=None, base=None):
        url = (base or self.sim.urls["api"]) + "/ilink/bot/get_qrcode_status?qrcode=" + key
        if code:
            url += "&verify_code=" + code
        return json.loads(self.sim.http("GET", url, None, self.headers(False))[2])

    def start(self):
        return self.ask("msg/notifystart")

    def poll(self, cursor=None):
        answer = self.ask("getupdates",
                          {"get_updates_buf": self.cursor if cursor is None else cursor})
        self.cursor = answer.get("get_updates_buf") or self.cursor
        for m in answer.get("msgs") or []:
            self.context = m.get("context_token", self.context)
        return answer.get("msgs") or []

    def message(self, text="hi", client_id=None, **member):
        m = {"from_user_id": "", "to_user_id": self.user,
             "client_id": f"t:{random.getrandbits(64)}" if client_id is None else client_id,
             "message_type": 2, "message_state": 2,
             "item_list": [{"type": 1, "text_item": {"text": text}}]}
        if self.context:
            m["context_token"] = self.context
        m.update(member)
        return {"msg": m}

    def send(self, text="hi", client_id=None, **member):
        return self.ask("sendmessage", self.message(text, client_id, **member))


class SimTest(unittest.TestCase):
    """One simulator for each test, stopped by a signal and looked at afterwards."""

    options = ("--hold-ms", "50", "--model-delay-ms", "0")

    def setUp(self):
        self.sim = Sim(*self.options)
        self.addCleanup(self._stopped)

    def _stopped(self):
        self.assertEqual(self.sim.stop(), 0, "the simulator ended badly")

    def ready(self, **member):
        """A client that the owner has written to once."""
        c = self.sim.client(**member)
        c.start()
        self.sim.post("inject", text="first")
        c.poll()
        return c


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: test_X.py KAIRO-SIM [unittest arguments]")
    sys.argv_binary = os.path.abspath(sys.argv.pop(1))
    unittest.main()
