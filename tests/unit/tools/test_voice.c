/* Voices made into words by programs of the operator's, in the real kairo-tool, and by a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "server.h"
#include "tools/host/program.h"
#include "tools/host/voice.h"
#include "tools/host/voice_sound.h"

#include "remove_tree.h"
#include "tree.h"

#define KEY "secret-key-0123456789"

struct fix {
	char dir[64], ws[96], home[96], bin[96], media[96], folder[128];
	struct loop *loop;
	struct tools *tools;
	struct voice *voice;
	struct server *server;
	struct answer answers[3];
	char decoder[2][160], transcriber[2][160], url[80];
	const char *decode[4], *transcribe[4];
	struct voice_settings settings;
	int done;
	enum voice_end end;
	struct str text, why;
};

static struct fix fix;

static int setup(void **state)
{
	const struct str empty = STR_INIT((size_t)1 << 20);
	struct tools_env env = { .helper = KAIRO_TOOL };
	struct err e = ERR_INIT;

	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.text = fix.why = empty;
	fix.settings.base_url = fix.settings.name = fix.settings.key = "";
	(void)snprintf(fix.dir, sizeof(fix.dir), "/tmp/kairo-voice-XXXXXX");
	assert_non_null(mkdtemp(fix.dir));
	(void)snprintf(fix.ws, sizeof(fix.ws), "%s/ws", fix.dir);
	(void)snprintf(fix.home, sizeof(fix.home), "%s/home", fix.dir);
	(void)snprintf(fix.bin, sizeof(fix.bin), "%s/bin", fix.dir);
	(void)snprintf(fix.media, sizeof(fix.media), "%s/home/media", fix.dir);
	(void)snprintf(fix.folder, sizeof(fix.folder), "%s/home/hearing", fix.dir);
	assert_int_equal(0, mkdir(fix.ws, 0755));
	assert_int_equal(0, mkdir(fix.home, 0700));
	assert_int_equal(0, mkdir(fix.bin, 0755));
	assert_int_equal(0, mkdir(fix.media, 0700));
	assert_int_equal(0, loop_open(&fix.loop, NULL, &e));
	env.loop = fix.loop;
	env.workspace = fix.ws;
	env.hide = fix.home;
	assert_int_equal(0, tools_open(&fix.tools, &env, &e));
	mark_choose();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	voice_close(&fix.voice);
	tools_close(&fix.tools);
	server_close(&fix.server);
	loop_close(&fix.loop);
	str_release(&fix.text);
	str_release(&fix.why);
	expect_nobody_left();
	return remove_tree(fix.dir);
}

/* --- The frame -------------------------------------------------------------------------------- */

static void write_file(const char *path, struct view content, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(content.n, fwrite(content.p, 1, content.n, f));
	assert_int_equal(0, fclose(f));
	assert_int_equal(0, chmod(path, mode));
}

/* A program of the operator's, as a script. */
static void make_program(char path[160], const char *name, const char *script)
{
	struct str s = STR_INIT(4096);

	(void)snprintf(path, 160, "%s/%s", fix.bin, name);
	(void)str_addf(&s, "#!/bin/sh\n%s\n", script);
	write_file(path, str_view(&s), 0755);
	str_release(&s);
}

static void use_transcriber(const char *script)
{
	make_program(fix.transcriber[0], "listen", script);
	fix.transcribe[0] = fix.transcriber[0];
	fix.transcribe[1] = "{file}";
	fix.settings.transcriber = fix.transcribe;
}

static void use_decoder(const char *script)
{
	make_program(fix.decoder[0], "decode", script);
	fix.decode[0] = fix.decoder[0];
	fix.decode[1] = "{file}";
	fix.decode[2] = "{out}";
	fix.settings.decoder = fix.decode;
}

static void open_voice(void)
{
	const struct http_rules rules = { .reach = HTTP_ANY, .plain_http = true };
	const struct voice_env env = { .loop = fix.loop,
		.tools = fix.tools,
		.folder = fix.folder,
		.rules = &rules,
		.settings = fix.settings };
	struct err e = ERR_INIT;

	if (voice_open(&fix.voice, &env, &e) < 0)
		fail_msg("%s", e.msg);
}

