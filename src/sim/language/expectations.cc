#include "sim/language/expectations.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/cluster.h"

namespace rota::sim {

namespace {

struct KeyRule {
  std::string_view key;
  ValueKind kind;
};

constexpr std::array kJobKeys{
    KeyRule{"state", ValueKind::kState},          KeyRule{"started", ValueKind::kInstant},
    KeyRule{"ended", ValueKind::kInstant},        KeyRule{"wait", ValueKind::kDuration},
    KeyRule{"nodes", ValueKind::kNames},          KeyRule{"devices", ValueKind::kDevices},
    KeyRule{"tasks", ValueKind::kCount},          KeyRule{"attempts", ValueKind::kCount},
    KeyRule{"evictions", ValueKind::kCount},      KeyRule{"evicted_at", ValueKind::kInstant},
    KeyRule{"evicted_by", ValueKind::kEvictor},   KeyRule{"warned_at", ValueKind::kInstant},
    KeyRule{"estimate", ValueKind::kInstant},     KeyRule{"lost", ValueKind::kDuration},
    KeyRule{"gpu_hours", ValueKind::kGpuHours},   KeyRule{"gpu_hours_lost", ValueKind::kGpuHours},
    KeyRule{"gpu_hours_idle", ValueKind::kGpuHours},
    KeyRule{"cost", ValueKind::kMoney},           KeyRule{"reason", ValueKind::kReason},
    KeyRule{"explain", ValueKind::kText}};

constexpr std::array kCountKeys{
    KeyRule{"running", ValueKind::kCount}, KeyRule{"pending", ValueKind::kCount},
    KeyRule{"done", ValueKind::kCount},    KeyRule{"failed", ValueKind::kCount},
    KeyRule{"cancelled", ValueKind::kCount}};

constexpr std::array kReasonNumberKeys{
    KeyRule{"resource", ValueKind::kResource}, KeyRule{"need", ValueKind::kAmount},
    KeyRule{"free", ValueKind::kAmount},       KeyRule{"best", ValueKind::kAmount},
    KeyRule{"short", ValueKind::kAmount},      KeyRule{"freeable", ValueKind::kAmount},
    KeyRule{"within", ValueKind::kScope},      KeyRule{"limit", ValueKind::kAmount},
    KeyRule{"by", ValueKind::kHolder},         KeyRule{"until", ValueKind::kInstant}};

constexpr std::array kQueueKeys{
    KeyRule{"running", ValueKind::kCount},       KeyRule{"pending", ValueKind::kCount},
    KeyRule{"gpus_used", ValueKind::kGpus},      KeyRule{"evictions", ValueKind::kCount},
    KeyRule{"gpu_hours", ValueKind::kGpuHours},  KeyRule{"gpu_hours_lost", ValueKind::kGpuHours},
    KeyRule{"charged", ValueKind::kGpuHours},    KeyRule{"usage", ValueKind::kGpuHours},
    KeyRule{"fair_share", ValueKind::kCount},    KeyRule{"owed", ValueKind::kGpuHours},
    KeyRule{"delivered", ValueKind::kGpuHours}};

constexpr std::array kUserKeys{
    KeyRule{"running", ValueKind::kCount}, KeyRule{"pending", ValueKind::kCount},
    KeyRule{"gpus_used", ValueKind::kGpus}, KeyRule{"gpu_hours", ValueKind::kGpuHours}};

constexpr std::array kNodeKeys{
    KeyRule{"running", ValueKind::kCount}, KeyRule{"gpus_used", ValueKind::kGpus},
    KeyRule{"gpus_free", ValueKind::kGpus}, KeyRule{"gpus_healthy", ValueKind::kCount},
    KeyRule{"state", ValueKind::kState}};

constexpr std::array kClusterKeys{
    KeyRule{"running", ValueKind::kCount},        KeyRule{"pending", ValueKind::kCount},
    KeyRule{"gpus_used", ValueKind::kGpus},       KeyRule{"gpus_free", ValueKind::kGpus},
    KeyRule{"gpus_healthy", ValueKind::kCount},   KeyRule{"evictions", ValueKind::kCount},
    KeyRule{"gpu_hours", ValueKind::kGpuHours},   KeyRule{"gpu_hours_lost", ValueKind::kGpuHours},
    KeyRule{"cost", ValueKind::kMoney},           KeyRule{"cost_idle", ValueKind::kMoney},
    KeyRule{"occupancy", ValueKind::kRatio},      KeyRule{"busy", ValueKind::kRatio},
    KeyRule{"largest_hole", ValueKind::kCount}};

template <std::size_t N>
void append(std::vector<KeyRule>& rules, const std::array<KeyRule, N>& more) {
  rules.insert(rules.end(), more.begin(), more.end());
}

std::vector<KeyRule> rules_of(Subject subject) {
  std::vector<KeyRule> rules;
  switch (subject) {
    case Subject::kMany:
      append(rules, kCountKeys);
      [[fallthrough]];
    case Subject::kJob:
      append(rules, kJobKeys);
      append(rules, kReasonNumberKeys);
      break;
    case Subject::kQueue: append(rules, kQueueKeys); break;
    case Subject::kUser: append(rules, kUserKeys); break;
    case Subject::kNode: append(rules, kNodeKeys); break;
    case Subject::kCluster: append(rules, kClusterKeys); break;
  }
  return rules;
}

bool is_reason_number(std::string_view key) {
  return std::any_of(kReasonNumberKeys.begin(), kReasonNumberKeys.end(),
                     [key](const KeyRule& rule) { return rule.key == key; });
}

bool has_order(ValueKind kind) {
  switch (kind) {
    case ValueKind::kCount:
    case ValueKind::kInstant:
    case ValueKind::kDuration:
    case ValueKind::kGpus:
    case ValueKind::kGpuHours:
    case ValueKind::kMoney:
    case ValueKind::kRatio:
    case ValueKind::kAmount: return true;
    default: return false;
  }
}

/// Reads the value of one check; errors stand at the value.
class ValueReader {
 public:
  ValueReader(const Reader& reader, const Argument& argument, Subject subject, Check& check)
      : reader_(reader), argument_(argument), subject_(subject), check_(check) {}

