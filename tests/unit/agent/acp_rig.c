#include "acp_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/words.h"

static void answer(struct fix *f, const char *id)
{
	int choice = f->choice;

	if (f->nchoices > 0) {
		choice = *f->choices++;
		f->nchoices--;
	}
	(void)snprintf(f->asked, sizeof(f->asked), "%s", id);
	if (choice == NO_ANSWER)
		return;
	if (choice == LEAVE_OPEN)
		f->engine->ops->cancel(f->engine, f->turn);
	else
		assert_int_equal(0, f->engine->ops->answer(f->engine, id, choice, NULL));
}

void on_event(void *arg, const struct engine_event *ev)
{
	struct fix *f = arg;

	if (ev->type == ENGINE_NOTICE) {
		assert_int_equal(0, ev->turn);
		(void)str_addf(&f->notices, "{%s: %.*s}", ev->conversation, VIEW_FMT(ev->text));
		return;
	}
	if (ev->type == ENGINE_BUSY) {
		assert_int_equal(0, ev->turn);
		(void)str_adds(&f->notices, ev->ok ? "<busy>" : "</busy>");
		return;
	}
	assert_int_equal(f->turn, ev->turn);
	assert_false(f->done);
	switch (ev->type) {
	case ENGINE_TEXT:
		(void)str_add(&f->text, ev->text);
		if (f->cancel_on_text)
			f->engine->ops->cancel(f->engine, f->turn);
		break;
	case ENGINE_TOOL_STARTED:
		(void)str_addf(&f->seen, "<%s:%.*s>", ev->name, VIEW_FMT(ev->text));
		break;
	case ENGINE_TOOL_FINISHED:
		(void)str_addf(&f->seen, "</%s %s>", ev->name, ev->ok ? "ok" : "failed");
		break;
	case ENGINE_APPROVAL:
		(void)str_addf(&f->seen, "{%s %.*s}", ev->name, VIEW_FMT(ev->text));
		assert_true(ev->standard_choices);
		answer(f, ev->id);
		break;
	case ENGINE_QUESTION:
		(void)str_addf(&f->seen, "{%s%.*s", ev->several ? "*" : "?", VIEW_FMT(ev->text));
		for (const char *const *c = ev->choices; *c; c++)
			(void)str_addf(&f->seen, "|%s", *c);
		(void)str_addc(&f->seen, '}');
		answer(f, ev->id);
		break;
	case ENGINE_WITHDRAWN:
		assert_string_equal(f->asked, ev->id);
		(void)str_adds(&f->seen, "{withdrawn}");
		break;
	case ENGINE_DONE:
		f->done = true;
		f->fail = ev->fail;
		(void)snprintf(f->detail, sizeof(f->detail), "%s", ev->detail);
		break;
	default: break;
	}
}

void write_script(struct fix *f, const char *script)
{
	FILE *out = fopen(f->script, "we");

	assert_non_null(out);
	assert_true(fputs(script, out) >= 0);
	assert_int_equal(0, fclose(out));
}

void open_engine(struct fix *f)
{
	const char *const argv[] = { "acp_agent", f->script, f->record, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	const struct acp_env acp = {
		.loop = f->loop,
		.log = f->log,
		.db = f->db,
		.tools = f->tools,
		.speak = words_speech,
		.name = "scripted",
		.path = ACP_AGENT,
		.argv = argv,
		.env = env,
		.workspace = f->dir.dir,
		.login = "scripted login",
		.offer = f->offer,
		.strict = f->strict,
		.settings = f->settings,
		.instructions = f->instructions,
		.hooks_home = f->hooks_home,
		.mcp = f->mcp,
	};

	assert_int_equal(0, acp_open(&f->engine, &acp, NULL));
	f->engine->on_event = on_event;
	f->engine->arg = f;
}

int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));
	char path[512];

	assert_non_null(f);
	scratch_make(&f->dir);
	(void)snprintf(f->script, sizeof(f->script), "%s/script", f->dir.dir);
	(void)snprintf(f->record, sizeof(f->record), "%s/record", f->dir.dir);
	(void)snprintf(path, sizeof(path), "%s/state.db", f->dir.dir);
	f->text = STR_INIT(1 << 24);
	f->seen = STR_INIT(1 << 16);
	f->notices = STR_INIT(1 << 20);
	f->language = "en";
	f->user = "user";
	assert_int_equal(0, loop_open(&f->loop, NULL, NULL));
	assert_int_equal(0, log_open_fd(&f->log, STDERR_FILENO, LOG_ERROR, NULL));
	assert_int_equal(0, db_open(&f->db, path, NULL));
	write_script(f, "{}");
	open_engine(f);
	*state = f;
	return 0;
}