static void on_done(void *arg, enum voice_end what, struct view text, const char *why)
{
	(void)arg;
	fix.done++;
	fix.end = what;
	str_reset(&fix.text);
	str_reset(&fix.why);
	assert_int_equal(0, str_add(&fix.text, text));
	assert_int_equal(0, str_adds(&fix.why, why));
	assert_true(utf8_valid(text));
	assert_int_equal(what == VOICE_TEXT, text.n > 0);
	assert_int_equal(what == VOICE_TEXT, why[0] == '\0');
}

static const char *media(const char *name, struct view content)
{
	static char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", fix.media, name);
	write_file(path, content, 0600);
	return path;
}

static struct voice_call *begin(struct view content)
{
	struct voice_call *c;

	assert_int_equal(0,
		voice_hear(fix.voice, &c, media("voice.silk", content), on_done, NULL, NULL));
	assert_int_equal(0, fix.done);
	return c;
}

static void wait_done(int n)
{
	while (fix.done < n)
		assert_int_equal(0, loop_step(fix.loop, 1000, NULL));
}

static void hear(struct view content)
{
	fix.done = 0;
	(void)begin(content);
	wait_done(1);
}

/* By a transcriber that is this script. */
static void hear_by(const char *script, struct view content)
{
	use_transcriber(script);
	open_voice();
	hear(content);
}

static int files_left(void)
{
	DIR *d = opendir(fix.folder);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2;
}

static void assert_heard(enum voice_end end, const char *text_or_why)
{
	const char *got = end == VOICE_TEXT ? str_cstr(&fix.text) : str_cstr(&fix.why);

	if (fix.end != end || !strstr(got, text_or_why))
		fail_msg("%d: %s%s", (int)fix.end, str_cstr(&fix.text), str_cstr(&fix.why));
	assert_int_equal(0, files_left());
}

#define WAV  VIEW("RIFF\0\0\0\0WAVEfmt the sound")
#define SILK VIEW("\x02#!SILK_V3 packets")

/* --- A transcriber ---------------------------------------------------------------------------- */

static void what_it_says_is_the_text(void **state)
{
	(void)state;
	hear_by("printf '  \\n你好 '; tail -c 9 \"$1\"; printf ' \\r\\n\\n'", WAV);
	assert_heard(VOICE_TEXT, "");
	assert_string_equal("你好 the sound", str_cstr(&fix.text));
	hear(WAV); /* and again */
	assert_string_equal("你好 the sound", str_cstr(&fix.text));
}

static void its_complaints_are_not_the_text(void **state)
{
	(void)state;
	hear_by("echo loading the model >&2; echo hello; echo done >&2", WAV);
	assert_string_equal("hello", str_cstr(&fix.text));
}

static void controls_are_taken_out(void **state)
{
	(void)state;
	hear_by("printf '\\033[31mred\\033[0m\\ttea\\nfor \\007two'", WAV);
	assert_string_equal("red\ttea\nfor two", str_cstr(&fix.text));
}

