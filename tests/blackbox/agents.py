"""Agents that others wrote, driven by the whole daemon: what their makers ship, with a model on
loopback. Needs npm, and a newer Node for some; an agent that cannot be had is skipped.

All of it runs in a network with loopback alone and a scratch home. The settings of each agent are in
its own files there, as its user would have them: the daemon hands it no variable for them."""

import base64
import json
import os
import re
import shutil
import signal

import samples
from alone import go_alone
from fake_model import Model, content, step
from harness import BUILD, HOOKS, PATIENCE, Case, alive, command_of, descendants, main, wait_for
from npm_tools import find_node, install

NODE = (22, 19)
LONG = 3 * PATIENCE


def remembers(token):
    """A model that answers whether what it was sent still holds the token."""
    def say(messages):
        return "It was %s." % token if any(token in content(m) for m in messages[:-1]) else "I do not know."
    return say


class Agent(Case):
    """One agent behind the daemon, with a model. packages and node are set by run()."""

    packages = node = None
    hold_ms = 1000  # a poll that is answered in no time is followed by a pause

    def setUp(self):
        super().setUp()
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
        """The pids of the agent's own processes, the first one that was started ahead."""
        return [pid for pid in descendants(self.kairo.pid()) if (words := command_of(pid)) and self.runs(words)]

    def runs(self, words):
        """Are these the words of a command that runs the agent?"""
        return "acp" in words and "supervise" not in words

    def ask(self, text, parts=1, **more):
        """As Case has it; that an agent is slow on a busy machine is no answer."""
        before = len(self.sim.sent())
        self.sim.inject(text, **more)

        def answer():
            said = [t for t in self.sim.texts()[before:] if not t.startswith("Still working")]
            return len(said) >= parts and said
        return wait_for(answer, "an answer to " + text, LONG)

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
        wait_for(lambda: len(self.model.prompts(word)) >= times, "the model to be asked", LONG)


class Talks:
    """What is wanted of every agent that works with a model."""

    def test_texts_and_thoughts(self):
        self.model.script = {"hello": [step("Hello **there**.", thought="They greet me.")],
                             "again": [step("And again.")]}
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])
        first = self.agents()[0]
        self.assertEqual(self.ask("again"), ["And again."])
        self.assertIn("Hello **there**.", json.dumps(self.model.prompts("again")[0]["messages"]))
        self.assertEqual(self.agents()[0], first)
        self.ask("/new")
        self.ask("hello")
        self.assertNotIn("again", json.dumps(self.model.prompts("hello")[-1]["messages"][-1]))
        self.assertNotIn("And again.", json.dumps(self.model.prompts("hello")[-1]["messages"]))


class Resumes:
    """What is wanted of one that keeps its sessions whatever becomes of it."""

    def test_kills_are_survived_with_the_conversation(self):
        self.model.script = {"token": [step("Noted.")], "recall": [step(remembers("heron-4711"))],
                             "ponder": [step(thought="Hm.", stall=True)]}
        self.kairo.start()
        self.assertEqual(self.ask("the token is heron-4711"), ["Noted."])
        self.kairo.idle()
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not descendants(self.kairo.pid()), "the daemon to know")
        self.assertEqual(self.ask("recall it"), ["It was heron-4711."])
        self.sim.inject("ponder it")
        self.prompted("ponder")
        # One that dies sooner, before it has said a word, is asked once more.
        if HOOKS:
            self.kairo.turn_clock(3000)
        wait_for(lambda: self.kairo.status()["turn"]["age_s"] >= 3, "the turn to have lasted")
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: "ended" in self.sim.texts()[-1], "word of the agent's end")
        self.assertEqual(self.ask("recall it"), ["It was heron-4711."])
        self.kairo.idle()
        pids = self.agents()
        self.kairo.kill()
        wait_for(lambda: not any(alive(p) for p in pids), "the agent to be gone")
        self.kairo.start()
        self.assertEqual(self.ask("recall it"), ["It was heron-4711."])


