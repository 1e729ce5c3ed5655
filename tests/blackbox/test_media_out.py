"""Files to the phone: what is sent, shown, refused, parked, stopped, and what a kill leaves."""

import os
import random
import signal
import subprocess
import sys
import time

from harness import HOOKS, Case, main, wait_for

MIB = 1 << 20
LONG = "\n\n".join("Paragraph %d. " % n + "All of this is said only once. " * 50 for n in range(1, 13))


def pattern(n):
    return bytes((i * 7 + (i >> 8)) & 255 for i in range(n))


class Out(Case):
    def setUp(self):
        super().setUp()
        self.kairo.start()
        self.ws = self.kairo.workspace

    def put(self, name, data=b"data"):
        path = os.path.join(self.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def outgoing(self):
        return os.listdir(os.path.join(self.kairo.dir, "outgoing"))

    def answer(self, text, ask="go"):
        """What the phone shows of it, once all is said."""
        before = len(self.sim.sent())
        self.sim.script({"text": text})
        self.sim.inject(ask)
        self.sim.wait("sent", before + 1)
        self.kairo.idle()
        return self.sim.sent()[before:]

    def names(self, sent):
        return [d["item"]["file_item"]["file_name"] for d in sent if "file_item" in d.get("item", {})]


class Kinds(Out):
    def test_every_kind_opens_on_the_phone(self):
        files = {"a.png": (2, pattern(1000)), "b.JPG": (2, pattern(17)), "c.mp4": (5, pattern(70000)),
                 "d.pdf": (4, pattern(3 * MIB + 1)), "e.mp3": (4, pattern(16)), "f.zip": (4, b""),
                 "报告 1.docx": (4, pattern(15))}
        for name, (_, data) in files.items():
            self.put(name, data)
        self.answer("Here.\n" + "".join("[send-file: %s]\n" % n for n in list(files)[:4]))
        self.answer("More.\n" + "".join("[send-image: %s]\n" % n for n in list(files)[4:]))
        shown = self.sim.files()
        self.assertEqual([d["media_state"] for d in shown], ["opens"] * 7)
        self.assertEqual([(d["item"]["type"], d["data"]) for d in shown], list(files.values()))
        self.assertEqual(self.names(shown), [n for n, (kind, _) in files.items() if kind == 4])
        self.assertEqual(self.outgoing(), [])

    def test_the_tool_the_tag_the_block_and_the_folder(self):
        self.put("a.txt", b"by the tool")
        self.sim.script({"tool_calls": [{"name": "send_file", "arguments": {"path": "a.txt", "caption": "See:"}},
                                        {"name": "write_file", "arguments": {"path": ".kairo-out/b.txt",
                                                                             "content": "by the folder"}}]},
                        {"text": "Done.\n```file:c.txt\nby a block\n```\n"})
        self.sim.inject("go")
        self.sim.wait("sent", 5)
        self.kairo.idle()
        sent = self.sim.sent()
        self.assertEqual([d["text"] for d in sent if not d.get("media")], ["Done.", "See:"])
        self.assertEqual([d["data"] for d in self.sim.files()], [b"by the tool", b"by a block\n", b"by the folder"])
        results = str(self.sim.model_requests()[-1])
        self.assertIn("right behind your answer", results)
        self.assertFalse(os.path.exists(os.path.join(self.ws, ".kairo-out", "b.txt")))
        self.assertTrue(os.path.exists(os.path.join(self.ws, ".kairo-out", "kept", "b.txt")))

    def test_tags_in_code_are_text(self):
        self.put("a.txt")
        sent = self.answer("Write `[send-file: a.txt]` or\n```\n[send-file: a.txt]\n```")
        self.assertEqual(self.sim.files(), [])
        self.assertEqual(sent[0]["text"].count("[send-file: a.txt]"), 2)

    def test_what_is_sent_is_what_was_accepted(self):
        self.put("a.txt", b"as it was")
        self.sim.script({"tool_calls": [{"name": "send_file", "arguments": {"path": "a.txt"}}]},
                        {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "new"}}]},
                        {"text": "ok"})
        self.sim.inject("go")
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.files()[0]["data"], b"as it was")


