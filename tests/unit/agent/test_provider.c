/* The contracts of providers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/react/provider.h"

static const char *name_of(const char *word)
{
	const struct provider *p = provider_named(view_of(word));

	return p ? p->name : "none";
}

static void names_and_aliases(void **state)
{
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ "kimi", "kimi" },
		{ "Moonshot", "kimi" },
		{ "月之暗面", "kimi" },
		{ "deepseek", "deepseek" },
		{ "glm", "zhipu" },
		{ "ZHIPU", "zhipu" },
		{ "z.ai", "zhipu" },
		{ "step", "step" },
		{ "stepfun", "step" },
		{ "iflytek", "xfyun" },
		{ "讯飞", "xfyun" },
		{ "openai", "openai" },
		{ "silicon", "siliconflow" },
		{ "硅基流动", "siliconflow" },
		{ "ollama", "ollama" },
		{ "llama.cpp", "llamacpp" },
		{ "", "none" },
		{ "kim", "none" },
		{ "kimi ", "none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(rows[i].name, name_of(rows[i].word));
}

static void no_word_means_two_providers(void **state)
{
	const struct provider *p;

	(void)state;
	for (size_t i = 0; (p = provider_at(i)); i++) {
		assert_ptr_equal(p, provider_named(view_of(p->name)));
		for (const char *const *a = p->aliases; *a; a++)
			assert_ptr_equal(p, provider_named(view_of(*a)));
		for (const char *const *h = p->hosts; *h; h++)
			assert_ptr_equal(p, provider_of(view_of(*h)));
		assert_true(strncmp(p->base_url, "http", 4) == 0);
	}
}

static void hosts(void **state)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{ "api.moonshot.cn", "kimi" },
		{ "api.moonshot.ai", "kimi" },
		{ "API.KIMI.COM", "kimi" },
		{ "deepseek.com", "deepseek" },
		{ "open.bigmodel.cn", "zhipu" },
		{ "maas-api.cn-huabei-1.xf-yun.com", "xfyun" },
		{ "notdeepseek.com", "" },
		{ "deepseek.com.evil.example", "" },
		{ "127.0.0.1", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(rows[i].name, provider_of(view_of(rows[i].host))->name);
}

static struct contract contract(const char *provider, const char *host, const char *model)
{
	const struct provider *p = provider_named(view_of(provider));
	struct contract c;

	provider_contract(&c, p ? p : provider_of(view_of(host)), "http://in.use/v1", view_of(host),
		model);
	return c;
}

static void windows_by_the_models_name(void **state)
{
	static const struct {
		const char *provider, *model;
		int64_t window;
	} rows[] = {
		{ "kimi", "kimi-k2.6", 262144 },
		{ "kimi", "moonshot-v1-8k", 8192 },
		{ "deepseek", "deepseek-flash", 1000000 },
		{ "zhipu", "glm-5", 200000 },
		{ "zhipu", "GLM-5.2", 1000000 }, /* the longer part counts */
		{ "zhipu", "glm-4.5v", 65536 },
		{ "step", "step-3", 65536 },
		{ "step", "step-3.5-flash-2603", 262144 },
		{ "openai", "gpt-4.1-mini", 1047576 },
		{ "siliconflow", "Pro/moonshotai/Kimi-K2.5", 262144 },
		{ "openai", "some-new-model", PROVIDER_WINDOW },
		{ "", "some-new-model", PROVIDER_WINDOW },
		{ "ollama", "some-new-model", 32768 },
		{ "xfyun", "service-id", 32768 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rows[i].window,
			contract(rows[i].provider, "", rows[i].model).window);
}

static void reasoning_is_wanted_back_by_kimi_and_deepseek_alone(void **state)
{
	static const struct {
		const char *provider, *model;
		bool replays;
	} rows[] = {
		{ "kimi", "kimi-k2.6", true }, { "deepseek", "deepseek-flash", true },
		{ "siliconflow", "Pro/moonshotai/Kimi-K2.5", true },
		{ "siliconflow", "deepseek-ai/DeepSeek-V3.2", true },
		{ "siliconflow", "Qwen/Qwen3-32B", false }, { "zhipu", "glm-5.2", false },
		{ "step", "step-3.5-flash", false }, { "openai", "gpt-5", false },
		{ "ollama", "deepseek-r1", false },
		{ "", "kimi-k2.6",
			false }, /* an address nobody knows may refuse what it does not know */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rows[i].replays,
			contract(rows[i].provider, "", rows[i].model).replays);
}

