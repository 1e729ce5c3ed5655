/* Secrets go, prose and code stay. None of the keys below was ever anybody's. */
#include "base/json.h"
#include "base/text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define HEX32   "0123456789abcdef0123456789abcdef"
#define B64_40  "QWxhZGRpbjpvcGVuIHNlc2FtZSBvbmUgMSB0d28y"
#define B64_120 B64_40 B64_40 B64_40
#define B64_119 B64_40 B64_40 "QWxhZGRpbjpvcGVuIHNlc2FtZSBvbmUgMSB0d28"
#define JWT \
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

struct row {
	const char *in, *want;
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct str s = STR_INIT(10000), again = STR_INIT(10000);
		const char *want = rows[i].want ? rows[i].want : rows[i].in;

		assert_int_equal(text_redact(view_of(rows[i].in), &s), 0);
		if (!view_eqs(str_view(&s), want))
			fail_msg("row %zu\n   in: %s\n  out: %s\n want: %s", i, rows[i].in,
				str_cstr(&s), want);
		assert_int_equal(text_redact(str_view(&s), &again), 0);
		if (!view_eq(str_view(&s), str_view(&again)))
			fail_msg("row %zu, twice\n  out: %s\n then: %s", i, str_cstr(&s),
				str_cstr(&again));
		str_release(&s);
		str_release(&again);
	}
}

