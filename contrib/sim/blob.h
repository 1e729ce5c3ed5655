/* contrib/sim/blob.h: the files on the CDN: ciphertexts as they lie there, and what they are of. */
#ifndef SIM_BLOB_H
#define SIM_BLOB_H

#include "sim.h"

#define BLOB_MAX ((size_t)128 << 20) /* of a ciphertext */

struct blob {
	struct blob *next; /* newest first */
	int refs;
	uint64_t id;
	char param[49]; /* what finds it */
	char filekey[33];
	unsigned char key[16];
	bool plain, stored; /* not encrypted; uploaded (or ours from the start) */
	int64_t media_type, raw_size, size;
	char md5[33], sha256[65], name[256];
	const char *kind; /* "image", ...: what it was sent as; NULL: not yet */
	const char *type; /* of a picture, by its first bytes; else application/octet-stream */
	struct str bytes; /* as they lie on the CDN */
};

int blobs_open(struct blobs **out, struct err *e);
void blobs_close(struct blobs **b);
/* A new one in the list, the oldest forgotten for it; NULL: no memory. */
struct blob *blob_new(struct blobs *all);
struct blob *blob_by_param(struct blobs *all, struct view param);
struct blob *blob_by_id(struct blobs *all, uint64_t id);
void blob_forget(struct blobs *all, struct blob *b);
/* What is being sent must stay, forgotten or not. */
struct blob *blob_hold(struct blob *b);
void blob_release(void *blob);

/* A file of ours: encrypted under a fresh key, or as it is. */
int blob_fill(struct blobs *all, struct blob *b, struct view plain, bool encrypt);
/* NULL, or what is wrong with this ciphertext for the grant; notes type and sha256 when right. */
const char *blob_check(struct blob *b, struct view body);
/* The checked ciphertext becomes the blob's; *body is empty afterwards. */
void blob_take(struct blobs *all, struct blob *b, struct str *body);

/* The plaintext piece by piece; -1: it does not decrypt, or the sink said so. */
typedef int blob_sink(void *arg, struct view piece);
int blob_plain(const struct blob *b, blob_sink *sink, void *arg);
int blob_to_str(void *str, struct view piece); /* a sink */
/* The ciphertext of plain under the blob's key; padding: else plain is whole blocks already. */
int blob_encrypt(const struct blob *b, struct view plain, bool padding, struct str *out);
int64_t blob_padded(int64_t size);

void key_to_hex(const unsigned char key[16], char out[33]);
int hex_to_key(struct view hex, unsigned char key[16]); /* exactly 32 digits */
bool is_hex(struct view v);

#endif
