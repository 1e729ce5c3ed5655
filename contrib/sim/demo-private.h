/* contrib/sim/demo-private.h: what the files of the demo share. */
#ifndef SIM_DEMO_PRIVATE_H
#define SIM_DEMO_PRIVATE_H

#include "model.h"

#define FILES_MAX 9 /* of one message that are spoken of */

/* "picture a.png, image/png, 109 B, /path": the line of a prompt that tells of a file. */
struct attached {
	struct view what, path;
};

struct demo {
	const struct json *request;
	const struct json *message; /* the newest of the person */
	struct str words;           /* its text without Kairo's own lines about files and quotes */
	struct view user;           /* the same */
	struct view quoted;         /* p NULL: nothing */
	struct attached files[FILES_MAX];
	size_t nfiles;
	struct view picture; /* path of the newest picture that ever came; p NULL: none */
	struct view result;  /* of the tool that was called since; p NULL: none */
	struct view called;  /* that tool's name */
	bool zh;
	struct demo_answer *out;
};

void say(struct demo *d, const char *zh, const char *en);
bool says_any(const struct demo *d, const char *const *words);
bool offered(const struct demo *d, const char *tool);
void call(struct demo *d, const char *name, const char *key1, struct view value1, const char *key2,
	struct view value2);
void show_result(struct demo *d); /* of the tool, as a quotation or as code */
bool result_has(const struct demo *d, const char *words);
/* A word that looks like a file name: the first with a dot inside it, or a slash in front; p NULL:
 * none. */
struct view file_named(struct view text);

/* --- demo_media.c ----------------------------------------------------------------------------- */
/* Is this line of a prompt Kairo's own for a file? One that did not come has no path. */
bool read_attached(struct view line, struct attached *f);
bool is_picture(const struct attached *f);
bool is_voice(const struct attached *f); /* its words are the message */
/* Something came with the newest message. */
bool demo_got_media(const struct demo *d);
void demo_media(struct demo *d); /* tells what it was given, and reads a text aloud */
extern const char *const demo_send_words[];
void demo_send(struct demo *d); /* sends a file: by send_file, or by a tag in the answer */

#endif
