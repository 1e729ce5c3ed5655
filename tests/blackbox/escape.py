"""Runs inside the fence and tries to get out: prints a JSON list of the ways that were open.

Its argument is JSON: outside (a folder with a file "secret"), home ($KAIRO_HOME), daemon (a pid that this
process's user may signal), socket (path of a listening socket), abstract (name of another), fd (the highest
descriptor that was open before), memory (the key of shared memory), network (it may have one)."""

import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
CALLS = {"ptrace": 101, "mount": 165, "reboot": 169, "init_module": 175, "keyctl": 250, "add_key": 248,
         "unshare": 272, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "kexec_load": 246,
         "finit_module": 313, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298, "io_uring_setup": 425,
         "open_tree": 428, "clone3": 435, "pidfd_getfd": 438, "swapon": 167, "personality": 135, "chroot": 161,
         "request_key": 249, "pivot_root": 155, "umount2": 166, "fsopen": 430, "move_mount": 429}
open_ways = []


def must_fail(what, do):
    try:
        result = do()
    except (OSError, PermissionError):
        return
    if result is not False:
        open_ways.append(what)


def must_work(what, do):
    try:
        do()
    except OSError as error:
        open_ways.append("not allowed: %s: %s" % (what, error))


def raw(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def read(path):
    with open(path, "rb") as f:
        return f.read(100) != b"" and None


def put(path):
    with open(path, "ab") as f:
        f.write(b"x")


def swap(secret):
    """A link swapped in between a check and the use of a path is as useless as one that was there."""
    with open("swap", "w"):
        pass
    os.stat("swap")
    os.unlink("swap")
    os.symlink(secret, "swap")
    put("swap")


def hear(folder):
    fd = libc.inotify_init()
    try:
        raw(254, fd, folder.encode(), 0xfff)
    finally:
        if fd >= 0:
            os.close(fd)


def files(t):
    outside, secret = t["outside"], os.path.join(t["outside"], "secret")
    for name, path in (("directly", secret), ("by ..", os.path.relpath(secret)),
                       ("by /proc/self/root", "/proc/self/root" + secret),
                       ("by /proc/self/cwd", "/proc/self/cwd/" + os.path.relpath(secret))):
        must_fail("read " + name, lambda p=path: read(p))
        must_fail("write " + name, lambda p=path: put(p))
    for name, target in (("secret-link", secret), ("dangling-link", os.path.join(outside, "made")),
                         ("folder-link", outside), ("passwd-link", "/etc/shadow")):
        os.symlink(target, name)
    must_fail("read by a link", lambda: read("secret-link"))
    must_fail("write by a link", lambda: put("secret-link"))
    must_fail("write by a dangling link", lambda: put("dangling-link"))
    must_fail("read by a link in the middle", lambda: read("folder-link/secret"))
    must_fail("write by a link in the middle", lambda: put("folder-link/new"))
    must_fail("read what root alone may", lambda: read("passwd-link"))
    must_fail("write by a link that was swapped in", lambda: swap(secret))
    must_fail("list", lambda: os.listdir(outside))
    must_fail("create", lambda: put(os.path.join(outside, "created")))
    must_fail("make a folder", lambda: os.mkdir(os.path.join(outside, "folder")))
    must_fail("cut", lambda: os.truncate(secret, 0))
    must_fail("change the mode", lambda: os.chmod(secret, 0o777))
    must_fail("change the owner", lambda: os.chown(secret, os.getuid(), os.getgid()))
    must_fail("change the times", lambda: os.utime(secret, (1, 1)))
    must_fail("list its attributes", lambda: os.listxattr(secret))
    must_fail("hear what is done there", lambda: hear(outside))
    must_fail("set an attribute", lambda: os.setxattr(secret, "user.kairo", b"1"))
    must_fail("remove", lambda: os.unlink(secret))
    must_fail("rename", lambda: os.rename(secret, secret + "2"))
    must_fail("move in", lambda: os.rename(secret, "moved"))
    must_fail("link in", lambda: os.link(secret, "linked"))
    must_fail("link out", lambda: os.link("own", os.path.join(outside, "linked")))
    must_fail("write to the system", lambda: put("/usr/kairo-escape"))
    must_fail("change the mode of the system", lambda: os.chmod("/usr/bin/env", 0o755))
    must_fail("make a device", lambda: os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 1)))
    for name in "null", "zero", "full", "random", "urandom":
        must_fail("change the mode of the device " + name, lambda n=name: os.chmod("/dev/" + n, 0o666))
        must_fail("change the times of the device " + name, lambda n=name: os.utime("/dev/" + n, (1, 1)))
    must_fail("set an attribute of a device", lambda: os.setxattr("/dev/null", "user.kairo", b"1"))
    must_fail("leave a program with its owner's rights", lambda: os.chmod("own", 0o4755))
    must_fail("leave one with its group's", lambda: os.chmod("own", 0o2755))
    must_fail("open a disk", lambda: read("/dev/sda") if os.path.exists("/dev/sda") else False)
    must_fail("open the memory", lambda: read("/dev/mem") if os.path.exists("/dev/mem") else False)
    must_fail("open a terminal", lambda: read("/dev/tty") if os.path.exists("/dev/tty") else False)


