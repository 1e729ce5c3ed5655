"""Codex behind the whole daemon, through the adapter of the Zed editor's makers."""

import os

from agents import Agent, Carries, Resumes, Talks, Works, run

PACKAGES = {"@zed-industries/codex-acp-linux-x64": "0.10.0"}


class ZedCodex(Talks, Resumes, Works, Carries, Agent):
    denied = "not allowed (shell, by the policy: see /policy)"
    refused = "not allowed (you said no)"

    def settle(self):
        program = os.path.join(self.packages, "node_modules", "@zed-industries", "codex-acp-linux-x64", "bin")
        self.kairo.env["PATH"] = program + ":" + self.kairo.env["PATH"]
        self.kairo.config(acp__preset="codex", acp__mode="read-only")
        self.kairo.env["OPENAI_API_KEY"] = "x"
        self.write(".codex/config.toml", "\n".join([
            'model = "gpt-5.1-codex"', 'model_provider = "fake"', 'approval_policy = "on-request"',
            "[model_providers.fake]", 'name = "Fake"', 'base_url = "%s"' % self.model.url,
            'wire_api = "responses"', 'env_key = "OPENAI_API_KEY"', ""]))

    def runs(self, words):
        return any(word.endswith("codex-acp") for word in words) and "supervise" not in words

    def shell(self, command):
        return "shell_command", {"command": command, "sandbox_permissions": "require_escalated",
                                 "justification": "It is wanted."}

    def shown(self, command):
        return "command: /bin/bash -lc '%s'" % command.replace("'", "'\\''")

    def writes(self, path, text):
        lines = ["*** Begin Patch", "*** Add File: " + path, *("+" + line for line in text.splitlines()),
                 "*** End Patch", ""]
        return "apply_patch", "\n".join(lines)


if __name__ == "__main__":
    run("codex-zed", PACKAGES)