static void how_it_fails_is_told(void **state)
{
	static const struct {
		const char *script;
		enum voice_end end;
		const char *why;
	} rows[] = {
		{ "exit 0", VOICE_SILENT, "not a word" },
		{ "echo; echo ' '", VOICE_SILENT, "not a word" },
		{ "echo '[BLANK_AUDIO]'", VOICE_SILENT, "not a word" },
		{ "exit 3", VOICE_FAILED, "voice.transcriber: exit status 3" },
		{ "echo one >&2; echo no model >&2; exit 1", VOICE_FAILED,
			"voice.transcriber: exit status 1, no model" },
		{ "echo half a text; exit 1", VOICE_FAILED, "exit status 1" },
		{ "kill -9 $$", VOICE_FAILED, "killed" },
		{ "printf 'a\\377b'", VOICE_FAILED, "not UTF-8" },
		{ "printf 'a\\000b'", VOICE_FAILED, "not UTF-8" },
		{ "exec cat /dev/zero", VOICE_FAILED, "too much" },
		{ "head -c 1048576 /dev/zero | tr '\\0' x", VOICE_FAILED, "too much" },
		{ "exec /nowhere/at/all", VOICE_FAILED, "exit status 127" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hear_by(rows[i].script, WAV);
		assert_heard(rows[i].end, rows[i].why);
		voice_close(&fix.voice);
	}
}

static void it_may_say_so_much(void **state)
{
	char script[80];

	(void)state;
	for (size_t n = VOICE_TEXT_MAX - 1; n <= VOICE_TEXT_MAX + 1; n++) {
		(void)snprintf(script, sizeof(script), "head -c %zu /dev/zero | tr '\\0' x", n);
		hear_by(script, WAV);
		assert_heard(n > VOICE_TEXT_MAX ? VOICE_FAILED : VOICE_TEXT, "");
		if (n <= VOICE_TEXT_MAX)
			assert_int_equal(n, fix.text.n);
		voice_close(&fix.voice);
	}
}

static void a_program_that_is_not_there_is_told(void **state)
{
	(void)state;
	use_transcriber("exit 0");
	fix.transcribe[0] = "/nowhere/listen";
	open_voice();
	hear(WAV);
	assert_heard(VOICE_FAILED, "voice.transcriber: there is no program /nowhere/listen");
	fix.transcribe[0] = "kairo-no-such-program";
	hear(WAV);
	assert_heard(VOICE_FAILED, "there is no program kairo-no-such-program");
}

static void a_program_of_the_agent_s_is_not_run(void **state)
{
	char path[200];

	(void)state;
	use_transcriber("echo hello");
	(void)snprintf(path, sizeof(path), "%s/listen", fix.ws);
	write_file(path, VIEW("#!/bin/sh\necho hello\n"), 0755);
	fix.transcribe[0] = path;
	open_voice();
	hear(WAV);
	assert_heard(VOICE_FAILED, "workspace");
	fix.transcribe[0] = "/bin/sh";
	fix.transcribe[1] = path;
	fix.transcribe[2] = "{file}";
	hear(WAV);
	assert_heard(VOICE_FAILED, "workspace, where the agent could change it");
}

/* --- What it may reach ------------------------------------------------------------------------ */

static void it_sees_the_voice_and_its_own_folders_alone(void **state)
{
	char script[1000], other[160];

	(void)state;
	(void)snprintf(other, sizeof(other), "%s/other.silk", fix.media);
	write_file(other, VIEW("somebody's"), 0600);
	(void)snprintf(script, sizeof(script),
		"cat %s 2>/dev/null; cat %s/* 2>/dev/null; ls %s 2>/dev/null;"
		" echo x 2>/dev/null >%s/x; tail -c 9 \"$1\"; cat %s/model",
		other, fix.media, fix.ws, fix.bin, fix.bin);
	use_transcriber(script);
	(void)snprintf(other, sizeof(other), "%s/model", fix.bin);
	write_file(other, VIEW(" model"), 0644);
	(void)snprintf(other, sizeof(other), "%s/file", fix.ws);
	write_file(other, VIEW("of the agent"), 0644);
	open_voice();
	hear(WAV);
	assert_string_equal("the sound model", str_cstr(&fix.text));
}

static void it_has_no_network(void **state)
{
	char script[200];
	const struct server_opts o = { .answers = fix.answers, .nanswers = 1 };

	(void)state;
	fix.answers[0].bytes = VIEW("HTTP/1.0 200 OK\r\n\r\n");
	server_open(&fix.server, fix.loop, &o);
	(void)snprintf(script, sizeof(script),
		"perl -MIO::Socket -e 'print IO::Socket::INET->new(\"127.0.0.1:%d\") ? 1 : 0'",
		server_port(fix.server));
	hear_by(script, WAV);
	assert_string_equal("0", str_cstr(&fix.text));
	assert_int_equal(0, server_accepted(fix.server));
}

/* What a path of the vector names can be read, be it by way of a link, and a folder as a whole. */
static void paths_of_the_vector_can_be_read(void **state)
{
	char model[200], link[160], folder[160], path[200];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/models", fix.dir);
	assert_int_equal(0, mkdir(folder, 0755));
	(void)snprintf(model, sizeof(model), "%s/big", folder);
	write_file(model, VIEW("big "), 0644);
	(void)snprintf(link, sizeof(link), "%s/small", fix.dir);
	assert_int_equal(0, symlink(model, link));
	use_transcriber("cat \"$2\" \"$3\"/big; tail -c 9 \"$1\"");
	{
		const char *argv[] = { fix.transcriber[0], "{file}", link, folder, NULL };

		fix.settings.transcriber = argv;
		open_voice();
		hear(WAV);
	}
	assert_string_equal("big big the sound", str_cstr(&fix.text));
	(void)snprintf(path, sizeof(path), "%s/gone", folder);
	{
		const char *argv[] = { fix.transcriber[0], "{file}", path, NULL };
		struct err e = ERR_INIT;

		assert_int_equal(-1, program_check(fix.tools, argv, &e));
		assert_non_null(strstr(e.msg, "gone"));
	}
}

static void a_folder_that_holds_too_much_is_refused(void **state)
{
	struct err e = ERR_INIT;
	char path[160];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/model", fix.dir); /* beside the home */
	write_file(path, VIEW("x"), 0644);
	const char *argv[] = { "/bin/cat", path, NULL };
	assert_int_equal(-1, program_check(fix.tools, argv, &e));
	assert_non_null(strstr(e.msg, "put it into a folder of its own"));
	(void)snprintf(path, sizeof(path), "%s/key", fix.home);
	write_file(path, VIEW("x"), 0600);
	assert_int_equal(-1, program_check(fix.tools, argv, &e));
	argv[1] = "/";
	assert_int_equal(-1, program_check(fix.tools, argv, &e));
	argv[1] = "/etc/passwd";
	assert_int_equal(0, program_check(fix.tools, argv, &e));
	argv[0] = NULL;
	assert_int_equal(-1, program_check(fix.tools, argv, &e));
}

/* --- The decoder ------------------------------------------------------------------------------ */

static void silk_is_decoded_first(void **state)
{
	(void)state;
	use_transcriber("head -c 4 \"$1\"; tail -c 8 \"$1\"; echo \" ${1##*.}\"");
	use_decoder("{ printf RIFF; tail -c 8 \"$1\"; } >\"$2\"; echo unread; echo unread >&2");
	open_voice();
	hear(SILK);
	assert_string_equal("RIFF packets wav", str_cstr(&fix.text));
	assert_heard(VOICE_TEXT, "");
}

static void sound_that_is_common_is_not_decoded(void **state)
{
	(void)state;
	use_transcriber("tail -c 9 \"$1\"");
	use_decoder("exit 1");
	open_voice();
	hear(WAV);
	assert_string_equal("the sound", str_cstr(&fix.text));
}

static void without_a_decoder_silk_is_not_heard(void **state)
{
	(void)state;
	hear_by("echo never", SILK);
	assert_heard(VOICE_FORMAT, "SILK: no transcriber takes it, and voice.decoder is not set");
	hear(VIEW("#!AMR\n..."));
	assert_heard(VOICE_FORMAT, "AMR");
	hear(VIEW("?"));
	assert_heard(VOICE_FORMAT, "unknown");
}

static void how_decoding_fails_is_told(void **state)
{
	static const struct {
		const char *script;
		enum voice_end end;
		const char *why;
	} rows[] = {
		{ "echo cut off >&2; exit 65", VOICE_DAMAGED,
			"voice.decoder: exit status 65, cut off" },
		{ "exit 69", VOICE_FORMAT, "exit status 69" },
		{ "exit 1", VOICE_FAILED, "exit status 1" },
		{ "exit 0", VOICE_FAILED, "it left no sound" },
		{ ": >\"$2\"", VOICE_FAILED, "a sound of 0 bytes" },
		{ "ln -s /etc/passwd \"$2\"", VOICE_FAILED, "it left no sound" },
		{ "mkfifo \"$2\"", VOICE_FAILED, "it left no sound" },
		{ "mkdir \"$2\"", VOICE_FAILED, "it left no sound" },
		{ "truncate -s 67108865 \"$2\"", VOICE_FAILED, "a sound of 67108865 bytes" },
		{ "exec cat /dev/zero", VOICE_FAILED, "too much" },
	};

	(void)state;
	use_transcriber("echo never");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		use_decoder(rows[i].script);
		open_voice();
		hear(SILK);
		if (fix.end != rows[i].end || !strstr(str_cstr(&fix.why), rows[i].why))
			fail_msg("%zu: %d %s", i, (int)fix.end, str_cstr(&fix.why));
		voice_close(&fix.voice);
	}
	use_decoder("truncate -s 67108864 \"$2\"");
	open_voice();
	hear(SILK);
	assert_string_equal("never", str_cstr(&fix.text));
	/* What it leaves beside its sound goes with the next voice. */
	assert_int_equal(0, files_left());
}

