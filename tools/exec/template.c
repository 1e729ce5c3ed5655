#include "tools/exec/template.h"

#include <string.h>

#define README \
	"# @name@\n" \
	"\n" \
	"@about@\n" \
	"\n"

static const struct template templates[] = {
	{
		.name = "python",
		.about = "A project in Python.",
		.run = "python3 main.py; its tests: python3 -m unittest",
		.files = {
			{ "README.md", README "Run it with `python3 main.py`, its tests with "
					      "`python3 -m unittest`.\n" },
			{ ".gitignore", "__pycache__/\n*.egg-info/\n.venv/\nbuild/\ndist/\n" },
			{ "pyproject.toml",
				"[build-system]\n"
				"requires = [\"setuptools>=61\"]\n"
				"build-backend = \"setuptools.build_meta\"\n"
				"\n"
				"[project]\n"
				"name = \"@name@\"\n"
				"version = \"0.1.0\"\n"
				"description = \"@about:q@\"\n"
				"readme = \"README.md\"\n"
				"requires-python = \">=3.9\"\n"
				"\n"
				"[project.scripts]\n"
				"@name@ = \"main:main\"\n"
				"\n"
				"[tool.setuptools]\n"
				"py-modules = [\"main\"]\n" },
			{ "main.py",
				"def greeting(name: str) -> str:\n"
				"    return f\"Hello, {name}!\"\n"
				"\n"
				"\n"
				"def main() -> None:\n"
				"    print(greeting(\"world\"))\n"
				"\n"
				"\n"
				"if __name__ == \"__main__\":\n"
				"    main()\n" },
			{ "test_main.py",
				"import unittest\n"
				"\n"
				"from main import greeting\n"
				"\n"
				"\n"
				"class Greeting(unittest.TestCase):\n"
				"    def test_names_who_is_greeted(self):\n"
				"        self.assertEqual(greeting(\"you\"), \"Hello, you!\")\n"
				"\n"
				"\n"
				"if __name__ == \"__main__\":\n"
				"    unittest.main()\n" },
		},
	},
	{
		.name = "node",
		.about = "A project in JavaScript for Node.js.",
		.run = "npm start; its tests: npm test",
		.files = {
			{ "README.md", README "Run it with `npm start`, its tests with `npm test`.\n" },
			{ ".gitignore", "node_modules/\n*.log\n" },
			{ "package.json",
				"{\n"
				"  \"name\": \"@name@\",\n"
				"  \"version\": \"0.1.0\",\n"
				"  \"description\": \"@about:q@\",\n"
				"  \"private\": true,\n"
				"  \"type\": \"module\",\n"
				"  \"main\": \"src/index.js\",\n"
				"  \"scripts\": {\n"
				"    \"start\": \"node src/index.js\",\n"
				"    \"test\": \"node --test\"\n"
				"  },\n"
				"  \"engines\": {\n"
				"    \"node\": \">=18\"\n"
				"  }\n"
				"}\n" },
			{ "src/index.js",
				"import { greeting } from './greeting.js';\n"
				"\n"
				"console.log(greeting('world'));\n" },
			{ "src/greeting.js",
				"export function greeting(name) {\n"
				"  return `Hello, ${name}!`;\n"
				"}\n" },
			{ "test/greeting.test.js",
				"import assert from 'node:assert/strict';\n"
				"import test from 'node:test';\n"
				"\n"
				"import { greeting } from '../src/greeting.js';\n"
				"\n"
				"test('names who is greeted', () => {\n"
				"  assert.equal(greeting('you'), 'Hello, you!');\n"
				"});\n" },
		},
	},
	{
		.name = "java",
		.about = "A project in Java.",
		.run = "mvn package, then java -jar target/@name@.jar",
		.files = {
			{ "README.md", README "Build it with `mvn package`, run it with "
					      "`java -jar target/@name@.jar`.\n" },
			{ ".gitignore", "target/\n*.class\n" },
			{ "pom.xml",
				"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				"<project xmlns=\"http://maven.apache.org/POM/4.0.0\"\n"
				"         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n"
				"         xsi:schemaLocation=\"http://maven.apache.org/POM/4.0.0 "
				"http://maven.apache.org/xsd/maven-4.0.0.xsd\">\n"
				"  <modelVersion>4.0.0</modelVersion>\n"
				"\n"
				"  <groupId>app</groupId>\n"
				"  <artifactId>@name@</artifactId>\n"
				"  <version>0.1.0</version>\n"
				"  <description>@about:x@</description>\n"
				"\n"
				"  <properties>\n"
				"    <maven.compiler.release>17</maven.compiler.release>\n"
				"    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>\n"
				"  </properties>\n"
				"\n"
				"  <build>\n"
				"    <finalName>@name@</finalName>\n"
				"    <plugins>\n"
				"      <plugin>\n"
				"        <groupId>org.apache.maven.plugins</groupId>\n"
				"        <artifactId>maven-jar-plugin</artifactId>\n"
				"        <configuration>\n"
				"          <archive>\n"
				"            <manifest>\n"
				"              <mainClass>app.Main</mainClass>\n"
				"            </manifest>\n"
				"          </archive>\n"
				"        </configuration>\n"
				"      </plugin>\n"
				"    </plugins>\n"
				"  </build>\n"
				"</project>\n" },
			{ "src/main/java/app/Main.java",
				"package app;\n"
				"\n"
				"public final class Main {\n"
				"    private Main() {\n"
				"    }\n"
				"\n"
				"    static String greeting(String name) {\n"
				"        return \"Hello, \" + name + \"!\";\n"
				"    }\n"
				"\n"
				"    public static void main(String[] args) {\n"
				"        System.out.println(greeting(\"world\"));\n"
				"    }\n"
				"}\n" },
		},
	},
	{
		.name = "c",
		.about = "A project in C.",
		.run = "cmake -B build && cmake --build build, then build/@name@",
		.files = {
			{ "README.md", README "Build it with `cmake -B build && cmake --build build`, run "
					      "it with `build/@name@`.\n" },
			{ ".gitignore", "build/\n" },
			{ "CMakeLists.txt",
				"cmake_minimum_required(VERSION 3.16)\n"
				"project(@name@ VERSION 0.1.0 LANGUAGES C)\n"
				"\n"
				"set(CMAKE_C_STANDARD 17)\n"
				"set(CMAKE_C_STANDARD_REQUIRED ON)\n"
				"if(NOT CMAKE_BUILD_TYPE)\n"
				"  set(CMAKE_BUILD_TYPE Release)\n"
				"endif()\n"
				"\n"
				"add_executable(program src/main.c)\n"
				"set_target_properties(program PROPERTIES OUTPUT_NAME @name@)\n"
				"target_compile_options(program PRIVATE -Wall -Wextra)\n" },
			{ "src/main.c",
				"#include <stdio.h>\n"
				"\n"
				"int main(void)\n"
				"{\n"
				"    puts(\"Hello, world!\");\n"
				"    return 0;\n"
				"}\n" },
		},
	},
};

