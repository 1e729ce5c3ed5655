"""The model: scripted, and the demo."""

import http.client
import json
import time
import urllib.error

from simlib import SimTest, main

TOOLS = [{"type": "function", "function": {"name": n, "parameters": {}}}
         for n in ("list_dir", "read_file", "write_file")]


class Model(SimTest):
    def ask(self, *messages, stream=False, tools=TOOLS, timeout=20):
        body = {"model": "m", "stream": stream, "tools": tools, "messages": [
            {"role": "user", "content": m} if isinstance(m, str) else m for m in messages]}
        return self.sim.http("POST", self.sim.urls["model"] + "/chat/completions",
                             json.dumps(body).encode(),
                             {"Content-Type": "application/json", "Authorization": "Bearer k"},
                             timeout=timeout)

    def message(self, *messages, **more):
        status, _, body = self.ask(*messages, **more)
        self.assertEqual(status, 200)
        return json.loads(body)["choices"][0]["message"]

    def streamed(self, *messages, **more):
        """(text, tool calls, finish reason) put together from the chunks."""
        status, headers, body = self.ask(*messages, stream=True, **more)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        events = body.decode().strip().split("\n\n")
        self.assertEqual(events.pop(), "data: [DONE]")
        text, calls, finish = "", [], None
        for event in events:
            for choice in json.loads(event[6:])["choices"]:
                text += choice["delta"].get("content") or ""
                calls += choice["delta"].get("tool_calls", [])
                finish = choice["finish_reason"] or finish
        return text, calls, finish


