"""Pictures on their way to the model, from the file to the request that shows them."""

import base64
import fcntl
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

import samples
from harness import BUILD, Case, main

TOOL = os.path.join(BUILD, "tools", "kairo-tool")


class Looking(Case):
    vision = "on"

    def setUp(self):
        super().setUp()
        self.kairo.config(model__vision=self.vision, language="en")
        self.kairo.start()

    def put(self, name, data):
        path = os.path.join(self.kairo.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    def user(self, request=-1):
        """The newest user message of a request: its text, and its pictures as (type, bytes)."""
        messages = self.sim.model_requests()[request]["body"]["messages"]
        content = [m for m in messages if m["role"] == "user"][-1]["content"]
        if isinstance(content, str):
            return content, []
        urls = [p["image_url"]["url"] for p in content if p["type"] == "image_url"]
        found = []
        for url in urls:
            head, data = url.split(",", 1)
            self.assertTrue(head.startswith("data:") and head.endswith(";base64"), head)
            found.append((head[5:-7], base64.b64decode(data, validate=True)))
        return content[0]["text"], found

    def see(self, text):
        self.sim.script({"text": "seen"})
        self.assertEqual(self.ask(text), ["seen"])
        return self.user()


class Pictures(Looking):
    def test_every_kind_arrives(self):
        for name, data, kind, wanted in (
                ("a.png", samples.png(), "image/png", (32, 24)),
                ("clear.png", samples.png(alpha=0), "image/png", (32, 24)),
                ("a.jpg", samples.jpeg(), "image/jpeg", (64, 48)),
                ("turned.jpg", samples.jpeg(orientation=6), "image/jpeg", (48, 64)),
                ("moving.gif", samples.gif(), "image/png", (16, 16)),
                ("a.webp", samples.webp(), "image/png", (24, 16))):
            with self.subTest(name=name):
                self.put("my shots/" + name, data)
                text, found = self.see("look at @image:<my shots/%s>" % name)
                self.assertIn("[Picture 1, shown with this message only: my shots/" + name, text)
                self.assertEqual([f[0] for f in found], [kind])
                self.assertEqual(samples.size(found[0][1]), wanted)
                self.assertNotIn(b"taken at home", found[0][1])

    def test_the_terminal_shows_them_too(self):
        self.put("a.png", samples.png())
        for running in (True, False):
            with self.subTest(daemon=running):
                if not running:
                    self.kairo.stop()
                self.sim.script({"text": "seen"})
                self.assertIn("seen", self.kairo.run("ask", "what is @image:a.png?").out)
                text, found = self.user()
                self.assertIn("[Picture 1, shown with this message only: a.png", text)
                self.assertEqual([samples.size(f[1]) for f in found], [(32, 24)])

    def test_an_earlier_picture_is_not_sent_again(self):
        self.put("a.png", samples.png())
        self.see("@image:a.png")
        self.see("and what else?")
        requests = self.sim.model_requests()
        self.assertEqual([str(r["body"]).count("data:image") for r in requests], [1, 0])
        self.assertIn("shown with this message only: a.png", str(requests[1]["body"]))
        self.assertNotIn(base64.b64encode(samples.png()).decode()[:60],
                         str(self.kairo.db("SELECT * FROM react_message")))

    def test_what_cannot_be_shown_is_told(self):
        self.put("a.heic", samples.heic())
        self.put("bomb.png", samples.png_bomb())
        self.put("cut.png", samples.png()[:-30])
        self.put("a.pdf", samples.pdf())
        os.symlink("/etc/passwd", os.path.join(self.kairo.workspace, "link.png"))
        for name, why in (("a.heic", "it is a HEIC picture; JPEG, PNG, WebP and GIF can be shown"),
                          ("bomb.png", "it has 20000 x 20000 pixels, and at most 40 million"),
                          ("cut.png", "it is damaged"), ("a.pdf", "it is a PDF document"),
                          ("link.png", "links are not followed"), ("none.png", "there is no none.png"),
                          (os.path.join(self.kairo.dir, "state.db"), "outside the workspace")):
            with self.subTest(name=name):
                text, found = self.see("@image:" + name)
                self.assertIn("[The picture %s is not shown to you: " % name, text)
                self.assertIn(why, text)
                self.assertEqual(found, [])

    def test_several_come_in_order(self):
        for i, kind in enumerate((samples.png, samples.gif, samples.jpeg)):
            self.put("%d.x" % i, kind())
        _, found = self.see("@image:2.x @image:0.x @image:1.x")
        self.assertEqual([samples.size(f[1]) for f in found], [(64, 48), (32, 24), (16, 16)])

    def test_a_provider_without_pictures_is_asked_once_more(self):
        self.put("a.png", samples.png())
        self.sim.script({"status": 400, "body": {"error": {"message": "this model does not support images"}}},
                        {"text": "blind"})
        self.assertEqual(self.ask("@image:a.png"), ["blind"])
        self.assertEqual(len(self.user(-2)[1]), 1)
        text, found = self.user()
        self.assertIn("is not shown to you: whoever serves the model has refused it", text)
        self.assertEqual(found, [])


class Received(Looking):
    """What the phone sends, seen by the model and read by its tools."""

    def received(self, name):
        return glob.glob(os.path.join(self.kairo.dir, "media", "*", "*", name))[0]

    def call(self, name, **arguments):
        """One turn in which the model makes one call; what the tool told it."""
        self.sim.script({"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "done"})
        self.assertEqual(self.ask("go on"), ["done"])
        return self.sim.model_requests()[-1]["body"]["messages"][-1]["content"]

    def test_a_picture_and_its_question_are_seen_together(self):
        self.sim.script({"text": "It is red."}, {"text": "Still red."})
        before = len(self.sim.sent())
        self.sim.inject_image(samples.jpeg(orientation=6))
        self.sim.inject_image(samples.png())
        self.sim.inject("what colour is that?")
        self.sim.wait("sent", before + 1)
        text, found = self.user()
        self.assertIn("what colour is that?", text)
        self.assertIn("[Picture 2, shown with this message only: ", text)
        self.assertEqual([samples.size(f[1]) for f in found], [(48, 64), (32, 24)])
        self.assertEqual(self.ask("and now?"), ["Still red."])
        self.assertEqual(self.user()[1], [])

    def test_a_picture_that_is_quoted_is_seen_again(self):
        self.sim.script({"text": "seen"}, repeat=True)
        sent = self.sim.inject_image(samples.png())
        self.sim.wait("sent", 1)
        self.sim.quote("and this one?", sent[-1]["id"])
        self.sim.wait("sent", 2)
        text, found = self.user()
        self.assertIn("and this one?", text)
        self.assertEqual([samples.size(f[1]) for f in found], [(32, 24)])

    def test_a_picture_that_was_sent_as_a_file_is_seen(self):
        """As originals are: what it is is told by its content, whatever the sender says of it."""
        for data, name, wanted in ((samples.png(), "scan.txt", (32, 24)), (samples.jpeg(orientation=6), "IMG_1.JPG", (48, 64))):
            self.sim.script({"text": "seen"})
            before = len(self.sim.sent())
            self.sim.inject_file(data, name=name)
            self.sim.wait("sent", before + 1)
            text, found = self.user()
            self.assertIn("[attachment: file %s, image/" % name, text)
            self.assertEqual([samples.size(f[1]) for f in found], [wanted])

    def test_what_comes_and_cannot_be_shown_is_told(self):
        """It is kept as it came, and the model does not see it. What a size claims is looked at before any of it is decoded."""
        for data, why in ((samples.heic(), "it is a HEIC picture; JPEG, PNG, WebP and GIF can be shown"),
                          (samples.png_bomb(), "it has 20000 x 20000 pixels, and at most 40 million"),
                          (samples.png()[:-30], "it is damaged")):
            with self.subTest(why):
                self.sim.script({"text": "I have not seen it."})
                before = len(self.sim.sent())
                self.sim.inject_image(data)
                self.sim.wait("sent", before + 1)
                text, found = self.user()
                self.assertIn("is not shown to you: " + why, text)
                self.assertIn("tell the user that you have not, and why", text)
                self.assertEqual(found, [])
                path = re.search(r", (/[^\]]+)\]", text).group(1)
                with open(path, "rb") as f:
                    self.assertEqual(f.read(), data)

    def test_tools_read_what_was_received_and_no_more(self):
        self.sim.script({"text": "seen"})
        self.sim.inject_file(b"the secret is 42\n", name="note.txt")
        self.sim.wait("sent", 1)
        path = self.received("note.txt")
        other = os.path.join(self.kairo.dir, "media", "0123456789abcdef")
        os.mkdir(other)
        with open(os.path.join(other, "theirs.txt"), "w") as f:
            f.write("another's secret")
        os.symlink(os.path.join(other, "theirs.txt"), os.path.join(os.path.dirname(path), "link.txt"))
        self.assertIn("the secret is 42", self.call("read_file", path=path))
        self.assertIn("note.txt", self.call("list_dir", path=os.path.dirname(path)))
        self.assertIn("the secret is 42", self.call("grep", pattern="secret", path=os.path.dirname(path)))
        for tool, arguments in (
                ("read_file", {"path": os.path.join(other, "theirs.txt")}),
                ("read_file", {"path": os.path.join(os.path.dirname(path), "link.txt")}),
                ("read_file", {"path": os.path.join(self.kairo.dir, "config.toml")}),
                ("list_dir", {"path": os.path.join(self.kairo.dir, "media")}),
                ("write_file", {"path": path, "content": "changed"}),
                ("write_file", {"path": path + ".new", "content": "new"})):
            with self.subTest(tool=tool, **arguments):
                said = self.call(tool, **arguments)
                self.assertRegex(said, "outside the workspace|links are not followed|may only be read")
        with open(path) as f:
            self.assertEqual(f.read(), "the secret is 42\n")


@unittest.skipUnless(os.geteuid() == 0, "only root can give a folder away")
class Foreign(Looking):
    """Kairo runs as root and the workspace is another one's: tools work as that one, who may not look into our folder.
    Nothing is opened up for them; the model is told why, and so is whoever asks for the status."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        os.chown(self.kairo.workspace, 65534, 65534)
        self.kairo.run("restart")

    def test_what_was_received_is_out_of_reach_and_said_to_be(self):
        why = "is out of reach: tools work as user 65534, who owns the workspace"
        self.sim.script({"text": "told"})
        self.sim.inject_image(samples.png())
        self.sim.wait("sent", 1)
        text, found = self.user()
        self.assertEqual(found, [])
        self.assertIn("is not shown to you: ", text)
        self.assertIn(why, text)
        path = glob.glob(os.path.join(self.kairo.dir, "media", "*", "*", "*"))[0]
        for name, arguments in (("read_file", {"path": path}), ("list_dir", {"path": os.path.dirname(path)})):
            self.sim.script({"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "told"})
            self.assertEqual(self.ask("go on"), ["told"])
            self.assertIn(why, self.sim.model_requests()[-1]["body"]["messages"][-1]["content"])
        # Others are told nothing of the kind, and what is the workspace's is shown.
        for other, said in ((os.path.join(self.kairo.dir, "state.db"), "outside the workspace"), ("a.png", "")):
            self.put("a.png", samples.png())
            os.chmod(os.path.join(self.kairo.workspace, "a.png"), 0o644)
            text, found = self.see("@image:" + other)
            self.assertNotIn("out of reach", text)
            self.assertEqual(len(found), 0 if said else 1, text)
            self.assertIn(said, text)
        self.assertIn("user: 65534, who cannot read what is received", self.kairo.status()["sandbox"])


class Blind(Looking):
    vision = "auto"  # and nothing is known of the model "demo"

    def test_the_model_is_told_that_it_sees_nothing(self):
        self.put("a.png", samples.png())
        text, found = self.see("@image:a.png")
        self.assertIn("a.png is not shown to you: the model in use takes no pictures. Do not guess what it shows; unless "
                      "you see it some other way, tell the user that you have not, and why.", text)
        self.assertEqual(found, [])


AGENT = r"""
import json, os, sys, urllib.parse
blind = sys.argv[1] == "blind"

def say(**members):
    sys.stdout.write(json.dumps(dict(members, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()

def tried(what, do):
    try:
        return "%s: %s" % (what, do())
    except OSError:
        return what + ": refused"

def look(path):
    home = path.split("/media/")[0]
    with open(path) as f:
        read = f.read().strip()
    return [read, tried("write", lambda: open(path, "a").close()), tried("home", lambda: os.listdir(home)),
            tried("database", lambda: open(home + "/state.db").close())]

for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say(id=m["id"], result={"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {"image": not blind}}})
    elif m.get("method") == "session/new":
        say(id=m["id"], result={"sessionId": "s"})
    elif m.get("method") == "session/prompt":
        said = []
        for b in m["params"]["prompt"][1:]:
            if b["type"] == "text" and not b["text"].startswith("[Picture 1"):
                continue  # what agents are told at the beginning
            said.append(b["type"] + (" " + b["mimeType"] if "mimeType" in b else ""))
            if b["type"] == "resource_link" and b["name"].endswith(".txt"):
                said += look(urllib.parse.unquote(urllib.parse.urlparse(b["uri"]).path))
        say(method="session/update", params={"sessionId": "s", "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": " | ".join(said) or "nothing"}}})
        say(id=m["id"], result={"stopReason": "end_turn"})
    elif "id" in m:
        say(id=m["id"], result={})
"""


class Agent(Case):
    """What an agent gets of the files of a message, and what it can reach of Kairo's own folder."""

    def begin(self, mode):
        folder = os.path.join(self.folder, "agent")
        os.mkdir(folder)
        path = os.path.join(folder, "agent.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(AGENT)
        self.kairo.config(engine="acp", language="en", acp__command=["/usr/bin/python3", path, mode],
                          acp__write=[folder])
        self.kairo.start()

    def send(self, *media):
        before = len(self.sim.sent())
        self.sim.inject(messages=[{"media": m} for m in media])
        self.sim.wait("sent", before + 1)
        return self.sim.texts()[before]

    def test_pictures_are_blocks_and_other_files_are_links_that_can_be_read(self):
        self.begin("seeing")
        picture = base64.b64encode(samples.gif()).decode()
        self.assertEqual(self.send({"kind": "image", "data_b64": picture}), "text | image image/png")
        said = self.send({"kind": "file", "text": "the secret is 42", "name": "a note.txt"})
        self.assertIn("resource_link text/plain | the secret is 42 | ", said)
        probe = subprocess.run([TOOL, "probe", self.kairo.workspace], capture_output=True)
        if json.loads(probe.stdout)["namespaces"]:
            self.assertIn("| write: refused | home: ['media'] | database: refused", said)

    def test_an_agent_without_sight_gets_links(self):
        self.begin("blind")
        picture = base64.b64encode(samples.png()).decode()
        self.assertEqual(self.send({"kind": "image", "data_b64": picture}), "resource_link image/png")
        self.assertEqual(self.ask("hello"), ["nothing"])


class Helper(unittest.TestCase):
    def test_the_largest_picture_fits_into_little_memory(self):
        folder = tempfile.mkdtemp(prefix="kairo-bb-")
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "p"), "wb") as f:
            f.write(samples.png_bomb(8000, 5000))
        down, line = os.pipe()
        events, up = os.pipe()
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (down, up)]  # out of the way of 3 and 4
        os.close(down)
        os.close(up)

        def prepare():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
            # 40 million pixels of four bytes each, and little more.
            resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
        p = subprocess.Popen([TOOL, "call"], close_fds=False,
                             preexec_fn=prepare, env={})
        for fd in ends:
            os.close(fd)
        request = {"tool": "picture", "args": {"path": "p"}, "workspace": folder, "required": False}
        os.write(line, json.dumps(request).encode() + b"\n")
        with os.fdopen(events, "rb") as f:
            result = json.loads(f.read().splitlines()[-1])
        os.close(line)
        p.wait()
        self.assertTrue(result["ok"], result["text"])
        self.assertEqual(samples.size(base64.b64decode(result["text"].split("\n", 2)[2])), (8000, 5000))


if __name__ == "__main__":
    main()