int teardown(void **state)
{
	struct fix *f = *state;

	f->engine->ops->close(&f->engine);
	tools_close(&f->tools);
	policy_free(&f->policy);
	audit_close(&f->audit);
	db_close(&f->db);
	log_close(&f->log);
	loop_close(&f->loop);
	str_release(&f->text);
	str_release(&f->seen);
	str_release(&f->notices);
	scratch_remove(&f->dir);
	free(f);
	return 0;
}

void begin(struct fix *f, const char *text)
{
	const struct turn_input in = {
		.turn = ++f->turn,
		.conversation = f->user,
		.origin = ORIGIN_PHONE,
		.owner = !f->guest,
		.text = view_of(text),
		.language = f->language,
	};

	f->done = false;
	f->detail[0] = '\0';
	str_reset(&f->text);
	str_reset(&f->seen);
	assert_int_equal(0, f->engine->ops->start(f->engine, &in, NULL));
	assert_false(f->done);
}

void step(struct fix *f)
{
	assert_int_equal(0, loop_step(f->loop, 50, NULL));
}

void finish(struct fix *f)
{
	for (int i = 0; i < PATIENCE && !f->done; i++)
		step(f);
	assert_true(f->done);
}

void ask(struct fix *f, const char *text)
{
	begin(f, text);
	finish(f);
}

char *recorded(const struct fix *f)
{
	struct str all = STR_INIT(1 << 24);
	FILE *in = fopen(f->record, "re");
	char buf[4096];
	size_t n;

	while (in && (n = fread(buf, 1, sizeof(buf), in)) > 0)
		(void)str_add(&all, (struct view){ buf, n });
	if (in)
		(void)fclose(in);
	return str_take(&all);
}

int count(const struct fix *f, const char *what)
{
	char *all = recorded(f);
	int n = 0;

	assert_non_null(all);
	for (const char *p = all; (p = strstr(p, what)) != NULL; p++)
		n++;
	free(all);
	return n;
}

/* Until the agent has read that. */
void await(struct fix *f, const char *what)
{
	for (int i = 0; i < PATIENCE && count(f, what) == 0; i++)
		step(f);
	assert_true(count(f, what) > 0);
}

void with_policy(struct fix *f, const struct policy_rules *rules)
{
	struct tools_env env = { .loop = f->loop, .log = f->log, .helper = KAIRO_TOOL };
	char path[512];

	f->engine->ops->close(&f->engine);
	tools_close(&f->tools);
	policy_free(&f->policy);
	audit_close(&f->audit);
	(void)unlink(f->record);
	(void)snprintf(path, sizeof(path), "%s/audit", f->dir.dir);
	(void)remove_tree(path);
	assert_int_equal(0, audit_open(&f->audit, path, NULL, NULL));
	env.audit = f->audit;
	assert_int_equal(0, policy_open(&f->policy, rules, NULL));
	env.workspace = f->dir.dir;
	env.policy = f->policy;
	env.word = words_wording;
	assert_int_equal(0, tools_open(&f->tools, &env, NULL));
	open_engine(f);
}
