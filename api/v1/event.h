// The event stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

/// One line of the event stream. `job` events are shown to their owner and to administrators only.
struct Event {
  std::int64_t seq = 0;
  std::string time;
  std::string kind;
  std::string job;
  std::string node;
  std::string queue;
  std::string user;
  std::string state;
  std::string cause;
  std::string by;
  std::string message;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("seq", self.seq, "position; pass as Last-Event-ID to go on after it");
    visit("time", self.time, "when", kTime);
    visit("kind", self.kind, "job_submitted, job_started, job_preempted, node_drained, ...");
    visit("job", self.job, "the job it is about", kMayLack);
    visit("node", self.node, "the node it is about", kMayLack);
    visit("queue", self.queue, "the queue it is about", kMayLack);
    visit("user", self.user, "the job's owner, or who asked", kMayLack);
    visit("state", self.state, "the state after it", kMayLack);
    visit("cause", self.cause, "why", kMayLack);
    visit("by", self.by, "the job or person behind it", kMayLack);
    visit("message", self.message, "the event in words");
  }
};

struct EventPage {
  std::vector<Event> events;
  std::int64_t last_seq = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("events", self.events, "ascending by seq");
    visit("last_seq", self.last_seq, "the newest event there is");
  }
};

}  // namespace rota::api
