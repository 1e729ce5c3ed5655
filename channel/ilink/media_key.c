#include "channel/ilink/media_key.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* 0, or -1 when the text is not 32 hex digits. */
static int read_hex(struct media_key *out, struct view text)
{
	if (text.n != 2 * (size_t)MEDIA_KEY_SIZE)
		return -1;
	for (size_t i = 0; i < MEDIA_KEY_SIZE; i++) {
		int high = hex_value(text.p[2 * i]), low = hex_value(text.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		out->bytes[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

/* The first form can be no other one: 32 digits are base64 of 24 bytes. */
int media_key_read(struct media_key *out, struct view text, struct err *e)
{
	struct str bytes = STR_SECRET(128);
	int rc = 1;

	*out = (struct media_key){ { 0 } };
	if (text.n == 0)
		return 0;
	if (read_hex(out, text) == 0)
		return 1;
	if (base64_decode(text, &bytes) == 0 && bytes.n == MEDIA_KEY_SIZE)
		memcpy(out->bytes, bytes.p, MEDIA_KEY_SIZE);
	else if (read_hex(out, str_view(&bytes)) < 0)
		rc = err_set(e, E_FORMAT, "its key has none of the known forms");
	str_release(&bytes);
	return rc;
}

void media_key_random(struct media_key *out)
{
	rand_bytes(out->bytes, MEDIA_KEY_SIZE);
}

void media_key_hex(const struct media_key *k, char out[MEDIA_KEY_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < MEDIA_KEY_SIZE; i++) {
		out[2 * i] = digits[k->bytes[i] >> 4];
		out[2 * i + 1] = digits[k->bytes[i] & 15];
	}
	out[MEDIA_KEY_HEX_SIZE - 1] = '\0';
}

void media_key_text(const struct media_key *k, char out[MEDIA_KEY_TEXT_SIZE])
{
	char hex[MEDIA_KEY_HEX_SIZE];

	media_key_hex(k, hex);
	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)hex, MEDIA_KEY_HEX_SIZE - 1);
	explicit_bzero(hex, sizeof(hex));
}

void media_key_wipe(struct media_key *k)
{
	explicit_bzero(k, sizeof(*k));
}
