#include "channel/words-private.h"

#include <stdarg.h>
#include <stdint.h>

#define ARGS_MAX 5

static const struct words_pair table[W_COUNT] = {
	[W_NOT_TAKEN] = { "排队已满（上限 {2} 条），有 {1} 条消息没有收下。请等前面的处理完再发，或用 /清空 腾出位置。",
		"The queue is full (limit {2}); {1} message(s) were not taken. Send again when some are done, "
		"or make room with /clear." },
	[W_UNREADABLE] = { "有一条消息读不出来，没有处理。请换成文字再发一次。",
		"One message could not be read and was not handled. Please send it again as text." },
	[W_UNSUPPORTED] = { "这种消息微信不会交给我，看不到内容。请用文字发给我。",
		"WeChat does not hand me this kind of message, so I cannot see it. Please send it as text." },
	[W_INTAKE_FAILED] = { "电脑上存不下新消息了（多半是磁盘已满），这条暂时没有收下。清理磁盘后会自动继续；/停止 仍然有效。",
		"New messages cannot be stored on the computer (most likely its disk is full), so this one is "
		"not taken yet. It goes on by itself once there is room; /stop still works." },
	[W_VOICE_SILENT] = { "这条语音里没有听出话来。请再说一遍，或用文字发给我。",
		"I heard no words in this voice message. Please say it again, or send it as text." },
	[W_VOICE_FORMAT] = { "这条语音听不了：电脑上没有能解开这种格式的解码器。请用文字发给我。",
		"I cannot hear this voice message: no decoder for its format is set up on the computer. "
		"Please send it as text." },
	[W_VOICE_DAMAGED] = { "这条语音听不了：声音文件不完整。请再发一次，或用文字发给我。",
		"I cannot hear this voice message: its sound is incomplete. Please send it again, or as "
		"text." },
	[W_VOICE_LATE] = { "这条语音听不了：识别太久，已放弃。请说短一些，或用文字发给我。",
		"I cannot hear this voice message: making text of it took too long. Please send a shorter "
		"one, or text." },
	[W_VOICE_FAILED] = { "这条语音听不了：语音识别出错，原因在电脑上的日志里。请用文字发给我。",
		"I cannot hear this voice message: speech recognition failed; the log on the computer has "
		"the reason. Please send it as text." },
	[W_VOICE_DEAF] = { "这条语音听不了：微信没有附上文字，电脑上也没有设置语音识别。请用文字发给我。",
		"I cannot hear this voice message: WeChat gave no text with it, and no speech recognition is "
		"set up on the computer. Please send it as text." },
	[W_MEDIA_LOST] = { "{1}「{2}」没有收到：{3}。",
		"The {1} \"{2}\" did not come through: {3}." },
	[W_ATTACHMENT] = { "[附件：{1} {2}，{3}，{4}，{5}]",
		"[attachment: {1} {2}, {3}, {4}, {5}]" },
	[W_ATTACHMENT_FAILED] = { "[附件：{1} {2}，没有收到：{3}]",
		"[attachment: {1} {2}, not received: {3}]" },
	[W_OF_QUOTE] = { "引用的{1}", "quoted {1}" },
	[W_HEARD] = { "[{1}，自动转写：{2}]", "[{1}, transcribed by machine: {2}]" },
	[W_KIND_IMAGE] = { "图片", "picture" },
	[W_KIND_VOICE] = { "语音", "voice" },
	[W_KIND_FILE] = { "文件", "file" },
	[W_KIND_VIDEO] = { "视频", "video" },
	[W_KIND_OTHER] = { "其他", "other" },
	[W_QUOTED] = { "[引用的消息：{1}]", "[quoted message: {1}]" },
	[W_QUOTED_FILE] = { "（你发给用户的文件：{1}）", "(the file that you sent: {1})" },
	[W_QUOTE_LOST] = { "（原文已查不到；需要的话请用户把内容再发一次）",
		"(its text is not at hand; ask for it if you need it)" },
	[W_WHY_TOO_BIG] = { "太大了，上限 {1}", "it is too big, the limit is {1}" },
	[W_WHY_EXPIRED] = { "微信服务器上已经没有了，请再发一次",
		"WeChat's server no longer has it, please send it again" },
	[W_WHY_BROKEN] = { "内容解不开，请再发一次",
		"it could not be decrypted, please send it again" },
	[W_WHY_OFFLINE] = { "连不上微信的文件服务器，请过一会再发一次",
		"WeChat's file server could not be reached, please send it again later" },
	[W_WHY_NO_DISK] = { "电脑上存不下（多半是磁盘已满），清理后请再发一次",
		"the computer could not store it (most likely its disk is full), please send it again once there is "
		"room" },
	[W_WHY_NO_ROOM] = { "电脑上留给收到文件的空间被排队的消息占满了，等它们做完请再发一次",
		"the room for received files is taken by messages that still wait, please send it again when they "
		"are done" },
	[W_WHY_SLOW] = { "下载太慢，已放弃，请再发一次",
		"the download was too slow and was given up, please send it again" },
	[W_WHY_STOPPED] = { "下载被停止了，还需要的话请再发一次",
		"its download was stopped, please send it again if it is still needed" },
	[W_WHY_UNSUPPORTED] = { "微信不把这种消息交给我", "WeChat does not hand me this kind" },
	[W_WHY_GONE] = { "已过保存期限，请再发一次",
		"it was kept for its time and is no longer here, please send it again" },
	[W_UNHEARD] = { "没能转成文字", "not transcribed" },

	[W_HELP] = { "直接发文字、图片、文件或语音，就是交给助手的任务，一次做一件，其余排队。\n"
		     "/状态 看现在在做什么\n"
		     "/停止 停下当前任务（/停止 全部：排队的也取消）\n"
		     "/队列 看排队的消息（/队列 删除 2：删掉第 2 条）\n"
		     "/清空 取消你排队的全部消息\n"
		     "/重试 重做上一条失败或中断的消息\n"
		     "/更多 接着看没发完的内容\n"
		     "/新对话 忘掉前文，重新开始（/会话 看以前的，/打开 2 回到第 2 个）\n"
		     "/压缩 把前文缩成摘要；/用量 看用了多少；/模型 看或换模型（/思考 思考力度，/模式 工作方式）\n"
		     "/暂停 先不做新任务，/继续 接着做\n"
		     "/权限 看助手可以做什么\n"
		     "英文也可以：/status /stop /queue /clear /retry /more /new /sessions /open /compact /usage /model "
		     "/effort /mode "
		     "/pause /resume /policy",
		"What you send, text, pictures, files or voice, is a task for the agent: one at a time, the "
		"others wait.\n"
		"/status what is going on\n"
		"/stop end the current task (/stop all: drop the waiting ones too)\n"
		"/queue what is waiting (/queue drop 2: remove the second)\n"
		"/clear drop all your waiting messages\n"
		"/retry run the last failed or interrupted message again\n"
		"/more the rest of a long answer\n"
		"/new forget the conversation and begin a new one (/sessions lists them, /open 2 goes back)\n"
		"/compact turn the conversation so far into a summary\n"
		"/usage tokens used; /model show or change the model (/effort how hard it thinks, /mode how it works)\n"
		"/pause take no new task, /resume go on\n"
		"/policy what the agent may do" },
	[W_UNKNOWN_COMMAND] = { "没有 {1} 这个命令，/帮助 可以看全部。如果不是命令，请在前面加个字再发。",
		"There is no command {1}; /help lists them all. If it is not a command, put a word in front "
		"and send it again." },
	[W_OWNER_ONLY] = { "{1} 只有主人可以用。", "Only the owner can use {1}." },
	[W_ENGINE_LACKS] = { "现在用的助手没有 {1} 这个功能。", "The agent in use has no {1}." },
	[W_ENGINE_BUSY] = { "任务正在进行，先等它结束，或用 /停止 停下再试。",
		"A task is running: wait for it, or end it with /stop, and try again." },
	[W_COMMAND_FAILED] = { "没有成功：{1}", "That did not work: {1}" },
	[W_STOPPED_TASK] = { "已停下：{1}", "Stopped: {1}" },
	[W_STOPPED_OTHERS] = { "已停下另一个人的任务。", "Stopped another person's task." },
	[W_STOPPED_BY_OWNER] = { "你的任务被主人停下了。需要的话可以 /重试。",
		"The owner stopped your task. /retry runs it again." },
	[W_STOPPED_SENDING] = { "已停止发送，没发的部分不再发了。",
		"Stopped sending; the rest of the answer is dropped." },
	[W_STOP_NOTHING] = { "现在没有正在做的任务。", "Nothing is running." },
	[W_STILL_WAITING] = { "还有 {1} 条在排队（/停止 全部 可以一起取消）。",
		"{1} still waiting (/stop all drops them too)." },
	[W_STILL_WAITING_OWN] = { "你还有 {1} 条在排队（/清空 可以取消）。",
		"{1} of yours still waiting (/clear drops them)." },
	[W_NONE_WAITING] = { "没有排队的消息。", "Nothing is waiting." },
	[W_ALL_DROPPED] = { "排队的 {1} 条也取消了。", "{1} waiting message(s) dropped too." },
	[W_PAUSED] = { "已暂停：新消息会收下排队，发 /继续 再开始做。",
		"Paused: new messages are kept in the queue until you send /resume." },
	[W_PAUSED_ALREADY] = { "已经是暂停状态，发 /继续 恢复。",
		"Already paused; /resume goes on." },
	[W_RESUMED] = { "继续工作，排队 {1} 条。", "Going on; {1} waiting." },
	[W_NOT_PAUSED] = { "现在没有暂停。", "It was not paused." },
	[W_QUEUE_EMPTY] = { "没有排队的消息。", "Nothing is waiting." },
	[W_QUEUE_LIST] = { "你排队的消息（{1} 条）：", "Your waiting messages ({1}):" },
	[W_QUEUE_OTHERS] = { "另有其他人的 {1} 条。", "And {1} of other people." },
	[W_QUEUE_HOW] = { "发 /队列 删除 1 可以删掉第 1 条。", "/queue drop 1 removes the first." },
	[W_QUEUE_DROPPED] = { "已删掉：{1}", "Removed: {1}" },
	[W_QUEUE_NO_SUCH] = { "排队里没有第 {1} 条，发 /队列 看看现在有哪些。",
		"There is no number {1} in the queue; /queue shows what is there." },
	[W_CLEARED] = { "已取消你排队的 {1} 条消息。", "{1} of your waiting message(s) dropped." },
	[W_NEW_DONE] = { "新对话开始了，前文不再带入。", "A new conversation has begun." },
	[W_RETRY_TAKEN] = { "已排队重做：{1}", "Queued to run again: {1}" },
	[W_RETRY_NONE] = { "没有失败或中断的消息可以重做。",
		"There is no failed or interrupted message to run again." },
	[W_MORE_NONE] = { "都发完了，没有剩下的。", "There is nothing left to send." },

	[W_STATUS_IDLE] = { "空闲", "Idle" },
	[W_STATUS_RUNNING] = { "正在做一个任务，已进行 {1}（/停止 可以停下）",
		"Working on a task for {1} (/stop ends it)" },
	[W_STATUS_ASKED] = { "上面的问题在等你回答", "The question above waits for your answer" },
	[W_STATUS_AWAITS] = { "在接收发来的文件，收齐了就开始",
		"Receiving what was sent; it begins when all is there" },
	[W_STATUS_PAUSED] = { "已暂停，/继续 恢复", "Paused; /resume goes on" },
	[W_STATUS_QUEUE] = { "排队：{1} / {2}", "Waiting: {1} of {2}" },
	[W_STATUS_SENDS] = { "回复次数：已用 {1} / {2}（你每发一条消息就重新计）",
		"Replies: {1} of {2} used (each message of yours starts anew)" },
	[W_STATUS_PARKED] = { "没发完：{1} 段（/更多 接着发）",
		"Kept for later: {1} part(s) (/more sends them)" },
	[W_STATUS_TROUBLE] = { "最近一天：{1} 段被拒，{2} 段不确定是否送到",
		"Last day: {1} part(s) refused, {2} may not have arrived" },
	[W_STATUS_UNCONFIRMED] = { "最近一天有 {1} 段微信收下但没给回执，可能没显示；多见于账号受限。",
		"Last day: {1} part(s) taken without a receipt; they may not show. Often the account is "
		"restricted." },
	[W_STATUS_LINK] = { "连接：{1}", "Link: {1}" },
	[W_LINK_STARTING] = { "正在连接", "starting" },
	[W_LINK_UP] = { "正常", "up" },
	[W_LINK_DEGRADED] = { "不稳定，正在重试", "unsteady, retrying" },
	[W_LINK_EXPIRED] = { "登录已失效，请在电脑上运行 kairo login",
		"login expired: run kairo login on the computer" },
	[W_LINK_STOPPED] = { "已停止", "stopped" },
	[W_STATUS_ENGINE] = { "助手：{1}", "Agent: {1}" },
	[W_STATUS_INTAKE] = { "存不下新消息：{1}", "New messages cannot be stored: {1}" },

	[W_STILL_WORKING] = { "还在做，做完会告诉你。/停止 可以停下。",
		"Still working; you will hear when it is done. /stop ends it." },
	[W_MORE_FOLLOWS] = { "（未完，发 /更多 接着看）", "(more follows: send /more)" },
	[W_MORE_READY] = { "还有回复没发出来，发 /更多 就接着发。",
		"There is more to send: /more goes on." },
	[W_MAYBE_LOST] = { "刚才的回复有一段不确定是否送到。没看到的话，发 /更多 再发一次。",
		"A part of the answer may not have arrived. If it is missing, /more sends it again." },
	[W_PART_REFUSED] = { "回复里有一段微信不肯收，已记在电脑上的日志里。可以请我换个写法。",
		"WeChat refused a part of the answer; the log on the computer has the reason. You can ask me "
		"to put it in other words." },
	[W_ANSWER_CUT] = { "（回复太长，后面的没有保留）",
		"(the answer was too long; the rest was not kept)" },
	[W_WHOLE_BELOW] = { "（全文见下面的文件）", "(the file below has all of it)" },
	[W_WHOLE_FAILED] = { "全文的文件 {1} 没能发给你：{2}。发 /更多 可以用文字接着看。",
		"{1} with the whole answer could not be sent: {2}. /more gives the rest as text." },
	[W_FILE_FAILED] = { "文件 {1} 没能发给你：{2}。它还在电脑上：{3}，需要的话可以让我再发一次。",
		"{1} could not be sent: {2}. It is still on the computer: {3}. You can ask me to send it "
		"again." },
	[W_FILES_REFUSED] = { "没有发出：{1}。原因已经告诉助手，可以让它再发一次。",
		"Not sent: {1}. The agent has been told why; you can ask it to send again." },
	[W_WHY_NOT_TAKEN] = { "微信没有收", "WeChat did not take it" },
	[W_WHY_UNREACHABLE] = { "网络不通", "the network did not hold" },
	[W_WHY_NO_RECEIPT] = { "微信收了却没有给回执",
		"WeChat took it and gave no receipt to send it by" },
	[W_WHY_UNREADABLE] = { "文件读不出来", "it could not be read" },
	[W_WHY_CHANGED] = { "正要发时文件变了", "it was changed while it was being taken" },
	[W_WHY_DISK_FULL] = { "电脑的磁盘满了", "the computer's disk is full" },
	[W_WHY_CUT_OFF] = { "程序中途重启了", "the program was restarted meanwhile" },
	[W_NOT_DELIVERED] = { "[系统：上次回答里有文件没有发给用户。{1}]",
		"[system: files of your last answer were not sent to the user. {1}]" },
	[W_FILE_HERE] = { "文件在：{1}", "The file is here: {1}" },
	[W_INTERRUPTED] = { "做到一半程序重启了，这条没有做完：「{1}」。可能已经做了一部分；发 /重试 再做一次。",
		"The program was restarted before this was done: \"{1}\". Part of it may have been done; "
		"/retry runs it again." },
	[W_HISTORY_LOST] = { "（电脑存储出了问题，这次对话没有记进前文）",
		"(this exchange could not be saved in the conversation: the computer's storage has a problem)" },
	[W_ACTED] = { "在那之前可能已经做了一部分。",
		"Part of it may have been done before that." },
	[W_RETRY_HINT] = { "发 /重试 可以再试一次。", "/retry tries again." },

	[W_ASK_APPROVAL] = { "【{1}】需要你同意：{2}", "[{1}] Your permission is needed: {2}" },
	[W_ASK_HIDDEN] = { "（助手没有说明具体要做什么；不放心就不要同意）",
		"(the agent does not say what exactly it would do; when in doubt, refuse)" },
	[W_ASK_CUT] = { "（中间有略去；不放心就不要同意）",
		"(not all of it is shown; when in doubt, refuse)" },
	[W_ASK_QUESTION] = { "【{1}】{2}", "[{1}] {2}" },
	[W_CHOICE_ONCE] = { "同意，只这一次", "Yes, this once" },
	[W_CHOICE_CONVERSATION] = { "同意，这次对话里再遇到完全一样的也同意",
		"Yes, and again in this conversation when it is exactly the same" },
	[W_CHOICE_NO] = { "不同意", "No" },
	[W_CHOICE_STOP] = { "不同意，并停下任务", "No, and stop the task" },
	[W_ASK_HOW] = { "请在 {3} 分钟内只回复 {1} 到 {2} 的数字。",
		"Reply with {1} to {2} only, within {3} min." },
	[W_ASK_HOW_SEVERAL] = { "可以选几个：请在 {3} 分钟内只回复 {1} 到 {2} 的数字，用空格隔开。",
		"You may choose several: reply with numbers from {1} to {2} only, with spaces between, "
		"within {3} min." },
	[W_ASK_HERE] = { "需要你同意：{1}", "{1} needs your consent:" },
	[W_ASK_HERE_HOW] = { "请回答，1 到 {1}：", "Your answer, 1 to {1}: " },
	[W_ASK_HERE_HOW_SEVERAL] = { "请回答，可以选几个，用 1 到 {1} 的数字：",
		"Your answer, numbers from 1 to {1}: " },
	[W_ASK_CLOSED] = { "那个问题已经结束，这个回答没有用上。如果是想发这个数字本身，请加几个字再发。",
		"That question is closed; the answer was not used. If you meant the number itself, send it "
		"with a word beside it." },
	[W_ASK_RANGE] = { "没有这个选项，请回复 1 到 {1}。",
		"There is no such choice: reply 1 to {1}." },
	[W_ASK_WHICH] = { "现在有两个以上的问题等你，请带上代号，只回复其中一个：{1}",
		"More than one question is open. Reply with one of these: {1}" },
	[W_ASK_EARLY] = { "这个回答写在问题显示之前，没有算数。请看过问题再回复一次。",
		"That was written before the question was shown, so it does not count. Please read the "
		"question and reply again." },
	[W_ASK_OTHER] = { "看不出引用的就是现在等着回答的问题，这个回答没有用上。请只回复数字，不要引用。",
		"What you quote does not seem to be the question that is open, so the answer was not "
		"used. Please reply with just the number, without a quote." },
	[W_ASK_TIMEOUT] = { "等了 {1} 分钟没有回答，按不同意处理。",
		"There was no answer within {1} min, so it was taken as a no." },
	[W_ASK_LOST] = { "当时还开着的问题按不同意处理，也不能再回答了。",
		"A question that was open then counts as a no and can no longer be answered." },
	[W_ASK_WAITS] = { "消息已排队。上面的问题还在等你：只回复选项的数字。",
		"Your message waits. The question above is still open: reply with just the number." },
	[W_ASK_BESIDE] = { "（下面是助手在后台说的话，不是新的问题；回复数字仍然是回答上面的问题。）",
		"(The agent says this beside its work. It is no new question: a number still answers the "
		"one above.)" },
};