def secrets(t):
    home, daemon = t["home"], "/proc/%d/" % t["daemon"]
    must_fail("list Kairo's folder", lambda: os.listdir(home))
    must_fail("read Kairo's account", lambda: read(os.path.join(home, "account.json")))
    must_fail("write Kairo's settings", lambda: put(os.path.join(home, "config.toml")))
    for name in ("environ", "mem", "maps", "fd/0"):
        must_fail("the daemon's " + name, lambda n=name: read(daemon + n))
    for pid in 1, 2:  # in a namespace: what holds it together
        for name in "environ", "mem":
            must_fail("%s of process %d" % (name, pid), lambda p=pid, n=name: read("/proc/%d/%s" % (p, n)))
    for fd in range(3, t["fd"] + 1):
        must_fail("descriptor %d" % fd, lambda n=fd: os.fstat(n))
    for name in os.environ:
        if "KEY" in name or "TOKEN" in name or "KAIRO" in name:
            open_ways.append("the environment has " + name)


def signal_by_pipe(pid):
    """Whoever owns a descriptor gets the signal that is chosen for what happens on it: here at its end."""
    r, w = os.pipe()
    fcntl.fcntl(r, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(r, fcntl.F_SETOWN, pid)
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
    os.write(w, b"x")
    return False  # whether it came, its being alive tells


def processes(t):
    must_fail("a signal to the daemon", lambda: os.kill(t["daemon"], signal.SIGCONT))
    must_fail("a signal to its group", lambda: os.killpg(t["daemon"], signal.SIGCONT))
    must_fail("a signal by a pipe", lambda: signal_by_pipe(t["daemon"]))
    must_fail("the daemon's turn", lambda: os.setpriority(os.PRIO_PROCESS, t["daemon"], 19))
    must_fail("the turn of its group", lambda: os.setpriority(os.PRIO_PGRP, t["daemon"], 19))
    must_fail("the daemon's processors", lambda: os.sched_setaffinity(t["daemon"], {0}))
    must_fail("the daemon's scheduler", lambda: os.sched_setscheduler(t["daemon"], os.SCHED_IDLE, os.sched_param(0)))
    must_fail("the daemon's turn at the disk", lambda: raw(251, 1, t["daemon"], 3 << 13))
    must_fail("shared memory of others", lambda: raw(29, t["memory"], 1, 0))
    for name in "kernel/core_pattern", "kernel/panic", "vm/swappiness":
        must_fail("a setting of the machine: " + name, lambda n=name: open("/proc/sys/" + n, "r+b").close())
    must_fail("limits of the daemon", lambda: raw(302, t["daemon"], 7, None, None))
    for name, number in CALLS.items():
        args = (0x10000000, 0, 0, 0) if name == "unshare" else (1, 0, 0, 0)
        must_fail("the call " + name, lambda n=number, a=args: raw(n, *a))
    must_fail("a user namespace by clone", lambda: raw(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0))
    must_fail("input for a terminal", lambda: raw(16, 0, 0x5412, ctypes.c_char_p(b"x")))


def say(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.connect(address)


def sockets(t):
    must_fail("a socket with a path", lambda: say(socket.AF_UNIX, t["socket"]))
    must_fail("an abstract socket", lambda: say(socket.AF_UNIX, "\0" + t["abstract"]))
    must_fail("the control socket", lambda: say(socket.AF_UNIX, os.path.join(t["home"], "control.sock")))
    must_fail("packets", lambda: socket.socket(17, socket.SOCK_RAW))
    must_fail("a virtual machine's socket", lambda: socket.socket(40, socket.SOCK_STREAM))
    if not t["network"]:
        must_fail("the network", lambda: say(socket.AF_INET, ("127.0.0.1", t["port"])))
        must_fail("datagrams", lambda: say(socket.AF_INET, ("127.0.0.1", t["port"]), socket.SOCK_DGRAM))
        must_fail("the network, version 6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
        # The kernel looks at the lower half only.
        must_fail("the network by a number too big", lambda: raw(41, ctypes.c_long((1 << 32) + 2), 1, 0))
    else:
        must_work("the network", lambda: say(socket.AF_INET, ("127.0.0.1", t["port"])))


def datagrams(t):
    a, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b"x", t["socket"] + ".dgram")


def inside():
    with open("own", "w") as f:
        f.write("#!/bin/sh\necho ran\n")
    os.mkdir("folder")
    os.symlink("own", "own-link")
    os.mkfifo("pipe")
    os.rename("own", "folder/own")
    os.rename("folder/own", "own")
    a, b = socket.socketpair()
    a.sendall(b"x")
    b.recv(1)
    with open(os.path.join(os.environ.get("TMPDIR", "/tmp"), "temporary"), "w") as f:
        f.write("x")
    if os.system("sh own > said && grep -q ran said") != 0:
        raise OSError("a program of the workspace")


def main():
    t = json.loads(sys.argv[1])
    must_work("work in the workspace", inside)
    files(t)
    secrets(t)
    processes(t)
    sockets(t)
    must_fail("a pair that is connected elsewhere", lambda: datagrams(t))
    print(json.dumps(open_ways))
    return struct.calcsize("P") != 8  # the numbers above are those of x86-64


sys.exit(main())
