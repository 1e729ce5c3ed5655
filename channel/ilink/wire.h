/* channel/ilink/wire.h: the iLink API's JSON as typed structs, both ways. Pure: no I/O, no clock,
 * no state. Section numbers are the wire reference's. Everything read is hostile: bounded, strictly
 * typed, and free of raw JSON once it is read. */
#ifndef CHANNEL_ILINK_WIRE_H
#define CHANNEL_ILINK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/account.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "channel/channel.h"

#define WIRE_BODY_MAX      ((size_t)2 << 20) /* bytes of any answer */
#define WIRE_REQUEST_MAX   ((size_t)4 << 20) /* bytes of any request: 1 MiB of text, escaped */
#define WIRE_TICKET_MAX    4096
#define WIRE_QR_KEY_MAX    1024
#define WIRE_QR_TEXT_MAX   2048
#define WIRE_HOST_MAX      255
#define WIRE_MARK_MAX      65536 /* either end of what is quoted of a text */
#define WIRE_NAME_MAX      4096  /* a file name as the sender claims it */
#define WIRE_PARAM_MAX     8192  /* a media URL or parameter */
#define WIRE_KEY_MAX       128   /* a media key, still encoded */
#define WIRE_BOT_AGENT_MAX 256

#define WIRE_EXPIRED (-14) /* the token is not, or no longer, good (11) */

/* --- Answers ---------------------------------------------------------------------------------- */
/* ret and errcode as one (1.5): each may be absent, or a number as a string. */
struct wire_code {
	int64_t code;   /* 0: success. WIRE_EXPIRED if either is, else ret, else errcode */
	char text[200]; /* errmsg on one safe, redacted line; "" when absent */
};

struct wire_config { /* getconfig */
	struct wire_code code;
	char ticket[WIRE_TICKET_MAX + 1]; /* "": no typing for this user */
};

struct wire_sent { /* sendmessage */
	struct wire_code code;
	char message_id[21]; /* digits, or "" */
};

struct wire_qr { /* get_bot_qrcode */
	struct wire_code code;
	char key[WIRE_QR_KEY_MAX + 1];
	char text[WIRE_QR_TEXT_MAX + 1]; /* what goes into the symbol */
};

enum wire_scan {
	WIRE_SCAN_UNKNOWN, /* a status this program does not know: poll again */
	WIRE_SCAN_WAIT,
	WIRE_SCAN_SCANNED,
	WIRE_SCAN_NEED_NUMBER,
	WIRE_SCAN_BLOCKED,
	WIRE_SCAN_EXPIRED,
	WIRE_SCAN_REDIRECT,
	WIRE_SCAN_BOUND,
	WIRE_SCAN_CONFIRMED
};

struct wire_scanned { /* get_qrcode_status; holds a token: wipe it */
	struct wire_code code;
	enum wire_scan status;
	char redirect_host[WIRE_HOST_MAX + 1]; /* "" when absent; not yet checked */
	char bot_id[ACCOUNT_ID_MAX + 1], user_id[ACCOUNT_ID_MAX + 1];
	char token[ACCOUNT_TOKEN_MAX + 1], base_url[ACCOUNT_URL_MAX + 1];
};

struct wire_grant { /* getuploadurl; where to upload to is a secret: wipe it */
	struct wire_code code;
	char full_url[WIRE_PARAM_MAX + 1], param[WIRE_PARAM_MAX + 1]; /* "" when absent */
};

/* 0: readable, and `code` tells success. -1: not an answer of this kind (E_FORMAT), or E_NOMEM. The
 * other fields are read on success only. */
int wire_read_code(struct view body, struct wire_code *out, struct err *e);
int wire_read_config(struct view body, struct wire_config *out, struct err *e);
int wire_read_sent(struct view body, struct wire_sent *out, struct err *e);
int wire_read_qr(struct view body, struct wire_qr *out, struct err *e);
int wire_read_scanned(struct view body, struct wire_scanned *out, struct err *e);
int wire_read_grant(struct view body, struct wire_grant *out, struct err *e);