class Demo(Model):
    def call_of(self, text):
        m = self.message(text)
        self.assertEqual(len(m["tool_calls"]), 1)
        f = m["tool_calls"][0]["function"]
        return f["name"], json.loads(f["arguments"])

    def test_it_says_that_it_is_a_demo(self):
        self.assertIn("demo model", self.message("hello")["content"])
        self.assertIn("演示模型", self.message("你好")["content"])
        self.assertIn("Demo", self.message("what is the meaning of it all")["content"])

    def test_whole_and_streamed_say_the_same(self):
        text, calls, finish = self.streamed("hello")
        self.assertEqual((text, calls, finish), (self.message("hello")["content"], [], "stop"))

    def test_it_calls_tools_by_the_words(self):
        for words in ("list files", "请列出文件"):
            self.assertEqual(self.call_of(words), ("list_dir", {"path": "."}))
        for words in ("read src/main.c please", "读 src/main.c 给我"):
            self.assertEqual(self.call_of(words), ("read_file", {"path": "src/main.c"}))
        name, arguments = self.call_of("记一条 买牛奶")
        self.assertEqual((name, arguments["path"]), ("write_file", "demo-note.md"))
        self.assertIn("买牛奶", arguments["content"])

    def test_words_inside_other_words_do_not_count(self):
        self.assertIn("You said", self.message("which thread is this, and why listen along")["content"])

    def test_it_tries_a_command_that_was_never_offered(self):
        self.assertEqual(self.call_of("运行命令"), ("shell", {"command": "uname -a"}))

    def test_it_tells_what_came_with_a_message(self):
        said = self.message({"role": "user", "content": [
            {"type": "text", "text": "[attachment: picture list.png, image/png, 109 B, /m/k/list.png]\n"
                                     "[attachment: file a.pdf, application/pdf, 544 B, /m/k/a.pdf]\n"
                                     "[attachment: video, not received: it is over 100 MB]\nwhat is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}]})["content"]
        for line in ("picture list.png, image/png, 109 B\n", "file a.pdf, application/pdf, 544 B\n",
                     "video, not received", "image/png, 5 B"):
            self.assertIn(line, said)
        self.assertNotIn("/m/k", said)
        self.assertIn("你发来了", self.message("[附件：图片 a.png，image/png，109 B，/m/a.png]")["content"])

    def test_a_name_is_no_markdown(self):
        said = self.message("[attachment: file _<a>*b*_.bin, application/x-y, 1 B, /m/x]")["content"]
        self.assertIn(r"- file \_\<a\>\*b\*\_.bin, application/x-y, 1 B", said)

    def test_a_voice_is_what_was_said(self):
        for words in ("[attachment: voice voice.silk, audio/silk, 30 B, /m/voice.silk]\nhello",
                      "[附件：语音 voice.silk，audio/silk，30 B，/m/voice.silk]\nhello"):
            self.assertIn("**demo model** inside kairo-sim", self.message(words)["content"])

    def test_a_quote_is_told_and_not_taken_for_what_was_said(self):
        for words, quoted in (("[quoted message: send me a.pdf (x > y)]\nwhat of it?", "You quoted:\n\n> send me a.pdf (x > y)\n"),
                              ("[引用的消息：把 a.pdf 发给我]\n这是什么？", "你引用了：\n\n> 把 a.pdf 发给我\n")):
            said = self.message(words)["content"]
            self.assertIn(quoted, said)
            self.assertIn("> " + words.split("\n")[1] + "\n", said)
        self.assertEqual(self.call_of("[quoted message: hello]\nlist files")[0], "list_dir")
        self.assertIn("> " + "x" * 300 + " …\n", self.message("[quoted message: %s]\nwhat?" % ("x" * 301))["content"])
        self.assertIn("> " + "x" * 300 + "\n", self.message("[quoted message: %s]\nwhat?" % ("x" * 300))["content"])

    def test_it_reads_a_text_that_came(self):
        words = "[attachment: file notes.txt, text/plain, 3 B, /m/my notes.txt]\nlook"
        self.assertEqual(self.call_of(words), ("read_file", {"path": "/m/my notes.txt"}))
        call = {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]}
        said = self.message(words, call, {"role": "tool", "tool_call_id": "c", "content": "abc"})
        self.assertIn("abc", said["content"])

    def test_it_sends_a_file_by_the_tool_or_by_a_tag(self):
        self.assertIn("````file:demo.md\n# Demo\n", self.message("send me a file")["content"])
        self.assertIn("````file:演示.md\n", self.message("发个文件")["content"])
        tools = [{"type": "function", "function": {"name": "send_file", "parameters": {}}}]
        f = self.message("send me a.pdf", tools=tools)["tool_calls"][0]["function"]
        self.assertEqual((f["name"], json.loads(f["arguments"])), ("send_file", {"path": "a.pdf"}))
        self.assertIn("[send-file: a.pdf]", self.message("把 a.pdf 发给我")["content"])
        self.assertIn("[send-file: /etc/passwd]", self.message("send me /etc/passwd")["content"])

    def test_it_tells_how_the_sending_went(self):
        call = {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "send_file", "arguments": "{}"}}]}
        for result, want in (("It is sent right behind your answer.", "Here it is."), ("no such file", "no such file"),
                             ("nothing is sent to a terminal: leave it", "You find it here: `a.pdf`")):
            said = self.message("send me a.pdf", call, {"role": "tool", "tool_call_id": "c", "content": result})
            self.assertIn(want, said["content"])

    def test_it_sends_the_picture_back_that_it_was_given(self):
        self.assertIn("no picture", self.message("send me a picture")["content"])
        said = self.message("[attachment: picture a.png, image/png, 109 B, /m/a.png]",
                            {"role": "assistant", "content": "ok"}, "send the picture back")
        self.assertIn("[send-image: /m/a.png]", said["content"])

    def test_it_tells_what_a_tool_answered(self):
        call = {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}}]}
        m = self.message("list files", call, {"role": "tool", "tool_call_id": "c", "content": "a.txt"})
        self.assertIn("a.txt", m["content"])
        self.assertNotIn("tool_calls", m)

    def test_it_says_when_a_tool_is_missing(self):
        self.assertIn("`list_dir`", self.message("list files", tools=[])["content"])

    def test_a_long_answer_does_not_fit_into_ten_parts(self):
        self.assertGreater(len(self.message("长文")["content"]), 10 * 1800)
        self.assertGreater(len(self.message("a long one")["content"]), 10 * 1800)

    def test_a_table_and_code(self):
        text = self.message("表格")["content"]
        self.assertIn("|---|", text)
        self.assertIn("```c", text)

    def test_a_slow_answer_can_be_left(self):
        with self.assertRaises((urllib.error.URLError, OSError)):
            self.ask("slow", stream=True, timeout=0.5)
        self.assertTrue(self.sim.wait("model_cut"))
        self.assertEqual(self.sim.get("model_requests")["requests"][0]["outcome"], "gone")

    def test_models_are_listed(self):
        status, _, body = self.sim.http("GET", self.sim.urls["model"] + "/models")
        self.assertEqual((status, json.loads(body)["data"][0]["id"]), (200, "kairo-demo"))


