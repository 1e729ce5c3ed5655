/* The words of an engine: the rest of the table of texts. */
#include "channel/words-private.h"

static const struct words_pair table[SPEECH_COUNT] = {
	[SPEECH_JUST_NOW] = { "刚刚", "just now" },
	[SPEECH_MINUTES_AGO] = { "{1} 分钟前", "{1} min ago" },
	[SPEECH_HOURS_AGO] = { "{1} 小时前", "{1} h ago" },
	[SPEECH_DAYS_AGO] = { "{1} 天前", "{1} days ago" },

	[SPEECH_BEGUN] = { "好，新的对话开始了。", "A new conversation begins." },
	[SPEECH_BEGUN_BUSY] = { "好，新的对话开始了。之前的后台任务还在进行，完成后会告诉你。",
		"A new conversation begins. Background work of the one before goes on; you will hear "
		"when it is done." },
	[SPEECH_DATED] = { "{1}（{2}）", "{1} ({2})" },
	[SPEECH_CURRENT] = { "{1}，当前", "{1}, open" },
	[SPEECH_OPEN_HOW] = { "发 /打开 2 回到第 2 个。", "/open 2 goes back to the second." },
	[SPEECH_NONE_YET] = { "还没有对话。", "There is no conversation yet." },
	[SPEECH_WHICH] = { "请写上编号，例如 /打开 2；/会话 可以看全部。",
		"Which one? Send its number, as /open 2; /sessions lists them." },
	[SPEECH_BACK] = { "回到这个对话：{1}", "Back in this conversation: {1}" },
	[SPEECH_NO_SESSIONS] = { "这里还没有会话。", "There is no session here yet." },
	[SPEECH_WHICH_SESSION] = { "没有这个会话。请写上编号，例如 /打开 2；/会话 可以看全部。",
		"There is no such session. Send its number, as /open 2; /sessions lists them." },
	[SPEECH_BACK_IN_SESSION] = { "回到这个会话：{1}", "Back in this session: {1}" },
	[SPEECH_NO_GOING_BACK] = { "现在用的智能体不能回到以前的会话。",
		"This agent cannot go back to an earlier session." },
	[SPEECH_NO_LISTING] = { "现在用的智能体不能列出会话。",
		"This agent cannot list its sessions." },
	[SPEECH_NOT_OPENED] = { "这个会话打不开：{1}。现在的对话没有变。",
		"That session cannot be opened: {1}. This conversation stays as it was." },
	[SPEECH_NEW_INSTEAD] = { "（智能体那边之前的对话已经不在了，这是一段新的对话。）",
		"(The agent no longer has our conversation; this is a new one.)" },

	[SPEECH_USAGE] = { "这个对话：{1}\n今天：{2}", "This conversation: {1}\nToday: {2}" },
	[SPEECH_NOTHING_USED] = { "没有用量", "nothing used" },
	[SPEECH_UNCOUNTED] = { "未知，模型服务没有给出数字",
		"unknown: the model service gives no figures" },
	[SPEECH_TOKENS] = { "输入 {1}（其中缓存 {2}），输出 {3} 个 token",
		"{1} tokens in ({2} of them cached), {3} out" },
	[SPEECH_TOKENS_PARTLY] = { "{1}，另有 {2} 次回答没有数字",
		"{1}, and {2} answer(s) without figures" },
	[SPEECH_SESSION_USAGE] = { "这个会话，从智能体启动算起：输入 {1}，输出 {2} 个 token。",
		"This session, since the agent was started: {1} tokens in, {2} out." },
	[SPEECH_USAGE_UNTOLD] = { "用了多少 token：智能体没有给出。",
		"Tokens used: the agent does not tell." },
	[SPEECH_COST] = { "费用（智能体自己的说法）：{1}", "Cost, as the agent tells it: {1}" },
	[SPEECH_COST_UNTOLD] = { "费用：智能体没有给出。", "Cost: the agent does not tell." },
	[SPEECH_CONTEXT] = { "上下文：占用 {1} / {2} token（{3}%），不是用量。",
		"Context: {1} of {2} tokens are occupied ({3}%); that is no usage." },

	[SPEECH_MODEL_NOW] = { "现在：{1}", "Now: {1}" },
	[SPEECH_MODEL_WINDOW] = { "{1}，窗口 {2} 个 token", "{1}, window {2} tokens" },
	[SPEECH_MODEL_ALSO] = { "可以换成：", "Also:" },
	[SPEECH_MODEL_NO_KEY] = { "还没有存密钥：{1}", "No key is stored for: {1}" },
	[SPEECH_MODEL_HOW] = { "发 /模型 名字，或 /模型 厂商/名字 来更换。",
		"/model NAME or /model PROVIDER/NAME changes it." },
	[SPEECH_MODEL_CHANGED] = { "换好了，从下一条消息起用：{1}",
		"Changed, from the next message on: {1}" },
	[SPEECH_COMPACTED] = { "前文已压缩成摘要，只原样保留最近一轮：约 {1} → {2} 个 token。",
		"The conversation before its latest round is a summary now: about {1} → {2} tokens." },
	[SPEECH_NOTHING_TO_COMPACT] = { "前文还很短，没有可压缩的内容。",
		"There is nothing to compress: the conversation is short." },

	[SPEECH_KNOB_MODEL] = { "模型", "model" },
	[SPEECH_KNOB_EFFORT] = { "思考", "effort" },
	[SPEECH_KNOB_MODE] = { "模式", "mode" },
	[SPEECH_KNOB_VALUES] = { "{1}可以选：", "{1}, to choose from:" },
	[SPEECH_KNOB_HOW] = { "发 /{1} 编号或名字 来更换，/{1} off 恢复默认。",
		"/{1} NUMBER or NAME changes it in this conversation, /{1} off goes back to the "
		"default." },
	[SPEECH_KNOB_CHANGED] = { "{1}换成了 {2}。", "The {1} is now {2}." },
	[SPEECH_KNOB_LATER] = { "记下了；智能体的后台任务完成后，下一条消息起换{1}。",
		"Noted; the {1} changes with your next message once the background work is done." },
	[SPEECH_KNOB_UNKNOWN] = { "没有这个选项。{1}可以选：",
		"That is not offered. {1}, to choose from:" },
	[SPEECH_KNOB_TAKEN_BACK] = { "已取消你的选择；默认的{1}从下一个新对话开始用。",
		"Your choice is taken back; the default {1} is in force from the next /new on." },
	[SPEECH_KNOB_NONE] = { "现在用的智能体没有{1}可以选。",
		"This agent offers no choice of {1}." },
	[SPEECH_IN_USE] = { "{1}（当前）", "{1} (in use)" },
	[SPEECH_NOT_ACCEPTED] = { "智能体不接受：{1}", "The agent does not take it: {1}" },
	[SPEECH_MODE_STAYS] = { "智能体的后台任务还在按现在的模式进行，模式没有换。等它完成再换，或者发 /新对话 "
				"另开一段。",
		"Background work of the agent still goes by the mode it has, which was not changed. "
		"Change it when that is done, or begin anew with /new." },
	[SPEECH_MODE_BLOCKS] = { "模式改了，可是智能体的后台任务还在用原来的模式，这条消息没有处理。等它完成后再"
				 "发，或者发 /新对话 另开一段。",
		"The mode was changed, but background work of the agent still goes by the old one, so "
		"this message was not taken up. Send it again when that is done, or begin anew with "
		"/new." },
	[SPEECH_SETTING_REFUSED] = { "（智能体不接受 {1} = {2}，现在用的是 {3}。）",
		"(The agent does not take {1} = {2}; it goes on with {3}.)" },

	[SPEECH_NO_SERVERS] = { "（{1} 读不了，智能体这次没有 MCP 服务可用；在电脑上运行 kairo doctor "
				"看原因。）",
		"({1} cannot be read, so the agent works without its MCP servers; kairo doctor on the "
		"computer says why.)" },
	[SPEECH_TAKEN_SILENTLY] = { "智能体收下了这个命令，没有说什么。",
		"The agent has taken the command, and says nothing of it." },
	[SPEECH_ANSWER_CUT] = { "（回答到了长度上限，后面没有了。）",
		"(The answer reached its length limit and ends here.)" },
	[SPEECH_PACKING] = { "智能体还在压缩对话，压缩完就处理你的消息。",
		"The agent still compresses the conversation; your message is next." },
	[SPEECH_REVIEWING] = { "智能体还在看后台任务的结果，看完就处理你的消息。",
		"The agent still looks at what its background work has brought; your message is "
		"next." },
	[SPEECH_PACK_UNHEARD] = { "（十分钟没有听到压缩完成，不再等了。）",
		"(Nothing was heard of its end for ten minutes; it is no longer waited for.)" },

	[SPEECH_TASK_DONE] = { "后台任务完成了：{1}", "Background task finished: {1}" },
	[SPEECH_TASK_FAILED] = { "后台任务失败了：{1}", "Background task failed: {1}" },
	[SPEECH_TASK_UNHEARD] = { "后台任务六个小时没有消息，不再等它了；要知道它怎样了，可以问智能体：{1}",
		"Nothing was heard of a background task for six hours, and it is no longer waited "
		"for; ask the agent how it is: {1}" },
	[SPEECH_TASK_DIED] = { "智能体的进程结束了，它的后台任务也断了：{1}",
		"The agent has ended, and its background task with it: {1}" },
	[SPEECH_TASK_LEFT] = { "Kairo 停过，智能体那时的后台任务也断了：{1}",
		"Kairo was ended, and with it what the agent did in the background: {1}" },
	[SPEECH_OUTPUT_CUT] = { "（输出太长，这里只有最后 64 KiB）",
		"(the last 64 KiB of its output)" },
	[SPEECH_NOT_REVIEWED] = { "（智能体没能查看结果：{1}）",
		"(The agent could not look at it: {1})" },

	[SPEECH_YES] = { "是", "Yes" },
	[SPEECH_NO] = { "否", "No" },
	[SPEECH_SKIP] = { "跳过", "Skip" },
	[SPEECH_HOW_MANY] = { "（选 {1} 到 {2} 个）", "(choose {1} to {2})" },
};

int words_speech(struct str *out, bool zh, enum speech s, const char *const *args)
{
	return words_fill(out, zh ? table[s].zh : table[s].en, args, "");
}
