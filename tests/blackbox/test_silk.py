"""contrib/voice/decode.mjs over the real silk-wasm: WeChat's voices become WAV, half a voice does not pass
for a whole one, and no input makes it hang. Needs npm and Node; skipped where they cannot be had."""

import array
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import unittest
import wave

from harness import BUILD, main
from npm_tools import find_node, install, program

HERE = os.path.dirname(os.path.abspath(__file__))
CONTRIB = os.path.join(HERE, "..", "..", "contrib", "voice")
DAMAGED, ANOTHER_FORMAT = 65, 69
RATE = 24000

ENCODE = """
import { encode } from 'silk-wasm';
import { readFileSync, writeFileSync } from 'node:fs';
const [from, to] = process.argv.slice(2);
writeFileSync(to, (await encode(readFileSync(from), %d)).data);
""" % RATE


def decoder():
    """The folder as its README has it installed: node, and decode.mjs beside node_modules."""
    with open(os.path.join(CONTRIB, "package.json")) as f:
        wanted = json.load(f)
    folder = install(BUILD, "voice", wanted["dependencies"])
    for name in ("decode.mjs",):
        shutil.copy(os.path.join(CONTRIB, name), folder)
    with open(os.path.join(folder, "encode.mjs"), "w") as f:
        f.write(ENCODE)
    return find_node(BUILD, (18, 0)), folder


def tone(seconds, hertz=440, loud=12000):
    return array.array("h", (round(loud * math.sin(2 * math.pi * hertz * i / RATE))
                             for i in range(int(seconds * RATE))))


def energy(samples):
    return math.sqrt(sum(s * s for s in samples) / max(len(samples), 1))


def strength(samples, rate, hertz):
    """How much of this frequency there is: Goertzel's sum, 1 for a pure tone of full loudness."""
    w = 2 * math.pi * hertz / rate
    re = sum(s * math.cos(w * i) for i, s in enumerate(samples))
    im = sum(s * math.sin(w * i) for i, s in enumerate(samples))
    return 2 * math.hypot(re, im) / len(samples) / 32768