static const struct words_pair fails[] = {
	[ENGINE_OK] = { "完成了。", "Done." },
	[ENGINE_FAIL_CANCELLED] = { "任务被取消了。", "The task was cancelled." },
	[ENGINE_FAIL_DEADLINE] = { "任务超过了时间上限，已停下。可以把它拆小一点再发。",
		"The task ran past its time limit and was ended. Try it in smaller steps." },
	[ENGINE_FAIL_NOT_SET_UP] = { "模型还没有设置好{d}。请在电脑上运行 kairo doctor。",
		"The model is not set up{d}. Run kairo doctor on the computer." },
	[ENGINE_FAIL_UNREACHABLE] = { "连不上模型服务{d}。请检查网络，稍后再试。",
		"The model service could not be reached{d}. Check the network and try later." },
	[ENGINE_FAIL_AUTH] = { "模型服务不接受现在的密钥{d}。请在电脑上换一个有效的密钥。",
		"The model service refused the key{d}. Set a valid key on the computer." },
	[ENGINE_FAIL_QUOTA] = { "模型服务的额度或频率到上限了{d}。请稍后再试，或检查账户余额。",
		"The model service's quota or rate limit is reached{d}. Try later or check the balance." },
	[ENGINE_FAIL_NO_MODEL] = { "模型服务找不到这个模型或地址{d}。请检查设置里的模型名和地址。",
		"The model service does not know this model or address{d}. Check model name and base URL." },
	[ENGINE_FAIL_REFUSED] = { "模型服务拒绝了这次请求{d}。",
		"The model service refused the request{d}." },
	[ENGINE_FAIL_PROVIDER] = { "模型服务出错了{d}。请稍后再试。",
		"The model service had an error{d}. Try again later." },
	[ENGINE_FAIL_STALLED] = { "模型服务没有把话说完{d}。",
		"The model service broke off or fell silent{d}." },
	[ENGINE_FAIL_EMPTY] = { "模型没有给出任何内容{d}。换个说法再试试。",
		"The model gave an empty answer{d}. Try other words." },
	[ENGINE_FAIL_GARBLED] = { "模型服务的回答不合规范，读不懂{d}。",
		"The model service's answer did not keep the protocol{d}." },
	[ENGINE_FAIL_TOO_LONG] = { "对话太长，模型放不下了{d}。发 /新对话 重新开始，或 /压缩 缩短前文。",
		"The conversation no longer fits the model{d}. Begin anew with /new, or shorten it with "
		"/compact." },
	[ENGINE_FAIL_INPUT] = { "这条消息太大或不是有效的文字{d}。",
		"The message is too big or is not valid text{d}." },
	[ENGINE_FAIL_BUDGET] = { "任务用完了允许的步数或用量，已停下{d}。",
		"The task used up its allowance and was ended{d}." },
	[ENGINE_FAIL_STORAGE] = { "电脑上读写对话记录出错了{d}。请检查磁盘空间。",
		"The conversation could not be read or written on the computer{d}. Check the disk space." },
	[ENGINE_FAIL_AGENT_START] = { "电脑上的助手启动不了{d}。请在电脑上运行 kairo doctor。",
		"The agent on your computer cannot be started{d}. Run kairo doctor there." },
	[ENGINE_FAIL_AGENT_ENDED] = { "电脑上的助手中途退出了{d}。再发一条消息会重新启动它，之前的对话还在。",
		"The agent on your computer ended{d}. Your next message starts it again, and the "
		"conversation is kept." },
	[ENGINE_FAIL_AGENT_LOGIN] = { "电脑上的助手还没有登录，或者登录、密钥失效了{d}。请在电脑上处理。",
		"The agent on your computer is not logged in, or its login or key is refused{d}. Set "
		"that right there." },
	[ENGINE_FAIL_AGENT_EMPTY] = { "电脑上的助手没有给出回答，也没有说明原因{d}。多半是它的模型出错了；请稍后再试。",
		"The agent on your computer gave no answer and tells no reason{d}. Most often its model "
		"has failed; try again later." },
	[ENGINE_FAIL_AGENT_DENIED] = { "电脑上的助手要做的事没有得到允许，它就停下了{d}。",
		"The agent on your computer stopped because what it wanted to do was not allowed{d}." },
	[ENGINE_FAIL_UNASKED] = { "电脑上的助手没有先问就做了需要你同意的事，任务已停下{d}。",
		"The agent on your computer did without asking what needs your permission, so the task "
		"was stopped{d}." },
	[ENGINE_FAIL_INTERNAL] = { "程序内部出错了{d}。请看电脑上的日志（kairo logs）。",
		"Something went wrong inside the program{d}. See kairo logs on the computer." },
};

