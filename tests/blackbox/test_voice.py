"""Voices from the phone: WeChat's transcript where there is one, else a transcriber of the operator's,
else one honest line; never an empty prompt, and never silence."""

import io
import json
import os
import re
import shutil
import stat
import threading
import unittest
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import samples
import test_silk
from harness import Case, alive, command_of, descendants, main, needs_hooks, wait_for
from npm_tools import Skipped

KEY = "sk-voice-0123456789abcdef"
WORDS = ("cannot hear this voice message", "heard no words")


def wav(seconds=0.1):
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(b"\0\1" * int(seconds * 8000))
    return out.getvalue()


class VoiceCase(Case):
    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.folder, "bin")
        os.mkdir(self.bin)
        self.kairo.config(language="en", media__merge_ms=0)

    def program(self, name, script):
        path = os.path.join(self.bin, name)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        return path

    def listen_by(self, script):
        self.kairo.config(voice__transcriber=[self.program("listen", script), "{file}"])

    def decode_by(self, script):
        self.kairo.config(voice__decoder=[self.program("decode", script), "{file}", "{out}"])

    def prompts(self):
        return [r["body"]["messages"][-1]["content"] for r in self.sim.model_requests()]

    def heard(self, data, answer="I see", **voice):
        """The prompt that this voice becomes."""
        self.sim.script({"text": answer})
        before, asked = len(self.sim.sent()), len(self.prompts())
        self.sim.inject_voice(data, **voice)
        self.sim.wait("sent", before + 1)
        self.kairo.idle()
        self.assertEqual(self.sim.texts()[before:], [answer])
        self.assertEqual(len(self.prompts()), asked + 1)
        return self.prompts()[-1]

    def unheard(self, data, *words, **voice):
        """The one line that is told of it instead; the model is not asked."""
        before, asked = len(self.sim.sent()), len(self.prompts())
        self.sim.inject_voice(data, **voice)
        self.sim.wait("sent", before + 1)
        self.kairo.idle()
        said = self.sim.texts()[before:]
        self.assertEqual(len(said), 1, said)
        self.assertEqual(len(self.prompts()), asked)
        for word in words:
            self.assertIn(word, said[0])
        return said[0]

    def kept(self):
        """Files of the media folder and their contents."""
        found = []
        for folder, _, names in os.walk(os.path.join(self.kairo.dir, "media")):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    found.append(f.read())
        return found


class Transcripts(VoiceCase):
    def test_wechat_s_own_is_used_and_the_sound_is_kept(self):
        self.listen_by("echo never")
        self.kairo.start()
        prompt = self.heard(samples.silk(), transcript="明天几点开会？")
        self.assertIn("明天几点开会？", prompt)
        self.assertNotIn("never", prompt)
        self.assertEqual(self.kept(), [samples.silk()])

    def test_it_is_used_without_any_setting(self):
        self.kairo.start()
        self.assertIn("when is it?", self.heard(samples.silk(), transcript="when is it?"))

    def test_it_is_no_command(self):
        self.kairo.start()
        self.assertIn("/status", self.heard(samples.silk(), transcript="/status"))


