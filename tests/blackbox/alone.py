"""A test in a network of its own, where there is loopback and nothing else: whatever a program that
others wrote tries to reach, it reaches nobody."""

import fcntl
import os
import socket
import struct
import subprocess
import sys

from npm_tools import program, skip

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
MARK = "KAIRO_TEST_ALONE"


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP, b""))


def go_alone():
    """Returns in that network, the program begun anew there; skips where it cannot be had."""
    if os.environ.pop(MARK, None):
        raise_loopback()
        return
    words = [program("unshare"), "--net"] if os.getuid() == 0 else [program("unshare"), "--net", "--map-root-user"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        skip("no network of its own for the test: " + tried.stderr.strip())
    os.execve(words[0], [*words, sys.executable, "-B", *sys.argv], {**os.environ, MARK: "1"})
