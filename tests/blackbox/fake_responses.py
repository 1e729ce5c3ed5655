"""OpenAI's responses: POST .../responses."""

import json

PATH = r"/responses$"
RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def text_of(content):
    return content if isinstance(content, str) else "\n".join(part.get("text") or "" for part in content)


def messages(body):
    """As those of chat completions: each output of a call is a message."""
    said = []
    for item in body.get("input", []):
        if item.get("type", "message") == "message":
            said.append({"role": item["role"], "content": text_of(item["content"])})
        elif item["type"] in RESULTS:
            said.append({"role": "tool", "content": text_of(item["output"])})
    return said


def item_of(text):
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}


def response(output, status):
    return {"id": "resp_1", "object": "response", "status": status, "model": "fake-1", "output": output,
            "usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 60}}


def whole(text):
    return response([item_of(text)], "completed")


class Stream:
    def __init__(self, send, serial):
        self.post, self.serial, self.items = send, serial, 0

    def send(self, kind, **more):
        self.post({"type": "response." + kind, **more}, "response." + kind)

    def begin(self):
        self.send("created", response=response([], "in_progress"))

    def item(self, item, begun=None, deltas=()):
        """An item: as it begins, its pieces, and whole."""
        self.send("output_item.added", output_index=self.items, item=begun or item)
        for kind, more in deltas:
            self.send(kind, output_index=self.items, item_id=item["id"], **more)
        self.send("output_item.done", output_index=self.items, item=item)
        self.items += 1

    def thought(self, pieces):
        item = {"type": "reasoning", "id": "rs_%d" % self.items,
                "summary": [{"type": "summary_text", "text": "".join(pieces)}]}
        self.item(item, {**item, "summary": []}, [
            ("reasoning_summary_part.added", {"summary_index": 0}),
            *(("reasoning_summary_text.delta", {"summary_index": 0, "delta": piece}) for piece in pieces)])

    def text(self, pieces):
        item = item_of("".join(pieces))
        self.item(item, {**item, "content": []}, [
            ("output_text.delta", {"content_index": 0, "delta": piece}) for piece in pieces])

    def call(self, name, arguments):
        """name: also (namespace, name). arguments: the text itself for a tool without a schema."""
        call = {"id": "fc_%d" % self.items, "call_id": "call_%d_%d" % (self.serial, self.items), "status": "completed"}
        if isinstance(name, tuple):
            call["namespace"], name = name
        if isinstance(arguments, str):
            self.item({**call, "type": "custom_tool_call", "name": name, "input": arguments})
        else:
            self.item({**call, "type": "function_call", "name": name, "arguments": json.dumps(arguments)})

    def end(self):
        self.send("completed", response=response([], "completed"))
