/* Files of 100 MiB through the channel, both ways: how fast, and how much memory the program needs
 * above what it has when idle. The servers are other processes on this machine. */
#include "bench.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "channel/ilink/ilink.h"

#define SIZE   ((int64_t)100 << 20)
#define PIECE  ((size_t)64 << 10)
#define KEY    "00112233445566778899aabbccddeeff"
#define ROUNDS 3

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_media: %s\n", what);
	exit(EXIT_FAILURE);
}

/* --- The servers ------------------------------------------------------------------------------ */
static unsigned char piece[PIECE], tail[16]; /* of the ciphertext: the same piece again and again */

static void make_ciphertext(void)
{
	static const unsigned char key[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
	static unsigned char plain[PIECE];
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n = 0;

	must(c && EVP_EncryptInit_ex(c, EVP_aes_128_ecb(), NULL, key, NULL) == 1 &&
			EVP_EncryptUpdate(c, piece, &n, plain, (int)PIECE) == 1 &&
			EVP_EncryptFinal_ex(c, tail, &n) == 1,
		"no cipher");
	EVP_CIPHER_CTX_free(c);
}

static void send_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = send(fd, at, n, MSG_NOSIGNAL);

		if (done <= 0)
			_exit(0);
		at += done;
		n -= (size_t)done;
	}
}

static void answer(int fd, const char *headers, const char *body)
{
	char text[2048];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n%s",
		headers, strlen(body), body);

	send_all(fd, text, (size_t)n);
}

static void serve_download(int fd)
{
	char head[100];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n",
		(long long)SIZE + 16);

	send_all(fd, head, (size_t)n);
	for (int64_t sent = 0; sent < SIZE; sent += (int64_t)PIECE)
		send_all(fd, piece, PIECE);
	send_all(fd, tail, sizeof(tail));
}

/* What is left of a request's body is read and dropped. */
static void swallow(int fd, int64_t left)
{
	static char rest[PIECE];
	ssize_t n;

	while (left > 0 && (n = recv(fd, rest, sizeof(rest), 0)) > 0)
		left -= n;
}

static void serve_one(int fd, const char *line, int port)
{
	char grant[200];

	(void)snprintf(grant, sizeof(grant),
		"{\"ret\":0,\"upload_full_url\":\"http://127.0.0.1:%d/c2c/upload\"}", port);
	if (strstr(line, "/c2c/download"))
		serve_download(fd);
	else if (strstr(line, "/c2c/upload"))
		answer(fd, "x-encrypted-param: P\r\n", "");
	else if (strstr(line, "/getuploadurl"))
		answer(fd, "", grant);
	else
		answer(fd, "", "{\"ret\":0,\"message_id\":1}");
}

/* The requests of one connection, to its end; none comes before the last one is answered. */
static void serve(int fd, int port)
{
	static char in[PIECE + 1];
	size_t have = 0;
	ssize_t n;

	while ((n = recv(fd, in + have, PIECE - have, 0)) > 0) {
		const char *end, *length;

		have += (size_t)n;
		in[have] = '\0';
		end = strstr(in, "\r\n\r\n");
		if (!end)
			continue;
		length = strstr(in, "Content-Length: ");
		if (length)
			swallow(fd, strtoll(length + 16, NULL, 10) - (in + have - (end + 4)));
		in[strcspn(in, "\r")] = '\0';
		serve_one(fd, in, port);
		have = 0;
	}
	_exit(0);
}

/* A process for each connection; they end with us. */
static int open_servers(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(fd, 16) == 0 &&
			getsockname(fd, (struct sockaddr *)&sa, &len) == 0,
		"no listener");
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGCHLD, SIG_IGN);
		make_ciphertext();
		while ((one = accept(fd, NULL, NULL)) >= 0) {
			if (fork() == 0) {
				(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
				serve(one, ntohs(sa.sin_port));
			}
			(void)close(one);
		}
		_exit(0);
	}
	(void)close(fd);
	return ntohs(sa.sin_port);
}

/* --- The channel ------------------------------------------------------------------------------ */
struct bench {
	struct loop *loop;
	struct http *api, *cdn;
	struct account *acc;
	struct channel *ch;
	char home[64], api_url[64], cdn_url[64];
	int ends;
	bool good;
};

