/* What a turn costs beside the agent's own time: an agent that answers at once, driven by the
 * engine and by a bare pipe. And what 200 turns leave behind. */
#include "bench.h"

#include <dirent.h>
#include <malloc.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/acp/acp.h"
#include "agent/turn.h"
#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "channel/words.h"

#define TURNS 200
#define WARM  20

static const char script[] =
	"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{"
	"\"type\":\"text\",\"text\":\"done\"}}},{\"result\":{\"stopReason\":\"end_turn\"}}]}";

static char dir[] = "/tmp/kairo-bench-XXXXXX";
static char script_path[64], record_path[64], db_path[64];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- By the engine ---------------------------------------------------------------------------- */

struct rig {
	struct loop *loop;
	struct log *log;
	struct db *db;
	struct engine *engine;
	struct turns *turns;
	uint64_t turn;
	bool ok;
};

static void on_event(void *arg, const struct engine_event *ev)
{
	struct rig *r = arg;

	if (ev->type != ENGINE_DONE)
		return;
	r->ok = ev->fail == ENGINE_OK && view_eqs(ev->text, "done");
	loop_stop(r->loop);
}

static void open_rig(struct rig *r)
{
	const char *const argv[] = { "acp_agent", script_path, record_path, NULL };
	const char *const env[] = { NULL };
	struct err e = ERR_INIT;

	if (loop_open(&r->loop, NULL, &e) < 0 ||
		log_open_fd(&r->log, STDERR_FILENO, LOG_ERROR, &e) < 0 ||
		db_open(&r->db, db_path, &e) < 0)
		die(e.msg);
	const struct acp_env acp = {
		.loop = r->loop,
		.log = r->log,
		.db = r->db,
		.speak = words_speech,
		.name = "bench",
		.path = ACP_AGENT,
		.argv = argv,
		.env = env,
		.workspace = dir,
	};
	if (acp_open(&r->engine, &acp, &e) < 0 ||
		turns_open(&r->turns, r->loop, r->engine, 0, on_event, NULL, r, r->log, &e) < 0)
		die(e.msg);
}

static void close_rig(struct rig *r)
{
	turns_close(&r->turns);
	r->engine->ops->close(&r->engine);
	db_close(&r->db);
	log_close(&r->log);
	loop_close(&r->loop);
}

static double turn(struct rig *r)
{
	const struct turn_input in = { .turn = ++r->turn,
		.conversation = "user",
		.origin = ORIGIN_PHONE,
		.owner = true,
		.text = VIEW("hello"),
		.language = "en" };
	double from = bench_now();
	struct err e = ERR_INIT;

	if (turns_start(r->turns, &in, &e) < 0 || loop_run(r->loop, &e) < 0)
		die(e.msg);
	if (!r->ok)
		die("a turn failed");
	return bench_now() - from;
}

static size_t heap(void)
{
	return mallinfo2().uordblks;
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n;
}

static double by_engine(void)
{
	static double samples[TURNS];
	struct rig r = { .loop = NULL };
	size_t before;
	int fds;

	open_rig(&r);
	for (int i = 0; i < WARM; i++)
		(void)turn(&r);
	before = heap();
	fds = descriptors();
	for (int i = 0; i < TURNS; i++)
		samples[i] = turn(&r);
	printf("  %-44s %+9ld bytes of heap, %+d descriptors\n", "left behind by 200 turns",
		(long)heap() - (long)before, descriptors() - fds);
	close_rig(&r);
	bench_latency("a turn by the engine", samples, TURNS);
	return bench_quantile(samples, TURNS, 0.5);
}

/* --- By a bare pipe --------------------------------------------------------------------------- */

static void start_agent(int in[2], int out[2], pid_t *pid)
{
	if (pipe(in) < 0 || pipe(out) < 0 || (*pid = fork()) < 0)
		die("the agent");
	if (*pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(in[1]);
		(void)close(out[0]);
		(void)execl(ACP_AGENT, "acp_agent", script_path, record_path, (char *)NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
}

/* The answer is behind the update, on the second line. */
static double exchange(int to, int from, int lines)
{
	static const char prompt[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":"
		"\"s1\",\"prompt\":[{\"type\":\"text\",\"text\":\"hello\"}]}}\n";
	double start = bench_now();
	char buf[4096];

	if (write(to, prompt, sizeof(prompt) - 1) < 0)
		die("the agent");
	while (lines > 0) {
		ssize_t n = read(from, buf, sizeof(buf));

		if (n <= 0)
			die("the agent");
		for (ssize_t i = 0; i < n; i++)
			lines -= buf[i] == '\n';
	}
	return bench_now() - start;
}

static double by_pipe(void)
{
	static double samples[TURNS];
	int in[2], out[2];
	pid_t pid;

	start_agent(in, out, &pid);
	for (int i = 0; i < WARM; i++)
		(void)exchange(in[1], out[0], 2);
	for (int i = 0; i < TURNS; i++)
		samples[i] = exchange(in[1], out[0], 2);
	(void)close(in[1]);
	(void)close(out[0]);
	(void)waitpid(pid, NULL, 0);
	bench_latency("the same by a bare pipe", samples, TURNS);
	return bench_quantile(samples, TURNS, 0.5);
}

/* ---------------------------------------------------------------------------------------------- */

static void make_files(void)
{
	FILE *f;

	if (!mkdtemp(dir))
		die(dir);
	(void)snprintf(script_path, sizeof(script_path), "%s/script", dir);
	(void)snprintf(record_path, sizeof(record_path), "%s/record", dir);
	(void)snprintf(db_path, sizeof(db_path), "%s/state.db", dir);
	f = fopen(script_path, "we");
	if (!f || fputs(script, f) < 0 || fclose(f) != 0)
		die(script_path);
}

static void remove_files(void)
{
	char path[80];

	(void)unlink(script_path);
	(void)unlink(record_path);
	(void)unlink(db_path);
	(void)snprintf(path, sizeof(path), "%s-wal", db_path);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s-shm", db_path);
	(void)unlink(path);
	(void)rmdir(dir);
}

int main(void)
{
	double engine, bare;

	bench_title("turns of an agent that answers at once");
	make_files();
	engine = by_engine();
	bare = by_pipe();
	printf("  %-44s %9.3f ms\n", "added by kairo at the median", (engine - bare) * 1e3);
	remove_files();
	return 0;
}
