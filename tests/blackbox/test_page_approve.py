"""Questions on the phone page in a real browser, with the real program behind it."""

from browser import Browser
from harness import Case, main


class Questions(Case):
    browser = None

    def test_they_are_asked_answered_and_obeyed(self):
        self.kairo.config(language="en", policy__shell="ask", policy__write="ask")
        self.kairo.start()
        self.assertEqual(self.browser.run("approve.mjs", self.sim.where, self.kairo.dir), 0)


if __name__ == "__main__":
    Questions.browser = Browser()
    main()