static void what_programs_leave_behind_is_removed(void **state)
{
	(void)state;
	hear_by("touch here ./-x; mkdir empty; echo hello", WAV);
	assert_int_equal(3, files_left());
	hear(WAV);
	assert_int_equal(3, files_left());
	voice_close(&fix.voice);
	open_voice();
	assert_int_equal(0, files_left());
}

static void a_file_that_is_no_voice_is_told(void **state)
{
	struct voice_call *c;

	(void)state;
	use_transcriber("echo never");
	open_voice();
	hear(VIEW(""));
	assert_heard(VOICE_DAMAGED, "empty");
	fix.done = 0;
	assert_int_equal(0, voice_hear(fix.voice, &c, "/nowhere/voice", on_done, NULL, NULL));
	wait_done(1);
	assert_heard(VOICE_FAILED, "the voice's file");
}

static void a_file_is_taken_up_to_its_limit(void **state)
{
	struct voice_call *c;
	const char *path;

	(void)state;
	use_transcriber("wc -c <\"$1\"");
	open_voice();
	for (size_t n = VOICE_FILE_MAX - 1; n <= VOICE_FILE_MAX + 1; n++) {
		char want[24];

		path = media("big.wav", WAV);
		assert_int_equal(0, truncate(path, (off_t)n));
		fix.done = 0;
		assert_int_equal(0, voice_hear(fix.voice, &c, path, on_done, NULL, NULL));
		wait_done(1);
		(void)snprintf(want, sizeof(want), "%zu", n);
		assert_heard(n > VOICE_FILE_MAX ? VOICE_FAILED : VOICE_TEXT,
			n > VOICE_FILE_MAX ? "the voice's file" : want);
	}
}

