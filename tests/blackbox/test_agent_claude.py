"""Claude Code behind the whole daemon, through the adapter of the protocol's makers."""

import json

from agents import Agent, Carries, Resumes, Serves, Talks, Works, run
from fake_model import step

PACKAGES = {"@agentclientprotocol/claude-agent-acp": "0.49.0"}


class ClaudeCode(Talks, Resumes, Works, Serves, Carries, Agent):
    def settle(self):
        self.kairo.config(acp__preset="claude")
        self.kairo.env["ANTHROPIC_API_KEY"] = "x"
        self.write(".claude/settings.json", json.dumps({"env": {"ANTHROPIC_BASE_URL": self.model.root}}))

    def runs(self, words):
        return any(word.endswith("claude-agent-acp") for word in words) and "supervise" not in words

    def shell(self, command):
        return "Bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "Write", {"file_path": path, "content": text}

    def test_an_agent_without_a_login_is_told(self):
        del self.kairo.env["ANTHROPIC_API_KEY"]
        self.kairo.start()
        self.assertIn("claude, then /login", self.ask("hello")[0])

    def test_errors_of_the_model_are_told(self):
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertIn("the request is bad", self.ask("four hundred")[0])
        self.kairo.idle()
        self.assertEqual(self.ask("hello"), ["Hello **there**."])


if __name__ == "__main__":
    run("claude", PACKAGES)
