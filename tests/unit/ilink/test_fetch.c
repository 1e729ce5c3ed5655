/* Downloads: what each answer of the media server comes to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX      (100 << 20)

#define HEX      "00112233445566778899aabbccddeeff"
#define HEX_TEXT "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY="
#define PARAM    "Secret/Param+1=="

/* A download, and how it ended. */
struct got {
	struct rig *r;
	struct chan_fetch *f;
	int fd, ends;
	enum chan_fetch_end end;
	int64_t size;
	char why[256];
	bool close, abort; /* what the callback does */
};

static void on_fetched(void *arg, enum chan_fetch_end end, int64_t size, const char *why)
{
	struct got *g = arg;

	g->ends++;
	g->end = end;
	g->size = size;
	assert_int_equal(copy_z(g->why, sizeof(g->why), view_of(why)), 0);
	assert_int_equal(end == CHAN_FETCHED, why[0] == '\0');
	if (g->abort)
		g->r->ch->ops->abort_fetch(g->r->ch, &g->f);
	if (g->close)
		g->r->ch->ops->close(&g->r->ch);
}

static void begin_to(struct got *g, struct rig *r, struct chan_source src, int64_t max, int fd)
{
	struct err e = ERR_INIT;

	*g = (struct got){ .r = r, .fd = fd };
	src.full_url = src.full_url ? src.full_url : "";
	src.param = src.param ? src.param : "";
	src.key = src.key ? src.key : "";
	assert_true(g->fd >= 0);
	if (r->ch->ops->fetch(r->ch, &g->f, &src, g->fd, max, on_fetched, g, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(g->ends, 0);
}

static void begin(struct got *g, struct rig *r, struct chan_source src, int64_t max)
{
	begin_to(g, r, src, max, memfd_create("file", MFD_CLOEXEC));
}

/* To its end; a second try waits for its time. */
static void finish(struct got *g)
{
	for (int i = 0; i < 1000 && g->ends == 0; i++) {
		rig_settle(g->r);
		loop_turn_clock(g->r->loop, 300);
	}
	assert_int_equal(g->ends, 1);
}

static void run(struct got *g, struct rig *r, struct chan_source src, int64_t max)
{
	begin(g, r, src, max);
	finish(g);
}

static void assert_holds(const struct got *g, struct view want)
{
	char *p = calloc(1, want.n + 1);

	if (g->end != CHAN_FETCHED)
		fail_msg("end %d: %s", (int)g->end, g->why);
	assert_int_equal(g->size, want.n);
	assert_int_equal(lseek(g->fd, 0, SEEK_END), want.n);
	assert_non_null(p);
	assert_int_equal(pread(g->fd, p, want.n, 0), want.n);
	assert_memory_equal(p, want.n > 0 ? want.p : "", want.n);
	free(p);
}

static void done(struct got *g)
{
	(void)close(g->fd);
}

static const struct chan_source file_by_param = { .kind = CHAN_FILE,
	.param = PARAM,
	.key = HEX_TEXT };

static const char *url(const struct rig *r, const char *path)
{
	static char text[300];

	snprintf(text, sizeof(text), "%s%s", depot_url(r->depot), path);
	return text;
}

/* By OpenSSL itself, not by the code under test. */
static void encrypt(struct view plain, bool padding, struct str *out)
{
	static const unsigned char key[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, rest = 0;

	assert_int_equal(str_reserve(out, plain.n + 32), 0);
	assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL), 1);
	assert_int_equal(EVP_CIPHER_CTX_set_padding(ctx, padding), 1);
	assert_int_equal(EVP_EncryptUpdate(ctx, (unsigned char *)out->p + out->n, &n,
				 (const unsigned char *)plain.p, (int)plain.n),
		1);
	assert_int_equal(EVP_EncryptFinal_ex(ctx, (unsigned char *)out->p + out->n + n, &rest), 1);
	str_grew(out, (size_t)n + (size_t)rest);
	EVP_CIPHER_CTX_free(ctx);
}

static void fill(struct str *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_addc(out, (char)(i * 31 + i / 251));
	assert_true(str_ok(out));
}

static int set_up(void **state)
{
	*state = rig_open();
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	rig_close(&r);
	return 0;
}

/* --- What arrives ----------------------------------------------------------------------------- */
static void decrypts_a_file_of_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 16383, 16384, 16385, 1000000 };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct str plain = STR_INIT(1 << 20), cipher = STR_INIT(1 << 21);
		struct got g;

		fill(&plain, sizes[i]);
		encrypt(str_view(&plain), true, &cipher);
		depot_push(r->depot, &(struct goods){ .body = str_view(&cipher) });
		run(&g, r, file_by_param, MAX);
		assert_holds(&g, str_view(&plain));
		done(&g);
		str_release(&plain);
		str_release(&cipher);
	}
	assert_int_equal(depot_count(r->depot), COUNT(sizes));
}

