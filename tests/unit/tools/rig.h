/* tests/unit/tools/rig.h: the registry with a workspace and a folder of Kairo's own, and what
 * became of its last call. */
#ifndef TESTS_UNIT_TOOLS_RIG_H
#define TESTS_UNIT_TOOLS_RIG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "tools/host/registry.h"
#include "remove_tree.h"

static struct {
	char dir[64], ws[96], home[96]; /* the first holds the others */
	struct loop *loop;
	struct audit *audit; /* or NULL; freed with the rest */
	struct policy *policy;
	wording_fn *word; /* or NULL */
	struct tools *tools;
	int done; /* calls that have ended; of the last one: */
	bool ok, cancelled, acted;
	enum err_code error;
	struct str text;
} rig;

static inline void rig_make(const struct clock *clk)
{
	const struct str empty = STR_INIT((size_t)64 << 20);
	struct err e = ERR_INIT;

	memset(&rig, 0, sizeof(rig));
	rig.text = empty;
	(void)snprintf(rig.dir, sizeof(rig.dir), "/tmp/kairo-tools-XXXXXX");
	assert_non_null(mkdtemp(rig.dir));
	(void)snprintf(rig.ws, sizeof(rig.ws), "%s/ws", rig.dir);
	(void)snprintf(rig.home, sizeof(rig.home), "%s/home", rig.dir);
	assert_int_equal(0, mkdir(rig.ws, 0755));
	assert_int_equal(0, mkdir(rig.home, 0700));
	assert_int_equal(0, loop_open(&rig.loop, clk, &e));
}

static inline struct tools_env rig_env(void)
{
	struct tools_env env = { .loop = rig.loop, .audit = rig.audit, .helper = KAIRO_TOOL };

	env.workspace = rig.ws;
	env.hide = rig.home;
	env.policy = rig.policy;
	env.word = rig.word;
	return env;
}

/* Once more: with other rules. */
static inline void rig_open(const struct policy_rules *rules)
{
	struct tools_env env;
	struct err e = ERR_INIT;

	tools_close(&rig.tools);
	policy_free(&rig.policy);
	if (policy_open(&rig.policy, rules, &e) < 0)
		fail_msg("%s", e.msg);
	env = rig_env();
	if (tools_open(&rig.tools, &env, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline int rig_remove(void)
{
	tools_close(&rig.tools);
	policy_free(&rig.policy);
	audit_close(&rig.audit);
	loop_close(&rig.loop);
	str_release(&rig.text);
	return remove_tree(rig.dir);
}

static inline void rig_on_done(void *arg, const struct tool_result *r)
{
	(void)arg;
	rig.done++;
	rig.ok = r->ok;
	rig.cancelled = r->cancelled;
	rig.acted = r->acted;
	rig.error = r->error;
	str_reset(&rig.text);
	assert_int_equal(0, str_add(&rig.text, r->text));
}

/* For one end, and no second one. */
static inline void rig_wait(void)
{
	struct err e = ERR_INIT;

	while (rig.done == 0)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
	assert_int_equal(0, loop_step(rig.loop, 0, &e));
	assert_int_equal(1, rig.done);
}

static inline bool says(const char *word)
{
	return strstr(str_cstr(&rig.text), word);
}

#endif
