"""Pictures on their way to the model, from the file to the request that shows them."""

import base64
import os
import struct

import samples
from harness import Case, main


def size(data):
    """Width and height of a PNG or JPEG."""
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    at = 2
    while not 0xc0 <= data[at + 1] <= 0xc2:
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


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
                self.assertEqual(size(found[0][1]), wanted)
                self.assertNotIn(b"taken at home", found[0][1])

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
        self.assertEqual([size(f[1]) for f in found], [(64, 48), (32, 24), (16, 16)])

    def test_a_provider_without_pictures_is_asked_once_more(self):
        self.put("a.png", samples.png())
        self.sim.script({"status": 400, "body": {"error": {"message": "this model does not support images"}}},
                        {"text": "blind"})
        self.assertEqual(self.ask("@image:a.png"), ["blind"])
        self.assertEqual(len(self.user(-2)[1]), 1)
        text, found = self.user()
        self.assertIn("is not shown to you: whoever serves the model has refused it", text)
        self.assertEqual(found, [])


class Blind(Looking):
    vision = "auto"  # and nothing is known of the model "demo"

    def test_the_model_is_told_that_it_sees_nothing(self):
        self.put("a.png", samples.png())
        text, found = self.see("@image:a.png")
        self.assertIn("a.png is not shown to you: the model in use takes no pictures", text)
        self.assertEqual(found, [])


if __name__ == "__main__":
    main()
