"""A command at a terminal: what it prints there, what is typed, Ctrl-C."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

from harness import wait_for


class Terminal:
    def __init__(self, kairo, *args, columns=100, rows=70, env=None):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.set_blocking(self.master, False)
        self.modes = termios.tcgetattr(self.slave)
        self.seen = b""
        self.at = 0  # what expect() has consumed
        self.process = subprocess.Popen(
            kairo.argv(*args), env={**kairo.env, "TERM": "xterm-256color", **(env or {})},
            stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def _read(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                piece = os.read(self.master, 65536)
                if not piece:
                    return
                self.seen += piece

    @property
    def text(self):
        self._read()
        return self.seen.decode(errors="replace").replace("\r\n", "\n")

    def expect(self, pattern):
        """The first match behind what was expected before."""
        def look():
            m = re.compile(pattern, re.S).search(self.text, self.at)
            if not m and self.process.poll() is not None and \
                    not re.compile(pattern, re.S).search(self.text, self.at):
                raise AssertionError("the command ended with %d before %r:\n%s" % (
                    self.process.returncode, pattern, self.text))
            return m
        try:
            m = wait_for(look, repr(pattern))
        except AssertionError as e:
            raise AssertionError("%s\n--- the terminal ---\n%s" % (e, self.text)) from None
        self.at = m.end()
        return m

    def type(self, text):
        os.write(self.master, text.encode())

    def interrupt(self):
        """Ctrl-C: the terminal turns the byte into SIGINT for the foreground group."""
        os.write(self.master, b"\x03")

    def code(self):
        """The exit code, once the command has ended and all of its output is here."""
        def ended():
            self._read()  # a full terminal would hold the command up
            return self.process.poll() is not None
        wait_for(ended, "the command to end")
        self._read()
        return self.process.returncode

    def sane(self):
        """Modes as before, colours off."""
        colours = re.findall(r"\x1b\[[\d;]*m", self.text)
        return termios.tcgetattr(self.slave) == self.modes and (not colours or colours[-1] == "\x1b[0m")

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
