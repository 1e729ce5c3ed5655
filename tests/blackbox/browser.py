"""Scripts of page/ in a real browser. Needs Chromium, Node 18 and npm; skipped where they cannot be had.
Pictures of what was seen are left in the build folder (page/*.png)."""

import json
import os
import subprocess

import samples
from harness import BUILD
from npm_tools import install, program, skip, version

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = {"puppeteer-core": "^24.0.0"}


class Browser:
    """Call before anything is started: it is skipped by leaving the program."""

    def __init__(self):
        self.browser = program("chromium", "chromium-browser", "google-chrome")
        self.node = program("node", "nodejs")
        if version(self.node) < (18, 0):
            skip("Node 18 or newer is not installed")
        self.packages = install(BUILD, "browser", PACKAGES)
        self.pictures = os.path.join(BUILD, "page")
        self.samples = os.path.join(self.pictures, "samples")
        samples.write_all(self.samples)

    def run(self, script, where, home=""):
        """where: the simulator's line; home: the folder of a daemon that is asked too. The script's exit code."""
        return subprocess.run(
            [self.node, os.path.join(HERE, "page", script)],
            env={**os.environ, "SIM": json.dumps(where), "PACKAGES": self.packages, "BROWSER": self.browser,
                 "PICTURES": self.pictures, "SAMPLES": self.samples, "SOCKET": os.path.join(home, "control.sock")},
            timeout=540, stdin=subprocess.DEVNULL).returncode