static void takes_every_form_of_a_key(void **state)
{
	static const struct {
		enum chan_item_kind kind;
		const char *key;
	} rows[] = {
		{ CHAN_IMAGE, HEX },
		{ CHAN_IMAGE, HEX_TEXT },
		{ CHAN_IMAGE, "ABEiM0RVZneImaq7zN3u/w==" },
		{ CHAN_FILE, HEX_TEXT },
		{ CHAN_VOICE, "ABEiM0RVZneImaq7zN3u/w==" },
		{ CHAN_VIDEO, HEX_TEXT },
	};
	struct rig *r = *state;
	struct str cipher = STR_INIT(100);

	encrypt(VIEW("hello ilink"), true, &cipher);
	depot_always(r->depot, &(struct goods){ .body = str_view(&cipher) });
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct got g;

		run(&g, r,
			(struct chan_source){ .kind = rows[i].kind,
				.param = PARAM,
				.key = rows[i].key },
			MAX);
		assert_holds(&g, VIEW("hello ilink"));
		done(&g);
	}
	str_release(&cipher);
}

static void a_picture_without_a_key_is_plain(void **state)
{
	struct rig *r = *state;
	struct str plain = STR_INIT(1 << 20);
	struct got g;

	fill(&plain, 100000);
	depot_push(r->depot, &(struct goods){ .body = str_view(&plain) });
	run(&g, r, (struct chan_source){ .kind = CHAN_IMAGE, .param = PARAM }, MAX);
	assert_holds(&g, str_view(&plain));
	done(&g);
	depot_push(r->depot, &(struct goods){ .status = 200 });
	run(&g, r, (struct chan_source){ .kind = CHAN_IMAGE, .param = PARAM }, 0);
	assert_holds(&g, VIEW(""));
	done(&g);
	str_release(&plain);
}

