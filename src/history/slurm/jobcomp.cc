// Slurm's job completion log (jobcomp/filetxt): one line an ended attempt, `Name=value` words.
//
//   JobId=7 UserId=alice(1001) GroupId=.. Name=train JobState=COMPLETED Partition=gpu TimeLimit=60
//   StartTime=.. EndTime=.. NodeList=n1 NodeCnt=1 ProcCnt=8 .. Tres=cpu=8,gres/gpu=2 Account=ml
//   QOS=normal .. SubmitTime=.. EligibleTime=.. DerivedExitCode=0:0 ExitCode=0:0
//
// Names of jobs and folders may hold blanks; a word is where one of the known names stands behind a
// blank.
#include <algorithm>
#include <array>
#include <string>

#include "history/importer.h"
#include "history/slurm/tres.h"
#include "history/slurm/verdict.h"
#include "history/words.h"

namespace rota::history {
namespace {

enum class Word : std::uint8_t {
  kJobId, kUserId, kGroupId, kName, kJobState, kPartition, kTimeLimit, kStartTime, kEndTime,
  kNodeList, kNodeCnt, kProcCnt, kWorkDir, kReservationName, kTres, kAccount, kQos, kWcKey,
  kCluster, kSubmitTime, kEligibleTime, kArrayJobId, kArrayTaskId, kHetJobId, kHetJobOffset,
  kDerivedExitCode, kExitCode, kGres,
};
constexpr auto kWordNames = std::to_array<std::string_view>({
    "JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime",
    "EndTime", "NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Tres", "Account",
    "QOS", "WcKey", "Cluster", "SubmitTime", "EligibleTime", "ArrayJobId", "ArrayTaskId",
    "HetJobId", "HetJobOffset", "DerivedExitCode", "ExitCode", "Gres"});
constexpr std::size_t kWords = kWordNames.size();

/// The known word whose name ends right before the `=` at `at`; kWords: none.
std::size_t word_before(std::string_view line, std::size_t at) {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::string_view name = kWordNames[i];
    if (at < name.size() || line.substr(at - name.size(), name.size()) != name) continue;
    if (at == name.size() || line[at - name.size() - 1] == ' ') return i;
  }
  return kWords;
}

class JobcompReader {
 public:
  explicit JobcompReader(ImportRun& run)
      : run_(run), tres_(run.builder.gpus(), run.builder.names()) {}

  void read(std::string_view line) {
    split(line);
    if (told(Word::kJobId).empty()) {
      run_.builder.count(RowFate::kSkipped, "no job id", run_.here(1), line);
      return;
    }
    JobRow row;
    sound_ = true;
    std::string id(told(Word::kJobId));
    if (!told(Word::kArrayJobId).empty() && !told(Word::kArrayTaskId).empty()) {
      id = std::string(told(Word::kArrayJobId)) + "_" + std::string(told(Word::kArrayTaskId));
    }
    row.id = id;
    row.name = told(Word::kName);
    const std::string_view user = told(Word::kUserId);
    row.user = user.substr(0, user.find('('));
    row.queue = told(Word::kAccount);
    row.pool = told(Word::kPartition);
    row.job_class = told(Word::kQos);
    row.cluster = told(Word::kCluster);
    row.nodes = told(Word::kNodeList);
    const auto outcome = outcome_from(told(Word::kJobState));
    if (outcome) row.outcome = *outcome;
    else run_.builder.count(RowFate::kKept, "the state is not known", run_.here(),
                            told(Word::kJobState));
    row.submitted = instant(Word::kSubmitTime);
    row.eligible = instant(Word::kEligibleTime);
    row.started = instant(Word::kStartTime);
    row.ended = instant(Word::kEndTime);
    if (!sound_) return;
    amounts(row);
    settle_unstarted(row, !row.nodes.empty());
    if (!row.started) row.gpus_held = kGpusUnknown;
    run_.builder.add(row, run_.here());
  }

 private:
  void split(std::string_view line) {
    values_.fill({});
    std::size_t open = kWords, begin = 0;
    for (std::size_t at = line.find('='); at != std::string_view::npos;
         at = line.find('=', at + 1)) {
      const std::size_t word = word_before(line, at);
      if (word == kWords || !values_[word].empty()) continue;
      const std::size_t start = at - kWordNames[word].size();
      if (open != kWords) values_[open] = stripped(line.substr(begin, start - begin));
      open = word;
      begin = at + 1;
    }
    if (open != kWords) values_[open] = stripped(line.substr(begin));
  }

  [[nodiscard]] std::string_view told(Word word) const {
    const std::string_view text = values_[static_cast<std::size_t>(word)];
    return is_slurm_nothing(text) ? std::string_view() : text;
  }

  std::optional<Instant> instant(Word word) {
    const std::string_view text = told(word);
    if (text.empty()) return std::nullopt;
    const auto instant = parse_instant(text, TimeUnit::kSeconds);
    if (!instant) {
      run_.builder.count(RowFate::kSkipped, "no time", run_.here(1), text);
      sound_ = false;
    }
    return instant;
  }

  void amounts(JobRow& row) {
    const std::string_view limit = told(Word::kTimeLimit);
    if (same_word(limit, "UNLIMITED")) {
      row.limit_kind = TimeLimit::kNone;
    } else if (const auto minutes = parse_length(limit, TimeUnit::kMinutes)) {
      row.limit_kind = TimeLimit::kSet;
      row.time_limit = minutes;
    }
    const Tres held = tres_.read(told(Word::kTres));
    row.gpus_held = held.gpus.known() ? held.gpus : tres_.read_gres(told(Word::kGres));
    row.cpus_milli = held.cpus_milli ? held.cpus_milli : parse_milli(told(Word::kProcCnt));
    row.memory = held.memory;
    row.node_count = parse_whole(told(Word::kNodeCnt));
    row.nodes_wanted = row.node_count;
    const std::string_view exit = told(Word::kExitCode);
    const std::size_t colon = exit.find(':');
    row.exit_code = parse_whole(exit.substr(0, colon));
    if (colon != std::string_view::npos) row.signal = parse_whole(exit.substr(colon + 1));
  }

  ImportRun& run_;
  TresReader tres_;
  std::array<std::string_view, kWords> values_;
  bool sound_ = true;
};

}  // namespace

bool is_jobcomp(std::string_view sample) {
  const std::string_view line = first_line(sample);
  return line.starts_with("JobId=") && line.find(" UserId=") != std::string_view::npos &&
         line.find(" JobState=") != std::string_view::npos &&
         line.find(" EndTime=") != std::string_view::npos;
}

Status import_jobcomp(ImportRun& run) {
  JobcompReader reader(run);
  std::string_view line;
  while (true) {
    const auto more = run.text.next_line(line);
    if (!more) return more.error();
    if (!*more) return {};
    if (!stripped(line).empty()) reader.read(line);
  }
}

}  // namespace rota::history
