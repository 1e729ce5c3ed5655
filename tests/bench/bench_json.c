/* The JSON gate and reading beside the parser library alone. */
#include "bench.h"

#include "base/json.h"

#include <cjson/cJSON.h>

struct corpus {
	const char *name;
	struct str text;
};

static const char message[] =
	"{\"seq\":%d,\"message_id\":%llu,\"from_user_id\":\"o9cqExampleUser@im.wechat\","
	"\"to_user_id\":\"0123456789ab@im.bot\",\"client_id\":\"7f1e2d3c-%d\",\"create_time_ms\":%llu,"
	"\"message_type\":1,\"message_state\":2,\"session_id\":\"s%d\",\"item_list\":[{\"type\":1,"
	"\"create_time_ms\":%llu,\"is_completed\":true,\"text_item\":{\"text\":\"帮我看一下 README.md 里的安装"
	"步骤，\\n然后把 \\\"依赖\\\" 那一节改成表格 \\ud83d\\ude00 thanks\"}}],\"context_token\":"
	"\"AARzJWAFAAABAAAAAAAp2m0f4u2Yc1Vb9kQxZ5o4IAAAAH9905Q6UiugPCmJ9dMXb6k0tW5hYkZpcXJ4c2RnaGprbA==\"}";

static void updates(struct str *s, int count)
{
	str_adds(s, "{\"ret\":0,\"msgs\":[");
	for (int i = 0; i < count; i++) {
		unsigned long long ms = 1753945200123ULL + (unsigned long long)i;

		str_adds(s, i > 0 ? "," : "");
		str_addf(s, message, i, 7497484083968569999ULL + (unsigned long long)i, i, ms, i,
			ms);
	}
	str_adds(s,
		"],\"get_updates_buf\":\"CgkI0Ykbase64ofacursor==\",\"longpolling_timeout_ms\":35000}");
}

static void numbers(struct str *s)
{
	str_addc(s, '[');
	for (int i = 0; i < 60000; i++)
		str_addf(s, "%s%d,%d.%d", i > 0 ? "," : "", i * 7919, i, i % 1000);
	str_addc(s, ']');
}

static void strings(struct str *s)
{
	str_addc(s, '[');
	for (int i = 0; i < 9000; i++)
		str_addf(s,
			"%s\"line %d of some text that goes on for a while, as answers do\\n\","
			"\"第 %d 行：一段普通的中文文字，长度和回答差不多。\"",
			i > 0 ? "," : "", i, i);
	str_addc(s, ']');
}

static void objects(struct str *s)
{
	str_addc(s, '{');
	for (int i = 0; i < 40000; i++)
		str_addf(s, "%s\"member%d\":%d", i > 0 ? "," : "", i, i);
	str_addc(s, '}');
}

static void run_cjson(void *arg)
{
	const struct str *s = arg;

	cJSON_Delete(cJSON_ParseWithLengthOpts(s->p, s->n, NULL, 0));
}

static void run_check(void *arg)
{
	if (json_check(str_view(arg), &json_limits_wire, NULL) < 0)
		abort();
}

static void run_read(void *arg)
{
	struct json *j = NULL;

	if (json_read(&j, str_view(arg), &json_limits_wire, NULL) < 0)
		abort();
	json_free(&j);
}

static void measure(const char *name, struct str *s)
{
	if (!str_ok(s))
		abort();

	double gate = bench_best(run_check, s), best[2];

	bench_versus(run_cjson, run_read, s, best);
	printf("%s, %zu bytes in memory\n", name, s->n);
	bench_rate("cJSON: parse and free", s->n, best[0]);
	bench_rate("json_check", s->n, gate);
	bench_rate("json_read and json_free", s->n, best[1]);
	bench_ratio("json_read", best[1], "cJSON alone", best[0]);
	str_release(s);
}

int main(void)
{
	struct str s = STR_INIT((size_t)2 << 20);

	bench_title("JSON: gate and parse beside the parser alone");
	updates(&s, 1);
	measure("getupdates, one message", &s);
	updates(&s, 20);
	measure("getupdates, 20 messages", &s);
	updates(&s, 1000);
	measure("getupdates, 1000 messages", &s);
	numbers(&s);
	measure("numbers, whole and with fractions", &s);
	strings(&s);
	measure("strings, English and Chinese", &s);
	objects(&s);
	measure("one object with 40000 members", &s);
	return 0;
}
