#include "agent/acp/preset.h"

#include <string.h>

/* Keys only: variables that name an endpoint, an OAuth host, headers or a home would let whoever
 * can set the daemon's environment send the conversation elsewhere. */
static const struct acp_preset table[] = {
	{
		.name = "kimi",
		.title = "Kimi Code",
		.argv = { "kimi", "acp", NULL },
		.beside = ".kimi-code/bin/kimi",
		.version = "--version",
		.login = "kimi --login",
		.install = "npm install -g @moonshot-ai/kimi-code",
		.keys = { "KIMI_API_KEY", "KIMI_MODEL_API_KEY", NULL },
		.fixed = { "KIMI_CODE_NO_AUTO_UPDATE=1", NULL },
		.homes = { ".kimi-code", NULL },
		.manual = ".kimi-code/agents/agent.md",
	},
	{
		.name = "claude",
		.title = "Claude Code",
		.argv = { "claude-agent-acp", NULL },
		.version = "--version",
		.login = "claude, then /login",
		.install = "npm install -g @agentclientprotocol/claude-agent-acp",
		.keys = { "ANTHROPIC_API_KEY", NULL },
		.fixed = { "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
			NULL },
		.homes = { ".claude", NULL },
		.files = { ".claude.json", NULL },
	},
	{
		.name = "codex",
		.title = "Codex",
		.argv = { "codex-acp", NULL },
		.version = "--version",
		.login = "codex login",
		.install = "npm install -g @agentclientprotocol/codex-acp",
		.keys = { "OPENAI_API_KEY", "CODEX_API_KEY", NULL },
		.fixed = { "NO_BROWSER=1", NULL },
		.homes = { ".codex", NULL },
	},
	{
		.name = "gemini",
		.title = "Gemini CLI",
		.argv = { "gemini", "--acp", NULL },
		.version = "--version",
		.login = "gemini",
		.install = "npm install -g @google/gemini-cli",
		.keys = { "GEMINI_API_KEY", "GOOGLE_API_KEY", NULL },
		.fixed = { NULL },
		.homes = { ".gemini", NULL },
		/* 0.61 takes "no such file" for a failure, and makes no new ones then. */
		.own_files = true,
	},
	{
		.name = "qwen",
		.title = "Qwen Code",
		.argv = { "qwen", "--acp", NULL },
		.version = "--version",
		.login = "qwen",
		.install = "npm install -g @qwen-code/qwen-code",
		.keys = { "OPENAI_API_KEY", "DASHSCOPE_API_KEY", NULL },
		.fixed = { NULL },
		.homes = { ".qwen", NULL },
	},
	{
		.name = "opencode",
		.title = "OpenCode",
		.argv = { "opencode", "acp", NULL },
		.version = "--version",
		.login = "opencode auth login",
		.install = "npm install -g opencode-ai",
		.keys = { "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", NULL },
		.fixed = { "OPENCODE_DISABLE_AUTOUPDATE=1", NULL },
		.homes = { ".config/opencode", ".local/share/opencode", ".local/state/opencode",
			".cache/opencode", NULL },
	},
	{
		.name = "pi",
		.title = "Pi",
		.argv = { "pi-acp", NULL },
		.version = "--version",
		.login = "pi",
		.install = "npm install -g pi-acp @earendil-works/pi-coding-agent",
		.keys = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", NULL },
		.fixed = { NULL },
		.homes = { ".pi", NULL },
	},
};
#define PRESETS (sizeof(table) / sizeof(table[0]))

const struct acp_preset *acp_preset_at(size_t i)
{
	return i < PRESETS ? &table[i] : NULL;
}

const struct acp_preset *acp_preset_find(const char *name)
{
	for (size_t i = 0; i < PRESETS; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}
