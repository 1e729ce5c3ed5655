"""The WeChat side over TLS: certificates are always checked, and nothing is said to a host that fails."""

import contextlib
import functools
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import threading

from harness import Case, Kairo, main, wait_for


CONFIG = """
[req]
distinguished_name = who
prompt = no
[who]
CN = own
[ca]
default_ca = own
[own]
dir = %s
database = $dir/index.txt
serial = $dir/serial
new_certs_dir = $dir
default_md = sha256
policy = any
x509_extensions = ext
[any]
CN = supplied
[ext]
basicConstraints = critical,CA:TRUE
subjectAltName = %s
"""


class Relay:
    """Hands bytes through from another loopback address to a port: the same certificate under a wrong host."""

    def __init__(self, address, port):
        self.port_there = port
        self.listener = socket.create_server((address, 0))
        self.url = "https://%s:%d" % self.listener.getsockname()
        self.accepted = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            far = socket.create_connection(("127.0.0.1", self.port_there))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    def _pass(self, a, b):
        try:
            while True:
                piece = a.recv(65536)
                if not piece:
                    break
                b.sendall(piece)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class TlsServer:
    """A TLS server of our own; .heard is what a client said after the handshake."""

    def __init__(self, folder, names, dates=("20200101000000Z", "20990101000000Z"), version=None):
        folder = tempfile.mkdtemp(dir=folder)
        key, cert = os.path.join(folder, "own.key"), os.path.join(folder, "own.pem")
        for name, text in (("index.txt", ""), ("serial", "01"), ("config", CONFIG % (folder, names))):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        config = ("-config", os.path.join(folder, "config"))
        run = functools.partial(subprocess.run, check=True, capture_output=True, timeout=60)
        run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert + ".req", *config])
        run(["openssl", "ca", "-batch", "-selfsign", *config, "-in", cert + ".req", "-keyfile", key, "-out", cert,
             "-startdate", dates[0], "-enddate", dates[1]])
        self.ca = cert
        self.heard = b""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if version:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "https://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(context,), daemon=True).start()

    @staticmethod
    def _request(t):
        """All of it: what is left unread would reset the connection under the answer."""
        data = piece = t.recv(65536)
        while piece:
            head, end, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if end and len(body) >= (int(length.group(1)) if length else 0):
                break
            piece = t.recv(65536)
            data += piece
        return data

    def _serve(self, context):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(s, server_side=True) as t:
                    self.heard += self._request(t)
                    t.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:  # the client does not like us
                pass

    def close(self):
        self.listener.close()


