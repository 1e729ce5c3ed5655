"""OpenCode behind the whole daemon."""

import json
import os

from agents import Agent, Carries, Resumes, Serves, Talks, Works, run
from fake_model import step

PACKAGES = {"opencode-linux-x64": "1.18.34"}


class OpenCode(Talks, Resumes, Works, Serves, Carries, Agent):
    denied = "not allowed (shell, by the policy: see /policy)"
    refused = "not allowed (you said no)"
    heron = "birds_heron"

    def settle(self):
        program = os.path.join(self.packages, "node_modules", "opencode-linux-x64", "bin")
        self.kairo.env["PATH"] = program + ":" + self.kairo.env["PATH"]
        self.kairo.config(acp__preset="opencode")
        self.write(".config/opencode/opencode.json", json.dumps({
            "model": "fake/fake-1", "permission": {"bash": "ask", "edit": "ask"}, "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": self.model.url, "apiKey": "x"},
                "models": {"fake-1": {"name": "fake-1", "tool_call": True, "reasoning": True, "attachment": True,
                                      "modalities": {"input": ["text", "image"], "output": ["text"]},
                                      "limit": {"context": 128000, "output": 8000}}}}}}))

    def shell(self, command):
        return "bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "write", {"filePath": path, "content": text}

    def test_it_works_as_before_where_a_terminal_is_offered(self):
        """It runs its commands itself, after the same question."""
        self.kairo.config(policy__shell="ask", acp__terminal=True)
        self.model.script = {"labour": [step(tools=[self.shell("touch made")]), step("Done.")]}
        self.kairo.start()
        self.assertIn("touch made", self.question("labour"))
        self.assertEqual(self.ask("1"), ["Done."])
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "made")))

    def test_errors_of_the_model_are_told(self):
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "key": [step(status=401, error="Incorrect API key")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertIn("the request is bad", self.ask("four hundred")[0])
        self.assertIn("Incorrect API key", self.ask("key")[0])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])


if __name__ == "__main__":
    run("opencode", PACKAGES)
