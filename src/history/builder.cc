#include "history/builder.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::uint64_t kArrayTag = 1ULL << 62;
constexpr std::uint64_t kTextTag = 2ULL << 62;
constexpr std::uint64_t kRowTag = 3ULL << 62;
constexpr std::uint64_t kNumberMax = (1ULL << 62) - 1;
constexpr std::uint64_t kArrayMax = (1ULL << 36) - 1;
constexpr int kIndexBits = 26;
constexpr std::size_t kSlotsFirst = 1024;
constexpr std::int64_t kAttemptsExpectedMax = 4'000'000;
constexpr std::size_t kDetailMax = 100;
constexpr std::uint32_t kNoAttempt = 0xffffffffU;

/// A number as it would be written: no sign, no needless zero in front.
std::optional<std::uint64_t> plain_number(std::string_view text, std::uint64_t most) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

/// Jobs with numbers that follow each other, and members of one array, get slots beside each other:
/// histories come in about that order, and neighbours share lines of the cache.
std::size_t mixed(std::uint64_t bits, std::uint32_t cluster) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(bits + ((bits >> kIndexBits) + cluster) * kOdd);
}

std::int32_t small(std::optional<std::int64_t> value, std::int32_t absent) {
  if (!value || *value < 0) return absent;
  return static_cast<std::int32_t>(std::min<std::int64_t>(*value, 2'000'000'000));
}

void take(Name& into, std::string_view text, NameTable& names) {
  if (!text.empty()) into = names.intern(text);
}

}  // namespace

std::string place_text(const RowPlace& place) {
  std::string text(place.file);
  if (place.line > 0) text += ":" + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) text += ":" + std::to_string(place.column);
  if (place.item > 0) text += ": item " + std::to_string(place.item);
  return text;
}

HistoryBuilder::HistoryBuilder() : slots_(kSlotsFirst, 0) {}

void HistoryBuilder::expect(std::int64_t attempts) {
  if (is_expecting_) return;
  is_expecting_ = true;
  const auto count = static_cast<std::size_t>(
      std::clamp<std::int64_t>(attempts, 0, kAttemptsExpectedMax));
  history_.jobs_.reserve(count);
  history_.attempts_.reserve(count);
  latest_.reserve(count);
  previous_.reserve(count);
}

void HistoryBuilder::count(RowFate fate, std::string_view kind, const RowPlace& place,
                           std::string_view detail) {
  std::string text;
  if (notes().wants_place(kind)) {
    text = place_text(place);
    if (!detail.empty()) text += ": " + without_control(detail.substr(0, kDetailMax));
  }
  notes().count(fate, kind, text);
}

JobKey HistoryBuilder::key_of(std::string_view id) {
  if (const auto number = plain_number(id, kNumberMax)) return {*number};
  const std::size_t bar = id.find('_');
  if (bar != std::string_view::npos) {
    const auto array = plain_number(id.substr(0, bar), kArrayMax);
    const auto index = plain_number(id.substr(bar + 1), (1ULL << kIndexBits) - 1);
    if (array && index) return {kArrayTag | (*array << kIndexBits) | *index};
  }
  return {kTextTag | names().intern(id).index};
}

std::uint32_t* HistoryBuilder::slot_of(JobKey key, Name cluster) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mixed(key.bits, cluster.index) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const JobRecord& job = history_.jobs_[slots_[at] - 1];
    if (job.key == key && job.cluster == cluster) break;
  }
  return &slots_[at];
}

void HistoryBuilder::grow_slots() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t i = 0; i < history_.jobs_.size(); ++i) {
    *slot_of(history_.jobs_[i].key, history_.jobs_[i].cluster) = i + 1;
  }
}

bool HistoryBuilder::is_sound(JobRow& row, const RowPlace& place) {
  if (row.started && row.ended && *row.ended < *row.started) {
    count(RowFate::kSkipped, "the end is before the start", place, row.id);
    return false;
  }
  if (!row.submitted && !row.started && !row.ended) {
    count(RowFate::kKept, "no time at all", place, row.id);
  } else if (!row.submitted) {
    count(RowFate::kKept, "no submit time", place, row.id);
  }
  if (row.submitted && row.started && *row.started < *row.submitted) {
    count(RowFate::kKept, "started before it was submitted; counts as submitted at its start",
          place, row.id);
    row.submitted = row.started;
  }
  if (row.submitted && row.ended && *row.ended < *row.submitted) {
    count(RowFate::kSkipped, "the end is before the submit", place, row.id);
    return false;
  }
  return true;
}

