/* What there is to be called, by whom, and what confines it. */
#include <string.h>

#include "tools/host/registry-private.h"

const struct native_tool *registry_native(const struct tools *t, const char *name)
{
	for (size_t i = 0; i < NATIVES_MAX; i++)
		if (t->natives[i].name && strcmp(t->natives[i].name, name) == 0)
			return &t->natives[i];
	return NULL;
}

int tools_add_native(struct tools *t, const struct native_tool *tool, struct err *e)
{
	const struct tool_spec *spec = spec_find(tool->name);

	if (!spec || !spec->native)
		return err_set(e, E_NOTFOUND, "no tool %s works in the daemon", tool->name);
	if (registry_native(t, tool->name))
		return err_set(e, E_EXISTS, "there is a tool %s already", tool->name);
	for (size_t i = 0; i < NATIVES_MAX; i++) {
		if (t->natives[i].name)
			continue;
		t->natives[i] = *tool;
		return 0;
	}
	return err_set(e, E_FULL, "more than %d tools in the daemon", NATIVES_MAX);
}

void tools_drop_native(struct tools *t, const char *name, const void *self)
{
	for (size_t i = 0; i < NATIVES_MAX; i++)
		if (t->natives[i].name && t->natives[i].self == self &&
			strcmp(t->natives[i].name, name) == 0)
			t->natives[i] = (struct native_tool){ .name = NULL };
}

bool registry_present(const struct tools *t, const struct tool_spec *s)
{
	return !s->native || registry_native(t, s->name);
}

bool registry_offers(const struct tools *t, const struct tool_spec *s, enum origin origin)
{
	return registry_present(t, s) && policy_offers(t->env.policy, s->name, origin);
}

int tools_schema(const struct tools *t, enum origin origin, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open_array(&w, NULL);
	for (size_t i = 0; i < spec_count(); i++)
		if (registry_offers(t, spec_at(i), origin))
			spec_write(spec_at(i), &w);
	json_close_array(&w);
	return json_out_end(&w, e);
}

void tools_denied(const struct tools *t, enum origin origin, struct str *out)
{
	const char *said = "";

	for (size_t i = 0; i < spec_count(); i++) {
		const struct tool_spec *s = spec_at(i);
		const char *setting = policy_setting(t->env.policy, s->name);

		if (!registry_present(t, s) || registry_offers(t, s, origin) || !setting ||
			strcmp(setting, said) == 0)
			continue;
		policy_say_denied(t->env.policy, s->name, origin, out);
		(void)str_addc(out, '\n');
		said = setting;
	}
}

bool tools_acts(const struct tools *t, const char *name)
{
	const struct tool_spec *s = spec_find(name);

	(void)t;
	return s && s->acts;
}

/* --- What confines it ------------------------------------------------------------------------- */

const struct sandbox *tools_sandbox(struct tools *t)
{
	watch_free(&t->probe);
	sandbox_settle(&t->sandbox);
	return &t->sandbox;
}

int tools_lacks(const struct tools *t, struct str *out, struct err *e)
{
	return sandbox_lacks(t->helper, out, e);
}
