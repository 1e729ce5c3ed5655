"""kairo config and config.toml: through the binary, and into a running daemon."""

import json
import os
import re
import subprocess

from harness import Case, main, wait_for

KEY = "sk-averysecretkeyofthemodel0123456789"


class ConfigCase(Case):
    @property
    def file(self):
        return os.path.join(self.kairo.dir, "config.toml")

    def text(self):
        with open(self.file, encoding="utf-8", newline="") as f:
            return f.read()

    def write(self, text):
        with open(self.file, "w", encoding="utf-8", newline="") as f:
            f.write(text)

    def add(self, text):
        """Above everything: top-level keys come before the first table."""
        self.write(text + self.text())

    def config_(self, *args, **more):
        return self.kairo.run("config", *args, **more)

    def get(self, key, **more):
        return self.config_("get", key, **more).out.rstrip("\n")


class Command(ConfigCase):
    login = False

    def test_set_get_unset(self):
        for key, value, shown, default in (
                ("language", "zh", '"zh"', '"auto"'), ("text_limit", "900", "900", "1800"),
                ("network.allow_fake_ip", "true", "true", "false"),
                ("allowed_users", '["a@im.wechat", "b"]', '["a@im.wechat", "b"]', "[]"),
                ("model.system_prompt", "Be brief, please.", '"Be brief, please."', '""'),
                ("model.system_prompt", "'C:\\x'", '"C:\\\\x"', '""'),
                ("model.system_prompt", "说中文", '"说中文"', '""'),
                ("model.system_prompt", "12", '"12"', '""'),
                ("model.api_key_file", "~/k", '"%s/k"' % self.folder, '""')):
            with self.subTest(key + " " + value):
                self.config_("set", key, value)
                self.assertEqual(self.get(key), shown)
                self.config_("unset", key)
                self.assertEqual(self.get(key), default)
                self.config_("unset", key)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)

    def test_comments_and_order_are_kept(self):
        before = ('# mine\nlanguage = "zh"   # of the house\n\n[model]\nname = "x" # the small one\n\n'
                  '# last words\n[network]\nallow_loopback = true\n')
        self.write(before)
        self.config_("set", "language", "en")
        self.config_("set", "model.name", "y")
        self.assertEqual(self.text(), before.replace('"zh"', '"en"').replace('"x"', '"y"'))
        self.config_("set", "model.base_url", "https://a.example/v1")
        self.config_("unset", "model.base_url")
        self.assertEqual(self.text(), before.replace('"zh"', '"en"').replace('"x"', '"y"'))

    def test_the_list_shows_every_key_its_value_and_source(self):
        self.config_("set", "language", "zh")
        out = self.config_("list", env={"KAIRO_MODEL_NAME": "from-outside"}).out
        self.assertRegex(out, r'(?m)^# .*\(config\.toml\)\nlanguage = "zh"$')
        self.assertRegex(out, r'(?m)^# .*\(environment\)\nmodel\.name = "from-outside"$')
        self.assertRegex(out, r'(?m)^# .*\(default\)\ntext_limit = 1800$')
        self.assertEqual(self.config_().out, self.config_("list").out)
        keys = re.findall(r"(?m)^([a-z_.]+) = ", out)
        self.assertEqual(len(keys), len(set(keys)))
        for key in keys:
            with self.subTest(key):
                self.get(key)
        # What the list prints is itself a configuration that loads.
        self.write(out)
        self.assertEqual(self.config_("list").out.replace("(config.toml)", ""),
                         re.sub(r"\((default|environment|config\.toml)\)", "", out))

    def test_bad_values_change_nothing(self):
        before = self.text()
        for key, value, word in (
                ("language", "fr", '"auto" or "zh" or "en"'), ("text_limit", "0", "from 1 to 3800"),
                ("text_limit", "3801", "from 1 to 3800"), ("text_limit", "many", "whole number"),
                ("queue_limit", "1001", "from 1 to 1000"), ("queue_limit", "-1", "from 1 to 1000"),
                ("queue_limit", "9" * 30, "from 1 to 1000"), ("turn_minutes", "1.5", "whole number"),
                ("network.allow_loopback", "yes", "true or false"), ("allowed_users", "me", "list of"),
                ("allowed_users", '["a", 1]', "list of"), ("allowed_users", '[""]', "1 to 128"),
                ("workspace", "here", "absolute path"), ("model.base_url", "x.example/v1", "https://"),
                ("model.base_url", "https://key@x.example", "does not belong"),
                ("model.base_url", "https://x.example/" + "x" * 500, "480"), ("ilink.route_tag", "x" * 257, "256"),
                ("sandbox.read", '["usr"]', "absolute"), ("engine", "", '"react"')):
            with self.subTest(key + " = " + value):
                p = self.config_("set", key, value, code=1)
                self.assertIn(word, p.err)
                self.assertIn(key, p.err)
                self.assertNotIn("config.toml", p.err, "the file is not at fault")
        self.assertEqual(self.text(), before)

    def test_an_empty_workspace_is_none(self):
        self.assertIn("expected a folder", self.config_("set", "workspace", "", code=1).err)

    def test_values_at_their_bounds(self):
        for key, values in (("text_limit", (1, 3800)), ("queue_limit", (1, 1000)), ("turn_minutes", (1, 1440)),
                            ("model.idle_seconds", (5, 3600))):
            for value in values:
                self.config_("set", key, str(value))
                self.assertEqual(self.get(key), str(value))

    def test_unknown_keys_name_the_nearest(self):
        for key, near in (("lanugage", "language"), ("base_url", "model.base_url"), ("model.nmae", "model.name"),
                          ("workspce", "workspace"), ("network.alow_loopback", "network.allow_loopback")):
            for args in (("get", key), ("set", key, "x"), ("unset", key)):
                p = self.config_(*args, code=2)
                self.assertIn("did you mean %s?" % near, p.err)
            self.assertIn("did you mean", self.config_("set", key, "--stdin", code=2, stdin=b"x").err)
        self.assertNotIn("\x1b", self.config_("get", "\x1b[2J", code=2).err)

    def test_command_lines(self):
        for args in (("get",), ("set",), ("set", "language"), ("set", "language", "a", "b"), ("unset",),
                     ("list", "x"), ("what",)):
            self.assertIn("usage", self.config_(*args, code=2).err)

    def test_many_at_once_lose_nothing(self):
        keys = ["text_limit", "queue_limit", "turn_minutes", "model.context_tokens", "model.token_budget",
                "model.max_iterations", "model.idle_seconds"]
        running = [self.kairo.popen("config", "set", key, "1000", stderr=subprocess.PIPE) for key in keys]
        for p in running:
            self.assertEqual(p.wait(60), 0, p.stderr.read())
        for key in keys:
            self.assertEqual(self.get(key), "1000")

    def test_a_setting_by_standard_input(self):
        self.config_("set", "language", "--stdin", stdin=b"zh\n")
        self.assertEqual(self.get("language"), '"zh"')
        self.config_("set", "model.system_prompt", "--stdin", stdin="first\n二\n".encode())
        self.assertEqual(self.get("model.system_prompt"), '"first\\n二"')
        self.assertIn("NUL", self.config_("set", "model.name", "--stdin", code=1, stdin=b"a\0b").err)
        self.config_("set", "model.system_prompt", "--stdin", stdin=b"x" * 32768)
        for key, limit in (("model.system_prompt", 32768), ("model.api_key", 4096)):
            p = self.config_("set", key, "--stdin", code=1, stdin=b"x" * (limit + 1))
            self.assertIn("longer than %d" % limit, p.err)
        self.assertIn("UTF-8", self.config_("set", "model.name", "--stdin", code=1, stdin=b"\xff").err)

    def test_a_file_that_is_no_file(self):
        other = os.path.join(self.folder, "other.toml")
        os.rename(self.file, other)
        os.symlink(other, self.file)
        self.assertIn("config.toml", self.config_("list", code=1).err)
        self.config_("set", "language", "zh", code=1)
        os.unlink(self.file)
        os.mkfifo(self.file)
        self.assertIn("config.toml", self.config_("list", code=1).err)
        os.unlink(self.file)
        os.mkdir(self.file)
        self.assertIn("config.toml", self.config_("list", code=1).err)