void HistoryBuilder::fill_job(JobRecord& job, const JobRow& row) {
  take(job.name, row.name, names());
  take(job.user, row.user, names());
  take(job.queue, row.queue, names());
  take(job.pool, row.pool, names());
  take(job.job_class, row.job_class, names());
  if (row.memory) job.memory = *row.memory;
  if (row.min_runtime) job.min_runtime = *row.min_runtime;
  if (row.priority) job.priority = *row.priority;
  if (row.gpus_wanted.known()) job.gpus = row.gpus_wanted;
  if (row.cpus_milli) job.cpus_milli = small(row.cpus_milli, -1);
  if (row.nodes_wanted) job.nodes = static_cast<std::uint32_t>(small(row.nodes_wanted, 0));
  if (row.limit_kind != TimeLimit::kNotTold) {
    job.limit_kind = row.limit_kind;
    job.time_limit = Maybe<Duration>(row.time_limit);
  }
  job.interactive = job.interactive || row.interactive;
}

AttemptRecord HistoryBuilder::attempt_from(const JobRow& row) {
  AttemptRecord attempt;
  attempt.queued = Maybe<Instant>(row.submitted);
  attempt.eligible = Maybe<Instant>(row.eligible);
  attempt.started = Maybe<Instant>(row.started);
  attempt.ended = Maybe<Instant>(row.ended);
  attempt.run_told = Maybe<Duration>(row.run_told);
  attempt.memory_used = Maybe<Bytes>(row.memory_used);
  attempt.gpu_memory_used = Maybe<Bytes>(row.gpu_memory_used);
  attempt.row = rows_;
  take(attempt.nodes, row.nodes, names());
  take(attempt.reason, row.reason, names());
  attempt.gpus = row.gpus_held;
  attempt.exit_code = small(row.exit_code, -1);
  attempt.signal = static_cast<std::int16_t>(std::min(small(row.signal, 0), 1000));
  attempt.node_count = static_cast<std::uint32_t>(small(row.node_count, 0));
  attempt.gpu_busy_permille =
      static_cast<std::int16_t>(std::min(small(row.gpu_busy_permille, -1), 1000));
  attempt.outcome = row.outcome;
  return attempt;
}

HistoryBuilder::Known HistoryBuilder::compare(std::uint32_t job, const AttemptRecord& attempt,
                                              const RowPlace& place, std::string_view id) {
  for (std::uint32_t at = latest_[job]; at != kNoAttempt; at = previous_[at]) {
    AttemptRecord& known = history_.attempts_[at];
    if (known.queued != attempt.queued) continue;
    if (known.started && attempt.started && known.started != attempt.started) continue;
    told_last_ = at;
    const bool was_over = known.ended || has_ended(known.outcome);
    if (was_over || (!attempt.started && known.started)) {
      count(RowFate::kSkipped, "the same attempt again", place, id);
      return Known::kSame;
    }
    known = attempt;
    known.job = job;
    count(RowFate::kKept, "a later row tells more of the same attempt", place, id);
    return Known::kLess;
  }
  return Known::kNew;
}

void HistoryBuilder::add(const JobRow& given, const RowPlace& place) {
  ++rows_;
  JobRow row = given;
  if (!is_sound(row, place)) return;
  const Name cluster = names().intern(row.cluster);
  const JobKey key = row.id.empty() ? JobKey{kRowTag | rows_} : key_of(row.id);
  std::uint32_t* slot = slot_of(key, cluster);
  AttemptRecord attempt = attempt_from(row);
  if (*slot == 0) {
    JobRecord job;
    job.key = key;
    job.cluster = cluster;
    job.row = rows_;
    fill_job(job, row);
    history_.jobs_.push_back(job);
    latest_.push_back(kNoAttempt);
    *slot = static_cast<std::uint32_t>(history_.jobs_.size());
  } else {
    const Known known = compare(*slot - 1, attempt, place, row.id);
    if (known == Known::kSame) return;
    fill_job(history_.jobs_[*slot - 1], row);
    if (known == Known::kLess) return;
  }
  attempt.job = *slot - 1;
  previous_.push_back(latest_[attempt.job]);
  latest_[attempt.job] = told_last_ = static_cast<std::uint32_t>(history_.attempts_.size());
  ++history_.jobs_[attempt.job].attempt_count;
  history_.attempts_.push_back(attempt);
  if (history_.jobs_.size() * 2 > slots_.size()) grow_slots();
}

AttemptRecord* HistoryBuilder::last_attempt() {
  return history_.attempts_.empty() ? nullptr : &history_.attempts_.back();
}

AttemptRecord* HistoryBuilder::latest_attempt_of(std::string_view id, std::string_view cluster) {
  const std::uint32_t slot = *slot_of(key_of(id), names().intern(cluster));
  if (slot == 0) return nullptr;
  auto& attempts = history_.attempts_;
  const bool is_its = told_last_ < attempts.size() && attempts[told_last_].job == slot - 1;
  return &attempts[is_its ? told_last_ : latest_[slot - 1]];
}

}  // namespace rota::history
