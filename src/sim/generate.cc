#include "sim/generate.h"

#include <array>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace rota::sim {

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, Wildness wildness)
      : random_(Random(seed).child("scenario")), wild_(wildness == Wildness::kAll) {}

  std::string run() {
    add_nodes();
    add_queues();
    add_policy();
    add_running();
    const auto blocks = between(2, 8);
    for (std::int64_t i = 0; i < blocks; ++i) {
      text_ += "\nat " + std::to_string(minute_) + "m\n";
      const auto statements = between(1, 8);
      for (std::int64_t k = 0; k < statements; ++k) add_statement();
      minute_ += between(1, 40);
    }
    text_ += "\nat " + std::to_string(minute_ + 600) + "m\n";
    return text_;
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) { return random_.between(low, high); }
  bool one_in(std::uint32_t n) { return random_.chance(1, n); }
  template <std::size_t N>
  std::string_view pick(const std::array<std::string_view, N>& words) {
    return words[random_.below(N)];
  }
  const std::string& pick(const std::vector<std::string>& words) {
    return words[random_.below(words.size())];
  }
  void key(std::string_view name, std::int64_t value, std::string_view unit = "") {
    text_ += " " + std::string(name) + "=" + std::to_string(value) + std::string(unit);
  }
  void key(std::string_view name, std::string_view value) {
    text_ += " " + std::string(name) + "=" + std::string(value);
  }

  void add_nodes() {
    const auto kinds = between(1, 3);
    for (std::int64_t kind = 0; kind < kinds; ++kind) {
      const auto count = between(1, 3);
      const auto gpus = between(kind == 0 ? 1 : 0, 8);
      const std::string letter(1, static_cast<char>('a' + kind));
      text_ += "node " + letter + "[1-" + std::to_string(count) + "]";
      for (std::int64_t i = 1; i <= count; ++i) nodes_.push_back(letter + std::to_string(i));
      const bool named = one_in(3);
      text_ += " gpus=" + std::string(named ? (kind == 0 ? "h100:" : "a100:") : "") +
               std::to_string(gpus);
      for (std::int64_t i = 1; i <= count && gpus > 0; ++i) {
        gpu_nodes_.push_back(letter + std::to_string(i));
      }
      if (gpus == 8 && one_in(2)) key("islands", "0-3/4-7");
      if (gpus == 8 && one_in(2)) key("sockets", "0-3/4-7");
      if (one_in(3)) key("block", one_in(2) ? "x" : "y");
      if (one_in(6)) key("cost", "2.5");
      if (!wild_) {
        text_ += "\n";
        continue;
      }
      if (gpus > 0 && one_in(5)) {
        key("slots", between(2, 4));
      } else if (gpus > 0 && one_in(5)) {
        key("mig", "on");
      }
      if (one_in(4)) {
        key("site", letter);
        sites_.push_back(letter);
      }
      if (one_in(12)) key("fails_after", between(5, 60), "s");
      if (one_in(12)) key("state", pick(std::array<std::string_view, 2>{"drained", "down"}));
      text_ += "\n";
    }
  }

  void add_queues() {
    const auto count = between(0, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = "q" + std::to_string(i);
      text_ += "queue " + name;
      add_queue_keys();
      const bool has_children = one_in(4);
      if (!has_children) queues_.push_back(name);
      for (std::int64_t k = 0; has_children && k < 2; ++k) {
        const std::string child = name + "-" + std::to_string(k);
        text_ += "queue " + child;
        key("parent", name);
        add_queue_keys();
        queues_.push_back(child);
      }
    }
    if (one_in(3)) {
      text_ += "user ann";
      key("limit", between(1, 6));
      text_ += "\n";
    }
  }
  void add_queue_keys() {
    if (one_in(2)) key("weight", between(0, 4));
    if (one_in(3)) key("quota", between(0, 4));
    if (one_in(4)) key("limit", between(2, 10));
    text_ += "\n";
  }

  void add_policy() {
    text_ += "policy";
    using Words2 = std::array<std::string_view, 2>;
    using Words3 = std::array<std::string_view, 3>;
    using Words4 = std::array<std::string_view, 4>;
    key("order", pick(Words4{"fair", "fair", "priority", "fifo"}));
    key("backfill", pick(Words4{"easy", "conservative", "greedy", "off"}));
    key("placement", pick(Words3{"pack", "spread", "least_fragmentation"}));
    key("reclaim", pick(Words3{"share", "quota", "off"}));
    if (one_in(2)) key("fairness", pick(Words3{"instant", "window:1h", "half_life:2h"}));
    if (one_in(2)) key("grace", between(0, 90), "s");
    if (one_in(2)) key("retries", between(0, 3));
    if (one_in(3)) key("retry_on", pick(Words2{"elsewhere", "any"}));
    if (one_in(3)) key("quarantine_after", pick(Words3{"off", "1", "3"}));
    if (one_in(3)) key("infeasible", pick(Words2{"hold", "refuse"}));
    if (one_in(3)) key("dependency_never", pick(Words2{"cancel", "hold"}));
    if (one_in(4)) key("cpus_reserved_per_gpu", between(1, 8));
    if (wild_ && one_in(3)) key("session_idle_warn", "5m");
    if (wild_ && one_in(3)) key("session_idle_end", "20m");
    if (wild_ && one_in(3)) key("spill", "cheapest");
    if (one_in(3)) key("consolidation", "drain_one");
    text_ += "\n";
  }

  void add_running() {
    const auto count = between(0, 3);
    for (std::int64_t i = 0; i < count && i < std::ssize(gpu_nodes_); ++i) {
      // One GPU of each of the first nodes: there is room whatever the nodes are like.
      const std::string& node = gpu_nodes_[static_cast<std::size_t>(i)];
      if (text_.find("slots=") != std::string::npos || text_.find("mig=on") != std::string::npos) {
        return;
      }
      text_.append("running r").append(std::to_string(i)).append(" on=").append(node);
      if (!queues_.empty()) key("queue", pick(queues_));
      add_times();
      key("started", -between(0, 300), "m");
      text_ += "\n";
    }
  }

  void add_times() {
    if (one_in(2)) key("time", between(1, 120), "m");
    if (one_in(2)) key("runs", between(1, 120), "m");
    if (one_in(2)) key("min_runtime", between(0, 60), "m");
    if (one_in(3)) key("checkpoint", between(1, 20), "m");
  }

  void add_devices_wish() {
    const auto kind = wild_ ? between(0, 9) : between(0, 5);
    if (kind <= 4) {
      if (one_in(2)) key("gpus", between(1, 8));
    } else if (kind == 5) {
      key("gpus", "0");
      key("cpus", between(1, 40));
    } else if (kind <= 7) {
      key("gpus", pick(std::array<std::string_view, 4>{"0.5", "0.25", "0.3", "0.125"}));
    } else if (kind == 8) {
      key("slots", between(1, 3));
    } else {
      key("mig", pick(std::array<std::string_view, 4>{"1g.10gb", "2g.20gb", "3g.40gb",
                                                      "7g.80gb"}));
    }
    if (one_in(3)) {
      const auto tasks = between(1, 4);
      key("tasks", tasks);
      if (wild_ && one_in(2)) key("min_tasks", between(1, tasks));
    }
    if (one_in(8)) {
      key("same", pick(std::array<std::string_view, 4>{"node", "island", "socket", "block"}));
    } else if (one_in(8)) {
      key("prefer", pick(std::array<std::string_view, 3>{"node", "island", "block"}));
    }
    if (one_in(10)) key("model", pick(std::array<std::string_view, 3>{"h100", "h100|a100", "any"}));
    if (one_in(12)) key("on", pick(nodes_));
    if (one_in(12)) key("exclude", pick(nodes_));
  }

  void add_submit() {
    // Jobs are arrays, so that later statements may name them whatever has become of them.
    const std::string name = "j" + std::to_string(groups_.size());
    text_ += "submit " + name;
    if (wild_ && one_in(10)) {
      key("every", between(1, 9), "m");
      key("until", minute_ + between(5, 40), "m");
    } else {
      const auto size = one_in(3) ? between(2, 6) : 1;
      key("array", size);
      if (one_in(3)) text_ += "%" + std::to_string(between(1, size));
    }
    if (!queues_.empty()) key("queue", pick(queues_));
    if (one_in(3)) key("user", one_in(2) ? "ann" : "bob");
    if (one_in(2)) key("priority", between(-5, 5));
    add_devices_wish();
    add_times();
    if (one_in(6)) key("charge", "no");
    if (one_in(8)) key("begin", between(0, 200), "m");
    if (!groups_.empty() && one_in(5)) {
      key(pick(std::array<std::string_view, 3>{"after", "afterok", "afterany"}), pick(groups_));
    }
    if (wild_ && one_in(8)) key("deadline", between(10, 400), "m");
    if (wild_ && one_in(6)) {
      key("class", pick(std::array<std::string_view, 2>{"free", "interactive"}));
    }
    if (!sites_.empty() && one_in(6)) key(one_in(2) ? "site" : "data", pick(sites_));
    text_ += "\n";
    groups_.push_back(name);
  }

  void add_device_statement() {
    if (gpu_nodes_.empty()) return;
    const std::string device = pick(gpu_nodes_) + ":0";
    text_ += std::string(pick(std::array<std::string_view, 5>{
                 "gpu_error", "recover_gpu", "recover_gpu", "foreign", "foreign_gone"})) +
             " " + device + "\n";
  }

  void add_statement() {
    const auto kind = between(0, 11);
    if (kind <= 5 || groups_.empty()) return add_submit();
    if (kind == 6) {
      text_ += "finish " + pick(groups_) + (one_in(3) ? " exit=1" : "") + "\n";
    } else if (kind == 7) {
      text_ += std::string(pick(std::array<std::string_view, 4>{"cancel", "hold", "release",
                                                                "release"})) +
               " " + pick(groups_) + "\n";
    } else if (kind <= 9) {
      text_ += std::string(pick(std::array<std::string_view, 6>{
                   "fail_node", "recover_node", "recover_node", "drain", "undrain",
                   "quarantine"})) +
               " " + pick(nodes_) + "\n";
    } else if (kind == 10 && wild_) {
      add_device_statement();
    } else if (wild_) {
      text_ += "busy " + pick(groups_) + " ratio=" + (one_in(2) ? "0" : "0.7") + "\n";
    }
  }

  Random random_;
  bool wild_;
  std::string text_;
  std::int64_t minute_ = 0;   // of the block being made up
  std::vector<std::string> nodes_;
  std::vector<std::string> gpu_nodes_;
  std::vector<std::string> queues_;
  std::vector<std::string> sites_;
  std::vector<std::string> groups_;
};

}  // namespace

std::string random_scenario(std::uint64_t seed, Wildness wildness) {
  return Generator(seed, wildness).run();
}

}  // namespace rota::sim
