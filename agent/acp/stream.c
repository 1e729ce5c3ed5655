#include "agent/acp/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MESSAGE_ID_MAX ((size_t)200)
#define MESSAGE_ID_OWN 16 /* shorter ones may be counters that begin anew with each turn */
#define WORDS_MAX      ((size_t)16384) /* of the engine's own, beside the answer */

struct acp_stream {
	struct acp_sink sink;
	struct cards *cards, *past; /* of the turn, and of the one before */
	struct str answer;
	size_t answer_max;
	char message[MESSAGE_ID_MAX + 1]; /* the id of the message being written; "": none given */
	char past_message[MESSAGE_ID_MAX + 1]; /* the last one of the turn before */
	bool boundary;                         /* something else came since the last text */
	bool cut, acted, answered;
	bool used; /* since the last begin */
};

static void no_text(void *arg, struct view piece)
{
	(void)arg;
	(void)piece;
}

static void no_tool(void *arg, const struct card *c, bool began)
{
	(void)arg;
	(void)c;
	(void)began;
}

static const struct acp_sink nobody = { no_text, no_text, no_tool, NULL };

int acp_stream_open(struct acp_stream **out, const struct acp_sink *sink, size_t answer_max,
	struct err *e)
{
	struct acp_stream *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "an answer");
	s->sink = sink ? *sink : nobody;
	s->answer = STR_INIT(answer_max + WORDS_MAX);
	s->answer_max = answer_max;
	if (cards_open(&s->cards, e) < 0 || cards_open(&s->past, e) < 0) {
		acp_stream_close(&s);
		return -1;
	}
	acp_stream_begin(s);
	*out = s;
	return 0;
}

void acp_stream_close(struct acp_stream **sp)
{
	struct acp_stream *s = *sp;

	if (!s)
		return;
	*sp = NULL;
	cards_close(&s->cards);
	cards_close(&s->past);
	str_release(&s->answer);
	free(s);
}

void acp_stream_begin(struct acp_stream *s)
{
	struct cards *now = s->cards;

	if (s->used) {
		s->cards = s->past;
		s->past = now;
		memcpy(s->past_message, s->message, sizeof(s->message));
	}
	cards_clear(s->cards);
	str_release(&s->answer);
	s->message[0] = '\0';
	s->boundary = s->cut = s->acted = s->answered = s->used = false;
}

/* --- Text ------------------------------------------------------------------------------------- */

/* Into the answer and out, or not at all. */
static void put(struct acp_stream *s, struct view piece)
{
	size_t room = s->answer.n < s->answer_max ? s->answer_max - s->answer.n : 0;

	if (s->cut)
		return;
	if (room < piece.n) {
		piece = view_cut(piece, utf8_cut(piece, room));
		s->cut = true;
	}
	s->answered = s->answered || text_shows(piece);
	if (piece.n > 0 && str_add(&s->answer, piece) == 0)
		s->sink.on_text(s->sink.arg, piece);
}

/* What is missing of a blank line. */
static struct view gap(const struct acp_stream *s)
{
	struct view v = str_view(&s->answer);

	if (v.n == 0 || view_ends(v, VIEW("\n\n")))
		return VIEW_NONE;
	return view_ends(v, VIEW("\n")) ? VIEW("\n") : VIEW("\n\n");
}

/* Does another message begin? Its id is remembered; a text without one tells nothing. */
static bool other_message(struct acp_stream *s, const struct json *update)
{
	char before[sizeof(s->message)];
	struct view id;

	if (json_get_str(update, "messageId", JSON_OPTIONAL, 1, MESSAGE_ID_MAX, &id, NULL) != 1)
		return false;
	memcpy(before, s->message, sizeof(before));
	(void)copy_z(s->message, sizeof(s->message), id);
	return before[0] && strcmp(before, s->message) != 0;
}

static bool block_is(const struct json *block, const char *type)
{
	struct view t;

	return block && json_type(block) == JSON_OBJECT &&
	       json_get_str(block, "type", JSON_REQUIRED, 1, 100, &t, NULL) == 1 &&
	       view_eqs(t, type);
}

/* The text of a block: its own, or the name and the address of what it links to. */
static bool block_text(const struct json *block, struct str *hold, struct view *out)
{
	struct view name, uri;

	if (block_is(block, "text"))
		return json_get_str(block, "text", JSON_REQUIRED, 1, SIZE_MAX, out, NULL) == 1;
	if (!block_is(block, "resource_link") ||
		json_get_str(block, "uri", JSON_REQUIRED, 1, 8192, &uri, NULL) < 0)
		return false;
	if (json_get_str(block, "name", JSON_OPTIONAL, 1, 1000, &name, NULL) == 1)
		(void)str_addf(hold, "%.*s: ", VIEW_FMT(name));
	(void)str_add(hold, uri);
	*out = str_view(hold);
	return str_ok(hold);
}

static void take_text(struct acp_stream *s, const struct json *update)
{
	struct str hold = STR_INIT(16384);
	struct view text;

	if (block_text(json_member(update, "content"), &hold, &text)) {
		bool other = other_message(s, update);

		if (s->boundary || other)
			put(s, gap(s));
		s->boundary = false;
		put(s, text);
	}
	str_release(&hold);
}

