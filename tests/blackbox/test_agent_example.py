"""The example agent of the protocol's own library behind the whole daemon."""

import os

from agents import Agent, run

PACKAGES = {"@agentclientprotocol/sdk": "0.26.0", "zod": "^3.25.0"}  # the last one with that agent


class Example(Agent):
    """The example of the protocol's own library: five seconds of canned work with one permission."""

    def settle(self):
        example = os.path.join(self.packages, "node_modules", "@agentclientprotocol", "sdk", "dist", "examples",
                               "agent.js")
        self.kairo.config(acp__command=[self.node, example])

    def runs(self, words):
        return words[0] == self.node

    def test_its_edit_is_denied_and_the_work_goes_on(self):
        self.kairo.config(policy__write="deny")
        self.kairo.start()
        self.assertIn("understand", self.ask("hello")[-1])

    def test_it_is_stopped_at_its_question(self):
        self.kairo.config(policy__write="ask")
        self.kairo.start()
        self.question("hello")
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.kairo.idle()
        self.assertEqual(len(self.agents()), 1)


if __name__ == "__main__":
    run("acp-sdk", PACKAGES)
