/* doctor: every layer on its own, from the ground up; each failing line ends with what to do. */
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "cli/app.h"
#include "cli/doctor-private.h"

/* On one line, however it came here. */
static void finding(const char *mark, const char *what, const char *fmt, va_list ap)
{
	struct str text = STR_INIT(8192), safe = STR_INIT(8192);

	(void)str_addv(&text, fmt, ap);
	(void)text_visible(str_view(&text), &safe);
	printf("%s  %-10s %s\n", mark, what, str_cstr(&safe));
	str_release(&text);
	str_release(&safe);
}

void say_ok(const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding("ok  ", what, fmt, ap);
	va_end(ap);
}

void say_bad(struct doctor *d, bool fail, const char *what, const char *todo, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding(fail ? "FAIL" : "warn", what, fmt, ap);
	va_end(ap);
	printf("      -> %s\n", todo);
	if (fail)
		d->failed++;
	else
		d->warned++;
}

static int open_network(struct doctor *d, struct err *e)
{
	struct http_rules r;

	if (loop_open(&d->loop, NULL, e) < 0)
		return -1;
	rules_for_ilink(&r, d->cfg);
	if (http_open(&d->ilink_http, d->loop, &r, NULL, e) < 0)
		return -1;
	rules_for_model(&r, d->cfg);
	return http_open(&d->model_http, d->loop, &r, NULL, e);
}

static void check_outside(struct doctor *d)
{
	doctor_account(d);
	doctor_search(d);
	doctor_voice(d);
	doctor_daemon(d);
}

/* Everything, or what the engine needs and one turn of it. */
static int check_all(struct doctor *d, bool engine, struct err *e)
{
	if (open_network(d, e) < 0)
		return -1;
	doctor_policy(d);
	doctor_workspace(d);
	doctor_sandbox(d);
	doctor_libraries(d);
	doctor_engine(d, engine);
	if (!engine)
		check_outside(d);
	return 0;
}

int cmd_doctor(const struct home *h, int argc, char **argv)
{
	bool engine = argc == 2 && strcmp(argv[1], "--engine") == 0;
	struct doctor d = { .home = h };
	struct err e = ERR_INIT;
	int rc = 0;

	if (argc > 1 && !engine)
		return say_usage("doctor", "doctor takes --engine, and nothing else");
	doctor_home(&d);
	doctor_disk(&d);
	doctor_state(&d);
	doctor_media(&d);
	if (doctor_config(&d))
		rc = check_all(&d, engine, &e);
	if (rc < 0)
		rc = say_err(&e);
	else
		rc = d.failed ? EXIT_FAILED : EXIT_DONE;
	if (e.code == E_OK)
		printf("\n%d failed, %d to look at\n", d.failed, d.warned);
	tools_close(&d.tools);
	http_close(&d.ilink_http);
	http_close(&d.model_http);
	loop_close(&d.loop);
	account_free(&d.account);
	config_free(&d.cfg);
	return rc;
}