static void asks_nobody_for_what_cannot_be_read(void **state)
{
	static const struct chan_source rows[] = {
		{ .kind = CHAN_FILE, .param = PARAM },
		{ .kind = CHAN_VOICE, .param = PARAM },
		{ .kind = CHAN_VIDEO, .param = PARAM },
		{ .kind = CHAN_FILE, .param = PARAM, .key = "bm8ga2V5" },
		{ .kind = CHAN_IMAGE, .param = PARAM, .key = "00112233" },
		{ .kind = CHAN_FILE, .key = HEX },
		{ .kind = CHAN_FILE, .key = HEX, .full_url = "https://evil.example/x" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct got g;

		run(&g, r, rows[i], MAX);
		assert_int_equal(g.end, CHAN_FETCH_BAD);
		assert_int_equal(g.size, 0);
		done(&g);
	}
	assert_int_equal(depot_count(r->depot), 0);
}

static void moves_a_hundred_mebibytes(void **state)
{
	struct rig *r = *state;
	struct str block = STR_INIT(1 << 16), cipher = STR_INIT(1 << 16), tail = STR_INIT(32);
	struct got g;
	char last[16384];

	fill(&block, 16384);
	encrypt(str_view(&block), false, &cipher);
	encrypt(VIEW(""), true, &tail);
	depot_push(r->depot, &(struct goods){ .body = str_view(&cipher),
				     .times = 6400,
				     .tail = str_view(&tail) });
	begin(&g, r, file_by_param, MAX);
	while (g.ends == 0)
		rig_step(r);
	assert_int_equal(g.end, CHAN_FETCHED);
	assert_int_equal(g.size, MAX);
	assert_int_equal(lseek(g.fd, 0, SEEK_END), MAX);
	assert_int_equal(pread(g.fd, last, sizeof(last), MAX - 16384), 16384);
	assert_memory_equal(last, block.p, sizeof(last));
	done(&g);
	str_release(&block);
	str_release(&cipher);
	str_release(&tail);
}

/* --- Limits ----------------------------------------------------------------------------------- */
static void holds_the_limit_to_the_byte(void **state)
{
	struct rig *r = *state;

	/* keyed or plain, with the length said beforehand or not */
	for (unsigned how = 0; how < 4; how++)
		for (int64_t n = 99; n <= 101; n++) {
			struct chan_source src = { .kind = CHAN_IMAGE,
				.param = PARAM,
				.key = how & 1 ? HEX : "" };
			struct str plain = STR_INIT(1000), cipher = STR_INIT(1000);
			struct view body;
			struct got g;

			fill(&plain, (size_t)n);
			encrypt(str_view(&plain), true, &cipher);
			body = how & 1 ? str_view(&cipher) : str_view(&plain);
			depot_push(r->depot, &(struct goods){ .body = body, .no_length = how & 2 });
			run(&g, r, src, 100);
			if (n <= 100)
				assert_holds(&g, str_view(&plain));
			else
				assert_int_equal(g.end, CHAN_FETCH_TOO_BIG);
			done(&g);
			str_release(&plain);
			str_release(&cipher);
		}
	assert_int_equal(depot_count(r->depot), 12); /* what is too large is asked for once */
}

static void stops_an_endless_file(void **state)
{
	struct rig *r = *state;
	struct str block = STR_INIT(1 << 16);
	struct got g;

	fill(&block, 16384);
	depot_push(r->depot, &(struct goods){ .body = str_view(&block),
				     .times = SIZE_MAX >> 20,
				     .no_length = true });
	run(&g, r, file_by_param, 1 << 20);
	assert_int_equal(g.end, CHAN_FETCH_TOO_BIG);
	assert_true(lseek(g.fd, 0, SEEK_END) <= 1 << 20);
	done(&g);
	/* or one that says so */
	depot_push(r->depot, &(struct goods){ .body = str_view(&block), .times = 6400 });
	run(&g, r, file_by_param, 1 << 20);
	assert_int_equal(g.end, CHAN_FETCH_TOO_BIG);
	assert_int_equal(lseek(g.fd, 0, SEEK_END), 0);
	done(&g);
	UNTIL(r, depot_now(r->depot) == 0);
	str_release(&block);
}

/* --- Addresses -------------------------------------------------------------------------------- */
static void asks_the_given_address_first_and_then_its_own(void **state)
{
	static const char built[] = "/c2c/download?encrypted_query_param=Secret%2FParam%2B1%3D%3D";
	struct rig *r = *state;
	char given[300];
	const struct {
		const char *full_url, *param;
		const char *first, *second; /* what is asked for */
	} rows[] = {
		{ given, PARAM, "/c2c/download?x=1&taskid=2", built },
		{ given, "", "/c2c/download?x=1&taskid=2", "/c2c/download?x=1&taskid=2" },
		{ "", PARAM, built, built },
		{ "https://evil.example/c2c/download", PARAM, built, built },
		{ "https://novac2c.cdn.weixin.qq.com.evil.example/c", PARAM, built, built },
		{ "https://a@novac2c.cdn.weixin.qq.com/c2c/download", PARAM, built, built },
		{ "http://novac2c.cdn.weixin.qq.com/c2c/download", PARAM, built, built },
		{ "https://novac2c.cdn.weixin.qq.com:8443/c2c/d", PARAM, built, built },
		{ "https://10.0.0.1/c2c/download", PARAM, built, built },
		{ "file:///etc/passwd", PARAM, built, built },
	};

	snprintf(given, sizeof(given), "%s", url(r, "/download?x=1&taskid=2"));
	depot_always(r->depot, &(struct goods){ .status = 500 });
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct got g;

		run(&g, r,
			(struct chan_source){ .kind = CHAN_FILE,
				.full_url = rows[i].full_url,
				.param = rows[i].param,
				.key = HEX },
			MAX);
		assert_int_equal(g.end, CHAN_FETCH_UNREACHABLE);
		assert_int_equal(depot_count(r->depot), 2 * i + 2);
		assert_string_equal(depot_got(r->depot, 2 * i)->target, rows[i].first);
		assert_string_equal(depot_got(r->depot, 2 * i + 1)->target, rows[i].second);
		done(&g);
	}
}

