"""Packages of npm for tests that need them, installed into the build folder; a test that cannot have
them is skipped and says why."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import time

SKIPPED = 77
AGAIN_S = 600  # until what could not be installed is tried again
NODE = {"node": "^22.19.0"}


class Skipped(SystemExit):
    """Leaves the program as skipped, unless who can do with less catches it; .reason says why."""

    def __init__(self, reason):
        super().__init__(SKIPPED)
        self.reason = reason


def skip(reason):
    print("skipped: " + reason, flush=True)
    raise Skipped(reason)


def program(*names):
    """The first of these programs that is installed; skips the test when none is."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    skip("%s is not installed" % " or ".join(names))


def version(node):
    try:
        text = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return (0, 0)
    found = re.match(r"v(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def find_node(build, oldest):
    """A node of at least this version: the machine's own, else one from npm."""
    own = shutil.which("node") or shutil.which("nodejs")
    if own and version(own) >= oldest:
        return own
    node = os.path.join(install(build, "node", NODE), "node_modules", "node", "bin", "node")
    if version(node) < oldest:
        skip("Node %d.%d or newer is neither here nor installable" % oldest)
    return node


def run_npm(npm, folder):
    """Why it could not be done; None: it was."""
    try:
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error",
             "--fetch-retries=1", "--fetch-timeout=60000"],
            cwd=folder, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
            env={**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"})
    except subprocess.TimeoutExpired:
        return "npm install took over five minutes"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return "npm ends with %d: %s" % (done.returncode, "; ".join(lines[:3]) or "it does not say why")


def failed_lately(path, wanted):
    """Why the same could not be had a moment ago: not every test has to wait for that."""
    try:
        with open(path) as f:
            kept = json.load(f)
        if kept["wanted"] == wanted and 0 <= time.time() - kept["at"] < AGAIN_S:
            return kept["why"]
    except (OSError, ValueError, KeyError):
        pass
    return None


def install_into(folder, npm, packages):
    wanted = json.dumps({"private": True, "dependencies": packages}, sort_keys=True)
    stamp, failure = os.path.join(folder, "installed"), os.path.join(folder, "failed")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(stamp):
            with open(stamp) as f:
                if f.read() == wanted:
                    return
        why = failed_lately(failure, wanted)
        if not why:
            shutil.rmtree(os.path.join(folder, "node_modules"), ignore_errors=True)
            with open(os.path.join(folder, "package.json"), "w") as f:
                f.write(wanted)
            why = run_npm(npm, folder)
        if not why:
            with open(stamp, "w") as f:
                f.write(wanted)
            return
        shutil.rmtree(os.path.join(folder, "node_modules"), ignore_errors=True)
        with open(failure, "w") as f:
            json.dump({"wanted": wanted, "at": time.time(), "why": why}, f)
        skip("npm cannot install %s: %s" % (", ".join(packages), why))


def install(build, name, packages):
    """A folder with node_modules for {package: version}, made once and kept."""
    folder = os.path.join(build, "npm", name)
    try:
        install_into(folder, program("npm"), packages)
    except OSError as e:  # as on a disk that is full
        skip("npm cannot install %s: %s" % (", ".join(packages), e))
    return folder
