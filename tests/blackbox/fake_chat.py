"""Chat completions: POST .../chat/completions."""

import json

PATH = r"/chat/completions$"


def messages(body):
    return body.get("messages", [])


def whole(text):
    return {"id": "c", "object": "chat.completion", "model": "fake-1", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}


class Stream:
    """An answer as it is written; `send` writes one event."""

    def __init__(self, send, serial):
        self.send, self.serial, self.calls = send, serial, 0

    def event(self, delta=None, finish=None, **more):
        self.send({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake-1",
                   "choices": [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}],
                   **more})

    def begin(self):
        self.event({"role": "assistant", "content": ""})

    def thought(self, pieces):
        for piece in pieces:
            self.event({"reasoning_content": piece})

    def text(self, pieces):
        for piece in pieces:
            self.event({"content": piece})

    def call(self, name, arguments):
        index, self.calls = self.calls, self.calls + 1
        text = json.dumps(arguments)
        self.event({"tool_calls": [{"index": index, "id": "call_%d_%d" % (self.serial, index), "type": "function",
                                    "function": {"name": name, "arguments": ""}}]})
        for piece in (text[:8], text[8:]):
            self.event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def end(self):
        self.event({}, "tool_calls" if self.calls else "stop")
        self.event(None, usage={"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60})
        self.send("[DONE]")
