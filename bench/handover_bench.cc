// How fast a GPU is handed on, with real processes: the time from the end of one job to the start
// of the next on the same GPU, and jobs per second; task-spooler beside it, in the same run.
//
//   handover_bench [--rota=PROGRAM] [--jobs=20,1000] [--benchmark_out=FILE]
//
// Four simulated GPUs (task-spooler: four slots). Four jobs hold them until all others are queued;
// then they end, and the queue drains. A job is this program: it writes down the time when main()
// begins and when it returns, so process start and exit count as part of the gap.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;
constexpr std::size_t kGpus = 4;
constexpr std::chrono::seconds kPatience{300};

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

/// Ends the spooler that is being measured; called before an early end.
std::function<void()> stop_spooler;

[[noreturn]] void give_up(const std::string& why) {
  if (stop_spooler) stop_spooler();
  std::fprintf(stderr, "handover_bench: %s\n", why.c_str());
  std::exit(1);
}

// ---- the job ----

void note(int log, char what) {
  const char* device = std::getenv("CUDA_VISIBLE_DEVICES");
  std::array<char, 64> line{};
  const int size = std::snprintf(line.data(), line.size(), "%c %lld %.8s\n", what,
                                 static_cast<long long>(now_ns()),
                                 device == nullptr || *device == 0 ? "-" : device);
  if (write(log, line.data(), static_cast<std::size_t>(size)) != size) std::exit(9);
}

/// One job: with `gate` it stays until that file exists.
int be_a_job(const char* log_path, const char* gate) {
  const int log = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (log < 0) return 9;
  note(log, 'S');
  while (gate != nullptr && access(gate, F_OK) != 0) usleep(2000);
  note(log, 'E');
  return 0;
}

// ---- the two spoolers ----

/// Runs a command with its output thrown away; false when it fails.
bool run(const Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct Spooler {
  std::function<bool()> start;
  std::function<bool(std::int64_t count, const Words& job)> submit;
  std::function<void()> stop;
  std::int64_t jobs_max = 1'000'000;  // that it can hold in its queue
};

Spooler rota(const std::string& program, const std::string& folder) {
  const std::string socket = folder + "/rota.sock";
  return {[=] {
            return run({program, "serve", "--background", "--simulate", "4xh100", "--state",
                        folder + "/state", "--socket", socket, "--port", "off", "--log-level",
                        "warning"});
          },
          [=](std::int64_t count, const Words& job) {
            Words words{program,    "submit", "--socket", socket,      "--array",
                        "1-" + std::to_string(count),     "--gpus",    "1",
                        "--output", "/dev/null",          "--time",    "10m", "--"};
            words.insert(words.end(), job.begin(), job.end());
            return run(words);
          },
          [=] { run({program, "stop", "--socket", socket}); }};
}

Spooler task_spooler(const std::string& folder) {
  setenv("TS_SOCKET", (folder + "/tsp.sock").c_str(), 1);
  return {[] { return run({"tsp", "-S", std::to_string(kGpus)}); },
          [](std::int64_t count, const Words& job) {
            Words words{"tsp", "-n"};
            words.insert(words.end(), job.begin(), job.end());
            for (std::int64_t i = 0; i < count; ++i) {
              if (!run(words)) return false;
            }
            return true;
          },
          [] { run({"tsp", "-K"}); },
          // Each waiting job is a process connected to its server, which takes about 1,000.
          900};
}

// ---- measuring ----

struct Note {
  char what = 0;
  std::int64_t at = 0;
  std::string device;
};

std::vector<Note> read_notes(const std::string& path) {
  std::ifstream input(path);
  std::vector<Note> notes;
  Note note;
  while (input >> note.what >> note.at >> note.device) notes.push_back(note);
  std::stable_sort(notes.begin(), notes.end(),
                   [](const Note& a, const Note& b) { return a.at < b.at; });
  return notes;
}

void wait_for(const std::string& path, char what, std::int64_t count) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const auto notes = read_notes(path);
    if (std::count_if(notes.begin(), notes.end(),
                      [&](const Note& n) { return n.what == what; }) >= count) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  give_up("no end within " + std::to_string(kPatience.count()) + " s; see " + path);
}

/// Where devices are known: from each end to the next start on that device. Else the i-th end is
/// matched with the start that fills its slot, in order of time.
std::vector<double> gaps_of(const std::vector<Note>& notes) {
  std::vector<double> gaps;
  std::map<std::string, std::int64_t> ended;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const Note& note : notes) {
    (note.what == 'S' ? starts : ends).push_back(note.at);
    if (note.device == "-") continue;
    if (note.what == 'E') {
      ended[note.device] = note.at;
    } else if (ended.contains(note.device)) {
      gaps.push_back(static_cast<double>(note.at - ended[note.device]) / 1e6);
    }
  }
  if (gaps.empty()) {
    for (std::size_t i = 0; i + kGpus < starts.size() && i < ends.size(); ++i) {
      gaps.push_back(static_cast<double>(starts[i + kGpus] - ends[i]) / 1e6);
    }
  }
  std::sort(gaps.begin(), gaps.end());
  return gaps;
}

