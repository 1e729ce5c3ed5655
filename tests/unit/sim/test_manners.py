"""What is put down of clients that break the rules (wire reference, 1.3, 1.4 and section 14), and
the simulator's own manners."""

import base64
import contextlib
import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time

from simlib import BASE_INFO, OWNER, Client, ControlError, Sim, SimTest, main


class Rules(SimTest):
    def setUp(self):
        super().setUp()
        self.c = self.ready()

    def poll_with(self, headers=None, body=None, raw=None):
        body = {"get_updates_buf": self.c.cursor} if body is None else body
        self.c.call("getupdates", body, headers=headers or {}, raw=raw)
        return self.sim.rules()

    def test_a_polite_client_breaks_none(self):
        self.c.send("a")
        self.c.poll()
        self.assertEqual(self.sim.rules(), [])
        self.assertEqual(self.sim.notes(), [])

    def test_headers(self):
        for name, value, rule in (
                ("iLink-App-Id", None, "app_id"),
                ("iLink-App-Id", "robot", "app_id"),
                ("iLink-App-ClientVersion", None, "client_version"),
                ("iLink-App-ClientVersion", "2.4.9", "client_version"),
                ("iLink-App-ClientVersion", "1", "client_version_low"),
                ("AuthorizationType", None, "authorization_type"),
                ("AuthorizationType", "bearer", "authorization_type"),
                ("Content-Type", "text/plain", "content_type"),
                ("Authorization", "Token x", "token"),
                ("X-WECHAT-UIN", None, "uin"),
                ("X-WECHAT-UIN", "12345", "uin"),
                ("X-WECHAT-UIN", base64.b64encode(b"4294967296").decode(), "uin"),
                ("X-WECHAT-UIN", base64.b64encode(b"07").decode(), "uin"),
                ("X-WECHAT-UIN", base64.b64encode(b"-7").decode(), "uin")):
            self.sim.post("forget")
            self.assertIn(rule, self.poll_with({name: value}), (name, value))

    def test_headers_twice_and_a_token_where_none_belongs(self):
        host = self.sim.urls["api"].split("/")[2]
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.putrequest("GET", "/ilink/bot/get_qrcode_status?qrcode=x")
        for name, value in [*self.c.headers(False).items(), ("iLink-App-Id", "bot"), ("Authorization", "Bearer x")]:
            connection.putheader(name, value)
        connection.endheaders()
        connection.getresponse().read()
        connection.close()
        self.assertEqual(self.sim.rules(), ["repeated_header", "token_unwanted"])

    def test_the_request_for_a_code(self):
        for path, body, rules in (("?bot_type=3", {"local_token_list": ["t"] * 10}, []),
                                  ("?bot_type=3", {"local_token_list": ["t"] * 11}, ["too_many_tokens"]),
                                  ("?bot_type=2", {"local_token_list": []}, ["bot_type"]),
                                  ("?bot_type=3", {}, ["wrong_type"])):
            self.sim.post("forget")
            Client(self.sim).call("get_bot_qrcode" + path, raw=json.dumps(body).encode())
            self.assertEqual(self.sim.rules(), rules, body)
        self.sim.post("forget")
        Client(self.sim).call("get_bot_qrcode?bot_type=3", {"local_token_list": []})
        self.assertEqual(self.sim.notes(), ["base_info_unwanted"])

    def test_typing_is_1_or_2_and_has_a_ticket(self):
        told = self.c.ask("getconfig", {"ilink_user_id": self.c.user})
        body = {"ilink_user_id": self.c.user, "typing_ticket": told["typing_ticket"]}
        self.c.ask("sendtyping", {**body, "status": 3})
        self.assertEqual((self.sim.rules(), self.sim.notes()), (["typing_status"], []))
        self.assertEqual(self.c.ask("sendtyping", {**body, "typing_ticket": "?", "status": 1})["ret"], -2)
        self.assertEqual(self.sim.notes(), ["typing_ticket"])

    def test_what_is_a_matter_of_taste_is_noted(self):
        first = self.c.context
        self.sim.post("inject", text="second")
        self.c.poll()
        self.c.context = first
        self.c.send("a")
        self.assertEqual(self.sim.notes(), ["context_token_old"])
        self.sim.post("forget")
        self.sim.post("inject", text="third")
        self.c.context = None
        time.sleep(0.11)
        self.c.send("b")
        self.assertEqual(self.sim.notes(), ["no_context_token"])
        self.sim.post("forget")
        body = {"get_updates_buf": self.c.cursor, "base_info": {"channel_version": "2.4.9"}}
        self.c.call("getupdates", raw=json.dumps(body).encode())
        self.c.call("getupdates", {"get_updates_buf": ""}, headers={"Authorization": "Bearer unknown"})
        self.assertEqual((self.sim.notes(), self.sim.rules()), (["bot_agent", "token_unknown"], []))

    def test_a_uin_serves_once(self):
        uin = {"X-WECHAT-UIN": base64.b64encode(b"4294967295").decode()}
        self.assertEqual(self.poll_with(uin), [])
        self.assertEqual(self.poll_with(uin), ["uin_not_fresh"])

    def test_base_info(self):
        for info, rule in (
                (None, "base_info"), ("x", "base_info"),
                ({"bot_agent": "A/1"}, "missing_field"),
                ({"channel_version": "2.4.8"}, "channel_version"),
                ({"channel_version": "new"}, "channel_version"),
                ({"channel_version": 2}, "wrong_type")):
            self.sim.post("forget")
            body = {"get_updates_buf": self.c.cursor}
            if info is not None:
                body["base_info"] = info
            self.assertEqual(self.poll_with(raw=json.dumps(body).encode()), [rule], info)

    def test_bot_agent_has_a_grammar(self):
        good = ("A/1", "Kairo/0.1.0 (linux; x86_64)", "A/1 B/2", "A/1 (c) B/2+x (d)",
                "n" * 32 + "/" + "v" * 32)
        bad = ("", "A", "A/", "/1", "A/1 ", "A/1  B/2", "(c)", "A/1 ()", "A/1 (c", "A/1 (c) (d)",
               "n" * 33 + "/1", "A/1 (" + "c" * 65 + ")", "A/1,2", "A/1 (中)",
               "A/1 " * 70 + "A/1")
        for agent in good + bad:
            self.sim.post("forget")
            body = {"get_updates_buf": self.c.cursor,
                    "base_info": {"channel_version": "2.4.9", "bot_agent": agent}}
            self.assertEqual(self.poll_with(raw=json.dumps(body).encode()),
                             [] if agent in good else ["bot_agent"], agent)

    def test_bodies(self):
        self.assertEqual(self.poll_with(raw=b"{"), ["body_not_json"])
        self.sim.post("forget")
        self.assertEqual(self.poll_with(raw=b'{"a":1,"a":2}'), ["body_not_json"])
        self.sim.post("forget")
        self.assertEqual(self.poll_with(body={}), ["missing_field"])
        self.sim.post("forget")
        self.assertEqual(self.poll_with(body={"get_updates_buf": 7}), ["wrong_type"])

    def test_two_polls_at_once(self):
        self.sim.post("set", hold_ms=2000)
        other = Client(self.sim, self.c.token)
        t = threading.Thread(target=lambda: other.poll(self.c.cursor))
        t.start()
        self.assertTrue(self.sim.wait("polling"))
        self.sim.post("set", hold_ms=50)
        self.c.poll()
        t.join(10)
        self.assertEqual(self.sim.rules(), ["two_polls"])

    def test_a_poll_that_was_given_up_counts_no_more(self):
        self.sim.post("set", hold_ms=20000)
        for _ in range(20):
            host = self.sim.urls["api"][7:]
            connection = http.client.HTTPConnection(host, timeout=10)
            polls = self.sim.count("polls")
            body = json.dumps({"get_updates_buf": self.c.cursor, "base_info": BASE_INFO})
            connection.request("POST", "/ilink/bot/getupdates", body, self.c.headers())
            self.assertTrue(self.sim.wait("polls", polls + 1))
            connection.close()
        self.assertEqual(self.sim.rules(), [])

    def test_two_sends_at_once_to_one_person(self):
        self.sim.post("fault", endpoint="sendmessage", kind="delay", ms=400)
        t = threading.Thread(target=lambda: self.c.send("a"))
        t.start()
        self.assertTrue(self.sim.wait("sent"))
        self.c.send("b")
        t.join(10)
        self.assertEqual(self.sim.rules(), ["send_overlap"])

    def test_a_send_after_a_lost_answer_is_no_overlap(self):
        self.sim.post("fault", endpoint="sendmessage", kind="stall", process=True)
        try:
            self.c.call("sendmessage", self.c.message("a", "id"), timeout=0.2)
        except OSError:
            pass
        self.c.send("a", "id")
        self.assertEqual(self.sim.rules(), [])

    def test_spacing_and_stubbornness_are_noted(self):
        self.c.send("a")
        self.c.send("b")
        self.assertEqual(self.sim.notes(), ["spacing"])
        self.sim.post("set", quota=2)
        self.c.send("c")
        time.sleep(0.11)
        self.c.send("d")
        self.assertIn("send_after_refusal", self.sim.notes())
        self.assertEqual(self.sim.rules(), [])

    def test_a_poll_before_notifystart_is_noted(self):
        c = self.sim.client()
        c.poll()
        self.assertEqual(self.sim.notes(), ["no_notifystart"])

    def test_envelopes_of_messages(self):
        for change, rule in (
                ({"from_user_id": "someone"}, "from_user_id"),
                ({"message_state": 1}, "message_state"),
                ({"message_state": "2"}, "wrong_type"),
                ({"client_id": ""}, "client_id"),
                ({"to_user_id": 7}, "wrong_type"),
                ({"context_token": ""}, "context_token_empty"),
                ({"context_token": "AARzWrong"}, "context_token_unknown"),
                ({"item_list": "x"}, "wrong_type"),
                ({"item_list": [{"type": 9}]}, "item_type"),
                ({"item_list": [{"type": 1}]}, "missing_field"),
                ({"item_list": [{"type": 1, "text_item": {"text": ""}}]}, "text_empty")):
            self.sim.post("forget")
            self.c.send(**change)
            self.assertEqual(self.sim.rules(), [rule], change)

    def test_a_token_is_known_however_much_came_since(self):
        self.sim.post("inject", text="{n}", count=200)
        self.c.send("a")
        self.assertEqual(self.sim.rules(), [])
        self.assertEqual(self.sim.notes(), ["context_token_old"])

    def test_a_part_of_4001_characters(self):
        self.c.send("字" * 4000)
        self.assertEqual(self.sim.rules(), [])
        self.c.send("字" * 4001)
        self.assertEqual(self.sim.rules(), ["text_too_long"])

    def test_a_client_id_for_two_texts(self):
        self.c.send("a", "id")
        self.c.send("b", "id")
        self.assertEqual(self.sim.rules(), ["client_id_reused"])
        self.assertEqual(self.sim.texts(), ["a"])

    def test_unknown_paths_and_methods(self):
        self.assertEqual(self.c.call("nothing")[0], 404)
        url = self.sim.urls["api"] + "/ilink/bot/getupdates"
        self.assertEqual(self.sim.http("GET", url)[0], 405)
        self.assertEqual(self.sim.rules(), ["unknown_path", "method"])

    def test_headers_can_be_required(self):
        self.sim.post("set", strict_headers=1)
        for headers in ({"iLink-App-Id": None}, {"iLink-App-ClientVersion": "0"}):
            got = self.c.ask("getupdates", {"get_updates_buf": ""}, headers=headers)
            self.assertEqual(got["errcode"], -14)

    def test_requests_are_kept_with_their_answers(self):
        self.c.send("kept")
        r = self.sim.get("requests", endpoint="sendmessage")["requests"][0]
        self.assertEqual((r["method"], r["status"], r["outcome"]), ("POST", 200, "answered"))
        self.assertEqual(r["body"]["msg"]["item_list"][0]["text_item"]["text"], "kept")
        self.assertEqual({k.lower(): v for k, v in r["headers"].items()}["ilink-app-id"], "bot")
        self.assertIsInstance(r["answer"], dict)
        self.assertEqual(self.sim.get("requests", since=r["n"])["requests"], [])


