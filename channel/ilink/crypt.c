#include "channel/ilink/crypt.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct crypt {
	EVP_CIPHER_CTX *ctx;
	bool encrypt;
	unsigned char out[CRYPT_PIECE + CRYPT_BLOCK];
};

int crypt_open(struct crypt **out, const struct media_key *key, bool encrypt, struct err *e)
{
	struct crypt *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "no memory to encrypt or decrypt a file");
	c->encrypt = encrypt;
	c->ctx = EVP_CIPHER_CTX_new();
	if (!c->ctx || EVP_CipherInit_ex(c->ctx, EVP_aes_128_ecb(), NULL, key->bytes, NULL,
			       encrypt) != 1) {
		crypt_close(&c);
		return err_set(e, E_NOMEM, "the cipher for files could not be set up");
	}
	*out = c;
	return 0;
}

void crypt_close(struct crypt **cp)
{
	struct crypt *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	EVP_CIPHER_CTX_free(c->ctx);
	explicit_bzero(c->out, sizeof(c->out));
	free(c);
}

static struct view made(const struct crypt *c, int n)
{
	return (struct view){ (const char *)c->out, (size_t)n };
}

int crypt_feed(struct crypt *c, struct view in, struct view *out, struct err *e)
{
	int n = 0;

	assert(in.n <= CRYPT_PIECE);
	if (EVP_CipherUpdate(c->ctx, c->out, &n, (const unsigned char *)in.p, (int)in.n) != 1)
		return err_set(e, E_NOMEM, "the cipher for files failed");
	*out = made(c, n);
	return 0;
}

int crypt_end(struct crypt *c, struct view *out, struct err *e)
{
	int n = 0;

	if (EVP_CipherFinal_ex(c->ctx, c->out, &n) != 1)
		return c->encrypt ? err_set(e, E_NOMEM, "the cipher for files failed")
		                  : err_set(e, E_FORMAT, "it does not decrypt with its key");
	*out = made(c, n);
	return 0;
}

int64_t crypt_size(int64_t plain)
{
	return (plain / CRYPT_BLOCK + 1) * CRYPT_BLOCK;
}
