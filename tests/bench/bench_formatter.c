/* What formatting costs beside the parser it stands on, and whether hostile input costs more. */
#include "bench.h"

#include <cmark.h>
#include <string.h>

#include "base/text.h"
#include "formatter/formatter.h"

#define CORPUS ((size_t)4 << 20)

/* An answer as models write them: Chinese and English, a table, code, nested lists, links. */
static const char answer[] =
	"## 部署步骤\n\n"
	"先**备份数据**，再停掉服务。下面的命令假定你在 `/srv/app` 目录里，配置文件是 my_app_config.toml。"
	"更多说明见[官方文档](https://example.com/docs/deploy_guide?lang=zh#step-1)，或者直接看 "
	"https://example.com/路径/安装_说明。如果 CPU<80% 就可以继续。\n\n"
	"1. 安装依赖：\n\n"
	"   ```bash\n"
	"   sudo apt-get update && sudo apt-get install -y build-essential libssl-dev\n"
	"   ./configure --prefix=/usr/local --with-feature=x_y_z\n"
	"   make -j4 && sudo make install\n"
	"   ```\n\n"
	"2. 检查结果：\n"
	"   - 端口 *8080* 已监听\n"
	"   - 日志里没有 `ERROR`\n"
	"     - 若有，先看最后一百行\n"
	"   - [x] 备份完成\n\n"
	"| 参数 | 默认值 | 说明 |\n"
	"| :-- | --: | --- |\n"
	"| `port` | 8080 | 监听端口 |\n"
	"| `host` | 127.0.0.1 | 监听地址，改成 **0.0.0.0** 才能从外面访问 |\n"
	"| `workers` | 4 | 工作进程数 |\n\n"
	"> 注意：升级前请先阅读变更说明，特别是其中关于配置格式的一节。\n\n"
	"### What this does\n\n"
	"The installer copies the binaries, creates a *system user*, and registers a service unit. It does "
	"**not** touch your data; see the [upgrade notes](https://example.com/upgrade) for the details. A "
	"typical run takes about 30 seconds on a small machine, most of it spent compiling.\n\n"
	"```python\n"
	"def main(argv: list[str]) -> int:\n"
	"    for name in argv[1:]:\n"
	"        print(f\"{name}: {len(name)}\")\n"
	"    return 0\n"
	"```\n\n";

struct job {
	struct view in;
	struct format_opts opts;
	size_t limit;
	struct str out;
};

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_formatter: failed\n");
		exit(EXIT_FAILURE);
	}
}

/* As the formatter calls it: in pieces of its own size. */
static void parse_alone(void *arg)
{
	const struct job *j = arg;
	struct view rest = j->in;

	while (rest.n > 0) {
		struct view piece = view_cut(rest, (size_t)64 << 10);

		cmark_node_free(cmark_parse_document(piece.p, piece.n, CMARK_OPT_DEFAULT));
		rest = view_from(rest, piece.n);
	}
}

static void format(void *arg)
{
	struct job *j = arg;
	struct err e = ERR_INIT;

	str_reset(&j->out);
	must(format_text(j->in, &j->opts, &j->out, &e));
}

static void chunk(void *arg)
{
	const struct job *j = arg;
	struct err e = ERR_INIT;
	struct chunks c;

	must(chunk_text(j->in, j->limit, &c, &e));
	chunks_release(&c);
}

static void think(void *arg)
{
	struct job *j = arg;
	struct think_filter *t;
	struct err e = ERR_INIT;

	str_reset(&j->out);
	must(think_open(&t, &e));
	must(think_feed(t, j->in, &j->out));
	must(think_end(t, &j->out));
	think_close(&t);
}

static void fill(struct str *s, const char *unit, size_t n)
{
	str_reset(s);
	while (s->n < n)
		must(str_adds(s, unit));
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static void speed(void)
{
	struct str in = STR_INIT(2 * CORPUS);
	struct job j = { .out = STR_INIT(FORMAT_OUT_MAX), .limit = CHUNK_LIMIT_DEFAULT };
	double parse = 1e9, native = 1e9, plain = 1e9;

	fill(&in, answer, CORPUS);
	j.in = str_view(&in);
	/* In turns, so that a busy machine is as hard on the one as on the other. */
	for (int i = 0; i < 4; i++) {
		parse = least(parse, bench_best(parse_alone, &j));
		j.opts.mode = FORMAT_NATIVE;
		native = least(native, bench_best(format, &j));
		j.opts.mode = FORMAT_PLAIN;
		plain = least(plain, bench_best(format, &j));
	}
	bench_rate("cmark: parse alone", in.n, parse);
	bench_rate("format_text, native", in.n, native);
	bench_rate("format_text, plain", in.n, plain);
	bench_ratio("format_text, native", native, "the parser alone", parse);
	bench_ratio("format_text, plain", plain, "the parser alone", parse);
	bench_rate("think filter", in.n, bench_best(think, &j));
	bench_rate("chunk_text, 1800", in.n, bench_best(chunk, &j));
	str_release(&in);
	str_release(&j.out);
}

/* Blocks of the unit, each as long as one piece for the parser may be. */
static void fill_blocks(struct str *s, const char *unit, size_t n)
{
	size_t next = 60000;

	for (str_reset(s); s->n < n; must(str_adds(s, unit))) {
		if (s->n >= next) {
			must(str_adds(s, "\n\n"));
			next = s->n + 60000;
		}
	}
}

/* Sixteen times the input: sixteen times the time, or the work is not linear. */
static void growth(const char *unit)
{
	struct str in = STR_INIT((size_t)2 << 20);
	struct job j = { .out = STR_INIT(FORMAT_OUT_MAX), .limit = CHUNK_LIMIT_DEFAULT };
	double small, large, cut;

	fill_blocks(&in, unit, (size_t)64 << 10);
	j.in = str_view(&in);
	small = bench_best(format, &j);
	fill_blocks(&in, unit, (size_t)1 << 20);
	j.in = str_view(&in);
	large = bench_best(format, &j);
	j.in = str_view(&j.out);
	cut = j.in.n > 0 ? bench_best(chunk, &j) : 0;
	printf("  %-12.12s 64 KiB %9.2f ms   1 MiB %9.2f ms (%5.1f times)   cut %8.2f ms\n",
		unit[0] == '\n' ? "(lines)" : unit, small * 1e3, large * 1e3, large / small,
		cut * 1e3);
	str_release(&in);
	str_release(&j.out);
}

int main(void)
{
	static const char *const hostile[] = { "#", "[", "`", "|", "> ", "![[]() ", "*a ", "**a",
		"_a", "<", "- ", "~~a", "$a", "\\[", "`a``b", "&#27;", "<!--", "<think>",
		"]:", "a\n\n", "[a]: b ", "<a href=\"", "https://", "(",
		"\xf0\x9f\x91\xa8\xe2\x80\x8d", "\xcc\x81" };

	bench_title("formatter");
	speed();
	printf("hostile input, native\n");
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		growth(hostile[i]);
	return EXIT_SUCCESS;
}
