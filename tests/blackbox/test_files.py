"""The tools that change files, as the model uses them and as the phone sees what came of it."""

import json
import os

from harness import Case, main


class Files(Case):
    def setUp(self):
        super().setUp()
        self.kairo.start()

    def path(self, *parts):
        return os.path.join(self.kairo.workspace, *parts)

    def put(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(data)

    def get(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def call(self, name, **arguments):
        """One turn in which the model makes one call; what the tool told it."""
        self.sim.script({"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "done"})
        self.assertEqual(self.ask("go on"), ["done"])
        said = self.sim.model_requests()[-1]["body"]["messages"][-1]
        self.assertEqual(said["role"], "tool")
        return said["content"]

    def audited(self):
        lines = self.kairo.run("audit", "--json", "-n", "100").out.splitlines()
        return [json.loads(line) for line in lines]

    def test_a_patch_changes_creates_and_deletes(self):
        self.put("src/a.c", b"int a;\nint b;\nint c;\n")
        self.put("old.txt", b"x")
        os.chmod(self.path("src/a.c"), 0o755)
        said = self.call("apply_patch", patch=(
            "diff --git a/src/a.c b/src/a.c\nindex 1234567..89abcde 100755\n--- a/src/a.c\n+++ b/src/a.c\n"
            "@@ -1,3 +1,3 @@\n int a;\n-int b;\n+int b = (1;\n int c;\n"
            "--- /dev/null\n+++ b/新/文件.json\n@@ -0,0 +1 @@\n+{\"a\": 1}\n"
            "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"))
        self.assertEqual(said.split("\n")[:4], [
            "[changed src/a.c: 26 bytes, +1 -1 lines]", "[created 新/文件.json: 9 bytes, +1 -0 lines]",
            "[deleted old.txt: +0 -1 lines]",
            "[src/a.c: fault in line 2, column 9: ( is not closed (checked: brackets)]"])
        self.assertEqual(self.get("src/a.c"), b"int a;\nint b = (1;\nint c;\n")
        self.assertEqual(os.stat(self.path("src/a.c")).st_mode & 0o777, 0o755)
        self.assertEqual(self.get("新/文件.json"), b'{"a": 1}\n')
        self.assertFalse(os.path.exists(self.path("old.txt")))

    def test_a_patch_that_does_not_fit_changes_nothing(self):
        self.put("a", b"1\n2\n3\n")
        self.put("b", b"1\r\n2\r\n")
        before = self.kairo.files()
        said = self.call("apply_patch", patch=(
            "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+one\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-3\n+three\n"))
        self.assertIn("nothing was changed", said)
        self.assertIn("its lines stand at line 3", said)
        for patch in ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-1\n+2\n",
                      "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-1\n+2\n",
                      "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
                      "diff --git a/a b/c\nsimilarity index 100%\nrename from a\nrename to c\n",
                      "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"):
            with self.subTest(patch=patch):
                self.call("apply_patch", patch=patch)
        self.assertEqual(self.get("a") + self.get("b"), b"1\n2\n3\n1\r\n2\r\n")
        self.assertEqual(self.kairo.files(), before)
        events = [e for e in self.audited() if e["tool"] == "apply_patch"]
        self.assertEqual({e["outcome"] for e in events}, {"started", "failed", "refused"})
        self.assertNotIn("three", json.dumps(events), "the source of a patch is no matter of the audit")

    def test_a_project_is_created_and_not_twice(self):
        said = self.call("create_project", template="python", path="apps/hello", description='say "hi"')
        self.assertIn("[created the python project hello in apps/hello:", said)
        self.assertIn(b'description = "say \\"hi\\""\n', self.get("apps/hello/pyproject.toml"))
        self.assertEqual(os.listdir(self.path("apps")), ["hello"])
        self.assertIn("is not empty", self.call("create_project", template="c", path="apps/hello"))

    def test_a_write_says_what_is_wrong_with_the_text(self):
        self.put("a.py", b"x = 1\ny = 2\n")
        said = self.call("write_file", path="a.py", content="x = 1\nif x:\ny = 2\n")
        self.assertEqual(said, "[replaced a.py: 18 bytes, +1 -0 lines]\n[a.py: fault in line 3, column 1: an "
                         "indented line was expected after the one that ends in a colon (checked: strings, "
                         "brackets and indentation)]\n")
        self.assertEqual(self.get("a.py"), b"x = 1\nif x:\ny = 2\n")

    def test_a_hundred_calls_at_once_see_what_the_ones_before_them_have_written(self):
        self.put("0", b"0\n")
        calls = []
        for i in range(50):
            calls += [{"name": "read_file", "arguments": {"path": str(i // 10)}},
                      {"name": "read_file", "arguments": {"path": "none-%d" % i}}]
            if i % 10 == 9:
                calls[-1] = {"name": "write_file", "arguments": {"path": str(i // 10 + 1), "content": "%d\n" % i}}
        self.sim.script({"tool_calls": calls}, {"text": "done"})
        self.assertEqual(self.ask("go on"), ["done"])
        asked, *told = self.sim.model_requests()[-1]["body"]["messages"][-101:]
        self.assertEqual([m["tool_call_id"] for m in told], [c["id"] for c in asked["tool_calls"]])
        for i in range(50):
            wanted = "%d\n" % (i // 10 * 10 - 1 if i >= 10 else 0)
            self.assertIn("of 1]\n" + wanted, told[2 * i]["content"])
            self.assertIn("created" if i % 10 == 9 else "there is no none-%d" % i, told[2 * i + 1]["content"])


if __name__ == "__main__":
    main()
