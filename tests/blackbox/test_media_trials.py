"""Pictures, files and voices through the whole program, as real phones and real media servers have been seen to treat them:
everything that a download can meet, and what is left for the person to read then."""

import base64
import os

import samples
from harness import Case, main


class Media(Case):
    def setUp(self):
        super().setUp()
        self.kairo.config(language="en", model__vision="on")
        self.sim.set(answer_shape=1)
        self.sim.script({"text": "seen"}, repeat=True)
        self.kairo.start()

    def media(self):
        """What lies in the folder of received files: {path below it: bytes}."""
        found, top = {}, os.path.join(self.kairo.dir, "media")
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, top)] = f.read()
        return found

    def prompt(self):
        """What the model was last told by the person, its texts joined, and how many pictures came with it."""
        body = self.sim.model_requests()[-1]["body"]
        said = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        if isinstance(said, str):
            return said, 0
        return "\n".join(p.get("text", "") for p in said), sum(p["type"] == "image_url" for p in said)

    def answered(self, deed, parts=1):
        """Do it, wait for `parts` things on the phone and for silence; what the phone shows then."""
        before = self.sim.sent()
        deed()
        self.sim.wait("sent", len(before) + parts)
        self.kairo.idle()
        return self.sim.sent()[len(before):]


class Received(Media):
    def test_a_file_of_every_kind_arrives_as_it_was(self):
        for name, make in samples.ALL.items():
            data = make()
            kind = {"png": "image", "jpg": "image", "gif": "image", "webp": "image", "heic": "image", "mp4": "video",
                    "silk": "voice"}.get(name.split(".")[1], "file")
            more = {"transcript": "what it says"} if kind == "voice" else {}
            self.answered(lambda: self.sim.inject_media(kind, data, name=name, **more))
            self.assertIn(data, self.media().values(), name)
            self.assertIn(os.path.join(self.kairo.dir, "media"), self.prompt()[0], name)

    def test_a_key_is_taken_in_every_form(self):
        for form in ("hex", "raw", "aeskey", "none"):
            data = samples.png(width=16 + len(form) * 2)
            self.answered(lambda: self.sim.inject_image(data, key_form=form))
            self.assertIn(data, self.media().values(), form)
            self.assertEqual(self.prompt()[1], 1, form)

    def test_what_cannot_be_fetched_is_told_and_leaves_nothing(self):
        """Broken padding, a cut, refusals, no key or one that is none."""
        trials = [({"endpoint": "cdn_download", "kind": "bad_padding", "times": -1}, {}),
                  ({"endpoint": "cdn_download", "kind": "cut", "bytes": 20, "times": -1}, {}),
                  ({"endpoint": "cdn_download", "kind": "cdn_error", "status": 404, "times": -1}, {}),
                  ({"endpoint": "cdn_download", "kind": "500", "times": -1}, {}),
                  ({"endpoint": "cdn_download", "kind": "reset", "times": -1}, {}),
                  (None, {"aes_key": "?"}), (None, {"key_form": "none"})]
        for fault, media in trials:
            self.sim.clear_faults()
            if fault:
                self.sim.fault(**fault)
            said = self.answered(lambda: self.sim.inject_file(samples.pattern(500), name="a.bin", **media))
            self.assertEqual(self.media(), {}, (fault, media))
            self.assertEqual(len(said), 1, said)
            self.assertNotRegex(said[0]["text"], r"invalid parameter|5102031|encrypted_query_param|127\.0\.0\.1")

    def test_what_fails_once_and_then_goes_well_is_fetched(self):
        self.sim.fault("cdn_download", "500")
        self.answered(lambda: self.sim.inject_file(b"after all", name="a.txt"))
        self.assertEqual(list(self.media().values()), [b"after all"])

    def test_an_address_elsewhere_is_not_asked_and_the_built_one_is(self):
        self.answered(lambda: self.sim.inject_file(b"here", full_url="https://evil.example/c2c/download?x=1"))
        self.assertEqual(list(self.media().values()), [b"here"])
        self.assertNotIn("evil.example", self.prompt()[0])
        self.assertNotIn("c2c/download", self.kairo.log() + self.prompt()[0])


class Together(Media):
    def test_a_picture_and_its_words_are_one_task(self):
        """In either order in one poll; in two the picture waits for its words, but words never wait."""
        image = {"media": {"kind": "image", "data_b64": base64.b64encode(samples.png()).decode()}}
        words = {"text": "what is it?"}
        for batch, messages in ((100, [image, words]), (100, [words, image]), (1, [image, words])):
            self.sim.set(batch=batch)
            before = self.sim.counts()["model_requests"]
            self.answered(lambda: self.sim.inject(messages=messages))
            text, pictures = self.prompt()
            self.assertIn("what is it?", text)
            self.assertEqual((pictures, self.sim.counts()["model_requests"] - before), (1, 1), (batch, messages[0]))

    def test_five_pictures_are_one_task(self):
        image = {"media": {"kind": "image", "data_b64": base64.b64encode(samples.jpeg()).decode()}}
        self.answered(lambda: self.sim.inject(messages=[image] * 5))
        self.assertEqual((self.prompt()[1], self.sim.counts()["model_requests"]), (5, 1))


class Voices(Media):
    def test_a_transcript_is_what_was_said(self):
        self.answered(lambda: self.sim.inject_voice(samples.silk(), transcript="turn the light on"))
        self.assertIn("turn the light on", self.prompt()[0])
        self.assertIn(samples.silk(), self.media().values())

    def test_a_voice_that_nobody_can_hear_is_told_so(self):
        """Whole, cut off, or no voice at all: an honest line, and no task."""
        for data in (samples.silk(), samples.silk(end=False), b"\x02#!SILK_V3", b"?", b""):
            said = self.answered(lambda: self.sim.inject_voice(data, encode_type=4))
            self.assertEqual(len(said), 1)
            self.assertRegex(said[0]["text"], "(?i)voice")
        self.assertEqual(self.sim.counts()["model_requests"], 0)


class Quotes(Media):
    def test_a_picture_is_quoted_and_seen_again(self):
        made = []
        self.answered(lambda: made.extend(self.sim.inject_image(samples.png())))
        for style in ("svr_id", "msg_id", "inline"):
            self.answered(lambda: self.sim.quote("and this?", made[0]["id"], style=style))
            self.assertEqual(self.prompt()[1], 1, style)


if __name__ == "__main__":
    main()
