"""The policy from settings to what the model and the phone are told, and the audit of it."""

import json
import os
import re
import shutil
import socket

from harness import Case, main, wait_for

# Not of the public internet (RFC 5737): a fetch that is allowed is refused before anything leaves.
PAGE = "https://192.0.2.1/a"


def call(name, **arguments):
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


class PolicyCase(Case):
    def results(self):
        """What the model was told of its calls, the last first."""
        return [m["content"] for m in reversed(self.sim.model_requests()[-1]["body"]["messages"])
                if m["role"] == "tool"]

    def offered(self):
        return [t["function"]["name"] for t in self.sim.model_requests()[-1]["body"].get("tools", [])]

    def verdict(self, name, text="go", **arguments):
        """What becomes of the call: the model's result, or "asked"."""
        before = self.sim.counts()["model_requests"]
        self.sim.script(call(name, **arguments), {"text": "over"})
        shown = self.ask(text)
        if "Your permission is needed" not in shown[-1]:
            self.assertEqual(shown, ["over"])
            self.assertEqual(self.sim.counts()["model_requests"], before + 2)
            return self.results()[0]
        wait_for(lambda: self.kairo.status()["unsent"] == 0, "the question to be accepted")
        self.ask("3")
        return "asked"

    def settle(self, **settings):
        """Settings that a running daemon takes over."""
        before = self.kairo.log().count("settings reloaded")
        self.kairo.config(**{"policy__" + key: value for key, value in settings.items()})
        wait_for(lambda: self.kairo.log().count("settings reloaded") >= before + len(settings), "the reload")


class Verdicts(PolicyCase):
    def setUp(self):
        super().setUp()
        self.kairo.start()

    def test_the_defaults_for_the_phone(self):
        self.verdict("write_file", path="a", content="x")
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "a")))
        for name, word in (("shell", 'policy.shell_allow = ["git status"]'), ("shell_session", "policy.shell"),
                           ("mcp__files__read", 'policy.tools = ["files.read=ask"]'),
                           ("restore_snapshot", "No setting allows it"), ("browser_session", "No setting allows it")):
            told = self.verdict(name)
            self.assertIn(name + " is denied for requests from the phone", told)
            self.assertIn(word, told)
            self.assertIn("Tell the user so", told)
            self.assertNotIn(name, self.offered())
        self.assertIn("no tool", self.verdict("format_disk"))

    def test_a_page_of_the_users_own_words_alone_is_opened_unasked(self):
        told = self.verdict("web_fetch", text="read " + PAGE + ", please", url=PAGE)
        self.assertIn("could not be fetched", told)
        for other in (PAGE + "?all=secrets", PAGE + "/", "https://192.0.2.1./a", "https://me@192.0.2.1/a",
                      "https://192.0.2.1/%61", "http://192.0.2.1/a", "https://192.0.2.2/?" + PAGE):
            self.assertEqual(self.verdict("web_fetch", text="read " + PAGE + ", please", url=other), "asked", other)
        # The words of an earlier task do not count.
        self.assertEqual(self.verdict("web_fetch", text="again", url=PAGE), "asked")

    def test_settings_are_taken_over_at_once(self):
        self.settle(write="deny", web="ask")
        told = self.verdict("write_file", path="b", content="x")
        self.assertIn("write_file is denied", told)
        self.assertIn('policy.write = "ask"', told)
        self.assertFalse(os.path.exists(os.path.join(self.kairo.workspace, "b")))
        self.assertEqual(self.verdict("web_fetch", text=PAGE, url=PAGE), "asked")
        self.settle(write="allow", tools=["write_file=ask", "grep=deny"])
        self.assertEqual(self.verdict("write_file", path="b", content="x"), "asked")
        self.assertIn('policy.tools = ["grep=ask"]', self.verdict("grep", pattern="x"))
        self.settle(tools=[])
        self.verdict("write_file", path="b", content="x")
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "b")))

    def test_the_phone_is_shown_what_holds(self):
        self.kairo.config(language="en")
        wait_for(lambda: "settings reloaded" in self.kairo.log(), "the language")
        shown = self.ask("/policy")[0]
        for line in ("Write files: yes", "Run commands: no", "MCP tools: no", "10 min",
                     "kairo config set policy.shell ask"):
            self.assertIn(line, shown)
        self.settle(shell="allowlist", shell_allow=["git status"], ask_minutes=3, write="ask")
        shown = self.ask("/policy")[0]
        for line in ("Write files: I ask you first", "Run commands: listed ones: yes; others: no",
                     'Listed commands: "git status"', "3 min"):
            self.assertIn(line, shown)
        self.kairo.config(language="zh")
        wait_for(lambda: "运行命令：列出的命令可以，其他不可以" in self.ask("/权限")[0], "the other language")
        self.assertEqual(self.sim.counts()["model_requests"], 0)