class Manners(SimTest):
    def raw(self, data, url=None):
        host, port = (url or self.sim.urls["api"])[7:].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as s:
            s.sendall(data)
            s.settimeout(5)
            got = b""
            try:
                while b"\r\n\r\n" not in got:
                    piece = s.recv(4096)
                    if not piece:
                        break
                    got += piece
            except TimeoutError:
                pass
            return got

    def test_malformed_requests_are_refused_and_it_lives(self):
        for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/3\r\n\r\n", b"GET x HTTP/1.1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
                     b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                     b"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
                     b"GET / HTTP/1.1\r\nA: " + b"x" * 70000):
            self.assertRegex(self.raw(data), rb"^HTTP/1.1 4\d\d ", data[:60])
        self.assertEqual(self.sim.get("state")["ok"], True)

    def test_a_body_in_chunks_and_a_request_in_single_bytes(self):
        url = self.sim.urls["control"]
        head = b"POST /control/set HTTP/1.1\r\nHost: " + url[7:].encode() + b"\r\n"
        chunked = head + (b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                          b"8;x=y\r\n{\"quota\"\r\n3\r\n:4}\r\n0\r\nTrailer: x\r\n\r\n")
        self.assertTrue(self.raw(chunked, url).startswith(b"HTTP/1.1 200"))
        host, port = url[7:].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in chunked:
                s.sendall(bytes([byte]))
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 200"))
        self.assertEqual(self.sim.post("set")["quota"], 4)

    def test_requests_in_a_row_on_one_connection(self):
        url = self.sim.urls["control"]
        one = (b"GET /control/faults HTTP/1.1\r\nHost: " + url[7:].encode() + b"\r\n\r\n")
        host, port = url[7:].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as s:
            s.sendall(one * 3)
            got = b""
            while got.count(b"HTTP/1.1 200") < 3:
                got += s.recv(4096)

    def test_another_site_may_not_ask(self):
        url = self.sim.urls["page"] + "/control/state"
        self.assertEqual(self.sim.http("GET", url, headers={"Origin": "http://evil.example"})[0], 400)
        self.assertEqual(self.sim.http("GET", url, headers={"Host": "evil.example:80"})[0], 400)
        own = {"Origin": self.sim.urls["page"]}
        self.assertEqual(self.sim.http("GET", url, headers=own)[0], 200)

    def test_it_listens_on_loopback_only(self):
        port = self.sim.urls["api"].rsplit(":", 1)[1]
        with open("/proc/net/tcp", encoding="ascii") as f:
            rows = [line.split() for line in f.readlines()[1:]]
        addresses = [r[1].split(":") for r in rows if r[3] == "0A"]
        self.assertEqual([a for a, p in addresses if int(p, 16) == int(port)], ["0100007F"])

    def test_settings_are_checked(self):
        for body in ({"nonsense": 1}, {"quota": "x"}, {"batch": 0}, {"text_over": 3}):
            with self.assertRaises(ControlError):
                self.sim.post("set", **body)

    def test_the_page_is_one_file(self):
        status, headers, body = self.sim.http("GET", self.sim.urls["page"] + "/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        for sign in (b"src=\"http", b"href=\"http", b"@import", b"innerHTML"):
            self.assertNotIn(sign, body)

    def test_its_address_is_left_in_the_folder(self):
        with open(self.sim.dir + "/sim.json") as f:
            self.assertEqual(json.load(f), self.sim.urls)