class Unheard(VoiceCase):
    def test_without_anything_set_up(self):
        self.kairo.start()
        self.unheard(samples.silk(), "cannot hear", "WeChat gave no text", "Please send it as text")
        self.unheard(wav(), "cannot hear")
        self.kairo.config(language="zh")
        self.kairo.run("restart")
        self.unheard(wav(), "这条语音听不了", "请用文字发给我")

    def test_what_the_transcriber_does_wrong(self):
        path = self.program("listen", "exit 0")
        self.kairo.config(voice__transcriber=[path, "{file}"])
        self.kairo.start()
        for script, line, why in (
                ("echo no model >&2; exit 3", WORDS[0], "exit status 3, no model"),
                ("exit 0", WORDS[1], ""),
                ("echo; echo '[BLANK_AUDIO]'", WORDS[1], ""),
                ("head -c 1048576 /dev/zero | tr '\\0' x", WORDS[0], "too much"),
                ("printf 'caf\\351'", WORDS[0], "not UTF-8"),
                ("kill -11 $$", WORDS[0], "killed")):
            with self.subTest(script):
                self.program("listen", script)
                said = self.unheard(wav(), line)
                self.assertNotIn("exit", said)
                self.assertIn(why, self.kairo.log())

    @needs_hooks
    def test_one_that_hangs(self):
        self.listen_by("echo $$ >pid; exec sleep 600")
        self.kairo.start()
        self.sim.inject_voice(wav())
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.dir, "hearing", "pid")), "the transcriber")
        self.kairo.turn_clock(130000)
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertIn("took too long", self.sim.texts()[0])
        self.assertEqual(self.prompts(), [])

    def test_a_program_that_is_gone(self):
        self.listen_by("echo hello")
        self.kairo.start()
        os.unlink(os.path.join(self.bin, "listen"))
        self.unheard(wav(), WORDS[0])
        self.assertIn("there is no program", self.kairo.log())

    def test_silk_without_a_decoder(self):
        self.listen_by("echo never")
        self.kairo.start()
        self.unheard(samples.silk(), "no decoder for its format")
        self.assertIn("voice.decoder is not set", self.kairo.log())

    def test_a_decoder_that_says_it_is_damaged(self):
        self.listen_by("echo never")
        self.decode_by("exit 65")
        self.kairo.start()
        self.unheard(samples.silk(), "incomplete", "send it again")


class Heard(VoiceCase):
    def test_by_a_program(self):
        self.listen_by("wc -c <\"$1\"; echo words")
        self.kairo.start()
        data = wav()
        prompt = self.heard(data)
        self.assertIn("%d\nwords" % len(data), prompt)
        self.assertEqual(self.kept(), [data])
        self.assertEqual(os.listdir(os.path.join(self.kairo.dir, "hearing")), [])
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.kairo.dir, "hearing")).st_mode), 0o700)

    def test_after_the_decoder(self):
        self.listen_by("cat \"$1\"")
        self.decode_by("{ printf 'decoded '; head -c 10 \"$1\" | tail -c 9; } >\"$2\"")
        self.kairo.start()
        self.assertIn("decoded #!SILK_V3", self.heard(samples.silk()))

    def test_it_is_no_command(self):
        self.listen_by("echo /status")
        self.kairo.start()
        self.assertIn("/status", self.heard(wav()))

    def test_in_the_order_they_came(self):
        self.listen_by("tail -c 1 \"$1\"")
        self.kairo.start()
        self.sim.script(*({"text": "answer %d" % i} for i in range(4)))
        for i in range(3):
            self.sim.inject_voice(wav() + b"%d" % i)
        self.sim.inject("typed")
        self.sim.wait("sent", 4)
        self.kairo.idle()
        self.assertEqual(self.sim.texts(), ["answer %d" % i for i in range(4)])
        for i, prompt in enumerate(self.prompts()[:3]):
            self.assertIn(str(i), prompt)

    def test_it_can_be_quoted(self):
        self.listen_by("echo bring an umbrella")
        self.kairo.start()
        self.sim.script({"text": "I see"}, {"text": "I will"})
        message = self.sim.inject_voice(wav())[0]["id"]
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.sim.quote("mind this", message)
        self.sim.wait("sent", 2)
        self.kairo.idle()
        self.assertIn("bring an umbrella", self.prompts()[-1])
        self.assertIn("mind this", self.prompts()[-1])

    def test_one_that_is_not_heard_does_not_hold_up_the_words_beside_it(self):
        self.listen_by("exit 1")
        self.kairo.config(media__merge_ms=10000)
        self.kairo.start()
        self.sim.script({"text": "the answer"})
        self.sim.inject_voice(wav())
        self.sim.inject("and what I typed")
        self.sim.wait("sent", 2)
        self.kairo.idle()
        said = self.sim.texts()
        self.assertEqual(len(said), 2, said)
        self.assertEqual(sum("cannot hear" in s for s in said), 1)
        self.assertIn("the answer", said)
        self.assertEqual(len(self.prompts()), 1)
        self.assertIn("and what I typed", self.prompts()[0])
        self.assertIn("not transcribed", self.prompts()[0])

    def test_the_end_of_the_daemon_ends_it(self):
        self.listen_by("echo $$ >pid; exec sleep 600")
        self.kairo.start()
        self.sim.inject_voice(wav())
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.dir, "hearing", "pid")), "the transcriber")
        below = descendants(self.kairo.pid())
        self.assertTrue(below)
        self.kairo.stop()
        for pid in below:
            self.assertFalse(alive(pid))
        self.listen_by("echo after all")
        self.sim.script({"text": "I see"})
        self.kairo.start()
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertIn("after all", self.prompts()[-1])

    def test_stop_while_it_is_listened_to(self):
        self.listen_by("echo $$ >pid; exec sleep 600")
        self.kairo.start()
        self.sim.inject_voice(wav())
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.dir, "hearing", "pid")), "the transcriber")
        self.ask("/stop all")
        self.kairo.idle()
        wait_for(lambda: "sleep" not in self.running(), "the transcriber to be gone")
        self.assertEqual(self.prompts(), [])

    def running(self):
        """The command lines of all that the daemon has below it."""
        return "\n".join(" ".join(command_of(pid)) for pid in descendants(self.kairo.pid()))

    def test_a_kill_while_it_is_listened_to(self):
        self.listen_by("if [ -e \"$(dirname \"$0\")\"/go ]; then echo after all; else echo $$ >pid; exec sleep 600; fi")
        self.kairo.start()
        self.sim.inject_voice(wav())
        wait_for(lambda: os.path.exists(os.path.join(self.kairo.dir, "hearing", "pid")), "the transcriber")
        self.kairo.kill()
        with open(os.path.join(self.bin, "go"), "w"):
            pass
        self.sim.script({"text": "I see"})
        self.kairo.start()
        self.sim.wait("sent", 1)
        self.kairo.idle()
        self.assertIn("after all", self.prompts()[-1])


