"""Pi behind the whole daemon."""

import json

from agents import Agent, Coding, run

PACKAGES = {"pi-acp": "0.0.34", "@earendil-works/pi-coding-agent": "1.6.0"}


class Pi(Coding, Agent):
    def settle(self):
        self.kairo.config(acp__preset="pi")
        self.write(".pi/agent/models.json", json.dumps({"providers": {"fake": {
            "baseUrl": self.model.url, "api": "openai-completions", "apiKey": "x",
            "models": [{"id": "fake-1", "name": "fake-1", "reasoning": True, "input": ["text"],
                        "contextWindow": 128000, "maxTokens": 8000,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}))
        self.write(".pi/agent/settings.json", json.dumps({"defaultProvider": "fake", "defaultModel": "fake-1"}))

    def runs(self, words):
        return any(word.endswith(b"pi-acp") for word in words) and b"supervise" not in words

    def shell(self, command):
        return "bash", {"command": command}

    def writes(self, path, text):
        return "write", {"path": path, "content": text}


if __name__ == "__main__":
    run("pi", PACKAGES)