class Refused(Out):
    def test_what_may_not_be_sent_is_told_to_both(self):
        outside = os.path.join(self.folder, "outside.txt")
        with open(outside, "w") as f:
            f.write("secret")
        self.put(".env")
        self.put("real.txt")
        self.put("big.bin")
        os.truncate(os.path.join(self.ws, "big.bin"), 100 * MIB + 1)
        os.symlink(outside, os.path.join(self.ws, "link.txt"))
        os.link(self.put("hard.txt"), os.path.join(self.ws, "hard2.txt"))
        os.mkfifo(os.path.join(self.ws, "fifo"))
        bad = ["missing.txt", ".env", outside, "../outside.txt", "link.txt", "hard.txt", "fifo", "sub", "big.bin"]
        os.mkdir(os.path.join(self.ws, "sub"))
        sent = self.answer("Here.\n" + "".join("[send-file: %s]\n" % n for n in bad))
        self.assertEqual(len(sent), 2)
        self.assertEqual(sent[0]["text"], "Here.")
        for name in bad:
            self.assertIn(name.replace("_", "＿")[:20], sent[1]["text"])
        self.assertNotIn("\n", sent[1]["text"])
        self.answer("ok", "next")
        prompt = self.sim.model_requests()[-1]["body"]["messages"][-1]["content"]
        for reason in ("there is no missing.txt", "hidden", "outside the workspace", "symbolic link", "hard link",
                       "not a regular file", "pack it into one file", "files.max_mb"):
            self.assertIn(reason, str(prompt))
        self.answer("ok", "again")
        self.assertEqual(self.sim.model_requests()[-1]["body"]["messages"][-1]["content"], "again")

    def test_the_tool_says_why_at_once(self):
        self.sim.script({"tool_calls": [{"name": "send_file", "arguments": {"path": "/etc/passwd"}}]}, {"text": "no"})
        self.sim.inject("go")
        self.sim.wait("sent", 1)
        self.assertIn("outside the workspace", str(self.sim.model_requests()[-1]))
        self.assertEqual(self.sim.texts(), ["no"])

    def test_the_limit_of_the_settings(self):
        self.kairo.config(files__max_mb=1)
        os.kill(self.kairo.pid(), signal.SIGHUP)
        wait_for(lambda: "settings reloaded" in self.kairo.log(), "the new settings")
        self.put("at.bin", pattern(MIB))
        self.put("over.bin", pattern(MIB + 1))
        sent = self.answer("x\n[send-file: at.bin]\n[send-file: over.bin]")
        self.assertEqual(self.names(sent), ["at.bin"])
        self.assertIn("over.bin", sent[-1]["text"])


class Windows(Out):
    def test_two_files_and_an_answer_over_the_window(self):
        self.put("a.pdf", b"a")
        self.put("b.pdf", b"b")
        self.sim.script({"text": "Two.\n[send-file: a.pdf]\n[send-file: b.pdf]"})
        self.narrow(6, "go")
        wait_for(lambda: self.kairo.status()["parked"] == 1, "the second file to be parked")
        self.kairo.idle()
        self.assertEqual(self.names(self.sim.sent()), ["a.pdf"])
        self.assertEqual(len(self.outgoing()), 1)
        self.kairo.run("restart")
        self.sim.inject("/more")
        self.sim.wait("sent", len(self.sim.sent()) + 1)
        wait_for(lambda: self.names(self.sim.sent()) == ["a.pdf", "b.pdf"], "the second file")
        self.kairo.idle()
        self.assertEqual(self.outgoing(), [])
        self.assertEqual([d for d in self.sim.sent(all=1) if not d["accepted"]], [])

    def test_a_long_answer_is_its_first_part_and_a_file(self):
        sent = self.answer(LONG)
        self.assertEqual(len(sent), 2)
        self.assertTrue(sent[0]["text"].startswith("Paragraph 1."))
        self.assertIn("the file below", sent[0]["text"])
        self.assertRegex(self.names(sent)[0], r"^answer-\d{8}-\d{4}\.md$")
        self.assertEqual(self.sim.files()[0]["data"].decode(), LONG)
        self.assertEqual(self.kairo.status()["parked"], 0)

    def test_when_that_file_fails_the_rest_is_text(self):
        self.sim.fault("getuploadurl", "ret", ret=-2, times=9)
        sent = self.answer(LONG)
        self.assertEqual(len(sent), 2)
        self.assertIn("with the whole answer could not be sent", sent[1]["text"])
        self.assertTrue(self.kairo.status()["parked"])
        self.sim.clear_faults()
        while self.kairo.status()["parked"]:
            self.sim.inject("/more")
            self.sim.wait("sent", len(self.sim.sent()) + 1)
            self.kairo.idle()
        text = "".join("".join(self.sim.texts()).split())
        self.assertEqual(text.count("Allofthisissaidonlyonce."), 600)

    def test_a_giant_answer_is_sent_whole(self):
        text = "".join("%06d is the number of this line.\n\n" % i for i in range(40000))
        self.sim.script({"text": text, "chunk": 997})
        self.sim.inject("go")
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.files()[0]["data"].decode(), text)


