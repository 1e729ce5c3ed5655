#include "base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_encode(struct view bytes, struct str *out)
{
	if (str_reserve(out, (bytes.n + 2) / 3 * 4) < 0)
		return -1;
	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
		uint32_t bits = 0;
		char *to = out->p + out->n;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? (unsigned char)bytes.p[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			to[k] = k <= n ? alphabet[bits >> (18 - 6 * k) & 63] : '=';
		str_grew(out, 4);
	}
	return 0;
}

/* 64: none. */
static uint32_t value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint32_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a' + 26);
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0' + 52);
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

int base64_decode(struct view text, struct str *out)
{
	size_t pad = 0;

	while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
		pad++;
	if (text.n % 4 != 0 || str_reserve(out, text.n / 4 * 3 - pad) < 0)
		return -1;
	for (size_t i = 0; i < text.n; i += 4) {
		size_t n = i + 4 == text.n ? 4 - pad : 4;
		uint32_t bits = 0;
		char *to = out->p + out->n;

		for (size_t k = 0; k < 4; k++) {
			uint32_t v = k < n ? value_of(text.p[i + k]) : 0;

			if (v == 64)
				return -1;
			bits = bits << 6 | v;
		}
		if (n < 4 && (bits & (n == 3 ? 0xffu : 0xffffu)) != 0)
			return -1;
		for (size_t k = 0; k + 1 < n; k++)
			to[k] = (char)(unsigned char)(bits >> (16 - 8 * k) & 0xff);
		str_grew(out, n - 1);
	}
	return 0;
}
