"""A server of the Model Context Protocol over standard input and output, with one tool: "heron" says a
token of its environment and its argument back."""

import json
import os
import sys

TOOL = {"name": "heron", "description": "Says what the heron knows.",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "heron", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = "%s heard %s" % (os.environ["HERON"], params["arguments"]["word"])
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params"))}
        print(json.dumps(answer), flush=True)
