/* Files on their way out: the address, the upload, the message, and all that can go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CLIENT   "kairo:1767225601000-1a2b3c4d"
#define TOKEN    "AARzContextTokenExample"
#define RECEIPT  "Receipt/Param+1=="

static const struct goods good = { .headers = "x-encrypted-param: " RECEIPT "\r\n" };

/* A file to be sent, with its true MD5. */
struct file {
	struct chan_file f;
	char md5[33];
};

static void md5_hex(struct view v, char out[33])
{
	unsigned char sum[16];

	assert_int_equal(EVP_Digest(v.n > 0 ? v.p : "", v.n, sum, NULL, EVP_md5(), NULL), 1);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

static void file_of(struct file *f, struct view bytes)
{
	md5_hex(bytes, f->md5);
	f->f = (struct chan_file){ .kind = CHAN_FILE,
		.fd = memfd_create("file", MFD_CLOEXEC),
		.name = "a.pdf",
		.size = (int64_t)bytes.n,
		.md5 = f->md5 };
	assert_int_equal(write(f->f.fd, bytes.n > 0 ? bytes.p : "", bytes.n), bytes.n);
}

/* Blocks of a length that is no power of two, so that none of them ends where a piece does. */
static void fill(struct str *out, size_t n)
{
	char block[65521];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 + i / 251);
	for (size_t done = 0; done < n; done += sizeof(block))
		str_add(out, view_cut((struct view){ block, sizeof(block) }, n - done));
	assert_true(str_ok(out));
}

static void on_sent(void *arg, enum chan_outcome what, const char *id, const char *why)
{
	struct rig *r = arg;

	r->outcome = what;
	assert_int_equal(copy_z(r->message_id, sizeof(r->message_id), view_of(id)), 0);
	assert_int_equal(copy_z(r->why, sizeof(r->why), view_of(why)), 0);
	r->sent++;
}

static void begin(struct rig *r, const struct file *f)
{
	/* good during the call only */
	char to[] = RIG_USER, token[] = TOKEN, client[] = CLIENT;
	struct chan_file copy = f->f;
	struct chan_send s = { .to = to, .token = token, .client_id = client, .file = &copy };
	struct err e = ERR_INIT;

	r->sent = 0;
	if (r->ch->ops->send(r->ch, &s, on_sent, r, &e) < 0)
		fail_msg("%s", e.msg);
	memset(to, 'x', sizeof(to) - 1);
	memset(token, 'x', sizeof(token) - 1);
	memset(client, 'x', sizeof(client) - 1);
	copy = (struct chan_file){ .fd = -1 };
}

/* To its end; the next attempt waits for its time. */
static void finish(struct rig *r)
{
	for (int i = 0; i < 1000 && !r->sent; i++) {
		rig_settle(r);
		loop_turn_clock(r->loop, 2000);
	}
	assert_int_equal(r->sent, 1);
}

static void run(struct rig *r, const struct file *f)
{
	begin(r, f);
	finish(r);
}

static void run_text(struct rig *r, const char *text)
{
	struct file f;

	file_of(&f, view_of(text));
	run(r, &f);
	(void)close(f.f.fd);
}

static void grant(struct rig *r, const char *query)
{
	char body[400];

	snprintf(body, sizeof(body), "{\"ret\":0,\"upload_full_url\":\"%s/upload?%s\"}",
		depot_url(r->depot), query);
	server_always(r->srv, "getuploadurl", 200, body);
}

/* A string member of a request's body. */
static const char *member(const struct request *q, const char *name)
{
	static char value[200];
	char key[60];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":\"", name);
	at = strstr(q->body, key);
	assert_non_null(at);
	at += strlen(key);
	assert_int_equal(copy_z(value, sizeof(value), (struct view){ at, strcspn(at, "\"") }), 0);
	return value;
}

