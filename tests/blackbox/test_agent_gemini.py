"""Gemini CLI behind the whole daemon."""

import json
import os
import signal

from agents import Agent, Carries, Serves, Talks, Works, remembers, run
from fake_model import step
from harness import descendants, wait_for

PACKAGES = {"@google/gemini-cli": "0.61.0"}


class GeminiCli(Talks, Works, Serves, Carries, Agent):
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
        return "--acp" in words and "supervise" not in words

    def shell(self, command):
        return "run_shell_command", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "write_file", {"file_path": path, "content": text}

    def test_a_session_that_a_kill_has_lost_is_told(self):
        """It finds no session again whose process was killed."""
        self.model.script = {"token": [step("Noted.")], "recall": [step(remembers("heron-4711"))]}
        self.kairo.start()
        self.assertEqual(self.ask("the token is heron-4711"), ["Noted."])
        self.kairo.idle()
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not descendants(self.kairo.pid()), "the daemon to know")
        self.assertEqual(self.ask("recall it"), [
            "(The agent no longer has our conversation; this is a new one.)\n\nI do not know."])
        self.kairo.idle()
        self.assertEqual(self.ask("recall it"), ["I do not know."])

    def test_an_agent_without_a_login_is_told(self):
        os.remove(os.path.join(self.folder, ".gemini", ".env"))
        self.kairo.start()
        self.assertIn("is not logged in", self.ask("hello")[0])


if __name__ == "__main__":
    run("gemini", PACKAGES)
