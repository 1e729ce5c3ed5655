/* Which names hold secrets, and which values look like one. */
#include "base/text-private.h"

#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z');
}

/* --- Names ----------------------------------------------------------------------------------- */

/* Matched at the end of a name, so that GITHUB_TOKEN and clientSecret need no row; WHOLE ones only
 * as they stand. The first match counts. */
enum { SUFFIX, WHOLE };
static const struct {
	struct view name;
	int how;
	enum secret_kind kind;
} names[] = {
	{ VIEW("bottoken"), SUFFIX, SECRET_WIRE },
	{ VIEW("contexttoken"), SUFFIX, SECRET_WIRE },
	{ VIEW("contexttokens"), SUFFIX, SECRET_LIST },
	{ VIEW("localtokenlist"), SUFFIX, SECRET_LIST },
	{ VIEW("typingticket"), SUFFIX, SECRET_WIRE },
	{ VIEW("aeskey"), SUFFIX, SECRET_WIRE },
	{ VIEW("uploadparam"), SUFFIX, SECRET_WIRE },
	{ VIEW("encryptqueryparam"), SUFFIX, SECRET_WIRE },
	{ VIEW("encryptedqueryparam"), SUFFIX, SECRET_WIRE },
	{ VIEW("encryptedparam"), SUFFIX, SECRET_WIRE },
	{ VIEW("fullurl"), SUFFIX, SECRET_WIRE },
	{ VIEW("qrcode"), WHOLE, SECRET_WIRE },
	{ VIEW("qrcodeimgcontent"), WHOLE, SECRET_WIRE },
	{ VIEW("verifycode"), WHOLE, SECRET_WIRE },
	{ VIEW("authorization"), SUFFIX, SECRET_HEADER },
	{ VIEW("cookie"), WHOLE, SECRET_COOKIE },
	{ VIEW("setcookie"), WHOLE, SECRET_COOKIE },
	{ VIEW("password"), SUFFIX, SECRET_SURE },
	{ VIEW("passwd"), SUFFIX, SECRET_SURE },
	{ VIEW("passphrase"), SUFFIX, SECRET_SURE },
	{ VIEW("secret"), SUFFIX, SECRET_SURE },
	{ VIEW("apikey"), SUFFIX, SECRET_SURE },
	{ VIEW("secretkey"), SUFFIX, SECRET_SURE },
	{ VIEW("secretid"), SUFFIX, SECRET_SURE },
	{ VIEW("accesskey"), SUFFIX, SECRET_SURE },
	{ VIEW("accesskeyid"), SUFFIX, SECRET_SURE },
	{ VIEW("accountkey"), SUFFIX, SECRET_SURE },
	{ VIEW("privatekey"), SUFFIX, SECRET_SURE },
	{ VIEW("encryptionkey"), SUFFIX, SECRET_SURE },
	{ VIEW("signingkey"), SUFFIX, SECRET_SURE },
	{ VIEW("sessionkey"), SUFFIX, SECRET_SURE },
	{ VIEW("accesstoken"), SUFFIX, SECRET_SURE },
	{ VIEW("refreshtoken"), SUFFIX, SECRET_SURE },
	{ VIEW("idtoken"), SUFFIX, SECRET_SURE },
	{ VIEW("authtoken"), SUFFIX, SECRET_SURE },
	{ VIEW("apitoken"), SUFFIX, SECRET_SURE },
	{ VIEW("sessiontoken"), SUFFIX, SECRET_SURE },
	{ VIEW("bearertoken"), SUFFIX, SECRET_SURE },
	{ VIEW("securitytoken"), SUFFIX, SECRET_SURE },
	{ VIEW("token"), SUFFIX, SECRET_VAGUE },
	{ VIEW("credential"), SUFFIX, SECRET_VAGUE },
	{ VIEW("credentials"), SUFFIX, SECRET_VAGUE },
	{ VIEW("authkey"), SUFFIX, SECRET_VAGUE },
	{ VIEW("sessionid"), SUFFIX, SECRET_VAGUE },
	{ VIEW("passcode"), SUFFIX, SECRET_VAGUE },
	{ VIEW("pwd"), SUFFIX, SECRET_VAGUE },
	{ VIEW("key"), WHOLE, SECRET_QUERY },
	{ VIEW("sig"), WHOLE, SECRET_QUERY },
	{ VIEW("sign"), WHOLE, SECRET_QUERY },
	{ VIEW("signature"), SUFFIX, SECRET_QUERY },
	{ VIEW("auth"), WHOLE, SECRET_QUERY },
	{ VIEW("code"), WHOLE, SECRET_QUERY },
	{ VIEW("ticket"), SUFFIX, SECRET_QUERY },
	{ VIEW("filekey"), WHOLE, SECRET_QUERY },
};