static void key_of(const struct request *q, unsigned char key[16])
{
	const char *hex = member(q, "aeskey");

	assert_int_equal(strlen(hex), 32);
	assert_int_equal(strspn(hex, "0123456789abcdef"), 32);
	for (size_t i = 0; i < 16; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		key[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
}

/* By OpenSSL itself, not by the code under test. */
static void encrypt(const unsigned char key[16], struct view plain, struct str *out)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, rest = 0;

	assert_int_equal(str_reserve(out, plain.n + 32), 0);
	assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL), 1);
	assert_int_equal(EVP_EncryptUpdate(ctx, (unsigned char *)out->p, &n,
				 (const unsigned char *)plain.p, (int)plain.n),
		1);
	assert_int_equal(EVP_EncryptFinal_ex(ctx, (unsigned char *)out->p + n, &rest), 1);
	str_grew(out, (size_t)n + (size_t)rest);
	EVP_CIPHER_CTX_free(ctx);
}

/* The i-th delivery is these bytes under the key that the i-th request has told. */
static void assert_delivered(struct rig *r, size_t i, struct view plain)
{
	struct str cipher = STR_INIT((128 << 20) + 64);
	unsigned char key[16];
	char md5[33];

	key_of(server_get(r->srv, "getuploadurl", i), key);
	encrypt(key, plain, &cipher);
	md5_hex(str_view(&cipher), md5);
	assert_int_equal(depot_got(r->depot, i)->size, cipher.n);
	assert_string_equal(depot_got(r->depot, i)->md5, md5);
	str_release(&cipher);
}

static int set_up(void **state)
{
	struct rig *r = rig_open();

	*state = r;
	server_always(r->srv, "sendmessage", 200, "{\"ret\":0,\"message_id\":77}");
	grant(r, "q=Upload-Secret");
	depot_always(r->depot, &good);
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	rig_close(&r);
	return 0;
}

/* --- What goes out ---------------------------------------------------------------------------- */
static void asks_uploads_and_sends(void **state)
{
	struct rig *r = *state;
	const struct request *q;
	const struct delivery *d;
	char want[1000], hex[33], filekey[33], text[45];

	run_text(r, "hello ilink");
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_string_equal(r->message_id, "77");

	q = server_get(r->srv, "getuploadurl", 0);
	(void)copy_z(hex, sizeof(hex), view_of(member(q, "aeskey")));
	(void)copy_z(filekey, sizeof(filekey), view_of(member(q, "filekey")));
	snprintf(want, sizeof(want),
		"{\"filekey\":\"%s\",\"media_type\":3,\"to_user_id\":\"" RIG_USER
		"\",\"rawsize\":11,\"rawfilemd5\":\"a0e581bef9105ace19c7d2e59e66374d\","
		"\"filesize\":16,\"no_need_thumb\":true,\"aeskey\":\"%s\",\"context_token\":\"" TOKEN
		"\",\"base_info\":{\"channel_version\":\"2.4.9\",\"bot_agent\":\"Example/1.0.0\"}}",
		filekey, hex);
	assert_string_equal(q->body, want);
	assert_int_equal(strlen(filekey), 32);
	assert_string_equal(request_header(q, "Authorization"), "Bearer " RIG_TOKEN);

	d = depot_got(r->depot, 0);
	assert_string_equal(d->method, "POST");
	assert_string_equal(d->target, "/c2c/upload?q=Upload-Secret");
	assert_non_null(strcasestr(d->head, "Content-Type: application/octet-stream\r\n"));
	assert_non_null(strcasestr(d->head, "Content-Length: 16\r\n"));
	assert_null(strcasestr(d->head, "Transfer-Encoding"));
	assert_null(strcasestr(d->head, "Expect"));
	assert_null(strcasestr(d->head, "Authorization"));
	assert_null(strcasestr(d->head, "iLink"));
	assert_delivered(r, 0, VIEW("hello ilink"));

	EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)hex, 32);
	snprintf(want, sizeof(want),
		"{\"msg\":{\"from_user_id\":\"\",\"to_user_id\":\"" RIG_USER
		"\",\"client_id\":\"" CLIENT "\",\"message_type\":2,\"message_state\":2,"
		"\"item_list\":[{\"type\":4,\"file_item\":{\"media\":{\"encrypt_query_param\":\"" RECEIPT
		"\",\"aes_key\":\"%s\",\"encrypt_type\":1},\"file_name\":\"a.pdf\",\"len\":\"11\"}}],"
		"\"context_token\":\"" TOKEN "\"},"
		"\"base_info\":{\"channel_version\":\"2.4.9\",\"bot_agent\":\"Example/1.0.0\"}}",
		text);
	assert_string_equal(server_get(r->srv, "sendmessage", 0)->body, want);
}

