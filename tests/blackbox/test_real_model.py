"""A model server that somebody else wrote (an OpenAI-compatible one of npm) in front of the whole program: streams, whole
answers, tool calls, errors, and what is done with a conversation. Needs npm and Node 20; skipped where they cannot be had."""

import json
import os
import socket
import subprocess
import urllib.request

from harness import BUILD, PATIENCE, Case, main, wait_for
from npm_tools import find_node, install

SERVER = {"@dwmkerr/mock-llm": "0.1.29"}
PATH = "/v1/chat/completions"
KEY = "sk-real-model-0123456789"


def answer(content, **more):
    message = dict({"role": "assistant", "content": content}, **more)
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in more else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}


def rule(body, match="@", status=200, **more):
    return dict({"path": PATH, "match": match, "response": {"status": status, "content": json.dumps(body)}}, **more)


class RealModel(Case):
    def setUp(self):
        super().setUp()
        self.config = os.path.join(self.folder, "server.yaml")
        with open(self.config, "w") as f:
            json.dump({"rules": [rule(answer("hello from outside"))],
                       "streaming": {"chunkSize": 3, "chunkIntervalMs": 1}}, f)
        self.serve()
        wait_for(self.ready, "the server to be ready", 3 * PATIENCE)
        self.kairo.config(model__base_url=self.url("/v1"), model__name="first-model")
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=KEY.encode())

    def serve(self):
        """On a port that is free: it takes no socket from us, and cannot look for one."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        with open(os.path.join(self.folder, "server.log"), "wb") as log:
            self.server = subprocess.Popen([NODE, MAIN, "--config", self.config], cwd=self.folder, stdout=log, stderr=log,
                                           stdin=subprocess.DEVNULL,
                                           env={"PATH": os.environ["PATH"], "HOST": "127.0.0.1", "PORT": str(self.port)})
        self.addCleanup(self.server.wait, PATIENCE)
        self.addCleanup(self.server.terminate)

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def ready(self):
        if self.server.poll() is not None:  # somebody else was faster with the port
            self.serve()
        try:
            with urllib.request.urlopen(self.url("/ready"), timeout=PATIENCE) as r:
                return r.status == 200
        except OSError:
            return False

    def rules(self, *rules):
        """Of those that match the last one counts."""
        body = json.dumps({"rules": list(rules)}).encode()
        for method, data in (("DELETE", None), ("PATCH", body)):
            request = urllib.request.Request(self.url("/config"), data, {"Content-Type": "application/json"},
                                             method=method)
            urllib.request.urlopen(request, timeout=PATIENCE).read()

    def test_streams(self):
        self.kairo.start()
        self.assertEqual(self.ask("hi"), ["hello from outside"])
        long = "".join("第 %d 句话，够长了。" % n for n in range(60))
        self.rules(rule(answer(long)))
        self.assertEqual("".join(self.ask("再来")), long)
        self.rules(rule(answer("known"), "headers.authorization == 'Bearer %s'" % KEY))
        self.assertEqual(self.ask("who am I"), ["known"])
        self.assertNotIn(KEY, self.kairo.log())

    def test_errors_come_inside_the_stream(self):
        self.kairo.start()
        for error, word in (({"message": "Incorrect API key provided.", "type": "invalid_request_error",
                              "code": "invalid_api_key"}, "key"),
                            ({"message": "You exceeded your current quota", "code": "insufficient_quota"}, "quota"),
                            ({"message": "The model `x` does not exist", "code": "model_not_found"}, "model")):
            with self.subTest(error["code"]):
                self.rules(rule({"error": error}, status=400))
                told = self.ask("go")
                self.assertEqual(len(told), 1, told)
                self.assertIn(error["message"].replace("`", "｀"), told[0])
                self.assertIn(word, told[0])
        self.rules(rule(answer("fine again")))
        self.assertEqual(self.ask("go"), ["fine again"])

    def test_an_empty_stream_is_told(self):
        self.kairo.start()
        self.rules(rule(answer("")))
        self.assertIn("empty answer", self.ask("go")[0])

    def test_tools_by_whole_answers(self):
        with open(os.path.join(self.kairo.workspace, "proof.txt"), "w") as f:
            f.write("the proof\n")
        call = [{"id": "call_1", "type": "function",
                 "function": {"name": "read_file", "arguments": json.dumps({"path": "proof.txt"})}}]
        self.rules(rule(answer("the tools are missing")),
                   rule(answer(None, tool_calls=call), "body.tools && body.stream == `false`"),
                   rule(answer("it says: the proof"),
                        "body.messages[-1].role == 'tool' && contains(body.messages[-1].content, 'the proof')"))
        self.kairo.config(model__stream=False)
        self.kairo.start()
        self.assertEqual(self.ask("read it"), ["it says: the proof"])
        usage = self.ask("/usage")[0]
        self.assertIn("200 tokens in", usage)
        self.assertIn("20 out", usage)

    def test_another_model_is_asked_at_once(self):
        self.rules(rule(answer("the first")), rule(answer("the second"), "body.model == 'second-model'"))
        self.kairo.start()
        self.assertEqual(self.ask("who"), ["the first"])
        self.assertIn("second-model", self.ask("/model second-model")[0])
        self.assertEqual(self.ask("who"), ["the second"])
        self.assertIn("second-model", self.kairo.status()["engine"])
        self.assertIn("unknown", self.ask("/usage")[0])

    def test_a_long_conversation_is_summarised(self):
        self.kairo.config(model__context_tokens=8000)
        words = " ".join(["word"] * 1500)
        memory = rule(answer("SHORT MEMORY"), "contains(body.messages[0].content, 'memory of a conversation')")
        self.rules(rule(answer(words)), memory)
        self.kairo.start()
        for n in range(4):
            self.ask("question %d" % n, parts=4)
        self.kairo.idle()
        self.assertEqual(self.kairo.db("SELECT text FROM react_summary"), [("SHORT MEMORY",)])
        self.rules(rule(answer("forgotten")), memory,
                   rule(answer("remembered"), "body.messages[2].content == 'SHORT MEMORY'"))
        self.assertEqual(self.ask("do you remember?")[-1], "remembered")

    def test_a_path_that_is_not_there(self):
        self.kairo.config(model__base_url=self.url("/v2"))
        self.kairo.start()
        self.assertIn("404", self.ask("go")[0])


if __name__ == "__main__":
    NODE = find_node(BUILD, (20, 0))
    MAIN = os.path.join(install(BUILD, "model", SERVER), "node_modules", "@dwmkerr", "mock-llm", "dist", "main.js")
    main()