class Endpoint(VoiceCase):
    def setUp(self):
        super().setUp()
        case = self
        self.seen, self.answers = [], []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                case.seen.append((self.path, dict(self.headers),
                                  self.rfile.read(int(self.headers["Content-Length"]))))
                status, body = case.answers.pop(0) if case.answers else (200, {"text": "from the server"})
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.kairo.config(voice__base_url="http://127.0.0.1:%d/v1" % self.server.server_port,
                          voice__name="whisper-1")
        p = self.kairo.run("config", "set", "voice.api_key", "--stdin", stdin=KEY.encode() + b"\n")
        self.assertNotIn(KEY, p.out + p.err)

    def test_it_is_asked(self):
        path = os.path.join(self.kairo.dir, "voice-api.key")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.kairo.start()
        data = wav()
        self.assertIn("from the server", self.heard(data))
        where, headers, body = self.seen[0]
        self.assertEqual(where, "/v1/audio/transcriptions")
        self.assertEqual(headers["Authorization"], "Bearer " + KEY)
        boundary = re.fullmatch("multipart/form-data; boundary=([0-9a-f]+)", headers["Content-Type"])[1].encode()
        parts = body.split(b"--" + boundary)
        self.assertEqual((parts[0], parts[-1]), (b"", b"--\r\n"))
        fields = {re.search(b'name="([a-z_]+)"', p)[1]: p.split(b"\r\n\r\n", 1)[1][:-2] for p in parts[1:-1]}
        self.assertEqual(fields, {b"model": b"whisper-1", b"response_format": b"json", b"file": data})

    def test_the_key_is_nowhere_to_be_seen(self):
        self.answers = [(401, {"error": {"message": "Incorrect API key provided: " + KEY}})]
        self.kairo.start()
        self.unheard(wav(), WORDS[0])
        self.assertIn("is voice.api_key good?", self.kairo.log())
        self.kairo.stop()
        seen = self.kairo.run("config", "list").out + self.kairo.run("doctor", code=None).out
        for folder, _, names in os.walk(self.kairo.home):
            for name in names:
                path = os.path.join(folder, name)
                if name != "voice-api.key" and os.path.isfile(path):
                    with open(path, errors="replace") as f:
                        seen += f.read()
        self.assertNotIn(KEY, seen)

    def test_nothing_but_silence(self):
        self.answers = [(200, {"text": " "})]
        self.kairo.start()
        self.unheard(wav(), WORDS[1])


