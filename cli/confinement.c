#include "cli/confinement.h"

static void describe_files(const struct sandbox *s, bool zh, struct str *out)
{
	(void)str_adds(out, zh ? "文件：" : "files: ");
	if (s->namespaces)
		(void)str_addf(out, "bubblewrap%s", s->landlock == 0 ? "" : zh ? "、" : ", ");
	if (s->landlock > 0)
		(void)str_addf(out, "Landlock ABI %d", s->landlock);
	else if (!s->namespaces)
		(void)str_adds(out,
			zh ? "内核没有可用的隔离，只由 kairo-tool 检查路径"
			   : "no layer of the kernel, paths are checked by kairo-tool alone");
}

static const char *ending(const struct sandbox *s, bool zh)
{
	if (s->namespaces)
		return zh ? "；结束：PID 命名空间" : "; ending: PID namespace";
	if (s->cgroup)
		return zh ? "；结束：控制组" : "; ending: control group";
	return zh ? "；结束：逐个清理（较弱：很快派生的进程可能多活片刻）"
	          : "; ending: swept up (weaker: what forks fast may live a moment longer)";
}

static const char *network(const struct sandbox *s, bool zh)
{
	if (s->namespaces)
		return zh ? "；网络：命名空间" : "; network: a namespace";
	if (s->seccomp)
		return zh ? "；网络：seccomp" : "; network: seccomp";
	return zh ? "；网络：没有切断" : "; network: not cut off";
}

void confinement_text(const struct sandbox *s, bool zh, struct str *out)
{
	describe_files(s, zh, out);
	if (s->seccomp)
		(void)str_adds(out, zh ? "；系统调用：seccomp" : "; calls: seccomp");
	else
		(void)str_adds(out, zh ? "；系统调用：没有过滤" : "; calls: not filtered");
	(void)str_adds(out, network(s, zh));
	(void)str_adds(out, ending(s, zh));
	if (s->other)
		(void)str_addf(out,
			zh ? "；用户：%u，读不到收到的文件"
			   : "; user: %u, who cannot read what is received",
			(unsigned)s->other);
	if (!s->namespaces)
		(void)str_addf(out, zh ? "；没有命名空间：%s" : "; no namespaces: %s", s->why);
	if (!sandbox_allows(s, false, NULL))
		(void)str_adds(out, zh ? "；工具都不能用（sandbox.mode = \"required\"）"
				       : "; tools are refused (sandbox.mode = \"required\")");
	else if (!sandbox_allows(s, true, NULL))
		(void)str_adds(out, zh ? "；不能运行程序" : "; programs are refused");
}