  void read() {
    switch (check_.kind) {
      case ValueKind::kCount: take(parse_int(argument_.value)); break;
      case ValueKind::kInstant:
      case ValueKind::kDuration: take_duration(); break;
      case ValueKind::kGpus: take(parse_fixed(argument_.value, 3)); break;
      case ValueKind::kGpuHours:
      case ValueKind::kMoney:
      case ValueKind::kRatio: take(parse_fixed(argument_.value, 6)); break;
      case ValueKind::kState: take_state(); break;
      case ValueKind::kNames: take_nodes(); break;
      case ValueKind::kDevices: take_devices(); break;
      case ValueKind::kEvictor: take_job_or({"drain", "quarantine"}); break;
      case ValueKind::kReason: take_word(Reader::words_of<ReasonCode>(), "reason"); break;
      case ValueKind::kResource: take_word(Reader::words_of<ReasonResource>(), "resource"); break;
      case ValueKind::kScope: take_word(Reader::words_of<ReasonScope>(), "place"); break;
      case ValueKind::kText: break;
      case ValueKind::kAmount: take_amount(); break;
      case ValueKind::kHolder: take_holder(); break;
    }
  }

 private:
  void fail(std::string message) { reader_.error(argument_, std::move(message)); }

  void take(const Result<std::int64_t>& value) {
    if (value) {
      check_.number = *value;
    } else {
      fail(argument_.key + ": " + value.error().message);
    }
  }
  void take_duration() {
    const auto value = parse_duration(argument_.value);
    if (value) {
      check_.number = value->ns();
    } else {
      fail(argument_.key + ": " + value.error().message);
    }
  }
  void take_word(const std::vector<std::string>& words, std::string_view what) {
    if (std::find(words.begin(), words.end(), argument_.value) != words.end()) return;
    fail(unknown_word(what, argument_.value, words));
  }
  void take_state() {
    if (subject_ == Subject::kNode) return take_word(Reader::words_of<NodeState>(), "state");
    take_word({"pending", "running", "done", "failed", "cancelled", "timeout"}, "state");
  }
  void take_nodes() {
    auto names = expand_names(argument_.value);
    if (!names) return fail(argument_.key + ": " + names.error().message);
    const auto& nodes = reader_.state().symbols.nodes;
    for (const auto& name : *names) {
      if (!nodes.contains(name)) return fail(unknown_word("node", name, names_in(nodes)));
    }
    check_.items = std::move(names).value();
    std::sort(check_.items.begin(), check_.items.end());
    check_.items.erase(std::unique(check_.items.begin(), check_.items.end()),
                       check_.items.end());
  }
  void take_devices() {
    for (const auto& device : parse_devices(argument_.value, argument_.line,
                                            argument_.value_column, reader_.state())) {
      std::string name = device.node + ":" + std::to_string(device.device);
      if (device.mig_start >= 0) name += "@" + std::to_string(device.mig_start);
      check_.items.push_back(std::move(name));
    }
    std::sort(check_.items.begin(), check_.items.end());
  }
  void take_job_or(const std::vector<std::string>& words) {
    if (std::find(words.begin(), words.end(), argument_.value) != words.end()) return;
    const auto& symbols = reader_.state().symbols;
    if (symbols.jobs.contains(argument_.value)) return;
    auto known = words;
    for (const auto& [name, job] : symbols.jobs) {
      if (known.size() < 1000) known.push_back(name);
    }
    std::sort(known.begin() + static_cast<std::ptrdiff_t>(words.size()), known.end());
    fail(unknown_word("job", argument_.value, known));
  }
  void take_holder() {
    const Symbols& symbols = reader_.state().symbols;
    const std::string& name = argument_.value;
    if (symbols.groups.contains(name) || symbols.queues.contains(name)) return;
    if (symbols.users.contains(name) || (symbols.queues.empty() && name == "default")) return;
    auto owners = names_in(symbols.queues);
    for (const auto& user : symbols.users) owners.push_back(user);
    if (symbols.jobs.contains(name)) return;
    for (const auto& [job, index] : symbols.jobs) {
      if (owners.size() < 1000) owners.push_back(job);
    }
    std::sort(owners.begin(), owners.end());
    fail(unknown_word("job, queue or user", name, owners));
  }
  void take_amount() {
    const auto bytes = parse_bytes(argument_.value);
    if (bytes) {
      check_.in_bytes = true;
      check_.number = bytes->value();
      return;
    }
    const auto pieces = parse_fixed(argument_.value, 3);
    if (pieces) {
      check_.number = *pieces;
      return;
    }
    fail(argument_.key + ": " + quoted(argument_.value) +
         " is not an amount: expected GPUs or pieces like 4 or 0.2, or memory like 24GiB");
  }

