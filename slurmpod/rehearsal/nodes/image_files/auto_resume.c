/*
 * srun --auto-resume=0|1, an option of steps only, as on HyperPod: a step that fails because of a
 * fault of one of its nodes is restarted, in the same job, once that node has been replaced.
 *
 * srun becomes two processes. The child is srun again. The parent waits for its end and asks the
 * cluster agent whether hardware was the cause. If so, it waits until the nodes are back and
 * restarts the same command line; otherwise it exits with the step's status. The parent ends a step
 * that has lost a node: if that node's sockets were closed properly, srun would wait for its tasks
 * forever.
 *
 * Parent and agent exchange lines over a connection that lives as long as the parent: while it is
 * open, the agent leaves the allocation of that job alone when a node dies.
 *   > watch JOB HOST
 *   < lost NODE                                a node of the job is gone; at any time
 *   > diagnose STEP                            the step failed
 *   < JobId=JOB, ResumeAction=RETRYSTEP|NONE
 *   < ready                                    after RETRYSTEP: the nodes are back
 *
 * Argument in plugstack.conf: agent=ADDRESS:PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(auto_resume, 1)

#define LOG "/var/log/aws/clusters/sagemaker-autoresume.log"
#define LOST "lost "
#define REPORT "AUTO_RESUME_REPORT" /* in a child's environment: where it reports its step */

enum { MAX_RESTARTS = 5, MAX_ARGUMENTS = 4096, LAST_WORDS_MS = 2000 };

static const char *agent_address = "";
static int enabled;
static int agent = -1;
static unsigned step_id;
static volatile pid_t child;
static volatile sig_atomic_t interrupted;

static int take_value(int value, const char *argument, int remote)
{
	(void)value, (void)remote;
	if (!argument || (strcmp(argument, "0") && strcmp(argument, "1"))) {
		slurm_error("--auto-resume takes 0 or 1");
		return -1;
	}
	enabled = argument[0] == '1';
	return 0;
}

static struct spank_option option = {
	"auto-resume", "0|1", "run the step again when a faulty node has been replaced", 1, 0, take_value
};

/* Not in sbatch and salloc, which reject the option; slurmstepd receives it and has to know it. */
int slurm_spank_init(spank_t spank, int count, char *arguments[])
{
	for (int i = 0; i < count; i++)
		if (!strncmp(arguments[i], "agent=", 6))
			agent_address = strdup(arguments[i] + 6);
	if (spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_REMOTE)
		return spank_option_register(spank, &option);
	return 0;
}

/* Report an event to the user and the log. */
static void say(const char *level, const char *format, ...)
{
	char text[1024];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	FILE *log = fopen(LOG, "a");
	FILE *places[] = { stderr, log };
	for (int i = 0; i < 2; i++)
		if (places[i])
			fprintf(places[i], "[Auto Resume] %s: JobID: %s StepID: %u %s\n",
				level, getenv("SLURM_JOB_ID"), step_id, text);
	if (log)
		fclose(log);
}

static void send_line(const char *word, const char *first, const char *second)
{
	char line[512];
	int length = snprintf(line, sizeof line, "%s %s %s\n", word, first, second);
	if (send(agent, line, length, MSG_NOSIGNAL) < 0)
		say("Info", "The cluster agent is gone: %s", strerror(errno));
}

/* Read a line without its end; an empty one if the agent is gone. */
static char *receive_line(char *line, size_t size)
{
	size_t length = 0;
	while (length + 1 < size && recv(agent, line + length, 1, 0) == 1 && line[length] != '\n')
		length++;
	line[length] = 0;
	return line;
}

/* Read an answer; further lost nodes do not matter once the step has failed. */
static char *receive_answer(char *line, size_t size)
{
	do
		receive_line(line, size);
	while (!strncmp(line, LOST, strlen(LOST)));
	return line;
}

static void call_agent(void)
{
	char host[256] = "", address[64] = "";
	struct sockaddr_in target = { .sin_family = AF_INET };
	snprintf(address, sizeof address, "%s", agent_address);
	char *port = strchr(address, ':');
	if (port) {
		*port = 0;
		target.sin_port = htons(atoi(port + 1));
		inet_pton(AF_INET, address, &target.sin_addr);
	}
	agent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(agent, (struct sockaddr *)&target, sizeof target))
		say("Info", "The cluster agent does not answer: %s", strerror(errno));
	gethostname(host, sizeof host - 1);
	send_line("watch", getenv("SLURM_JOB_ID"), host);
}

/* A terminal signals both processes; signals from another process are meant for srun. */
static void pass_on(int signal, siginfo_t *origin, void *context)
{
	(void)context;
	if (signal == SIGINT || signal == SIGTERM || signal == SIGQUIT || signal == SIGHUP)
		interrupted = 1;
	if (!child)
		_exit(128 + signal);
	if (origin->si_code <= 0)
		kill(child, signal);
}

static void watch_signals(void)
{
	int signals[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT };
	struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
}

/* Start the command line of this process again; does not return. */
static void run_again(void)
{
	static char text[1 << 20];
	static char *arguments[MAX_ARGUMENTS];
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
	size_t count = 0;
	for (char *next = text; next < text + size && count + 1 < MAX_ARGUMENTS; next += strlen(next) + 1)
		arguments[count++] = next;
	execv("/proc/self/exe", arguments);
	_exit(127);
}

