"""Kimi Code on the phone page in a real browser, with the real program between them."""

import os

from agents import run
from browser import Browser
from fake_model import content, step
from kimi import PACKAGES, Kimi


class OnThePage(Kimi):
    browser = None

    def test_it_talks_asks_obeys_and_stops(self):
        self.kairo.config(policy__shell="ask")
        self.model.script = {
            "hello": [step("Hello there.", thought="They greet me.")],
            "again": [step("Once more, hello.")],
            "refuse it": [step(tools=[self.shell("touch refused")]), step("So I did not.")],
            "labour": [step(tools=[self.shell("touch made; echo heron-$((4700+11))")]),
                       step(lambda messages: "It says: " + content(messages[-1]))],
            "choose": [step(tools=[("AskUserQuestion", self.questions())]),
                       step(lambda messages: "You chose: " + content(messages[-1]))]}
        self.kairo.start()
        self.assertEqual(self.browser.run("agent.mjs", self.sim.where, self.kairo.dir), 0)
        self.assertFalse(os.path.exists(os.path.join(self.kairo.workspace, "refused")))
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "made")))


if __name__ == "__main__":
    OnThePage.browser = Browser()
    run("kimi", PACKAGES)
