/* doctor: what the agent is helped by: web search, voices. */
#include "cli/doctor-private.h"

#include "cli/ears.h"
#include "cli/search.h"
#include "tools/host/program.h"

void doctor_search(struct doctor *d)
{
	struct str names = STR_INIT(160);

	search_text(d->cfg, &names);
	if (names.n > 0)
		say_ok("search", "%s", str_cstr(&names));
	else
		say_ok("search", "no provider is set up, so the agent cannot search the web "
				 "(kairo.toml(5), [search])");
	str_release(&names);
}

/* True: it could be run. */
static bool check_program(struct doctor *d, const char *name, const char *const *argv)
{
	struct err e = ERR_INIT;

	if (program_check(d->tools, argv, &e) == 0)
		return true;
	say_bad(d, false, "voice", "see kairo.toml(5), [voice]", "%s: %s", name, e.msg);
	return false;
}

static bool check_listener(struct doctor *d, const struct voice_settings *s)
{
	if (!s->transcriber[0])
		return doctor_host(d, "voice", s->base_url);
	if (s->base_url[0])
		say_bad(d, false, "voice", "unset one of the two",
			"voice.base_url is not asked: voice.transcriber comes before it");
	return check_program(d, "voice.transcriber", s->transcriber);
}

static void say_half(struct doctor *d, const struct voice_settings *s)
{
	if (s->base_url[0] || s->name[0] || s->decoder[0])
		say_bad(d, false, "voice",
			"set voice.transcriber, or voice.base_url and voice.name",
			"half of it is set up: nothing listens to a voice that came without text");
	else
		say_ok("voice", "WeChat's own text; a voice that came without is not heard "
				"(kairo.toml(5), [voice])");
}

/* Does what is set up for voices hold, as far as can be told without one? */
void doctor_voice(struct doctor *d)
{
	struct voice_settings s;

	voice_settings_from(&s, d->cfg);
	if (!d->tools) /* said above */
		return;
	if (!voice_set_up(&s))
		say_half(d, &s);
	else if (!check_listener(d, &s))
		return; /* said */
	else if (!s.decoder[0])
		say_bad(d, false, "voice", "see contrib/voice",
			"voice.decoder is not set: WeChat's own format (SILK) cannot be heard");
	else if (check_program(d, "voice.decoder", s.decoder))
		say_ok("voice", "%s", s.transcriber[0] ? s.transcriber[0] : s.name);
}