int words_fill(struct str *out, const char *tmpl, const char *const *args, const char *detail)
{
	size_t nargs = 0;

	while (args[nargs])
		nargs++;
	while (*tmpl) {
		struct view lit = view_of(tmpl);
		size_t at = view_find(lit, '{');
		size_t which;

		str_add(out, view_cut(lit, at));
		tmpl += at;
		if (!*tmpl)
			break;
		which = (size_t)(tmpl[1] - '1');
		if (tmpl[1] == 'd')
			str_adds(out, detail);
		else if (which < nargs)
			str_adds(out, args[which]);
		tmpl += 3;
	}
	return str_ok(out) ? 0 : -1;
}

int words_put(struct str *out, enum control_language lang, enum word w, ...)
{
	const struct words_pair *p = &table[w];
	const char *args[ARGS_MAX + 1] = { NULL };
	va_list ap;
	size_t n = 0;

	va_start(ap, w);
	while (n < ARGS_MAX && (args[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	if (lang != LANG_EN)
		words_fill(out, p->zh, args, "");
	if (lang == LANG_AUTO)
		str_adds(out, "\n");
	if (lang != LANG_ZH)
		words_fill(out, p->en, args, "");
	return str_ok(out) ? 0 : -1;
}

enum word words_choice(enum approval_choice c)
{
	static const enum word choices[APPROVAL_CHOICES] = {
		[APPROVAL_ONCE] = W_CHOICE_ONCE,
		[APPROVAL_CONVERSATION] = W_CHOICE_CONVERSATION,
		[APPROVAL_NO] = W_CHOICE_NO,
		[APPROVAL_STOP] = W_CHOICE_STOP,
	};

	return choices[c];
}

enum word words_unheard(enum heard h)
{
	static const enum word reasons[] = {
		[HEARD_SILENT] = W_VOICE_SILENT,
		[HEARD_FORMAT] = W_VOICE_FORMAT,
		[HEARD_DAMAGED] = W_VOICE_DAMAGED,
		[HEARD_LATE] = W_VOICE_LATE,
		[HEARD_FAILED] = W_VOICE_FAILED,
		[HEARD_DEAF] = W_VOICE_DEAF,
	};

	return reasons[h];
}

int words_fail(struct str *out, enum control_language lang, enum engine_fail f, const char *detail)
{
	static const char *const none[] = { NULL };
	struct str zh = STR_INIT(1024), en = STR_INIT(1024);
	struct str safe = STR_INIT(1024);
	int rc = -1;

	if ((size_t)f >= sizeof(fails) / sizeof(*fails))
		f = ENGINE_FAIL_INTERNAL;
	if (detail && *detail) {
		words_named(&safe, view_of(detail), 300);
		str_addf(&zh, "（%s）", str_cstr(&safe));
		str_addf(&en, " (%s)", str_cstr(&safe));
	}
	if (!str_ok(&safe) || !str_ok(&zh) || !str_ok(&en))
		goto out;
	if (lang != LANG_EN)
		words_fill(out, fails[f].zh, none, str_cstr(&zh));
	if (lang == LANG_AUTO)
		str_adds(out, "\n");
	if (lang != LANG_ZH)
		words_fill(out, fails[f].en, none, str_cstr(&en));
	rc = str_ok(out) ? 0 : -1;
out:
	str_release(&safe);
	str_release(&zh);
	str_release(&en);
	return rc;
}

int words_span(struct str *out, enum control_language lang, int64_t ms)
{
	long long s = ms < 0 ? 0 : ms / 1000;
	long long h = s / 3600, m = s / 60 % 60;
	bool zh = lang != LANG_EN;

	s %= 60;
	if (h)
		return str_addf(out, zh ? "%lld 小时 %lld 分" : "%lld h %lld min", h, m);
	if (m)
		return str_addf(out, zh ? "%lld 分 %lld 秒" : "%lld min %lld s", m, s);
	return str_addf(out, zh ? "%lld 秒" : "%lld s", s);
}

size_t words_quote(struct view prompt)
{
	size_t n = 0;

	for (enum control_language lang = LANG_ZH; lang <= LANG_EN; lang++) {
		struct str head = STR_INIT(100);

		words(&head, lang, W_QUOTED, "");
		str_truncate(&head, head.n - 1); /* the bracket comes after what is quoted */
		if (view_starts(prompt, str_view(&head)))
			n = view_find(prompt, '\n');
		str_release(&head);
	}
	return n;
}