Json spread_of(const std::vector<double>& sorted) {
  const auto at = [&](std::size_t percent) {
    return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
  };
  double sum = 0;
  for (const double value : sorted) sum += value;
  return {{"mean", sum / static_cast<double>(sorted.size())},
          {"p50", at(50)}, {"p90", at(90)}, {"p99", at(99)}, {"max", sorted.back()}};
}

Json measure(const std::string& name, const Spooler& spooler, std::int64_t wanted,
             const std::string& self, const std::string& folder) {
  const std::int64_t jobs = std::min(wanted, spooler.jobs_max);
  const std::string log = folder + "/" + name + "-" + std::to_string(jobs) + ".log";
  const std::string gate = log + ".go";
  if (!spooler.submit(kGpus, {self, "--job", log, gate})) give_up(name + ": submit failed");
  wait_for(log, 'S', kGpus);
  const std::int64_t before = now_ns();
  if (!spooler.submit(jobs, {self, "--job", log})) give_up(name + ": submit failed");
  const double submit_seconds = static_cast<double>(now_ns() - before) / 1e9;
  const std::int64_t go = now_ns();
  std::ofstream(gate) << "go\n";
  wait_for(log, 'E', jobs + static_cast<std::int64_t>(kGpus));
  const auto notes = read_notes(log);
  const auto gaps = gaps_of(notes);
  if (gaps.empty()) give_up(name + ": nothing was measured; see " + log);
  const double seconds = static_cast<double>(notes.back().at - go) / 1e9;
  const Json gap = spread_of(gaps);
  std::printf("%-13s %5lld jobs  %8.1f jobs/s  gap ms: p50 %.1f  p90 %.1f  p99 %.1f  max %.1f\n",
              name.c_str(), static_cast<long long>(jobs), static_cast<double>(jobs) / seconds,
              gap["p50"].get<double>(), gap["p90"].get<double>(), gap["p99"].get<double>(),
              gap["max"].get<double>());
  std::fflush(stdout);
  return {{"name", name},
          {"jobs", jobs},
          {"jobs_per_second", static_cast<double>(jobs) / seconds},
          {"submit_seconds", submit_seconds},
          {"gap_milliseconds", gap}};
}

struct Options {
  std::string rota;
  std::vector<std::int64_t> jobs{20, 1000};
  std::string out;
};

Options read_options(int argc, char** argv, const std::string& self) {
  Options options;
  options.rota = std::filesystem::path(self).parent_path().parent_path() / "bin" / "rota";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--rota=")) options.rota = word.substr(7);
    if (word.starts_with("--benchmark_out=")) options.out = word.substr(16);
    // Others that the benchmark library knows are for the programs beside this one.
    if (word.starts_with("--rota=") || word.starts_with("--benchmark_")) continue;
    if (!word.starts_with("--jobs=")) {
      give_up("unknown option '" + std::string(word) +
              "'; it takes --rota=PROGRAM --jobs=20,1000 --benchmark_out=FILE");
    }
    options.jobs.clear();
    std::istringstream list{std::string(word.substr(7))};
    for (std::string part; std::getline(list, part, ',');) {
      options.jobs.push_back(std::max(1LL, std::strtoll(part.c_str(), nullptr, 10)));
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && std::strcmp(argv[1], "--job") == 0) {
    return be_a_job(argv[2], argc > 3 ? argv[3] : nullptr);
  }
  const std::string self = std::filesystem::canonical("/proc/self/exe");
  const Options options = read_options(argc, argv, self);
  std::string folder = std::filesystem::temp_directory_path() / "rota-handover-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) give_up("cannot make a folder for the run");
  Json results = Json::array();
  const auto measure_all = [&](const std::string& name, const Spooler& spooler) {
    if (!spooler.start()) return false;
    stop_spooler = spooler.stop;
    for (const std::int64_t jobs : options.jobs) {
      results.push_back(measure(name, spooler, jobs, self, folder));
    }
    stop_spooler = {};
    spooler.stop();
    return true;
  };
  if (!measure_all("rota", rota(options.rota, folder))) {
    give_up("cannot start " + options.rota + " serve; name the program with --rota=PROGRAM");
  }
  if (!measure_all("task-spooler", task_spooler(folder))) {
    std::printf("task-spooler  not installed (Debian package task-spooler): no bar to compare\n");
  }
  const Json document = {{"gpus", kGpus}, {"handover", results}};
  if (!options.out.empty()) std::ofstream(options.out) << document.dump(2) << "\n";
  std::filesystem::remove_all(folder);
  return 0;
}
