/* account/account-private.h: shared by the files of this room only. */
#ifndef ACCOUNT_ACCOUNT_PRIVATE_H
#define ACCOUNT_ACCOUNT_PRIVATE_H

#include "account/account.h"
#include "base/json.h"

#define ACCOUNT_GENERATION_SIZE 33 /* 32 hex digits and a NUL */

struct account {
	char *home;
	char bot_id[ACCOUNT_ID_MAX + 1], user_id[ACCOUNT_ID_MAX + 1];
	char token[ACCOUNT_TOKEN_MAX + 1];
	char base_url[ACCOUNT_URL_MAX + 1];
	char workspace[4096];
	char generation[ACCOUNT_GENERATION_SIZE];
	int64_t login_at;
	struct str cursor;
	/* Tokens of earlier logins, newest first, so that the server can recognise this
	 * installation. */
	char *old_tokens[9];
	size_t nold;
};

/* account.json <-> struct. */
int account_decode(struct account *a, struct view text, struct err *e);
int account_encode(const struct account *a, struct str *out, struct err *e);

/* An id or token: 1..max bytes of printable ASCII without space. */
int account_check_word(const char *what, struct view v, size_t max, struct err *e);

#endif
