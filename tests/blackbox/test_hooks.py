"""The plugin that tells of Kimi's background work: put there, asked for, taken away."""

import json
import os

from harness import BUILD, Case, main, wait_for
from terminal import Terminal

PLUGIN = "kairo-hook-relay"
OTHER = {"id": "kimi-cu", "root": "/x", "enabled": False, "new": {"a": [1.5, None]}}


class Hooks(Case):
    def setUp(self):
        super().setUp()
        self.kimi = os.path.join(self.folder, ".kimi-code")
        self.list = os.path.join(self.kimi, "plugins", "installed.json")
        bins = os.path.join(self.folder, "bin")
        os.makedirs(bins)
        with open(os.path.join(bins, "kimi"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho 2.1.0\n")
        os.chmod(os.path.join(bins, "kimi"), 0o755)
        self.kairo.env["PATH"] = bins + ":/usr/bin:/bin"
        self.kairo.config(engine="acp", acp__preset="kimi")

    def others(self):
        os.makedirs(os.path.dirname(self.list))
        with open(self.list, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "plugins": [OTHER], "more": True}, f)

    def plugins(self):
        with open(self.list, encoding="utf-8") as f:
            return json.load(f)

    def hooks(self, *args, code=0):
        return self.kairo.run("hooks", *args, code=code)

    def setting(self):
        return self.kairo.run("config", "get", "acp.hooks").out.strip().strip('"')

    def test_it_is_installed_and_removed_with_all_else_as_it_was(self):
        self.others()
        self.assertIn("is not installed; kairo hooks install", self.hooks().out)
        self.assertIn("the plugin is installed\n", self.hooks("install").out)
        kept = self.plugins()
        self.assertEqual(kept["plugins"][0], OTHER)
        self.assertTrue(kept["more"])
        ours = kept["plugins"][1]
        self.assertEqual((ours["id"], ours["source"], ours["enabled"]), (PLUGIN, "local-path", True))
        with open(os.path.join(ours["root"], "kimi.plugin.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        self.assertEqual([h["event"] for h in manifest["hooks"]], [
            "TaskStarted", "Notification", "SubagentStop", "TurnStarted", "Stop", "StopFailure", "Interrupt"])
        self.assertEqual(self.setting(), "on")
        self.assertIn("is installed\n", self.hooks("status").out)
        self.assertIn("was installed already", self.hooks("install").out)
        self.assertRegex(self.kairo.run("doctor", code=None).out, r"ok +hooks +Kimi's plugin")
        self.assertIn("the plugin is gone", self.hooks("remove").out)
        self.assertEqual(self.plugins(), {"version": 1, "plugins": [OTHER], "more": True})
        self.assertFalse(os.path.exists(ours["root"]))
        self.assertEqual(self.setting(), "off")
        self.assertIn("was not there", self.hooks("remove").out)
        self.assertFalse(os.path.exists(os.path.join(self.kimi, "SYSTEM.md")))

    def test_a_list_that_cannot_be_read_is_left_alone_and_told(self):
        self.others()
        with open(self.list, "w", encoding="utf-8") as f:
            f.write("{broken")
        for what in ("install", "remove", "status"):
            self.assertIn("was left alone", self.hooks(what, code=1).err)
        with open(self.list, encoding="utf-8") as f:
            self.assertEqual(f.read(), "{broken")
        self.assertEqual(self.setting(), "ask")
        self.assertRegex(self.kairo.run("doctor", code=None).out, r"warn +hooks +Kimi's list of plugins")
        self.kairo.start()  # the agent works without

    def test_with_another_engine_it_is_said_that_it_does_nothing(self):
        self.assertNotIn("only with", self.hooks().out)
        self.kairo.run("config", "set", "engine", "react")
        self.assertIn('only with engine = "acp"', self.hooks().out)

    def test_looking_makes_no_folder(self):
        fresh = os.path.join(self.folder, "fresh")
        for args in ((), ("status",)):
            self.kairo.run("hooks", *args, env={"KAIRO_HOME": fresh})
        self.assertFalse(os.path.exists(fresh))
        self.kairo.run("hooks", "install", env={"KAIRO_HOME": fresh})
        with open(os.path.join(fresh, "config.toml"), encoding="utf-8") as f:
            self.assertIn('hooks = "on"', f.read())

    def test_what_it_takes_is_said(self):
        self.assertIn("status|install|remove", self.hooks("more", code=2).err)
        self.assertIn("status|install|remove", self.hooks("install", "now", code=2).err)

    def works_in_the_background(self, *tasks):
        """A Kimi that is scripted (tests/agent/acp_agent.c): its first answer leaves these at work."""
        agent = os.path.join(BUILD, "tests", "agent", "acp_agent")
        begun = [{"hook": {"hook_event_name": "TaskStarted", "session_id": "$session", "task_id": "b%d" % i,
                           "kind": "process", "description": what, "status": "running", "detached": True,
                           "started_at": 1}} for i, what in enumerate(tasks)]
        with open(os.path.join(self.folder, "bin", "script"), "w", encoding="utf-8") as f:
            json.dump({"session/prompt": begun + [
                {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "They run."}}},
                {"result": {"stopReason": "end_turn"}}]}, f)
        with open(os.path.join(self.folder, "bin", "kimi"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n[ $1 = acp ] || exec echo 2.1.0\ncd %s/bin && exec %s script record\n" %
                    (self.folder, agent))
        self.kairo.config(language="en", acp__hooks="on", acp__write=[os.path.join(self.folder, "bin"), os.path.dirname(agent)])
        self.kairo.start()
        self.assertEqual(self.kairo.status()["background"], [])
        self.assertEqual(self.ask("begin"), ["They run."])

    def test_what_works_in_the_background_is_listed_and_named_by_what_ends_it(self):
        self.works_in_the_background("Counts the herons", "Builds\x1b[2J it")
        found = wait_for(lambda: len(self.kairo.status()["background"]) == 2 and self.kairo.status()["background"], "both")
        self.assertEqual([(j["what"], j["state"]) for j in found],
                         [("Counts the herons", "running"), ("Builds\\x1b[2J it", "running")])
        self.assertTrue(all(j["age_s"] >= 0 for j in found))
        self.assertRegex(self.kairo.run("status").out,
                         r"(?m)^background   Counts the herons, for \d+ s\n             Builds\\x1b\[2J it, for \d+ s\n")
        named = r"^this ends what the agent does in the background:\n  Counts the herons, for \d+ s\n  Builds\\x1b\[2J it, for \d+ s\n" \
                r"kairo has stopped\n"
        self.assertRegex(self.kairo.run("restart").out, named)
        self.assertNotIn("background", self.kairo.run("status").out)
        self.assertEqual(self.kairo.stop().out, "kairo has stopped\n")

    def test_on_installs_it_at_the_start(self):
        self.kairo.run("config", "set", "acp.hooks", "on")
        self.kairo.start()
        self.assertEqual([p["id"] for p in self.plugins()["plugins"]], [PLUGIN])

    def asked(self, answer):
        os.makedirs(self.kimi)
        t = Terminal(self.kairo, "start")
        self.addCleanup(t.close)
        t.expect(r"Install it\? \[y/N\]")
        t.type(answer + "\n")
        t.expect("kairo is running")
        self.kairo.stop()
        t = Terminal(self.kairo, "start")
        self.addCleanup(t.close)
        t.expect("kairo is running")
        self.assertNotIn("Install it", t.text)

    def test_it_is_asked_for_once_yes(self):
        self.asked("y")
        self.assertEqual(self.setting(), "on")
        self.assertTrue(os.path.exists(self.list))

    def test_it_is_asked_for_once_no(self):
        self.asked("")
        self.assertEqual(self.setting(), "off")
        self.assertFalse(os.path.exists(self.list))

    def test_nobody_is_asked_without_kimi_or_a_terminal(self):
        t = Terminal(self.kairo, "start")
        self.addCleanup(t.close)
        t.expect("kairo is running")
        self.assertNotIn("Install it", t.text)
        self.kairo.stop()
        self.assertNotIn("Install it", self.kairo.run("start").out)
        self.assertEqual(self.setting(), "ask")


if __name__ == "__main__":
    main()