MEMBERS = """msg to_user_id client_id run_id context_token from_user_id message_type message_state item_list type
    text_item text image_item file_item video_item voice_item media encrypt_query_param aes_key encrypt_type file_name
    len mid_size get_updates_buf base_info channel_version bot_agent ilink_user_id typing_ticket status filekey aeskey
    rawfilemd5 media_type rawsize filesize no_need_thumb local_token_list messages tools content role tool_calls
    function stream endpoint kind times after match delay_ms ms bytes body headers form name errmsg ret errcode
    value from bot quote of style part nth partial count id id_form token extra dup_of raw items size data_b64 key_form
    claim transcript encode_type playtime full_url no_full_url script append repeat events first_ms chunk statuses codes
    verify_code verify_limit redirect redirect_host baseurl user auto_confirm hold_ms qrcode advance_ms""".split()
VALUES = (None, True, -1, 1 << 62, "", "x\0\x7f\ufffd\U0001f600" * 9, [], {}, [[], {}, 7])
RAW = (b"", b"\0", b"{", b"[]", b"null", b"7", b'"x"', b"[" * 300 + b"]" * 300, b'{"msg":' * 99 + b"7" + b"}" * 99,
       b'{"a":1,"a":2}', b'{"msg":"\xff\xfe"}', b'{"msg":"\\ud800"}', b'{"count":1e999}', b'{"id":-0}', bytes(range(256)))


