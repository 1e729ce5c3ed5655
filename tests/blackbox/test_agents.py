"""Agents that others wrote, driven by the whole daemon: what their makers ship, with a model on
loopback. Needs npm, and for Kimi Code a newer Node; an agent that cannot be had is skipped by name.

All of it runs in a network with loopback alone and a scratch home. The settings of each agent are in
its own files there, as its user would have them: the daemon hands it no variable for them."""

import json
import os
import signal
import unittest

from alone import go_alone
from fake_model import Model, content, step
from harness import BUILD, Case, alive, descendants, main, wait_for
from npm_tools import Skipped, find_node, install

KIMI = {"@moonshot-ai/kimi-code": "2.1.0"}
OPENCODE = {"opencode-linux-x64": "1.18.34"}
SDK = {"@agentclientprotocol/sdk": "0.26.0", "zod": "^3.25.0"}  # the last one with its example agent
NODE = (22, 19)

# Of each agent: its folder of packages and the node that runs it, or why it cannot be had.
HAD = {}


def fetch():
    """Ahead of the network's end; again inside it, where only what is kept is found."""
    for name, packages in (("kimi", KIMI), ("opencode", OPENCODE), ("acp-sdk", SDK)):
        try:
            HAD[name] = (install(BUILD, name, packages), find_node(BUILD, NODE))
        except Skipped as why:
            HAD[name] = why.reason


def remembers(token):
    """A model that answers whether what it was sent still holds the token."""
    def say(messages):
        return "It was %s." % token if any(token in content(m) for m in messages[:-1]) else "I do not know."
    return say


class Agent(Case):
    """One agent behind the daemon, with a model."""

    agent = None

    def setUp(self):
        if isinstance(HAD[self.agent], str):
            self.skipTest("%s: %s" % (self.agent, HAD[self.agent]))
        super().setUp()
        self.packages, self.node = HAD[self.agent]
        self.model = Model()
        self.addCleanup(self.model.close)
        bins = os.path.join(self.packages, "node_modules", ".bin")
        self.kairo.env["PATH"] = ":".join([bins, os.path.dirname(self.node), "/usr/bin", "/bin"])
        # Where they are in a folder for temporary files the agent would not see them.
        self.kairo.config(engine="acp", language="en", acp__write=[os.path.join(BUILD, "npm")])
        self.settle()

    def settle(self):
        """The agent's own settings and the daemon's of it."""
        raise NotImplementedError

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def agents(self):
        """The pids of the agent's own processes."""
        found = []
        for pid in descendants(self.kairo.pid()):
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
            if self.runs(words):
                found.append(pid)
        return found

    def runs(self, words):
        """Are these the words of a command that runs the agent?"""
        return b"acp" in words and b"supervise" not in words

    def question(self, text):
        """Ask what makes the agent put a question; the question's text, once it can be answered."""
        asked = self.ask(text)[0]
        wait_for(lambda: not self.kairo.status()["unsent"], "the question to be accepted")
        return asked

    def stops(self):
        """/stop is obeyed, and the next message is answered in the same conversation."""
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.kairo.idle()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])

    def prompted(self, word, times=1):
        wait_for(lambda: len(self.model.prompts(word)) >= times, "the model to be asked")


class Coding:
    """What is wanted of every agent that works with a model."""

    denied = refused = "Done."  # after a no some agents go on, some end the turn

    def shell(self, command):
        """The agent's call that runs a command: name and arguments."""
        raise NotImplementedError

    def writes(self, path, text):
        """The agent's call that writes a file."""
        raise NotImplementedError

    def test_texts_and_thoughts(self):
        self.model.script = {"hello": [step("Hello **there**.", thought="They greet me.")],
                             "again": [step("And again.")]}
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        self.assertEqual(self.ask("again"), ["And again."])
        self.assertIn("Hello **there**.", json.dumps(self.model.prompts("again")[0]["messages"]))
        self.assertEqual(len(self.agents()), 1)
        self.ask("/new")
        self.ask("hello")
        self.assertNotIn("again", json.dumps(self.model.prompts("hello")[-1]["messages"][-1]))
        self.assertNotIn("And again.", json.dumps(self.model.prompts("hello")[-1]["messages"]))

    def test_a_command_is_denied_by_default(self):
        self.model.script = {"work": [step(tools=[self.shell("touch made-by-agent")]), step("Done.")]}
        self.kairo.start()
        self.assertIn(self.denied, self.ask("work")[0])
        self.assertFalse(os.path.exists(os.path.join(self.kairo.workspace, "made-by-agent")))

    def test_a_command_is_asked_for_on_the_phone(self):
        command = "echo one && touch 'made by agent'"
        self.kairo.config(policy__shell="ask")
        self.model.script = {"work": [step(tools=[self.shell(command)]), step("Done.")]}
        made = os.path.join(self.kairo.workspace, "made by agent")
        self.kairo.start()
        self.assertIn(command, self.question("work"))
        self.assertIn(self.refused, self.ask("3")[0])
        self.assertFalse(os.path.exists(made))
        self.kairo.idle()
        self.assertIn(command, self.question("work"))
        self.assertEqual(self.ask("1"), ["Done."])
        self.assertTrue(os.path.exists(made))

    def test_a_file_is_shown_before_it_is_written(self):
        self.kairo.config(policy__write="ask")
        path = os.path.join(self.kairo.workspace, "notes.txt")
        self.model.script = {"work": [step(tools=[self.writes(path, "first\nsecond\n")]), step("Done.")]}
        self.kairo.start()
        asked = self.question("work")
        for line in ("path: notes.txt", "| first", "| second"):
            self.assertIn(line, asked)
        self.assertEqual(self.ask("1"), ["Done."])
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "first\nsecond\n")

    def test_stop_in_a_thought_in_a_tool_and_at_a_question(self):
        self.kairo.config(policy__shell="ask")
        self.model.script = {"think": [step(thought="Hm, let me see.", stall=True)],
                             "work": [step(tools=[self.shell("touch running; sleep 600")]), step("Done.")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.sim.inject("think")
        self.prompted("think")
        self.stops()
        self.question("work")
        self.stops()
        self.question("work")
        self.sim.inject("1")
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.workspace, "running")), "the command to run")
        self.stops()
        self.assertEqual(len(self.agents()), 1)

    def test_kills_are_survived_with_the_conversation(self):
        self.model.script = {"token": [step("Noted.")], "which": [step(remembers("heron-4711"))],
                             "think": [step(thought="Hm.", stall=True)]}
        self.kairo.start()
        self.assertEqual(self.ask("the token is heron-4711"), ["Noted."])
        self.kairo.idle()
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.ask("which was it?"), ["It was heron-4711."])
        self.sim.inject("think about it")
        self.prompted("think")
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: "ended" in self.sim.texts()[-1], "word of the agent's end")
        self.assertEqual(self.ask("which was it?"), ["It was heron-4711."])
        self.kairo.idle()
        pids = self.agents()
        self.kairo.kill()
        wait_for(lambda: not any(alive(p) for p in pids), "the agent to be gone")
        self.kairo.start()
        self.assertEqual(self.ask("which was it?"), ["It was heron-4711."])