/* End a step that lost a node: its other tasks first, then srun, once it has printed their output. */
static void end_step(struct pollfd *end, const char *node)
{
	char command[256];
	say("Error", "Task failed on node %s", node);
	snprintf(command, sizeof command, "/opt/slurm/bin/scancel --quiet --signal=KILL %s.%u 2>/dev/null",
		 getenv("SLURM_JOB_ID"), step_id);
	(void)!system(command); /* it fails, as the lost node does not answer; the others get the signal */
	if (poll(end, 1, LAST_WORDS_MS) < 1)
		kill(child, SIGKILL);
}

/* Return the status of the child, which may have been ended because of a lost node. */
static int wait_for_child(void)
{
	char line[512];
	int status;
	struct pollfd events[] = {
		{ .fd = syscall(SYS_pidfd_open, child, 0), .events = POLLIN },
		{ .fd = agent, .events = POLLIN },
	};
	while (events[0].fd >= 0 && !events[0].revents) {
		if (poll(events, 2, -1) < 1 || !events[1].revents)
			continue; /* a signal was passed on, or it has ended */
		receive_line(line, sizeof line);
		if (!*line)
			events[1].fd = -1; /* the agent is gone */
		else if (!strncmp(line, LOST, strlen(LOST)))
			end_step(events, line + strlen(LOST));
	}
	close(events[0].fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Run the step in a child and return its status; -1 if there can be no child. The child executes
 * srun from scratch: srun 26.05 already has threads, which a fork does not copy.
 */
static int run_step(int restarts)
{
	int report[2];
	char number[16];
	pid_t parent = getpid();
	if (pipe(report))
		return -1;
	snprintf(number, sizeof number, "%d", report[1]);
	setenv(REPORT, number, 1);
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		close(agent);
		close(report[0]);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		if (restarts) /* slurmctld never closes the dead node's share of a step */
			setenv("SLURM_OVERLAP", "1", 1);
		run_again();
	}
	child = pid;
	close(report[1]);
	if (!restarts)
		watch_signals();
	if (read(report[0], &step_id, sizeof step_id) != sizeof step_id)
		step_id = 0; /* it ended before there was a step */
	close(report[0]);
	return wait_for_child();
}

/* Return whether Slurm's configuration prevents HyperPod from resuming jobs, and report it. */
static int configuration_is_refused(void)
{
	char line[1024], key[64], value[512];
	int refused = 0;
	FILE *conf = popen("/opt/slurm/bin/scontrol show config", "r");
	while (conf && fgets(line, sizeof line, conf)) {
		if (sscanf(line, "%63s = %511s", key, value) != 2 || !strcmp(value, "(null)"))
			continue; /* Slurm also shows task/none this way */
		if (!strcmp(key, "TaskPlugin") && strcmp(value, "task/none")) {
			say("Error", "Configuration error: slurm.conf has TaskPlugin=%s."
				     " Only task/none is supported now", value);
			refused = 1;
		}
		if (!strcmp(key, "PrologFlags")) {
			say("Error", "Config unsupported : PrologFlags=%s", value);
			refused = 1;
		}
	}
	if (conf)
		pclose(conf);
	if (refused)
		say("Error", "Slurm configuration doesn't allow to resume a job.");
	return refused;
}

/* Return whether a failed step is to be restarted; returns once it can be. */
static int nodes_were_replaced(void)
{
	char line[512], step[16];
	if (configuration_is_refused())
		return 0;
	snprintf(step, sizeof step, "%u", step_id);
	say("Info", "Initiating communication with cluster agent to diagnose health of nodes");
	send_line("diagnose", step, "");
	say("Info", "Response from cluster agent: %s", receive_answer(line, sizeof line));
	if (!strstr(line, "ResumeAction=RETRYSTEP"))
		return 0;
	say("Info", "Job failed - replacing nodes");
	if (strcmp(receive_answer(line, sizeof line), "ready")) {
		say("Info", "The nodes were not replaced: %s", line);
		return 0;
	}
	say("Info", "Nodes are back - restarting the step");
	return 1;
}

int slurm_spank_init_post_opt(spank_t spank, int count, char *arguments[])
{
	(void)spank, (void)count, (void)arguments;
	if (spank_context() != S_CTX_LOCAL || !enabled || getenv(REPORT) || !getenv("SLURM_JOB_ID"))
		return 0;
	call_agent();
	for (int restarts = 0;; restarts++) {
		int status = run_step(restarts);
		if (status < 0)
			return 0;
		if (!status || interrupted || restarts == MAX_RESTARTS || !nodes_were_replaced())
			_exit(status);
	}
}

/* In srun, once the step exists: report it to the parent. Tasks do not inherit our variables. */
int slurm_spank_local_user_init(spank_t spank, int count, char *arguments[])
{
	(void)count, (void)arguments;
	const char *report = getenv(REPORT);
	if (!report || spank_get_item(spank, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS)
		return 0;
	int end = atoi(report);
	if (write(end, &step_id, sizeof step_id) < 0)
		slurm_error("auto-resume: %s", strerror(errno));
	close(end);
	unsetenv(REPORT);
	return 0;
}
