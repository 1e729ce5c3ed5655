"""Conversations and the model as their user handles them on the phone: /sessions, /open, /compact, /usage, /model."""

import fcntl
import os
import sqlite3

from harness import STOP_MS, Case, main, wait_for


class Conversation(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(language="en")
        self.kairo.start()

    def bodies(self):
        return [r["body"] for r in self.sim.model_requests()]

    def test_going_back_to_an_earlier_one(self):
        self.assertIn("no conversation yet", self.ask("/sessions")[0])
        self.sim.script({"text": "roses, then"}, {"text": "the moon, then"}, {"text": "red"})
        self.ask("talk about roses")
        self.ask("/new")
        self.ask("talk about the moon")
        listed = self.ask("/sessions")[0]
        self.assertIn("1. talk about the moon (just now, open)", listed)
        self.assertIn("2. talk about roses (just now)", listed)
        self.assertIn("Back in this conversation: talk about roses", self.ask("/open 2")[0])
        self.ask("which colour?")
        said = [m.get("content") for m in self.bodies()[-1]["messages"]]
        self.assertIn("roses, then", said)
        self.assertNotIn("the moon, then", said)
        self.assertIn("number", self.ask("/打开 9")[0])

    def test_compact_is_a_task_of_its_own(self):
        self.assertIn("nothing to compress", self.ask("/compact")[0])
        self.sim.script({"text": "long " * 700}, {"text": "short"}, {"text": "MEMORY"}, {"text": "I remember"})
        self.ask("first")
        self.ask("second")
        self.kairo.idle()
        self.assertIn("summary now", self.ask("/压缩")[-1])
        self.ask("third")
        said = [m.get("content") for m in self.bodies()[-1]["messages"]]
        self.assertIn("MEMORY", said)
        self.assertIn("second", said)
        self.assertNotIn("first", said)

    def test_compact_is_stopped_at_once(self):
        self.sim.script({"text": "long " * 700}, {"text": "short"}, {"stall": True}, {"text": "fine"})
        self.ask("first")
        self.ask("second")
        self.kairo.idle()
        self.sim.inject("/compact")
        wait_for(lambda: len(self.bodies()) == 3, "the summary to be asked for")
        before = len(self.sim.sent())
        asked = self.sim.inject("/stop")[0]["at"]
        self.sim.wait("sent", before + 1)
        notice = self.sim.sent()[before]
        self.assertIn("Stopped", notice["text"])
        self.assertLess(notice["at"] - asked, STOP_MS)
        wait_for(lambda: self.sim.counts()["model_open"] == 0, "the model to be left")
        self.assertEqual(self.ask("go on")[-1], "fine")
        self.assertEqual(self.kairo.db("SELECT count(*) FROM react_summary"), [(0,)])

    def test_usage(self):
        self.assertIn("nothing used", self.ask("/usage")[0])
        self.ask("hello")
        self.assertRegex(self.ask("/usage")[0], r"This conversation: .*(tokens in|unknown)")

    def test_tables_of_the_engine_that_are_damaged(self):
        """The command fails and says so; intake goes on, and nothing is taken twice."""
        c = sqlite3.connect(os.path.join(self.kairo.dir, "state.db"), timeout=20)
        c.execute("DROP TABLE react_open")
        c.commit()
        c.close()
        self.assertIn("That did not work", self.ask("/new")[0])
        self.assertIn("Nothing is running", self.ask("/stop")[0])
        self.assertNotIn("cannot be stored", self.kairo.log())


class Choice(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(language="en")

    def text(self):
        with open(os.path.join(self.kairo.dir, "config.toml")) as f:
            return f.read()

    def test_the_model_changes_in_one_step_and_for_good(self):
        self.kairo.config(model__context_tokens=50000)
        self.kairo.start()
        self.ask("hello")
        self.assertIn("demo at 127.0.0.1, window 50000", self.ask("/model")[0])
        self.assertIn("No key is stored for: kimi", self.ask("/模型")[0])
        self.assertIn("Changed", self.ask("/model other-model")[0])
        self.ask("hello again")
        self.assertEqual([r["body"]["model"] for r in self.sim.model_requests()], ["demo", "other-model"])
        self.assertIn("other-model", self.kairo.status()["engine"])
        self.assertNotIn("context_tokens", self.text())
        self.kairo.stop()
        self.kairo.start()
        self.assertIn("other-model", self.kairo.status()["engine"])

    def test_no_key_goes_to_another_provider(self):
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=b"sk-the-first-0123456789")
        self.kairo.start()
        before = self.text()
        # In a code span, where WeChat leaves the underscore as it is: the command is to be typed.
        self.assertRegex(self.ask("/model deepseek")[0], "no key of deepseek is stored; .* `model.api_key.deepseek` --stdin")
        self.assertIn("name one", self.ask("/model xfyun")[0])
        self.assertIn("no spaces", self.ask("/model two words")[0])
        self.assertEqual(self.text(), before)
        self.kairo.run("config", "set", "model.api_key.glm", "--stdin", stdin=b"sk-the-second-0123456789")
        self.assertEqual(os.stat(os.path.join(self.kairo.dir, "zhipu.key")).st_mode & 0o777, 0o600)
        self.assertIn("zhipu glm-5.2 at open.bigmodel.cn", self.ask("/model glm")[0])
        self.assertIn('provider = "zhipu"', self.text())
        self.assertNotIn("base_url", self.text())
        for key in ("sk-the-first", "sk-the-second"):
            self.assertNotIn(key, self.kairo.log() + self.text())

    def test_a_choice_that_cannot_be_kept_changes_nothing(self):
        self.kairo.start()
        os.chmod(self.kairo.dir, 0o700)
        path = os.path.join(self.kairo.dir, "config.toml")
        before = self.text()
        with open(path, "a") as f:
            f.write("nonsense\n")
        self.assertIn("config.toml", self.ask("/model other")[0])
        with open(path, "w") as f:
            f.write(before)
        # The choice itself would do, but it cannot be written; a command at a terminal would wait five seconds.
        with open(os.path.join(self.kairo.dir, "config.lock"), "a") as f:
            fcntl.lockf(f, fcntl.LOCK_EX)
            asked = self.sim.inject("/model other")[0]["at"]
            self.sim.wait("sent", 2)
            told = self.sim.sent()[1]
        self.assertIn("config.lock", told["text"])
        self.assertLess(told["at"] - asked, 5000)
        self.assertEqual(self.text(), before)
        self.ask("hello")
        self.assertEqual([r["body"]["model"] for r in self.sim.model_requests()], ["demo"])
        self.assertIn("demo", self.kairo.status()["engine"])

    def test_only_the_owner_may(self):
        self.kairo.config(allowed_users=["guest@im.wechat"])
        self.kairo.start()
        self.assertIn("Only the owner", self.ask("/model other", **{"from": "guest@im.wechat"})[0])

    def test_what_the_environment_sets_stays(self):
        self.kairo.start(env={"KAIRO_MODEL_NAME": "by-environment"})
        self.assertIn("is set in the environment of kairo", self.ask("/model other")[0])


if __name__ == "__main__":
    main()
