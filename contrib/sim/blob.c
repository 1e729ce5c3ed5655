#include "blob.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"

#define BLOBS_MAX  128
#define BLOBS_KEEP ((size_t)256 << 20)
#define SLICE      ((size_t)64 << 10)
#define HEAD_MAX   16 /* bytes that tell a picture */

struct blobs {
	struct blob *first;
	size_t n, held;
	uint64_t last_id;
};

int blobs_open(struct blobs **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "out of memory");
}

void blob_release(void *blob)
{
	struct blob *b = blob;

	if (!b || --b->refs > 0)
		return;
	str_release(&b->bytes);
	free(b);
}

struct blob *blob_hold(struct blob *b)
{
	b->refs++;
	return b;
}

void blob_forget(struct blobs *all, struct blob *b)
{
	struct blob **p = &all->first;

	while (*p && *p != b)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = b->next;
	all->held -= b->bytes.n;
	all->n--;
	blob_release(b);
}

void blobs_close(struct blobs **bp)
{
	struct blobs *all = *bp;

	*bp = NULL;
	while (all && all->first)
		blob_forget(all, all->first);
	free(all);
}

static struct blob *oldest(struct blobs *all)
{
	struct blob *b = all->first;

	while (b && b->next)
		b = b->next;
	return b;
}

struct blob *blob_new(struct blobs *all)
{
	struct blob *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	while (all->n >= BLOBS_MAX || all->held > BLOBS_KEEP)
		blob_forget(all, oldest(all));
	b->bytes = (struct str)STR_INIT(BLOB_MAX);
	b->refs = 1;
	b->id = ++all->last_id;
	rand_hex(b->param, 24);
	b->next = all->first;
	all->first = b;
	all->n++;
	return b;
}

struct blob *blob_by_param(struct blobs *all, struct view param)
{
	for (struct blob *b = all->first; b; b = b->next)
		if (view_eqs(param, b->param))
			return b;
	return NULL;
}

struct blob *blob_by_id(struct blobs *all, uint64_t id)
{
	for (struct blob *b = all->first; b; b = b->next)
		if (b->id == id)
			return b;
	return NULL;
}

/* --- Keys ------------------------------------------------------------------------------------- */
bool is_hex(struct view v)
{
	return all_of(v, "0123456789abcdefABCDEF");
}

int hex_to_key(struct view hex, unsigned char key[16])
{
	if (hex.n != 32 || !is_hex(hex))
		return -1;
	for (size_t i = 0; i < 16; i++) {
		char pair[3] = { hex.p[2 * i], hex.p[2 * i + 1], '\0' };

		key[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return 0;
}

void key_to_hex(const unsigned char key[16], char out[33])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", key[i]);
}

int64_t blob_padded(int64_t n)
{
	return (n / 16 + 1) * 16;
}

/* --- AES-128-ECB with PKCS#7, slice by slice -------------------------------------------------- */
static int cipher(bool encrypt, bool padding, const unsigned char key[16], struct view in,
	blob_sink *sink, void *arg)
{
	unsigned char *slice = malloc(SLICE + 32);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, rc = -1;

	if (!slice || !ctx ||
		EVP_CipherInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL, encrypt) != 1 ||
		EVP_CIPHER_CTX_set_padding(ctx, padding) != 1)
		goto out;
	while (in.n) {
		struct view piece = view_cut(in, SLICE);

		if (EVP_CipherUpdate(ctx, slice, &n, (const unsigned char *)piece.p,
			    (int)piece.n) != 1 ||
			sink(arg, (struct view){ (char *)slice, (size_t)n }) < 0)
			goto out;
		in = view_from(in, piece.n);
	}
	if (EVP_CipherFinal_ex(ctx, slice, &n) == 1 &&
		sink(arg, (struct view){ (char *)slice, (size_t)n }) == 0)
		rc = 0;
out:
	EVP_CIPHER_CTX_free(ctx);
	free(slice);
	return rc;
}

int blob_to_str(void *str, struct view piece)
{
	return str_add(str, piece);
}

int blob_plain(const struct blob *b, blob_sink *sink, void *arg)
{
	if (b->plain)
		return sink(arg, str_view(&b->bytes));
	return cipher(false, true, b->key, str_view(&b->bytes), sink, arg);
}

