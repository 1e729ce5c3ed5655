"""Claude Code behind the whole daemon, through the adapter of the protocol's makers."""

import json

from agents import Agent, Serves, Talks, Works, run

PACKAGES = {"@agentclientprotocol/claude-agent-acp": "0.49.0"}


class ClaudeCode(Talks, Works, Serves, Agent):
    def settle(self):
        self.kairo.config(acp__preset="claude")
        self.kairo.env["ANTHROPIC_API_KEY"] = "x"
        self.write(".claude/settings.json", json.dumps({"env": {"ANTHROPIC_BASE_URL": self.model.root}}))

    def runs(self, words):
        return any(word.endswith(b"claude-agent-acp") for word in words) and b"supervise" not in words

    def shell(self, command):
        return "Bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "Write", {"file_path": path, "content": text}


if __name__ == "__main__":
    run("claude", PACKAGES)