static void names_each_kind_by_its_numbers(void **state)
{
	static const struct {
		enum chan_item_kind kind;
		const char *upload, *type, *item;
	} rows[] = {
		{ CHAN_IMAGE, "\"media_type\":1,", "[{\"type\":2,\"image_item\":{\"media\":{",
			"\"encrypt_type\":1},\"mid_size\":16}}]" },
		{ CHAN_VIDEO, "\"media_type\":2,", "[{\"type\":5,\"video_item\":{\"media\":{",
			"\"encrypt_type\":1},\"video_size\":16}}]" },
		{ CHAN_FILE, "\"media_type\":3,", "[{\"type\":4,\"file_item\":{\"media\":{",
			"\"encrypt_type\":1},\"file_name\":\"a.pdf\",\"len\":\"11\"}}]" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct file f;

		file_of(&f, VIEW("hello ilink"));
		f.f.kind = rows[i].kind;
		run(r, &f);
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		assert_non_null(
			strstr(server_get(r->srv, "getuploadurl", i)->body, rows[i].upload));
		assert_non_null(strstr(server_get(r->srv, "sendmessage", i)->body, rows[i].type));
		assert_non_null(strstr(server_get(r->srv, "sendmessage", i)->body, rows[i].item));
		(void)close(f.f.fd);
	}
}

static void uploads_a_file_of_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 16383, 16384, 16385, 1000000 };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct str plain = STR_INIT(1 << 20);
		struct file f;

		fill(&plain, sizes[i]);
		file_of(&f, str_view(&plain));
		run(r, &f);
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		assert_delivered(r, i, str_view(&plain));
		(void)close(f.f.fd);
		str_release(&plain);
	}
}

static void moves_a_hundred_mebibytes(void **state)
{
	struct rig *r = *state;
	struct str plain = STR_INIT(100 << 20);
	struct file f;

	fill(&plain, 100 << 20);
	file_of(&f, str_view(&plain));
	begin(r, &f);
	while (!r->sent)
		rig_step(r);
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_delivered(r, 0, str_view(&plain));
	(void)close(f.f.fd);
	str_release(&plain);
}

static void reads_the_receipt_in_any_case(void **state)
{
	static const char *const names[] = { "x-encrypted-param", "X-Encrypted-Param",
		"X-ENCRYPTED-PARAM" };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(names); i++) {
		char line[60];

		snprintf(line, sizeof(line), "%s: P%zu\r\n", names[i], i);
		depot_push(r->depot, &(struct goods){ .headers = line });
		run_text(r, "hello");
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		snprintf(line, sizeof(line), "\"encrypt_query_param\":\"P%zu\"", i);
		assert_non_null(strstr(server_get(r->srv, "sendmessage", i)->body, line));
	}
}

/* --- Attempts --------------------------------------------------------------------------------- */
static void comes_again_with_everything_new_after_two_and_four_seconds(void **state)
{
	struct rig *r = *state;
	struct file f;
	char keys[3][33], filekeys[3][33];

	file_of(&f, VIEW("hello ilink"));
	depot_push(r->depot, &(struct goods){ .status = 500 });
	depot_push(r->depot, &(struct goods){ .status = 500 });
	begin(r, &f);
	for (size_t i = 0; i < 3; i++) {
		if (i > 0) {
			rig_turn(r, 2000 * (int64_t)i - 200);
			assert_int_equal(server_count(r->srv, "getuploadurl"), i);
			rig_turn(r, 300);
		}
		UNTIL(r, depot_count(r->depot) == i + 1);
		rig_settle(r);
		assert_delivered(r, i, VIEW("hello ilink"));
		(void)copy_z(keys[i], 33,
			view_of(member(server_get(r->srv, "getuploadurl", i), "aeskey")));
		(void)copy_z(filekeys[i], 33,
			view_of(member(server_get(r->srv, "getuploadurl", i), "filekey")));
	}
	UNTIL(r, r->sent == 1);
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_string_not_equal(keys[0], keys[1]);
	assert_string_not_equal(keys[1], keys[2]);
	assert_string_not_equal(filekeys[0], filekeys[1]);
	assert_string_not_equal(filekeys[1], filekeys[2]);
	(void)close(f.f.fd);
}

