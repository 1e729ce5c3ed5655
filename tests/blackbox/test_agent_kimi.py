"""Kimi Code behind the whole daemon."""

import os
import signal
import threading

from agents import Carries, Resumes, Serves, Talks, Works, run
from fake_model import content, step
from harness import wait_for
from kimi import PACKAGES, Kimi


class KimiCode(Kimi, Talks, Resumes, Works, Serves, Carries):
    def test_a_question_is_answered(self):
        self.model.script = {"choose": [step(tools=[("AskUserQuestion", self.questions())]),
                                        step(lambda messages: "Got: " + content(messages[-1]))]}
        self.kairo.start()
        asked = self.question("choose")
        for word in ("Which colour?", "red", "blue"):
            self.assertIn(word, asked)
        self.assertIn("blue", self.ask("2")[-1])

    def test_its_models_modes_and_sessions_are_at_hand(self):
        path = os.path.join(self.folder, ".kimi-code", "config.toml")
        with open(path, encoding="utf-8") as f:
            kept = f.read()
        self.write(".kimi-code/config.toml", kept + "\n".join([
            'support_efforts = ["low","high"]', 'default_effort = "high"', "[models.other]", 'provider = "fake"',
            'model = "other-1"', "max_context_size = 128000", 'capabilities = ["tool_use"]', ""]))
        self.model.script = {"hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertRegex(self.ask("/model")[0], r"fake[^\n]* \(in use\)\n.*other")
        self.assertRegex(self.ask("/effort")[0], r"high[^\n]* \(in use\)")
        self.assertEqual(self.ask("/effort low"), ["The effort is now low."])
        self.assertEqual(self.ask("/mode plan"), ["The mode is now plan."])
        self.assertEqual(self.ask("/mode off"), ["The mode is now default."])
        self.assertIn("That is not offered", self.ask("/model none")[0])
        self.ask("hello")
        self.assertIn("hello", self.ask("/sessions")[0])
        self.assertIn("Back in this session", self.ask("/open 1")[0])
        self.assertIn("the agent does not tell", self.ask("/usage")[0])

    def test_the_operators_words_are_its_own_instructions_in_the_workspace_of_kairo(self):
        own = os.path.join(self.folder, "kairo")
        os.mkdir(own)
        self.kairo.config(workspace=own, model__system_prompt="Think of the heron.")
        self.model.script = {"hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        system, *rest = self.model.prompts("hello")[0]["messages"]
        self.assertIn("Think of the heron.", content(system))
        self.assertNotIn("${", content(system))
        self.assertGreater(len(content(system)), 1000)  # its makers' words are still there
        self.assertNotIn("heron", str(rest))

    def test_its_commands_run_in_our_sandbox_where_that_is_offered(self):
        self.kairo.config(policy__shell="ask", acp__terminal=True)
        home = os.path.join(self.folder, ".kimi-code", "config.toml")
        command = "echo heron; test -e %s && echo home; touch made" % home
        self.model.script = {"labour": [step(tools=[self.shell(command)]),
                                        step(lambda messages: "Got: " + content(messages[-1]))]}
        self.kairo.start()
        self.assertIn(command, self.question("labour"))
        answer = self.ask("1")[-1]
        self.assertIn("heron", answer)
        self.assertNotIn("home", answer)
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "made")))
        self.assertIn("shell", self.kairo.run("audit").out)

    def test_a_change_of_a_part_is_asked_for_once(self):
        self.kairo.config(policy__write="ask")
        path = os.path.join(self.kairo.workspace, "notes.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("one\ntwo\nthree\n")
        self.model.script = {"labour": [step(tools=[("Read", {"path": path})]),
                                        step(tools=[("Edit", {"path": path, "old_string": "two", "new_string": "2"})]),
                                        step("Done.")]}
        self.kairo.start()
        asked = self.question("labour")
        self.assertIn("-two", asked)
        self.assertIn("+2", asked)
        self.assertEqual(self.ask("1"), ["Done."])
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "one\n2\nthree\n")

    def test_doctor_lets_it_answer(self):
        self.model.script = {"Reply with OK": [step("OK")]}
        out = self.kairo.run("doctor", "--engine", code=None).out
        self.assertRegex(out, r"ok +agent +Kimi Code, .*, version .*2\.1\.0")
        self.assertRegex(out, r"ok +engine .*\(Kimi Code CLI 2\.1\.0\) is logged in and answers after [0-9.]+ s: OK")

    def test_errors_of_the_model_are_told(self):
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "key": [step(status=401, error="Incorrect API key")],
                             "too many": [step(status=429, error="slow down")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertIn("gave no answer", self.ask("four hundred")[0])
        self.assertIn("401 Incorrect API key", self.ask("key")[0])
        self.sim.inject("too many")
        self.prompted("too many", 2)  # it tries again by itself
        self.stops()

    def background(self, command):
        """The call that begins a command in the background."""
        return "Bash", {"command": command, "description": "Counts the herons", "run_in_background": True}

    def with_hooks(self):
        self.assertIn("is installed", self.kairo.run("hooks", "install").out)
        self.kairo.start()

    def begin_in_background(self, key, review):
        """Begin a command that ends when the file "go" appears; the model's words of its end."""
        self.model.script = {key: [step(tools=[self.background("until [ -e go ]; do sleep 0.1; done; echo 7 herons")]),
                                   step("It runs.")],
                             "<notification": review, "hello": [step("Hello **there**.")]}

    def go_on(self):
        with open(os.path.join(self.kairo.workspace, "go"), "w", encoding="utf-8"):
            pass

    def test_background_work_reaches_the_phone_once(self):
        self.kairo.config(policy__shell="ask")
        self.begin_in_background("count", [step("There are seven herons.")])
        self.with_hooks()
        self.question("count")
        self.assertEqual(self.ask("1"), ["It runs."])
        wait_for(lambda: "1 background task" in self.kairo.status()["engine"], "the task to be known")
        self.assertEqual([(j["what"], j["state"]) for j in self.kairo.status()["background"]], [("Counts the herons", "running")])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        seen = len(self.sim.texts())
        self.go_on()
        wait_for(lambda: len(self.sim.texts()) > seen, "word of its end")
        self.assertEqual(self.sim.texts()[seen:],
                         ["Background task finished: Counts the herons\n\nThere are seven herons."])
        wait_for(lambda: "background" not in self.kairo.status()["engine"], "nothing to be left")
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        self.assertEqual(len([t for t in self.sim.texts() if "herons" in t]), 2)

    def held_review(self):
        """What a model says of a result; it has been asked; it may say so."""
        looks, may_end = threading.Event(), threading.Event()
        self.addCleanup(may_end.set)

        def review(_):
            looks.set()
            may_end.wait()
            return "There are seven herons."
        return review, looks, may_end

    def test_a_prompt_waits_while_a_result_is_looked_at(self):
        review, looks, may_end = self.held_review()
        self.kairo.config(policy__shell="ask")
        self.begin_in_background("count", [step(review)])
        self.with_hooks()
        self.question("count")
        self.assertEqual(self.ask("1"), ["It runs."])
        seen = len(self.sim.texts())
        self.go_on()
        wait_for(looks.is_set, "the model to be asked")
        wait_for(lambda: "background work ends" in self.kairo.status()["engine"], "the hook to be heard")
        self.sim.inject("hello")
        wait_for(lambda: self.kairo.status()["turn"], "the message to be taken up")
        self.assertEqual(self.model.prompts("hello"), [])
        may_end.set()
        self.sim.wait("sent", seen + 2)
        self.assertEqual(self.sim.texts()[seen:],
                         ["Background task finished: Counts the herons\n\nThere are seven herons.",
                          "Hello **there**."])

    def test_without_hooks_a_swallowed_prompt_is_answered_all_the_same(self):
        review, looks, may_end = self.held_review()
        self.kairo.config(policy__shell="ask", acp__hooks="off")
        self.begin_in_background("count", [step(review)])
        self.kairo.start()
        self.question("count")
        self.assertEqual(self.ask("1"), ["It runs."])
        seen = len(self.sim.texts())
        self.go_on()
        wait_for(looks.is_set, "the model to be asked")
        self.sim.inject("hello")
        wait_for(lambda: "prompting -> seeking" in self.kairo.log(), "the prompt to be swallowed")
        may_end.set()
        self.sim.wait("sent", seen + 1)
        self.assertEqual(self.sim.texts()[seen:], ["Hello **there**."])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])

    def compresses(self):
        """Let the model take its time over the summary of a compression: when it began, and its leave."""
        begun, may_end = threading.Event(), threading.Event()
        self.addCleanup(may_end.set)

        def summary(_):
            begun.set()
            may_end.wait()
            return "They have greeted each other."
        self.model.script = {"handoff summary": [step(summary)], "hello": [step("Hello **there**.")],
                             "recall": [step("I do.")]}
        return begun, may_end

    def test_compressing_is_over_when_it_is_and_what_is_sent_meanwhile_is_answered(self):
        begun, may_end = self.compresses()
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        self.sim.inject("/compact")
        wait_for(begun.is_set, "the model to be asked")
        self.sim.inject("recall")
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == 1, "the message to wait")
        may_end.set()
        self.sim.wait("sent", 3)
        told, answer = self.sim.texts()[1:]
        self.assertIn("Compaction completed.", told)
        self.assertEqual(answer, "I do.")

    def test_a_prompt_waits_for_a_compression_that_was_stopped(self):
        begun, may_end = self.compresses()
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        self.sim.inject("/compact")
        wait_for(begun.is_set, "the model to be asked")
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.kairo.idle()
        self.sim.inject("recall")
        wait_for(lambda: self.kairo.status()["turn"], "the message to be taken up")
        self.assertEqual(self.model.prompts("recall"), [])
        may_end.set()
        wait_for(lambda: self.sim.texts()[-1] == "I do.", "the answer")

    def test_its_end_takes_background_work_with_it_and_that_is_told(self):
        self.kairo.config(policy__shell="ask")
        self.begin_in_background("count", [step("There are seven herons.")])
        self.with_hooks()
        self.question("count")
        self.assertEqual(self.ask("1"), ["It runs."])
        wait_for(lambda: "1 background task" in self.kairo.status()["engine"], "the task to be known")
        seen = len(self.sim.texts())
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        self.sim.wait("sent", seen + 1)
        self.assertEqual(self.sim.texts()[seen:],
                         ["The agent has ended, and its background task with it: Counts the herons"])

    def test_hooks_tell_why_the_model_has_failed(self):
        path = os.path.join(self.folder, ".kimi-code", "config.toml")
        with open(path, encoding="utf-8") as f:
            kept = f.read()
        self.write(".kimi-code/config.toml", kept + "\n[loop_control]\nmax_attempts_per_step = 1\n")
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "too many": [step(status=429, error="slow down")],
                             "hello": [step("Hello **there**.")]}
        self.with_hooks()
        self.assertIn("400 the request is bad", self.ask("four hundred")[0])
        self.assertIn("429 slow down", self.ask("too many")[0])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])

    def test_an_agent_without_a_login_is_told(self):
        os.remove(os.path.join(self.folder, ".kimi-code", "config.toml"))
        os.rmdir(os.path.join(self.folder, ".kimi-code"))
        self.kairo.start()
        self.assertIn("kimi --login", self.ask("hello")[0])


if __name__ == "__main__":
    run("kimi", PACKAGES)
