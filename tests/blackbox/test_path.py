"""The whole path: a message from the phone is answered."""

import os
import signal

from harness import Case, main, wait_for


class Path(Case):
    def test_a_message_is_answered(self):
        self.kairo.start()
        answer = self.ask("hello")
        self.assertIn("demo", " ".join(answer).lower())
        s = self.kairo.idle()
        self.assertEqual(s["state"], "running")
        self.assertEqual(s["handled"], 1)
        # The place in the stream is kept a moment after its messages, and a poll is good from then on.
        link = wait_for(lambda: self.kairo.status()["link"]["state"] == "up" and self.kairo.status()["link"], "a good poll")
        self.assertGreater(link["last_good_poll"], 0)
        self.sim.wait("typing_stop")
        self.kairo.stop()
        self.assertEqual(self.sim.counts()["notifystart"], 1)
        self.assertEqual(self.sim.counts()["notifystop"], 1)

    def test_a_tool_changes_the_workspace_and_the_answer_says_so(self):
        self.kairo.start()
        self.sim.script(
            {"tool_calls": [{"name": "write_file", "arguments": {"path": "note.txt", "content": "买米\n"}}]},
            {"text": "written"})
        self.assertEqual(self.ask("please write a note"), ["written"])
        with open(os.path.join(self.kairo.workspace, "note.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "买米\n")

    def test_a_second_message_sees_the_first(self):
        self.kairo.start()
        self.sim.script({"text": "one"}, {"text": "two"})
        self.assertEqual(self.ask("my name is Li"), ["one"])
        self.assertEqual(self.ask("what is my name?"), ["two"])
        said = [(m["role"], m["content"]) for m in self.sim.model_requests()[-1]["body"]["messages"]
                if m["role"] != "system"]
        self.assertEqual(said, [("user", "my name is Li"), ("assistant", "one"), ("user", "what is my name?")])

    def test_the_history_outlives_a_restart(self):
        self.kairo.start()
        self.sim.script({"text": "one"}, {"text": "two"})
        self.ask("first")
        self.kairo.idle()
        self.kairo.run("restart")
        self.ask("second")
        texts = [m.get("content") for m in self.sim.model_requests()[-1]["body"]["messages"]]
        self.assertIn("first", texts)
        self.assertIn("one", texts)

    def test_it_runs_in_the_foreground_too(self):
        p = self.kairo.popen("run")
        self.sim.script({"text": "from the foreground"})
        self.assertEqual(self.ask("hi"), ["from the foreground"])
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(30), 0)


if __name__ == "__main__":
    main()
