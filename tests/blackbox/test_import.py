"""Logins taken over from the state folders of the official client and its peers (wire reference, 10.1)."""

import json
import os

from harness import Case, main

OLDER_ID = "0123456789ab-im-bot"


class Import(Case):
    login = False

    def setUp(self):
        super().setUp()
        self.bound = self.sim.call("POST", "bind")
        self.theirs = os.path.join(self.folder, "theirs")
        self.cursor = "Q3Vyc29y"

    def put(self, path, content):
        path = os.path.join(self.theirs, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return path

    @property
    def file(self):
        return os.path.join(self.kairo.dir, "account.json")

    def take(self, code=0):
        return self.kairo.run("login", "--import", self.theirs, code=code)

    def is_taken(self, source, bot=None, cursor=None):
        p = self.take()
        self.assertIn(source, p.out)
        self.assertIn("Stop the other program", p.out)
        self.assertNotIn(self.bound["bot_token"], p.out + p.err)
        with open(self.file) as f:
            stored = json.load(f)
        self.assertEqual(stored["token"], self.bound["bot_token"])
        self.assertEqual(stored["bot_id"], bot or self.bound["ilink_bot_id"])
        self.assertEqual(stored["user_id"], self.bound["ilink_user_id"])
        self.assertEqual(stored["base_url"], self.sim.api)
        self.assertEqual(stored["cursor"], self.cursor if cursor is None else cursor)

    def official_id(self):
        return self.bound["ilink_bot_id"].replace("@", "-").replace(".", "-")

    def official(self, **more):
        return dict({"token": self.bound["bot_token"], "savedAt": "2026-01-01T00:00:00.000Z",
                     "baseUrl": self.sim.api, "userId": self.bound["ilink_user_id"]}, **more)

    def put_official(self, **more):
        name = self.official_id()
        self.put("openclaw-weixin/accounts.json", [OLDER_ID, name])
        # An older account, which the index names first.
        self.put("openclaw-weixin/accounts/%s.json" % OLDER_ID, self.official(token="old", userId="o@im.wechat"))
        self.put("openclaw-weixin/accounts/%s.json" % name, self.official(**more))
        self.put("openclaw-weixin/accounts/%s.sync.json" % name, {"get_updates_buf": self.cursor})
        self.put("openclaw-weixin/accounts/%s.context-tokens.json" % name, {self.bound["ilink_user_id"]: "ctx"})

    def test_the_official_client(self):
        self.put_official()
        self.is_taken("the official client")

    def test_the_official_client_without_an_index_or_cursor(self):
        self.put("openclaw-weixin/accounts/%s.json" % self.official_id(), self.official())
        self.is_taken("the official client", cursor="")

    def test_weclaw(self):
        name = self.official_id()
        self.put("accounts/%s.json" % name,
                 {"bot_token": self.bound["bot_token"], "ilink_bot_id": self.bound["ilink_bot_id"],
                  "baseurl": self.sim.api, "ilink_user_id": self.bound["ilink_user_id"]})
        self.put("accounts/%s.sync.json" % name, {"get_updates_buf": self.cursor})
        self.is_taken("weclaw")

    def test_wechat_acp(self):
        self.put("token.json", {"token": self.bound["bot_token"], "baseUrl": self.sim.api,
                                "accountId": self.bound["ilink_bot_id"], "userId": self.bound["ilink_user_id"],
                                "savedAt": "2026-01-01T00:00:00.000Z"})
        self.put("sync-buf.json", {"get_updates_buf": self.cursor})
        self.is_taken("wechat-acp")

    def test_hermes(self):
        self.put("weixin/accounts/%s.json" % self.bound["ilink_bot_id"],
                 {"token": self.bound["bot_token"], "base_url": self.sim.api,
                  "user_id": self.bound["ilink_user_id"], "saved_at": 1760000000})
        self.is_taken("hermes", cursor="")

    def test_nanobot(self):
        self.put("account.json", {"token": self.bound["bot_token"], "account_id": self.bound["ilink_bot_id"],
                                  "base_url": self.sim.api, "user_id": self.bound["ilink_user_id"],
                                  "get_updates_buf": self.cursor, "context_tokens": {"x": "y"}})
        self.is_taken("nanobot")

    def test_the_imported_login_works(self):
        self.put_official()
        self.take()
        self.kairo.start()
        self.sim.script({"text": "taken over"})
        # The cursor above is none of the simulator's; that is its business to say.
        self.violations_expected = True
        self.assertEqual(self.ask("hi", bot=self.bound["ilink_bot_id"]), ["taken over"])

    def test_what_cannot_be_taken(self):
        self.assertIn("No such file", self.take(code=1).err)
        os.makedirs(self.theirs)
        self.assertIn("no login of a known client", self.take(code=1).err)
        cases = (("another address", self.official(baseUrl="https://evil.example"), "none of WeChat's hosts"),
                 ("plain http", self.official(baseUrl="http://ilinkai.weixin.qq.com"), "https"),
                 ("a line break in the token", self.official(token="a\nb"), "printable"),
                 ("no token", self.official(token=""), "no login of a known client"),
                 ("no JSON", "{'token'", "no login of a known client"),
                 ("too big", self.official(pad="x" * (200 << 10)), "no login of a known client"))
        for name, content, word in cases:
            with self.subTest(name):
                self.put("openclaw-weixin/accounts/%s.json" % self.official_id(), content)
                self.assertIn(word, self.take(code=1).err)
                self.assertFalse(os.path.exists(self.file))

    def test_what_is_no_file_is_not_read(self):
        path = self.put("openclaw-weixin/accounts/%s.json" % self.official_id(), self.official())
        real = os.path.join(self.folder, "real.json")
        os.rename(path, real)
        os.symlink(real, path)
        self.assertIn("no login", self.take(code=1).err)
        os.unlink(path)
        os.mkfifo(path)
        self.assertIn("no login", self.take(code=1).err)
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    main()
