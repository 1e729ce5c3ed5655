"""Tests that need packages of npm are skipped by name where they cannot be had, and never fail for it."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ASKS = "import sys; from npm_tools import install; print(install(sys.argv[1], 'it', {'a-package': '1.0.0'}))"
FULL = "echo 'npm error code ENOSPC' >&2; echo 'npm error nospc no space left on device' >&2; exit 228"


class Skips(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kairo-skips-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.build = os.path.join(self.folder, "build")
        self.asked = os.path.join(self.folder, "asked")

    def npm(self, does):
        """An npm that does this, and counts how often."""
        path = os.path.join(self.folder, "npm")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho once >> %s\n%s\n" % (self.asked, does))
        os.chmod(path, 0o755)

    def install(self):
        return subprocess.run([sys.executable, "-B", "-c", ASKS, self.build], cwd=HERE, capture_output=True,
                              text=True, env={**os.environ, "PATH": self.folder + ":/usr/bin:/bin"})

    def times(self):
        with open(self.asked, encoding="utf-8") as f:
            return len(f.readlines())

    def skipped(self, *words):
        p = self.install()
        self.assertEqual((p.returncode, p.stderr), (77, ""))
        for word in ("skipped: ", *words):
            self.assertIn(word, p.stdout)

    def test_a_full_disk_is_named_and_not_tried_by_every_test(self):
        self.npm("mkdir -p node_modules/half; " + FULL)
        for _ in range(2):
            self.skipped("a-package", "no space left on device")
        self.assertEqual(self.times(), 1)
        self.assertFalse(os.path.exists(os.path.join(self.build, "npm", "it", "node_modules")))

    def test_an_npm_without_a_word_is_named(self):
        self.npm("exit 3")
        self.skipped("npm ends with 3")

    def test_a_folder_that_cannot_be_written_is_named(self):
        self.npm("exit 0")
        with open(self.build, "w", encoding="utf-8"):
            pass  # a file is in the way
        self.skipped("a-package", "Not a directory")

    def test_what_is_there_is_asked_for_once(self):
        self.npm("mkdir -p node_modules/a-package")
        for _ in range(2):
            p = self.install()
            self.assertEqual(p.returncode, 0, p.stdout)
            self.assertEqual(p.stdout.strip(), os.path.join(self.build, "npm", "it"))
        self.assertEqual(self.times(), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
