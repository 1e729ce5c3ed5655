"""Qwen Code behind the whole daemon."""

import json

from agents import Agent, Works, run

PACKAGES = {"@qwen-code/qwen-code": "0.24.4"}


class QwenCode(Works, Agent):
    denied = "not allowed (shell, by the policy: see /policy)"
    refused = "not allowed (you said no)"

    def runs(self, words):
        return "--acp" in words and "supervise" not in words

    def settle(self):
        self.kairo.config(acp__preset="qwen")
        self.write(".qwen/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "openai"}}, "model": {"name": "fake-1"},
            "tools": {"approvalMode": "default"}, "general": {"disableAutoUpdate": True},
            "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False}}))
        self.write(".qwen/.env", "OPENAI_API_KEY=x\nOPENAI_BASE_URL=%s\nOPENAI_MODEL=fake-1\n" % self.model.url)

    def shell(self, command):
        return "run_shell_command", {"command": command, "description": "Does it", "is_background": False}

    def writes(self, path, text):
        return "write_file", {"file_path": path, "content": text}


if __name__ == "__main__":
    run("qwen", PACKAGES)