  const Reader& reader_;
  const Argument& argument_;
  Subject subject_;
  Check& check_;
};

/// Whom the line is about. Nothing after an error.
class SubjectReader {
 public:
  explicit SubjectReader(const Reader& reader) : reader_(reader) {}

  std::optional<Expectation> read() {
    const auto& words = reader_.line().words;
    if (words.empty()) {
      reader_.error_at(reader_.line().end_column,
                       "expected a job, 'cluster', 'queue NAME', 'node NAME' or 'user NAME'");
      return std::nullopt;
    }
    const std::string& first = words[0].text;
    if (first == "cluster") return cluster();
    if (first == "queue" || first == "node" || first == "user") return thing(first);
    if (!only(1)) return std::nullopt;
    return jobs();
  }

 private:
  bool only(std::size_t count) {
    const auto& words = reader_.line().words;
    if (words.size() <= count) return true;
    reader_.error_at(words[count].column,
                     "expected key=value, found " + quoted(words[count].text));
    return false;
  }
  std::optional<Expectation> cluster() {
    if (!only(1)) return std::nullopt;
    Expectation expectation;
    expectation.subject = Subject::kCluster;
    return expectation;
  }
  std::optional<Expectation> thing(const std::string& what) {
    const auto& words = reader_.line().words;
    if (words.size() < 2) {
      reader_.error_at(reader_.line().end_column, "expected the name of a " + what);
      return std::nullopt;
    }
    if (!only(2)) return std::nullopt;
    Expectation expectation;
    expectation.names = words[1].text;
    auto names = expand_names(words[1].text);
    if (!names) {
      reader_.error_at(words[1].column, names.error().message);
      return std::nullopt;
    }
    const Symbols& symbols = reader_.state().symbols;
    std::vector<std::string> known;
    if (what == "queue") expectation.subject = Subject::kQueue, known = names_in(symbols.queues);
    if (what == "node") expectation.subject = Subject::kNode, known = names_in(symbols.nodes);
    if (what == "user") expectation.subject = Subject::kUser, known = names_in(symbols.users);
    if (what == "queue" && known.empty()) known.push_back("default");
    for (const auto& name : *names) {
      if (std::binary_search(known.begin(), known.end(), name)) continue;
      reader_.error_at(words[1].column, unknown_word(what, name, known));
      return std::nullopt;
    }
    expectation.things = std::move(names).value();
    return expectation;
  }
  std::optional<Expectation> jobs() {
    const Word& word = reader_.line().words[0];
    auto resolved = resolve_jobs(word, reader_.line().number, reader_.state());
    if (resolved.jobs.empty()) return std::nullopt;
    Expectation expectation;
    expectation.subject = resolved.many ? Subject::kMany : Subject::kJob;
    expectation.names = word.text;
    expectation.jobs = std::move(resolved.jobs);
    expectation.by_group = resolved.by_group;
    return expectation;
  }