class Works:
    """What is wanted of one that asks before it acts."""

    denied = refused = "Done."  # after a no some agents go on, some end the turn

    def shell(self, command):
        """The agent's call that runs a command: name and arguments."""
        raise NotImplementedError

    def shown(self, command):
        """The command as the agent shows it when it asks."""
        return command

    def writes(self, path, text):
        """The agent's call that writes a file."""
        raise NotImplementedError

    def test_a_command_is_denied_by_default(self):
        self.model.script = {"labour": [step(tools=[self.shell("touch made-by-agent")]), step("Done.")]}
        self.kairo.start()
        self.assertIn(self.denied, self.ask("labour")[0])
        self.assertFalse(os.path.exists(os.path.join(self.kairo.workspace, "made-by-agent")))

    def test_a_command_is_asked_for_on_the_phone(self):
        command = "echo one && touch 'made by agent'"
        self.kairo.config(policy__shell="ask")
        self.model.script = {"labour": [step(tools=[self.shell(command)]), step("Done.")]}
        made = os.path.join(self.kairo.workspace, "made by agent")
        self.kairo.start()
        self.assertIn(self.shown(command), self.question("labour"))
        self.assertIn(self.refused, self.ask("3")[0])
        self.assertFalse(os.path.exists(made))
        self.kairo.idle()
        self.assertIn(self.shown(command), self.question("labour"))
        self.assertEqual(self.ask("1"), ["Done."])
        self.assertTrue(os.path.exists(made))

    def test_a_file_is_shown_before_it_is_written(self):
        self.kairo.config(policy__write="ask")
        path = os.path.join(self.kairo.workspace, "notes.txt")
        self.model.script = {"labour": [step(tools=[self.writes(path, "first\nsecond\n")]), step("Done.")]}
        self.kairo.start()
        asked = self.question("labour")
        for line in ("path: notes.txt", "| first", "| second"):
            self.assertIn(line, asked)
        self.assertEqual(self.ask("1"), ["Done."])
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "first\nsecond\n")

    def test_stop_in_a_thought_in_a_tool_and_at_a_question(self):
        self.kairo.config(policy__shell="ask")
        self.model.script = {"ponder": [step(thought="Hm, let me see.", stall=True)],
                             "labour": [step(tools=[self.shell("touch running; sleep 600")]), step("Done.")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.sim.inject("ponder")
        self.prompted("ponder")
        first = self.agents()[0]
        self.stops()
        self.question("labour")
        self.stops()
        self.question("labour")
        self.sim.inject("1")
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.workspace, "running")), "the command to run")
        self.stops()
        self.assertEqual(self.agents()[0], first)


class Serves:
    """What is wanted of one that takes MCP servers: it has them in a new session and in one that is
    taken up again."""

    heron = "mcp__birds__heron"  # as it names a tool to its model

    def test_tools_of_an_mcp_server_work_in_new_and_after_a_kill(self):
        self.kairo.config(policy__shell="ask")
        server = os.path.join(self.kairo.workspace, "mcp_server.py")
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.py"), server)
        self.write(os.path.join(self.kairo.home, "mcp.json"), json.dumps({"mcpServers": {"birds": {
            "command": "/usr/bin/python3", "args": ["-B", server], "env": {"HERON": "grey-heron-4711"}}}}))
        os.chmod(os.path.join(self.kairo.home, "mcp.json"), 0o600)
        self.assertIn("mcp        handed to the agent with each session: birds",
                      self.kairo.run("doctor", code=None).out)
        self.model.script = {"listen": [step(tools=[(self.heron, {"word": "reeds"})]),
                                        step(lambda messages: "Got: " + content(messages[-1]))]}
        self.kairo.start()
        for _ in range(2):
            answer = self.ask("listen")[0]
            if "heron" in answer and "Got" not in answer:  # it asks first
                wait_for(lambda: not self.kairo.status()["unsent"], "the question to be accepted")
                answer = self.ask("1")[-1]
            self.assertIn("grey-heron-4711 heard reeds", answer)
            self.kairo.idle()
            self.assertNotIn("grey-heron-4711", self.kairo.log())
            for pid in self.agents():
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not descendants(self.kairo.pid()), "the agent and its server to be gone")


class Carries:
    """What is wanted of one that takes pictures: what the phone sends reaches the model, and what the
    model wants sent reaches the phone."""

    def pictures(self, body):
        """Width and height of the pictures in a request, whatever form its protocol gives them."""
        found = re.findall(r'["," ]((?:iVBORw0KGgo|/9j/)[A-Za-z0-9+/]+=*)"', json.dumps(body))
        return [samples.size(base64.b64decode(data, validate=True)) for data in found]

    def test_files_come_and_go(self):
        self.kairo.config(policy__shell="ask")
        come = os.path.join(self.kairo.home, "media", "*", "*", "report.txt")
        self.model.script = {
            "picture": [step("Seen.")],
            "report": [step(tools=[self.shell("touch seen; cat " + come)]),  # some do not ask to read
                       step(lambda messages: "Got: %s\n[send-file: notes.txt]" % content(messages[-1]))]}
        with open(os.path.join(self.kairo.workspace, "notes.txt"), "w", encoding="utf-8") as f:
            f.write("herons nest here")
        self.kairo.start()
        self.sim.inject_image(samples.png(32, 24))
        self.assertEqual(self.ask("what is that?"), ["Seen."])
        body = self.model.prompts("picture")[0]["body"]
        self.assertEqual(self.pictures(body), [(32, 24)])
        self.assertEqual(json.dumps(body).count("[send-file: PATH]"), 1, "how files are sent is told")
        self.kairo.idle()
        self.sim.inject_file(b"the heron is grey", name="report.txt")
        answer = self.question("and that?")
        self.assertIn("Your permission is needed", answer)
        while "Your permission is needed" in answer:  # some ask for the folder too
            answer = self.question("1")
        self.assertIn("the heron is grey", answer)
        self.assertNotIn("send-file", answer)
        wait_for(self.sim.files, "the file")
        self.assertEqual([d["data"] for d in self.sim.files()], [b"herons nest here"])


def run(name, packages):
    """The program of a test file: its agent is fetched ahead of the network's end, and found again
    inside it."""
    Agent.packages = install(BUILD, name, packages)
    Agent.node = find_node(BUILD, NODE)
    go_alone()
    main()
