"""Commands on the phone while idle, running, paused and full; what never reaches the model."""

import os
import re

from harness import Case, main, needs_hooks, stalled, wait_for

COMMANDS = ("/help", "/status", "/queue", "/more", "/retry")


class Commands(Case):
    brisk = True

    def setUp(self):
        super().setUp()
        self.kairo.start()

    def run_long(self):
        """A turn that has begun and does not end by itself."""
        self.sim.script(stalled(), {"text": "next"}, repeat=True)
        before = self.sim.counts()["model_requests"]
        self.sim.inject("long work")
        self.sim.wait("model_requests", before + 1)
        wait_for(lambda: self.kairo.status()["turn"], "the turn to run")

    def waiting(self, n):
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == n, "%d waiting messages" % n)

    def test_each_answers_while_idle(self):
        for command in COMMANDS + ("/pause", "/resume", "/stop", "/clear", "/new"):
            self.assertTrue(self.ask(command)[0], command)
        self.assertEqual(self.sim.model_requests(), [])

    def test_each_answers_at_once_while_a_task_runs(self):
        self.run_long()
        for command in COMMANDS:
            self.assertTrue(self.ask(command)[0], command)
        self.assertIn("/stop", self.ask("/status")[0])
        self.assertIsNotNone(self.kairo.status()["turn"])

    def test_spelling(self):
        first = self.ask("/help")[0]
        for text in (" /help ", "／help", "/HELP", "\n/help\n"):
            self.assertEqual(self.ask(text)[0], first, text)
        self.assertIn("/停止", self.ask("／帮助")[0])
        self.assertEqual(self.sim.model_requests(), [])

    def test_an_unknown_one_is_answered_here(self):
        self.assertIn("/nosuch", self.ask("/nosuch thing")[0])
        self.assertIn("/help", self.ask("/rm -rf /")[0])
        self.assertEqual(self.sim.model_requests(), [])

    def test_stop_ends_a_model_that_stalls(self):
        self.run_long()
        answer = self.ask("/stop")
        self.assertEqual(answer[0], "Stopped: long work\nNothing is waiting.")
        self.sim.wait("model_cut", 1)
        self.idle()
        self.assertEqual(self.sim.texts()[-1], answer[0])
        self.assertFalse(any("begun" in t for t in self.sim.texts()))

    def test_stop_says_how_many_wait_and_they_go_on(self):
        self.run_long()
        self.sim.inject("second")
        self.sim.inject("third")
        self.waiting(2)
        self.assertRegex(self.ask("/stop")[0], "^Stopped: long work\n2 still waiting ")
        self.idle()
        self.assertEqual(self.sim.texts()[1:], ["next", "next"])

    def test_stop_all_drops_them_too(self):
        self.run_long()
        self.sim.inject("second")
        self.sim.inject("third")
        self.waiting(2)
        self.assertIn("2 waiting", self.ask("/stop all")[0])
        self.idle()
        self.assertEqual(len(self.sim.texts()), 1)
        self.assertEqual(len(self.sim.model_requests()), 1)

    def test_stop_while_the_model_trickles(self):
        self.sim.script({"text": "word " * 400, "chunk": 5, "delay_ms": 50})
        self.sim.inject("talk")
        self.sim.wait("model_open", 1)
        self.assertIn("Stopped", self.ask("/stop")[0])
        self.sim.wait("model_cut", 1)
        self.idle()
        self.assertEqual(len(self.sim.texts()), 1)

    def test_a_stopped_task_can_be_run_again(self):
        self.sim.script(stalled(), {"text": "whole"})
        self.sim.inject("work")
        self.sim.wait("model_open", 1)
        self.ask("/stop")
        self.ask("/retry")
        self.idle()
        self.assertEqual(self.sim.texts()[-1], "whole")

    def test_pause_keeps_messages_and_outlives_a_restart(self):
        self.sim.script({"text": "done"}, repeat=True)
        self.ask("/pause")
        self.sim.inject("kept")
        self.waiting(1)
        self.kairo.run("restart")
        s = self.kairo.status()
        self.assertTrue(s["paused"])
        self.assertEqual(s["queue"]["waiting"], 1)
        self.assertEqual(self.sim.model_requests(), [])
        self.ask("/resume", parts=2)
        self.assertEqual(self.sim.texts()[-1], "done")
        self.assertFalse(self.kairo.status()["paused"])

    def test_queue_drop_and_clear(self):
        self.ask("/pause")
        for text in ("alpha", "beta", "gamma"):
            self.sim.inject(text)
        self.waiting(3)
        listed = self.ask("/queue")[0]
        for text in ("alpha", "beta", "gamma"):
            self.assertIn(text, listed)
        self.assertIn("beta", self.ask("/queue drop 2")[0])
        self.assertNotIn("beta", self.ask("/queue")[0])
        self.assertIn("2", self.ask("/clear")[0])
        self.waiting(0)

    def test_new_forgets_the_conversation(self):
        self.sim.script({"text": "one"}, {"text": "two"})
        self.ask("first")
        self.ask("/new")
        self.ask("second")
        texts = [m.get("content") for m in self.sim.model_requests()[-1]["body"]["messages"]]
        self.assertNotIn("first", texts)
        self.assertIn("second", texts)

    def test_a_full_queue_says_not_taken_and_commands_still_work(self):
        self.kairo.config(queue_limit=3)
        self.kairo.run("restart")
        self.run_long()
        self.sim.inject("wait {n}", count=3)
        self.waiting(3)
        self.assertIn("not taken", self.ask("one too many")[0])
        for command in COMMANDS:
            self.assertTrue(self.ask(command)[0])
        self.assertIn("3 of 3", self.ask("/status")[0])
        self.assertIn("Stopped", self.ask("/stop all")[0])
        self.waiting(0)
        self.idle()

    def test_chinese_is_answered_in_chinese(self):
        self.sim.inject("你好，请帮我看看")
        self.sim.wait("sent", 1)
        self.idle()
        self.assertIn("空闲", self.ask("/状态")[0])
        self.assertIn("没有正在做的任务", self.ask("/停止")[0])

    @needs_hooks  # the words are the same in any build, and twenty sends take their time
    def test_no_sentence_stays_in_the_other_language(self):
        """With all on that is warned of, and without a model."""
        self.kairo.config(language="zh", network__allow_fake_ip=True, policy__shell="allowlist",
                          policy__shell_allow=["[network] git fetch"], policy__tools=["web_fetch=allow", "files.*=allow"])
        with open(os.path.join(self.kairo.dir, "config.toml")) as f:
            text = f.read()
        with open(os.path.join(self.kairo.dir, "config.toml"), "w") as f:
            f.write(text.replace('name = "demo"', ""))
        self.kairo.run("restart")
        english = r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}"
        for command in ("/help", "/status", "/policy", "/model", "/sessions", "/usage", "/queue", "/retry", "/more"):
            shown = self.ask(command)[0].replace("kairo config set", "")
            self.assertNotRegex(shown, english, command)
        for word in ("还没有设置模型：", "allow_loopback 开着", "allow_fake_ip 开着", "允许 web_fetch", "允许 files.*", '"git fetch" 用网络'):
            self.assertIn(word, self.ask("/status")[0])
        self.kairo.config(language="en")
        self.kairo.run("restart")
        for command in ("/help", "/status", "/policy", "/model", "/sessions", "/usage", "/queue", "/retry", "/more"):
            self.assertNotRegex(self.ask(command)[0], "[\u3000-\u9fff\uff00-\uffef]", command)
        shown = self.ask("/status")[0]
        for word in ("no model is set up", "allow_loopback is on", "allow_fake_ip is on", "allows web_fetch for any address",
                     "allows files.*: whatever", 'the network to "git fetch"'):
            self.assertIn(word, shown)


class Burst(Case):
    def test_thirty_messages_with_a_limit_of_twenty_and_five_strangers(self):
        self.kairo.config(queue_limit=20)
        self.sim.script({"text": "ok"}, repeat=True)
        self.kairo.start()
        self.ask("/pause")
        self.sim.inject("a {n}", count=12)
        self.sim.inject("/status", **{"from": "stranger@im.wechat"})
        self.sim.inject("let me in {n}", count=4, **{"from": "stranger@im.wechat"})
        self.sim.inject("b {n}", count=13)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 20, "twenty to be taken")
        wait_for(lambda: sum(int(n) for t in self.sim.texts() for n in re.findall(r"(\d+) message\(s\) were not taken", t)) == 5,
                 "each of the other five to be told of")
        self.sim.inject("/resume")
        self.kairo.idle()
        asked = [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]
        self.assertEqual(asked, ["a %d" % n for n in range(1, 13)] + ["b %d" % n for n in range(1, 9)])
        self.assertEqual([d for d in self.sim.sent(all=1) if d["to"] == "stranger@im.wechat"], [])
        log = self.kairo.log()
        self.assertIn("stranger@im.wechat", log)
        self.assertNotIn("let me in", log)


if __name__ == "__main__":
    main()