static void the_wire_protocol(void **state)
{
	static const struct row rows[] = {
		{ "{\"ret\":0,\"bot_token\":\"0123456789ab@im.bot:06000000aa11\",\"n\":1}",
			"{\"ret\":0,\"bot_token\":\"[redacted]\",\"n\":1}" },
		{ "{\"context_token\": \"AARzExample\"}", "{\"context_token\": \"[redacted]\"}" },
		{ "{\"typing_ticket\":\"t\"}", "{\"typing_ticket\":\"[redacted]\"}" },
		{ "{\"aeskey\":\"" HEX32 "\",\"aes_key\":\"MDEy\"}",
			"{\"aeskey\":\"[redacted]\",\"aes_key\":\"[redacted]\"}" },
		{ "{\"upload_param\":\"a b\",\"thumb_upload_param\":\"x\"}",
			"{\"upload_param\":\"[redacted]\",\"thumb_upload_param\":\"[redacted]\"}" },
		{ "{\"encrypt_query_param\":\"QWJj\",\"encrypt_type\":1}",
			"{\"encrypt_query_param\":\"[redacted]\",\"encrypt_type\":1}" },
		{ "\"full_url\":\"https://novac2c.cdn.weixin.qq.com/c2c/download?x=QWJj&taskid=1\"}",
			"\"full_url\":\"[redacted]\"}" },
		{ "\"upload_full_url\":\"https://h/p?q\"", "\"upload_full_url\":\"[redacted]\"" },
		{ "{\"qrcode\":\"9f0c2b7e6a514d3f\",\"qrcode_img_content\":\"https://l.weixin.qq.com/q/abc\"}",
			"{\"qrcode\":\"[redacted]\",\"qrcode_img_content\":\"[redacted]\"}" },
		{ "{\"local_token_list\":[\"tokenNewest\",\"tokenOlder\"],\"x\":[1]}",
			"{\"local_token_list\":\"[redacted]\",\"x\":[1]}" },
		{ "{\"context_tokens\":{\"o9@im\":\"AA]}R\",\"p\":[\"x\"]},\"x\":{}}",
			"{\"context_tokens\":\"[redacted]\",\"x\":{}}" },
		{ "{\"verify_code\":123456,\"a\":1}", "{\"verify_code\":\"[redacted]\",\"a\":1}" },
		{ "GET /ilink/bot/get_qrcode_status?qrcode=9f0c2b&verify_code=4711 200",
			"GET /ilink/bot/get_qrcode_status?qrcode=[redacted]&verify_code=[redacted] 200" },
		{ "https://h/c2c/download?encrypted_query_param=QWJj%2B&filekey=" HEX32 "&taskid=1",
			"https://h/c2c/download?encrypted_query_param=[redacted]&filekey=[redacted]&taskid=1" },
		{ "x-encrypted-param: AAFFexample", "x-encrypted-param: [redacted]" },
		{ "{\"local_token_list\":[],\"context_tokens\":{}}", NULL },
		{ "context_tokens = 8000, r->context_tokens > 0 ? env->context_tokens : WINDOW",
			NULL },
		{ "{\"context_tokens\":128000}", NULL },
		{ "stored context_token AARz for user", NULL },
		{ "context_token=AARzExample, run 5", "context_token=[redacted], run 5" },
		{ "poll: context_token: AARzExample", "poll: context_token: [redacted]" },
		/* inside a string inside a string */
		{ "\"body\":\"{\\\"bot_token\\\":\\\"abc\\\",\\\"ret\\\":0}\"",
			"\"body\":\"{\\\"bot_token\\\":\\\"[redacted]\\\",\\\"ret\\\":0}\"" },
		{ "{\\\\\\\"bot_token\\\\\\\":\\\\\\\"abc\\\\\\\"}",
			"{\\\\\\\"bot_token\\\\\\\":\\\\\\\"[redacted]\\\\\\\"}" },
		{ "{\\\"local_token_list\\\":[\\\"a\\\"],\\\"verify_code\\\":123456}",
			"{\\\"local_token_list\\\":\\\"[redacted]\\\",\\\"verify_code\\\":\\\"[redacted]\\\"}" },
		/* a body cut by a log */
		{ "{\"ret\":0,\"bot_token\":\"0123456789ab@im.bot:0600",
			"{\"ret\":0,\"bot_token\":\"[redacted]" },
		{ "{\"bot_token\":\"a\\\"b\",\"x\":1}", "{\"bot_token\":\"[redacted]\",\"x\":1}" },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void headers(void **state)
{
	static const struct row rows[] = {
		{ "Authorization: Bearer abc", "Authorization: Bearer [redacted]" },
		{ "authorization:bearer 0123456789ab@im.bot:06000000aa11\r\nHost: x",
			"authorization:bearer [redacted]\r\nHost: x" },
		{ "Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]" },
		{ "Authorization: token 0123abc", "Authorization: token [redacted]" },
		{ "Authorization: Digest username=\"u\", response=\"r\"\nHost: x",
			"Authorization: Digest [redacted]\"u\", response=\"r\"\nHost: x" },
		{ "Authorization: Digest username=u, nonce=n\nHost: x",
			"Authorization: Digest [redacted]\nHost: x" },
		{ "Proxy-Authorization: Basic dXNlcjpwYXNz",
			"Proxy-Authorization: Basic [redacted]" },
		{ "Authorization: 0a1b2c3d4e5f", "Authorization: [redacted]" },
		{ "{\"Authorization\":\"Bearer abc def\"}",
			"{\"Authorization\":\"Bearer [redacted]\"}" },
		{ "{\"Authorization\":\"Bearer abcd", "{\"Authorization\":\"Bearer [redacted]" },
		{ "headers[\"Authorization\"] = \"Bearer abc\"",
			"headers[\"Authorization\"] = \"Bearer [redacted]\"" },
		{ "curl -H 'Authorization: Bearer abc' https://h/",
			"curl -H 'Authorization: Bearer [redacted]' https://h/" },
		{ "Authorization: Bearer <token>", NULL },
		{ "Authorization: Bearer $TOKEN", NULL },
		{ "AuthorizationType: ilink_bot_token", NULL },
		{ "authorization: required", NULL },
		{ "Pre-authorization: see chapter 4 of the manual", NULL },
		{ "Cookie: sid=1; theme=dark\r\nHost: x", "Cookie: [redacted]\r\nHost: x" },
		{ "Set-Cookie: id=a3fWa; Expires=Wed", "Set-Cookie: [redacted]" },
		{ "cookie: a small file that a site keeps", NULL },
		{ "X-Api-Key: 0a1b2c3d", "X-Api-Key: [redacted]" },
		{ "-H \"x-api-key: abc123\"", "-H \"x-api-key: [redacted]\"" },
		{ "sent with Bearer 0a1b2c3d4e5f failed", "sent with Bearer [redacted] failed" },
		{ "Bearer abcdefghijklmnopqrstuvwxyz", "Bearer [redacted]" },
		{ "the bearer of this letter, a bearer certificate, bearer instruments", NULL },
		{ "Bearer authentication is described in RFC 6750.", NULL },
		{ "WWW-Authenticate: Bearer realm=\"example\"", NULL },
		{ "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ== was refused",
			"basic [redacted] was refused" },
		{ "Basic JavaScript, basic authentication, Basic English", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void assignments(void **state)
{
	static const struct row rows[] = {
		{ "password=hunter", "password=[redacted]" },
		{ "password: hunter2", "password: [redacted]" },
		{ "password = \"hunter\"", "password = \"[redacted]\"" },
		{ "  password: hunter\nuser: me", "  password: [redacted]\nuser: me" },
		{ "'password' => 'x y'; 'passwd' => 'xyz'",
			"'password' => 'x y'; 'passwd' => '[redacted]'" },
		{ "export OPENAI_API_KEY=abcdef", "export OPENAI_API_KEY=[redacted]" },
		{ "GITHUB_TOKEN=abcdef make", "GITHUB_TOKEN=[redacted] make" },
		{ "api_key_file = \"/etc/key\"\napi_key = 'abc'",
			"api_key_file = \"/etc/key\"\napi_key = '[redacted]'" },
		{ "{\"apiKey\":\"abc\",\"clientSecret\":\"abc\",\"accessToken\":\"abc\"}",
			"{\"apiKey\":\"[redacted]\",\"clientSecret\":\"[redacted]\",\"accessToken\":\"[redacted]\"}" },
		{ "{\"refresh_token\" : \"abc\", \"id_token\":\"a\\\"b\"}",
			"{\"refresh_token\" : \"[redacted]\", \"id_token\":\"[redacted]\"}" },
		{ "{\"token\":\"a1b2c3d4\"}", "{\"token\":\"[redacted]\"}" },
		{ "{\"token\":\"secret-token-of-tests\"}", "{\"token\":\"[redacted]\"}" },
		{ "token: 0a1b2c3d4e", "token: [redacted]" },
		{ "kairo --api-key abc123 run", "kairo --api-key [redacted] run" },
		{ "kairo --token=abc run", "kairo --token=[redacted] run" },
		{ "mysql --password hunter2 -u me", "mysql --password [redacted] -u me" },
		{ "grant_type=x&client_secret=abc&code=1",
			"grant_type=x&client_secret=[redacted]&code=1" },
		{ "{\"secret\":1234567}", "{\"secret\":\"[redacted]\"}" },
		{ "login failed (password=abc), again",
			"login failed (password=[redacted]), again" },
		{ "The password is set: password=abc. Then",
			"The password is set: password=[redacted]. Then" },
		{ "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
			"aws_secret_access_key = [redacted]" },
		{ "{\"text\":\"export TOKEN='abc123 and\"}",
			"{\"text\":\"export TOKEN='[redacted] and\"}" },
		{ "log: \\npassword: hunter\\nnext", "log: \\npassword: [redacted]\\nnext" },
		{ "https://h/?a=1\\u0026token=abc", "https://h/?a=1\\u0026token=[redacted]" },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void vendors_and_tokens(void **state)
{
	static const struct row rows[] = {
		{ "key sk-proj-abc123DEF456ghi789 was refused", "key [redacted] was refused" },
		{ "sk-0123456789abcdef0123456789abcdef", "[redacted]" },
		{ "ghp_0123456789abcdefABCDEF0123456789abcd", "[redacted]" },
		{ "github_pat_11ABCDEFG0abcdefghij_KLMNOP", "[redacted]" },
		{ "xoxb-123456789012-abcdefABCDEF", "[redacted]" },
		{ "AKIAIOSFODNN7EXAMPLE", "[redacted]" },
		{ "AKIAIOSFODNN7EXAMPLEX AKIAIOSFODNN7", NULL },
		{ "AIzaSyA0123456789abcdefghijklmnopqrstuv", "[redacted]" },
		{ "hf_abcdefGHIJKL0123456789", "[redacted]" },
		{ "glpat-abcdEFGH0123_-456789", "[redacted]" },
		{ "npm_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]" },
		{ "LTAI5tAbCdEfGhIjKlMnOpQr", "[redacted]" },
		{ "glm " HEX32 ".AbCdEfGhIjKlMnOp.", "glm [redacted]." },
		{ HEX32 ".tar", NULL },
		{ HEX32, NULL },
		{ "token " JWT ".", "token [redacted]." },
		{ "\\n" JWT "\\n", "\\n[redacted]\\n" },
		{ "eyJ.eyJ. and eyJhbGciOiJIUzI1NiJ9 alone", NULL },
		{ "task-0123456789abcdef01, risk-12345678901234, desk-1234567890123", NULL },
		{ "sk-circle-fade-dot-container sk-learn hf_some_function_name_1", NULL },
		{ "npm_config_registry npm_lifecycle_event ghp_short", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

/* A prefix each, as the vendors publish them; what stands behind it is made up. */
static void keys_of_every_vendor(void **state)
{
	static const char *const keys[] = { "rk_test_" HEX32, "whsec_" HEX32 "+/=", "gldt-" HEX32,
		"glrt-" HEX32 ".01." HEX32, "glptt-" HEX32, "xapp-1-A0-" HEX32, "xoxd-" HEX32,
		"xoxe.xoxp-1-" HEX32, "AQ." HEX32 HEX32, "GOCSPX-" HEX32, "1//0" HEX32 HEX32,
		"api_org_" HEX32, "AKLT" HEX32, "bce-v3/ALTAK-" HEX32 "/" HEX32,
		"ms-01234567-0123-0123-0123-0123456789ab", "csk-" HEX32, "ctx7sk-" HEX32,
		"sk_" HEX32 HEX32, "fw_" HEX32, "fc-" HEX32, "r8_" HEX32, "jina_" HEX32 HEX32,
		"BSA" HEX32, "e2b_" HEX32, "lsv2_pt_" HEX32 "_0a", "bb_live_" HEX32,
		"ATATT3x" HEX32 HEX32 "=0A", "SG." HEX32 "." HEX32, "key-" HEX32,
		"dop_v1_" HEX32 HEX32, "shpat_" HEX32, "sq0atp-" HEX32, "dapi" HEX32 "-2",
		"hvs." HEX32, "dp.pt." HEX32, "dp.st.dev." HEX32, "lin_api_" HEX32,
		"ntn_" HEX32 "0123456789", "pypi-" HEX32 HEX32, "rubygems_" HEX32 "01234567",
		"dckr_pat_" HEX32, "sbp_" HEX32, "sntrys_" HEX32 HEX32, "glsa_" HEX32 "_01",
		"glc_" HEX32 HEX32, "figd_" HEX32, "phx_" HEX32, "pscale_tkn_" HEX32,
		"PMAK-" HEX32 HEX32, "HRKU-" HEX32, "tskey-auth-" HEX32,
		"123456789:AAabcdefghijklmnopqrstuvwxyz-_01234",
		"MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.0123456789abcdef0123456789ab" };
	struct str in = STR_INIT(1 << 10), want = STR_INIT(1 << 10);

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct row row;

		str_reset(&in);
		str_reset(&want);
		str_addf(&in, "the key %s, and \"%s\" (%s). End %s.", keys[i], keys[i], keys[i],
			keys[i]);
		str_adds(&want,
			"the key [redacted], and \"[redacted]\" ([redacted]). End [redacted].");
		row = (struct row){ str_cstr(&in), str_cstr(&want) };
		check(&row, 1);
	}
	str_release(&in);
	str_release(&want);
}

static void addresses_that_are_keys(void **state)
{
	static const struct row rows[] = {
		{ "post to https://hooks.slack.com/services/T01/B01/0123456789abcdef failed",
			"post to https://hooks.slack.com/services/[redacted] failed" },
		{ "\"https://discord.com/api/webhooks/123456789/a-b_0123456789\"",
			"\"https://discord.com/api/webhooks/[redacted]\"" },
		{ "https://open.feishu.cn/open-apis/bot/v2/hook/01234567-0123-0123",
			"https://open.feishu.cn/open-apis/bot/v2/hook/[redacted]" },
		{ "https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz-_01234/getMe",
			"https://api.telegram.org/[redacted]/getMe" },
		{ "AccountName=x;AccountKey=0123+/456789==;End=y",
			"AccountName=x;AccountKey=[redacted];End=y" },
		{ "https://hooks.slack.com/services/ and bot12:30, 123456789:80, bot123456789",
			NULL },
		{ "MONOSPACE.font, Nothing.else.matters, key-value ms-settings dapi pat.x", NULL },
		{ "NotificationCenterDelegate.shared.applicationDidFinishLaunching", NULL },
		{ "12345678:how-this-works-in-thirty-five-chars", NULL },
		{ "/pypi-how-to-publish-a-package-with-trusted-publishers-and-github", NULL },
		{ "xapp-symbolic-icons-for-the-desktop-2", NULL },
		{ "jina_embeddings_v2_base_en_finetuned", NULL },
		{ "SG.Foundation.Networking.RequestBuilder.makeAuthenticatedRequest", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void urls_and_data(void **state)
{
	static const struct row rows[] = {
		{ "https://user:pass@host/x", "https://[redacted]@host/x" },
		{ "clone https://0a1b2c@github.com/a/b.git",
			"clone https://[redacted]@github.com/a/b.git" },
		{ "postgres://u:p%40@db:5432/x?a=b", "postgres://[redacted]@db:5432/x?a=b" },
		{ "socks5://u:p@127.0.0.1:1080", "socks5://[redacted]@127.0.0.1:1080" },
		{ "ssh://git@github.com/a, git@github.com:a/b, https://host/@user", NULL },
		{ "see http://a.example/b, mail me@b.example", NULL },
		{ "https://h/x?key=AIzaShort12&b=2", "https://h/x?key=[redacted]&b=2" },
		{ "https://h/x?sig=0a1b2c3d4e#top", "https://h/x?sig=[redacted]#top" },
		{ "https://h/x?X-Amz-Signature=0a1b2c3d4e5f&X-Amz-Date=20260101T000000Z",
			"https://h/x?X-Amz-Signature=[redacted]&X-Amz-Date=20260101T000000Z" },
		{ "<a href=\"https://h/?a=1&amp;token=abc\">",
			"<a href=\"https://h/?a=1&amp;token=[redacted]\">" },
		{ "https://h/?access_token=abc", "https://h/?access_token=[redacted]" },
		{ "https://h/cb#access_token=abc&state=1",
			"https://h/cb#access_token=[redacted]&state=1" },
		{ "https://h/?code=404&key=enter&page=2&q=token", NULL },
		{ "data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,[redacted]" },
		{ "![x](data:image/svg+xml,%3Csvg%3E)", "![x](data:image/svg+xml,[redacted])" },
		{ "{\"url\":\"data:image/jpeg;base64,/9j/4AAQ\"}",
			"{\"url\":\"data:image/jpeg;base64,[redacted]\"}" },
		{ "the data: 1, 2, 3; data:text/plain,hello; metadata:x", NULL },
		{ "x " B64_120 "== y", "x [redacted] y" },
		{ "x " B64_119 " y", NULL },
		{ "\\n" B64_120 "\\n", "\\n[redacted]\\n" },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void private_keys(void **state)
{
#define BODY "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
	static const struct row rows[] = {
		{ "a\n-----BEGIN PRIVATE KEY-----\n" BODY "\n" BODY
		  "\nQ==\n-----END PRIVATE KEY-----\nb",
			"a\n[redacted]\nb" },
		{ "{\"k\":\"-----BEGIN RSA PRIVATE KEY-----\\n" BODY
		  "\\nQ==\\n-----END RSA PRIVATE KEY-----\\n\"}",
			"{\"k\":\"[redacted]\\n\"}" },
		{ "\\\"-----BEGIN EC PRIVATE KEY-----\\\\n" BODY
		  "\\\\n-----END EC PRIVATE KEY-----\\\\n\\\"",
			"\\\"[redacted]\\\\n\\\"" },
		{ "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n" BODY
		  "\n-----END RSA PRIVATE KEY-----",
			"[redacted]" },
		{ "  -----BEGIN OPENSSH PRIVATE KEY-----\r\n  " BODY "\r\n  " BODY "\r\n",
			"  [redacted]\r\n" },
		{ "-----BEGIN PRIVATE KEY-----\n" BODY "\nMIIEvQIBADANBg", "[redacted]" },
		{ "the line -----BEGIN PRIVATE KEY----- is what one looks for",
			"the line [redacted] is what one looks for" },
		{ "-----BEGIN CERTIFICATE-----\n" BODY "\n-----END CERTIFICATE-----", NULL },
		{ "-----BEGIN PUBLIC KEY-----\n" BODY "\n-----END PUBLIC KEY-----", NULL },
		{ "-----------\n-----BEGIN \n-----", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void chinese(void **state)
{
	static const struct row rows[] = {
		{ "密码：hunter2，请保管", "密码：[redacted]，请保管" },
		{ "我的密码是abc123456。", "我的密码是[redacted]。" },
		{ "密钥: 0a1b2c3d", "密钥: [redacted]" },
		{ "口令=letmein 令牌为tok-12345", "口令=[redacted] 令牌为[redacted]" },
		{ "密码：请输入您的密码", NULL },
		{ "密码是string类型，令牌为JWT格式，密钥：https://example.com/docs", NULL },
		{ "请把密码告诉我；令牌桶算法；密钥交换：Diffie-Hellman", NULL },
		{ "你好，世界。这是一段普通的中文文字，里面没有任何秘密：只有 Markdown 和 token 的说明。",
			NULL },
		{ "{\"password\":\"密码错误，请重试\"}", NULL },
		{ "接口返回 token 为空，key：value，编号=12345678", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

/* What a person or a program writes every day. */
static void leaves_prose_and_code_alone(void **state)
{
	static const struct row rows[] = {
		{ "", NULL },
		{ "Password: please enter the one that was sent to you.", NULL },
		{ "A token: the smallest unit of text. The secret: patience and practice.", NULL },
		{ "keys and tokens, passwords and secrets; the key is under the mat", NULL },
		{ "Total tokens: 123456, max_tokens=4096, \"completion_tokens\": 812", NULL },
		{ "{\"token\":\"the\",\"logprob\":-0.12},{\"token\":\" quick\"},{\"token\":\"identifier\"}",
			NULL },
		{ "{\"password\":{\"type\":\"string\",\"description\":\"the password of the user\"}}",
			NULL },
		{ "{\"password\":null,\"token\":\"\",\"secret\":true,\"api_key\":\"<your key>\"}",
			NULL },
		{ "api_key = \"YOUR_API_KEY\"  password=******** token=xxxxxxxx secret=\"${SECRET}\"",
			NULL },
		{ "str_addf(&url, \"%s/?qrcode=%s&access_token=%s\", base)", NULL },
		{ "unexpected token: foo, expected token = ';'", NULL },
		{ "struct token *token = next_token(lexer);", NULL },
		{ "if (token == NULL || token->kind != TOKEN_END) return token;", NULL },
		{ "const token = await getToken(); const password = readline();", NULL },
		{ "def login(user: str, password: str = None, token: Optional[str] = None):",
			NULL },
		{ "interface A { password: string; apiKey?: string; token: Token }", NULL },
		{ "api_key=os.environ[\"KEY\"], password=getpass(), token=self.token", NULL },
		{ "client = Client(api_key=settings.OPENAI_API_KEY, password=password)", NULL },
		{ "secret: process.env.SECRET, password => hash(password)", NULL },
		{ "token := lexer.Next()", NULL },
		{ "echo $PASSWORD; export TOKEN=$GITHUB_TOKEN; PWD=/home/user/src", NULL },
		{ "the --token option takes a value; --password is asked for; --api-key FILE",
			NULL },
		{ "std::token::value, Token::new(a), password::hash", NULL },
		{ "see docs/token.md, src/auth/password.c:42: error: 'key' undeclared", NULL },
		{ "commit 3b37324f0c9d8e7a6b5c4d3e2f1a0b9c8d7e6f5a, sha512 "
		  "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
			NULL },
		{ "/usr/lib/node_modules/some-package/dist/cjs/internal/operators/observable/dom/AjaxObservable2/index/mergeMap/throttle/windowToggle",
			NULL },
		{ "------------------------------------------------------------------------------------------"
		  "------------------------------------------------------------------------------------",
			NULL },
		{ "550e8400-e29b-41d4-a716-446655440000 7497484083968569999 2026-01-02T03:04:05.678Z",
			NULL },
		{ "C:\\new\\table\\users\\token.txt \\u4f60\\u597d \\x41", NULL },
		{ "| token | meaning |\n|---|---|\n| `key` | a name: value pair |", NULL },
		{ "git log --format='%H %an' && make -j2 CFLAGS=-O2", NULL },
	};

	(void)state;
	check(rows, COUNT(rows));
}

static void json_stays_json(void **state)
{
	static const char *const rows[] = {
		"{\"bot_token\":\"a\\\"b\\\\\",\"aeskey\":12345678,\"full_url\":[\"x\",[1,2]],\"a\":1}",
		"{\"local_token_list\":{\"a\":\"}\"},\"t\":\"password=abc\\ndef\"}",
		"[\"-----BEGIN PRIVATE KEY-----\\nAAAA\",\"Cookie: a=b\\\"c\",\"Authorization: Digest x\\\\\"]",
		"{\"cmd\":\"export TOKEN='abc def\",\"b\":\"it's\",\"verify_code\":1234.5}",
		"{\"x\":\"https://u:p@h/?token=abc\\u0026sig=0123456789\",\"y\":\"data:image/png;base64,AAAA\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(1000);

		assert_int_equal(json_check(view_of(rows[i]), &json_limits_wire, NULL), 0);
		assert_int_equal(text_redact(view_of(rows[i]), &s), 0);
		if (json_check(str_view(&s), &json_limits_wire, NULL) < 0)
			fail_msg("row %zu: %s", i, str_cstr(&s));
		str_release(&s);
	}
}

/* Patterns that make a careless rule read the rest of the text once for each of them: it would not
 * be done in minutes. */
static void hostile_text_is_walked_once(void **state)
{
	static const char *const units[] = { "token=", "token:", "token='", "token=\"", "token=\\'",
		"token=\"a b ", "?token=", "a/", "eyJ.", "eyJaaaaaaaaaa.", "sk-", "ya29.", "ya29.a",
		"://", "://a", "a@", "bearer ", "basic ", "data:", "data:a;base64,", "-----BEGIN ",
		"-----BEGIN PRIVATE KEY-----", "\"aeskey\":[", "\"aeskey\":['",
		"cookie:", "cookie:a=", "authorization:", "authorization: bearer ", "\\", "\\\"",
		"密码：", "密码：a", "password=\\\\'", "token=.....", "token = ", "--token ", " ",
		"'", "\"", "[", "-", "=" };

	(void)state;
	for (size_t i = 0; i < COUNT(units); i++) {
		struct str in = STR_INIT(300000), out = STR_INIT(4000000);

		while (str_adds(&in, units[i]) == 0)
			;
		in.failed = false;
		assert_int_equal(text_redact(str_view(&in), &out), 0);
		str_release(&in);
		str_release(&out);
	}
}

static void tells_when_the_text_is_full(void **state)
{
	struct str s = STR_INIT(12);

	(void)state;
	assert_int_equal(text_redact(VIEW("password=abc"), &s), -1);
	str_reset(&s);
	assert_int_equal(text_redact(VIEW("pass the salt"), &s), -1);
	str_reset(&s);
	assert_int_equal(text_redact(VIEW("pass the sal"), &s), 0);
	str_reset(&s);
	assert_int_equal(text_redact(VIEW_NONE, &s), 0);
	str_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wire_protocol),
		cmocka_unit_test(headers),
		cmocka_unit_test(assignments),
		cmocka_unit_test(vendors_and_tokens),
		cmocka_unit_test(keys_of_every_vendor),
		cmocka_unit_test(addresses_that_are_keys),
		cmocka_unit_test(urls_and_data),
		cmocka_unit_test(private_keys),
		cmocka_unit_test(chinese),
		cmocka_unit_test(leaves_prose_and_code_alone),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(hostile_text_is_walked_once),
		cmocka_unit_test(tells_when_the_text_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
