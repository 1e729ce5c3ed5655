"""The phone page in a real browser."""

import json
import subprocess
import sys

from browser import Browser
from harness import SIM


def main():
    browser = Browser()
    sim = subprocess.Popen([SIM, "--hold-ms", "200", "--model-delay-ms", "0"], stdout=subprocess.PIPE)
    try:
        status = browser.run("page.mjs", json.loads(sim.stdout.readline()))
    finally:
        sim.terminate()
        ended = sim.wait(timeout=30)
    sys.exit(1 if status or ended else 0)


if __name__ == "__main__":
    main()