/* --- Time and order --------------------------------------------------------------------------- */

static void wait_marked(void)
{
	while (!find_marked())
		assert_int_equal(0, loop_step(fix.loop, 20, NULL));
}

static void one_is_heard_after_the_other(void **state)
{
	struct voice_call *c[3];

	(void)state;
	use_transcriber("tail -c 1 \"$1\"");
	open_voice();
	for (int i = 0; i < 3; i++) {
		char name[8] = { (char)('a' + i) };
		char bytes[] = "RIFF....WAVE?";

		bytes[12] = (char)('a' + i);
		assert_int_equal(0, voice_hear(fix.voice, &c[i], media(name, view_of(bytes)),
					    on_done, NULL, NULL));
	}
	for (int i = 0; i < 3; i++) {
		wait_done(i + 1);
		assert_int_equal('a' + i, str_cstr(&fix.text)[0]);
	}
}

static void a_cancelled_one_is_gone_at_once(void **state)
{
	struct voice_call *c[3];

	(void)state;
	use_transcriber(
		marked("case $(tail -c 1 \"$1\") in a) sleep @;; *) tail -c 1 \"$1\";; esac"));
	open_voice();
	for (int i = 0; i < 3; i++) {
		char name[8] = { (char)('a' + i) };
		char bytes[] = "RIFF....WAVE?";

		bytes[12] = (char)('a' + i);
		assert_int_equal(0, voice_hear(fix.voice, &c[i], media(name, view_of(bytes)),
					    on_done, NULL, NULL));
	}
	wait_marked();
	voice_cancel(&c[1]); /* before its turn */
	voice_cancel(&c[0]); /* at work */
	assert_null(c[0]);
	voice_cancel(&c[0]);
	wait_done(1);
	assert_string_equal("c", str_cstr(&fix.text));
	while (find_marked())
		assert_int_equal(0, loop_step(fix.loop, 20, NULL));
	assert_int_equal(1, fix.done);
}