static void tells_the_media_server_nothing_of_us(void **state)
{
	static const char *const never[] = { "Authorization", "AuthorizationType", "X-WECHAT-UIN",
		"iLink-App-Id", "iLink-App-ClientVersion", "SKRouteTag", "User-Agent", "Cookie" };
	struct rig *r = *state;
	const struct delivery *d;
	struct got g;

	run(&g, r, file_by_param, MAX);
	d = depot_got(r->depot, 0);
	assert_string_equal(d->method, "GET");
	for (size_t i = 0; i < COUNT(never); i++)
		assert_null(strcasestr(d->head, never[i]));
	assert_null(strstr(d->head, RIG_TOKEN));
	done(&g);
}

static void nothing_secret_is_logged_or_told(void **state)
{
	static const char *const secrets[] = { "Secret", "Param", "taskid", HEX, HEX_TEXT,
		"hidden-user", "evil-path", "a word of the server" };
	struct rig *r = *state;
	char given[300], foreign[] = "https://hidden-user@evil.example/evil-path?x=1";
	static const struct goods refusal = { .status = 403,
		.headers = "x-error-message: a word of the server\r\nx-error-code: -5102031\r\n" };
	struct got g;

	depot_always(r->depot, &refusal);
	snprintf(given, sizeof(given), "%s", url(r, "/download?p=Secret&taskid=2"));
	for (int i = 0; i < 2; i++) {
		run(&g, r,
			(struct chan_source){ .kind = CHAN_FILE,
				.full_url = i ? foreign : given,
				.param = PARAM,
				.key = i ? HEX : HEX_TEXT },
			MAX);
		assert_int_equal(g.end, CHAN_FETCH_GONE);
		assert_string_equal(g.why, "the media server answered HTTP 403 (-5102031)");
		done(&g);
	}
	for (size_t i = 0; i < COUNT(secrets); i++)
		assert_false(rig_log_has(r, secrets[i]));
	assert_true(rig_log_has(r, "evil.example is none of WeChat's hosts") ||
		    rig_log_has(r, "carries a user name"));
}

/* --- Faults ----------------------------------------------------------------------------------- */
static void tries_twice_and_then_says_what_is_wrong(void **state)
{
	struct rig *r = *state;
	struct str cipher = STR_INIT(1000), spoilt = STR_INIT(1000);
	const struct {
		struct goods goods;
		enum chan_fetch_end end;
	} rows[] = {
		{ { .status = 400 }, CHAN_FETCH_GONE },
		{ { .status = 403, .headers = "x-error-message: expired\r\n" }, CHAN_FETCH_GONE },
		{ { .status = 404 }, CHAN_FETCH_GONE },
		{ { .status = 408 }, CHAN_FETCH_UNREACHABLE },
		{ { .status = 429 }, CHAN_FETCH_UNREACHABLE },
		{ { .status = 500 }, CHAN_FETCH_UNREACHABLE },
		{ { .status = 502, .body = VIEW("<html>") }, CHAN_FETCH_UNREACHABLE },
		{ { .status = 302, .headers = "Location: http://127.0.0.1:1/\r\n" },
			CHAN_FETCH_UNREACHABLE },
		{ { .body = { "0123456789abcdef", 16 }, .times = 5, .stop = 40 },
			CHAN_FETCH_UNREACHABLE },                    /* cut inside the body */
		{ { .body = VIEW("hello ilink") }, CHAN_FETCH_BAD }, /* not encrypted */
		{ { .body = VIEW("") }, CHAN_FETCH_BAD },
		{ { .body = VIEW("0123456789abcde") }, CHAN_FETCH_BAD },
		{ { .body = { spoilt.p, 0 } }, CHAN_FETCH_BAD }, /* a wrong padding, filled below */
		{ { .body = VIEW("<html>login</html>") }, CHAN_FETCH_BAD },
	};

	encrypt(VIEW("hello ilink"), true, &cipher);
	encrypt(VIEW("no padding here!"), false, &spoilt);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct goods bad = rows[i].goods;
		struct got g;

		if (i == 12)
			bad.body = str_view(&spoilt);
		depot_push(r->depot, &bad);
		depot_push(r->depot, &bad);
		run(&g, r, file_by_param, MAX);
		if (g.end != rows[i].end)
			fail_msg("row %zu: end %d: %s", i, (int)g.end, g.why);
		done(&g);
		/* the same once, and then as it should be */
		depot_push(r->depot, &bad);
		depot_push(r->depot, &(struct goods){ .body = str_view(&cipher) });
		run(&g, r, file_by_param, MAX);
		assert_holds(&g, VIEW("hello ilink"));
		done(&g);
		assert_int_equal(depot_count(r->depot), 4 * i + 4);
	}
	str_release(&cipher);
	str_release(&spoilt);
}

