"""kairo doctor: each layer that fails says FAIL and what to do; a secret is never printed."""

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import unittest

from harness import BUILD, KAIRO, Case, main, may_unshare, wait_for

TOOL = os.path.join(BUILD, "tools", "kairo-tool")
KEY = "sk-averysecretkeyofthemodel0123456789"
# A label longer than 63 characters is in no zone, and no server is asked for it (RFC 1035, 2.3.4).
NO_NAME = "x" * 64 + ".example"


class Server(http.server.ThreadingHTTPServer):
    """Answers everything with {"ret":0}, with the date and status that it was told; .seen is what came."""

    daemon_threads = True

    def __init__(self, date=None, status=200):
        self.seen = seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def date_time_string(self, timestamp=None):
                return date or super().date_time_string(timestamp)

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen.append((self.path, self.headers.get("Authorization")))
                self.send_response(status)
                self.send_header("Content-Length", "9")
                self.end_headers()
                self.wfile.write(b'{"ret":0}')

            do_POST = do_GET

            def log_message(self, *args):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


def closed_port():
    """A port nobody listens on: it stays bound, so that nobody else gets it."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s, s.getsockname()[1]


class Doctor(Case):
    def setUp(self):
        super().setUp()
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=KEY.encode())
        with open(os.path.join(self.kairo.dir, "account.json")) as f:
            self.token = json.load(f)["token"]

    def doctor(self, code, argv=None, env=None):
        """{layer: (mark, text, what to do)}; a layer said twice has its worse line."""
        p = subprocess.run(argv or self.kairo.argv("doctor"), capture_output=True, timeout=90, cwd="/",
                           stdin=subprocess.DEVNULL, env={**self.kairo.env, **(env or {})})
        out, err = p.stdout.decode(), p.stderr.decode()
        self.assertEqual(p.returncode, code, out + err)
        for secret in (KEY, self.token):
            self.assertNotIn(secret, out + err)
        self.assertNotIn("Sanitizer", err)
        found = {}
        for mark, layer, text, todo in re.findall(
                r"^(ok  |FAIL|warn) +(\S+) +(.*)(?:\n +-> (.*))?", out, re.M):
            if mark != "ok  ":
                self.assertTrue(todo, "no word on what to do: " + text)
            if found.get(layer, ("ok",))[0] != "FAIL":
                found[layer] = (mark.strip(), text, todo)
        failed, warned = map(int, re.search(r"^(\d+) failed, (\d+) to look at$", out, re.M).groups())
        self.assertEqual(failed, len(re.findall("^FAIL", out, re.M)))
        self.assertEqual(warned, len(re.findall("^warn", out, re.M)))
        return found

    def fails(self, layer, text, todo, **more):
        found = self.doctor(1, **more)
        self.assertEqual(found[layer][0], "FAIL", found)
        self.assertIn(text, found[layer][1])
        self.assertIn(todo, found[layer][2])
        return found

    def only(self, layer, text, todo, **more):
        """Nothing but this layer fails: each is looked at on its own."""
        found = self.fails(layer, text, todo, **more)
        self.assertEqual([n for n, line in found.items() if line[0] == "FAIL"], [layer], found)
        return found

    def serve_account_from(self, url):
        path = os.path.join(self.kairo.dir, "account.json")
        with open(path) as f:
            account = json.load(f)
        account["base_url"] = url
        with open(path, "w") as f:
            json.dump(account, f)


class Healthy(Doctor):
    def test_everything_is_fine(self):
        self.kairo.start()
        self.ask("hello")
        found = self.doctor(0)
        for layer in ("home", "disk", "workspace", "sandbox", "libraries", "login", "ilink", "tls", "clock", "token", "model",
                      "daemon", "window"):
            self.assertEqual(found[layer][0], "ok", found[layer])
        # Said while it is on.
        self.assertIn("network.allow_loopback", found["config"][1])

    def test_a_daemon_that_does_not_run_is_no_failure(self):
        found = self.doctor(0)
        self.assertEqual((found["daemon"][0], found["daemon"][2]), ("warn", "kairo start"))

    def test_a_closed_window_is_to_look_at(self):
        self.kairo.start()
        found = self.doctor(0)
        self.assertEqual(found["window"][0], "warn")
        self.assertIn("phone", found["window"][2])

    def test_nothing_is_changed(self):
        def state():
            return {name: os.stat(os.path.join(self.kairo.home, name)).st_mtime_ns
                    for name in os.listdir(self.kairo.home)}
        before = state()
        self.doctor(0)
        self.assertEqual(state(), before)
        self.assertEqual(self.sim.counts()["polls"], 0)

    def test_command_line(self):
        self.assertIn("usage", self.kairo.run("doctor", "x", code=2).err)


class Machine(Doctor):
    def test_settings(self):
        with open(os.path.join(self.kairo.dir, "config.toml"), "a") as f:
            f.write('\nlanguage = "klingon"\n')
        found = self.fails("config", "config.toml:", "correct that line")
        self.assertRegex(found["config"][1], r"config\.toml:\d+:\d+: ")

    def test_a_key_that_cannot_be_read(self):
        key = os.path.join(self.kairo.dir, "model.key")
        os.chmod(key, 0o644)
        self.only("config", "model.api_key_file", "--stdin")
        os.unlink(key)
        self.fails("config", "model.api_key_file", "--stdin")

    def test_a_home_that_others_can_read(self):
        os.chmod(self.kairo.home, 0o755)
        self.only("home", "open to others", "chmod 700")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a folder away")
    def test_the_home_of_another_user(self):
        os.chown(self.kairo.home, 65534, 65534)
        self.fails("home", "another user", "KAIRO_HOME")
        os.chown(self.kairo.home, 0, 0)

    @unittest.skipUnless(may_unshare("-m"), "no mount of one's own here")
    def test_a_home_that_is_read_only(self):
        self.kairo.start()
        self.kairo.stop()
        found = self.fails("home", "Read-only", "KAIRO_HOME", argv=[
            "unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
            self.kairo.home, *self.kairo.argv("doctor")])
        self.assertEqual(found["state"][0], "FAIL")
        self.assertNotIn("move it away", found["state"][2])

    def test_workspaces(self):
        for path, word in (("/", "cannot be /"), (self.kairo.home, "contain"), (self.folder, "home folder")):
            self.kairo.config(workspace=path)
            self.only("workspace", word, "kairo config set workspace")

    def test_a_workspace_that_is_not_there_yet(self):
        self.kairo.config(workspace=os.path.join(self.folder, "later"))
        said = self.doctor(0)
        self.assertEqual(said["workspace"][0], "warn")
        self.assertIn("files: ", said["sandbox"][1])

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a folder away")
    def test_the_workspace_of_another_user(self):
        os.chown(self.kairo.workspace, 65534, 65534)
        found = self.doctor(0)["sandbox"]
        if "no namespaces" not in found[1]:  # else the advice is how they can be had
            self.assertEqual(found[0], "warn")
            self.assertIn("run kairo as the owner of the workspace", found[2])
        self.assertIn("user: 65534, who cannot read what is received", found[1])

    def test_further_folders_to_read(self):
        for path, word in (("/", "cannot be /"), (self.kairo.home, "lie in one another")):
            self.kairo.config(sandbox__read=[path])
            self.only("sandbox", word, "kairo config set sandbox.read")
            self.assertIn(word, self.kairo.start(code=1).err)
        self.kairo.config(sandbox__read=["/usr/share", "/no/such"])
        found = self.doctor(0)["sandbox"]
        self.assertEqual((found[0], found[1]), ("warn", "sandbox.read: /no/such: No such file or directory"))

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_workspace_that_cannot_be_written(self):
        os.chmod(self.kairo.workspace, 0o500)
        self.only("workspace", "Permission", "write access")

    @unittest.skipIf(os.path.exists("/usr/local/libexec/kairo/kairo-tool"), "kairo is installed on this machine")
    def test_without_the_helper(self):
        os.makedirs(os.path.join(self.folder, "bin"))
        alone = shutil.copy(KAIRO, os.path.join(self.folder, "bin", "kairo"))
        self.only("sandbox", "kairo-tool", "install", argv=[alone, "doctor"])

    @unittest.skipIf(os.path.exists("/usr/local/libexec/kairo/kairo-tool"), "kairo is installed on this machine")
    def test_without_what_reads_pictures_and_pages(self):
        """A helper that finds no library of that name, beside a copy of kairo as in a build tree."""
        for name, kind in (("spng", "pictures"), ("gif", "pictures"), ("turbojpeg", "pictures"), ("webp", "pictures"),
                           ("xml2", "web pages")):
            place = os.path.join(self.folder, name)
            for folder in ("cli", "tools", "none"):
                os.makedirs(os.path.join(place, folder))
            alone, helper = shutil.copy(KAIRO, os.path.join(place, "cli", "kairo")), os.path.join(place, "tools", "kairo-tool")
            with open(TOOL, "rb") as f:
                library = re.search(rb"lib%s\.so\.[0-9]+" % name.encode(), f.read()).group().decode()
            with open(os.path.join(place, "none", library), "w"):
                pass
            with open(helper, "w") as f:
                f.write('#!/bin/sh\nexport LD_LIBRARY_PATH=%s/none\nexec %s "$@"\n' % (place, TOOL))
            os.chmod(helper, 0o755)
            found = self.doctor(0, argv=[alone, "doctor"])["libraries"]
            self.assertEqual(found[0], "warn")
            self.assertIn("%s cannot be read on this machine: " % kind, found[1])
            self.assertIn(library, found[1])
            self.assertIn("lib%s" % name, found[2])

    @unittest.skipUnless(may_unshare("-m"), "no file systems can be mounted here")
    def test_a_disk_that_is_full(self):
        small = os.path.join(self.folder, "small")
        os.makedirs(small)
        self.only("disk", "MiB free", "free some space", argv=[
            "unshare", "-m", "sh", "-ec",
            'mount -t tmpfs -o size=8m tmpfs "$1"; cp -a "$2" "$1/home"; export KAIRO_HOME="$1/home"; exec "$3" doctor',
            "sh", small, self.kairo.home, KAIRO])


class Net(Doctor):
    def test_nobody_is_logged_in(self):
        self.kairo.run("logout")
        # Without a login the public host would be asked; a dead proxy keeps this on the machine.
        held, port = closed_port()
        self.addCleanup(held.close)
        self.kairo.config(network__proxy="http://127.0.0.1:%d" % port)
        found = self.fails("login", "nobody is logged in", "kairo login")
        self.assertEqual(found["tls"][0], "FAIL")

    def test_an_account_file_that_is_broken(self):
        with open(os.path.join(self.kairo.dir, "account.json"), "w") as f:
            f.write("{")
        held, port = closed_port()
        self.addCleanup(held.close)
        self.kairo.config(network__proxy="http://127.0.0.1:%d" % port)
        self.fails("login", "account.json", "kairo login")
        os.chmod(os.path.join(self.kairo.dir, "account.json"), 0o644)
        self.fails("login", "chmod 600 it", "do as it says")

    def test_a_name_that_does_not_exist(self):
        self.kairo.config(model__base_url="http://%s/v1" % NO_NAME)
        self.only("model", "cannot be resolved", "resolv.conf")

    def test_a_port_nobody_listens_on(self):
        held, port = closed_port()
        self.addCleanup(held.close)
        self.kairo.config(model__base_url="http://127.0.0.1:%d/v1" % port)
        self.only("model", "no connection to 127.0.0.1:%d" % port, "firewall")
        self.serve_account_from("http://127.0.0.1:%d" % port)
        found = self.fails("ilink", "no connection to 127.0.0.1:%d" % port, "firewall")
        self.assertNotIn("token", found, "the token is not tried on a host that is not there")

    def test_loopback_without_the_setting(self):
        self.kairo.config(network__allow_loopback=False)
        found = self.fails("tls", "", "network.allow_loopback")
        self.assertNotIn("token", found)
        self.assertEqual(self.sim.requests("getconfig"), [])

    def test_a_clock_that_is_wrong(self):
        server = Server("Mon, 01 Jan 2001 00:00:00 GMT")
        self.addCleanup(server.close)
        self.serve_account_from(server.url)
        self.only("clock", "away from the server's time", "set the clock")

    def test_a_token_that_has_expired(self):
        self.sim.call("POST", "revoke")
        self.only("token", "expired", "kairo login --force")

    def test_a_token_that_cannot_be_tried(self):
        self.sim.fault("getconfig", "502", times=-1)
        self.only("token", "502", "try again")

    def test_a_proxy_that_is_dead(self):
        held, port = closed_port()
        self.addCleanup(held.close)
        self.serve_account_from("https://ilinkai.weixin.qq.com")
        self.kairo.config(network__proxy="http://127.0.0.1:%d" % port)
        self.fails("tls", "", "check")

    @unittest.skipUnless(may_unshare("-n"), "no network can be taken away here")
    def test_a_fresh_machine_without_a_network(self):
        fresh = os.path.join(self.folder, "fresh")
        found = self.fails("ilink", "cannot be resolved", "network",
                           argv=["unshare", "-n", *self.kairo.argv("doctor")], env={"KAIRO_HOME": fresh})
        self.assertEqual(found["home"][0], "warn")
        self.assertEqual((found["login"][0], found["login"][2]), ("FAIL", "kairo login"))
        self.assertIn("model.base_url", found["model"][2])
        self.assertFalse(os.path.exists(fresh))


    @unittest.skipUnless(may_unshare("-n"), "no network can be taken away here")
    def test_a_fake_address_is_explained(self):
        """198.18.0.0/15 is what a proxy tool's own resolver gives (RFC 2544 keeps it for benchmarks)."""
        self.kairo.config(model__base_url="http://198.18.0.7/v1")
        argv = ["unshare", "-n", *self.kairo.argv("doctor")]
        out = subprocess.run(argv, env=self.kairo.env, capture_output=True, timeout=90).stdout.decode()
        self.assertRegex(out, r"(?m)^warn +model .*fake address\n +-> .*network.allow_fake_ip true")
        self.kairo.config(network__allow_fake_ip=True)
        out = subprocess.run(argv, env=self.kairo.env, capture_output=True, timeout=90).stdout.decode()
        self.assertNotIn("a fake address", out)
        self.assertIn("network.allow_fake_ip is on", out)