class BadFiles(ConfigCase):
    """Each is refused with file, line and column, by every command that reads it."""

    login = False

    def test_errors_have_a_place(self):
        for text, place, word in (
                ('language = "fr"\n', "1:12", "expected"),
                ("# x\n\n  lanugage = 'zh'\n", "3:3", "did you mean language?"),
                ("text_limit = 99999\n", "1:14", "from 1 to 3800"),
                ("text_limit = '9'\n", "1:14", "whole number"),
                ("text_limit =\n", "1:13", "expected a value"),
                ("language = zh\n", "1:12", "expected"),
                ("language = \"zh\n", "1:", "expected"),
                ("language = 'zh' 'en'\n", "1:", "expected"),
                ("language = 'zh'\nlanguage = 'en'\n", "2:1", "twice"),
                ("[model]\nname = 'x'\n[model]\n", "3:", ""),
                ("[[model]]\n", "1:", ""),
                ("model = { name = 'x' }\n", "1:", "expected"),
                ("model = 'x'\n", "1:1", "no setting"),
                ("a.b.c.d = 1\n", "1:1", "no setting"),
                ("allowed_users = ['a', 1]\n", "1:", "expected"),
                ("allowed_users = ['a',\n\n 'b'\n", "", "expected"),
                ("[model]\nbase_url = 'ftp://x'\n", "2:12", "https://"),
                ("[sandbox]\nread = ['x']\n", "2:8", "absolute"),
                ("text_limit = 1e3\n", "1:14", "expected"),
                ("text_limit = 0x10\n", "1:14", "expected"),
                ("log_level = 2026-01-01\n", "1:13", "expected"),
                ("=\n", "1:1", "expected"),
                ("\ufeff language = 'zh'\n", "1:", ""),
                ("language = \"\x01\"\n", "1:", ""),
                ("language = \"\\u0000\"\n", "1:", ""),
                ("language = \"\\q\"\n", "1:", "")):
            with self.subTest(text):
                self.write(text)
                p = self.config_("list", code=1)
                self.assertRegex(p.err, r"^kairo: config\.toml:\d+:\d+: .")
                self.assertIn("config.toml:" + place, p.err)
                self.assertIn(word, p.err)

    def test_every_command_names_the_place(self):
        for text, place in (("# x\n\n  lanugage = 'zh'\n", "3:3"), ("[model]\nbase_url = 'ftp://x'\n", "2:12"),
                            ("text_limit = 1e3\n", "1:14")):
            self.write(text)
            for args in (("config", "set", "queue_limit", "9"), ("config", "unset", "queue_limit"), ("start",), ("run",),
                         ("login", "--base-url", self.sim.api), ("ask", "hi")):
                self.assertIn("config.toml:%s: " % place, self.kairo.run(*args, code=1).err)
            self.assertEqual(self.text(), text)

    def test_a_bad_setting_can_be_set_right(self):
        self.write('language = "fr"\n')
        self.config_("set", "language", "zh")
        self.assertEqual(self.text(), 'language = "zh"\n')
        self.write('language = "fr"\n')
        self.config_("unset", "language")
        self.config_("list")

    def test_bytes_that_are_no_text(self):
        for data in (b"language = '\xff'\n", b"\0", b"language = 'zh'\0", b"\xc0\xaf = 1\n"):
            with open(self.file, "wb") as f:
                f.write(data)
            p = self.config_("list", code=1)
            self.assertRegex(p.err, r"^kairo: config\.toml:\d+:\d+: ")

    def test_a_file_that_is_too_big(self):
        self.write("# %s\n" % ("x" * (128 << 10)))
        self.assertIn("config.toml", self.config_("list", code=1).err)
        self.write("# %s\n" % ("x" * ((128 << 10) - 3)))
        self.config_("list")

    def test_lines_that_end_as_on_windows(self):
        self.write("# mine\r\nlanguage = 'zh'\r\n[model]\r\nname = 'x'\r\n")
        self.assertEqual(self.get("language"), '"zh"')
        self.config_("set", "language", "en")
        self.assertEqual(self.get("model.name"), '"x"')
        self.assertIn('language = "en"\r\n', self.text())

    def test_status_and_doctor_name_the_place_too(self):
        self.write("lanugage = 'zh'\n")
        self.assertIn("config.toml:1:1", self.kairo.run("status", code=4).out)
        self.assertIn("config.toml:1:1", json.loads(self.kairo.run("status", "--json", code=4).out)["warnings"][0])
        self.assertRegex(self.kairo.run("doctor", code=1).out, "(?m)^FAIL  config .*config.toml:1:1")