static void take_thought(struct acp_stream *s, const struct json *update)
{
	struct str hold = STR_INIT(16384);
	struct view text;

	if (block_text(json_member(update, "content"), &hold, &text)) {
		s->boundary = true;
		s->sink.on_thought(s->sink.arg, text);
	}
	str_release(&hold);
}

/* --- Tool calls ------------------------------------------------------------------------------- */

static bool kind_acts(enum card_kind k)
{
	return k != CARD_READ && k != CARD_SEARCH && k != CARD_THINK && k != CARD_FETCH;
}

/* A call is told when it runs, not while its arguments are written; what was never seen to run is
 * told once it has ended. "In progress" may come before a permission, so it is not believed to
 * mean more. */
static void tell(struct acp_stream *s, struct card *c, bool ended_before)
{
	if (c->status == CARD_PENDING || ended_before)
		return;
	if (!c->told) {
		c->told = true;
		s->sink.on_tool(s->sink.arg, c, true);
	}
	if (card_ended(c))
		s->sink.on_tool(s->sink.arg, c, false);
}

struct card *acp_stream_card(struct acp_stream *s, const struct json *call)
{
	struct view id;
	struct card *c =
		json_get_str(call, "toolCallId", JSON_REQUIRED, 1, CARD_ID_MAX, &id, NULL) == 1
			? cards_find(s->cards, id)
			: NULL;
	bool ended = c && card_ended(c);

	s->boundary = s->used = true;
	c = cards_take(s->cards, call);
	if (!c)
		return NULL;
	s->acted = s->acted || (c->status != CARD_PENDING && kind_acts(c->kind));
	tell(s, c, ended);
	return c;
}

void acp_stream_end(struct acp_stream *s)
{
	struct card *c;

	while ((c = cards_unfinished(s->cards)) != NULL) {
		bool told = c->told;

		c->status = CARD_FAILED;
		if (told)
			s->sink.on_tool(s->sink.arg, c, false);
	}
}

/* --- Updates ---------------------------------------------------------------------------------- */

enum update { U_TEXT, U_THOUGHT, U_USER, U_CALL, U_CALL_UPDATE, U_PLAN, U_OTHER };

static enum update update_kind(const struct json *update)
{
	static const char *const names[] = {
		[U_TEXT] = "agent_message_chunk",
		[U_THOUGHT] = "agent_thought_chunk",
		[U_USER] = "user_message_chunk",
		[U_CALL] = "tool_call",
		[U_CALL_UPDATE] = "tool_call_update",
		[U_PLAN] = "plan",
		[U_OTHER] = NULL,
	};
	int kind = U_OTHER;

	(void)json_get_enum(update, "sessionUpdate", JSON_REQUIRED, names, &kind, NULL);
	return (enum update)kind;
}

bool acp_stream_update(struct acp_stream *s, const struct json *update)
{
	switch (update_kind(update)) {
	case U_TEXT: take_text(s, update); break;
	case U_THOUGHT: take_thought(s, update); break;
	case U_CALL:
	case U_CALL_UPDATE: (void)acp_stream_card(s, update); break;
	case U_PLAN: s->boundary = true; break;
	case U_USER: return true;
	case U_OTHER: return false;
	}
	s->used = true;
	return true;
}

static void call_id(const struct json *update, struct view *out)
{
	*out = VIEW_NONE;
	(void)json_get_str(update, "toolCallId", JSON_OPTIONAL, 1, CARD_ID_MAX, out, NULL);
}

bool acp_stream_late(struct acp_stream *s, const struct json *update)
{
	enum update kind = update_kind(update);
	struct view id;

	if (kind == U_TEXT || kind == U_THOUGHT)
		return json_get_str(update, "messageId", JSON_OPTIONAL, MESSAGE_ID_OWN,
			       MESSAGE_ID_MAX, &id, NULL) == 1 &&
		       view_eqs(id, s->past_message);
	call_id(update, &id);
	return kind == U_CALL_UPDATE && id.n > 0 && !cards_find(s->cards, id) &&
	       cards_find(s->past, id);
}

void acp_stream_past(struct acp_stream *s, const struct json *update)
{
	struct view id;

	s->used = true;
	if (update_kind(update) == U_TEXT)
		(void)other_message(s, update);
	call_id(update, &id);
	if (id.n > 0)
		(void)cards_take(s->cards, update);
}

void acp_stream_say(struct acp_stream *s, struct view words)
{
	if (str_add(&s->answer, words) == 0)
		s->sink.on_text(s->sink.arg, words);
	else
		s->answer.failed = false; /* what is there stays, and the next words may fit */
}

bool acp_stream_answered(const struct acp_stream *s)
{
	return s->answered;
}

struct view acp_stream_answer(const struct acp_stream *s)
{
	return str_view(&s->answer);
}

bool acp_stream_cut(const struct acp_stream *s)
{
	return s->cut;
}

bool acp_stream_acted(const struct acp_stream *s)
{
	return s->acted;
}
