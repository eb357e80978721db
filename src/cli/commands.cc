// The table of all commands, in the order of `rota --help`.
#include <algorithm>

#include "cli/command.h"
#include "cli/commands/declare.h"

namespace rota::cli {
namespace {

constexpr std::string_view kJobs = "Submit and follow jobs";
constexpr std::string_view kControl = "Change jobs";
constexpr std::string_view kCluster = "Look at the cluster, and run it";
constexpr std::string_view kOffline = kOfflineGroup;
constexpr std::string_view kOther = "Other";

constexpr Command kSubmit{
    "submit", kJobs, "queue a script or a command",
    "[OPTION...] FILE [ARG...]\n[OPTION...] -- COMMAND [ARG...]",
    "Options stand before FILE or --; what follows belongs to the job and is never looked at.\n"
    "FILE may hold options in #SBATCH and #ROTA lines. An option given here wins over a variable\n"
    "(SBATCH_*, ROTA_*), that over the script, that over the configuration. Without a word on\n"
    "GPUs a job gets one (or its class's number); a script with #SBATCH lines none, with a\n"
    "warning.",
    "rota submit --gpus 2 --time 4h -- python train.py --lr 0.1\n"
    "rota submit job.sh data.txt\n"
    "rota submit --dry-run -G 8 job.sh\n"
    "rota submit -N 4 -G 8 --min-runtime 2h --signal USR1@300 train.sh\n"
    "rota submit --param lr=.1,.2 --param bs=32,64 --max-concurrent 2 -- \\\n"
    "    sh -c 'python train.py --lr $lr --bs $bs'",
    true, declare_submit};
constexpr Command kRun{
    "run", kJobs, "run a command now: see its output, get its exit code",
    "[OPTION...] -- COMMAND [ARG...]\n[OPTION...] FILE [ARG...]",
    "Waits for its turn, shows output and errors as they come, and ends with the job's exit code.\n"
    "Ctrl-C asks the job to end, a second Ctrl-C kills it. Without --gpus it gets one GPU. Of a\n"
    "job with several tasks the output of rank 0 is shown; of the others: rota logs --rank N ID.\n"
    "Standard input is not passed to the job, which reads an empty one.",
    "rota run --gpus 1 --time 1m -- nvidia-smi\nrota run -G 2 -t 4h -- python train.py",
    true, declare_run};
constexpr Command kLs{"ls", kJobs, "jobs that wait or run", "[OPTION...]", "",
                      "rota ls --me\nrota ls --tree\nrota ls -w --watch\nrota ls -o json",
                      false, declare_ls};
constexpr Command kShow{"show", kJobs, "everything about a job", "[OPTION...] ID...", "",
                        "rota show 7\nrota show @ -o json", false, declare_show};
constexpr Command kWhy{"why", kJobs, "why a job waits or ended, and what would help",
                       "[OPTION...] ID...",
                       "Of an array: its jobs in groups of one reason. -o json has all of them.",
                       "rota why 7\nrota why @", false, declare_why};
constexpr Command kLogs{"logs", kJobs, "the output of a job", "[OPTION...] ID",
                        "Of an array: of its first member; 12.3 names another.",
                        "rota logs -f @\nrota logs --rank 1 --lines 20 7\nrota logs --err 7",
                        false, declare_logs};
constexpr Command kWait{"wait", kJobs, "wait until jobs have ended", "[OPTION...] ID...",
                        "Exit code: of the first job, in the order given, that did not succeed;\n"
                        "the same that `rota run` would have given.",
                        "rota wait @ && echo fine\nrota wait 12 13", false, declare_wait};
constexpr Command kHistory{"history", kJobs, "jobs that have ended", "[OPTION...]",
                           "The latest end stands last.",
                           "rota history --me --since 2d\nrota history --since yesterday\n"
                           "rota history --all -o csv > jobs.csv",
                           false, declare_history};
constexpr Command kEvents{"events", kJobs, "what happened, in order", "[OPTION...]", "",
                          "rota events -f\nrota events --job 7 -o json", false, declare_events};

constexpr Command kCancel{"cancel", kControl, "end jobs", "[OPTION...] ID...",
                          "Running jobs get their stop signal, then the grace period, then a kill.",
                          "rota cancel 7\nrota cancel 12 13.4 @", false, declare_cancel};
constexpr Command kHold{"hold", kControl, "keep pending jobs from starting", "[OPTION...] ID...",
                        "", "rota hold 7", false, declare_hold};
constexpr Command kRelease{"release", kControl, "let held jobs start again", "[OPTION...] ID...",
                           "", "rota release 7", false, declare_release};
constexpr Command kRequeue{"requeue", kControl, "stop running jobs and put them back in line",
                           "[OPTION...] ID...",
                           "A finished job is started over as a new attempt.",
                           "rota requeue 7", false, declare_requeue};
constexpr Command kUpdate{"update", kControl, "change what a job asks for", "[OPTION...] ID...",
                          "A running job keeps its place: only priority, time limit, name,\n"
                          "comment and the tasks of an elastic job can change.",
                          "rota update 7 --time 8h --priority 10", false, declare_update};
constexpr Command kRedo{"redo", kControl, "submit a job again as it was", "[OPTION...] ID",
                        "Of an array all jobs, of a member (12.3) that one with its parameters.",
                        "rota redo @\nrota redo 12.3\nrota redo 12 --cascade", false, declare_redo};

constexpr Command kNodes{"nodes", kCluster, "machines, and what is free on them", "[OPTION...]",
                         "", "rota nodes -o wide", false, declare_nodes};
constexpr Command kGpus{"gpus", kCluster, "every GPU, and who holds it", "[OPTION...]", "",
                        "rota gpus\nrota gpus -w --watch", false, declare_gpus};
constexpr Command kQueue{"queue", kCluster, "owners: shares, quotas, limits", "ls|set [OPTION...]",
                         "", "rota queue ls\nrota queue set vision --weight 2 --quota 4",
                         false, declare_queue};
constexpr Command kDrain{"drain", kCluster, "empty a node for maintenance", "[OPTION...] NODE...",
                         "It takes nothing new; each job on it leaves at its end, or when its\n"
                         "contract is over, and is requeued elsewhere.",
                         "rota drain n3 --reason 'replace fan'", false, declare_drain};
constexpr Command kUndrain{"undrain", kCluster, "take a node back into use", "[OPTION...] NODE...",
                           "From a drain and from quarantine. Exit code 1 when it is not up then.",
                           "rota undrain n3", false, declare_undrain};
constexpr Command kServe{
    "serve", kCluster, "the daemon of this machine", "[OPTION...]",
    "Finds the GPUs of this machine; --simulate makes some up, plainly labelled. State is kept\n"
    "in /var/lib/rota as root, else below $XDG_STATE_HOME. People of this machine talk to it\n"
    "over a Unix socket, browsers and scripts over loopback with a token. Jobs outlive it: after\n"
    "a stop, a crash or an upgrade it finds them again.",
    "rota serve\nrota serve --simulate 2x4xh100\nrota serve --state ~/rota --port 0",
    false, declare_serve};
constexpr Command kStop{"stop", kCluster, "end the daemon; jobs go on", "[OPTION...]", "",
                        "rota stop", false, declare_stop};
constexpr Command kDoctor{"doctor", kCluster, "check this machine and the daemon", "[OPTION...]",
                          "", "rota doctor", false, declare_doctor};

constexpr Command kDemo{
    "demo", kOffline, "see it at work: a dozen real processes, half a minute", "[OPTION...]",
    "Starts a daemon on loopback with a state folder of its own and simulated GPUs (or this\n"
    "machine's, when it has some), and lets three teams submit work.",
    "rota demo\nrota demo --exit", false, declare_demo};
constexpr Command kSim{"sim", kOffline, "run scenario files and check what they expect",
                       "[OPTION...] FILE...", "", "rota sim tests/scenarios/*/*.scenario\n"
                       "rota sim --trace my.scenario", false, declare_sim};
constexpr Command kReplay{
    "replay", kOffline, "run a list of past jobs under other policies", "[OPTION...] HISTORY...",
    "HISTORY as for rota import: what needs a submit time, a run time and GPUs. Every job runs\n"
    "through the engine for as long as it really did. Without options: fifo with EASY backfill on\n"
    "one pool of 512 GPUs.",
    "rota replay philly.csv --on flat:512 --order fifo,shortest --backfill off,easy\n"
    "rota replay philly.csv --on 64x8 -o json", false, declare_replay};

constexpr Command kImport{
    "import", kOffline, "read past jobs of any system, and say what is in them",
    "[OPTION...] HISTORY...\n--from-slurm --into FILE [OPTION...]",
    "HISTORY is what Slurm, Kubernetes or another system wrote down, or a public trace; packed\n"
    "with gzip, Zstandard or zip as it may be. The format is seen from its first lines. Rows that\n"
    "are not plain are counted by kind, with their lines. Nothing leaves this machine.\n"
    "--from-slurm runs sacct and brings FILE up to date with what it tells since the last time:\n"
    "once, or with --every again and again. FILE is a HISTORY for every command meanwhile.",
    "TZ=UTC sacct -a -D -P -o ALL -S now-7days > week.psv; rota import week.psv\n"
    "rota import jobs.csv.gz --map submit=created,gpus=ngpu,run=seconds\n"
    "rota import --format sacct - --to week.csv < week.psv\n"
    "rota import --from-slurm --into jobs.csv --every 5m",
    false, declare_import};
constexpr Command kAudit{
    "audit", kOffline, "say where the GPU time of a history went, and what to do",
    "[OPTION...] HISTORY...",
    "HISTORY as for rota import. One page: occupancy, waits, where GPU time went, teams against\n"
    "their shares, findings with what to do and what that may bring, what the history cannot\n"
    "tell, and classes found from the jobs as a part of rota.yaml. Nothing leaves this machine.",
    "rota audit week.psv --on 64x8\n"
    "rota audit week.psv --on 64x8 --shares vision=3,speech=1 --hash-names\n"
    "rota audit jobs.csv --map submit=created,gpus=ngpu,run=seconds -o json",
    false, declare_audit};

constexpr Command kForecast{
    "forecast", kOffline, "GPUs that will be wanted, and waits, from past jobs",
    "[OPTION...] HISTORY...",
    "HISTORY as for rota import, five weeks and more for the next seven days. Beside each figure\n"
    "stands how far off the same method was in the past, and the plain `same hour last week`.\n"
    "-o wide has each hour. With --scale-up-when the exit code is 10 if the condition holds at\n"
    "some hour, 0 if not; --hook is run only then.",
    "rota forecast quarter.psv --on 64x8\n"
    "rota forecast quarter.psv --days 3 --capacity 64 -o wide\n"
    "rota forecast quarter.psv --capacity 64 --scale-up-when 'p90 demand > capacity for 4h' \\\n"
    "    --hook ./order-nodes",
    false, declare_forecast};

constexpr Command kReport{
    "report", kOffline, "bills and balances of GPU time over past jobs",
    "usage|cost|idle|delivered [OPTION...] HISTORY...\ndevices [OPTION...] SCRAPE",
    "usage, cost, idle: lines that add up to the cluster's GPUs times the period, with what was\n"
    "idle, failed, preempted or drained. Parts of a GPU count as parts.\n"
    "delivered: what teams were owed, and what they got of it.\n"
    "devices: one scrape of DCGM's exporter, without what cannot be known.\n"
    "HISTORY is as in rota import. usage, cost and idle also take a table of holdings (node, gpu,\n"
    "job, queue, fraction, start, end, price_per_gpu_hour), delivered one of demand by the hour\n"
    "(hour, queue, demand_gpus, used_gpus).",
    "rota report usage week.psv --on 64x8 --by user\n"
    "rota report cost week.psv --on cluster.scenario --month 2026-10 --prices h100=2.5,a100=1.2\n"
    "rota report idle week.psv --on 64x8 --by day\n"
    "rota report delivered week.psv --on 64x8 --shares vision=3,speech=2\n"
    "curl -s node1:9400/metrics | rota report devices -",
    false, declare_report};

constexpr Command kWhatIf{
    "whatif", kOffline, "past jobs under other rules or on another cluster",
    "[OPTION...] HISTORY...",
    "HISTORY as for rota import. First: how well a replay of today's policy reproduces the waits\n"
    "that were observed, and whether to trust the rest. Then each scenario beside today: waits,\n"
    "what teams got of what they were owed, occupancy, preemptions and lost work, cost.\n"
    "Changes: policy (fifo, easy, conservative, greedy, priority, time-fair, contracts,\n"
    "slurm-like, or a rota.yaml), order, fairness, backfill, placement, reclaim, spill; gpus,\n"
    "nodes, on; contract, grace, checkpoint, time-limit-factor; weights, quota, limit; debug,\n"
    "debug-gpus, debug-weight; main-every, main-after, backfill-every, launch, release;\n"
    "reaction. They are made in the order given.",
    "rota whatif week.psv --change policy=time-fair\n"
    "rota whatif week.psv --on 64x8 --change gpus=+16 --prices 2.5\n"
    "rota whatif week.psv --compare contracts,priority,rota.yaml -o wide\n"
    "rota whatif jobs.csv --today slurm-like,backfill-every=10s --change nodes=-2",
    false, declare_whatif};

constexpr Command kCapacity{
    "capacity", kOffline, "the smallest cluster, or other policy, that meets a goal",
    "[OPTION...] --goal GOAL HISTORY...",
    "Tries --policies on today's cluster, then whole nodes in today's mix: doubles or halves\n"
    "their number, bisects, and looks at the neighbours of what it found. Begins, as rota whatif\n"
    "does, with how far to trust it. Exit code 1 when nothing meets the goal.\n"
    "Goals: mean, p50, p90, p99 or max wait [of all|wide|debug|TEAM|CLASS] < TIME;\n"
    "delivered [of all|TEAM] > PART%; occupancy > PART%. debug is short jobs of one GPU, unless\n"
    "the history has a class of that name; wide is 8 GPUs and more.",
    "rota capacity week.psv --goal 'p90 wait of debug < 1m'\n"
    "rota capacity week.psv --goal 'delivered of vision > 95%' --change weights=vision=3\n"
    "rota capacity week.psv --goal 'occupancy > 80%' --policies none",
    false, declare_capacity};

constexpr Command kStudy{
    "study", kOffline, "experiments on past jobs and on lists of nodes and tasks",
    "packing|sharing [OPTION...]",
    "packing: how much of a cluster each placement policy can use, over many seeds. The lists are\n"
    "CSV in the form of Alibaba's openb cluster: sn, cpu_milli, memory_mib, gpu, model; and name,\n"
    "cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec.\n"
    "sharing: past jobs of teams (HISTORY as for rota import; a queue is a team) under\n"
    "contracts, and as priority, EASY or plain FIFO would have run them: what each team got of\n"
    "what it was owed, how long jobs waited, what preemption cost.",
    "rota study packing --nodes nodes.csv --tasks tasks.csv --load 1.0,1.3 --seeds 42-51 \\\n"
    "    --placement pack,least_fragmentation\n"
    "rota study packing --nodes nodes.csv --tasks tasks.csv --load 0.95 --departures 60000\n"
    "rota study sharing philly.csv --on 32x8 --days 30 --weights ee9e8c=4,6214e9=2 -o wide",
    false, declare_study};

constexpr Command kCompletion{"completion", kOther, "completion script for a shell",
                              "bash|zsh|fish", "",
                              "source <(rota completion bash)\n"
                              "rota completion fish > ~/.config/fish/completions/rota.fish",
                              false, declare_completion};
constexpr Command kVersionCommand{"version", kOther, "versions of this program and of the daemon",
                                  "[OPTION...]", "", "", false, declare_version};

constexpr Command kAll[] = {
    kSubmit, kRun,    kLs,      kShow,   kWhy,    kLogs,   kWait,  kHistory,   kEvents,
    kCancel, kHold,   kRelease, kRequeue, kUpdate, kRedo,
    kNodes,  kGpus,   kQueue,   kDrain,  kUndrain, kServe, kStop,  kDoctor,
    kDemo,   kSim,    kReplay,  kImport, kAudit, kForecast, kReport, kWhatIf, kCapacity,
    kStudy,  kCompletion, kVersionCommand,
};

}  // namespace

std::span<const Command> commands() { return kAll; }

const Command* find_command(std::string_view name) {
  const auto found = std::find_if(std::begin(kAll), std::end(kAll),
                                  [&](const Command& command) { return command.name == name; });
  return found == std::end(kAll) ? nullptr : &*found;
}

}  // namespace rota::cli