def speech():
    """A spoken sentence where espeak-ng is installed, else syllables of noise."""
    speaker = shutil.which("espeak-ng") or shutil.which("espeak")
    if speaker:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "said.wav")
            subprocess.run([speaker, "-w", path, "the quick brown fox"], check=True, timeout=60)
            with wave.open(path) as w:
                said = array.array("h", w.readframes(w.getnframes()))
                rate = w.getframerate()
        return array.array("h", (said[int(i * rate / RATE)] for i in range(int(len(said) * RATE / rate))))
    rng, out = random.Random(1), array.array("h")
    for _ in range(8):
        out.extend(int(rng.gauss(0, 5000)) for _ in range(RATE // 8))
        out.extend([0] * (RATE // 16))
    return out


class Silk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node, cls.folder = decoder()

    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="kairo-silk-")
        self.addCleanup(shutil.rmtree, self.tmp)

    def run_node(self, script, *args):
        return subprocess.run([self.node, os.path.join(self.folder, script), *args], cwd="/",
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def encode(self, samples):
        raw, out = (os.path.join(self.tmp, name) for name in ("raw", "silk"))
        with open(raw, "wb") as f:
            f.write(samples.tobytes())
        done = self.run_node("encode.mjs", raw, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, "rb") as f:
            return f.read()

    def decode(self, data, *more, status=0):
        """The samples, or for another status what it complains of."""
        path, out = (os.path.join(self.tmp, name) for name in ("in", "out.wav"))
        with open(path, "wb") as f:
            f.write(data)
        if os.path.exists(out):
            os.unlink(out)
        done = self.run_node("decode.mjs", path, out, *more)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(os.path.exists(out), status == 0)
        if status:
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            return done.stderr
        with wave.open(out) as w:
            self.assertEqual((w.getnchannels(), w.getsampwidth()), (1, 2))
            self.assertEqual(w.getframerate(), int(more[0]) if more else RATE)
            return array.array("h", w.readframes(w.getnframes()))

    def test_a_tone(self):
        sent = tone(2)
        got = self.decode(self.encode(sent))
        self.assertAlmostEqual(len(got) / RATE, 2, delta=0.05)
        self.assertAlmostEqual(energy(got) / energy(sent), 1, delta=0.1)
        self.assertGreater(strength(got[RATE // 2:RATE], RATE, 440), 0.3)
        self.assertLess(strength(got[RATE // 2:RATE], RATE, 660), 0.02)

    def test_speech(self):
        sent = speech()
        got = self.decode(self.encode(sent))
        self.assertAlmostEqual(len(got), len(sent), delta=RATE // 20)
        self.assertAlmostEqual(energy(got) / energy(sent), 1, delta=0.5)

    def test_another_rate(self):
        data = self.encode(tone(1))
        got = self.decode(data, "16000")
        self.assertAlmostEqual(len(got) / 16000, 1, delta=0.05)
        self.assertGreater(strength(got[4000:12000], 16000, 440), 0.3)
        self.assertIn("usage", self.decode(data, "11025", status=2))

    def test_with_and_without_wechat_s_byte_and_the_end_mark(self):
        data = self.encode(tone(1))
        bare = data[1:] if data[0] == 2 else data
        self.assertTrue(bare.startswith(b"#!SILK_V3"))
        if bare.endswith(b"\xff\xff"):
            bare = bare[:-2]
        whole = self.decode(b"\x02" + bare)
        self.assertAlmostEqual(len(whole) / RATE, 1, delta=0.05)
        self.assertEqual(len(self.decode(bare)), len(whole))
        self.assertEqual(len(self.decode(b"\x02" + bare + b"\xff\xff")), len(whole))

    def test_cut_off(self):
        data = self.encode(tone(1))
        end = len(data) - (2 if data.endswith(b"\xff\xff") else 0)
        edges, at = [], (1 if data[0] == 2 else 0) + 9
        while at < end:
            edges.append(at)
            at += 2 + int.from_bytes(data[at:at + 2], "little")
        for n in (edges[3] + 1, edges[3] + 2, edges[3] + 3, edges[10] - 1, end - 1):
            self.assertIn("cut off", self.decode(data[:n], status=DAMAGED))
        self.assertIn("empty", self.decode(data[:edges[0]], status=DAMAGED))
        # At the edge of a packet nothing shows it, but what is there is whole.
        self.assertGreater(len(self.decode(data[:edges[25]])), RATE // 3)

    def test_broken(self):
        data = self.encode(tone(1))
        start = (1 if data[0] == 2 else 0) + 9
        self.assertIn("broken", self.decode(data[:start] + b"\x01\x20" + data[start:], status=DAMAGED))
        for seed in range(6):
            rng = random.Random(seed)
            bad = bytearray(data)
            for _ in range(rng.choice((1, 10, 200))):
                bad[rng.randrange(start, len(bad))] ^= rng.randrange(1, 256)
            path, out = os.path.join(self.tmp, "in"), os.path.join(self.tmp, "out.wav")
            with open(path, "wb") as f:
                f.write(bad)
            # It ends, one way or the other; whatever it left is a WAV file.
            done = self.run_node("decode.mjs", path, out)
            self.assertIn(done.returncode, (0, DAMAGED), done.stderr)

    def test_what_is_no_silk(self):
        for data in (b"", b"\x02", b"\x02#!SILK_V", b"#!AMR\n....", b"ID3....", b"\0" * 100):
            self.assertIn("not SILK", self.decode(data, status=ANOTHER_FORMAT))

    def test_without_the_package_it_says_what_to_do(self):
        shutil.copy(os.path.join(CONTRIB, "decode.mjs"), self.tmp)
        path = os.path.join(self.tmp, "in")
        with open(path, "wb") as f:
            f.write(self.encode(tone(0.1)))
        done = subprocess.run([self.node, os.path.join(self.tmp, "decode.mjs"), path, path + ".wav"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("npm ci", done.stderr)


if __name__ == "__main__":
    program("npm")
    decoder()  # skips all of it where it cannot be had
    main()