static void tells_why_a_file_did_not_get_through(void **state)
{
	struct rig *r = *state;
	const struct {
		struct goods goods; /* of every attempt */
		size_t attempts;
		const char *why;
	} rows[] = {
		{ { .status = 200 }, 3, CHAN_UPLOAD_UNCONFIRMED },
		{ { .headers = "x-encrypted-param: \r\n" }, 3, CHAN_UPLOAD_UNCONFIRMED },
		{ { .headers = "x-encrypted-param: a b\r\n" }, 3, CHAN_UPLOAD_UNCONFIRMED },
		{ { .status = 400, .headers = "x-error-message: no\r\n" }, 1, CHAN_UPLOAD_REFUSED },
		{ { .status = 403 }, 1, CHAN_UPLOAD_REFUSED },
		{ { .status = 404 }, 1, CHAN_UPLOAD_REFUSED },
		{ { .status = 403, .early = true }, 1, CHAN_UPLOAD_REFUSED },
		{ { .status = 302 }, 3, CHAN_UPLOAD_UNREACHABLE },
		{ { .status = 500 }, 3, CHAN_UPLOAD_UNREACHABLE },
		{ { .status = 502, .body = VIEW("<html>") }, 3, CHAN_UPLOAD_UNREACHABLE },
		{ { .drop = true }, 3, CHAN_UPLOAD_UNREACHABLE },
		{ { .silent = true }, 3, CHAN_UPLOAD_UNREACHABLE },
		{ { .deaf = true }, 3, CHAN_UPLOAD_UNREACHABLE },
	};
	struct str plain = STR_INIT(16 << 20);
	size_t uploads = 0;
	struct file f;

	fill(&plain, 16 << 20); /* more than a deaf server's buffers take */
	file_of(&f, str_view(&plain));
	for (size_t i = 0; i < COUNT(rows); i++) {
		depot_always(r->depot, &rows[i].goods);
		run(r, &f);
		uploads += rows[i].attempts;
		assert_int_equal(r->outcome, CHAN_NOT_UPLOADED);
		if (strcmp(r->why, rows[i].why) != 0 ||
			server_count(r->srv, "getuploadurl") != uploads)
			fail_msg("row %zu: %s after %zu", i, r->why,
				server_count(r->srv, "getuploadurl"));
	}
	assert_int_equal(server_count(r->srv, "sendmessage"), 0);
	(void)close(f.f.fd);
	str_release(&plain);
}

/* Once more than once: each fault that may pass is got over. */
static void gets_over_a_fault_that_passes(void **state)
{
	static const struct goods rows[] = { { .status = 200 }, { .status = 500 }, { .drop = true },
		{ .silent = true } };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		depot_push(r->depot, &rows[i]);
		run_text(r, "hello ilink");
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		assert_int_equal(depot_count(r->depot), 2 * i + 2);
	}
}

/* --- The address ------------------------------------------------------------------------------ */
static void a_refused_address_says_nothing_of_the_login(void **state)
{
	static const struct {
		int status;
		const char *body;
		size_t attempts;
		const char *why;
	} rows[] = {
		{ 200, "{\"ret\":-2}", 1, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"ret\":-2,\"errmsg\":\"prepare failed\"}", 1, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"errcode\":-14,\"errmsg\":\"session timeout\"}", 1, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"ret\":-1}", 3, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"ret\":0}", 3, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"upload_full_url\":7}", 3, CHAN_UPLOAD_REFUSED },
		{ 200, "[]", 3, CHAN_UPLOAD_REFUSED },
		{ 200, "", 3, CHAN_UPLOAD_REFUSED },
		{ 200, "{\"upload_full_url\":\"https://evil.example/upload\"}", 3,
			CHAN_UPLOAD_REFUSED },
		{ 502, "<html>", 3, CHAN_UPLOAD_UNREACHABLE },
		{ 404, "", 3, CHAN_UPLOAD_UNREACHABLE },
	};
	struct rig *r = *state;
	size_t asked = 0;

	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "getupdates") == 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		server_always(r->srv, "getuploadurl", rows[i].status, rows[i].body);
		run_text(r, "hello");
		asked += rows[i].attempts;
		assert_int_equal(r->outcome, CHAN_NOT_UPLOADED);
		if (strcmp(r->why, rows[i].why) != 0 ||
			server_count(r->srv, "getuploadurl") != asked)
			fail_msg("row %zu: %s after %zu", i, r->why,
				server_count(r->srv, "getuploadurl"));
	}
	assert_int_equal(depot_count(r->depot), 0);
	assert_int_equal(server_count(r->srv, "notifystart"), 1);
	assert_int_not_equal(rig_status(r).link, CHAN_LINK_EXPIRED);
}