def garbage():
    yield from RAW
    for value in VALUES:
        flat = dict.fromkeys(MEMBERS, value)
        yield json.dumps(flat).encode()
        yield json.dumps(dict.fromkeys(("msg", "base_info", "media", "quote"), flat)).encode()
        yield json.dumps(dict.fromkeys(("messages", "script", "tool_calls", "codes", "statuses"), [flat])).encode()
        for kind in (1, 2):
            yield json.dumps({"msg": {**flat, "to_user_id": OWNER, "message_type": 2,
                                      "item_list": [{**flat, "type": kind}]}}).encode()
        for member in ("text", "items", "raw", "script", "codes", "statuses", "messages"):
            yield json.dumps({member: value}).encode()


class Garbage(SimTest):
    """It may refuse, and it lives."""

    options = ("--hold-ms", "0", "--model-delay-ms", "0")

    def throw(self, url, paths, method="POST", headers=lambda: {}):
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=20)
        for path in paths:
            for body in garbage():
                connection.request(method, path, body, headers())
                connection.getresponse().read()
        connection.close()

    def lists_are_readable(self):
        for path in ("sent", "requests", "violations", "state", "chat", "faults", "model_requests"):
            self.assertTrue(self.sim.get(path, all=1)["ok"], path)

    def test_bodies_and_queries_of_every_kind(self):
        c = self.ready()
        self.throw(self.sim.urls["model"], ["/v1/chat/completions", "/v1/models"])
        self.throw(self.sim.urls["cdn"], ["/c2c/upload?encrypted_query_param=%00", "/c2c/download?filekey"])
        self.throw(self.sim.urls["api"], ["/ilink/bot/" + p for p in (
            "get_bot_qrcode", "get_qrcode_status?qrcode=%", "msg/notifystart", "msg/notifystop", "getupdates",
            "sendmessage", "getconfig", "sendtyping", "getuploadurl", "?", "%00")], headers=c.headers)
        self.lists_are_readable()
        self.throw(self.sim.urls["control"], ["/control/" + p for p in (
            "inject", "fault", "fault/clear", "clock", "set", "login", "scan", "confirm", "expire", "model", "bind",
            "inject", "nothing")])
        for query in ("since=-1", "since=99999999999999999999", "since=18446744073709551615&notes_since=18446744073709551615",
                      "id=%00&what=%ff&count=&ms=", "&&==&=%&endpoint=" + "x" * 9000):
            for path in ("sent", "requests", "violations", "state", "chat", "faults", "model_requests", "wait", "media",
                         "qr.svg"):
                self.sim.http("GET", self.sim.urls["control"] + "/control/" + path + "?" + query)
        self.lists_are_readable()
        self.sim.post("inject", text="still here", bot=c.bot)

    def test_numbers_that_do_not_add_up_are_refused(self):
        most = (1 << 63) - 1
        self.sim.client()
        for path, body in (
                ("fault", {"kind": "delay", "ms": most, "delay_ms": most}), ("fault", {"kind": "502", "status": -1}),
                ("fault", {"kind": "slow", "ms": -1}), ("fault", {"kind": "502", "times": -2}),
                ("fault", {"kind": "timeout"}), ("fault", {"kind": "cursor", "body": "{"}),
                ("set", {"window_ms": most}), ("revoke", {"delay_ms": most}), ("inject", {"text": "x", "extra": 7})):
            with self.assertRaises(ControlError, msg=body) as caught:
                self.sim.post(path, **body)
            self.assertEqual(caught.exception.status, 400)
        self.sim.post("set", window_ms=most // 4, qr_life_ms=most // 4, typing_show_ms=most // 4)
        self.sim.post("clock", advance_ms=most // 8)
        with self.assertRaises(ControlError):
            self.sim.post("clock", advance_ms=most // 4)
        self.sim.post("inject", text="x")
        Client(self.sim).qrcode()
        self.assertTrue(self.sim.get("state")["ok"])

    def test_a_repeat_outlives_the_log(self):
        self.sim.client()
        first = self.sim.post("inject", text="first")["messages"][0]
        for count in (10000, 9999):
            self.sim.post("inject", text="x", count=count)
        with self.assertRaises(ControlError):
            self.sim.post("inject", dup_of=first["id"], count=2)
        self.assertEqual(self.sim.post("inject", dup_of=first["id"])["messages"][0]["text"], "first")
        with self.assertRaises(ControlError):
            self.sim.post("inject", dup_of=first["id"] + "0")

    def test_what_has_no_item_is_not_quoted(self):
        self.sim.client()
        for items in ([], "x", 7):
            of = self.sim.post("inject", items=items)["messages"][0]["id"]
            with self.assertRaises(ControlError):
                self.sim.post("inject", text="x", quote={"of": of, "style": "inline"})

    def test_names_of_bytes_no_name_has(self):
        for head in (b"\xff\xfe / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n\xffA: 1\r\n", b"GET / HTTP/1.1\r\nA (2): 1\r\n"):
            host, port = self.sim.urls["api"][7:].split(":")
            with socket.create_connection((host, int(port)), timeout=10) as s:
                s.sendall(head + b"\r\n")
                self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 400 "), head)
        long = "x" * 128
        self.sim.http("GET", self.sim.urls["api"] + "/", headers={long + "1": "a", long + "2": "b"})
        self.assertEqual(len(self.sim.get("requests")["requests"]), 1)


class Process(SimTest):
    def setUp(self):
        pass

    def test_it_ends_cleanly_on_each_signal_with_requests_open(self):
        for signo in (signal.SIGINT, signal.SIGTERM):
            sim = Sim("--hold-ms", "60000")
            c = sim.client()
            sim.post("model", script=[{"events": [{"choices": []}], "stall": True}])
            def quietly(call):
                try:
                    call()
                except OSError:
                    pass
                except http.client.HTTPException:
                    pass
            threads = [threading.Thread(target=quietly, args=(f,)) for f in (
                c.poll, lambda: sim.wait("sent", 1, 60000),
                lambda: sim.http("GET", sim.urls["control"] + "/control/events", timeout=30),
                lambda: sim.http("POST", sim.urls["model"] + "/chat/completions",
                                 b'{"messages":[],"stream":true}'))]
            for t in threads:
                t.start()
            self.assertTrue(sim.wait("polling"))
            self.assertTrue(sim.wait("model_open"))
            self.assertEqual(sim.stop(signo), 0)
            for t in threads:
                t.join(10)

    def test_ports_can_be_chosen(self):
        for base in random.sample(range(20000, 30000, 10), 20):
            with contextlib.suppress(json.JSONDecodeError):    # somebody else has one of these
                sim = Sim("--port-base", str(base))
                self.assertEqual([sim.urls[k].split(":")[2].split("/")[0]
                                  for k in ("api", "cdn", "model", "page", "control")],
                                 [str(base + i) for i in range(5)])
                self.assertEqual(sim.stop(), 0)
                return
        self.fail("no free ports in twenty tries")

    def test_wrong_usage_is_explained(self):
        for args in (["--nonsense"], ["--hold-ms", "x"], ["--port-base", "70000"], ["extra"]):
            p = subprocess.run([sys.argv_binary, *args], capture_output=True, timeout=20)
            self.assertEqual(p.returncode, 2, args)
            self.assertIn(b"usage:", p.stderr)
        p = subprocess.run([sys.argv_binary, "--help"], capture_output=True, timeout=20)
        self.assertEqual(p.returncode, 0)
        p = subprocess.run([sys.argv_binary, "--tls"], capture_output=True, timeout=20)
        self.assertEqual((p.returncode, p.stderr),
                         (1, b"kairo-sim: --tls needs --dir for its certificates\n"))


if __name__ == "__main__":
    main()