class Failing(Out):
    def test_a_failed_upload_is_told_in_one_line(self):
        path = self.put("report.pdf")
        self.sim.fault("cdn_upload", "cdn_error", errmsg="secret words", times=9)
        sent = self.answer("Here.\n[send-file: report.pdf]")
        self.assertEqual(len(sent), 2)
        self.assertIn("`report.pdf` could not be sent", sent[1]["text"])
        self.assertIn(path, sent[1]["text"])
        self.assertNotIn("secret words", sent[1]["text"])
        self.assertNotIn("\n", sent[1]["text"])
        self.assertEqual(self.outgoing(), [])

    def test_a_missing_receipt_is_tried_again(self):
        self.put("a.pdf", b"a")
        self.sim.fault("cdn_upload", "no_param", times=1)
        self.answer("Here.\n[send-file: a.pdf]")
        self.assertEqual(self.sim.files()[0]["data"], b"a")
        self.sim.fault("cdn_upload", "no_param", times=-1)
        before = self.sim.counts()["uploads_begun"]
        sent = self.answer("Again.\n[send-file: a.pdf]", "again")
        self.assertEqual(self.sim.counts()["uploads_begun"], before + 3)
        self.assertEqual(sent[0]["text"], "Again.")
        self.assertIn("`a.pdf` could not be sent: WeChat took it and gave no receipt", sent[1]["text"])
        self.assertEqual(len(sent), 2)
        self.sim.clear_faults()
        self.assertEqual(self.names(self.answer("[send-file: a.pdf]", "once more")), ["a.pdf"])

    def test_a_full_disk_is_told_to_the_agent(self):
        if os.geteuid() != 0:
            self.skipTest("mounting takes root")
        self.kairo.stop()
        folder = os.path.join(self.kairo.dir, "outgoing")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", folder],
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no mounting here")
        self.addCleanup(subprocess.run, ["umount", folder])
        self.kairo.start()
        self.put("big.bin", pattern(2 * MIB))
        self.put("small.bin", pattern(1000))
        sent = self.answer("x\n[send-file: big.bin]\n[send-file: small.bin]")
        self.assertEqual(self.names(sent), ["small.bin"])
        self.assertIn("big.bin", sent[-1]["text"])
        self.answer("ok", "next")
        self.assertIn("disk has no room", str(self.sim.model_requests()[-1]))
        self.kairo.stop()