/* The first address is the server's, the second one a guess: its 500 means little. */
static void what_the_given_address_says_counts(void **state)
{
	struct rig *r = *state;
	char given[300];
	struct got g;

	snprintf(given, sizeof(given), "%s", url(r, "/download?x"));
	depot_push(r->depot, &(struct goods){ .status = 404 });
	depot_push(r->depot, &(struct goods){ .status = 500 });
	run(&g, r,
		(struct chan_source){ .kind = CHAN_FILE,
			.full_url = given,
			.param = PARAM,
			.key = HEX },
		MAX);
	assert_int_equal(g.end, CHAN_FETCH_GONE);
	done(&g);
}

static void gives_up_a_server_that_falls_silent(void **state)
{
	struct rig *r = *state;
	struct str cipher = STR_INIT(1000);
	const struct goods rows[] = {
		{ .silent = true },
		{ .body = VIEW("0123456789abcdef"), .times = 5, .stop = 40, .hang = true },
	};

	encrypt(VIEW("hello ilink"), true, &cipher);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct got g;

		depot_push(r->depot, &rows[i]);
		depot_push(r->depot, &(struct goods){ .body = str_view(&cipher) });
		begin(&g, r, file_by_param, MAX);
		UNTIL(r, depot_count(r->depot) == 2 * i + 1);
		rig_settle(r);
		rig_turn(r, 59000);
		assert_int_equal(g.ends, 0);
		assert_int_equal(depot_count(r->depot), 2 * i + 1);
		rig_turn(r, 1100);
		finish(&g);
		assert_holds(&g, VIEW("hello ilink"));
		done(&g);
	}
	str_release(&cipher);
}

static void tells_that_nobody_is_there(void **state)
{
	struct rig *r = *state;
	struct got g;

	depot_close(&r->depot);
	run(&g, r, file_by_param, MAX);
	assert_int_equal(g.end, CHAN_FETCH_UNREACHABLE);
	done(&g);
}

/* What a first try has left is not seen behind a shorter file. */
static void a_second_try_begins_from_nothing(void **state)
{
	struct rig *r = *state;
	struct str cipher = STR_INIT(1000), block = STR_INIT(1 << 16);
	struct got g;

	fill(&block, 16384);
	encrypt(VIEW("hello ilink"), true, &cipher);
	depot_push(r->depot,
		&(struct goods){ .body = str_view(&block), .times = 10, .stop = 100000 });
	depot_push(r->depot, &(struct goods){ .body = str_view(&cipher) });
	run(&g, r, file_by_param, MAX);
	assert_holds(&g, VIEW("hello ilink"));
	done(&g);
	str_release(&cipher);
	str_release(&block);
}

