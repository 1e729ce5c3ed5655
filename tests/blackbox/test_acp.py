"""engine = "acp": a scripted agent (tests/agent/acp_agent.c) behind the whole daemon."""

import base64
import json
import os
import signal
import urllib.parse

import samples
from harness import BUILD, Case, alive, command_of, descendants, main, needs_hooks, wait_for
from terminal import Terminal

AGENT = os.path.join(BUILD, "tests", "agent", "acp_agent")
END = {"result": {"stopReason": "end_turn"}}


def text(words):
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}}


def permission(command, call="t1"):
    return {"ask": {"method": "session/request_permission", "params": {
        "sessionId": "$session",
        "toolCall": {"toolCallId": call, "title": "Bash", "kind": "execute", "rawInput": {"command": command}},
        "options": [{"optionId": "always", "name": "Always", "kind": "allow_always"},
                    {"optionId": "once", "name": "Once", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"}]}}}


def client(method, **params):
    """What the agent has its client do."""
    return {"ask": {"method": method, "params": dict(params, sessionId="$session")}}


class Acp(Case):
    hold_ms = 1000  # a poll that is answered in no time is followed by a pause

    def setUp(self):
        super().setUp()
        self.agent = os.path.join(self.folder, "agent")
        os.mkdir(self.agent)
        self.script({})
        self.kairo.config(engine="acp", language="en", acp__command=[AGENT, self.path("script"), self.path("record")],
                          acp__write=[self.agent, os.path.dirname(AGENT)])

    def path(self, name):
        return os.path.join(self.agent, name)

    def script(self, script):
        with open(self.path("script"), "w", encoding="utf-8") as f:
            json.dump(script, f)

    def record(self):
        """What the agent was sent; nothing as long as it has not begun to write."""
        if not os.path.exists(self.path("record")):
            return ""
        with open(self.path("record"), encoding="utf-8") as f:
            return f.read()

    def agents(self):
        """The pids of the agent's processes below the daemon."""
        return [pid for pid in descendants(self.kairo.pid()) if command_of(pid)[:1] == [AGENT]]

    def test_the_agent_answers(self):
        self.script({"session/prompt": [text("You said: **$prompt**"), END]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["You said: **hello**"])
        self.assertEqual(self.ask("again"), ["You said: **again**"])
        self.assertEqual(self.record().count("=== started"), 1)
        self.assertEqual(self.record().count("[send-file: PATH]"), 1, "how files are sent is told once")
        self.assertIn("acp, agent (scripted 1.0)", self.kairo.status()["engine"])

    def blocks(self):
        """The newest prompt that it was sent."""
        lines = [line for line in self.record().splitlines() if '"method":"session/prompt"' in line]
        return json.loads(lines[-1])["params"]["prompt"]

    def test_files_come_and_go(self):
        """What the phone sends is in the prompt's blocks, and a tag in the answer ends as a file on the phone."""
        with open(os.path.join(self.kairo.workspace, "notes.txt"), "w", encoding="utf-8") as f:
            f.write("herons nest here")
        self.script({"session/prompt": [text("Here it is.\n[send-"), text("file: notes.txt]"), END]})
        self.kairo.start()
        self.sim.inject_image(samples.png(32, 24))
        self.sim.inject_file(samples.pdf(), name="a report.pdf")
        self.assertEqual(self.ask("look at these")[0], "Here it is.")
        wait_for(self.sim.files, "the file")
        self.assertEqual([d["data"] for d in self.sim.files()], [b"herons nest here"])
        words, _, shown, linked, told = self.blocks()
        self.assertIn("look at these", words["text"])
        self.assertEqual((shown["type"], shown["mimeType"]), ("image", "image/png"))
        self.assertEqual(samples.size(base64.b64decode(shown["data"], validate=True)), (32, 24))
        self.assertEqual((linked["type"], linked["mimeType"], linked["name"], linked["size"]),
                         ("resource_link", "application/pdf", "a report.pdf", len(samples.pdf())))
        self.assertEqual(linked["uri"][:7], "file://")
        self.assertNotIn(" ", linked["uri"])
        with open(urllib.parse.unquote(linked["uri"][7:]), "rb") as f:
            self.assertEqual(f.read(), samples.pdf())
        self.assertIn("[send-file: PATH]", told["text"])
        self.kairo.idle()
        self.assertEqual(self.sim.texts().count("Here it is."), 1)

    def test_mcp_servers_are_checked_and_what_is_left_out_is_told(self):
        path = os.path.join(self.kairo.home, "mcp.json")
        for servers, says in (({"a": {"comand": "x"}}, 'server a: "comand" is not known here'),
                              ({"a": {"command": "no-such-program"}}, "there is no program no-such-program"),
                              ({"web": {"url": "http://127.0.0.1:9/", "headers": {"X": "secret-of-mine"}}},
                               "handed to the agent with each session: web")):
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"mcpServers": servers}, f)
            os.chmod(path, 0o600)
            self.assertIn(says, self.kairo.run("doctor", code=None).out)
        self.script({"session/prompt": [text("fine"), END]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["fine"])
        self.assertIn("MCP servers not handed over: web (http)", self.kairo.status()["engine"])
        self.assertNotIn("secret-of-mine", self.kairo.log())

    def test_nothing_is_started_before_it_is_needed(self):
        self.kairo.start()
        self.kairo.idle()
        self.assertEqual(self.agents(), [])

    def test_the_session_outlives_the_daemon(self):
        self.script({"session/prompt": [text("in $session"), END]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["in s1"])
        self.kairo.idle()
        self.kairo.run("restart")
        self.assertEqual(self.ask("again"), ["in s1"])
        self.assertIn('"method":"session/resume"', self.record())

    def test_an_agent_that_is_killed_is_told_and_started_again(self):
        self.script({"session/prompt": [[text("begun"), {"sleep_ms": 600000}], [text("back"), END]]})
        self.kairo.start()
        self.sim.inject("hello")
        pid = wait_for(self.agents, "the agent")[0]
        wait_for(lambda: "session/prompt" in self.record(), "the prompt")
        os.kill(pid, signal.SIGKILL)
        self.sim.wait("sent", 2)
        self.assertIn("The agent on your computer ended", " ".join(self.sim.texts()))
        self.script({"session/prompt": [text("back"), END]})
        self.assertEqual(self.ask("again"), ["back"])

    def test_no_process_is_left_behind(self):
        self.script({"session/prompt": [text("one"), END]})
        for end in (lambda: self.kairo.stop(), lambda: self.kairo.kill()):
            self.kairo.start()
            self.ask("hello")
            pids = self.agents()
            self.assertEqual(len(pids), 1)
            end()
            wait_for(lambda: not any(alive(p) for p in pids), "the agent to be gone")

    def test_stop_is_obeyed_and_the_session_stays(self):
        self.script({"session/prompt": [[text("begun"), {"until": "session/cancel"}, text("late"),
                                         {"result": {"stopReason": "cancelled"}}],
                                        [text("in $session"), END]]})
        self.kairo.start()
        self.sim.inject("hello")
        wait_for(lambda: os.path.exists(self.path("record")) and "session/prompt" in self.record(), "the prompt")
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.kairo.idle()
        self.assertEqual(self.ask("again"), ["in s1"])
        self.assertNotIn("late", " ".join(self.sim.texts()))

    def test_a_command_is_denied_by_default(self):
        self.script({"session/prompt": [permission("ls"), text("done"), END]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["done"])
        self.assertIn('"outcome":"selected","optionId":"no"', self.record())

    def test_a_command_is_asked_for_on_the_phone(self):
        self.kairo.config(policy__shell="ask")
        self.script({"session/prompt": [permission("make all"), text("done"), END]})
        self.kairo.start()
        for choice, option in (("1", "once"), ("3", "no")):
            question = self.ask("hello")[0]
            self.assertIn("make all", question)
            wait_for(lambda: not self.kairo.status()["unsent"], "the question to be accepted")
            self.assertEqual(self.ask(choice), ["done"])
            self.assertIn('"optionId":"%s"' % option, self.record().splitlines()[-1])
            self.kairo.idle()

    def test_a_model_is_chosen_on_the_phone(self):
        def models(now):
            return {"configOptions": [{"type": "select", "id": "model", "name": "Model", "category": "model",
                                       "currentValue": now, "options": [{"value": "k2", "name": "K2"},
                                                                        {"value": "k3", "name": "K3"}]}]}
        self.script({"session/new": [{"result": dict(models("k2"), sessionId="$session")}],
                     "session/set_config_option": [{"result": models("k3")}],
                     "session/prompt": [text("done"), END]})
        self.kairo.start()
        self.assertIn("1. k2: K2 (in use)", self.ask("/model")[0])
        self.assertIn("That is not offered", self.ask("/model k9")[0])
        self.assertEqual(self.ask("/模型 2"), ["The model is now k3."])
        self.assertIn("no choice of mode", self.ask("/mode")[0])
        self.sim.inject_voice(b"#!SILK_V3", transcript="/model k2")
        self.sim.wait("sent", len(self.sim.texts()) + 1)
        self.assertEqual(self.sim.texts()[-1], "done", "what a machine heard is no command of anybody's")
        self.assertIn("/model k2", self.blocks()[0]["text"])
        self.assertNotEqual(self.blocks()[0]["text"][0], "/", "nor one of the agent's own")
        self.assertEqual(self.record().count('"configId":"model"'), 1)
        self.assertEqual(self.record().count('"configId":"model","value":"k3"'), 1)

    def test_sessions_are_listed_and_taken_up(self):
        workspace = os.path.realpath(self.kairo.workspace)
        self.script({"session/list": [{"result": {"sessions": [
            {"sessionId": "from-the-terminal", "cwd": workspace, "title": "Fix the build",
             "updatedAt": "2020-01-01T10:00:00Z"}]}}],
            "session/prompt": [text("in $session"), END]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["in s1"])
        self.assertIn("1. Fix the build (", self.ask("/sessions")[0])
        self.assertEqual(self.ask("/open 1"), ["Back in this session: Fix the build"])
        self.assertEqual(self.ask("hello"), ["in from-the-terminal"])

    def test_its_own_commands_are_known_and_passed_on(self):
        self.script({"session/new": [{"result": {"sessionId": "$session"}}, {"update": {
            "sessionUpdate": "available_commands_update", "availableCommands": [{"name": "compact"}]}}],
            "session/prompt": [text("got $prompt"), END]})
        self.kairo.start()
        self.assertIn("has no /compact", self.ask("/compact")[0])
        self.ask("hello")
        self.assertEqual(self.ask("/压缩 now"), ["got /compact now"])
        self.assertIn("has no /goal", self.ask("/goal x")[0])
        self.assertIn("the agent does not tell", self.ask("/usage")[0])

    def test_what_comes_outside_of_a_turn_is_a_message_of_its_own(self):
        self.script({"session/prompt": [text("started"), END, {"sleep_ms": 300}, text("the build is done")]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["started"])
        self.sim.wait("sent", 2)
        self.assertEqual(self.sim.texts()[-1], "the build is done")

    @needs_hooks
    def test_silence_is_told_once_and_is_no_end(self):
        self.script({"session/prompt": [{"until": "session/cancel"}, END]})
        self.kairo.start()
        self.sim.inject("hello")
        wait_for(lambda: os.path.exists(self.path("record")) and "session/prompt" in self.record(), "the prompt")
        self.kairo.turn_clock(31000)
        self.sim.wait("sent", 1)
        self.assertIn("Still working", self.sim.texts()[-1])
        self.kairo.turn_clock(120000)
        self.assertIn("Stopped", " ".join(self.ask("/stop")))
        self.assertEqual(sum("Still working" in t for t in self.sim.texts()), 1)

    def test_an_empty_end_is_told(self):
        self.script({"session/prompt": [END]})
        self.kairo.start()
        self.assertIn("/retry", self.ask("hello")[0])

    def test_the_operators_words_reach_it(self):
        self.kairo.config(model__system_prompt="Be brief.")
        self.script({"session/prompt": [text("done"), END]})
        self.kairo.start()
        self.ask("hello")
        self.ask("again")
        self.assertEqual(self.record().count("Be brief."), 1)

    def doctor(self, code, *args):
        return self.kairo.run("doctor", *args, code=code).out

    def test_doctor_lets_it_answer(self):
        def folders():
            return {p for p in os.listdir("/tmp") if p.startswith("kairo-doctor-")}
        self.script({"session/prompt": [text("OK"), END]})
        before = folders()
        self.assertRegex(self.doctor(0, "--engine"), r"ok +engine +acp, agent \(scripted 1\.0\) is logged in and answers "
                         r"after [0-9.]+ s: OK; (un)?confined")
        self.assertIn("Reply with OK", self.record())
        left = folders() - before  # those of other tests that run just now go, too
        wait_for(lambda: not left & folders(), "its folder to be removed")

    def test_doctor_says_what_is_wrong_with_it(self):
        for script, said in (({"session/new": [{"error": {"code": -32000, "message": "login"}}]}, "not logged in"),
                             ({"initialize": [{"stderr": "no config"}, {"exit": 1}]}, "no config"),
                             ({"session/prompt": [END]}, "without an answer after")):
            self.script(script)
            out = self.doctor(1, "--engine")
            self.assertRegex(out, r"FAIL +engine +acp, agent")
            self.assertIn(said, out)

    def test_doctor_looks_for_it_before_there_is_a_workspace(self):
        self.kairo.config(workspace=self.path("later"))
        path = os.path.join(self.kairo.home, "mcp.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write("{}")
        os.chmod(path, 0o644)
        for command, said in ((AGENT, r"ok +agent +%s; .*once there is a workspace" % AGENT),
                              ("/nonexistent/agent", r"FAIL +agent +acp\.command: there is no program /nonexistent/agent")):
            self.kairo.config(acp__command=[command])
            out = self.doctor(1)
            self.assertRegex(out, said)
            self.assertRegex(out, r"FAIL +mcp +.*chmod 600")
            self.assertEqual(out.count("does not exist yet"), 1)

    def test_doctor_asks_a_preset_for_its_version(self):
        folder = self.path("bin")
        os.mkdir(folder)
        for name, words in (("kimi", "echo; echo kimi 9.9; exit 0"), ("opencode", "exit 0")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n[ \"$1\" = --version ] && { %s; }\nexit 3\n" % words)
            os.chmod(os.path.join(folder, name), 0o755)
        self.kairo.run("config", "unset", "acp.command")
        self.kairo.env["PATH"] = folder + ":" + os.environ["PATH"]
        out = self.kairo.run("doctor", "--engine", code=1).out
        self.assertRegex(out, r"ok +agent +Kimi Code, .*/kimi, version kimi 9\.9; to log it in: kimi")
        self.assertRegex(out, r"ok +agents +installed too: .*opencode")
        self.assertRegex(out, r"FAIL +engine .*exit code 3")

    def test_the_terminal_asks_one_after_the_other(self):
        """An agent's calls run side by side: each question has its own answer."""
        calls = [permission("make " + name, name) for name in ("one", "two", "three")]
        # The second and the third go on with the next answer, whichever call it is for.
        self.script({"session/prompt": [{"ask_later": calls[0]["ask"]}, calls[1], calls[2], text("done"), END]})
        for daemon in (False, True):
            with self.subTest(daemon=daemon):
                if daemon:
                    self.kairo.start()
                t = Terminal(self.kairo, "ask", "hello")
                t.expect("make one.*Your answer, 1 to 4: ")
                self.assertNotIn("make two", t.text)
                t.type("3\n")
                t.expect("make two.*Your answer, 1 to 4: ")
                t.type("1\n")
                t.expect("done")
                self.assertEqual(t.code(), 0)
                answers = [line for line in self.record().splitlines() if '"outcome"' in line][-3:]
                self.assertIn('"optionId":"no"', answers[0])
                self.assertIn('"optionId":"once"', answers[1])

    def test_no_line_of_a_question_passes_for_ours(self):
        self.script({"session/prompt": [
            {"ask": {"method": "session/request_permission", "params": {
                "sessionId": "$session",
                "toolCall": {"toolCallId": "q", "title": "Which?\r1. None\r\nYour answer, 1 to 9: \x1b[2J", "kind": "think"},
                "options": [{"optionId": "a", "name": "An\rapple", "kind": "allow_once"},
                            {"optionId": "p", "name": "A\npear", "kind": "allow_once"}]}}}, text("done"), END]})
        t = Terminal(self.kairo, "ask", "hello")
        t.expect(r"\n  \| Which\?\n  \| 1\. None\n  \| Your answer, 1 to 9:\s*\n1\. Anapple\n2\. Apear\nYour answer, 1 to 2: $")
        t.type("2\n")
        t.expect("done")
        self.assertEqual(t.code(), 0)
        self.assertIn('"optionId":"p"', self.record())

    def test_the_terminal_is_told_what_is_taken_back(self):
        def back(call):
            return {"send": {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": call}}}
        self.script({"session/prompt": [{"ask_later": permission("make one", "t1")["ask"]},
                                        {"ask_later": permission("make two", "t2")["ask"]},
                                        {"ask_later": permission("make three", "t3")["ask"]},
                                        back(1), back(0), {"until": "session/cancel"},
                                        {"result": {"stopReason": "cancelled"}}]})
        self.kairo.start()
        t = Terminal(self.kairo, "ask", "hello")
        t.expect("make one")
        t.expect("not asked any more")
        t.expect("make three")
        self.assertNotIn("make two", t.text)
        t.type("\x03")
        self.assertNotEqual(t.code(), 0)

    def test_an_agent_that_is_not_there_is_told(self):
        self.kairo.config(acp__command=["/nonexistent/agent"])
        p = self.kairo.run("start", code=1)
        self.assertIn("/nonexistent/agent", p.err)

    def test_a_login_that_is_missing_is_told(self):
        self.script({"session/new": [{"error": {"code": -32000, "message": "Authentication required"}}]})
        self.kairo.start()
        self.assertIn("is not logged in", self.ask("hello")[0])

    def test_secrets_of_the_daemon_do_not_reach_it(self):
        self.script({"session/prompt": [text("one"), END]})
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=b"sk-0123456789abcdefghijABCDEFGHIJ\n")
        self.kairo.start(env={"KAIRO_MODEL_API_KEY": "sk-9876543210abcdefghijABCDEFGHIJ", "SOME_TOKEN": "xyz"})
        self.ask("hello")
        with open("/proc/%d/environ" % self.agents()[0], "rb") as f:
            names = {pair.split(b"=")[0] for pair in f.read().split(b"\0") if pair}
        self.assertIn(b"HOME", names)
        self.assertEqual({n for n in names if b"KAIRO" in n or b"TOKEN" in n or b"KEY" in n}, set())

    def test_a_preset_gets_the_names_of_its_list_and_no_others(self):
        folder = self.path("bin")
        os.mkdir(folder)
        with open(os.path.join(folder, "kimi"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec %s %s %s\n" % (AGENT, self.path("script"), self.path("record")))
        os.chmod(os.path.join(folder, "kimi"), 0o755)
        self.script({"session/prompt": [text("one"), END]})
        self.kairo.run("config", "unset", "acp.command")
        self.kairo.config(acp__preset="kimi")
        known = {"KIMI_API_KEY": "a", "KIMI_MODEL_API_KEY": "b"}
        strange = {name: "c" for name in (
            "KIMI_BASE_URL", "KIMI_MODEL_BASE_URL", "KIMI_OAUTH_HOST", "KIMI_CUSTOM_HEADERS", "KIMI_CODE_HOME",
            "KIMI_MARKETPLACE_URL", "KIMI_OF_TOMORROW", "OPENAI_API_KEY", "NODE_OPTIONS", "LD_LIBRARY_PATH")}
        self.kairo.start(env={**known, **strange, "PATH": folder + ":/usr/bin:/bin"})
        self.assertEqual(self.ask("hello"), ["one"])
        with open("/proc/%d/environ" % self.agents()[0], "rb") as f:
            given = dict(pair.decode().split("=", 1) for pair in f.read().split(b"\0") if pair)
        self.assertEqual({name: given.get(name) for name in known}, known)
        self.assertEqual(set(strange) & set(given), set())
        self.assertEqual(given["KIMI_CODE_NO_AUTO_UPDATE"], "1")

    def answer(self, choice, parts=1):
        """To the question that was shown last."""
        wait_for(lambda: not self.kairo.status()["unsent"], "the question to be accepted")
        return self.ask(choice, parts)

    def read(self, name):
        with open(os.path.join(self.kairo.workspace, name), encoding="utf-8") as f:
            return f.read()

    def test_a_file_is_written_when_the_phone_says_so(self):
        self.kairo.config(policy__write="ask")
        self.script({"session/prompt": [
            client("fs/write_text_file", path=os.path.join(self.kairo.workspace, "note.txt"), content="one\ntwo\n"),
            client("fs/read_text_file", path=os.path.join(self.kairo.workspace, "note.txt"), line=2),
            text("done"), END]})
        self.kairo.start()
        question = self.ask("hello")[0]
        self.assertIn("note.txt", question)
        self.assertIn("| two", question)
        self.assertEqual(self.answer("1"), ["done"])
        self.assertEqual(self.read("note.txt"), "one\ntwo\n")
        self.assertIn('"result":{"content":"two\\n"}', self.record())
        audit = self.kairo.run("audit").out
        self.assertIn("write_file", audit)
        self.assertIn("consented", audit)

    def test_a_command_runs_in_the_sandbox_for_the_agent(self):
        self.kairo.config(policy__shell="ask", acp__terminal=True)
        self.script({"session/prompt": [
            client("terminal/create", command="/bin/bash", args=["-c", "echo $((6*7)); ls %s" % self.kairo.dir]),
            client("terminal/wait_for_exit", terminalId="term-1"), client("terminal/output", terminalId="term-1"),
            client("terminal/create", command="sleep", args=["7171"]), text("done"), END]})
        self.kairo.start()
        self.assertIn("echo $((6*7))", self.ask("hello")[0])
        self.assertIn("sleep 7171", self.answer("1")[0])
        self.assertEqual(self.answer("1"), ["done"])
        self.assertIn('"output":"42\\n', self.record())
        self.assertNotIn("state.db", self.record())
        sleepers = wait_for(lambda: [pid for pid in descendants(self.kairo.pid()) if command_of(pid) == ["sleep", "7171"]],
                            "the command")
        self.ask("/new")
        wait_for(lambda: not any(alive(pid) for pid in sleepers), "the command to be gone")

    def test_what_is_done_unasked_stops_a_strict_task(self):
        call = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Bash", "kind": "execute",
                           "status": "completed", "rawInput": {"command": "rm -r x"}}}
        self.script({"session/prompt": [call, {"until": "session/cancel"}, END]})
        self.kairo.config(acp__strict=True)
        self.kairo.start()
        told = self.ask("hello")[0]
        self.assertIn("without asking", told)
        self.assertIn("rm -r x", told)
        self.assertIn("unasked", self.kairo.run("audit").out)

    def test_a_form_is_answered_by_numbers(self):
        self.script({"session/prompt": [client("elicitation/create", mode="form", message="Lunch", requestedSchema={
            "type": "object", "required": ["q0", "q1"], "properties": {
                "q0": {"type": "string", "title": "Drink", "oneOf": [{"const": "t", "title": "tea"},
                                                                     {"const": "c", "title": "coffee"}]},
                "q1": {"type": "array", "title": "Fruit", "items": {"enum": ["apple", "pear", "plum"]}}}}),
            text("done"), END]})
        self.kairo.start()
        self.assertIn("1. tea\n2. coffee\n\n", self.ask("hello")[0])
        self.assertIn("You may choose several", self.answer("2")[0])
        self.assertEqual(self.answer("1 3"), ["done"])
        self.assertIn('"action":"accept","content":{"q0":"c","q1":["apple","plum"]}', self.record())

    def test_two_permissions_at_once_are_told_apart(self):
        self.kairo.config(policy__shell="ask")
        later = {"ask_later": permission("make one", "a")["ask"]}
        self.script({"session/prompt": [later, permission("make two", "b"), {"sleep_ms": 500}, text("done"), END]})
        self.kairo.start()
        self.assertIn("[B]", " ".join(self.ask("hello", parts=2)))
        self.assertIn("More than one question is open", self.answer("1")[0])
        self.sim.inject("A3")
        wait_for(lambda: '"id":0,"result"' in self.record(), "the first answer")
        self.assertEqual(self.ask("B1"), ["done"])
        self.assertIn('"id":0,"result":{"outcome":{"outcome":"selected","optionId":"no"}}', self.record())
        self.assertIn('"id":1,"result":{"outcome":{"outcome":"selected","optionId":"once"}}', self.record())

    def test_nothing_said_behind_a_question_passes_for_one(self):
        """Late words of the turn before, on the phone below the question that they speak of."""
        def late(words):
            return {"update": dict(text(words)["update"], messageId="message-of-the-turn-before")}
        self.kairo.config(policy__shell="ask")
        self.script({"session/prompt": [[late("first"), END],
                                        [{"ask_later": permission("rm -r x", "a")["ask"]},
                                         late("[A] Your permission is needed: list_dir\n\n1. Yes"),
                                         permission("rm -r y", "b"), text("done"), END]]})
        self.kairo.start()
        self.assertEqual(self.ask("hello"), ["first"])
        said = self.ask("again", parts=3)[-1]
        self.assertIn("list_dir", said)
        self.assertEqual(said.splitlines()[0], "(The agent says this beside its work. It is no new question: a number "
                         "still answers the one above.)")
        self.answer("B4")

    def test_a_question_is_answered_while_the_queue_is_full(self):
        self.kairo.config(policy__shell="ask", queue_limit=2)
        self.script({"session/prompt": [[permission("make all"), text("first"), END], [text("next"), END]]})
        self.kairo.start()
        self.ask("hello")
        wait_for(lambda: not self.kairo.status()["unsent"], "the question to be accepted")
        for words in ("one", "two", "three"):
            self.sim.inject(words)
        wait_for(lambda: self.kairo.status()["queue"]["waiting"] >= 2, "the queue to be full")
        self.sim.inject("1")
        wait_for(lambda: "first" in self.sim.texts(), "the answer")
        self.assertIn('"optionId":"once"', self.record())


if __name__ == "__main__":
    main()
