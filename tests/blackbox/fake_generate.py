"""Google's generateContent: POST .../models/NAME:generateContent and :streamGenerateContent."""

import json

PATH = r":(stream)?[gG]enerateContent$"


def messages(body):
    """As those of chat completions: each result of a function is a message."""
    said = []
    for item in body.get("contents", []):
        parts = item.get("parts", [])
        said += [{"role": "tool", "content": json.dumps(part["functionResponse"]["response"])}
                 for part in parts if "functionResponse" in part]
        text = "\n".join(part["text"] for part in parts if "text" in part)
        if text:
            said.append({"role": {"model": "assistant"}.get(item.get("role"), "user"), "content": text})
    return said


def chunk(parts, **more):
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **more}],
            "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 10, "totalTokenCount": 60},
            "modelVersion": "fake-1"}


def whole(text):
    return chunk([{"text": text}], finishReason="STOP")


class Stream:
    def __init__(self, send, serial):
        self.send, self.serial = send, serial

    def begin(self):
        pass

    def thought(self, pieces):
        for piece in pieces:
            self.send(chunk([{"text": piece, "thought": True}]))

    def text(self, pieces):
        for piece in pieces:
            self.send(chunk([{"text": piece}]))

    def call(self, name, arguments):
        self.send(chunk([{"functionCall": {"name": name, "args": arguments}}]))

    def end(self):
        self.send(chunk([{"text": ""}], finishReason="STOP"))