static void tells_a_disk_that_takes_no_more(void **state)
{
	static const struct rlimit small = { 50000, RLIM_INFINITY };
	struct rig *r = *state;
	struct str plain = STR_INIT(1 << 20);
	struct rlimit before;
	char path[100];
	struct got g;

	begin_to(&g, r, file_by_param, MAX, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	finish(&g);
	assert_int_equal(g.end, CHAN_FETCH_DISK);
	done(&g);
	assert_int_equal(depot_count(r->depot), 0);

	fill(&plain, 100000);
	depot_push(r->depot, &(struct goods){ .body = str_view(&plain) });
	snprintf(path, sizeof(path), "%s/file", r->home);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	begin_to(&g, r, (struct chan_source){ .kind = CHAN_IMAGE, .param = PARAM }, MAX,
		open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	assert_int_equal(setrlimit(RLIMIT_FSIZE,
				 &(struct rlimit){ small.rlim_cur, before.rlim_max }),
		0);
	finish(&g);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(g.end, CHAN_FETCH_DISK);
	assert_int_equal(depot_count(r->depot), 1);
	done(&g);
	unlink(path);
	str_release(&plain);
}

/* --- Several, and given up -------------------------------------------------------------------- */
static void runs_several_at_once(void **state)
{
	struct rig *r = *state;
	struct str plain = STR_INIT(1 << 20), cipher = STR_INIT(1 << 21);
	struct got g[8];

	fill(&plain, 300000);
	encrypt(str_view(&plain), true, &cipher);
	depot_always(r->depot, &(struct goods){ .body = str_view(&cipher) });
	for (size_t i = 0; i < COUNT(g); i++)
		begin(&g[i], r, file_by_param, MAX);
	r->ch->ops->abort_fetch(r->ch, &g[3].f);
	assert_null(g[3].f);
	for (size_t i = 0; i < COUNT(g); i++) {
		if (i != 3) {
			finish(&g[i]);
			assert_holds(&g[i], str_view(&plain));
		}
		done(&g[i]);
	}
	assert_int_equal(g[3].ends, 0);
	str_release(&plain);
	str_release(&cipher);
}

static void is_given_up_at_any_moment(void **state)
{
	static const struct goods part = { .body = { "0123456789abcdef", 16 },
		.times = 5,
		.stop = 40,
		.hang = true };
	struct rig *r = *state;
	struct got g;

	/* before the first try, in the middle of it, and between the two */
	begin(&g, r, file_by_param, MAX);
	r->ch->ops->abort_fetch(r->ch, &g.f);
	rig_settle(r);
	assert_int_equal(depot_count(r->depot), 0);
	done(&g);

	depot_push(r->depot, &part);
	begin(&g, r, file_by_param, MAX);
	UNTIL(r, depot_count(r->depot) == 1 && lseek(g.fd, 0, SEEK_END) > 0);
	r->ch->ops->abort_fetch(r->ch, &g.f);
	UNTIL(r, depot_now(r->depot) == 0);
	assert_int_equal(g.ends, 0);
	done(&g);

	begin(&g, r, file_by_param, MAX);
	UNTIL(r, depot_count(r->depot) == 2);
	for (int i = 0; i < 20; i++)
		rig_step(r);
	r->ch->ops->abort_fetch(r->ch, &g.f);
	r->ch->ops->abort_fetch(r->ch, &g.f); /* twice does no harm */
	rig_turn(r, 10000);
	assert_int_equal(g.ends, 0);
	assert_int_equal(depot_count(r->depot), 2);
	done(&g);
}

static void the_receiver_may_do_anything(void **state)
{
	struct rig *r = *state;
	struct got g, other;

	begin(&g, r, file_by_param, MAX);
	g.abort = true; /* the one whose end is being told */
	finish(&g);
	done(&g);

	depot_push(r->depot, &(struct goods){ .silent = true });
	begin(&other, r, file_by_param, MAX);
	UNTIL(r, depot_count(r->depot) == 3);
	begin(&g, r, file_by_param, MAX);
	g.close = true;
	finish(&g);
	assert_null(r->ch);
	rig_turn(r, 100000);
	assert_int_equal(other.ends, 0);
	done(&g);
	done(&other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(decrypts_a_file_of_any_size),
		TEST(takes_every_form_of_a_key),
		TEST(a_picture_without_a_key_is_plain),
		TEST(asks_nobody_for_what_cannot_be_read),
		TEST(moves_a_hundred_mebibytes),
		TEST(holds_the_limit_to_the_byte),
		TEST(stops_an_endless_file),
		TEST(asks_the_given_address_first_and_then_its_own),
		TEST(tells_the_media_server_nothing_of_us),
		TEST(nothing_secret_is_logged_or_told),
		TEST(tries_twice_and_then_says_what_is_wrong),
		TEST(what_the_given_address_says_counts),
		TEST(gives_up_a_server_that_falls_silent),
		TEST(tells_that_nobody_is_there),
		TEST(a_second_try_begins_from_nothing),
		TEST(tells_a_disk_that_takes_no_more),
		TEST(runs_several_at_once),
		TEST(is_given_up_at_any_moment),
		TEST(the_receiver_may_do_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
