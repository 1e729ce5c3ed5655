"""Pi behind the whole daemon. It never asks before it acts."""

import json

from agents import Agent, Resumes, Talks, run

PACKAGES = {"pi-acp": "0.0.34", "@earendil-works/pi-coding-agent": "1.6.0"}


class Pi(Talks, Resumes, Agent):
    def settle(self):
        self.kairo.config(acp__preset="pi")
        self.write(".pi/agent/models.json", json.dumps({"providers": {"fake": {
            "baseUrl": self.model.url, "api": "openai-completions", "apiKey": "x",
            "models": [{"id": "fake-1", "name": "fake-1", "reasoning": True, "input": ["text"],
                        "contextWindow": 128000, "maxTokens": 8000,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}))
        self.write(".pi/agent/settings.json", json.dumps({"defaultProvider": "fake", "defaultModel": "fake-1", "quietStartup": True}))

    def runs(self, words):
        return any(word.endswith("pi-acp") for word in words) and "supervise" not in words


if __name__ == "__main__":
    run("pi", PACKAGES)