static void closing_ends_what_is_at_work(void **state)
{
	(void)state;
	use_transcriber(marked("sleep @"));
	open_voice();
	(void)begin(WAV);
	wait_marked();
	voice_close(&fix.voice);
	assert_int_equal(0, fix.done);
}

#ifdef KAIRO_TEST_HOOKS
static void one_that_hangs_is_given_up(void **state)
{
	(void)state;
	use_transcriber(marked("sleep @"));
	use_decoder(marked("sleep @"));
	open_voice();
	(void)begin(WAV);
	wait_marked();
	loop_turn_clock(fix.loop, VOICE_LISTEN_MS + 6000);
	wait_done(1);
	assert_heard(VOICE_LATE, "voice.transcriber: it took too long");
	fix.done = 0;
	(void)begin(SILK);
	wait_marked();
	loop_turn_clock(fix.loop, VOICE_DECODE_MS + 6000);
	wait_done(1);
	assert_heard(VOICE_LATE, "voice.decoder: it took too long");
}
#endif

/* --- A server --------------------------------------------------------------------------------- */

static void serve(size_t n)
{
	const struct server_opts o = { .answers = fix.answers, .nanswers = n };

	server_open(&fix.server, fix.loop, &o);
	(void)snprintf(fix.url, sizeof(fix.url), "http://127.0.0.1:%d/v1", server_port(fix.server));
	fix.settings.base_url = fix.url;
	fix.settings.name = "whisper-1";
	fix.settings.key = KEY;
	open_voice();
}

