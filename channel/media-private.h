/* channel/media-private.h: shared by media.c (rows), media_name.c and media_sniff.c (pure),
 * media_file.c (one file on its way into the folder), media_fetch.c (fetching, hearing) and
 * media_keep.c (how long). */
#ifndef CHANNEL_MEDIA_PRIVATE_H
#define CHANNEL_MEDIA_PRIVATE_H

#include "base/file.h"
#include "channel/media.h"

#define MEDIA_OFFICE "application/vnd.openxmlformats-officedocument."
#define MEDIA_DOCX   MEDIA_OFFICE "wordprocessingml.document"
#define MEDIA_XLSX   MEDIA_OFFICE "spreadsheetml.sheet"
#define MEDIA_PPTX   MEDIA_OFFICE "presentationml.presentation"

/* channel_media.hear: of a voice whose words are wanted. */
enum media_hear { HEAR_NOT, HEAR_WANTED, HEAR_OVER };

/* --- One file on its way ---------------------------------------------------------------------- */
struct media_part {
	int dir, fd; /* of the day's folder, and of the file under its temporary name; -1: none */
	char day[MEDIA_KEY_HEX + sizeof("/2026-01-01")]; /* relative to the media folder */
	char temp[32];
};

/* What it is once it is whole. */
struct media_kept {
	const char *type;
	int64_t size;
	char name[MEDIA_NAME_MAX + 1];
	char path[MEDIA_PATH_MAX + 1];
};

int media_part_open(struct media_part *p, const struct room *r, const char *user, struct err *e);
/* Empty again, for another try. */
int media_part_rewind(struct media_part *p, struct err *e);
/* On disk under its own name; the part is closed either way, and removed on failure. */
int media_part_keep(struct media_part *p, struct view claimed, enum chan_item_kind kind,
	struct media_kept *out, struct err *e);
void media_part_drop(struct media_part *p);

/* --- How long --------------------------------------------------------------------------------- */
/* Removes what no row knows: half files, and those whose row was not committed. */
int media_sweep(const struct room *r, struct err *e);

#endif