  const Reader& reader_;
};

std::string name_of_subject(Subject subject) {
  switch (subject) {
    case Subject::kJob: return "a job";
    case Subject::kMany: return "a group, list or range";
    case Subject::kQueue: return "a queue";
    case Subject::kNode: return "a node";
    case Subject::kUser: return "a user";
    case Subject::kCluster: return "the cluster";
  }
  return "";
}

const KeyRule* find_rule(const std::vector<KeyRule>& rules, const Reader& reader,
                         const Argument& argument, Subject subject) {
  for (const auto& rule : rules) {
    if (rule.key == argument.key) return &rule;
  }
  for (const auto& rule : kCountKeys) {
    if (subject != Subject::kJob || rule.key != argument.key) continue;
    reader.error_at(argument.column, quoted(argument.key) + " counts over a group, list or range; "
                                                            "of one job say state=" +
                                         argument.key);
    return nullptr;
  }
  std::vector<std::string> known;
  known.reserve(rules.size());
  for (const auto& rule : rules) known.emplace_back(rule.key);
  reader.error_at(argument.column,
                  unknown_word("key of " + name_of_subject(subject), argument.key, known));
  return nullptr;
}

bool check_operator(const Reader& reader, const Argument& argument, ValueKind kind) {
  const bool is_text = kind == ValueKind::kText;
  bool fits = true;
  if (argument.op == Operator::kContains) fits = is_text;
  if (argument.op == Operator::kAtMost || argument.op == Operator::kAtLeast) fits = has_order(kind);
  if (is_text && argument.op != Operator::kContains) fits = false;
  if (fits) return true;
  std::string expected = is_text ? "~" : has_order(kind) ? "=, !=, <= or >=" : "= or !=";
  reader.error_at(argument.column, quoted(argument.key) + " is compared by " + expected +
                                       ", not by " + std::string(name_of(argument.op)));
  return false;
}

/// A line may ask for bounds and for several reasons, but not for one thing twice.
void check_twice(const Reader& reader, std::size_t position) {
  const auto& arguments = reader.line().arguments;
  const Argument& argument = arguments[position];
  if (argument.key == "reason" || argument.op == Operator::kContains) return;
  for (std::size_t i = 0; i < position; ++i) {
    if (arguments[i].key != argument.key || arguments[i].op != argument.op) continue;
    reader.error_at(argument.column, "key " + quoted(argument.key) + " is given twice");
    return;
  }
}

void check_reason_numbers(const Reader& reader, const Expectation& expectation) {
  if (expectation.reason_numbers.empty()) return;
  const auto wanted = std::count_if(
      expectation.checks.begin(), expectation.checks.end(), [](const Check& check) {
        return check.kind == ValueKind::kReason && check.op == Operator::kEqual;
      });
  if (wanted == 1) return;
  const Check& first = expectation.reason_numbers[0];
  reader.error_at(first.column, quoted(first.key) + " is a number of a reason: expected one "
                                                    "reason=CODE on this line");
}

}  // namespace

std::optional<StatementBody> read_expect(const Reader& reader) {
  auto expectation = SubjectReader(reader).read();
  if (!expectation) return std::nullopt;
  const auto& arguments = reader.line().arguments;
  if (arguments.empty()) {
    reader.error_at(reader.line().end_column, "expected at least one key=value that must be true");
    return std::nullopt;
  }
  const auto rules = rules_of(expectation->subject);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    check_twice(reader, i);
    const KeyRule* rule = find_rule(rules, reader, argument, expectation->subject);
    if (rule == nullptr || !check_operator(reader, argument, rule->kind)) continue;
    Check check;
    check.key = argument.key;
    check.kind = rule->kind;
    check.op = argument.op;
    check.value = argument.value;
    check.column = argument.column;
    ValueReader(reader, argument, expectation->subject, check).read();
    if (is_reason_number(argument.key)) {
      expectation->reason_numbers.push_back(std::move(check));
    } else {
      expectation->checks.push_back(std::move(check));
    }
  }
  check_reason_numbers(reader, *expectation);
  return ExpectStatement{std::move(*expectation)};
}

}  // namespace rota::sim