#define COUNT (sizeof(templates) / sizeof(templates[0]))

const struct template *template_at(size_t i)
{
	return i < COUNT ? &templates[i] : NULL;
}

const struct template *template_find(struct view name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (view_eqs(name, templates[i].name))
			return &templates[i];
	return NULL;
}

void template_names(struct str *out)
{
	for (size_t i = 0; i < COUNT; i++)
		(void)str_addf(out, "%s%s",
			i == 0          ? ""
			: i + 1 < COUNT ? ", "
					: " or ",
			templates[i].name);
}

/* --- Filling in ------------------------------------------------------------------------------- */

/* For a string in JSON and in TOML alike. */
static void put_quoted(struct view v, struct str *out)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == '"' || v.p[i] == '\\')
			(void)str_addc(out, '\\');
		(void)str_addc(out, v.p[i]);
	}
}

static void put_xml(struct view v, struct str *out)
{
	for (size_t i = 0; i < v.n; i++) {
		switch (v.p[i]) {
		case '<': (void)str_adds(out, "&lt;"); break;
		case '>': (void)str_adds(out, "&gt;"); break;
		case '&': (void)str_adds(out, "&amp;"); break;
		default: (void)str_addc(out, v.p[i]);
		}
	}
}

/* The length of the place at the head of v, filled in; 0: there is none. */
static size_t fill_place(struct view v, struct view name, struct view about, struct str *out)
{
	if (view_starts(v, VIEW("@name@"))) {
		(void)str_add(out, name);
		return strlen("@name@");
	}
	if (view_starts(v, VIEW("@about@"))) {
		(void)str_add(out, about);
		return strlen("@about@");
	}
	if (view_starts(v, VIEW("@about:q@"))) {
		put_quoted(about, out);
		return strlen("@about:q@");
	}
	if (view_starts(v, VIEW("@about:x@"))) {
		put_xml(about, out);
		return strlen("@about:x@");
	}
	return 0;
}

void template_fill(const char *text, struct view name, struct view about, struct str *out)
{
	struct view v = view_of(text);

	while (v.n > 0) {
		struct view plain = view_cut(v, view_find(v, '@'));
		size_t n;

		(void)str_add(out, plain);
		v = view_from(v, plain.n);
		n = fill_place(v, name, about, out);
		if (n == 0 && v.n > 0) {
			(void)str_addc(out, '@');
			n = 1;
		}
		v = view_from(v, n);
	}
}
