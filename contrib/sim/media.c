#include "media.h"

#include <stdlib.h>

struct media {
	int dummy;
};

int media_open(struct media **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "out of memory");
}
void media_close(struct media **m) { free(*m); *m = NULL; }
void cdn_on_request(void *arg, struct hreq *r) { (void)arg; hreq_drop(&r, false); }
int media_accept(struct call *c, const struct json *item, struct delivery *d, const char **errmsg)
{ (void)c; (void)item; (void)d; *errmsg = "prepare failed"; return -1; }
int media_plain(struct sim *s, uint64_t id, struct str *out, const char **name, const char **type)
{ (void)s; (void)id; (void)out; *name = *type = NULL; return -1; }
void getuploadurl(struct call *c);
void getuploadurl(struct call *c) { call_refuse(c, -1, "not here"); }
