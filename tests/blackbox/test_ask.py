"""kairo ask: without a daemon, and through one."""

import os
import signal
import subprocess

from harness import Case, Kairo, main, stalled, wait_for
from terminal import Terminal

LIMIT = 1 << 20  # bytes of a prompt


class AskCase(Case):
    def ask_(self, *args, **more):
        return self.kairo.run("ask", *args, **more)

    def asking(self, *args, **more):
        return self.kairo.popen("ask", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def reads(self, p, word):
        """What the command has printed, once word is in it."""
        os.set_blocking(p.stdout.fileno(), False)
        seen = b""

        def has():
            nonlocal seen
            seen += p.stdout.read() or b""
            return word.encode() in seen
        wait_for(has, "%r on standard output" % word)
        return seen.decode()

    def last_prompt(self):
        return self.sim.model_requests()[-1]["body"]["messages"][-1]["content"]

    def stored_prompt(self):
        """The newest one in the history: the simulator keeps no body as large as a prompt may be."""
        return self.kairo.db("SELECT text FROM react_message WHERE role = 'user' "
                             "ORDER BY session DESC, round DESC, seq DESC LIMIT 1")[0][0]

    def model_is_left(self):
        """The connection to the model is closed from our side."""
        wait_for(lambda: self.sim.counts()["model_open"] == 0, "the model to be left")
        self.assertEqual(self.sim.model_requests()[-1]["outcome"], "gone")

    def write_file_step(self, path="note.txt", content="x"):
        return {"tool_calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


class Alone(AskCase):
    """No daemon runs: the engine works in the command itself."""

    login = False

    def test_the_answer_is_printed(self):
        self.sim.script({"text": "four"})
        p = self.ask_("two", "plus  two")
        self.assertEqual((p.out, p.err), ("four\n", ""))
        self.assertEqual(self.last_prompt(), "two plus  two")
        self.assertEqual(self.sim.counts()["requests"], 0, "nothing goes to WeChat")

    def test_the_prompt_from_standard_input(self):
        self.sim.script({"text": "read"})
        self.assertEqual(self.ask_(stdin="第一行\nsecond line\n".encode()).out, "read\n")
        self.assertEqual(self.last_prompt().rstrip("\n"), "第一行\nsecond line")

    def test_it_remembers(self):
        self.sim.script({"text": "one"}, {"text": "two"})
        self.ask_("first")
        self.ask_("second")
        said = [m.get("content") for m in self.sim.model_requests()[-1]["body"]["messages"]]
        self.assertIn("first", said)
        self.assertIn("one", said)

    def test_an_answer_that_ends_its_line_gets_no_second_one(self):
        self.sim.script({"text": "a\nb\n"})
        self.assertEqual(self.ask_("x").out, "a\nb\n")

    def test_the_answer_cannot_write_to_the_terminal(self):
        self.sim.script({"text": "red\x1b[31m \x1b]0;title\x07\u202eabc\rdef\tkept"})
        out = self.ask_("x").out
        for bad in ("\x1b", "\x07", "\u202e", "\r"):
            self.assertNotIn(bad, out)
        self.assertIn("\tkept", out)

    def test_a_tool_works_in_the_workspace(self):
        self.sim.script(dict(self.write_file_step(), text="I write it."), {"text": "Done."})
        self.assertEqual(self.ask_("write").out, "I write it.\n\nDone.\n")
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "note.txt")))

    def test_outside_the_workspace_nothing_is_written(self):
        out = os.path.join(self.folder, "outside.txt")
        self.sim.script(self.write_file_step("../outside.txt"), self.write_file_step(out), {"text": "no luck"})
        self.ask_("write")
        self.assertFalse(os.path.exists(out))

    def test_a_model_that_refuses(self):
        self.sim.script({"status": 401, "body": {"error": {"message": "bad key"}}}, repeat=True)
        p = self.ask_("x", code=1)
        self.assertEqual(p.out, "")
        self.assertRegex(p.err, r"^kairo: .*key")

    def test_no_model(self):
        self.kairo.run("config", "unset", "model.base_url")
        p = self.ask_("x", code=1)
        self.assertIn("model.base_url", p.err)

    def test_prompts_that_are_none(self):
        for args, stdin in (((), b""), ((), b" \n\t"), (("",), b""), ((" ", ""), b"")):
            self.assertIn("there is no prompt", self.ask_(*args, stdin=stdin, code=1).err)
        for stdin in (b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80"):
            self.assertIn("UTF-8", self.ask_(stdin=stdin, code=1).err)
        self.assertIn("NUL", self.ask_(stdin=b"a\0b", code=1).err)
        self.assertEqual(self.sim.model_requests(), [])

    def test_a_mebibyte_is_the_limit(self):
        self.kairo.config(model__context_tokens=100000000)
        self.sim.script({"text": "all of it"}, repeat=True)
        for n in (LIMIT - 1, LIMIT):
            self.ask_(stdin=b"x" * n)
            self.assertTrue(self.stored_prompt() == "x" * n)
        for stdin, args in ((b"x" * (LIMIT + 1), ()), (b"", ["y" * 100000] * 11)):
            p = self.ask_(*args, stdin=stdin, code=1)
            self.assertRegex(p.err, "1048576|1 MiB")
        self.assertEqual(len(self.sim.model_requests()), 2)

    def test_ctrl_c_while_the_model_is_silent(self):
        self.sim.script(stalled("begun"), {"text": "fresh"})
        t = Terminal(self.kairo, "ask", "long work")
        self.addCleanup(t.close)
        t.expect("begun")
        t.interrupt()
        self.assertEqual(t.code(), 1)
        self.assertTrue(t.sane())
        self.assertIn("cancelled", t.text)
        self.model_is_left()
        self.assertEqual(self.ask_("again").out, "fresh\n", "the history is whole")

    def test_ctrl_c_before_the_first_word(self):
        self.sim.script({"stall": True})
        p = self.asking("x")
        self.sim.wait("model_requests", 1)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(30), 1)
        self.model_is_left()

    def test_the_key_is_masked_where_it_is_echoed(self):
        key = "sk-averysecretkeyofthemodel0123456789"
        self.sim.script({"status": 400, "body": {"error": {"message": "wrong: Bearer " + key}}}, repeat=True)
        p = self.ask_("x", code=1, env={"KAIRO_MODEL_API_KEY": key})
        self.assertNotIn(key, p.out + p.err)


