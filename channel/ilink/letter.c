#include "channel/ilink/letter.h"

#include <stdlib.h>
#include <string.h>

int letter_copy(struct letter *out, const struct chan_send *s, struct err *e)
{
	const char *const from[] = { s->to, s->token, s->client_id, s->file->name, s->file->md5 };
	const char **const to[] = { &out->send.to, &out->send.token, &out->send.client_id,
		&out->file.name, &out->file.md5 };

	*out = (struct letter){ .send = *s, .file = *s->file };
	out->send.text = VIEW_NONE;
	out->send.file = &out->file;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		out->hold[i] = strdup(from[i] ? from[i] : "");
		if (!out->hold[i]) {
			letter_release(out);
			return err_set(e, E_NOMEM, "no memory to send a file");
		}
		*to[i] = out->hold[i];
	}
	return 0;
}

void letter_release(struct letter *l)
{
	for (size_t i = 0; i < sizeof(l->hold) / sizeof(l->hold[0]); i++) {
		if (l->hold[i])
			explicit_bzero(l->hold[i], strlen(l->hold[i])); /* a token is among them */
		free(l->hold[i]);
	}
	*l = (struct letter){ .hold = { NULL } };
}
