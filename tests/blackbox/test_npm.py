"""The official client's own code against the simulator: what that client takes for WeChat's server is
a fair stand-in for it. Needs npm and Node 22.13; skipped where they cannot be had."""

import json
import os
import subprocess
import sys

import samples
from harness import BUILD, SIM
from npm_tools import find_node, install

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = {"@tencent-weixin/openclaw-weixin": "2.4.9"}
OLDEST = (22, 13)


def main():
    node = find_node(BUILD, OLDEST)
    packages = install(BUILD, "official", CLIENT)
    folder = os.path.join(BUILD, "npm", "run")
    samples.write_all(os.path.join(folder, "samples"))
    sim = subprocess.Popen([SIM, "--dir", folder, "--tls", "--hold-ms", "300"], stdout=subprocess.PIPE)
    try:
        where = json.loads(sim.stdout.readline())
        status = subprocess.run(
            [node, "--import", os.path.join(HERE, "npm", "hooks.mjs"),
             os.path.join(HERE, "npm", "official.mjs")],
            env={**os.environ, "SIM": json.dumps(where), "PACKAGES": packages,
                 "NODE_EXTRA_CA_CERTS": where["ca"], "HOME": folder, "TMPDIR": folder,
                 "SAMPLES": os.path.join(folder, "samples"),
                 "OPENCLAW_STATE_DIR": os.path.join(folder, "state"), "NODE_NO_WARNINGS": "1"},
            timeout=240, stdin=subprocess.DEVNULL).returncode
    finally:
        sim.terminate()
        ended = sim.wait(timeout=30)
    sys.exit(1 if status or ended else 0)


if __name__ == "__main__":
    main()
