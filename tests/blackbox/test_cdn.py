"""The media server as it is in the field: its faults, its addresses, its forms of keys, and its old TLS."""

import os
import subprocess
import unittest
import urllib.parse

import samples
from harness import main, wait_for
from test_media_in import Media

PDF = samples.pdf() * 20


class Download(Media):
    def setUp(self):
        super().setUp()
        self.kairo.config(media__merge_ms=0)
        self.kairo.start()

    def texts_with(self, word):
        return [t for t in self.sim.texts() if word in t]

    def test_a_fault_that_stays_is_told_and_one_that_passes_is_not(self):
        away, gone, bad = "could not be reached", "no longer has it", "could not be decrypted"
        faults = [("status", {"status": 500}, away), ("status", {"status": 429}, away), ("reset", {}, away),
                  ("cut", {"bytes": 1000}, away), ("cdn_error", {"status": 403, "errmsg": "expired"}, gone),
                  ("cdn_error", {"status": 404}, gone), ("bad_padding", {}, bad), ("plain", {}, bad),
                  ("body", {"body": "<html>"}, bad)]
        for n, (kind, more, word) in enumerate(faults):
            with self.subTest(kind, **more):
                before = len(self.texts_with(word))
                self.sim.fault("cdn_download", kind, times=-1, **more)
                self.sim.inject_file(b"x" * 5000, name="never.txt")
                wait_for(lambda: len(self.texts_with(word)) == before + 1, "a word about it")
                self.sim.clear_faults()
                self.sim.fault("cdn_download", kind, times=1, **more)
                self.sim.inject_file(b"y" * 5000, name="once.txt")
                self.assertIn("text/plain, 4.9 KB", self.prompt_of(n + 1))
        self.assertEqual(len(self.media()), len(faults))
        self.assertEqual(self.media("*/*/.*"), [])  # nor half of one
        self.assertNotIn("never", "".join(self.prompts()))

    def test_one_that_comes_back_within_seconds_is_waited_for(self):
        """Nothing is said of it: the second attempt comes after some seconds, again at both addresses."""
        for n, (kind, more) in enumerate((("500", {}), ("502", {}), ("524", {}), ("drop", {}), ("empty", {}),
                                          ("delay", {"ms": 300}), ("slow", {"bytes": 2000, "ms": 5}))):
            with self.subTest(kind):
                # An empty body is a file that cannot be decrypted: it is asked for no more than twice.
                self.sim.fault("cdn_download", kind, times=1 if kind == "empty" else 2, **more)
                self.sim.inject_file(b"z" * 5000, name="late.txt")
                self.assertIn("text/plain, 4.9 KB", self.prompt_of(n + 1))
                self.sim.clear_faults()
        self.assertEqual(self.texts_with("late.txt"), [])

    def prompt_of(self, count):
        wait_for(lambda: len(self.prompts()) == count, "the prompt")
        self.kairo.idle()
        return self.prompts()[-1]

    def test_the_address_is_the_servers_or_ours(self):
        for n, more in enumerate(({"no_full_url": True}, {"full_url": "https://evil.example/c2c/download"},
                                  {"full_url": "http://10.0.0.1/x"}, {"full_url": "file:///etc/passwd"})):
            with self.subTest(**more):
                self.sim.inject_file(b"here", name="a.txt", **more)
                self.assertIn("text/plain, 4 B, ", self.prompt_of(n + 1))
        self.assertEqual(len(self.sim.requests("cdn_download")), 4)

    def test_every_form_of_a_key(self):
        for n, form in enumerate(("hex", "raw", "aeskey", "none")):
            with self.subTest(form):
                self.sim.inject_image(samples.png(), key_form=form)
                self.assertIn("image/png", self.prompt_of(n + 1))


