"""Media as the field has seen them: every kind of file there and back, a picture apart from its words, and uploads that do not
go as they should. What a download can meet is in test_cdn.py, voices are in test_voice.py."""

import base64
import hashlib
import os
import re

import samples
from harness import Case, main

KINDS = {"png": "image", "jpg": "image", "gif": "image", "webp": "image", "heic": "image", "mp4": "video", "silk": "voice"}


class Media(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(language="en", model__vision="on")
        self.sim.set(answer_shape=1)
        self.kairo.start()

    def prompt(self):
        """What the model was last told by the person, its texts joined, and how many pictures came with it."""
        body = self.sim.model_requests()[-1]["body"]
        said = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        if isinstance(said, str):
            return said, 0
        return "\n".join(p.get("text", "") for p in said), sum(p["type"] == "image_url" for p in said)

    def answered(self, deed, *steps, parts=1):
        """Do it, let the model take these steps, wait for `parts` things on the phone and for silence; what came."""
        before = self.sim.sent()
        self.sim.script(*steps)
        deed()
        self.sim.wait("sent", len(before) + parts)
        self.kairo.idle()
        return self.sim.sent()[len(before):]


class There(Media):
    def test_every_kind_goes_to_the_agent_and_back_unchanged(self):
        for name, make in samples.ALL.items():
            data, kind = make(), KINDS.get(name.split(".")[1], "file")
            more = {"transcript": "what it says"} if kind == "voice" else {}
            self.answered(lambda: self.sim.inject_media(kind, data, name=name, **more), {"text": "seen"})
            path = re.search(r", (/[^\]]+)\]", self.prompt()[0]).group(1)
            with open(path, "rb") as f:
                self.assertEqual(f.read(), data, name)
            came = self.answered(lambda: self.sim.inject("back, please"), {"text": "[send-file: %s]" % path})
            self.assertEqual([(d["media_state"], d["file"]["sha256"]) for d in came],
                             [("opens", hashlib.sha256(data).hexdigest())], name)
            self.assertEqual(came[0]["file"]["kind"], {"a.silk": "file", "a.heic": "file"}.get(name, kind), name)

    def test_a_picture_and_its_words_are_one_task(self):
        """In either order in one poll; in two the picture waits for its words, but words never wait."""
        image = {"media": {"kind": "image", "data_b64": base64.b64encode(samples.png()).decode()}}
        words = {"text": "what is it?"}
        for batch, messages in ((100, [image, words]), (100, [words, image]), (1, [image, words])):
            self.sim.set(batch=batch)
            before = self.sim.counts()["model_requests"]
            self.answered(lambda: self.sim.inject(messages=messages), {"text": "seen"})
            text, pictures = self.prompt()
            self.assertIn("what is it?", text)
            self.assertEqual((pictures, self.sim.counts()["model_requests"] - before), (1, 1), (batch, messages[0]))


class Uploads(Media):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.kairo.workspace, "a.txt"), "w") as f:
            f.write("hello ilink")

    def send(self):
        return self.answered(lambda: self.sim.inject("send it"), {"text": "Here it is.\n\n[send-file: a.txt]"}, parts=2)

    def test_one_that_fails_is_tried_again_with_a_fresh_address(self):
        for fault in ({"kind": "no_param"}, {"kind": "500", "times": 2}, {"kind": "cut_body", "bytes": 4}, {"kind": "reset"}):
            self.sim.fault("cdn_upload", **fault)
            grants = len(self.sim.requests("getuploadurl"))
            self.assertEqual([d["media_state"] for d in self.send() if "file" in d], ["opens"], fault)
            self.assertEqual(len(self.sim.requests("getuploadurl")) - grants, 1 + fault.get("times", 1), fault)

    def test_an_address_elsewhere_is_not_sent_to_and_the_built_one_is(self):
        for fault in ("foreign_url", "no_full_url"):
            self.sim.fault("getuploadurl", fault)
            self.assertEqual([d["media_state"] for d in self.send() if "file" in d], ["opens"], fault)

    def test_one_that_never_works_is_told_in_one_line_and_costs_no_login(self):
        for endpoint, fault in (("cdn_upload", {"kind": "no_param"}), ("getuploadurl", {"kind": "no_url"}),
                                ("getuploadurl", {"kind": "ret", "ret": -2, "errmsg": "secret words"}),
                                ("getuploadurl", {"kind": "expired"})):
            self.sim.clear_faults()
            self.sim.fault(endpoint, times=-1, **fault)
            came = self.send()
            self.assertEqual([d["text"] for d in came[:1]], ["Here it is."], fault)
            self.assertIn("a.txt", came[1]["text"], fault)
            self.assertNotIn("secret words", came[1]["text"])
        self.sim.clear_faults()
        self.assertEqual(len(self.answered(lambda: self.sim.inject("still there?"), {"text": "I am."})), 1)


if __name__ == "__main__":
    main()
