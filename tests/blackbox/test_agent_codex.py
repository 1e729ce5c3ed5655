"""Codex behind the whole daemon, through the adapter of the protocol's makers."""

from agents import Agent, Carries, Resumes, Serves, Talks, Works, run
from fake_model import step

PACKAGES = {"@agentclientprotocol/codex-acp": "2.6.0"}


class Codex(Talks, Resumes, Works, Serves, Carries, Agent):
    denied = "not allowed (shell, by the policy: see /policy)"
    refused = "not allowed (you said no)"
    heron = ("mcp__birds", "heron")

    def settle(self):
        self.kairo.config(acp__preset="codex", acp__mode="read-only")
        self.kairo.env["OPENAI_API_KEY"] = "x"
        self.write(".codex/config.toml", "\n".join([
            'model = "gpt-5.5"', 'model_provider = "fake"', 'approval_policy = "on-request"',
            "[model_providers.fake]", 'name = "Fake"', 'base_url = "%s"' % self.model.url,
            'wire_api = "responses"', 'env_key = "OPENAI_API_KEY"', ""]))

    def runs(self, words):
        return any(word.endswith("codex-acp") for word in words) and "supervise" not in words

    def shell(self, command):
        # It asks for what is to run outside of its own sandbox.
        return "exec_command", {"cmd": command, "sandbox_permissions": "require_escalated",
                                "justification": "It is wanted."}

    def writes(self, path, text):
        lines = ["*** Begin Patch", "*** Add File: " + path, *("+" + line for line in text.splitlines()),
                 "*** End Patch", ""]
        return "apply_patch", "\n".join(lines)

    def test_an_agent_without_a_login_is_told(self):
        self.write(".codex/config.toml", "")
        self.kairo.start()
        self.assertIn("codex login", self.ask("hello")[0])

    def test_errors_of_the_model_are_told(self):
        self.model.script = {"four hundred": [step(status=400, error="the request is bad")],
                             "hello": [step("Hello **there**.")]}
        self.kairo.start()
        self.assertIn("the request is bad", self.ask("four hundred")[0])
        self.assertEqual(self.ask("hello"), ["Hello **there**."])


if __name__ == "__main__":
    run("codex", PACKAGES)