class KimiCode(Coding, Agent):
    agent = "kimi"

    def settle(self):
        self.kairo.config(acp__preset="kimi")
        self.write(".kimi-code/config.toml", "\n".join([
            'default_model = "fake"', "telemetry = false",
            "[providers.fake]", 'type = "openai"', 'base_url = "%s"' % self.model.url, 'api_key = "x"',
            "[models.fake]", 'provider = "fake"', 'model = "fake-1"', "max_context_size = 128000",
            'capabilities = ["thinking","tool_use","image_in"]', ""]))

    def runs(self, words):
        return words[0] in (b"kimi", b"kimi-code") or (b"acp" in words and b"supervise" not in words)

    def shell(self, command):
        return "Bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "Write", {"path": path, "content": text}

    def test_a_question_is_answered(self):
        questions = [{"question": "Which colour?", "header": "Colour", "multi_select": False,
                      "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]}]
        self.model.script = {"choose": [step(tools=[("AskUserQuestion", {"questions": questions})]),
                                        step(lambda messages: "Got: " + content(messages[-1]))]}
        self.kairo.start()
        asked = self.question("choose")
        for word in ("Which colour?", "red", "blue"):
            self.assertIn(word, asked)
        self.assertIn("blue", self.ask("2")[-1])

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

    def test_an_agent_without_a_login_is_told(self):
        os.remove(os.path.join(self.folder, ".kimi-code", "config.toml"))
        os.rmdir(os.path.join(self.folder, ".kimi-code"))
        self.kairo.start()
        self.assertIn("kimi --login", self.ask("hello")[0])


class OpenCode(Coding, Agent):
    agent = "opencode"
    denied = "not allowed (shell, by the policy: see /policy)"
    refused = "not allowed (you said no)"

    def settle(self):
        program = os.path.join(self.packages, "node_modules", "opencode-linux-x64", "bin")
        self.kairo.env["PATH"] = program + ":" + self.kairo.env["PATH"]
        self.kairo.config(acp__preset="opencode")
        self.write(".config/opencode/opencode.json", json.dumps({
            "model": "fake/fake-1", "permission": {"bash": "ask", "edit": "ask"}, "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": self.model.url, "apiKey": "x"},
                "models": {"fake-1": {"name": "fake-1", "tool_call": True, "reasoning": True,
                                      "limit": {"context": 128000, "output": 8000}}}}}}))

    def shell(self, command):
        return "bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "write", {"filePath": path, "content": text}

    def test_errors_of_the_model_are_told(self):
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "key": [step(status=401, error="Incorrect API key")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertIn("the request is bad", self.ask("four hundred")[0])
        self.assertIn("Incorrect API key", self.ask("key")[0])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])


class Example(Agent):
    """The example of the protocol's own library: five seconds of canned work with one permission."""

    agent = "acp-sdk"

    def settle(self):
        example = os.path.join(self.packages, "node_modules", "@agentclientprotocol", "sdk", "dist", "examples",
                               "agent.js")
        self.kairo.config(acp__command=[self.node, example])

    def runs(self, words):
        return words[0] == self.node.encode()

    def test_its_edit_is_denied_and_the_work_goes_on(self):
        self.kairo.start()
        self.assertIn("understand", self.ask("hello")[-1])

    def test_it_is_stopped_at_its_question(self):
        self.kairo.config(policy__write="ask")
        self.kairo.start()
        self.question("hello")
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.kairo.idle()
        self.assertEqual(len(self.agents()), 1)


if __name__ == "__main__":
    fetch()
    if not any(isinstance(had, tuple) for had in HAD.values()):
        raise Skipped("no agent can be had")
    go_alone()
    main()