class Locks(AskCase):
    """One workspace, one task: by whatever door it comes."""

    def setUp(self):
        super().setUp()
        self.work = Kairo(self.folder, self.sim, account="work")
        self.addCleanup(self.work.close)

    def test_ask_beside_the_daemon_of_another_account(self):
        self.work.config(workspace=self.work.workspace, model__base_url=self.sim.model, model__name="demo")
        self.kairo.start()
        p = self.work.run("ask", "x", code=1)
        self.assertIn("another kairo works in " + self.kairo.workspace, p.err)
        self.kairo.stop()
        self.sim.script({"text": "free"})
        self.assertEqual(self.work.run("ask", "x").out, "free\n")

    def test_a_daemon_beside_an_ask_of_another_account(self):
        self.work.config(workspace=self.work.workspace, model__base_url=self.sim.model, model__name="demo")
        self.sim.script(stalled())
        p = self.work.popen("ask", "x", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.sim.wait("model_requests", 1)
        self.assertIn("another kairo works in", self.kairo.start(code=1).err)
        # A kill leaves no lock behind.
        p.kill()
        p.wait()
        self.kairo.start()

    def test_two_asks_of_one_account(self):
        self.sim.script(stalled(), {"text": "second"})
        first = self.asking("x")
        self.sim.wait("model_requests", 1)
        self.assertIn("another kairo works in", self.ask_("y", code=1).err)
        first.send_signal(signal.SIGINT)
        first.wait(30)
        self.assertEqual(self.ask_("y").out, "second\n")

    def test_other_spellings_of_the_same_workspace(self):
        link = os.path.join(self.folder, "link")
        os.symlink(self.kairo.workspace, link)
        self.work.config(workspace=link + "/../link/.", model__base_url=self.sim.model, model__name="demo")
        self.kairo.start()
        self.assertIn("another kairo works in", self.work.run("ask", "x", code=1).err)

    def test_a_workspace_behind_a_link_is_made(self):
        link, disk = os.path.join(self.folder, "link"), os.path.join(self.folder, "disk")
        os.mkdir(disk)
        os.symlink(disk, link)
        self.work.config(workspace=link + "/a/b", model__base_url=self.sim.model, model__name="demo")
        self.sim.script(self.write_file_step(), {"text": "made"})
        self.assertEqual(self.work.run("ask", "x").out, "made\n")
        self.assertTrue(os.path.exists(os.path.join(disk, "a", "b", "note.txt")))


class Through(AskCase):
    """A daemon runs: the prompt goes through its queue."""

    def setUp(self):
        super().setUp()
        self.kairo.start()

    def idle(self):
        return wait_for(lambda: [s for s in [self.kairo.status()]
                                 if s["turn"] is None and not s["queue"]["waiting"]], "the daemon to be idle")[0]

    def waiting(self, n):
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] == n, "%d to wait" % n)

    def test_the_answer_comes_here_and_not_to_the_phone(self):
        self.sim.script({"text": "for the terminal"})
        p = self.ask_("x")
        self.assertEqual((p.out, p.err), ("for the terminal\n", ""))
        self.assertEqual(self.idle()["handled"], 1)
        counts = self.sim.counts()
        self.assertEqual((counts["sent"], counts["refused"], counts["typing"]), (0, 0, 0))

    def test_it_is_streamed(self):
        self.sim.script(stalled("the first words"))
        p = self.asking("x")
        self.assertEqual(self.reads(p, "words"), "the first words")
        self.assertIsNotNone(self.kairo.status()["turn"])

    def test_a_long_answer_is_whole(self):
        text = "".join("%06d 行\n" % i for i in range(20000))
        self.sim.script({"text": text, "chunk": 997})
        self.assertEqual(self.ask_("x").out, text)

    def test_an_answer_of_megabytes_is_whole(self):
        lines = "".join("%06d 行\n" % i for i in range(130000))
        for text in (lines, '"\t' * 500000 + "\n"):
            self.sim.script({"text": text, "chunk": 65521})
            got = self.ask_("x").out
            self.assertTrue(got == text, "%d characters: %r" % (len(got), got[:200]))

    def test_it_waits_its_turn(self):
        self.sim.script({"text": "first", "first_ms": 300}, {"text": "second"}, {"text": "third"})
        self.sim.inject("from the phone")
        self.sim.wait("model_requests", 1)
        self.assertEqual(self.ask_("from the terminal").out, "second\n")
        self.sim.inject("from the phone again")
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.texts(), ["first", "third"])

    def test_a_tool(self):
        self.sim.script(dict(self.write_file_step(), text="I write it."), {"text": "Done."})
        self.assertEqual(self.ask_("write").out, "I write it.\n\nDone.\n")
        self.assertTrue(os.path.exists(os.path.join(self.kairo.workspace, "note.txt")))

    def test_a_failure_is_told_here(self):
        self.sim.script({"status": 401, "body": {"error": {"message": "bad key"}}}, repeat=True)
        p = self.ask_("x", code=1)
        self.assertRegex(p.err, r"^kairo: .*key")
        self.idle()
        self.assertEqual(self.sim.counts()["sent"], 0)

    def ended(self, p, code=1):
        out, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, code, err)
        return err.decode()

    def test_ctrl_c_ends_the_turn_in_the_daemon(self):
        self.sim.script(stalled(), {"text": "fresh"})
        t = Terminal(self.kairo, "ask", "long work")
        self.addCleanup(t.close)
        t.expect("begun")
        t.interrupt()
        self.assertEqual(t.code(), 1)
        self.model_is_left()
        self.idle()
        self.assertEqual(self.ask_("again").out, "fresh\n")
        self.assertEqual(self.sim.counts()["sent"], 0)

    def test_a_killed_terminal_ends_it_too(self):
        self.sim.script(stalled())
        p = self.asking("x")
        self.reads(p, "begun")
        p.kill()
        p.wait()
        self.model_is_left()
        self.idle()

    def test_ctrl_c_while_it_waits(self):
        self.sim.script(stalled(), {"text": "next"})
        self.sim.inject("from the phone")
        self.sim.wait("model_requests", 1)
        p = self.asking("x")
        self.waiting(1)
        p.send_signal(signal.SIGINT)
        self.ended(p)
        self.waiting(0)
        self.assertIsNotNone(self.kairo.status()["turn"], "the phone's task goes on")
        self.assertEqual(self.sim.counts()["model_requests"], 1)

    def test_stop_on_the_phone_ends_it(self):
        self.sim.script(stalled())
        p = self.asking("x")
        self.reads(p, "begun")
        self.assertTrue(self.ask("/stop"))
        self.assertIn("cancelled", self.ended(p))
        self.idle()

    def test_stop_all_ends_what_waits(self):
        self.sim.script(stalled(), stalled())
        first = self.asking("x")
        self.reads(first, "begun")
        second = self.asking("y")
        self.waiting(1)
        self.assertTrue(self.ask("/stop all"))
        for p in (first, second):
            self.assertTrue(self.ended(p))
        self.idle()
        self.assertEqual(self.sim.counts()["model_requests"], 1)

    def test_the_end_of_the_daemon_ends_it(self):
        self.sim.script(stalled(), {"text": "after"})
        p = self.asking("x")
        self.reads(p, "begun")
        self.kairo.stop()
        self.assertTrue(self.ended(p).startswith("kairo: "))
        self.kairo.start()
        self.idle()
        self.assertEqual(self.sim.counts()["model_requests"], 1, "it is not run again without anybody to hear")

    def test_the_death_of_the_daemon_ends_it(self):
        self.sim.script(stalled(), stalled(), {"text": "after"})
        p, q = self.asking("x"), None
        self.reads(p, "begun")
        q = self.asking("waits")
        self.waiting(1)
        self.kairo.kill()
        for each in (p, q):
            self.assertTrue(self.ended(each).startswith("kairo: "))
        # The socket of the dead is there still; the prompt is answered without a daemon.
        self.sim.script({"text": "alone"})
        self.assertEqual(self.ask_("y").out, "alone\n")
        self.kairo.start()
        self.idle()
        self.assertEqual(self.sim.counts()["model_requests"], 2)
        self.assertEqual(self.sim.counts()["sent"], 0)

    def test_a_full_queue_refuses(self):
        self.sim.script(stalled())
        self.sim.inject("from the phone")
        self.sim.wait("model_requests", 1)
        self.kairo.config(queue_limit=1)
        wait_for(lambda: self.kairo.status()["queue"]["limit"] == 1, "the limit")
        p = self.asking("x")
        self.waiting(1)
        self.assertIn("queue is full", self.ask_("y", code=1).err)
        self.assertIsNone(p.poll())

    def test_a_pause_keeps_it_waiting(self):
        self.sim.script({"text": "at last"})
        self.assertTrue(self.ask("/pause"))
        p = self.asking("x")
        self.waiting(1)
        self.assertTrue(self.ask("/resume"))
        self.assertEqual(p.communicate(timeout=60)[0], b"at last\n")

    def test_a_mebibyte_is_the_limit(self):
        self.kairo.config(model__context_tokens=100000000)
        self.kairo.run("restart")
        self.sim.script({"text": "all of it"}, repeat=True)
        # JSON doubles the quotes, and makes six characters of what no line may hold.
        for prompt in ("x" * LIMIT, '"' * LIMIT, "\x01" * (LIMIT - 1) + "x"):
            self.assertEqual(self.ask_(stdin=prompt.encode()).out, "all of it\n")
            self.assertTrue(self.stored_prompt() == prompt)
        self.assertRegex(self.ask_(stdin=b"x" * (LIMIT + 1), code=1).err, "1048576|1 MiB")

    def test_twenty_at_once(self):
        self.sim.script({"text": "served"}, repeat=True)
        running = [self.asking("prompt %d" % i) for i in range(20)]
        for p in running:
            self.assertEqual(p.communicate(timeout=60)[0], b"served\n")
        self.assertEqual(self.idle()["handled"], 20)

    def test_without_an_owner(self):
        self.kairo.stop()
        self.sim.call("POST", "login", {"statuses": [{"status": "confirmed", "bot_token": "abcdefgh",
                                                      "ilink_bot_id": "x@im.bot", "baseurl": self.sim.api}]})
        self.violations_expected = True
        self.kairo.run("login", "--force", "--base-url", self.sim.api)
        self.kairo.start()
        self.assertIn("owner", self.ask_("x", code=1).err)


if __name__ == "__main__":
    main()
