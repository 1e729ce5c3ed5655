"""Login by QR code: every status of the wire reference, section 2; what is drawn; what is stored."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from harness import Case, Kairo, main, wait_for
from terminal import Terminal


class LoginCase(Case):
    login = False

    def go(self, *args, code=0, **more):
        return self.kairo.run("login", "--base-url", self.sim.api, *args, code=code, **more)

    def terminal(self, *args, **more):
        t = Terminal(self.kairo, "login", "--base-url", self.sim.api, *args, **more)
        self.addCleanup(t.close)
        return t

    def script(self, *statuses, **more):
        """What the next code's polls are answered."""
        self.sim.call("POST", "login", dict(more, statuses=list(statuses)) if statuses else more)

    @property
    def file(self):
        return os.path.join(self.kairo.dir, "account.json")

    def stored(self):
        with open(self.file) as f:
            return json.load(f)

    def bytes(self):
        try:
            with open(self.file, "rb") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def bots(self):
        return self.sim.call("GET", "state")["bots"]

    def newest_code(self):
        """The simulator lists the newest first."""
        return self.sim.call("GET", "state")["logins"][0]

    def token_lists(self):
        return [r["body"]["local_token_list"] for r in self.sim.requests("get_bot_qrcode")]


class Statuses(LoginCase):
    def test_scan_and_confirmation(self):
        self.script("something_new", "scaned", "scaned", "confirmed")
        out = self.go().out
        self.assertEqual(out.count("scanned; now confirm on the phone"), 1)
        self.assertIn("connected", out)
        self.assertEqual(self.sim.counts()["qrpolls"], 4)
        stored = self.stored()
        bot = self.bots()[0]
        self.assertEqual((stored["bot_id"], stored["user_id"]), (bot["id"], bot["user"]))
        self.assertEqual(stored["base_url"], self.sim.api)
        self.assertEqual(stored["workspace"], self.kairo.workspace)
        self.assertEqual(stored["cursor"], "")
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)

    def test_an_old_code_is_replaced(self):
        self.sim.call("POST", "login", {"codes": [["expired"], ["expired"], ["confirmed"]]})
        out = self.go().out
        self.assertEqual(out.count("a new one follows"), 2)
        self.assertEqual(self.sim.counts()["qrcodes"], 3)
        self.assertIn("connected", out)

    def test_after_the_third_code_it_gives_up(self):
        self.sim.call("POST", "login", {"codes": [["expired"]] * 4})
        p = self.go(code=1)
        self.assertIn("run `kairo login` again", p.err)
        self.assertEqual(self.sim.counts()["qrcodes"], 3)
        self.assertFalse(os.path.exists(self.file))

    def test_the_account_lives_in_another_data_centre(self):
        self.script(redirect=True, auto_confirm=True)
        out = self.go().out
        self.assertIn("another data centre", out)
        hosts = [r["headers"]["Host"] for r in self.sim.requests("get_qrcode_status")]
        self.assertEqual(len(set(hosts)), 2)
        self.assertEqual(hosts[0], self.sim.api.split("//")[1])
        self.assertEqual(len(self.sim.requests("get_bot_qrcode")), 1)
        self.assertIn("connected", out)

    def test_a_redirect_without_a_host_stays(self):
        self.script({"status": "scaned_but_redirect", "no_host": True}, "confirmed")
        self.assertIn("connected", self.go().out)

    def test_hostile_redirects_are_not_followed(self):
        hosts = ["evilweixin.qq.com", "ilinkai.weixin.qq.com@evil.example", "weixin.qq.com.evil.example",
                 "ilinkai.weixin.qq.com:8443", "evil.example/x"]
        self.script(*({"status": "scaned_but_redirect", "redirect_host": h} for h in hosts), "confirmed")
        p = self.go()
        for why in ("none of WeChat's hosts", "characters no host has", "port other than 443"):
            self.assertIn(why, p.out)
        self.assertNotIn("data centre", p.out)
        self.assertEqual({r["headers"]["Host"] for r in self.sim.requests("get_qrcode_status")},
                         {self.sim.api.split("//")[1]})

    def test_hostile_addresses_are_not_stored(self):
        for url in ("https://evil.example", "http://ilinkai.weixin.qq.com", "https://u@ilinkai.weixin.qq.com",
                    "https://weixin.qq.com.evil.example/", "https://ilinkai.weixin.qq.com:444",
                    "javascript:alert(1)", "https://10.0.0.1", "https://evil.example#.weixin.qq.com"):
            with self.subTest(url):
                self.script(auto_confirm=True, baseurl=url)
                p = self.go(code=1)
                self.assertIn("not allowed", p.err)
                self.assertFalse(os.path.exists(self.file))

    def test_a_confirmation_without_its_members_is_a_failure(self):
        for members in ({"bot_token": "t"}, {"bot_token": "", "ilink_bot_id": "x@im.bot"},
                        {"bot_token": "a b", "ilink_bot_id": "x@im.bot"},
                        {"bot_token": "t" * 5000, "ilink_bot_id": "x@im.bot"},
                        {"bot_token": 7, "ilink_bot_id": "x@im.bot"}):
            with self.subTest(members):
                self.script(dict(members, status="confirmed"))
                self.assertTrue(self.go(code=1).err.startswith("kairo: "))
                self.assertFalse(os.path.exists(self.file))

    def test_a_login_without_an_owner_says_that_nobody_is_served(self):
        self.script({"status": "confirmed", "bot_token": "abcdefgh", "ilink_bot_id": "x@im.bot",
                     "baseurl": self.sim.api})
        self.assertIn("allowed_users", self.go().out)
        self.assertEqual(self.stored()["user_id"], "")

    def test_already_bound(self):
        self.go()
        before = self.bytes()
        p = self.go()
        self.assertIn("already connected", p.out)
        self.assertIn("--force", p.out)
        self.assertEqual(self.bytes(), before)
        self.assertEqual(self.token_lists(), [[], [json.loads(before)["token"]]])

    def test_bound_but_nothing_is_stored(self):
        self.script("binded_redirect")
        self.assertIn("--force", self.go(code=1).err)
        self.assertFalse(os.path.exists(self.file))

    def test_tokens_that_the_server_dislikes_are_left_out(self):
        self.go()
        old = self.stored()
        self.sim.set(refuse_tokens=1)
        self.assertIn("connected", self.go().out)
        self.assertEqual(self.token_lists(), [[], [old["token"]], []])
        self.assertNotEqual(self.stored()["bot_id"], old["bot_id"])

    def test_force_offers_no_token(self):
        self.go()
        old = self.stored()
        self.assertIn("connected", self.go("--force").out)
        self.assertEqual(self.token_lists(), [[], []])
        new = self.stored()
        self.assertNotEqual(new["bot_id"], old["bot_id"])
        self.assertNotEqual(new["generation"], old["generation"])
        self.assertEqual(new["old_tokens"], [old["token"]])

    def test_failed_polls_are_the_same_as_wait(self):
        self.sim.fault("get_qrcode_status", "524")
        self.sim.fault("get_qrcode_status", "524")
        self.sim.fault("get_qrcode_status", "body", body="<html>")
        self.sim.fault("get_qrcode_status", "reset")
        out = self.go().out
        self.assertIn("connected", out)
        self.assertEqual(out.count("524"), 1, "a cause is said once")

    def test_a_server_that_gives_no_code_is_named(self):
        self.sim.fault("get_bot_qrcode", "502", times=-1)
        p = self.go(code=1)
        self.assertRegex(p.err, r"cannot get a login code: .*502")
        self.assertEqual(len(self.sim.requests("get_bot_qrcode")), 3)

    def test_a_code_too_large_for_the_window_still_has_its_link(self):
        link = "https://liteapp.weixin.qq.com/q/" + "a" * 2000
        self.sim.fault("get_bot_qrcode", "body", body={"ret": 0, "qrcode": "k", "qrcode_img_content": link})
        self.sim.fault("get_qrcode_status", "stall")
        t = self.terminal()
        t.expect(re.escape(link))
        self.assertIn("too narrow", t.text)
        t.interrupt()
        self.assertEqual(t.code(), 1)


