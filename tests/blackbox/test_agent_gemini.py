"""Gemini CLI behind the whole daemon."""

import json

from agents import Agent, Serves, Talks, Works, run

PACKAGES = {"@google/gemini-cli": "0.61.0"}


class GeminiCli(Talks, Works, Serves, Agent):
    heron = "mcp_birds_heron"

    def settle(self):
        self.kairo.config(acp__preset="gemini")
        self.write(".gemini/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}))
        self.write(".gemini/trustedFolders.json", json.dumps({self.kairo.workspace: "TRUST_FOLDER"}))
        self.write(".gemini/.env", "GEMINI_API_KEY=x\nGOOGLE_GEMINI_BASE_URL=%s\nGEMINI_MODEL=gemini-2.5-flash\n"
                   % self.model.root)

    def runs(self, words):
        return b"--acp" in words and b"supervise" not in words

    def shell(self, command):
        return "run_shell_command", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "write_file", {"file_path": path, "content": text}


if __name__ == "__main__":
    run("gemini", PACKAGES)
