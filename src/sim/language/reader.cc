#include "sim/language/reader.h"

#include <algorithm>

#include "base/text.h"

namespace rota::sim {

bool is_name(std::string_view text, Dots dots) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [dots](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    return letter || digit || c == '_' || c == '-' || (c == '.' && dots == Dots::kAllowed);
  });
}

void Reader::check_keys(const std::vector<std::string>& known) const {
  for (std::size_t i = 0; i < line_.arguments.size(); ++i) {
    const Argument& argument = line_.arguments[i];
    const bool is_label = argument.key.starts_with("label.") && argument.key.size() > 6;
    const auto has_key = [&](const std::string& key) { return key == argument.key; };
    const bool labels_known =
        std::find(known.begin(), known.end(), "label.KEY") != known.end();
    if (!(is_label && labels_known) && std::none_of(known.begin(), known.end(), has_key)) {
      const std::string what = "key of " + quoted(line_.verb.text);
      error_at(argument.column, known.empty()
                                    ? quoted(line_.verb.text) + " takes no key=value"
                                    : unknown_word(what, argument.key, known));
      continue;
    }
    if (argument.op != Operator::kEqual) {
      error_at(argument.column, "expected " + argument.key + "=value; " +
                                    quoted(name_of(argument.op)) + " belongs to 'expect'");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (line_.arguments[j].key != argument.key) continue;
      error_at(argument.column, "key " + quoted(argument.key) + " is given twice");
      break;
    }
  }
}

const Argument* Reader::find(std::string_view key) const {
  for (const Argument& argument : line_.arguments) {
    if (argument.key == key) return &argument;
  }
  return nullptr;
}

void Reader::error(const Argument& at, std::string message) const {
  state_.errors.add(at.line, at.value_column, std::move(message));
}

void Reader::error_at(std::int64_t column, std::string message) const {
  state_.errors.add(line_.number, column, std::move(message));
}

std::optional<Word> Reader::one_word(std::string_view what) const {
  if (line_.words.empty()) {
    error_at(line_.arguments.empty() ? line_.end_column : line_.arguments[0].column,
             "expected " + std::string(what) + " after " + quoted(line_.verb.text));
    return std::nullopt;
  }
  if (line_.words.size() > 1) {
    error_at(line_.words[1].column, "expected key=value, found " + quoted(line_.words[1].text) +
                                        "; names stand in one word, like a,b or n[1-4]");
    return std::nullopt;
  }
  return line_.words[0];
}

std::vector<std::string> Reader::names(std::string_view what) const {
  const auto word = one_word(what);
  if (!word) return {};
  auto names = expand_names(word->text);
  if (!names) {
    error_at(word->column, names.error().message);
    return {};
  }
  return std::move(names).value();
}

std::vector<std::string> Reader::node_names() const {
  auto nodes = names("the name of a node");
  for (const auto& node : nodes) {
    if (state_.symbols.nodes.contains(node)) continue;
    error_at(line_.words[0].column, unknown_word("node", node, names_in(state_.symbols.nodes)));
    return {};
  }
  return nodes;
}

template <class T>
std::optional<T> Reader::parsed(std::string_view key, Result<T> (*parse)(std::string_view)) const {
  const Argument* argument = find(key);
  if (argument == nullptr) return std::nullopt;
  auto value = parse(argument->value);
  if (value) return *value;
  error(*argument, argument->key + ": " + value.error().message);
  return std::nullopt;
}

std::optional<Duration> Reader::duration(std::string_view key) const {
  const auto value = parsed<Duration>(key, parse_duration);
  if (value && *value < Duration{}) {
    error(*find(key), std::string(key) + ": expected a duration that is not negative");
    return std::nullopt;
  }
  return value;
}

std::optional<Duration> Reader::positive_duration(std::string_view key) const {
  const auto value = duration(key);
  if (value && *value == Duration{}) {
    error(*find(key), std::string(key) + ": expected a duration above 0s");
    return std::nullopt;
  }
  return value;
}

std::optional<Instant> Reader::instant(std::string_view key) const {
  const auto value = parsed<Duration>(key, parse_duration);
  if (!value) return std::nullopt;
  // Sums of instants and durations must stay far from the end of the line.
  if (*value > Duration::days(36'500) || *value < Duration::days(-36'500)) {
    error(*find(key), std::string(key) + ": expected an instant within 36500 days of the start");
    return std::nullopt;
  }
  return Instant(value->ns());
}

std::optional<Bytes> Reader::bytes(std::string_view key) const {
  return parsed<Bytes>(key, parse_bytes);
}