class Refusals(LoginCase):
    """What is refused before anything is asked of a server."""

    def test_addresses(self):
        for url, word in (("https://evil.example", "none of WeChat's hosts"), ("ftp://127.0.0.1/", "https"),
                          ("http://ilinkai.weixin.qq.com", "https"), ("https://a@ilinkai.weixin.qq.com", "user"),
                          ("https://ilinkai.weixin.qq.com/" + "x" * 600, "longer than")):
            with self.subTest(url):
                self.assertIn(word, self.kairo.run("login", "--base-url", url, code=1).err)

    def test_loopback_only_by_the_setting(self):
        self.kairo.config(network__allow_loopback=False)
        self.assertIn("network.allow_loopback", self.go(code=1).err)
        self.assertEqual(self.sim.counts()["requests"], 0)

    def test_command_lines(self):
        for args in (("login", "x"), ("login", "--what"), ("login", "--base-url"),
                     ("login", "--force", "--import", "/"), ("logout", "x")):
            with self.subTest(args):
                self.assertIn("usage: kairo", self.kairo.run(*args, code=2).err)

    def test_a_bad_account_file_is_named_and_a_login_replaces_it(self):
        with open(self.file, "w") as f:
            f.write('{"schema":1,"schema":1}')
        os.chmod(self.file, 0o600)
        p = self.kairo.run("status", code=None)
        self.assertIn("account.json", p.out + p.err)
        self.assertIn("kairo login", self.kairo.start(code=1).err)
        self.assertIn("connected", self.go().out)
        self.kairo.start()

    def test_a_symlink_in_place_of_the_account_file_is_not_followed(self):
        self.go()
        elsewhere = os.path.join(self.folder, "elsewhere.json")
        os.rename(self.file, elsewhere)
        os.symlink(elsewhere, self.file)
        with open(elsewhere, "rb") as f:
            before = f.read()
        self.assertIn("account.json", self.kairo.start(code=1).err)
        self.assertIn("account.json", self.go("--force", code=1).err)
        with open(elsewhere, "rb") as f:
            self.assertEqual(f.read(), before)