static const char *reply(int status, const char *body)
{
	static char text[3][600];
	static int at;
	char *out = text[at++ % 3];

	(void)snprintf(out, sizeof(text[0]),
		"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		status, strlen(body), body);
	return out;
}

static void a_server_is_asked_as_openai_s_is(void **state)
{
	struct view heard;

	(void)state;
	fix.answers[0].bytes = view_of(reply(200, "{\"text\":\" Hello. \",\"usage\":{\"x\":1}}"));
	serve(1);
	hear(WAV);
	assert_heard(VOICE_TEXT, "");
	assert_string_equal("Hello.", str_cstr(&fix.text));
	heard = server_heard_view(fix.server);
	assert_true(view_starts(heard, VIEW("POST /v1/audio/transcriptions HTTP/1.1\r\n")));
	assert_non_null(strstr(heard.p, "Authorization: Bearer " KEY "\r\n"));
	assert_non_null(strstr(heard.p, "Content-Type: multipart/form-data; boundary="));
	assert_non_null(strstr(heard.p, "name=\"model\"\r\n\r\nwhisper-1\r\n"));
	assert_non_null(strstr(heard.p, "name=\"response_format\"\r\n\r\njson\r\n"));
	assert_non_null(strstr(heard.p, "name=\"file\"; filename=\"voice.wav\"\r\n"));
	/* The file to the byte, then the end. */
	const char *end = memmem(heard.p, heard.n, WAV.p, WAV.n);
	assert_non_null(end);
	end += WAV.n;
	assert_memory_equal(end, "\r\n--", 4);
	assert_memory_equal(heard.p + heard.n - 4, "--\r\n", 4);
}

static void a_server_gets_what_was_decoded(void **state)
{
	(void)state;
	fix.answers[0].bytes = view_of(reply(200, "{\"text\":\"ok\"}"));
	use_decoder("printf decoded >\"$2\"");
	serve(1);
	hear(SILK);
	assert_heard(VOICE_TEXT, "ok");
	assert_non_null(strstr(server_heard(fix.server), "\r\n\r\ndecoded\r\n--"));
	assert_non_null(strstr(server_heard(fix.server), "filename=\"voice.wav\""));
}

static void a_transcriber_comes_before_a_server(void **state)
{
	(void)state;
	fix.answers[0].bytes = view_of(reply(200, "{\"text\":\"the server\"}"));
	use_transcriber("echo the program");
	serve(1);
	hear(WAV);
	assert_string_equal("the program", str_cstr(&fix.text));
	assert_int_equal(0, server_accepted(fix.server));
}

static void what_a_server_refuses_is_told(void **state)
{
	static const struct {
		int status;
		const char *body, *why;
		enum voice_end end;
	} rows[] = {
		{ 200, "{\"text\":\"\"}", "not a word", VOICE_SILENT },
		{ 200, "{}", "text", VOICE_FAILED },
		{ 200, "{\"text\":5}", "text", VOICE_FAILED },
		{ 200, "hello", "answered", VOICE_FAILED },
		{ 200, "{\"text\":\"a\",\"text\":\"b\"}", "answered", VOICE_FAILED },
		{ 401, "{\"error\":{\"message\":\"Incorrect key " KEY "\"}}",
			"status 401 (is voice.api_key good?)", VOICE_FAILED },
		{ 404, "{}", "status 404 (are voice.base_url and voice.name right?)",
			VOICE_FAILED },
		{ 429, "{\"error\":{\"message\":\"slow\\ndown\"}}", "status 429: slow\\ndown",
			VOICE_FAILED },
		{ 500, "<html>", "status 500", VOICE_FAILED },
		{ 302, "", "status 302", VOICE_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix.answers[0].bytes = view_of(reply(rows[i].status, rows[i].body));
		serve(1);
		hear(WAV);
		assert_heard(rows[i].end, rows[i].why);
		assert_null(strstr(str_cstr(&fix.why), KEY));
		assert_int_equal(1, server_requests(fix.server));
		voice_close(&fix.voice);
		server_close(&fix.server);
	}
}

static void a_broken_line_is_tried_once_more(void **state)
{
	(void)state;
	fix.answers[0].then = THEN_RESET;
	fix.answers[1].bytes = view_of(reply(200, "{\"text\":\"after all\"}"));
	serve(2);
	hear(WAV);
	assert_heard(VOICE_TEXT, "after all");
	voice_close(&fix.voice);
	server_close(&fix.server);
	serve(1);
	hear(WAV);
	assert_heard(VOICE_FAILED, "voice.base_url");
	assert_int_equal(2, server_accepted(fix.server));
}

static void nobody_at_home_is_tried_once_more(void **state)
{
	(void)state;
	fix.answers[0].bytes = VIEW("x");
	serve(1);
	server_close(&fix.server);
	hear(WAV);
	assert_heard(VOICE_FAILED, "refused");
}

static void a_server_may_say_so_much(void **state)
{
	struct str body = STR_INIT((size_t)1 << 20), all = STR_INIT((size_t)1 << 20);

	(void)state;
	for (size_t n = VOICE_TEXT_MAX - 1; n <= VOICE_TEXT_MAX + 1; n++) {
		str_reset(&body);
		str_reset(&all);
		(void)str_adds(&body, "{\"text\":\"");
		for (size_t i = 0; i < n; i++)
			(void)str_addc(&body, 'x');
		(void)str_adds(&body, "\"}");
		(void)str_addf(&all, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", body.n,
			str_cstr(&body));
		fix.answers[0].bytes = str_view(&all);
		serve(1);
		hear(WAV);
		assert_heard(n > VOICE_TEXT_MAX ? VOICE_FAILED : VOICE_TEXT, "");
		voice_close(&fix.voice);
		server_close(&fix.server);
	}
	str_release(&body);
	str_release(&all);
}

static void a_server_that_is_silent_is_left(void **state)
{
	struct voice_call *c;

	(void)state;
	fix.answers[0].then = THEN_HOLD;
	serve(1);
	c = begin(WAV);
	while (server_requests(fix.server) < 1)
		assert_int_equal(0, loop_step(fix.loop, 100, NULL));
	voice_cancel(&c);
	while (server_open_now(fix.server) > 0)
		assert_int_equal(0, loop_step(fix.loop, 100, NULL));
	assert_int_equal(0, fix.done);
	assert_int_equal(0, files_left());
}

static void somebody_listens_or_nobody(void **state)
{
	static const char *const argv[] = { "x", NULL }, *const none[] = { NULL };
	static const struct {
		struct voice_settings s;
		bool up;
	} rows[] = {
		{ { NULL, NULL, "", "", "" }, false },
		{ { argv, none, "", "", "" }, false },
		{ { NULL, argv, "", "", "" }, true },
		{ { NULL, NULL, "http://h", "", "" }, false },
		{ { NULL, NULL, "", "m", "k" }, false },
		{ { NULL, NULL, "http://h", "m", "" }, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rows[i].up, voice_set_up(&rows[i].s));
}

/* --- Kinds and words -------------------------------------------------------------------------- */

static void sounds_are_told_by_their_content(void **state)
{
	static const struct {
		struct view head;
		const char *name;
		bool common;
	} rows[] = {
		{ { "\x02#!SILK_V3\x0c\x00", 12 }, "SILK", false },
		{ { "#!SILK_V3", 9 }, "SILK", false },
		{ { "\x02#!SILK_V", 9 }, "unknown", false },
		{ { "#!AMR\n\x3c", 7 }, "AMR", false },
		{ { "#!AMR-WB\n", 9 }, "AMR", false },
		{ { "OggS\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x50Speex   1.2", 40 },
			"Speex", false },
		{ { "OggS\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x13OpusHead", 36 }, "Ogg",
			true },
		{ { "RIFF\x24\0\0\0WAVEfmt ", 16 }, "WAV", true },
		{ { "RIFF\x24\0\0\0AVI LIST", 16 }, "unknown", false },
		{ { "ID3\4\0", 5 }, "MP3", true },
		{ { "\xff\xfb\x90\x64", 4 }, "MP3", true },
		{ { "fLaC\0", 5 }, "FLAC", true },
		{ { "\0\0\0\x20"
		    "ftypM4A ",
			  12 },
			"MP4", true },
		{ { "", 0 }, "unknown", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sound_kind *k = sound_kind(rows[i].head);

		assert_string_equal(rows[i].name, k->name);
		assert_int_equal(rows[i].common, k->common);
	}
}

static void a_transcript_without_a_word_is_silence(void **state)
{
	static const struct {
		const char *said;
		int want;
	} rows[] = {
		{ "", 0 },
		{ " \n\t", 0 },
		{ "...", 0 },
		{ "。。，！", 0 },
		{ "[BLANK_AUDIO]", 0 },
		{ "(music) [ Silence ]", 0 },
		{ "（音乐）【掌声】", 0 },
		{ "♪♪", 0 },
		{ "👍", 0 },
		{ "[never closed", 0 },
		{ "ok", 1 },
		{ "5", 1 },
		{ "嗯", 1 },
		{ "é", 1 },
		{ "はい", 1 },
		{ "да", 1 },
		{ "[music] go on", 1 },
		{ "（笑）好", 1 },
		{ "a [b]", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(1000);

		if (sound_words(view_of(rows[i].said), &out) != rows[i].want)
			fail_msg("%s", rows[i].said);
		assert_int_equal(rows[i].want, out.n > 0);
		str_release(&out);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_it_says_is_the_text),
		T(its_complaints_are_not_the_text),
		T(controls_are_taken_out),
		T(how_it_fails_is_told),
		T(it_may_say_so_much),
		T(a_program_that_is_not_there_is_told),
		T(a_program_of_the_agent_s_is_not_run),
		T(it_sees_the_voice_and_its_own_folders_alone),
		T(it_has_no_network),
		T(paths_of_the_vector_can_be_read),
		T(a_folder_that_holds_too_much_is_refused),
		T(silk_is_decoded_first),
		T(sound_that_is_common_is_not_decoded),
		T(without_a_decoder_silk_is_not_heard),
		T(how_decoding_fails_is_told),
		T(what_programs_leave_behind_is_removed),
		T(a_file_that_is_no_voice_is_told),
		T(a_file_is_taken_up_to_its_limit),
		T(one_is_heard_after_the_other),
		T(a_cancelled_one_is_gone_at_once),
		T(closing_ends_what_is_at_work),
#ifdef KAIRO_TEST_HOOKS
		T(one_that_hangs_is_given_up),
#endif
		T(a_server_is_asked_as_openai_s_is),
		T(a_server_gets_what_was_decoded),
		T(a_transcriber_comes_before_a_server),
		T(what_a_server_refuses_is_told),
		T(a_broken_line_is_tried_once_more),
		T(nobody_at_home_is_tried_once_more),
		T(a_server_may_say_so_much),
		T(a_server_that_is_silent_is_left),
		cmocka_unit_test(somebody_listens_or_nobody),
		cmocka_unit_test(sounds_are_told_by_their_content),
		cmocka_unit_test(a_transcript_without_a_word_is_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
