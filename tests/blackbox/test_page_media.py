"""Pictures, files, voice and quotes on the phone page in a real browser, with the real program behind it."""

import os

from browser import Browser
from harness import Case, main


class Media(Case):
    browser = None

    def test_they_are_sent_asked_about_received_and_quoted(self):
        with open(os.path.join(self.kairo.workspace, "shopping.md"), "w") as f:
            f.write("# Shopping\n\n- rice\n- green tea\n")
        self.kairo.config(language="en", model__vision="on", media__merge_ms=4000)
        self.sim.set(answer_shape=1)
        self.kairo.start()
        self.assertEqual(self.browser.run("media.mjs", self.sim.where), 0)


if __name__ == "__main__":
    Media.browser = Browser()
    main()