class Keys(ConfigCase):
    def key_file(self):
        with open(os.path.join(self.kairo.dir, "model.key")) as f:
            return f.read()

    def everything_but_the_key_file(self):
        found = b""
        for folder, _, files in os.walk(self.kairo.home):
            for name in files:
                path = os.path.join(folder, name)
                if name != "model.key" and os.path.isfile(path):
                    with open(path, "rb") as f:
                        found += f.read()
        return found

    def authorizations(self):
        return [r["authorization"] for r in self.sim.model_requests()]

    def test_the_key_is_used_and_nowhere_to_be_seen(self):
        self.config_("set", "model.api_key", "--stdin", stdin=(KEY + "\n").encode())
        self.assertEqual(self.key_file(), KEY)
        self.assertEqual(os.stat(os.path.join(self.kairo.dir, "model.key")).st_mode & 0o777, 0o600)
        self.kairo.start()
        self.ask("hello")
        self.assertEqual(self.authorizations()[-1], "Bearer " + KEY)
        pid = self.kairo.pid()
        shown = self.config_("list").out + self.kairo.run("status").out + self.kairo.run("status", "--json").out + \
            self.kairo.run("logs").out
        for name in ("cmdline", "environ"):
            with open("/proc/%d/%s" % (pid, name), errors="replace") as f:
                shown += f.read()
        self.kairo.stop()
        self.assertNotIn(KEY, shown)
        self.assertNotIn(KEY.encode(), self.everything_but_the_key_file())

    def test_a_key_on_the_command_line_is_refused(self):
        p = self.config_("set", "model.api_key", KEY, code=2)
        self.assertIn("--stdin", p.err)
        self.assertNotIn(KEY, p.out + p.err)
        self.assertFalse(os.path.exists(os.path.join(self.kairo.dir, "model.key")))

    def test_a_key_is_not_shown_and_what_is_said_of_it_is_where_it_is(self):
        for args in (("get", "model.api_key"), ("unset", "model.api_key.kimi"), ("get", "search.brave_key")):
            self.assertIn("%s is never shown" % args[1], self.config_(*args, code=2).err)

    def test_keys_that_are_none(self):
        for stdin, word in ((b"", "1 to"), (b"\n", "1 to"), (b"a b", "space"), (b"a\nb", "space"), (b"\x01", "control"),
                            (b"x" * 4096, "1 to"), (b"x" * 4097, "longer"), ("键".encode(), "")):
            with self.subTest(stdin[:9]):
                self.assertIn(word, self.config_("set", "model.api_key", "--stdin", stdin=stdin, code=1).err)
        self.config_("set", "model.api_key", "--stdin", stdin=b"x" * 4095)

    def test_a_key_file_that_others_can_read(self):
        path = os.path.join(self.folder, "key")
        with open(path, "w") as f:
            f.write(KEY)
        os.chmod(path, 0o644)
        self.kairo.config(model__api_key_file=path)
        p = self.kairo.start(code=1)
        self.assertIn("model.api_key_file", p.err)
        self.assertNotIn(KEY, p.err)
        os.chmod(path, 0o600)
        self.kairo.start()
        os.unlink(path)
        for setting in ("model.api_key", "search.brave_key"):
            self.assertIn("kairo config set %s --stdin makes one" % setting, self.kairo.run("restart", code=1).err)
            self.config_("unset", "model.api_key_file")
            self.kairo.config(search__brave_key_file=path)
        self.assertEqual(self.kairo.status()["state"], "running")

    def test_the_environment_comes_first(self):
        self.config_("set", "model.api_key", "--stdin", stdin=KEY.encode())
        before = self.text()
        other = "sk-ofthe-environment-0123456789"
        self.kairo.start(env={"KAIRO_MODEL_API_KEY": other, "KAIRO_MODEL_NAME": "outside"})
        self.ask("hello")
        self.assertEqual(self.authorizations()[-1], "Bearer " + other)
        self.assertEqual(self.sim.model_requests()[-1]["body"]["model"], "outside")
        self.kairo.stop()
        self.assertEqual(self.text(), before)
        self.assertNotIn(other.encode(), self.everything_but_the_key_file())

    def test_overrides_are_checked_as_settings_are(self):
        url = "http://127.0.0.1:1/v1"
        self.assertEqual(self.get("model.base_url", env={"KAIRO_MODEL_BASE_URL": url}), '"%s"' % url)
        self.assertEqual(self.get("model.base_url", env={"KAIRO_MODEL_BASE_URL": ""}), '"%s"' % self.sim.model)
        p = self.config_("get", "model.base_url", env={"KAIRO_MODEL_BASE_URL": "ftp://x"}, code=1)
        self.assertIn("KAIRO_MODEL_BASE_URL", p.err)
        self.assertNotIn("config.toml", p.err)
        self.assertIn("KAIRO_MODEL_API_KEY", self.kairo.start(env={"KAIRO_MODEL_API_KEY": "a b"}, code=1).err)
        # A daemon's setting is changed in the file, whatever this shell overrides.
        self.config_("set", "model.name", "stored", env={"KAIRO_MODEL_NAME": "outside"})
        self.assertEqual(self.get("model.name"), '"stored"')

    def test_the_home_may_be_anywhere(self):
        other = os.path.join(self.folder, "deep", "er", "home")
        self.kairo.run("config", "set", "language", "zh", env={"KAIRO_HOME": other})
        self.assertEqual(os.stat(other).st_mode & 0o777, 0o700)
        self.assertEqual(self.get("language", env={"KAIRO_HOME": other}), '"zh"')
        self.assertEqual(self.get("language"), '"auto"')
        self.assertEqual(self.get("language", env={"KAIRO_HOME": ""}), '"auto"')
        self.assertFalse(os.path.exists(os.path.join(self.folder, ".kairo")), "reading makes no folder")