/* The last letters of a name in lower case, from the back of `room`. */
static struct view plain_name(struct view name, char *room, size_t size)
{
	size_t at = size;

	for (size_t i = name.n; i > 0 && at > 0; i--) {
		char c = name.p[i - 1];

		if (c != '-' && c != '_')
			room[--at] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
	}
	return (struct view){ room + at, size - at };
}

enum secret_kind secret_of_name(struct view name, bool in_query)
{
	char room[32];
	struct view plain = plain_name(name, room, sizeof(room));

	if (plain.n < 3)
		return SECRET_NONE;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct view row = names[i].name;

		if (row.p[row.n - 1] != plain.p[plain.n - 1] || !view_ends(plain, row))
			continue;
		if (names[i].kind == SECRET_QUERY && !in_query)
			continue;
		if (names[i].how == SUFFIX || plain.n == row.n)
			return names[i].kind;
	}
	return SECRET_NONE;
}

/* --- Values ---------------------------------------------------------------------------------- */

/* ******, xxxx, ...: one character over and over, and no letter or digit but x. */
static bool is_filler(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] != v.p[0])
			return false;
	}
	if (is_letter(v.p[0]))
		return v.n > 2 && (v.p[0] == 'x' || v.p[0] == 'X');
	return !is_digit(v.p[0]);
}

/* $NAME, ${...} or $(...) of a shell. */
static bool is_variable(struct view v)
{
	if (v.n < 2 || v.p[0] != '$')
		return false;
	for (size_t i = 1; i < v.n; i++) {
		if (!is_letter(v.p[i]) && v.p[i] != '_')
			return v.p[1] == '{' || v.p[1] == '(';
	}
	return true;
}

bool secret_is_placeholder(struct view v)
{
	if (v.n == 0 || is_filler(v) || is_variable(v))
		return true;
	if (v.n == 2 && v.p[0] == '%' && is_letter(v.p[1])) /* printf */
		return true;
	if ((v.p[0] == '<' && v.p[v.n - 1] == '>') || (v.p[0] == '[' && v.p[v.n - 1] == ']') ||
		(v.p[0] == '{' && v.p[v.n - 1] == '}'))
		return true;
	return v.n >= 5 && strncasecmp(v.p, "your", 4) == 0 && (v.p[4] == '_' || v.p[4] == '-');
}

bool secret_is_word_of_code(struct view v)
{
	static const char *const words[] = { "true", "false", "null", "none", "nil", "undefined",
		"nullptr", "yes", "no", "on", "off", "str", "string", "text", "bytes", "int",
		"integer", "number", "bool", "boolean", "object", "array", "any", "char", "void",
		"required", "optional", "hidden", "redacted", "missing", "empty", "unset",
		"invalid", "expired", "password", "token", "secret", "key" };

	for (size_t i = 0; i < COUNT(words); i++) {
		if (v.n == strlen(words[i]) && strncasecmp(v.p, words[i], v.n) == 0)
			return true;
	}
	return false;
}

bool secret_is_wordy(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (is_upper(c) && i > 0 && is_letter(v.p[i - 1]) && !is_upper(v.p[i - 1]))
			return false;
		if (!is_letter(c) && (c == '\0' || !strchr("-_.:/'*!?", c)))
			return false;
	}
	return true;
}

bool secret_is_random(struct view v)
{
	size_t changes = 0, digits = 0, letters = 0;
	bool last_digit = false;

	for (size_t i = 0; i < v.n; i++) {
		bool digit = is_digit(v.p[i]), letter = is_letter(v.p[i]);

		if ((unsigned char)v.p[i] <= 0x20 || (unsigned char)v.p[i] >= 0x7f)
			return false;
		if (!digit && !letter)
			continue;
		changes += (digits + letters > 0) && digit != last_digit;
		last_digit = digit;
		digits += digit;
		letters += letter;
	}
	return v.n >= 8 && digits > 0 && letters > 0 && (changes > 1 || v.n >= 16);
}