std::optional<MilliGpu> Reader::gpus(std::string_view key) const {
  const auto value = parsed<MilliGpu>(key, parse_gpus);
  if (value && *value > whole_gpus(10'000'000)) {
    error(*find(key), std::string(key) + ": expected at most 10000000 GPUs");
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Reader::integer(std::string_view key, Range range) const {
  const auto value = parsed<std::int64_t>(key, parse_int);
  if (value && (*value < range.low || *value > range.high)) {
    error(*find(key), std::string(key) + ": expected a whole number from " +
                          std::to_string(range.low) + " to " + std::to_string(range.high));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Reader::decimal(std::string_view key, int digits) const {
  const Argument* argument = find(key);
  if (argument == nullptr) return std::nullopt;
  const auto value = parse_fixed(argument->value, digits);
  if (!value) {
    error(*argument, argument->key + ": " + value.error().message);
    return std::nullopt;
  }
  if (*value < 0) {
    error(*argument, argument->key + ": expected a number that is not negative");
    return std::nullopt;
  }
  return *value;
}

std::optional<std::string> Reader::name(std::string_view key) const {
  const Argument* argument = find(key);
  if (argument == nullptr) return std::nullopt;
  if (is_name(argument->value, Dots::kAllowed)) return argument->value;
  error(*argument, argument->key + ": " + quoted(argument->value) +
                       " is not a name: expected letters, digits, '_', '-' and '.'");
  return std::nullopt;
}

std::optional<std::size_t> Reader::choice_index(std::string_view key,
                                                const std::vector<std::string>& words) const {
  const Argument* argument = find(key);
  if (argument == nullptr) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), argument->value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  error(*argument, unknown_word("value of " + quoted(key), argument->value, words));
  return std::nullopt;
}

namespace {

/// `0`, `0-3`, `0@4` after the colon. Nothing when malformed.
std::optional<std::vector<DeviceName>> device_range(const std::string& node,
                                                    std::string_view text) {
  std::vector<DeviceName> devices;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    const auto device = parse_int(text.substr(0, at));
    const auto start = parse_int(text.substr(at + 1));
    if (!device || !start || *device < 0 || *start < 0 || *start > 7) return std::nullopt;
    if (*device > 1023) return std::nullopt;
    devices.push_back({node, static_cast<std::int32_t>(*device),
                       static_cast<std::int32_t>(*start)});
    return devices;
  }
  const std::size_t dash = text.find('-');
  const auto low = parse_int(text.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : parse_int(text.substr(dash + 1));
  if (!low || !high || *low < 0 || *high < *low || *high > 1023) return std::nullopt;
  for (std::int64_t i = *low; i <= *high; ++i) {
    devices.push_back({node, static_cast<std::int32_t>(i)});
  }
  return devices;
}

}  // namespace

std::vector<DeviceName> parse_devices(std::string_view text, std::int64_t line,
                                      std::int64_t column, ParseState& state) {
  std::vector<DeviceName> devices;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const std::string node(part.substr(0, colon));
    if (colon == std::string_view::npos) {
      state.errors.add(line, column, quoted(part) + " is not a device: expected NODE:INDEX, "
                                                    "like n1:0, n1:0-3 or n1:0@4");
      return {};
    }
    const auto known = state.symbols.nodes.find(node);
    if (known == state.symbols.nodes.end()) {
      state.errors.add(line, column,
                       unknown_word("node", node, names_in(state.symbols.nodes)));
      return {};
    }
    const auto range = device_range(node, part.substr(colon + 1));
    if (!range) {
      state.errors.add(line, column, quoted(part) + " is not a device: expected NODE:INDEX, "
                                                    "like n1:0, n1:0-3 or n1:0@4");
      return {};
    }
    if (static_cast<std::size_t>(range->back().device) >= known->second.device_count) {
      state.errors.add(line, column,
                       quoted(part) + ": node " + node + " has " +
                           std::to_string(known->second.device_count) + " GPUs, counted from 0");
      return {};
    }
    devices.insert(devices.end(), range->begin(), range->end());
  }
  return devices;
}

namespace {

std::vector<std::string> job_and_group_names(const Symbols& symbols) {
  constexpr std::size_t kCandidatesMax = 2000;
  std::set<std::string> names;
  for (const auto& [name, group] : symbols.groups) names.insert(name);
  for (const auto& [name, job] : symbols.jobs) {
    if (symbols.jobs.size() < kCandidatesMax || name.find('.') == std::string::npos) {
      names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

ResolvedJobs resolve_jobs(const Word& word, std::int64_t line, ParseState& state) {
  ResolvedJobs resolved;
  const auto names = expand_names(word.text);
  if (!names) {
    state.errors.add(line, word.column, names.error().message);
    return {};
  }
  resolved.many = word.text.find_first_of(",[") != std::string::npos;
  const Symbols& symbols = state.symbols;
  for (const auto& name : *names) {
    if (const auto job = symbols.jobs.find(name); job != symbols.jobs.end()) {
      resolved.jobs.push_back(job->second);
      continue;
    }
    const auto found = symbols.groups.find(name);
    if (found == symbols.groups.end()) {
      state.errors.add(line, word.column,
                       unknown_word("job", name, job_and_group_names(symbols)));
      return {};
    }
    const GroupDeclaration& group = state.scenario.groups[found->second];
    for (std::size_t i = 0; i < group.size; ++i) resolved.jobs.push_back(group.first_job + i);
    resolved.many = true;
    resolved.by_group = true;
  }
  return resolved;
}

}  // namespace rota::sim