class Reload(ConfigCase):
    """SIGHUP: what can change live does, what cannot waits for a restart, a bad file changes nothing."""

    def setUp(self):
        super().setUp()
        self.limit = 100
        self.kairo.start()

    def take(self, **settings):
        """Set them; returns when the daemon has them all. queue_limit, set last, tells."""
        self.kairo.config(**settings)
        self.limit += 1
        self.config_("set", "queue_limit", str(self.limit))
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == self.limit, "the settings to be taken over")

    def test_the_command_tells_the_daemon(self):
        self.assertIn("takes it over\n", self.config_("set", "queue_limit", "7").out)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 7, "the limit")
        self.assertIn("kairo restart", self.config_("set", "turn_minutes", "7").out)
        self.assertIn("takes it over\n", self.config_("unset", "queue_limit").out)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 100, "the default")
        self.assertIn("kairo restart", self.config_("set", "model.api_key", "--stdin", stdin=KEY.encode()).out)

    def test_language(self):
        self.take(language="zh")
        zh = self.ask("/status")[0]
        self.take(language="en")
        en = self.ask("/状态")[0]
        self.assertIn("排队", zh)
        self.assertNotIn("排队", en)

    def test_text_limit(self):
        self.sim.script({"text": "word " * 60}, {"text": "word " * 60})
        self.assertEqual(len(self.ask("a")), 1)
        self.take(text_limit=100)
        parts = self.ask("b", parts=3)
        self.assertTrue(all(len(p) <= 100 for p in parts), parts)

    def test_render_mode(self):
        self.sim.script({"text": "a **bold** word"}, {"text": "a **bold** word"})
        self.assertEqual(self.ask("a"), ["a **bold** word"])
        self.take(render_mode="plain")
        self.assertEqual(self.ask("b"), ["a bold word"])

    def test_allowed_users(self):
        friend = "friend@im.wechat"
        self.sim.inject("not yet", **{"from": friend})
        self.sim.script({"text": "mine"})
        self.assertEqual(self.ask("hi"), ["mine"])
        self.take(allowed_users=[friend])
        self.sim.script({"text": "welcome"})
        self.sim.inject("now?", **{"from": friend})
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.texts(to=friend), ["welcome"])
        self.take(allowed_users=[])
        self.sim.inject("still?", **{"from": friend})
        self.sim.script({"text": "only mine"})
        self.sim.inject("hi again")
        self.sim.wait("sent", 3)
        self.kairo.idle()
        self.assertEqual(self.sim.texts(to=friend), ["welcome"])

    def test_log_level(self):
        self.ask("at debug")
        self.assertIn(" debug ", self.kairo.log())
        self.take(log_level="error")
        before = len(self.kairo.log())
        self.ask("at error")
        self.kairo.idle()
        self.assertNotRegex(self.kairo.log()[before:], " (debug|info) ")
        self.take(log_level="debug")
        before = len(self.kairo.log())
        self.ask("at debug again")
        self.assertIn(" debug ", self.kairo.log()[before:])

    def test_a_shorter_queue_drops_nothing(self):
        self.sim.script({"text": "one", "first_ms": 300}, {"text": "answer"}, repeat=True)
        for i in range(5):
            self.sim.inject("message %d" % i)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 4, "four to wait")
        self.limit = 1
        self.take()
        self.sim.wait("sent", 5)
        self.assertEqual(self.kairo.idle()["handled"], 5)

    def test_a_bad_file_leaves_the_old_settings(self):
        self.take(language="en")
        good = self.text()
        pid = self.kairo.pid()
        for bad in ("text_limit = 'x'\n", "lanugage = 'zh'\n", "\0", "="):
            self.write(bad + good)
            seen = self.kairo.log().count("the old settings stay")
            os.kill(pid, 1)
            wait_for(lambda seen=seen: self.kairo.log().count("the old settings stay") > seen, "the refusal")
            status = self.kairo.status()
            self.assertEqual(status["queue"]["limit"], self.limit)
            self.assertRegex(status["warnings"][-1], r"the old ones stay: config\.toml:1:\d+: ")
        self.assertRegex(self.kairo.log(), r"reload: config\.toml:\d+:\d+: .*the old settings stay")
        self.assertRegex(self.kairo.run("restart", code=1).err, r"config\.toml:1:\d+: ")
        self.assertEqual(self.kairo.pid(), pid)
        os.unlink(self.file)
        os.kill(pid, 1)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 100, "the defaults of no file")
        self.assertNotIn("the old ones stay", str(self.kairo.status()["warnings"]))
        self.write(good)
        self.assertEqual(self.kairo.pid(), pid)
        self.assertTrue(self.ask("/status"))

    def test_a_hundred_signals(self):
        pid = self.kairo.pid()
        for _ in range(100):
            os.kill(pid, 1)
        self.take()
        self.sim.script({"text": "alive"})
        self.assertEqual(self.ask("hi"), ["alive"])
        self.assertEqual(self.kairo.pid(), pid)

    def test_the_key_survives_a_reload(self):
        self.config_("set", "model.api_key", "--stdin", stdin=KEY.encode())
        self.kairo.run("restart")
        self.take(language="en")
        self.take(language="zh")
        self.ask("hi")
        self.assertEqual(self.sim.model_requests()[-1]["authorization"], "Bearer " + KEY)
        self.assertNotIn(KEY, self.kairo.log())


if __name__ == "__main__":
    main()