static void only_xfyun_goes_without_tools_and_names_its_lora(void **state)
{
	const struct provider *p;

	(void)state;
	for (size_t i = 0; (p = provider_at(i)); i++) {
		bool xfyun = strcmp(p->name, "xfyun") == 0;

		assert_int_equal(xfyun, !contract(p->name, "", "m").tools);
		assert_int_equal(xfyun, p->header_name != NULL);
	}
	p = provider_named(VIEW("xfyun"));
	assert_string_equal("lora_id", p->header_name);
	assert_string_equal("0", p->header);
	assert_true(contract("", "127.0.0.1", "m").tools);
}

static void step_asks_for_reasoning_as_deepseek_names_it(void **state)
{
	const struct provider_member *m = contract("step", "", "step-3.5-flash").request;

	(void)state;
	assert_string_equal("reasoning_format", m[0].name);
	assert_string_equal("\"deepseek-style\"", m[0].json);
	assert_null(m[1].name);
	m = contract("step", "", "step-3.5-flash-2603").request;
	assert_string_equal("reasoning_format", m[0].name);
	assert_string_equal("reasoning_effort", m[1].name);
	assert_string_equal("\"high\"", m[1].json);
	assert_null(m[2].name);
	assert_null(contract("kimi", "", "kimi-2603").request[0].name);
}

static void the_glm_that_sees_has_its_own_endpoint(void **state)
{
	struct contract c = contract("glm", "open.bigmodel.cn", "GLM-5V-Turbo");

	(void)state;
	assert_string_equal("https://open.bigmodel.cn/api/paas/v4", c.base_url);
	assert_true(c.raw_pictures);
	c = contract("glm", "proxy.example", "glm-5v"); /* an address of one's own stays */
	assert_string_equal("http://in.use/v1", c.base_url);
	assert_true(c.raw_pictures);
	c = contract("glm", "open.bigmodel.cn", "glm-5.2");
	assert_string_equal("http://in.use/v1", c.base_url);
	assert_false(c.raw_pictures);
}

static void all_are_named_in_one_line(void **state)
{
	struct str s = STR_INIT(1000);

	(void)state;
	provider_names(&s);
	assert_string_equal(
		"kimi, deepseek, zhipu, step, xfyun, openai, siliconflow, ollama, llamacpp",
		str_cstr(&s));
	str_release(&s);
}

static void who_takes_pictures(void **state)
{
	static const struct {
		const char *model;
		bool sees;
	} rows[] = {
		{ "kimi-k2.6", true },
		{ "Pro/moonshotai/Kimi-K2.5", true },
		{ "kimi-k2.7-code", false },
		{ "kimi-k2-turbo-preview", false },
		{ "moonshot-v1-128k", false },
		{ "moonshot-v1-8k-vision-preview", true },
		{ "deepseek-v4-pro", false },
		{ "glm-5.2", false },
		{ "glm-5v", true },
		{ "step-3", true },
		{ "step-3.5-flash", false },
		{ "gpt-4.1-mini", true },
		{ "gpt-5", true },
		{ "gpt-3.5-turbo", false },
		{ "qwen3", false },
		{ "Qwen/Qwen3-VL-30B-A3B-Instruct", true },
		{ "qwen2.5vl:7b", true },
		{ "gemma3:4b", true },
		{ "gemma3:1b", false },
		{ "local", false },
		{ "", false },
	};
	struct contract c;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		provider_contract(&c, provider_of(VIEW("127.0.0.1")), "http://127.0.0.1/v1",
			VIEW("127.0.0.1"), rows[i].model);
		if (c.sees != rows[i].sees)
			fail_msg("%s", rows[i].model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_pictures),
		cmocka_unit_test(names_and_aliases),
		cmocka_unit_test(no_word_means_two_providers),
		cmocka_unit_test(hosts),
		cmocka_unit_test(windows_by_the_models_name),
		cmocka_unit_test(reasoning_is_wanted_back_by_kimi_and_deepseek_alone),
		cmocka_unit_test(only_xfyun_goes_without_tools_and_names_its_lora),
		cmocka_unit_test(step_asks_for_reasoning_as_deepseek_names_it),
		cmocka_unit_test(the_glm_that_sees_has_its_own_endpoint),
		cmocka_unit_test(all_are_named_in_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
