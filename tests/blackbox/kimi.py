"""Kimi Code with a model on loopback."""

from agents import Agent

PACKAGES = {"@moonshot-ai/kimi-code": "2.1.0"}


class Kimi(Agent):
    def settle(self):
        self.kairo.config(acp__preset="kimi")
        self.write(".kimi-code/config.toml", "\n".join([
            'default_model = "fake"', "telemetry = false",
            "[providers.fake]", 'type = "openai"', 'base_url = "%s"' % self.model.url, 'api_key = "x"',
            "[models.fake]", 'provider = "fake"', 'model = "fake-1"', "max_context_size = 128000",
            'capabilities = ["thinking","tool_use","image_in"]', ""]))

    def runs(self, words):
        return words[0] in ("kimi", "kimi-code") or ("acp" in words and "supervise" not in words)

    def shell(self, command):
        return "Bash", {"command": command, "description": "Does it"}

    def writes(self, path, text):
        return "Write", {"path": path, "content": text}

    def questions(self):
        """The arguments of its tool that asks the user."""
        return {"questions": [{"question": "Which colour?", "header": "Colour", "multi_select": False,
                               "options": [{"label": "red", "description": "warm"},
                                           {"label": "blue", "description": "cold"}]}]}