/* What a readable answer to sendmessage means (11). -2 is told apart by its text alone. */
enum chan_outcome wire_outcome(const struct wire_sent *sent);

/* --- getupdates ------------------------------------------------------------------------------- */
#define WIRE_NOTES_MAX 8

/* Why a message was skipped or could not be read whole: for the log, no content of it. */
struct wire_note {
	size_t at; /* its place in the batch, from 0 */
	char why[160];
};

struct wire_update {
	struct wire_code code;
	struct view cursor; /* empty: keep the old one */
	int64_t told_ms;    /* longpolling_timeout_ms, 1 and up; 0: absent or not usable */
	struct chan_msg *msgs;
	size_t nmsgs;
	size_t echoes;        /* of our own messages; left out */
	size_t malformed;     /* left out, or handed on as CHAN_MSG_UNREADABLE */
	size_t dropped_items; /* attachments over CHAN_ITEMS_MAX */
	struct wire_note notes[WIRE_NOTES_MAX];
	size_t nnotes;
	struct json *tree; /* private: what the strings above point into */
	struct wire_block *blocks;
};

/* 0: read (release it), -1: the whole answer is no use, nothing to release. One bad message never
 * costs the others. A message's id is, as the first that is there (4.7, 5.5): message_id, the first
 * item's msg_id, or "h:" and the SHA-256 of
 *   "client_id" LF from LF create_time_ms LF client_id
 *   "seq"       LF from LF create_time_ms LF seq
 *   "items"     LF from LF create_time_ms LF item_list as compact JSON
 * where an unknown time is 0; the context token never takes part. */
int wire_read_update(struct wire_update *out, struct view body, struct err *e);
void wire_update_release(struct wire_update *u);

/* --- Requests --------------------------------------------------------------------------------- */
/* Who we say we are: base_info (1.4). */
struct wire_self {
	const char *version, *bot_agent;
};

struct wire_upload { /* what getuploadurl is asked for */
	enum chan_item_kind kind;
	const char *to, *token; /* token "" is left out */
	const char *filekey, *aeskey, *md5;
	int64_t plain_size, size; /* size: encrypted */
};

struct wire_media { /* a file that has been uploaded */
	const char *param, *aes_key;
	int64_t size; /* encrypted */
};

/* Each appends one JSON body; -1 on text that is not UTF-8 or too long. */
int wire_write_notify(struct str *out, const struct wire_self *me, struct err *e);
int wire_write_updates(struct str *out, const struct wire_self *me, const char *cursor,
	struct err *e);
int wire_write_text(struct str *out, const struct wire_self *me, const struct chan_send *s,
	struct err *e);
int wire_write_upload(struct str *out, const struct wire_self *me, const struct wire_upload *u,
	struct err *e);
/* The message with s->file as its one item. */
int wire_write_file(struct str *out, const struct wire_self *me, const struct chan_send *s,
	const struct wire_media *m, struct err *e);
int wire_write_config(struct str *out, const struct wire_self *me, const char *user,
	const char *token, struct err *e); /* token "" is left out */
int wire_write_typing(struct str *out, const struct wire_self *me, const char *user,
	const char *ticket, bool on, struct err *e);
int wire_write_qr(struct str *out, const char *const *tokens, size_t n, struct err *e);

/* --- Headers (1.3, 1.4) ----------------------------------------------------------------------- */
#define WIRE_UIN_SIZE 17
void wire_uin(uint32_t n, char out[WIRE_UIN_SIZE]); /* base64 of the decimal digits */
/* "2.4.9" -> "132105"; one to three numbers. */
int wire_client_version(const char *version, char out[11], struct err *e);
/* Keep the products that parse, whole ones, up to the ceiling; "OpenClaw" when none is left.
 * Returns how many tokens were dropped, -1 without memory. */
int wire_bot_agent(struct view in, struct str *out);

/* An id or a token as we take it from the wire: printable ASCII without space. */
bool wire_is_opaque(struct view v);

#endif
