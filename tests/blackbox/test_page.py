"""The phone page in a real browser. Needs Chromium, Node 18 and npm; skipped where they cannot be had.
Pictures of what was seen are left in the build folder (page/*.png)."""

import json
import os
import subprocess
import sys

from harness import BUILD, SIM
from npm_tools import install, program, skip, version

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = {"puppeteer-core": "^24.0.0"}


def main():
    browser = program("chromium", "chromium-browser", "google-chrome")
    node = program("node", "nodejs")
    if version(node) < (18, 0):
        skip("Node 18 or newer is not installed")
    packages = install(BUILD, "browser", BROWSER)
    pictures = os.path.join(BUILD, "page")
    os.makedirs(pictures, exist_ok=True)
    sim = subprocess.Popen([SIM, "--hold-ms", "200", "--model-delay-ms", "0"], stdout=subprocess.PIPE)
    try:
        where = sim.stdout.readline().decode()
        json.loads(where)
        status = subprocess.run(
            [node, os.path.join(HERE, "page", "page.mjs")],
            env={**os.environ, "SIM": where, "PACKAGES": packages, "BROWSER": browser,
                 "PICTURES": pictures},
            timeout=300, stdin=subprocess.DEVNULL).returncode
    finally:
        sim.terminate()
        ended = sim.wait(timeout=30)
    sys.exit(1 if status or ended else 0)


if __name__ == "__main__":
    main()