class Settings(VoiceCase):
    login = False

    def test_those_that_cannot_be(self):
        for key, value, why in (("voice.transcriber", '["listen"]', "{file}"),
                                ("voice.transcriber", '["", "{file}"]', "a program first"),
                                ("voice.transcriber", "listen {file}", "list"),
                                ("voice.decoder", '["decode", "{file}"]', "{out}"),
                                ("voice.base_url", "x.example/v1", "https://"),
                                ("voice.base_url", "https://u:k@x/", "does not belong in the address"),
                                ("voice.name", "a\nb", "control")):
            with self.subTest(key + " " + value):
                self.assertIn(why, self.kairo.run("config", "set", key, value, code=1).err)
        p = self.kairo.run("config", "set", "voice.api_key", KEY, code=2)
        self.assertIn("kairo config set voice.api_key --stdin", p.err)
        self.assertNotIn(KEY, p.out + p.err)

    def test_words_that_begin_with_the_home(self):
        self.kairo.config(voice__decoder=["node", "~/voice/decode.mjs", "{file}", "{out}", "~"])
        self.assertEqual(json.loads(self.kairo.run("config", "get", "voice.decoder").out),
                         ["node", self.folder + "/voice/decode.mjs", "{file}", "{out}", self.folder])

    def doctor(self):
        return [line for line in self.kairo.run("doctor", code=None).out.splitlines()
                if re.match(r"\w+ +voice ", line)]

    def test_doctor(self):
        self.assertRegex(self.doctor()[0], "^ok .*WeChat's own text")
        self.decode_by("exit 0")
        self.assertRegex(self.doctor()[0], "half of it is set up")
        self.listen_by("echo hello")
        self.assertRegex("\n".join(self.doctor()), r"^ok +voice +/.*/listen$")
        os.unlink(os.path.join(self.bin, "decode"))
        self.assertRegex(self.doctor()[0], "voice.decoder: there is no program")
        self.kairo.config(voice__decoder="[]")
        self.assertRegex(self.doctor()[0], "SILK")
        self.kairo.config(voice__transcriber=["/bin/cat", os.path.join(self.folder, "gone"), "{file}"])
        self.assertRegex(self.doctor()[0], "voice.transcriber: .*gone")
        self.kairo.config(voice__transcriber=["/bin/cat", self.folder, "{file}"])
        self.assertRegex(self.doctor()[0], "put it into a folder of its own")


class Silk(VoiceCase):
    """The decoder of contrib/voice in the fence, with the real codec."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.node, installed = test_silk.decoder()
        except Skipped as e:
            raise unittest.SkipTest(e.reason) from None
        cls.maker = test_silk.Silk("test_a_tone")
        cls.maker.node, cls.maker.folder = cls.node, installed

    def setUp(self):
        super().setUp()
        self.maker.setUp()
        self.addCleanup(self.maker.doCleanups)
        folder = os.path.join(self.folder, "kairo-voice")
        shutil.copytree(self.maker.folder, folder)
        self.kairo.config(voice__decoder=[self.node, os.path.join(folder, "decode.mjs"), "{file}", "{out}"])
        self.listen_by("head -c 4 \"$1\"; wc -c <\"$1\"")
        self.kairo.start()

    def test_a_voice(self):
        prompt = self.heard(self.maker.encode(test_silk.tone(1)))
        size = int(re.search(r"RIFF *(\d+)", prompt)[1])
        self.assertAlmostEqual((size - 44) / 2 / test_silk.RATE, 1, delta=0.05)

    def test_one_that_is_cut_off(self):
        data = self.maker.encode(test_silk.tone(1))
        self.unheard(data[:len(data) // 2] + b"\xf0", "incomplete")
        self.unheard(b"\x02#!SILK_V3", "incomplete")

    def test_one_that_is_none(self):
        self.unheard(b"#!AMR\n" + b"\x3c" * 64, "no decoder for its format")


if __name__ == "__main__":
    main()