static void builds_the_address_when_none_can_be_used(void **state)
{
	static const char *const given[] = { "", "\"upload_full_url\":\"\",",
		"\"upload_full_url\":\"https://evil.example/upload\",",
		"\"upload_full_url\":\"http://novac2c.cdn.weixin.qq.com/upload\",",
		"\"upload_full_url\":\"https://me@novac2c.cdn.weixin.qq.com/upload\"," };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(given); i++) {
		char text[200];

		snprintf(text, sizeof(text), "{%s\"upload_param\":\"a/b+c==\"}", given[i]);
		server_always(r->srv, "getuploadurl", 200, text);
		run_text(r, "hello ilink");
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		snprintf(text, sizeof(text),
			"/c2c/upload?encrypted_query_param=a%%2Fb%%2Bc%%3D%%3D&filekey=%s",
			member(server_get(r->srv, "getuploadurl", i), "filekey"));
		assert_string_equal(depot_got(r->depot, i)->target, text);
	}
}

static void goes_without_a_token_that_is_not_known(void **state)
{
	struct rig *r = *state;
	struct file f;
	struct chan_send s = { .to = RIG_USER, .token = "", .client_id = "c", .file = &f.f };

	file_of(&f, VIEW("hello"));
	assert_int_equal(r->ch->ops->send(r->ch, &s, on_sent, r, NULL), 0);
	finish(r);
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_null(strstr(server_get(r->srv, "getuploadurl", 0)->body, "context_token"));
	(void)close(f.f.fd);
}

/* --- The file --------------------------------------------------------------------------------- */
static void tells_a_file_that_is_not_what_it_was(void **state)
{
	struct rig *r = *state;
	struct file shorter, unreadable;

	file_of(&shorter, VIEW("hello ilink"));
	shorter.f.size++;
	run(r, &shorter);
	assert_int_equal(r->outcome, CHAN_NOT_UPLOADED);
	assert_string_equal(r->why, CHAN_UPLOAD_UNREADABLE);
	(void)close(shorter.f.fd);
	unreadable = shorter;
	unreadable.f.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	run(r, &unreadable);
	assert_string_equal(r->why, CHAN_UPLOAD_UNREADABLE);
	(void)close(unreadable.f.fd);
	assert_int_equal(server_count(r->srv, "getuploadurl"), 2);
	assert_int_equal(server_count(r->srv, "sendmessage"), 0);
}