static void open_channel(struct bench *b, int port)
{
	const struct http_rules rules = { .loopback = true };
	struct account_login l = { .bot_id = "bot", .user_id = "user", .token = "token" };
	struct err e = ERR_INIT;

	(void)snprintf(b->home, sizeof(b->home), "/tmp/kairo-bench-XXXXXX");
	must(mkdtemp(b->home) != NULL, "no folder");
	(void)snprintf(b->api_url, sizeof(b->api_url), "http://127.0.0.1:%d", port);
	(void)snprintf(b->cdn_url, sizeof(b->cdn_url), "http://127.0.0.1:%d/c2c", port);
	l.base_url = b->api_url;
	l.workspace = b->home;
	must(loop_open(&b->loop, NULL, &e) == 0 &&
			http_open(&b->api, b->loop, &rules, NULL, &e) == 0 &&
			http_open(&b->cdn, b->loop, &rules, NULL, &e) == 0 &&
			account_store_login(b->home, &l, loop_clock(b->loop), &e) == 0 &&
			account_load(&b->acc, b->home, &e) == 0,
		e.msg);
	const struct ilink_env env = { .loop = b->loop,
		.poll_http = b->api,
		.api_http = b->api,
		.cdn_http = b->cdn,
		.cdn_url = b->cdn_url,
		.loopback = true };

	must(ilink_open(&b->ch, &env, b->acc, &e) == 0, e.msg);
}

static void close_channel(struct bench *b)
{
	char path[100];

	b->ch->ops->close(&b->ch);
	account_free(&b->acc);
	http_close(&b->api);
	http_close(&b->cdn);
	loop_close(&b->loop);
	(void)snprintf(path, sizeof(path), "%s/account.json", b->home);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/account.lock", b->home);
	(void)unlink(path);
	(void)rmdir(b->home);
}

static void on_fetched(void *arg, enum chan_fetch_end what, int64_t size, const char *why)
{
	struct bench *b = arg;

	(void)why;
	b->ends++;
	b->good = what == CHAN_FETCHED && size == SIZE;
}

static void on_sent(void *arg, enum chan_outcome what, const char *id, const char *why)
{
	struct bench *b = arg;

	(void)id;
	(void)why;
	b->ends++;
	b->good = what == CHAN_ACCEPTED;
}

static void fetch(struct bench *b, int fd)
{
	const struct chan_source src = { .kind = CHAN_FILE,
		.full_url = "",
		.param = "p",
		.key = KEY };
	struct chan_fetch *f;
	struct err e = ERR_INIT;

	must(b->ch->ops->fetch(b->ch, &f, &src, fd, SIZE, on_fetched, b, &e) == 0, e.msg);
}

static void upload(struct bench *b, int fd)
{
	const struct chan_file file = { .kind = CHAN_FILE,
		.fd = fd,
		.name = "large.bin",
		.size = SIZE,
		.md5 = "2f282b84e7e608d5852449ed940bfc51" };
	const struct chan_send s = { .to = "user",
		.token = "token",
		.client_id = "client",
		.file = &file };
	struct err e = ERR_INIT;

	must(b->ch->ops->send(b->ch, &s, on_sent, b, &e) == 0, e.msg);
}

/* --- Figures ---------------------------------------------------------------------------------- */
/* Of /proc/self/status, in KiB. */
static long status_kib(const char *name)
{
	char line[200];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtol(line + strlen(name) + 1, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

/* From here on VmHWM is the highest mark since now. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "we");

	must(f && fputs("5", f) >= 0 && fclose(f) == 0, "the peak of memory cannot be reset");
}

static void measure(struct bench *b, const char *what, void (*begin)(struct bench *, int),
	long idle)
{
	double best = 1e9;
	long peak = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = memfd_create("file", MFD_CLOEXEC), ends = b->ends;
		double from = bench_now();

		must(fd >= 0 && ftruncate(fd, SIZE) == 0, "no file");
		forget_peak();
		begin(b, fd);
		while (b->ends == ends)
			must(loop_step(b->loop, -1, NULL) == 0, "the loop failed");
		must(b->good, "it did not get through");
		best = bench_now() - from < best ? bench_now() - from : best;
		peak = status_kib("VmHWM") > peak ? status_kib("VmHWM") : peak;
		(void)close(fd);
	}
	bench_rate(what, (size_t)SIZE, best);
	printf("  %-44s %9.2f MiB above the %.2f MiB of idle\n", "  memory at its highest",
		(double)(peak - idle) / 1024, (double)idle / 1024);
}

int main(void)
{
	struct bench b = { .ends = 0 };
	long idle;

	bench_title("Files of 100 MiB, by plain HTTP on loopback, from and to memory");
	open_channel(&b, open_servers());
	idle = status_kib("VmRSS");
	measure(&b, "download: receive, decrypt, write", fetch, idle);
	measure(&b, "upload: read, encrypt, send; address, message", upload, idle);
	close_channel(&b);
	return EXIT_SUCCESS;
}
