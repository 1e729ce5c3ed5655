/* agent/pictures.h: what came with a message for the engine to hand on, beside its text: the files
 * of the turn, and the pictures that its text names as @image:PATH. Pictures are made fit for a
 * model one after the other (tools/host/picture.h).
 *
 * @image:PATH, @image:<PATH WITH SPACES>, @image:file:///PATH%20HERE and the latter in <> are taken
 * from the user's own words, not from a quote. The path lies in the workspace or among what the
 * conversation has received; a name that ends in that of a picture may be followed by other
 * writing at once. */
#ifndef AGENT_PICTURES_H
#define AGENT_PICTURES_H

#include "agent/engine.h"
#include "tools/host/picture.h"

#define PICTURES_MAX   8                  /* shown with one message; more are named */
#define PICTURES_BYTES ((size_t)14 << 20) /* of their base64 in all: a message to an agent has 16 */

struct pictures;

struct enclosed {
	const char *path; /* absolute, or as it was written */
	const char *name; /* without folders */
	const char *type; /* by its content; "": not known */
	int64_t size;     /* -1: not known */
	bool picture;
	bool shown;           /* a picture that has been loaded: */
	struct picture bytes; /* its parts; good as long as the pictures */
	const char *why;      /* a picture that cannot be shown: why not, a sentence; else "" */
};

/* All of the input is copied. *out NULL: nothing came with it. */
int pictures_open(struct pictures **out, struct tools *tools, const struct turn_input *in,
	struct err *e);
/* Ends what is under way; done is not called any more. */
void pictures_free(struct pictures **p);

/* Loads the pictures, within the limits above. done comes once, from the loop or from inside. A
 * second call changes nothing but who is told. */
void pictures_load(struct pictures *p, void (*done)(void *arg), void *arg);

/* In the order of the message; NULL behind the last. */
const struct enclosed *pictures_at(const struct pictures *p, size_t i);
bool pictures_loaded(const struct pictures *p);  /* None is left to be. p may be NULL */
bool pictures_any(const struct pictures *p);     /* Is a picture among them? p may be NULL */
size_t pictures_shown(const struct pictures *p); /* how many are loaded */
/* A line for each picture: as which number it is shown, or why it is not. blind: none is, for this
 * reason; else NULL. */
void pictures_tell(const struct pictures *p, const char *blind, struct str *out);

/* The next reference in text, behind *at, which is moved on: its path, in words of the user. False:
 * there is none. path is to be released. */
bool image_ref_next(struct view text, size_t *at, struct str *path);

#endif