static void refuses_what_cannot_be_sent(void **state)
{
	struct rig *r = *state;
	static const char md5[] = "a0e581bef9105ace19c7d2e59e66374d";
	const struct chan_file bad[] = {
		{ .kind = CHAN_FILE, .fd = -1, .name = "a", .size = 1, .md5 = md5 },
		{ .kind = CHAN_FILE, .fd = 0, .name = "a", .size = -1, .md5 = md5 },
		{ .kind = CHAN_FILE, .fd = 0, .name = "", .size = 1, .md5 = md5 },
		{ .kind = CHAN_FILE, .fd = 0, .name = NULL, .size = 1, .md5 = md5 },
		{ .kind = CHAN_FILE, .fd = 0, .name = "\xff", .size = 1, .md5 = md5 },
		{ .kind = CHAN_FILE, .fd = 0, .name = "a", .size = 1, .md5 = "short" },
		{ .kind = CHAN_FILE, .fd = 0, .name = "a", .size = 1, .md5 = NULL },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct chan_send s = { .to = RIG_USER,
			.token = "t",
			.client_id = "c",
			.file = &bad[i] };
		struct err e = ERR_INIT;

		assert_int_equal(r->ch->ops->send(r->ch, &s, on_sent, r, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
	}
	run_text(r, "still works");
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
}

/* --- The message ------------------------------------------------------------------------------ */
/* Whether the message has arrived is not known: the same one is sent again, without another upload.
 */
static void uses_an_upload_again_for_the_same_part(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum chan_outcome what;
		bool again; /* the upload is used once more */
	} rows[] = {
		{ 500, "", CHAN_UNKNOWN, true },
		{ 400, "", CHAN_NOT_SENT, true },
		{ 200, "{\"ret\":-2,\"errmsg\":\"rate limited\"}", CHAN_THROTTLED, true },
		{ 200, "{\"ret\":-2,\"errmsg\":\"prepare failed\"}", CHAN_CLOSED, false },
		{ 200, "{\"ret\":-2}", CHAN_REFUSED_BARE, false },
		{ 200, "{\"ret\":-2,\"errmsg\":\"invalid arguments\"}", CHAN_INVALID, false },
		{ 200, "{\"ret\":0,\"message_id\":5}", CHAN_ACCEPTED, false },
		{ 200, "{}", CHAN_UNCONFIRMED, false },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t before = depot_count(r->depot), sent = server_count(r->srv, "sendmessage");

		server_push(r->srv, "sendmessage", rows[i].status, rows[i].body);
		run_text(r, "hello");
		assert_int_equal(r->outcome, rows[i].what);
		assert_int_equal(depot_count(r->depot), before + 1);
		run_text(r, "hello");
		assert_int_equal(r->outcome, CHAN_ACCEPTED);
		assert_int_equal(depot_count(r->depot), before + (rows[i].again ? 1 : 2));
		if (rows[i].again)
			assert_string_equal(server_get(r->srv, "sendmessage", sent)->body,
				server_get(r->srv, "sendmessage", sent + 1)->body);
	}
}

static void an_upload_grows_old(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "sendmessage", 500, "");
	run_text(r, "hello");
	rig_turn(r, 600000);
	run_text(r, "hello");
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_int_equal(depot_count(r->depot), 2);
}

static void an_expired_login_is_told_by_the_message_alone(void **state)
{
	struct rig *r = *state;

	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "getupdates") == 1);
	server_push(r->srv, "sendmessage", 200, "{\"ret\":-14}");
	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	run_text(r, "hello");
	assert_int_equal(r->outcome, CHAN_EXPIRED);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
}

/* --- Given up --------------------------------------------------------------------------------- */
static void is_given_up_at_any_moment(void **state)
{
	static const struct goods deaf = { .deaf = true };
	struct rig *r = *state;
	struct str plain = STR_INIT(16 << 20);
	struct file f;

	fill(&plain, 16 << 20);
	file_of(&f, str_view(&plain));
	for (int stage = 0; stage < 4; stage++) {
		size_t uploads = depot_count(r->depot);

		if (stage == 0)
			server_push_hang(r->srv, "getuploadurl");
		else if (stage == 1)
			depot_push(r->depot, &deaf);
		else if (stage == 2)
			depot_push(r->depot, &(struct goods){ .status = 500 });
		else
			server_push_hang(r->srv, "sendmessage");
		begin(r, &f);
		if (stage == 0)
			UNTIL(r, server_hanging(r->srv, "getuploadurl") == 1);
		else if (stage == 3)
			UNTIL(r, server_hanging(r->srv, "sendmessage") == 1);
		else
			UNTIL(r, depot_count(r->depot) == uploads + 1);
		rig_settle(r);
		uploads = depot_count(r->depot);
		r->ch->ops->abort_send(r->ch);
		r->ch->ops->abort_send(r->ch);
		rig_turn(r, 100000);
		assert_int_equal(r->sent, 0);
		assert_int_equal(depot_count(r->depot), uploads);
	}
	run(r, &f);
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	depot_push(r->depot, &deaf);
	begin(r, &f);
	rig_settle(r);
	r->ch->ops->close(&r->ch);
	rig_turn(r, 100000);
	assert_int_equal(r->sent, 0);
	(void)close(f.f.fd);
	str_release(&plain);
}

