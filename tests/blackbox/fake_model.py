"""A model on loopback for real agents: POST /v1/chat/completions, streamed, said by a script.

What is said is chosen by the newest user text that holds a key of the script, and by how many tool
results came after it: the script's value for a key is a list of steps, one a request."""

import http.server
import json
import threading


def step(text=None, thought=None, tools=(), status=None, error=None, stall=False):
    """text may be a function of the request's messages. tools: (name, arguments) pairs. status: an
    HTTP error with this text. stall: after all else, silence with the stream left open."""
    return {"text": text, "thought": thought, "tools": tools, "status": status, "error": error, "stall": stall}


def content(message):
    """The text of a message, whose content may come in parts."""
    got = message.get("content") or ""
    return got if isinstance(got, str) else "\n".join(p.get("text") or "" for p in got)


class Model:
    def __init__(self):
        self.script, self.requests = {}, []
        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/v1" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def prompts(self, word):
        """Requests whose newest scripted word is this one."""
        return [r for r in self.requests if r["key"] == word]

    def choose(self, body):
        """The step for a request. One without tools asks for a title or the like."""
        messages = body.get("messages", [])
        if not body.get("tools"):
            return None, step("A title")
        for at in range(len(messages) - 1, -1, -1):
            if messages[at].get("role") != "user":
                continue
            # Prompts that were never answered are sent as one text: the last word of it counts.
            text = content(messages[at])
            key = max(self.script, key=text.rfind, default=None)
            if key and key in text:
                done = sum(m.get("role") == "tool" for m in messages[at:])
                return key, self.script[key][min(done, len(self.script[key]) - 1)]
        return None, step("ok")

    def handler(model):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(200, {"object": "list", "data": [{"id": "fake-1", "object": "model"}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                key, say = model.choose(body)
                model.requests.append({"key": key, "messages": body.get("messages", []), "body": body})
                if say["status"]:
                    self.answer(say["status"], {"error": {"message": say["error"], "type": "fake",
                                                          "code": str(say["status"])}})
                elif body.get("stream"):
                    self.stream(say, body)
                else:
                    self.answer(200, {"id": "c", "object": "chat.completion", "model": "fake-1", "choices": [
                        {"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": say["text"] or ""}}]})

            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def event(self, delta=None, finish=None, **more):
                chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake-1",
                         "choices": [] if delta is None else [
                             {"index": 0, "delta": delta, "finish_reason": finish}], **more}
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.flush()

            def pieces(self, name, text):
                half = len(text) // 2
                for piece in (text[:half], text[half:]):
                    if piece:
                        self.event({name: piece})

            def call(self, index, name, arguments):
                text = json.dumps(arguments)
                head = {"index": index, "id": "call_%d_%d" % (len(model.requests), index), "type": "function",
                        "function": {"name": name, "arguments": ""}}
                self.event({"tool_calls": [head]})
                for piece in (text[:8], text[8:]):
                    self.event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

            def stream(self, say, body):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    self.said(say, body)
                except OSError:
                    pass  # the agent has hung up

            def said(self, say, body):
                text = say["text"](body["messages"]) if callable(say["text"]) else say["text"]
                self.event({"role": "assistant", "content": ""})
                if say["thought"]:
                    self.pieces("reasoning_content", say["thought"])
                if text:
                    self.pieces("content", text)
                for index, (name, arguments) in enumerate(say["tools"]):
                    self.call(index, name, arguments)
                if say["stall"]:
                    model.closing.wait()
                    return
                self.event({}, "tool_calls" if say["tools"] else "stop")
                self.event(None, usage={"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60})
                self.wfile.write(b"data: [DONE]\n\n")
                self.wfile.flush()

        return Handler
