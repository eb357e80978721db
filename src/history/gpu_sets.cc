#include "history/gpu_sets.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text.h"

namespace rota::history {
namespace {

constexpr std::int64_t kSlicesOfDevice = 7;   // compute slices of a MIG-capable device
constexpr std::int64_t kMilliMax = 1'000'000'000;  // a million devices

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The n of `<n>g.<m>gb`, also behind `<k>c.`; 0: no MIG profile.
std::int64_t slices_of(std::string_view partition) {
  if (partition.size() > 3 && is_digit(partition[0]) && partition.substr(1, 2) == "c.") {
    partition.remove_prefix(3);
  }
  if (partition.size() < 2 || !is_digit(partition[0]) || partition[1] != 'g') return 0;
  return partition[0] - '0';
}

/// Where `<n>g.<m>gb` begins in `type`; npos: nowhere.
std::size_t profile_at(std::string_view type) {
  for (std::size_t at = 0; at + 4 < type.size(); ++at) {
    if (!is_digit(type[at]) || type[at + 1] != 'g' || type[at + 2] != '.') continue;
    if (at > 0 && (is_digit(type[at - 1]))) continue;
    std::size_t end = at + 3;
    while (end < type.size() && is_digit(type[end])) ++end;
    if (end > at + 3 && type.substr(end, 2) == "gb") {
      if (at >= 3 && type[at - 1] == '.' && type[at - 2] == 'c' && is_digit(type[at - 3])) at -= 3;
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

GpuSets::GpuSets() {
  add({}, nullptr);  // unknown
  add({}, nullptr);  // none
}

GpuSetId GpuSets::add(std::vector<GpuItem> items, const NameTable* names) {
  std::int64_t whole = 0, parts = 0, equal = 0;
  for (const GpuItem& item : items) {
    if (item.partition.empty()) {
      whole += item.milli;
      equal += item.milli;
    } else {
      parts += item.milli;
      equal += item.milli * slices_of(names->text(item.partition)) / kSlicesOfDevice;
    }
  }
  sets_.push_back(std::move(items));
  whole_.push_back(whole);
  parts_.push_back(parts);
  equal_.push_back(equal);
  return {static_cast<std::uint32_t>(sets_.size() - 1)};
}

GpuSetId GpuSets::intern(std::vector<GpuItem> items, const NameTable& names) {
  std::erase_if(items, [](const GpuItem& item) { return item.milli <= 0; });
  if (items.empty()) return kNoGpus;
  std::sort(items.begin(), items.end(), [&](const GpuItem& a, const GpuItem& b) {
    return std::tuple(names.text(a.model), names.text(a.partition), a.milli) <
           std::tuple(names.text(b.model), names.text(b.partition), b.milli);
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i].model == items[last].model && items[i].partition == items[last].partition) {
      items[last].milli = std::min(items[last].milli + items[i].milli, kMilliMax);
    } else {
      items[++last] = items[i];
    }
  }
  items.resize(last + 1);
  const auto found = by_items_.find(items);
  if (found != by_items_.end()) return {found->second};
  std::vector<GpuItem> key = items;
  const GpuSetId id = add(std::move(items), &names);
  by_items_.emplace(std::move(key), id.index);
  return id;
}

std::string gpu_set_text(const GpuSets& sets, const NameTable& names, GpuSetId id) {
  if (id == kGpusUnknown) return "";
  if (id == kNoGpus) return "0";
  std::string text;
  for (const GpuItem& item : sets.items(id)) {
    if (!text.empty()) text += ';';
    std::string model(names.text(item.model));
    std::replace(model.begin(), model.end(), ';', ',');
    text += model;
    if (!item.partition.empty() || model.find('/') != std::string::npos) text += '/';
    text += names.text(item.partition);
    if (!item.model.empty() || !item.partition.empty()) text += ':';
    text += format_gpus(MilliGpu(item.milli));
  }
  return text;
}

Result<GpuSetId> parse_gpu_set(std::string_view text, GpuSets& sets, NameTable& names) {
  if (text.empty()) return kGpusUnknown;
  std::vector<GpuItem> items;
  for (const std::string_view part : split(text, ';')) {
    const std::size_t colon = part.rfind(':');
    const std::string_view amount =
        colon == std::string_view::npos ? part : part.substr(colon + 1);
    const auto milli = parse_fixed(amount, 3);
    if (!milli || *milli < 0 || *milli > kMilliMax) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + std::string(text) + "' is no set of GPUs; expected h100:2, 2, 0.5, " +
                       "a100/3g.20gb:1, several with ';' between"};
    }
    GpuItem item{.milli = *milli};
    if (colon != std::string_view::npos) {
      const std::string_view type = part.substr(0, colon);
      const std::size_t slash = type.rfind('/');
      item.model = names.intern(type.substr(0, slash));
      if (slash != std::string_view::npos) item.partition = names.intern(type.substr(slash + 1));
    }
    items.push_back(item);
  }
  return sets.intern(std::move(items), names);
}

DeviceType split_device_type(std::string_view type) {
  const std::size_t at = profile_at(type);
  if (at == std::string_view::npos) return {.model = type, .partition = {}};
  DeviceType split{.model = type.substr(0, at), .partition = type.substr(at)};
  while (!split.model.empty() && (split.model.back() == '_' || split.model.back() == '-' ||
                                  split.model.back() == '.' || split.model.back() == ':')) {
    split.model.remove_suffix(1);
  }
  return split;
}

}  // namespace rota::history