class Script(Model):
    def script(self, *steps, **more):
        self.sim.post("model", script=list(steps), **more)

    def test_steps_are_taken_in_turn_and_then_the_demo_speaks(self):
        self.script({"text": "one"}, {"text": "two"})
        self.assertEqual([self.message("x")["content"] for _ in range(2)], ["one", "two"])
        self.assertIn("Demo", self.message("x")["content"])

    def test_the_last_step_can_repeat(self):
        self.script({"text": "one"}, {"text": "two"}, repeat=True)
        self.assertEqual([self.message("x")["content"] for _ in range(4)],
                         ["one", "two", "two", "two"])

    def test_text_and_calls_as_a_stream(self):
        self.script({"text": "你好，世界", "chunk": 2, "tool_calls": [
            {"name": "read_file", "arguments": {"path": "a"}, "id": "c1"},
            {"name": "broken", "arguments": "{\"a\":"}]})
        text, calls, finish = self.streamed("x")
        self.assertEqual((text, finish), ("你好，世界", "tool_calls"))
        self.assertEqual([(c["index"], c["function"]["name"], c["function"]["arguments"])
                          for c in calls],
                         [(0, "read_file", '{"path":"a"}'), (1, "broken", '{"a":')])
        self.assertEqual(calls[0]["id"], "c1")

    def test_raw_events_go_out_byte_for_byte(self):
        self.script({"events": [": ping\n\n", {"choices": []}, "data: [DONE]\r\n\r\n"]})
        self.assertEqual(self.ask("x", stream=True)[2],
                         b": ping\n\ndata: {\"choices\":[]}\n\ndata: [DONE]\r\n\r\n")

    def test_a_status_with_headers_and_body(self):
        self.script({"status": 429, "headers": {"Retry-After": "2"},
                     "body": {"error": {"message": "slow down"}}})
        status, headers, body = self.ask("x", stream=True)
        self.assertEqual((status, headers["Retry-After"]), (429, "2"))
        self.assertEqual(json.loads(body)["error"]["message"], "slow down")

    def test_a_stream_is_cut(self):
        self.script({"events": [{"choices": [{"delta": {"content": "half"}}]}], "cut": True})
        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.ask("x", stream=True)
        self.assertIn(b"half", caught.exception.partial)

    def test_a_stream_stalls(self):
        self.script({"events": [{"choices": []}], "stall": True})
        with self.assertRaises((urllib.error.URLError, OSError)):
            self.ask("x", stream=True, timeout=0.3)
        self.assertTrue(self.sim.wait("model_cut"))

    def test_the_connection_ends_before_a_word(self):
        for how in ("cut", "reset"):
            self.script({how: True})
            with self.assertRaises((http.client.HTTPException, urllib.error.URLError, OSError)):
                self.ask("x", stream=True)

    def test_what_was_asked_is_kept(self):
        self.ask("remember me")
        r = self.sim.get("model_requests")["requests"]
        self.assertEqual((len(r), r[0]["authorization"], r[0]["outcome"]), (1, "Bearer k", "done"))
        self.assertEqual(r[0]["body"]["messages"][0]["content"], "remember me")
        self.assertEqual(self.sim.get("model_requests", since=1)["requests"], [])

    def test_a_whole_answer_drips(self):
        whole = len(self.ask("hello")[2])
        self.sim.post("fault", endpoint="model", kind="slow", bytes=whole // 4, ms=100)
        began = time.monotonic()
        self.assertEqual(len(self.ask("hello")[2]), whole)
        self.assertGreaterEqual(time.monotonic() - began, 0.25)

    def test_faults_reach_the_model_too(self):
        self.sim.post("fault", endpoint="model", kind="503", times=1)
        self.assertEqual(self.ask("hello")[0], 503)
        self.assertEqual(self.ask("hello")[0], 200)
        for stream in (True, False):
            self.sim.post("fault", endpoint="model", kind="empty")
            self.assertEqual(self.ask("hello", stream=stream)[2], b"")

    def test_faults_reach_the_list_of_models(self):
        def ask():
            return self.sim.http("GET", self.sim.urls["model"] + "/models")
        self.sim.post("fault", endpoint="models", kind="status", status=401, body="no", headers={"X-A": "b"})
        status, headers, body = ask()
        self.assertEqual((status, headers["X-A"], body), (401, "b", b"no"))
        self.sim.post("fault", endpoint="models", kind="empty")
        self.assertEqual(ask()[::2], (200, b""))
        self.sim.post("fault", endpoint="models", kind="drop")
        with self.assertRaises((http.client.HTTPException, urllib.error.URLError, OSError)):
            ask()
        self.assertIn("kairo-demo", ask()[2].decode())

    def test_the_biggest_question_is_kept_whole(self):
        text = "x" * (5 << 20)
        self.ask(text)
        self.assertEqual(self.sim.get("model_requests")["requests"][0]["body"]["messages"][0]["content"], text)


if __name__ == "__main__":
    main()