static void typing_goes_on_during_an_upload(void **state)
{
	struct rig *r = *state;
	struct chan_send text = { .to = RIG_USER,
		.token = "t",
		.client_id = "c",
		.text = VIEW("x") };
	struct err e = ERR_INIT;
	struct file f;

	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "getupdates") == 1);
	server_push(r->srv, "getconfig", 200, "{\"ret\":0,\"typing_ticket\":\"T\"}");
	depot_push(r->depot, &(struct goods){ .silent = true });
	file_of(&f, VIEW("hello"));
	begin(r, &f);
	UNTIL(r, depot_count(r->depot) == 1);
	r->ch->ops->typing(r->ch, RIG_USER, TOKEN, true);
	UNTIL(r, server_count(r->srv, "sendtyping") == 1);
	assert_int_equal(r->ch->ops->send(r->ch, &text, on_sent, r, &e), -1);
	assert_int_equal(e.code, E_BUSY);
	rig_turn(r, 5500);
	UNTIL(r, server_count(r->srv, "sendtyping") == 2);
	r->ch->ops->abort_send(r->ch);
	assert_int_equal(r->ch->ops->send(r->ch, &text, on_sent, r, &e), 0);
	UNTIL(r, r->sent == 1);
	(void)close(f.f.fd);
}

static void nothing_secret_is_logged_or_told(void **state)
{
	static const char *const secrets[] = { "Upload-Secret", "Receipt", TOKEN, RIG_TOKEN,
		"a word of the server", "evil-path" };
	struct rig *r = *state;

	run_text(r, "hello");
	server_push(r->srv, "getuploadurl", 200,
		"{\"upload_full_url\":\"https://evil.example/evil-path?x\"}");
	depot_push(r->depot, &(struct goods){ .status = 500 });
	depot_push(r->depot, &(struct goods){ .status = 403,
				     .headers = "x-error-message: a word of the server\r\n"
						"x-error-code: -5102031\r\n" });
	run_text(r, "hello");
	assert_string_equal(r->why, CHAN_UPLOAD_REFUSED);
	assert_true(
		rig_log_has(r, "attempt 3 of 3: the media server answered HTTP 403 (-5102031)"));
	server_push(r->srv, "getuploadurl", 200,
		"{\"ret\":-2,\"errmsg\":\"no " TOKEN " of " RIG_TOKEN "\"}");
	run_text(r, "hello");
	for (size_t i = 0; i < COUNT(secrets); i++)
		if (rig_log_has(r, secrets[i]))
			fail_msg("logged: %s", secrets[i]);
	for (size_t i = 0; i < server_count(r->srv, "getuploadurl"); i++) {
		const struct request *q = server_get(r->srv, "getuploadurl", i);

		assert_false(rig_log_has(r, member(q, "aeskey")));
		assert_false(rig_log_has(r, member(q, "filekey")));
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asks_uploads_and_sends),
		TEST(names_each_kind_by_its_numbers),
		TEST(uploads_a_file_of_any_size),
		TEST(moves_a_hundred_mebibytes),
		TEST(reads_the_receipt_in_any_case),
		TEST(comes_again_with_everything_new_after_two_and_four_seconds),
		TEST(tells_why_a_file_did_not_get_through),
		TEST(gets_over_a_fault_that_passes),
		TEST(a_refused_address_says_nothing_of_the_login),
		TEST(builds_the_address_when_none_can_be_used),
		TEST(goes_without_a_token_that_is_not_known),
		TEST(tells_a_file_that_is_not_what_it_was),
		TEST(refuses_what_cannot_be_sent),
		TEST(uses_an_upload_again_for_the_same_part),
		TEST(an_upload_grows_old),
		TEST(an_expired_login_is_told_by_the_message_alone),
		TEST(is_given_up_at_any_moment),
		TEST(typing_goes_on_during_an_upload),
		TEST(nothing_secret_is_logged_or_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
