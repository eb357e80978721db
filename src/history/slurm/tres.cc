#include "history/slurm/tres.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::size_t kKnownMax = 100'000;
constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::int64_t kMiB = 1024 * 1024;

std::optional<std::int64_t> count_of(std::string_view text) {
  const auto count = parse_whole(text);
  if (!count || *count < 0 || *count > kCountMax) return std::nullopt;
  return count;
}

}  // namespace

void TresGpus::add(std::string_view name, std::int64_t count) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view type =
      colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  if (count <= 0 || count > kCountMax) return;
  if (kind == "shard" || kind == "mps") {
    items_.push_back({.model = names_.intern(type), .partition = names_.intern(kind),
                      .milli = count * 1000});
    return;
  }
  if (kind != "gpu") return;
  if (type.empty()) {
    sum_ += count;
    return;
  }
  typed_ += count;
  const DeviceType split = split_device_type(type);
  items_.push_back({.model = names_.intern(split.model),
                    .partition = names_.intern(split.partition), .milli = count * 1000});
}

std::vector<GpuItem> TresGpus::take() {
  if (sum_ > typed_) {
    items_.push_back({.model = {}, .partition = {}, .milli = (sum_ - typed_) * 1000});
  }
  sum_ = typed_ = 0;
  return std::exchange(items_, {});
}

Tres TresReader::parse(std::string_view text) {
  Tres tres;
  if (text.empty()) return tres;
  TresGpus gpus(names_);
  for (const std::string_view word : split(text, ',')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = stripped(word.substr(0, equals));
    const std::string_view value = word.substr(equals + 1);
    if (key == "cpu") {
      tres.cpus_milli = parse_milli(value);
    } else if (key == "mem") {
      tres.memory = parse_amount_bytes(value, kMiB);
    } else if (key == "node") {
      tres.nodes = count_of(value);
    } else if (key.starts_with("gres/")) {
      if (const auto count = count_of(value)) gpus.add(key.substr(5), *count);
    }
  }
  saw_devices_ = saw_devices_ || !gpus.empty();
  tres.gpus = sets_.intern(gpus.take(), names_);
  return tres;
}

const Tres& TresReader::read(std::string_view text) {
  key_.assign(text);
  const auto found = known_.find(key_);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kKnownMax) known_.clear();
  return known_.emplace(key_, parse(text)).first->second;
}

GpuSetId TresReader::read_gres(std::string_view text) {
  if (text.empty()) return kGpusUnknown;
  TresGpus gpus(names_);
  for (std::string_view word : split(text, ',')) {
    word = stripped(word.substr(0, word.find('(')));
    if (word.starts_with("gres:") || word.starts_with("gres/")) word.remove_prefix(5);
    std::int64_t count = 1;
    if (const std::size_t at = word.find_last_of(":="); at != std::string_view::npos) {
      if (const auto number = count_of(word.substr(at + 1))) {
        count = *number;
        word = word.substr(0, at);
      }
    }
    gpus.add(word, count);
  }
  saw_devices_ = saw_devices_ || !gpus.empty();
  return sets_.intern(gpus.take(), names_);
}

std::string_view tres_value(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == word) {
      return part.substr(equals + 1);
    }
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return {};
}

}  // namespace rota::history
