"""Uploads, downloads and what the phone opens (wire reference, section 9, 14.5 and 14.6)."""

import base64
import hashlib
import http.client
import socket
import ssl

from simlib import ControlError, SimTest, main

# Section 14: the key 00112233445566778899aabbccddeeff and what it makes of three texts.
KEY = bytes.fromhex("00112233445566778899aabbccddeeff")
VECTORS = {
    b"": "00657ea140655a44782747705d422fad",
    b"hello ilink": "b7b86f6a7e5ca4c39d8da094d17d2f95",
    b"0123456789abcdef": "aebdd39b144089d5e31cacd35b7a113a00657ea140655a44782747705d422fad",
}
HEX_FORM = "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY="
RAW_FORM = "ABEiM0RVZneImaq7zN3u/w=="


def grant(plain, media_type=3, **change):
    body = {"filekey": "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "media_type": media_type,
            "to_user_id": "o9cqSimOwner7Qk@im.wechat", "rawsize": len(plain),
            "rawfilemd5": hashlib.md5(plain).hexdigest(), "filesize": (len(plain) // 16 + 1) * 16,
            "no_need_thumb": True, "aeskey": KEY.hex()}
    body.update(change)
    return body


class Uploads(SimTest):
    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def put(self, url, body, method="POST", headers=None):
        return self.sim.http(method, url, body, headers or
                             {"Content-Type": "application/octet-stream"})

    def upload(self, plain=b"hello ilink", media_type=3):
        told = self.c.ask("getuploadurl", grant(plain, media_type))
        status, headers, _ = self.put(told["upload_full_url"], bytes.fromhex(VECTORS[plain]))
        self.assertEqual(status, 200)
        return headers["x-encrypted-param"]

    def send_item(self, item):
        return self.c.send(item_list=[item])

    def file_item(self, param, **change):
        item = {"media": {"encrypt_query_param": param, "aes_key": HEX_FORM, "encrypt_type": 1},
                "file_name": "a.txt", "len": "11"}
        item.update(change)
        return {"type": 4, "file_item": item}

    def test_the_published_vectors_are_accepted_and_opened(self):
        for plain in VECTORS:
            param = self.upload(plain)
            self.send_item(self.file_item(param, len=str(len(plain))))
            d = self.sim.get("sent")["sent"][-1]
            self.assertEqual(d["media_state"], "opens")
            status, _, got = self.sim.http(
                "GET", f"{self.sim.urls['control']}/control/media?id={d['media']}")
            self.assertEqual((status, got), (200, plain))
        self.assertEqual(self.sim.rules(), [])

    def test_the_header_comes_in_any_case(self):
        names = set()
        for _ in range(3):
            url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
            host, path = url[7:].split("/", 1)
            connection = http.client.HTTPConnection(host, timeout=10)
            connection.request("POST", "/" + path, bytes.fromhex(VECTORS[b"hello ilink"]),
                               {"Content-Type": "application/octet-stream"})
            names |= {k for k, _ in connection.getresponse().getheaders()
                      if k.lower() == "x-encrypted-param"}
            connection.close()
        self.assertEqual(len(names), 3)

    def test_wrong_fields_get_no_url(self):
        for change in ({"filekey": "zz"}, {"aeskey": "00" * 15}, {"filesize": 11},
                       {"media_type": 5}, {"rawfilemd5": "?"}):
            self.assertEqual(self.c.ask("getuploadurl", grant(b"hello ilink", **change))["ret"], -2,
                             change)
        self.assertEqual(set(self.sim.rules()), {"upload_fields"})

    def test_a_file_is_padded_to_the_next_block(self):
        for raw, padded in ((0, 16), (1, 16), (15, 16), (16, 32), (17, 32), (100, 112)):
            told = [self.c.ask("getuploadurl", grant(bytes(raw), filesize=n))["ret"]
                    for n in (padded - 1, padded, padded + 1, padded + 16)]
            self.assertEqual(told, [-2, 0, -2, -2], raw)

    def test_kinds_of_files_are_1_to_4(self):
        told = [self.c.ask("getuploadurl", grant(b"", n))["ret"] for n in (0, 1, 2, 3, 4, 5)]
        self.assertEqual(told, [-2, 0, 0, 0, 0, -2])

    def test_what_was_uploaded_as_one_kind_is_not_sent_as_another(self):
        self.send_item(self.file_item(self.upload(media_type=1)))
        self.assertEqual(self.sim.get("sent")["sent"][0]["media_state"], "wrong type")
        media = {"encrypt_query_param": self.upload(), "aes_key": HEX_FORM, "encrypt_type": 0}
        self.send_item(self.file_item("", media=media))
        self.assertEqual(self.sim.rules(), ["media_type", "media_type"])
        media = {"encrypt_query_param": self.upload(), "aes_key": HEX_FORM, "encrypt_type": 1, "full_url": "x"}
        self.send_item(self.file_item("", media=media))
        self.assertIn("media_extra", self.sim.notes())

    def test_the_form_of_an_upload(self):
        body = bytes.fromhex(VECTORS[b"hello ilink"])
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        self.assertEqual(self.put(url, body, headers={"Content-Type": "text/plain"})[0], 200)
        self.assertEqual(self.sim.rules(), ["upload_type"])
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        host, path = url[7:].split("/", 1)
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("POST", "/" + path, iter([body]), {"Content-Type": "application/octet-stream"},
                           encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.assertEqual(self.sim.rules(), ["upload_type", "upload_chunked"])

    def test_PUT_is_not_found(self):
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        self.assertEqual(self.put(url, b"x" * 16, "PUT")[0], 404)
        self.assertIn("upload_method", self.sim.rules())

    def test_a_url_serves_once(self):
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        body = bytes.fromhex(VECTORS[b"hello ilink"])
        self.assertEqual(self.put(url, body)[0], 200)
        self.assertEqual(self.put(url, body)[0], 403)

    def test_what_does_not_decrypt_to_the_file_is_refused(self):
        for body in (bytes(16), bytes.fromhex(VECTORS[b""]), b"short"):
            url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
            status, headers, _ = self.put(url, body)
            self.assertEqual(status, 400)
            self.assertTrue(headers["x-error-message"])

    def test_the_token_must_not_reach_the_cdn(self):
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        self.put(url, bytes.fromhex(VECTORS[b"hello ilink"]),
                 headers={"Content-Type": "application/octet-stream", "Authorization": "Bearer x",
                          "X-WECHAT-UIN": "Nw=="})
        self.assertEqual(self.sim.rules(), ["token_on_cdn", "header_on_cdn"])

    def test_a_raw_key_arrives_and_does_not_open(self):
        media = {"encrypt_query_param": self.upload(), "aes_key": RAW_FORM, "encrypt_type": 1}
        self.assertEqual(self.send_item(self.file_item("", media=media)).get("ret", 0), 0)
        self.assertEqual(self.sim.get("sent")["sent"][0]["media_state"], "wrong key")
        self.assertEqual(self.sim.rules(), ["media_key"])

    def test_sizes_count(self):
        self.send_item(self.file_item(self.upload(), len="16"))
        param = self.upload(media_type=1)
        media = {"encrypt_query_param": param, "aes_key": HEX_FORM, "encrypt_type": 1}
        self.send_item({"type": 2, "image_item": {"media": media, "mid_size": 11}})
        self.send_item({"type": 2, "image_item": {"media": media, "mid_size": 16}})
        self.assertEqual([d["media_state"] for d in self.sim.get("sent")["sent"]],
                         ["wrong size", "wrong size", "opens"])

    def test_an_unknown_parameter_is_not_sent(self):
        self.assertEqual(self.send_item(self.file_item("nonsense")),
                         {"ret": -2, "errmsg": "prepare failed"})

    def test_a_voice_is_taken_and_never_shown(self):
        media = {"encrypt_query_param": self.upload(media_type=4), "aes_key": HEX_FORM,
                 "encrypt_type": 1}
        self.assertEqual(self.send_item({"type": 3, "voice_item": {"media": media}}).get("ret", 0), 0)
        self.assertEqual(self.sim.get("sent")["sent"], [])
        self.assertEqual(self.sim.rules(), ["voice_item"])

    def test_the_token_can_be_demanded(self):
        self.sim.post("set", upload_token=1)
        self.assertEqual(self.c.ask("getuploadurl", grant(b"")), {"ret": -2})
        self.assertEqual(self.c.ask("getuploadurl",
                                    grant(b"", context_token=self.c.context))["ret"], 0)

    def test_faults_of_the_cdn(self):
        body = bytes.fromhex(VECTORS[b"hello ilink"])
        url = self.c.ask("getuploadurl", grant(b"hello ilink"))["upload_full_url"]
        self.sim.post("fault", endpoint="cdn_upload", kind="500", times=2)
        self.sim.post("fault", endpoint="cdn_upload", kind="no_param")
        self.sim.post("fault", endpoint="cdn_upload", kind="cdn_error", errmsg="expired",
                      errcode=-5102031)
        self.assertEqual([self.put(url, body)[0] for _ in range(2)], [500, 500])
        status, headers, _ = self.put(url, body)
        self.assertEqual((status, headers["x-encrypted-param"]), (200, None))
        status, headers, _ = self.put(url, body)
        self.assertEqual((status, headers["x-error-message"], headers["x-error-code"]),
                         (403, "expired", "-5102031"))
        self.assertTrue(self.put(url, body)[1]["x-encrypted-param"])

    def test_a_delivered_file_is_described(self):
        self.send_item(self.file_item(self.upload()))
        told = self.sim.get("sent")["sent"][0]["file"]
        self.assertEqual((told["name"], told["size"], told["sha256"], told["type"]),
                         ("a.txt", 11, hashlib.sha256(b"hello ilink").hexdigest(),
                          "application/octet-stream"))

    def raw_upload(self, url, body):
        """The connection, after the head and all of the body that the server would take."""
        host, path = url.split("//")[1].split("/", 1)
        s = socket.create_connection(host.split(":"), timeout=20)
        s.sendall(("POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/octet-stream\r\n"
                   "Content-Length: %d\r\n\r\n" % (path, host, len(body))).encode())
        return s

    def test_an_upload_is_cut_in_the_middle(self):
        url = self.c.ask("getuploadurl", grant(b"0123456789abcdef"))["upload_full_url"]
        body = bytes.fromhex(VECTORS[b"0123456789abcdef"])
        self.sim.post("fault", endpoint="cdn_upload", kind="cut_body", bytes=16)
        with self.raw_upload(url, body) as s:
            s.sendall(body[:16])
            with self.assertRaises(ConnectionResetError):
                s.recv(1)
        self.assertEqual(self.sim.count("uploads"), 0)
        self.assertEqual(self.sim.count("uploads_begun"), 1)
        told = self.sim.get("requests", endpoint="cdn_upload")["requests"]
        self.assertEqual([r["outcome"] for r in told], ["cut_body"])
        self.assertEqual(self.put(url, body)[0], 200, "the grant is as good as before")

    def test_an_upload_is_read_slowly(self):
        plain = bytes(5000)
        body = self.sim.encrypt(KEY, plain)
        for n, ms in ((1, 20), (2, 0)):
            told = self.c.ask("getuploadurl", grant(plain))
            self.sim.post("fault", endpoint="cdn_upload", kind="slow_body", bytes=1024, ms=ms)
            with self.raw_upload(told["upload_full_url"], body) as s:
                s.sendall(body)
                self.assertTrue(self.sim.wait("uploads_begun", n))
                self.assertIn(b" 200 OK", s.recv(4096))
            self.assertEqual(self.sim.count("uploads"), n)

    def test_a_file_of_100_MiB_goes_through(self):
        size = 100 << 20
        body = self.sim.encrypt(KEY, bytes(size))
        told = self.c.ask("getuploadurl", grant(b"", rawsize=size, filesize=len(body),
                                                rawfilemd5=hashlib.md5(bytes(size)).hexdigest()))
        status, headers, _ = self.put(told["upload_full_url"], body)
        self.assertEqual(status, 200)
        got = self.sim.http("GET", self.sim.urls["cdn"] + "/download?encrypted_query_param=" +
                            headers["x-encrypted-param"])[2]
        self.assertTrue(got == body)

    def test_more_than_128_MiB_is_not_taken(self):
        url = self.c.ask("getuploadurl", grant(b""))["upload_full_url"]
        with self.raw_upload(url, range((128 << 20) + 1)) as s:
            self.assertIn(b" 413 ", s.recv(4096))

    def test_faults_of_the_grant(self):
        self.sim.post("fault", endpoint="getuploadurl", kind="no_full_url")
        told = self.c.ask("getuploadurl", grant(b"hello ilink"))
        self.assertNotIn("upload_full_url", told)
        built = (f"{self.sim.urls['cdn']}/upload?encrypted_query_param={told['upload_param']}"
                 "&filekey=0f1e2d3c4b5a69788796a5b4c3d2e1f0")
        self.assertEqual(self.put(built, bytes.fromhex(VECTORS[b"hello ilink"]))[0], 200)
        self.sim.post("fault", endpoint="getuploadurl", kind="foreign_url",
                      name="https://evil.example/u")
        self.assertEqual(self.c.ask("getuploadurl", grant(b""))["upload_full_url"],
                         "https://evil.example/u")
        self.sim.post("fault", endpoint="getuploadurl", kind="no_url")
        self.assertEqual(self.c.ask("getuploadurl", grant(b"")), {"ret": 0})
        self.sim.post("fault", endpoint="getuploadurl", kind="expired")
        self.assertEqual(self.c.ask("getuploadurl", grant(b""))["errcode"], -14)
        self.sim.post("fault", endpoint="getuploadurl", kind="ret", ret=-2)
        self.assertEqual(self.c.ask("getuploadurl", grant(b"")), {"ret": -2})


class Downloads(SimTest):
    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def inject(self, **spec):
        self.sim.post("inject", media=spec)
        return self.c.poll()[0]["item_list"][0]

    def fetch(self, media):
        return self.sim.http("GET", media["full_url"])

    def test_a_file_is_described_and_fetched(self):
        item = self.inject(kind="file", name="报告.pdf", text="0123456789abcdef")
        f = item["file_item"]
        self.assertEqual((item["type"], f["file_name"], f["len"], f["md5"]),
                         (4, "报告.pdf", "16", "4032af8d61035123906e58e067140cc5"))
        key = base64.b64decode(f["media"]["aes_key"])
        self.assertRegex(key, rb"^[0-9a-f]{32}$")
        status, _, body = self.fetch(f["media"])
        self.assertEqual((status, len(body)), (200, 32))
        self.assertEqual(self.sim.count("downloads"), 1)

    def test_the_key_comes_in_every_form(self):
        raw = self.inject(kind="image", text="p", key_form="raw")["image_item"]
        self.assertEqual(len(base64.b64decode(raw["media"]["aes_key"])), 16)
        aeskey = self.inject(kind="image", text="p", key_form="aeskey")["image_item"]
        self.assertRegex(aeskey["aeskey"], r"^[0-9a-f]{32}$")
        self.assertNotIn("aes_key", aeskey["media"])
        plain = self.inject(kind="image", text="plain", key_form="none")["image_item"]
        self.assertNotIn("aes_key", plain["media"])
        self.assertEqual(self.fetch(plain["media"])[2], b"plain")

    def test_a_key_can_be_any_text(self):
        f = self.inject(kind="file", text="x", aes_key="?")["file_item"]
        self.assertEqual(f["media"]["aes_key"], "?")

    def test_a_size_can_lie(self):
        self.assertEqual(self.inject(kind="file", text="x", claim=7)["file_item"]["len"], "7")
        self.assertEqual(self.inject(kind="image", text="x", claim=0)["image_item"]["mid_size"], 0)
        self.assertEqual(self.inject(kind="video", text="x", claim=9)["video_item"]["video_size"], 9)

    def test_bytes_are_made_up_to_any_size(self):
        for size in (0, 1, 65535, 65536, 65537, 200000):
            media = self.inject(kind="image", size=size, key_form="none")["image_item"]["media"]
            want = bytes((i * 31 + (i % 65536 >> 8)) & 255 for i in range(size))
            self.assertTrue(self.fetch(media)[2] == want, size)
        with self.assertRaises(ControlError):
            self.sim.post("inject", media={"kind": "file", "size": 128 << 20})

    def test_a_download_is_cut_or_slow(self):
        media = self.inject(kind="file", size=1000)["file_item"]["media"]
        good = self.fetch(media)[2]
        self.sim.post("fault", endpoint="cdn_download", kind="cut", bytes=100)
        with self.assertRaises(http.client.IncompleteRead) as cut:
            self.fetch(media)
        self.assertEqual(cut.exception.partial, good[:100])
        self.sim.post("fault", endpoint="cdn_download", kind="slow", bytes=400, ms=5)
        self.assertEqual(self.fetch(media)[2], good)
        told = self.sim.get("requests", endpoint="cdn_download")["requests"]
        self.assertEqual([r["outcome"] for r in told], ["answered", "cut", "slow"])

    def test_what_a_person_sent_is_there_for_the_page(self):
        made = self.sim.post("inject", media={"kind": "file", "name": "a/<b>.txt", "text": "x"})
        told = made["messages"][0]["file"]
        self.assertEqual((told["kind"], told["name"], told["size"]), ("file", "a/<b>.txt", 1))
        got = self.sim.http("GET", f"{self.sim.urls['control']}/control/media?id={told['id']}")
        self.assertEqual((got[0], got[2], got[1]["X-Content-Type-Options"]), (200, b"x", "nosniff"))

    def test_a_long_name_is_cut_between_characters(self):
        made = self.sim.post("inject", media={"kind": "file", "name": "长" * 300, "text": "x"})
        self.assertEqual(made["messages"][0]["file"]["name"], "长" * 85)
        self.assertEqual(self.c.poll()[0]["item_list"][0]["file_item"]["file_name"], "长" * 300)

    def test_a_picture_and_its_text_come_in_either_order_and_in_one_poll(self):
        picture, text = {"media": {"kind": "image", "text": "p"}}, {"text": "what is it?"}
        for order, types in (([picture, text], [2, 1]), ([text, picture], [1, 2])):
            self.sim.post("inject", messages=order)
            got = self.c.poll()
            self.assertEqual([m["item_list"][0]["type"] for m in got], types)
            self.assertEqual(len({m["message_id"] for m in got}), 2)

    def test_a_voice_and_a_video(self):
        voice = self.inject(kind="voice", size=100, transcript="你好")["voice_item"]
        self.assertEqual((voice["text"], voice["encode_type"], voice["sample_rate"]),
                         ("你好", 4, 16000))
        video = self.inject(kind="video", size=100)["video_item"]
        self.assertEqual(video["video_size"], 112)

    def test_a_url_elsewhere_or_none(self):
        m = self.inject(kind="file", text="x", full_url="https://evil.example/x")["file_item"]
        self.assertEqual(m["media"]["full_url"], "https://evil.example/x")
        m = self.inject(kind="file", text="x", no_full_url=True)["file_item"]
        self.assertNotIn("full_url", m["media"])
        url = (self.sim.urls["cdn"] + "/download?encrypted_query_param=" +
               m["media"]["encrypt_query_param"])
        self.assertEqual(self.sim.http("GET", url)[0], 200)

    def test_broken_padding_and_no_encryption(self):
        media = self.inject(kind="file", text="hello ilink")["file_item"]["media"]
        good = self.fetch(media)[2]
        self.sim.post("fault", endpoint="cdn_download", kind="bad_padding")
        bad = self.fetch(media)[2]
        self.assertEqual(len(bad) % 16, 0)
        self.assertNotEqual(bad, good)
        self.sim.post("fault", endpoint="cdn_download", kind="plain")
        self.assertEqual(self.fetch(media)[2], b"hello ilink")
        self.assertEqual(self.fetch(media)[2], good)

    def test_an_unknown_parameter_is_not_found(self):
        status, headers, _ = self.sim.http(
            "GET", self.sim.urls["cdn"] + "/download?encrypted_query_param=x")
        self.assertEqual(status, 404)
        self.assertTrue(headers["x-error-message"])


class Quotes(SimTest):
    """Section 5.5."""

    text = "早上好，今天天气不错。早上好，明天也不错。"

    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def quote(self, of, **spec):
        self.sim.post("inject", text="about this", quote=dict(spec, of=of))
        item = self.c.poll()[-1]["item_list"][0]
        self.assertEqual(item["text_item"]["text"], "about this")
        return item["ref_msg"]

    def write(self, **order):
        made = self.sim.post("inject", **order)["messages"][0]
        self.c.poll()
        return made["id"]

    def test_new_phones_send_an_id_alone(self):
        first = self.write(text="one")
        ref = self.quote(first)
        self.assertEqual((set(ref), str(ref["svr_id"])), ({"svr_id"}, first))
        ref = self.quote(first, style="msg_id")
        self.assertEqual(set(ref["message_item"]), {"type", "msg_id"})
        self.assertEqual((ref["message_item"]["type"], str(ref["message_item"]["msg_id"])), (0, first))

    def test_an_id_comes_as_number_and_as_string(self):
        first = self.write(text="one")
        self.assertEqual({type(self.quote(first)["svr_id"]) for _ in range(4)}, {int, str})

    def test_old_phones_send_the_text_or_the_file(self):
        ref = self.quote(self.write(text="one"), style="inline")
        self.assertEqual((ref["title"], ref["message_item"]["text_item"]), ("one", {"text": "one"}))
        ref = self.quote(self.write(media={"kind": "image", "text": "p"}), style="inline")
        item = ref["message_item"]
        self.assertEqual((ref["title"], item["type"]), ("[图片]", 2))
        self.assertEqual(self.sim.http("GET", item["image_item"]["media"]["full_url"])[0], 200)

    def test_the_bots_own_message_is_quoted_by_the_id_it_was_told(self):
        self.sim.post("set", answer_shape=1)
        told = self.c.send("my answer")["message_id"]
        self.assertEqual(str(self.quote(str(told))["svr_id"]), str(told))
        self.assertEqual(self.quote(str(told), style="inline")["title"], "my answer")

    def test_a_part_is_told_by_its_ends(self):
        of = self.write(text=self.text)
        want = {"start": "明天", "end": "不错", "startindex": 0, "endindex": 1,
                "quotemd5": "5e86a3745b35029493ecd1fd9c1c6c0d"}
        self.assertEqual(self.quote(of, part="明天也不错")["partial_text"], want)
        self.assertEqual(self.quote(of, part="明天也不错", index="relative")["partial_text"],
                         dict(want, endindex=0))
        second = self.quote(of, part="早上好", nth=1, md5=False)["partial_text"]
        self.assertEqual(second, {"start": "早上", "end": "上好", "startindex": 1, "endindex": 1})

    def test_a_part_gets_longer_ends_where_short_ones_overlap(self):
        of = self.write(text="aaab")
        self.assertEqual(self.quote(of, part="aab", md5=False)["partial_text"],
                         {"start": "aab", "end": "ab", "startindex": 0, "endindex": 0})
        part = self.quote(of, part="b", md5=False)["partial_text"]
        self.assertEqual(part, {"start": "b", "end": "b", "startindex": 0, "endindex": 0})

    def test_a_part_as_given_is_sent_as_it_stands(self):
        odd = {"start": 1, "end": None, "startindex": -1}
        self.assertEqual(self.quote("7", partial=odd)["partial_text"], odd)

    def test_what_cannot_be_quoted_is_refused(self):
        of = self.write(text="one")
        for order in ({"media": {"kind": "image", "text": "p"}, "quote": {"of": of}},
                      {"text": "x", "quote": {}}, {"text": "x", "quote": {"of": of, "part": "two"}},
                      {"text": "x", "quote": {"of": of, "part": "o", "index": "relative"}},
                      {"text": "x", "quote": {"of": "7", "style": "inline"}},
                      {"text": "x", "quote": {"of": "x"}}):
            with self.assertRaises(ControlError, msg=order):
                self.sim.post("inject", **order)

    def test_a_repeat_carries_its_quote_again(self):
        of = self.write(text="one")
        made = self.sim.post("inject", text="x", quote={"of": of, "part": "ne"})["messages"][0]
        self.assertEqual(made["quote"], "ne")
        self.sim.post("inject", dup_of=made["id"])
        refs = [m["item_list"][0]["ref_msg"] for m in self.c.poll()]
        self.assertEqual(refs[0], refs[1])


class Tls(SimTest):
    options = (*SimTest.options, "--tls")

    def test_the_cdn_speaks_tls_1_2_with_rsa_key_exchange_alone(self):
        host, port = self.sim.urls["cdn"][8:].split("/")[0].split(":")

        def shake(ciphers):
            context = ssl.create_default_context(cafile=self.sim.urls["ca"])
            context.set_ciphers(ciphers)
            with socket.create_connection((host, int(port)), timeout=10) as s, \
                    context.wrap_socket(s, server_hostname=host) as t:
                return t.version(), t.cipher()[0]
        self.assertEqual(shake("DEFAULT@SECLEVEL=1"), ("TLSv1.2", "AES256-GCM-SHA384"))
        with self.assertRaises(ssl.SSLError):
            shake("DEFAULT:!kRSA")


if __name__ == "__main__":
    main()
