#include "tools/exec/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "tools/confine.h"
#include "tools/exec/cgroup.h"
#include "tools/exec/codec.h"
#include "tools/exec/html.h"
#include "tools/exec/namespace.h"
#include "tools/exec/serve.h"

int probe_main(const char *workspace)
{
	static struct namespace_plan plan;
	struct str line = STR_INIT(4096);
	struct cgroup group;
	struct err e = ERR_INIT;
	struct json_out w;
	bool namespaces;
	int rc = -1;

	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	plan.programs = true;
	plan.start = workspace;
	/* As whoever a call will be, and with the folder that it will have. */
	namespaces = become_owner(workspace, &e) == 0 &&
	             namespace_add(&plan, workspace, NAMESPACE_WRITE, &e) == 0 &&
	             namespace_probe(&plan, &e) == 0;
	json_out_begin(&w, &line);
	json_open(&w, NULL);
	json_put_int(&w, "user", geteuid());
	json_put_bool(&w, "namespaces", namespaces);
	json_put_z(&w, "why", e.msg);
	json_put_int(&w, "landlock", confine_landlock_abi());
	json_put_bool(&w, "seccomp", confine_seccomp());
	cgroup_make(&group, 0);
	json_put_bool(&w, "cgroup", group.made);
	cgroup_remove(&group);
	json_close(&w);
	if (json_out_end(&w, NULL) == 0 && puts(str_cstr(&line)) >= 0)
		rc = 0;
	str_release(&line);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int probe_libraries(void)
{
	struct codec *codec;
	struct err pictures = ERR_INIT, pages = ERR_INIT;
	int rc = 0;

	if (codec_open(&codec, &pictures) < 0)
		rc = puts(pictures.msg);
	codec_close(&codec);
	if (rc >= 0 && html_prepare(&pages) < 0)
		rc = puts(pages.msg);
	return rc >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