class Tls(Case):
    login = False
    sim_options = ("--tls",)

    def setUp(self):
        super().setUp()
        self.ca = self.sim.where["ca"]
        self.assertTrue(self.sim.api.startswith("https://"))

    def trust(self, ca=None):
        self.kairo.config(network__ca_file=ca or self.ca)

    def log_in(self, code=0, url=None):
        return self.kairo.run("login", "--base-url", url or self.sim.api, code=code)

    def requests(self):
        return self.sim.counts()["requests"]

    def move_to(self, url):
        """The stored login is served from elsewhere now."""
        path = os.path.join(self.kairo.dir, "account.json")
        with open(path) as f:
            account = json.load(f)
        account["base_url"] = url
        with open(path, "w") as f:
            json.dump(account, f)

    def fails_to_link(self, *words):
        """A daemon on the stored login: it says why, and tries again without ever speaking."""
        self.kairo.start()
        s = wait_for(lambda: [s for s in [self.kairo.status()] if s["link"]["failures"] >= 2],
                     "the link to fail twice")[0]
        for word in words:
            self.assertIn(word, s["link"]["why"])
        self.assertNotEqual(s["link"]["state"], "up")
        self.kairo.stop()

    def test_the_whole_path(self):
        self.trust()
        self.log_in()
        self.kairo.start()
        self.sim.script({"text": "safely"})
        self.assertEqual(self.ask("hello"), ["safely"])
        self.assertEqual(self.kairo.status()["link"]["state"], "up")
        out = self.kairo.run("doctor").out
        self.assertRegex(out, r"(?m)^ok +tls +the certificate is good$")
        self.kairo.stop()
        self.assertEqual(self.sim.counts()["notifystop"], 1)

    def test_the_token_is_not_sent_without_the_authority(self):
        self.trust()
        self.log_in()
        self.kairo.run("config", "unset", "network.ca_file")
        before = self.requests()
        self.fails_to_link("certificate")
        p = self.kairo.run("doctor", code=1)
        self.assertRegex(p.out, r"(?m)^FAIL +tls .*certificate.*\n +-> .*ca-certificates")
        self.assertNotRegex(p.out, r"(?m)^\S+ +token")
        self.assertEqual(self.requests(), before)

    def test_the_wrong_host(self):
        self.trust()
        self.log_in()
        relay = Relay("127.0.0.2", int(self.sim.api.rsplit(":", 1)[1]))
        self.addCleanup(relay.close)
        before = self.requests()
        self.move_to(relay.url)
        self.fails_to_link()
        self.assertGreaterEqual(relay.accepted, 2)
        self.assertEqual(self.requests(), before)

    def test_a_host_that_speaks_no_tls(self):
        """It answers what web servers answer to TLS on their plain port."""
        self.trust()
        self.log_in()
        heard = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as s:
                        heard.append(s.recv(65536))
                        s.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        threading.Thread(target=serve, daemon=True).start()
        url = "https://127.0.0.1:%d" % listener.getsockname()[1]
        self.move_to(url)
        self.fails_to_link("TLS")
        for piece in filter(None, heard):
            self.assertEqual(piece[0], 22, "a handshake record (RFC 8446, 5.1), no plain HTTP")

    def test_a_ca_file_that_is_not_there(self):
        self.trust()
        self.log_in()
        self.trust("/nonexistent/ca.pem")
        for p in (self.log_in(code=1), self.kairo.start(code=1)):
            self.assertIn("network.ca_file /nonexistent/ca.pem", p.err)
        self.assertRegex(self.kairo.run("doctor", code=1).out, r"(?m)^FAIL +config +network.ca_file .*\n +-> .*PATH")

    def own(self, *args, **more):
        server = TlsServer(self.folder, *args, **more)
        self.addCleanup(server.close)
        return server

    def test_logins_that_must_fail(self):
        """All at the same time, since each tries thrice."""
        relay = Relay("127.0.0.2", int(self.sim.api.rsplit(":", 1)[1]))
        self.addCleanup(relay.close)
        junk = os.path.join(self.folder, "junk.pem")
        with open(junk, "w") as f:
            f.write("no certificate at all")
        here = "IP:127.0.0.1"
        name = self.own("DNS:localhost")
        past = self.own(here, ("20200101000000Z", "20200201000000Z"))
        future = self.own(here, ("20980101000000Z", "20990101000000Z"))
        aged = self.own(here, version=ssl.TLSVersion.TLSv1_1)
        nobodys = self.own(here)
        good = self.own(here)
        cases = (
            ("no authority", None, self.sim.api, "certificate"),
            ("a file without one", junk, self.sim.api, "certificate"),
            ("another authority", self.ca, nobodys.url, "certificate"),
            ("another address", self.ca, relay.url, "certificate|host"),
            ("a name in place of the address", name.ca, name.url, "certificate|host"),
            ("not any more", past.ca, past.url, "certificate"),
            ("not yet", future.ca, future.url, "certificate"),
            ("TLS 1.1", aged.ca, aged.url, "TLS"),
            ("nothing wrong with TLS", good.ca, good.url, "404"))
        running = []
        for i, (_, ca, url, _) in enumerate(cases):
            k = Kairo(os.path.join(self.folder, str(i)), self.sim).set_up(login=False)
            if ca:
                k.config(network__ca_file=ca)
            running.append(k.popen("login", "--base-url", url, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            self.addCleanup(k.close)
        for (what, _, _, words), p in zip(cases, running):
            with self.subTest(what):
                out, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, 1)
                self.assertRegex(err.decode(), "cannot get a login code: .*(%s)" % words)
                self.assertIn("kairo doctor looks at each step", err.decode())
                self.assertEqual(out, b"")
        self.assertEqual(self.requests(), 0)
        for server in (name, past, future, aged, nobodys):
            self.assertEqual(server.heard, b"")
        self.assertIn(b"get_bot_qrcode", good.heard)


if __name__ == "__main__":
    main()
