"""A model that misbehaves: whatever it does, the user gets the answer or one plain sentence, and the next task works."""

import json
import os
import re
import socket

from harness import HOOKS, Case, main, needs_hooks, stalled, wait_for

RETRY = "/retry tries again."


def delta(content=None, **more):
    if content is not None:
        more["content"] = content
    return {"choices": [{"index": 0, "delta": more}]}


def calls(*list_of, finish=True):
    events = [delta(role="assistant", tool_calls=list(list_of))]
    return {"events": events + ([{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
                                 "data: [DONE]\n\n"] if finish else [])}


def call(arguments, **more):
    return dict({"index": 0, "id": "c1", "type": "function",
                 "function": {"name": "list_dir", "arguments": arguments}}, **more)


class Model(Case):
    """Each task comes from a person of its own, so that none waits for the spacing of another's parts."""

    def setUp(self):
        super().setUp()
        self.people = ["person%d@im.wechat" % n for n in range(60)]
        self.kairo.config(allowed_users=self.people, model__idle_seconds=5)
        self.kairo.start()

    def turn(self, *steps, text="go", person=None, sent=True):
        """A task and the model's answers to it; what its person is shown. self.asked: the requests it took.
        sent False: the answer is still on its way."""
        person = person or self.people.pop()
        handled, asked = self.kairo.status()["handled"], self.sim.counts()["model_requests"]
        shown = len(self.sim.texts(to=person))
        self.sim.script(*steps)
        self.sim.inject(text, **{"from": person})

        def over():
            s = self.kairo.status()
            return s["handled"] > handled and not (sent and s["unsent"])
        wait_for(over, "the task to end")
        self.asked = self.sim.counts()["model_requests"] - asked
        return self.sim.texts(to=person)[shown:]

    def fails(self, *steps, word, text="go"):
        """The one part shown is a plain sentence with this word in it."""
        parts = self.turn(*steps, text=text)
        self.assertEqual(len(parts), 1, parts)
        self.plain(parts[0], word)
        return parts[0]

    def plain(self, sentence, word):
        self.assertIn(word, sentence)
        self.assertTrue(sentence.endswith(RETRY), sentence)
        self.assertLess(len(sentence), 500)
        self.assertNotRegex(sentence, r"[{}<>\x00-\x09\x0b-\x1f\ufffd]")
        self.assertLessEqual(sentence.count("\n"), 1)

    def works(self):
        self.assertEqual(self.turn({"text": "fine"}), ["fine"])

    def protocol(self, body):
        """What every provider demands of a history: arguments that are objects, one result for each call."""
        open_calls = []
        for m in body["messages"]:
            if m["role"] == "tool":
                self.assertIn(m["tool_call_id"], open_calls)
                open_calls.remove(m["tool_call_id"])
                continue
            self.assertEqual(open_calls, [])
            for c in m.get("tool_calls") or []:
                self.assertIsInstance(json.loads(c["function"]["arguments"]), dict)
                self.assertRegex(c["id"], r"^\S+$")
                self.assertNotIn(c["id"], open_calls)
                open_calls.append(c["id"])
        self.assertEqual(open_calls, [])


class Stream(Model):
    def test_an_error_inside_a_stream(self):
        forms = ["event: error\ndata: {\"message\":\"boom here\"}\n\n", {"error": {"message": "boom here"}},
                 {"error": "boom here"}, {"error_type": "odd", "error_message": "boom here"},
                 {"error": {"code": "overloaded", "message": "boom here"}}]
        for form in forms:
            with self.subTest(form=form, when="first"):
                passing = "overloaded" in str(form)
                self.fails(*[{"events": [delta(role="assistant"), form]}] * 3, word="boom here")
                self.assertEqual(self.asked, 3 if passing else 1)
            with self.subTest(form=form, when="after some text"):
                half, sentence = self.turn({"events": [delta("Half of it."), form]}, {"text": "not asked"})
                self.assertEqual(half, "Half of it.")
                self.plain(sentence, "boom here")
                self.assertEqual(self.asked, 1)
        self.works()

    def test_comments_are_no_events(self):
        self.assertEqual(self.turn({"events": [
            ": ping\n\n", ":\n", ": ping\n" + "data: %s\n\n" % json.dumps(delta("one ")),
            "data: {\"choices\":[{\"index\":0,\n: ping\ndata: \"delta\":{\"content\":\"two \"}}]}\n\n",
            ": ping\n\n: ping\n\n", delta("three"), ": ping\n", "data: [DONE]\n\n", ": ping\n\n"]}), ["one two three"])
        self.assertEqual(self.asked, 1)

    def test_every_way_of_ending_a_line_and_cutting_the_stream(self):
        whole = "".join("data: %s\n\n" % json.dumps(delta(c), ensure_ascii=False) for c in ("好", "的 \U0001f600", "。"))
        for end in ("\n", "\r\n", "\r"):
            self.assertEqual(self.turn({"events": [c.replace("\n", end) for c in whole + "data: [DONE]\n\n"]}),
                             ["好的 \U0001f600。"])

    def test_silence_is_not_waited_for_for_ever(self):
        half, sentence = self.turn(stalled("Half of it."), {"text": "not asked"})
        self.assertEqual(half, "Half of it.")
        self.plain(sentence, "silent")
        self.assertEqual(self.asked, 1)
        self.fails({"stall": True}, {"text": "not asked"}, word="silent")
        self.assertEqual(self.asked, 1)
        self.works()

    def test_a_stream_that_breaks_off(self):
        half, sentence = self.turn({"events": [delta("Half of it.")], "cut": True}, {"text": "not asked"})
        self.assertEqual(half, "Half of it.")
        self.plain(sentence, "broke off")
        self.assertEqual(self.asked, 1)
        for how in ("cut", "reset") if HOOKS else ("reset",):  # before anything was shown: tried again, twice
            self.assertEqual(self.turn({how: True}, {"events": [delta(role="assistant")], how: True},
                                       {"text": "fine"}), ["fine"])
            self.assertEqual(self.asked, 3)


class Calls(Model):
    def test_bad_arguments_are_told_and_never_stored(self):
        huge = calls(call("{\"path\":\""), finish=False)
        huge["events"] += [delta(tool_calls=[{"index": 0, "function": {"arguments": "x" * 50000}}])
                           for _ in range(23)]  # over a MiB
        huge["events"] += [delta(tool_calls=[{"index": 0, "function": {"arguments": "\"}"}}]), "data: [DONE]\n\n"]
        bad = [calls(call(a)) for a in ("{\"a\":", "", "[]", "\"x\"", "\"{\\\"path\\\":\\\".\\\"}\"",
                                        "{\"path\":\".\"}}", "{\"path\":NaN}", "\ud83d".encode(
                                            "utf-8", "surrogatepass").decode("utf-8", "replace"))]
        for step in bad + [huge]:
            with self.subTest(str(step)[:150]):
                person = self.people[-1]
                self.assertEqual(self.turn(step, {"text": "sorry"}), ["sorry"])
                self.assertEqual(self.asked, 2)
                body = self.sim.model_requests()[-1]["body"]
                self.protocol(body)
                self.assertEqual(body["messages"][-1]["role"], "tool")
                self.assertIn("argument", body["messages"][-1]["content"])
                self.turn({"text": "fine"}, person=person, sent=False)
                self.assertEqual(self.asked, 1)
                self.protocol(self.sim.model_requests()[-1]["body"])

    def test_ids_that_are_missing_or_worthless(self):
        two = ({"path": "a"}, {"path": "b"})
        for one, other in ((None, None), ("", ""), ("x", "x"), (7, 7), ({}, []), ("a b", "c\n"), ("x" * 500, "y")):
            with self.subTest(ids=(one, other)):
                step = calls(*(call(json.dumps(a), index=n, id=i) for n, (a, i) in enumerate(zip(two, (one, other)))))
                self.assertEqual(self.turn(step, {"text": "done"}), ["done"])
                body = self.sim.model_requests()[-1]["body"]
                self.protocol(body)
                self.assertEqual([json.loads(c["function"]["arguments"]) for m in body["messages"]
                                  for c in m.get("tool_calls") or []], list(two))
        step = calls(*({"index": n, "function": {"name": "list_dir", "arguments": json.dumps(a)}}
                       for n, a in enumerate(two)))
        self.assertEqual(self.turn(step, {"text": "done"}), ["done"])
        self.protocol(self.sim.model_requests()[-1]["body"])

    def test_what_no_tool_is_called(self):
        for name in ("rm_rf", "", "shell", "read file", "x" * 300):
            with self.subTest(name=name):
                self.assertEqual(self.turn({"tool_calls": [{"name": name, "arguments": {"command": "touch x"}}]},
                                           {"text": "sorry"}), ["sorry"])
                self.protocol(self.sim.model_requests()[-1]["body"])
        self.assertEqual(self.kairo.files(), [])


class Answers(Model):
    def test_bodies_that_are_no_answer(self):
        for body, word in (("", ""), ("   \n", ""), ("{}", ""), ("[]", ""), ("null", ""), ("{\"choices\":[]}", ""),
                           ("data: [DONE]\n\n", ""), ("{\"choices\":[{\"message\":{\"content\":\"\"}}]}", "empty"),
                           ("<html><body>It works!</body></html>", "web page"), ("{\"choices\":[{\"mess", ""),
                           ("data: {]\n\n", "protocol"), ("nonsense", "protocol (nonsense)"), ("字" * 300, "protocol (字"), ("\x01\x02", "")):
            with self.subTest(body):
                # Without a single byte the connection may just have failed: it is tried again.
                self.fails(*[{"events": [body]}] * 3, word=word)
        self.works()

    def test_statuses(self):
        error = {"error": {"message": "no such luck", "type": "x"}}
        for status, word in ((400, "refused the request"), (401, "key"), (402, "quota"), (403, "key"), (404, "model"),
                             (413, "/new"), (422, "refused the request"), (301, "elsewhere")):
            for body in (json.dumps(error), "<html>nginx</html>", "no such luck", ""):
                with self.subTest(status=status, body=body):
                    sentence = self.fails({"status": status, "body": body} if body else {"status": status}, word=word)
                    self.assertEqual(self.asked, 1)
                    self.assertEqual("no such luck" in sentence, "no such luck" in body and status != 301, sentence)
        self.works()

    def test_what_may_pass_is_tried_twice_again(self):
        for status in (429, 500, 503) if HOOKS else (503,):
            with self.subTest(status):
                self.assertEqual(self.turn({"status": status}, {"status": status}, {"text": "fine"}), ["fine"])
                self.assertEqual(self.asked, 3)
        self.fails(*[{"status": 502, "body": "<html>bad gateway</html>"}] * 3, {"text": "not asked"}, word="502")
        self.assertEqual(self.asked, 3)
        self.fails({"status": 429, "headers": {"Retry-After": "3600"}}, {"text": "not asked"}, word="rate limit")
        self.assertEqual(self.asked, 1)
        self.fails({"status": 429, "body": {"error": {"code": "insufficient_quota", "message": "pay first"}}},
                   {"text": "not asked"}, word="pay first")
        self.assertEqual(self.asked, 1)
        self.works()

    @needs_hooks
    def test_retry_after_is_honoured(self):
        self.sim.script({"status": 429, "headers": {"Retry-After": "25"}}, {"text": "fine"})
        self.sim.inject("go")
        wait_for(lambda: "attempt 2 in 25000 ms" in self.kairo.log(), "the attempt to be put off")
        self.kairo.turn_clock(5000)
        self.assertEqual(len(self.sim.model_requests()), 1)
        self.kairo.turn_clock(20000)
        self.sim.wait("sent", 1)
        self.assertEqual(self.sim.texts(), ["fine"])

    def test_words_of_the_provider_are_cut_between_characters(self):
        for n in range(3):
            with self.subTest(n):
                words = "x" * n + "日本語のエラー" * 60
                sentence = self.fails({"status": 400, "body": {"error": {"message": words}}}, word="refused")
                said = re.search(r"\((.*)\)", sentence)[1]
                self.assertEqual(words.startswith(said.rstrip("…")), True, said)
                self.assertGreater(len(said), 80)
        with open(os.path.join(self.kairo.dir, "logs", "kairo.log"), encoding="utf-8") as f:
            self.assertNotIn("\ufffd", f.read())  # strict: it is valid UTF-8

    def test_a_key_is_not_given_away_by_the_provider(self):
        self.kairo.run("config", "set", "model.api_key", "--stdin", stdin=b"verysecretkey0123456789\n")
        self.kairo.run("restart")
        sentence = self.fails({"status": 401, "body": {"error": {
            "message": "Incorrect API key provided: verysecretkey0123456789."}}}, word="key")
        self.assertNotIn("verysecret", sentence)
        self.assertNotIn("verysecret", self.kairo.log())

    def test_chinese_is_told_in_chinese(self):
        for step, word in (({"status": 401}, "密钥"), ({"status": 400}, "拒绝了这次请求"),
                           ({"events": ["data: [DONE]\n\n"]}, "没有给出任何内容"), ({"status": 404}, "模型名")):
            parts = self.turn(*[step] * 3, text="请帮我看看")
            self.assertEqual(len(parts), 1)
            self.assertIn(word, parts[0])
            self.assertIn("/重试", parts[0])


class Away(Case):
    """No model at all."""

    def fails(self, word):
        self.kairo.start()
        self.sim.inject("go")
        wait_for(lambda: self.sim.texts(), "the sentence")
        self.kairo.idle()
        self.assertEqual(len(self.sim.texts()), 1)
        self.assertIn(word, self.sim.texts()[0])
        self.assertLess(len(self.sim.texts()[0]), 400)

    def closed_port(self):
        """Nobody listens on it; it stays bound, so that nobody else gets it."""
        s = socket.socket()
        self.addCleanup(s.close)
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

    def unset(self, key):
        path = os.path.join(self.kairo.dir, "config.toml")
        with open(path) as f:
            lines = f.read().split("\n")
        with open(path, "w") as f:
            f.write("\n".join(x for x in lines if not re.match(r"%s *=" % key, x)))

    def test_nobody_listens(self):
        self.kairo.config(model__base_url="http://127.0.0.1:%d/v1" % self.closed_port())
        self.fails("could not be reached")

    def test_the_address_is_not_set(self):
        self.unset("base_url")
        self.fails("The model is not set up")
        self.assertIn("kairo doctor", self.sim.texts()[0])

    def test_the_name_is_not_set(self):
        self.unset("name")
        self.fails("The model is not set up")


if __name__ == "__main__":
    main()
