// Why a job waits, and what a job would meet that is not submitted yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/marks.h"
#include "api/v1/place.h"

namespace rota::api {

struct Reason {
  std::string code;
  std::string sentence;
  std::string resource;
  std::string within;
  std::optional<double> need;
  std::optional<double> free;
  std::optional<double> best;
  std::optional<double> missing;
  std::optional<double> freeable;
  std::optional<double> limit;
  std::string by;
  std::string until;
  bool waiting_helps = true;
  bool preemption_helps = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("code", self.code, "insufficient_free, fragmented, queue_limit, ...");
    visit("sentence", self.sentence, "the reason in words");
    visit("resource", self.resource, "gpu, gpu_memory, cpu, memory or slices", kMayLack);
    visit("within", self.within, "device, node, island, socket, rack, block or model", kMayLack);
    visit("need", self.need, "in GPUs, bytes or pieces, by resource");
    visit("free", self.free, "what is free where it could run");
    visit("best", self.best, "the most in one place");
    visit("short", self.missing, "what is missing");
    visit("freeable", self.freeable, "the most preemption could free");
    visit("limit", self.limit, "the limit that binds");
    visit("by", self.by, "the job, queue or user behind it", kMayLack);
    visit("until", self.until, "when it changes, if known", kTime);
    visit("waiting_helps", self.waiting_helps, "it can start without anybody's doing");
    visit("preemption_helps", self.preemption_helps, "preemption could help");
  }
};

struct Verdict {
  std::string id;
  std::string state;
  std::string summary;
  std::vector<Reason> reasons;
  std::string estimate;
  std::int64_t ahead = 0;
  std::vector<std::string> would_help;
  std::vector<Place> places;
  std::string started;
  std::string contract_ends;
  bool protect_all = false;
  std::string limit_ends;
  std::optional<double> time_limit_seconds;
  std::string evicted_by;
  std::string evicted_cause;
  std::string end_cause;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string detail;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "the job; absent in a preview", kMayLack);
    visit("state", self.state, "its state; absent in a preview", kMayLack);
    visit("summary", self.summary, "the shortest true answer, in words");
    visit("reasons", self.reasons, "every binding reason, most telling first");
    visit("estimate", self.estimate, "expected start; absent: unknown", kTime);
    visit("ahead", self.ahead, "pending jobs that come before it");
    visit("would_help", self.would_help, "what would let it start, in words");
    visit("places", self.places, "devices of each task, while it holds some");
    visit("started", self.started, "its latest start", kTime);
    visit("contract_ends", self.contract_ends, "protected from preemption until then", kTime);
    visit("protect_all", self.protect_all, "never preempted");
    visit("limit_ends", self.limit_ends, "when its time limit ends it", kTime);
    visit("time_limit_seconds", self.time_limit_seconds, "of one attempt");
    visit("evicted_by", self.evicted_by, "who preempted it last", kMayLack);
    visit("evicted_cause", self.evicted_cause, "why it was evicted last", kMayLack);
    visit("end_cause", self.end_cause, "why it ended", kMayLack);
    visit("exit_code", self.exit_code, "of a job that ended, when its processes exited");
    visit("signal", self.signal, "that ended it; 0: none");
    visit("detail", self.detail, "more on how it ended, for people", kMayLack);
  }
};

struct Preview {
  bool starts_now = false;
  std::string estimate;
  std::vector<Place> places;
  std::vector<std::string> victims;
  Verdict verdict;
  std::vector<std::string> warnings;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("starts_now", self.starts_now, "it would start at once");
    visit("estimate", self.estimate, "expected start; absent: unknown", kTime);
    visit("places", self.places, "where, when it would start at once");
    visit("victims", self.victims, "jobs that would be preempted for it");
    visit("verdict", self.verdict, "why it would wait, as of a job without id and state");
    visit("warnings", self.warnings, "what would be accepted but may surprise");
  }
};

}  // namespace rota::api
