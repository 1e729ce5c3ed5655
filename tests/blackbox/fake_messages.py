"""Anthropic's messages: POST .../messages."""

import json
import re

PATH = r"/v1/messages$"
# What the agent itself puts among the user's words.
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)


def messages(body):
    """As those of chat completions: each tool result is a message."""
    said = []
    for message in body.get("messages", []):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        for block in blocks:
            if block["type"] == "tool_result":
                said.append({"role": "tool", "content": block.get("content")})
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        text = REMINDER.sub("", text)
        if text.strip():
            said.append({"role": message["role"], "content": text})
    return said


def message(content, stop, serial=0):
    """Messages of one id are one to the agent."""
    return {"id": "msg_%d" % serial, "type": "message", "role": "assistant", "model": "fake-1", "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 50, "output_tokens": 10}}


def whole(text):
    return message([{"type": "text", "text": text}], "end_turn")


class Stream:
    def __init__(self, send, serial):
        self.post, self.serial, self.index, self.calls = send, serial, 0, 0

    def send(self, kind, **more):
        self.post({"type": kind, **more}, kind)

    def begin(self):
        self.send("message_start", message=message([], None, self.serial))

    def block(self, block, kind, name, pieces):
        self.send("content_block_start", index=self.index, content_block=block)
        for piece in pieces:
            self.send("content_block_delta", index=self.index, delta={"type": kind, name: piece})
        self.send("content_block_stop", index=self.index)
        self.index += 1

    def thought(self, pieces):
        self.block({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", pieces)

    def text(self, pieces):
        self.block({"type": "text", "text": ""}, "text_delta", "text", pieces)

    def call(self, name, arguments):
        self.calls += 1
        text = json.dumps(arguments)
        self.block({"type": "tool_use", "id": "toolu_%d_%d" % (self.serial, self.calls), "name": name, "input": {}},
                   "input_json_delta", "partial_json", (text[:8], text[8:]))

    def end(self):
        self.send("message_delta", usage={"output_tokens": 10},
                  delta={"stop_reason": "tool_use" if self.calls else "end_turn", "stop_sequence": None})
        self.send("message_stop")
