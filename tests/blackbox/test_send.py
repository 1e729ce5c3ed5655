"""kairo send: a text from the computer, within what the server lets a bot say."""

import os
import subprocess

from harness import Case, Kairo, main, needs_hooks

DAY = 24 * 3600 * 1000


class Send(Case):
    def send(self, *args, **more):
        return self.kairo.run("send", *args, **more)

    def test_with_an_open_window(self):
        self.kairo.start()
        self.ask("hello")
        before = len(self.sim.sent())
        self.assertIn("outbox", self.send("the **build** is done").out)
        self.sim.wait("sent", before + 1)
        self.assertEqual(self.sim.texts()[before:], ["the **build** is done"])
        self.assertEqual(self.kairo.idle()["handled"], 1, "it is no task")

    def test_a_long_text_comes_in_parts(self):
        self.kairo.start()
        self.ask("hello")
        text = "\n\n".join("第 %d 段：%s" % (i, "字" * 400) for i in range(8))
        self.send(text)
        self.sim.wait("sent", 3)
        self.kairo.idle()
        self.assertEqual("".join("".join(self.sim.texts()[1:]).split()), "".join(text.split()))

    def test_a_window_that_never_opened(self):
        self.kairo.start()
        self.assertIn("has not written yet", self.send("x", code=1).err)
        self.assertEqual(self.sim.counts()["sent"], 0)

    @needs_hooks
    def test_a_window_that_has_closed(self):
        self.kairo.start()
        self.ask("hello")
        self.kairo.turn_clock(DAY)
        self.sim.clock(DAY)
        self.assertIn("window is closed", self.send("x", code=1).err)
        self.ask("hello again")
        self.send("now")
        self.sim.wait("sent", 3)
        self.assertEqual(self.sim.texts()[-1], "now")

    def test_people(self):
        friend = "friend@im.wechat"
        self.kairo.config(allowed_users=[friend])
        self.kairo.start()
        self.ask("hello")
        owner = self.kairo.status()["account"]["user_id"]
        self.assertIn("empty", self.send("x", "--to", "", code=1).err)
        for who in ("stranger@im.wechat", owner.upper(), "friend"):
            self.assertIn("neither the owner nor an allowed user", self.send("x", "--to", who, code=1).err)
        self.assertIn("has not written yet", self.send("x", "--to", friend, code=1).err)
        self.sim.inject("hi", **{"from": friend})
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.send("for you", "--to", friend)
        self.send("for me", "--to", owner)
        self.sim.wait("sent", 4)
        self.assertEqual(self.sim.texts(to=friend)[1:], ["for you"])
        self.assertEqual(self.sim.texts(to=owner)[1:], ["for me"])

    def test_the_sends_of_one_message_are_bounded(self):
        self.kairo.start()
        self.ask("hello")
        for i in range(6):
            self.send("number %d" % i)
            self.sim.wait("sent", 2 + i)
            self.kairo.idle()
        self.assertIn("sends are used", self.send("one too many", code=1).err)
        self.ask("hello again")
        self.send("goes on")

    def test_without_a_daemon(self):
        self.assertIn("kairo start", self.send("x", code=3).err)
        self.kairo.start()
        self.kairo.kill()
        self.assertIn("kairo start", self.send("x", code=3).err)
        fresh = Kairo(os.path.join(self.folder, "fresh"), self.sim)
        fresh.run("send", "x", code=3)
        self.assertFalse(os.path.exists(fresh.home))

    def test_texts(self):
        self.kairo.start()
        self.ask("hello")
        self.assertIn("empty", self.send(" \n", code=1).err)
        self.send("--", "-x is a flag")
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.texts()[-1], "-x is a flag")
        p = subprocess.run([*self.kairo.argv("send"), b"\xff"], env=self.kairo.env, capture_output=True, timeout=60)
        self.assertEqual(p.returncode, 1)
        self.assertIn(b"UTF-8", p.stderr)

    def test_command_lines(self):
        for args in ((), ("",), ("a", "b"), ("a", "--to"), ("a", "--what")):
            self.assertIn("usage: kairo", self.send(*args, code=2).err)
        for args, said in ((("--file",), "option '--file' requires an argument"), (("--what",), "unrecognized option '--what'")):
            complaint, usage = self.send(*args, code=2).err.splitlines()
            self.assertRegex(complaint, "kairo: " + said)
            self.assertIn("usage: kairo", usage)


if __name__ == "__main__":
    main()