class Upload(Media):
    def setUp(self):
        super().setUp()
        self.kairo.start()
        with open(os.path.join(self.kairo.workspace, "a.pdf"), "wb") as f:
            f.write(PDF)

    def send(self, answer="Here."):
        """What an answer with the file brings to the phone, once all is said."""
        before = len(self.sim.sent())
        self.sim.script({"text": answer + "\n[send-file: a.pdf]"})
        self.sim.inject("send it")
        self.sim.wait("sent", before + 2)
        self.kairo.idle()
        return self.sim.sent()[before:]

    def test_a_fault_that_stays_is_told_and_one_that_passes_is_not(self):
        refused, away = "WeChat did not take it", "the network did not hold"
        receipt = "gave no receipt"
        faults = [("cdn_upload", "status", {"status": 500}, 3, away), ("cdn_upload", "reset", {}, 3, away),
                  ("cdn_upload", "cut_body", {"bytes": 100}, 3, away), ("cdn_upload", "no_param", {}, 3, receipt),
                  ("cdn_upload", "cdn_error", {"status": 403, "errmsg": "secret words"}, 1, refused),
                  ("getuploadurl", "status", {"status": 502}, 3, away),
                  ("getuploadurl", "no_url", {}, 3, refused),
                  ("getuploadurl", "ret", {"ret": -2, "errmsg": "secret words"}, 1, refused),
                  ("getuploadurl", "expired", {}, 1, refused)]
        for endpoint, kind, more, attempts, word in faults:
            with self.subTest(kind, endpoint=endpoint, **more):
                self.sim.fault(endpoint, kind, times=-1, **more)
                asked = len(self.sim.requests("getuploadurl"))
                text, told = self.send()
                self.assertEqual(text["text"], "Here.")
                self.assertTrue(told["text"].startswith("`a.pdf` could not be sent: "), told)
                self.assertIn(word, told["text"])
                self.assertNotIn("secret", told["text"])
                self.assertEqual(len(self.sim.requests("getuploadurl")) - asked, attempts)
                self.sim.clear_faults()
                if attempts > 1:
                    self.sim.fault(endpoint, kind, times=attempts - 1, **more)
                self.assertEqual([d["data"] for d in self.sim.files(self.send()[0]["n"])], [PDF])
                self.sim.clear_faults()
        self.assertEqual(self.kairo.status()["link"]["state"], "up")
        self.assertEqual(self.sim.counts()["notifystart"], 1)
        self.assertEqual(os.listdir(os.path.join(self.kairo.dir, "outgoing")), [])

    def test_the_address_is_the_servers_or_ours(self):
        for kind, more in (("no_full_url", {}), ("foreign_url", {"name": "https://evil.example/c2c/upload"}),
                           ("foreign_url", {"name": "http://10.0.0.1/c2c/upload"})):
            with self.subTest(kind, **more):
                self.sim.fault("getuploadurl", kind, **more)
                self.assertEqual([d["data"] for d in self.sim.files(self.send()[0]["n"])], [PDF])
        self.assertEqual({r["method"] for r in self.sim.requests("cdn_upload")}, {"POST"})


class OldTls(Media):
    """The media server speaks TLS 1.2 with RSA key exchange and nothing else."""
    login = False
    sim_options = ("--tls",)

    def test_files_come_and_go_all_the_same(self):
        self.kairo.config(network__ca_file=self.sim.where["ca"])
        self.kairo.run("login", "--base-url", self.sim.api)
        self.kairo.start()
        self.sim.inject_image(samples.png())
        self.assertIn("image/png", self.prompt())
        data = samples.pdf() * 300
        with open(os.path.join(self.kairo.workspace, "a.pdf"), "wb") as f:
            f.write(data)
        self.sim.script({"text": "[send-file: a.pdf]"})
        self.sim.inject("send it")
        wait_for(lambda: [d["data"] for d in self.sim.files()] == [data], "the file on the phone")
        self.assertEqual([d["media_state"] for d in self.sim.files()], ["opens"])

    @unittest.skipUnless(os.path.exists("/usr/bin/openssl"), "there is no openssl to show what the policy does")
    def test_a_system_that_forbids_it_to_everybody_is_no_hindrance(self):
        """As a distribution's policy may: without RSA key exchange in the list that every program begins with."""
        conf = os.path.join(self.folder, "openssl.cnf")
        with open(conf, "w") as f:
            f.write("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n"
                    "CipherString = DEFAULT:!kRSA@SECLEVEL=2\n")
        cdn = urllib.parse.urlsplit(self.sim.where["cdn"])
        talk = ["/usr/bin/openssl", "s_client", "-brief", "-connect", "%s:%d" % (cdn.hostname, cdn.port)]
        for env, code in (({}, 0), ({"OPENSSL_CONF": conf}, 1)):  # what it does to others
            p = subprocess.run(talk, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            self.assertEqual(p.returncode, code, p.stderr)
        self.kairo.config(network__ca_file=self.sim.where["ca"])
        self.kairo.run("login", "--base-url", self.sim.api)
        self.kairo.start(env={"OPENSSL_CONF": conf})
        self.sim.inject_image(samples.png())
        self.assertIn("image/png", self.prompt())


if __name__ == "__main__":
    main()
