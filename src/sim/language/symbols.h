// The names a scenario has declared so far, and how to look them up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/job.h"
#include "model/queue.h"
#include "sim/language/lexer.h"

namespace rota::sim {

struct NodeSymbol {
  std::size_t device_count = 0;
  bool mig = false;
  int slots = 0;
};

struct QueueSymbol {
  std::string parent;
  bool has_children = false;
  std::int64_t share_of_children = 0;  // percent given out by `share`
};

/// A queue named by a job; looked at again when all queues are known.
struct QueueUse {
  std::string queue;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

struct ServiceSymbol {
  std::int64_t replicas_min = 0;
  std::int64_t replicas_max = 0;
  std::vector<std::size_t> live;       // replicas wanted now, oldest first
  std::size_t next = 0;                // the replica that the next growth adds
};

struct Symbols {
  std::map<std::string, NodeSymbol> nodes;
  std::set<std::string> pools;
  std::set<std::string> sites;
  std::map<std::string, QueueSymbol> queues;
  std::int64_t share_of_roots = 0;
  std::set<std::string> declared_users;
  std::set<std::string> users;         // declared, or named by a job
  std::map<std::string, std::vector<Argument>> classes;
  std::map<std::string, std::size_t> jobs;    // by name, into Scenario::jobs
  std::map<std::string, std::size_t> groups;  // by name, into Scenario::groups
  std::map<std::size_t, ServiceSymbol> services;        // by group
  std::vector<QueueUse> queue_uses;
};

template <class Map>
std::vector<std::string> names_in(const Map& map) {
  std::vector<std::string> names;
  for (const auto& entry : map) {
    if constexpr (requires { entry.first; }) {
      names.push_back(entry.first);
    } else {
      names.push_back(entry);
    }
  }
  return names;
}

/// Letters, digits, `_` and `-`; also `.` where `allow_dots`. Not empty.
enum class Dots { kRefused, kAllowed };
bool is_name(std::string_view text, Dots dots);

}  // namespace rota::sim
