"""A model on loopback for real agents, in the protocol they ask it in (fake_*.py), said by a script.

What is said is chosen by the newest user text that holds a key of the script, and by how many tool
results came after it: the script's value for a key is a list of steps, one a request."""

import http.server
import json
import re
import threading

import fake_chat
import fake_generate
import fake_messages
import fake_responses

PROTOCOLS = (fake_chat, fake_messages, fake_responses, fake_generate)


def step(text=None, thought=None, tools=(), status=None, error=None, stall=False):
    """text may be a function of the request's messages. tools: (name, arguments) pairs. status: an
    HTTP error with this text. stall: after all else, silence with the stream left open."""
    return {"text": text, "thought": thought, "tools": tools, "status": status, "error": error, "stall": stall}


def content(message):
    """The text of a message, whose content may come in parts."""
    got = message.get("content") or ""
    return got if isinstance(got, str) else "\n".join(p.get("text") or "" for p in got)


def halves(text):
    return [piece for piece in (text[:len(text) // 2], text[len(text) // 2:]) if piece]


class Model:
    def __init__(self):
        self.script, self.requests = {}, []
        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.root = "http://127.0.0.1:%d" % self.server.server_port
        self.url = self.root + "/v1"
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

    def choose(self, body, messages):
        """The step for a request. One without tools asks for a title or the like."""
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
                path = self.path.split("?")[0]
                for protocol in PROTOCOLS:
                    if re.search(protocol.PATH, path):
                        self.say(protocol, body, body.get("stream") or ":stream" in path)
                        return
                self.answer(404, {"error": {"message": "there is no " + path, "type": "fake"}})

            def say(self, protocol, body, streamed):
                messages = protocol.messages(body)
                key, say = model.choose(body, messages)
                model.requests.append({"key": key, "messages": messages, "body": body})
                if say["status"]:
                    self.answer(say["status"], {"type": "error", "error": {
                        "message": say["error"], "type": "fake", "code": say["status"]}})
                    return
                text = say["text"](messages) if callable(say["text"]) else say["text"] or ""
                if streamed:
                    self.stream(protocol, say, text)
                else:
                    self.answer(200, protocol.whole(text))

            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def event(self, data, name=None):
                head = "event: %s\n" % name if name else ""
                text = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(("%sdata: %s\n\n" % (head, text)).encode())
                self.wfile.flush()

            def stream(self, protocol, say, text):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    self.said(protocol.Stream(self.event, len(model.requests)), say, text)
                except OSError:
                    pass  # the agent has hung up

            def said(self, out, say, text):
                out.begin()
                if say["thought"]:
                    out.thought(halves(say["thought"]))
                if text:
                    out.text(halves(text))
                for name, arguments in say["tools"]:
                    out.call(name, arguments)
                if say["stall"]:
                    model.closing.wait()
                    return
                out.end()

        return Handler
