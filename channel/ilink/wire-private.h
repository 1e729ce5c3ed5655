/* channel/ilink/wire-private.h: what the files of wire.h share. */
#ifndef CHANNEL_ILINK_WIRE_PRIVATE_H
#define CHANNEL_ILINK_WIRE_PRIVATE_H

#include "channel/ilink/wire.h"

/* Parse one answer; E_FORMAT unless it is an object. */
int wire_parse(struct json **out, struct view body, struct err *e);
int wire_get_code(const struct json *root, struct wire_code *out, struct err *e);
/* A member that is a number, or the digits of one as a string. "" counts as absent. */
int wire_get_number(const struct json *obj, const char *name, int64_t *out, struct err *e);
/* As json_get_str, and the text must be opaque (wire_is_opaque) or empty. */
int wire_get_opaque(const struct json *obj, const char *name, enum json_need need, size_t max,
	struct view *out, struct err *e);
/* One line without controls and secrets, cut to fit. */
void wire_safe_line(struct view in, char *out, size_t size);

#endif