class Commands(PolicyCase):
    def setUp(self):
        super().setUp()
        self.kairo.config(policy__shell="allowlist", policy__shell_allow=["printf '%s %s' 'it works' '$HOME'"])
        self.kairo.start()

    def test_an_entry_runs_and_nothing_rides_on_it(self):
        entry = "printf '%s %s' 'it works' '$HOME'"
        self.assertIn("it works $HOME", self.verdict("shell", command=entry))
        self.assertIn("shell", self.offered())
        self.assertNotIn("shell_session", self.offered())
        for command in (entry + "; touch x", entry + " && touch x", entry + " > x", entry + " x",
                        "env " + entry, "printf '%s %s' 'it works' $HOME", "touch x", "find . -exec " + entry):
            told = self.verdict("shell", command=command)
            self.assertIn("not one that the policy of this machine allows", told, command)
            self.assertIn(entry, told)
        self.assertIn("shell_session is denied", self.verdict("shell_session", command=entry))
        self.settle(shell="ask")
        self.assertIn("it works $HOME", self.verdict("shell", command=entry))
        self.assertEqual(self.verdict("shell", command=entry + "; touch x"), "asked")
        self.assertEqual(self.verdict("shell_session", command=entry), "asked")
        self.assertEqual(self.kairo.files(), [])

    def test_an_entry_has_the_network_when_it_says_so_alone(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            dial = "python3 -I -c 'import socket; socket.create_connection((\"127.0.0.1\", %d)); print(\"%%s\")'" % \
                server.getsockname()[1]
            self.settle(shell_allow=["[network] " + dial % "with", dial % "without"])
            told = self.verdict("shell", command=dial % "with")
            self.assertIn("exit status 0 ", told)
            self.assertIn("\nwith\n", told)
            server.accept()[0].close()
            told = self.verdict("shell", command=dial % "without")
            self.assertIn("exit status 1 ", told)
            self.assertRegex(told, "PermissionError|ConnectionRefusedError|OSError")
            server.settimeout(0)
            with self.assertRaises(BlockingIOError):
                server.accept()
            # The mark is no part of a command.
            self.settle(shell="ask", shell_allow=["[network] " + dial % "with"])
            self.assertEqual(self.verdict("shell", command="[network] " + dial % "with"), "asked")
            self.assertEqual(self.verdict("shell", command=dial % "without"), "asked")

    def test_the_model_knows_what_is_denied_and_how_that_can_change(self):
        def told():
            self.sim.script({"text": "over"})
            self.ask("go")
            return self.sim.model_requests()[-1]["body"]["messages"][0]["content"]
        self.assertNotIn("shell is denied", told())
        self.settle(shell="deny")
        self.assertIn('policy.shell_allow = ["git status"]', told())


class Settings(PolicyCase):
    login = False

    def test_what_cannot_be_is_refused_with_its_place(self):
        for key, value, words in (
                ("policy.shell", "allow", 'expected "deny" or "allowlist" or "ask"'),
                ("policy.shell_allow", '["npm test", "a && b"]', 'entry 2 of policy.shell_allow, "a && b": "&" at character 3'),
                ("policy.shell_allow", '["echo $HOME"]', '"$" at character 6 needs a shell'),
                ("policy.tools", '["writefile=ask"]', "did you mean write_file?"),
                ("policy.tools", '["restore_snapshot=allow"]', "no setting allows restore_snapshot"),
                ("policy.tools", '["shell=allow"]', "policy.shell_allow")):
            self.assertIn(words, self.kairo.run("config", "set", key, value, code=1).err)
        with open(os.path.join(self.kairo.home, "config.toml"), "a") as f:
            f.write('\n[policy]\nshell_allow = ["npm test", "find . -exec rm {} ;"]\n')
        err = self.kairo.run("start", code=1).err
        self.assertRegex(err, r'config\.toml:\d+:15: entry 2 of policy.shell_allow, "find \. -exec rm {} ;": "{"')

    def test_what_stands_wide_open_is_warned_of(self):
        self.assertIn("policy", self.kairo.run("doctor", code=None).out)
        self.assertNotIn("any address", self.kairo.run("doctor", code=None).out)
        self.kairo.config(policy__tools=["web_fetch=allow", "files.*=allow"],
                          policy__shell_allow=["[network] npm ci", "no-such-program x"])
        out = self.kairo.run("doctor", code=None).out
        for words in ("web_fetch for any address", "policy.tools allows files.*", 'network to "npm ci"',
                      "there is no program no-such-program on this machine"):
            self.assertIn(words, out)


class Warned(PolicyCase):
    def test_status_names_what_stands_wide_open(self):
        self.kairo.config(policy__tools=["web_fetch=allow"])
        self.kairo.start()
        self.assertIn("any address", " ".join(self.kairo.status()["warnings"]))
        self.assertIn("any address", self.ask("/status")[0])


class Audit(PolicyCase):
    def show(self, *args):
        return self.kairo.run("audit", *args).out

    def test_it_shows_what_was_asked_decided_and_done(self):
        self.assertIn("nothing has been recorded yet", self.kairo.run("audit", code=1).err)
        self.kairo.config(policy__write="ask")
        self.kairo.start()
        self.verdict("read_file", path="none.txt")
        self.verdict("write_file", path="a.txt", content="my diary\n")
        self.verdict("shell", command="curl -H 'Authorization: Bearer abcdefghijklmnop1234'")
        out = self.show()
        for line in (r"turn \d+  phone  read_file  allow,  started.*\n    \{\"path\":\"none.txt\"\}",
                     r"phone  read_file  allow,  failed", r"phone  write_file  ask,  asked",
                     r"phone  write_file  ask,  refused", r"phone  shell  deny,  refused",
                     r"\n    shell is denied for requests from the phone"):
            self.assertRegex(out, line)
        self.assertRegex(out, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  turn ")
        self.assertNotIn("my diary", out)
        self.assertIn('"content_bytes":9', out)
        self.assertNotIn("abcdefghijklmnop1234", out)

    def test_records_come_as_json_and_bounded(self):
        self.kairo.start()
        self.verdict("shell", command="ls")
        self.verdict("list_dir")
        records = [json.loads(line) for line in self.show("--json").splitlines()]
        self.assertEqual([(r["tool"], r["outcome"]) for r in records],
                         [("shell", "refused"), ("list_dir", "started"), ("list_dir", "ok")])
        self.assertEqual(len(self.show("--json", "-n", "1").splitlines()), 1)
        for n in ("0", "101", "x", "-1"):
            self.kairo.run("audit", "-n", n, code=2)
        day = next(n for n in os.listdir(os.path.join(self.kairo.home, "audit")) if re.match(r"\d", n))
        with open(os.path.join(self.kairo.home, "audit", day), "ab") as f:
            f.write(b'garbage\x1b[31m\n{"time":"2026')
        p = self.kairo.run("audit", "--json")
        self.assertEqual(len(p.out.splitlines()), 3)
        self.assertIn("2 lines that are no records", p.err)
        self.assertNotIn("\x1b", p.out + p.err)

    def test_what_cannot_be_recorded_is_not_done(self):
        folder = os.path.join(self.kairo.home, "audit")
        self.kairo.start()
        shutil.rmtree(folder)
        self.verdict("write_file", path="a", content="x")  # the folder is made anew
        self.assertIn("write_file  allow,  ok", self.show())
        os.rename(folder, folder + ".old")
        os.symlink(self.kairo.workspace, folder)
        for name, arguments in (("write_file", {"path": "b", "content": "x"}), ("list_dir", {})):
            self.assertIn("it cannot be recorded", self.verdict(name, **arguments))
        self.assertEqual(self.kairo.files(), ["a"])
        self.assertIn("the audit takes no record", " ".join(self.kairo.status()["warnings"]))
        self.assertIn("the audit takes no record", self.ask("/status")[0])
        self.assertIn("symbolic link", self.kairo.run("audit", code=1).err)
        os.remove(folder)
        self.verdict("write_file", path="b", content="x")
        self.assertEqual(sorted(self.kairo.files()), ["a", "b"])
        self.assertNotIn("audit", " ".join(self.kairo.status()["warnings"]))
        self.assertIn("recorded again", self.kairo.log())


if __name__ == "__main__":
    main()