class Kills(Out):
    def upload(self):
        """One that has begun and goes on slowly."""
        self.put("big.bin", pattern(3 * MIB))
        self.sim.fault("cdn_upload", "slow_body", bytes=65536, ms=300, times=1)
        self.sim.script({"text": "Here.\n[send-file: big.bin]"})
        self.sim.inject("go")
        self.sim.wait("uploads_begun", 1)

    def test_a_kill_in_the_middle_of_an_upload(self):
        self.upload()
        self.kairo.kill()
        self.kairo.start()
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.assertEqual([d["data"] for d in self.sim.files()], [pattern(3 * MIB)])
        self.assertEqual(len(self.sim.sent(all=1)), 2)
        self.assertEqual(self.outgoing(), [])

    def test_killed_at_random_moments(self):
        """Each answer's file goes out whole and once, or both sides are told. KAIRO_SEED runs the same choices again."""
        seed = int(os.environ.get("KAIRO_SEED") or time.time_ns() % 10**9)
        sys.stderr.write("KAIRO_SEED=%d " % seed)
        chance = random.Random(seed)
        people = ["person%d@im.wechat" % n for n in range(4)]  # sends to one person are a second apart
        self.kairo.stop()
        self.kairo.config(allowed_users=people, media__merge_ms=0)
        data = {"small.bin": pattern(1000), "big.bin": pattern(5 * MIB // 2)}
        for name in data:
            self.put(name, data[name])
        self.sim.script(*({"text": "Here.\n[send-file: %s]" % chance.choice(list(data))} for _ in range(100)))
        told = 0
        for _ in range(12):
            for _ in range(chance.randrange(1, 3)):
                self.sim.inject("task %d" % told, **{"from": chance.choice(people)})
                told += 1
            halt = {"KAIRO_TEST_HALT": chance.choice(("send.ack", "turn.start"))} if HOOKS and chance.random() < 0.3 else None
            p = self.kairo.popen("run", env=halt, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + chance.uniform(0.2, 1) * (3 if HOOKS else 1)
            while time.monotonic() < end and p.poll() is None:
                time.sleep(0.02)
            p.kill()
            p.wait()
            self.kairo.children.remove(p)
        self.kairo.start()
        wait_for(lambda: self.kairo.db("SELECT count(*) FROM channel_inbox")[0][0] == told, "all messages")
        self.kairo.idle()
        self.assertEqual({s for s, in self.kairo.db("SELECT state FROM channel_inbox")} - {2, 4}, set())
        done = self.kairo.db("SELECT turn FROM channel_inbox WHERE state = 2 ORDER BY turn")
        parts = self.kairo.db("SELECT turn, client_id, state, spool, why FROM channel_outbox JOIN channel_file ON part = seq")
        self.assertEqual(sorted((turn,) for turn, *_ in parts), done)
        sent = self.sim.sent()
        clients = [d["client_id"] for d in sent]
        self.assertEqual(len(set(clients)), len(clients))
        shown = {f["client_id"]: f["data"] for f in self.sim.files()}
        for turn, client, state, _, why in parts:
            if state in (2, 3):
                self.assertIn(shown.pop(client), data.values())
            elif state == 4:
                self.assertEqual(why, "cut off")
            else:
                self.assertIn(state, (5, 6))
                self.assertIn(shown.pop(client, None), (None, *data.values()))
        self.assertEqual(shown, {})
        lost = [d["text"] for d in sent if d["text"] and "could not be sent" in d["text"]]
        self.assertEqual(len(lost), len([1 for _, _, state, _, _ in parts if state == 4]))
        self.assertLessEqual(set(self.outgoing()), {spool for _, _, state, spool, _ in parts if state in (5, 6)})
        sys.stderr.write("%d files, %d lost, %d unknown or parked " % (
            len(parts), len(lost), len([1 for p in parts if p[2] in (5, 6)])))

    def test_stop_ends_an_upload(self):
        self.upload()
        self.sim.inject("/stop")
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.assertEqual(self.sim.files(), [])
        self.assertIn("Stopped", self.sim.texts()[-1])
        self.assertEqual(self.outgoing(), [])
        self.assertEqual(self.answer("still here", "next")[0]["text"], "still here")

    def test_typing_is_shown_while_it_lasts(self):
        self.upload()
        self.sim.wait("typing", 1)
        on = self.sim.counts()["typing"]
        self.sim.wait("typing", on + 1)
        self.sim.wait("sent", 2, seconds=120)


class Send(Out):
    def setUp(self):
        super().setUp()
        self.answer("hi", "hello")

    def test_files_from_the_command_line(self):
        a, b = self.put("a.pdf", b"a"), self.put("b.png", b"b")
        before = len(self.sim.sent())
        self.kairo.run("send", "--file", a, "--file", b, "Look")
        self.sim.wait("sent", before + 3)
        self.kairo.run("send", "--file=" + a)
        self.sim.wait("sent", before + 4)
        self.assertEqual(self.sim.texts()[before], "Look")
        self.assertEqual([d["data"] for d in self.sim.files()], [b"a", b"b", b"a"])

    def test_what_may_not_be_sent_is_refused_whole(self):
        a = self.put("a.pdf", b"a")
        before = len(self.sim.sent())
        out = self.kairo.run("send", "--file", a, "--file", "/etc/passwd", "Look", code=1)
        self.assertIn("outside the workspace", out.err)
        self.assertIn("No such file", self.kairo.run("send", "--file", a + "x", code=1).err)
        self.kairo.run("send", code=2)
        self.kairo.run("send", "--file", a, "one", "two", code=2)
        self.assertIn("at most 20", self.kairo.run("send", *["--file=" + a] * 21, code=1).err)
        self.assertEqual(len(self.sim.sent()), before)
        self.assertEqual(self.outgoing(), [])
        self.kairo.stop()
        self.kairo.run("send", "--file", a, code=3)

    def test_ask_sends_nothing_and_names_the_files(self):
        before = len(self.sim.sent())
        self.sim.script({"tool_calls": [{"name": "write_file", "arguments": {"path": ".kairo-out/b.txt",
                                                                             "content": "x"}},
                                        {"name": "send_file", "arguments": {"path": ".kairo-out/b.txt"}}]},
                        {"text": "Made."})
        out = self.kairo.run("ask", "make it").out
        self.assertIn("Made.", out)
        self.assertIn(os.path.join(self.ws, ".kairo-out", "kept", "b.txt"), out)
        self.assertIn("nothing is sent to a terminal", str(self.sim.model_requests()[-1]))
        self.kairo.idle()
        self.assertEqual(len(self.sim.sent()), before)

    def test_so_it_is_without_a_daemon(self):
        self.kairo.stop()
        self.sim.script({"tool_calls": [{"name": "write_file", "arguments": {"path": ".kairo-out/c.txt",
                                                                             "content": "x"}}]},
                        {"text": "Made."})
        out = self.kairo.run("ask", "make it").out
        self.assertIn("Made.", out)
        self.assertIn(os.path.join(self.ws, ".kairo-out", "kept", "c.txt"), out)


del Out
if __name__ == "__main__":
    main()
