/* account/account.h: who we are to the server: credentials, owner, workspace, cursor, generation.
 *
 * One strict JSON file (account.json, at most 128 KiB, 16 levels, 10,000 nodes), 0600, replaced
 * atomically under account.lock. A loaded account is a snapshot. The generation changes on login
 * and logout only; moving the cursor compares the stored generation and cursor with the snapshot's,
 * so a daemon whose account was replaced can tell and cannot overwrite it. */
#ifndef ACCOUNT_ACCOUNT_H
#define ACCOUNT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define ACCOUNT_FILE_MAX   ((size_t)128 << 10)
#define ACCOUNT_ID_MAX     128 /* bytes: bot id, user id */
#define ACCOUNT_TOKEN_MAX  4096
#define ACCOUNT_URL_MAX    512
#define ACCOUNT_CURSOR_MAX ((size_t)64 << 10)

#define ACCOUNT_LOGIN_URL "https://ilinkai.weixin.qq.com" /* wire reference, 1.1 */
#define ACCOUNT_CDN_URL   "https://novac2c.cdn.weixin.qq.com/c2c"

struct account;

/* What a login gives. Strings are copied. user_id "" means: no owner known, nobody is served. */
struct account_login {
	const char *bot_id, *user_id, *token, *base_url, *workspace;
	const char *cursor; /* NULL or "": start afresh */
};

/* home: $KAIRO_HOME. E_NOTFOUND: nobody is logged in. */
int account_load(struct account **out, const char *home, struct err *e);
void account_free(struct account **a); /* wipes the token */

const char *account_bot_id(const struct account *a);
const char *account_user_id(const struct account *a);
const char *account_token(const struct account *a);
const char *account_base_url(const struct account *a);
const char *account_cursor(const struct account *a);

/* Store a new login: new generation; the cursor starts empty (or as given). */
int account_store_login(const char *home, const struct account_login *l, const struct clock *clk,
	struct err *e);
/* Could one be stored? To be asked before a login is begun: the server ends the old one with it. */
int account_can_store(const char *home, struct err *e);
/* Remove the credentials; a daemon that still runs finds out at its next poll. 0 also when nobody
 * was logged in. */
int account_logout(const char *home, struct err *e);

/* Move the cursor from the snapshot's to `cursor`, on disk first. E_CONFLICT: the stored generation
 * or cursor is not the snapshot's; nothing was written. E_BUSY: another process has the lock, and
 * keeps it; nothing was written. */
int account_move_cursor(struct account *a, struct view cursor, struct err *e);

/* Read the file again. 0: same, or only the token changed while bot id and owner stayed, and was
 * adopted (*changed tells). E_CONFLICT: another account. E_NOTFOUND: logged out. */
int account_reload(struct account *a, bool *changed, struct err *e);

/* Tokens this installation knows, newest first, for the QR request (at most 10). */
size_t account_known_tokens(const struct account *a, const char *out[10]);

/* --- Hosts ------------------------------------------------------------------------------------ */
/* May a server-given URL be used with our token or be fetched? https, no userinfo, host equal to or
 * under weixin.qq.com or wechat.com; with loopback also http(s) to loopback. E_DENIED says why. */
int account_check_url(struct view url, bool loopback, struct err *e);
int account_check_host(struct view host, bool loopback, struct err *e); /* bare, maybe :port */

/* --- Import ----------------------------------------------------------------------------------- */
/* Find a login another client left under dir: the official client's state folder, weclaw,
 * wechat-acp, hermes, nanobot (wire reference, 10.1). Fills l; its strings live in `hold`. source
 * names the client. E_NOTFOUND when there is none. */
struct account_import {
	struct account_login login;
	const char *source;
	struct str hold;
};
int account_import_find(struct account_import *out, const char *dir, bool loopback, struct err *e);
void account_import_release(struct account_import *i); /* wipes */

#endif