class Numbers(LoginCase):
    """The phone shows a number, which is typed into the terminal."""

    def test_the_right_one(self):
        self.script(verify_code="4711", auto_confirm=True)
        t = self.terminal()
        t.expect("number: ")
        t.type("4711\n")
        t.expect("connected")
        self.assertEqual(t.code(), 0)
        with_number = [r["query"] for r in self.sim.requests("get_qrcode_status") if "verify_code" in r["query"]]
        self.assertTrue(all("verify_code=4711" in q for q in with_number))
        self.assertEqual(self.stored()["bot_id"], self.bots()[0]["id"])

    def test_a_wrong_one_is_asked_for_again(self):
        self.script(verify_code="4711", auto_confirm=True)
        t = self.terminal()
        t.expect("number: ")
        t.type("12\n")
        t.expect("not the number on the phone.*number: ")
        t.type("4711\n")
        t.expect("connected")
        self.assertEqual(t.code(), 0)

    def test_what_is_no_number_is_not_sent(self):
        self.script(verify_code="4711", auto_confirm=True)
        t = self.terminal()
        t.expect("number: ")
        for typed in ("abc\n", "12 34\n", "1" * 17 + "\n", "&x=1\n"):
            t.type(typed)
            t.expect("1 to 16 digits.*number: ")
        t.type("\n")
        t.expect("number: ")
        t.type("  4711 \n")
        t.expect("connected")
        self.assertEqual(t.code(), 0)
        sent = [r["query"] for r in self.sim.requests("get_qrcode_status") if "verify_code" in r["query"]]
        self.assertTrue(sent)
        self.assertTrue(all("verify_code=4711" in q for q in sent))

    def test_a_pipe_gives_a_line_to_each_question(self):
        self.script(verify_code="4711", auto_confirm=True)
        self.assertIn("connected", self.go(stdin=b"12\nabc\n4711\n").out)

    def test_too_many_wrong_ones_bring_a_new_code(self):
        self.script(verify_code="4711", verify_limit=2, auto_confirm=True)
        t = self.terminal()
        for _ in range(2):
            t.expect("number: ")
            t.type("12\n")
        t.expect("too many wrong numbers; a new code follows")
        t.expect("connected")  # the second code needs no number
        self.assertEqual(t.code(), 0)
        self.assertEqual(self.sim.counts()["qrcodes"], 2)

    def test_codes_that_are_blocked_to_the_last(self):
        for _ in range(3):
            self.script("verify_code_blocked")
        self.assertIn("too many wrong numbers", self.go(code=1).err)

    def test_without_anybody_to_type_it_ends_at_once(self):
        for stdin in (subprocess.PIPE, subprocess.DEVNULL):
            self.script(verify_code="4711", auto_confirm=True)
            p = self.kairo.popen("login", "--base-url", self.sim.api, stdin=stdin, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
            if p.stdin:
                p.stdin.close()
            self.assertIn(b"run kairo login in a terminal", p.stderr.read())
            self.assertEqual(p.wait(), 1)
            self.assertFalse(os.path.exists(self.file))

    def test_it_may_be_piped(self):
        self.script(verify_code="4711", auto_confirm=True)
        self.go(stdin=b"4711\n")


class Interrupts(LoginCase):
    """Ctrl-C and SIGTERM: code 1, nothing changed, the terminal as before."""

    def setUp(self):
        super().setUp()
        self.go()
        self.before = self.bytes()
        self.sim.set(auto_confirm=0)

    def is_clean(self, t, what="interrupted; nothing was changed"):
        t.expect(what)
        self.assertEqual(t.code(), 1)
        self.assertTrue(t.sane())
        self.assertEqual(self.bytes(), self.before)

    def test_while_the_code_is_shown(self):
        t = self.terminal()
        t.expect("the code lives for about [1-9]")
        t.interrupt()
        self.is_clean(t)

    def test_after_the_scan(self):
        t = self.terminal()
        t.expect("the code lives for about [1-9]")
        self.sim.call("POST", "scan")
        t.expect("now confirm")
        t.interrupt()
        self.is_clean(t)

    def test_while_a_number_is_asked_for(self):
        self.script(verify_code="4711", auto_confirm=True)
        t = self.terminal()
        t.expect("number: ")
        t.type("47")
        t.interrupt()
        self.is_clean(t)

    def test_while_the_server_says_nothing(self):
        self.sim.fault("get_bot_qrcode", "stall", times=-1)
        t = self.terminal()
        wait_for(lambda: self.sim.call("GET", "state")["faults"][0]["hits"], "the request for a code")
        t.interrupt()
        self.is_clean(t)

    def test_sigterm(self):
        t = self.terminal()
        t.expect("the code lives for about [1-9]")
        t.process.send_signal(signal.SIGTERM)
        self.is_clean(t)

    def test_without_a_login_before_there_is_none_after(self):
        self.kairo.run("logout")
        self.before = None
        t = self.terminal()
        t.expect("the code lives for about [1-9]")
        t.interrupt()
        self.is_clean(t)
        self.kairo.run("status", code=4)


def blocks(text):
    """The drawing in half blocks as rows of True for light: two rows a line."""
    rows = []
    for line in re.findall(r"^\x1b\[40;97m([█▀▄ ]+)\x1b\[0m$", text, re.M):
        rows.append([c in "█▀" for c in line])
        rows.append([c in "█▄" for c in line])
    return rows


def signs(text):
    rows = []
    for line in re.findall(r"^[# ]{42,}$", text, re.M):
        rows.append([c == "#" for c in line[::2]])
        if line[::2] != line[1::2]:
            raise AssertionError("a module is two signs wide: %r" % line)
    return rows


def decode(rows, path, inverted=False, scale=4):
    """What a scanner reads in the picture of a drawing."""
    with open(path, "wb") as f:
        f.write(b"P5 %d %d 255\n" % (len(rows[0]) * scale, len(rows) * scale))
        for row in rows:
            f.write(b"".join(bytes([255 if light != inverted else 0]) * scale for light in row) * scale)
    p = subprocess.run(["zbarimg", "-q", "--raw", "--nodbus", "-Sdisable", "-Sqrcode.enable",
                        *(["-Stest-inverted"] if inverted else []), path], capture_output=True, timeout=60)
    return p.stdout.decode().strip()


@unittest.skipUnless(shutil.which("zbarimg"), "zbarimg is not installed (package zbar-tools)")
class Drawing(LoginCase):
    """What is drawn can be scanned, and says what the server said."""

    def setUp(self):
        super().setUp()
        self.sim.set(auto_confirm=0)
        self.picture = os.path.join(self.folder, "qr.pgm")

    def drawn(self, **more):
        t = self.terminal(**more)
        t.expect("the code lives for about [1-9]")
        text = t.text
        t.interrupt()
        self.assertEqual(t.code(), 1)
        self.assertTrue(t.sane())
        return text, self.newest_code()["content"]

    def test_its_time_is_counted_down(self):
        t = self.terminal()
        first = int(t.expect(r"\rthe code lives for about (\d+) more seconds")[1])
        self.assertTrue(0 < first <= 480, first)
        second = int(t.expect(r"\rthe code lives for about (\d+) more seconds")[1])
        self.assertLess(second, first)
        t.interrupt()
        self.assertEqual(t.code(), 1)

    def test_half_blocks(self):
        text, content = self.drawn()
        rows = blocks(text)
        self.assertTrue(rows)
        # Both colours are set by ourselves: dark and light terminals show the same.
        self.assertEqual(decode(rows, self.picture), content)
        self.assertLess(len(rows[0]), 80, "an ordinary terminal holds it")
        self.assertEqual([c for c in text if c in "#"], [])

    def test_signs_on_a_dark_and_on_a_light_terminal(self):
        text, content = self.drawn(env={"LANG": "C"})
        rows = signs(text)
        self.assertTrue(rows)
        self.assertNotIn("█", text)
        self.assertEqual(decode(rows, self.picture), content)
        self.assertEqual(decode(rows, self.picture, inverted=True), content)

    def test_a_terminal_without_colours_gets_signs(self):
        text, content = self.drawn(env={"TERM": "dumb"})
        self.assertNotIn("\x1b", text)
        self.assertEqual(decode(signs(text), self.picture), content)

    def test_what_does_not_fit_as_signs_is_drawn_in_blocks(self):
        text, content = self.drawn(env={"LANG": "C"}, columns=80)
        self.assertEqual(signs(text), [])
        self.assertEqual(decode(blocks(text), self.picture), content)

    def test_a_window_too_narrow_for_any_is_told(self):
        text, content = self.drawn(columns=30)
        self.assertRegex(text, r"at least \d\d columns")
        self.assertIn(content, text)

    def test_into_a_pipe(self):
        """A helper program can read it, and the link stands below as text."""
        self.sim.set(auto_confirm=1)
        out = self.go().out
        content = self.newest_code()["content"]
        self.assertEqual(decode(signs(out), self.picture), content)
        self.assertIn("\n%s\n" % content, out)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("the code lives", out)


class Hostile(LoginCase):
    def test_the_link_cannot_write_to_the_terminal(self):
        link = "https://x.weixin.qq.com/\x1b[2J\x1b]0;title\x07\u202eabc"
        self.sim.fault("get_bot_qrcode", "body", body={"ret": 0, "qrcode": "k", "qrcode_img_content": link})
        self.script("confirmed")
        p = self.go(code=None)
        for bad in ("\x1b", "\x07", "\u202e"):
            self.assertNotIn(bad, p.out + p.err)


class Relogin(LoginCase):
    def test_the_cursor_and_the_old_bot_are_forgotten(self):
        self.go()
        self.kairo.start()
        self.ask("hello")
        self.kairo.idle()
        wait_for(lambda: self.stored()["cursor"], "the cursor to move")
        self.kairo.stop()
        old = self.stored()
        self.go("--force")
        new = self.stored()
        self.assertEqual(new["cursor"], "")
        self.assertNotEqual(new["bot_id"], old["bot_id"])
        self.assertEqual(new["user_id"], old["user_id"])
        before = self.sim.requests()[-1]["n"]
        self.kairo.start()
        self.sim.script({"text": "as the new bot"})
        self.assertEqual(self.ask("are you there?"), ["as the new bot"])
        polls = self.sim.requests("getupdates", since=before)
        self.assertEqual(polls[0]["body"]["get_updates_buf"], "")
        for r in self.sim.requests(since=before):
            if "Authorization" in r["headers"]:
                self.assertNotIn(old["token"], r["headers"]["Authorization"])
        self.kairo.hurry(10000)
        wait_for(lambda: self.kairo.db("SELECT bot FROM channel_peer") == [(new["bot_id"],)], "the old bot to be forgotten")
        # Conversations belong to the person, not to the bot.
        self.assertIn("hello", [m.get("content") for m in self.sim.model_requests()[-1]["body"]["messages"]])

    def test_logout(self):
        self.go()
        token = self.stored()["token"]
        self.assertIn("gone", self.kairo.run("logout").out)
        self.assertFalse(os.path.exists(self.file))
        self.kairo.run("status", code=4)
        self.kairo.start(code=4)
        self.kairo.run("logout")
        for name in os.listdir(self.kairo.dir):
            path = os.path.join(self.kairo.dir, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    self.assertNotIn(token.encode(), f.read(), name)


class Names(LoginCase):
    def test_an_account_by_name_is_apart(self):
        self.go()
        before = self.bytes()
        work = Kairo(self.folder, self.sim, account="work")
        self.addCleanup(work.close)
        work.config(workspace=os.path.join(self.folder, "workspace2"), network__allow_loopback=True)
        work.run("login", "--base-url", self.sim.api)
        self.assertEqual(self.bytes(), before)
        with open(os.path.join(self.kairo.home, "accounts", "work", "account.json")) as f:
            theirs = json.load(f)
        self.assertNotEqual(theirs["bot_id"], self.stored()["bot_id"])
        self.assertEqual(theirs["workspace"], os.path.join(self.folder, "workspace2"))
        self.assertEqual(self.token_lists(), [[], []], "no token of another account is offered")
        work.run("logout")
        self.assertEqual(self.bytes(), before)

    def test_names(self):
        for name in ("", ".", "..", "a/b", "-x", "a b", "名", "x" * 33):
            with self.subTest(name):
                p = subprocess.run([self.kairo.argv()[0], "--account=" + name, "status"], env=self.kairo.env,
                                   capture_output=True, timeout=60)
                self.assertIn(p.returncode, (1, 2))
                self.assertIn(b"name", p.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.kairo.home, "accounts")))
        p = subprocess.run([self.kairo.argv()[0], "--account=" + "x" * 32, "status"], env=self.kairo.env,
                           capture_output=True, timeout=60)
        self.assertEqual(p.returncode, 4)


if __name__ == "__main__":
    main()