int blob_encrypt(const struct blob *b, struct view plain, bool padding, struct str *out)
{
	return cipher(true, padding, b->key, plain, blob_to_str, out);
}

/* --- What it is of ---------------------------------------------------------------------------- */
struct digest {
	EVP_MD_CTX *md5, *sha256;
	int64_t size;
	char head[HEAD_MAX];
};

static int digest_piece(void *arg, struct view v)
{
	struct digest *d = arg;

	for (size_t i = 0; i < v.n && d->size + (int64_t)i < HEAD_MAX; i++)
		d->head[d->size + (int64_t)i] = v.p[i];
	d->size += (int64_t)v.n;
	return !v.n || (EVP_DigestUpdate(d->md5, v.p, v.n) == 1 &&
			       EVP_DigestUpdate(d->sha256, v.p, v.n) == 1)
	               ? 0
	               : -1;
}

static int digest_open(struct digest *d)
{
	*d = (struct digest){ .md5 = EVP_MD_CTX_new(), .sha256 = EVP_MD_CTX_new() };
	return d->md5 && d->sha256 && EVP_DigestInit_ex(d->md5, EVP_md5(), NULL) == 1 &&
	                       EVP_DigestInit_ex(d->sha256, EVP_sha256(), NULL) == 1
	               ? 0
	               : -1;
}

static void digest_close(struct digest *d)
{
	EVP_MD_CTX_free(d->md5);
	EVP_MD_CTX_free(d->sha256);
}

static void digest_hex(EVP_MD_CTX *ctx, char *out)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	(void)EVP_DigestFinal_ex(ctx, sum, &n);
	for (unsigned i = 0; i < n; i++)
		snprintf(out + 2 * (size_t)i, 3, "%02x", sum[i]);
}

/* Pictures by their first bytes; everything else is only ever a download. */
static const char *sniff(const char head[HEAD_MAX])
{
	struct view v = { head, HEAD_MAX };

	if (view_starts(v, VIEW("\x89PNG")))
		return "image/png";
	if (view_starts(v, VIEW("\xff\xd8\xff")))
		return "image/jpeg";
	if (view_starts(v, VIEW("GIF8")))
		return "image/gif";
	if (view_starts(v, VIEW("RIFF")) && view_starts(view_from(v, 8), VIEW("WEBP")))
		return "image/webp";
	return "application/octet-stream";
}

const char *blob_check(struct blob *b, struct view body)
{
	const char *wrong = NULL;
	struct digest d;
	char md5[65];

	if ((int64_t)body.n != b->size)
		return "size mismatch";
	if (digest_open(&d) < 0) {
		wrong = "out of memory";
	} else if (cipher(false, true, b->key, body, digest_piece, &d) < 0) {
		wrong = "decrypt failed";
	} else {
		digest_hex(d.md5, md5);
		digest_hex(d.sha256, b->sha256);
		b->type = sniff(d.head);
		if (d.size != b->raw_size || strcasecmp(md5, b->md5) != 0)
			wrong = "md5 mismatch";
	}
	digest_close(&d);
	return wrong;
}

void blob_take(struct blobs *all, struct blob *b, struct str *body)
{
	str_release(&b->bytes);
	b->bytes = *body;
	*body = (struct str)STR_INIT(body->max);
	all->held += b->bytes.n;
	b->stored = true;
}

int blob_fill(struct blobs *all, struct blob *b, struct view plain, bool encrypt)
{
	struct digest d;
	char md5[65];
	int rc = -1;

	b->plain = !encrypt;
	b->raw_size = (int64_t)plain.n;
	rand_bytes(b->key, sizeof(b->key));
	if (digest_open(&d) < 0 || digest_piece(&d, plain) < 0 ||
		str_reserve(&b->bytes, plain.n + 16) < 0 ||
		(encrypt ? blob_encrypt(b, plain, true, &b->bytes) : str_add(&b->bytes, plain)) < 0)
		goto out;
	digest_hex(d.md5, md5);
	(void)copy_z(b->md5, sizeof(b->md5), view_of(md5));
	digest_hex(d.sha256, b->sha256);
	b->type = sniff(d.head);
	b->size = (int64_t)b->bytes.n;
	b->stored = true;
	rc = 0;
out:
	all->held += b->bytes.n;
	digest_close(&d);
	return rc;
}