class Model(Doctor):
    def test_none_is_set_up(self):
        self.kairo.run("config", "unset", "model.name")
        self.only("model", "no model", "model.name")

    def answers(self, status):
        server = Server(status=status)
        self.addCleanup(server.close)
        self.kairo.config(model__base_url=server.url + "/v1/")
        return server

    def test_the_key_is_refused(self):
        for status in (401, 403):
            self.answers(status)
            self.only("model", "refuses the key", "--stdin")

    def test_the_key_goes_to_the_model_only(self):
        server = self.answers(200)
        self.doctor(0)
        self.assertEqual(server.seen, [("/v1/models", "Bearer " + KEY)])
        self.assertNotIn(KEY, json.dumps(self.sim.requests()))

    def test_the_provider_has_trouble(self):
        self.answers(503)
        self.only("model", "503", "provider")

    def test_a_provider_that_lists_nothing(self):
        self.answers(404)
        self.assertEqual(self.doctor(0)["model"][0], "warn")

    def test_a_name_that_the_provider_does_not_list(self):
        self.kairo.config(model__name="demmo")
        found = self.doctor(0)["model"]
        self.assertEqual(found[0], "warn")
        self.assertIn("the nearest is demo", found[1])
        self.kairo.config(model__name="local")  # a server of one's own that takes any
        self.assertEqual(self.doctor(0)["model"][0], "ok")

    def test_the_address_of_another_provider(self):
        self.kairo.config(network__proxy="http://127.0.0.1:9", model__base_url="https://api.moonshot.ai/v1")
        said = self.kairo.run("config", "set", "model.provider", "deepseek").err
        self.assertIn("model.base_url is an address of kimi, model.provider is deepseek", said)
        self.assertIn("address of kimi", self.kairo.run("doctor", code=1).out)
        for provider in ("kimi", ""):
            self.assertEqual(self.kairo.run("config", "set", "model.provider", provider).err, "")

    def test_a_redirect_is_not_followed_with_the_key(self):
        self.answers(302)
        self.assertEqual(self.doctor(0)["model"][0], "warn")


class Running(Doctor):
    def link(self, state):
        wait_for(lambda: self.kairo.status()["link"]["state"] == state, "the link to be " + state)

    def test_a_link_that_has_expired(self):
        self.kairo.start()
        self.link("up")
        self.sim.call("POST", "revoke")
        self.link("login expired")
        found = self.fails("daemon", "login expired", "kairo")
        self.assertEqual(found["token"][0], "FAIL")

    def test_a_link_that_is_degraded(self):
        self.sim.fault("getupdates", "502", times=-1)
        self.kairo.start()
        self.link("degraded")
        found = self.only("daemon", "502", "kairo logs")
        self.assertEqual(found["token"][0], "ok")


if __name__ == "__main__":
    main()
