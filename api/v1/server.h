// The daemon itself, and the sign-in of a browser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

struct Server {
  std::string version;
  std::string backend;
  std::string devices;
  bool simulated = false;
  bool healthy = true;
  std::vector<std::string> problems;
  std::string started;
  std::string state_directory;
  std::string url;
  std::int64_t cycles = 0;
  double last_cycle_seconds = 0;
  std::int64_t last_event_seq = 0;
  std::int64_t jobs_pending = 0;
  std::int64_t jobs_running = 0;
  double gpus_total = 0;
  double gpus_used = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("version", self.version, "of the daemon");
    visit("backend", self.backend, "local, simulated");
    visit("devices", self.devices, "the device driver");
    visit("simulated", self.simulated, "the devices are not real");
    visit("healthy", self.healthy, "cycles advance and storage works");
    visit("problems", self.problems, "what is wrong, in words");
    visit("started", self.started, "when the daemon started", kTime);
    visit("state_directory", self.state_directory, "journal, logs, token", kMayLack);
    visit("url", self.url, "of the HTTP API", kMayLack);
    visit("cycles", self.cycles, "scheduling cycles so far");
    visit("last_cycle_seconds", self.last_cycle_seconds, "duration of the last one");
    visit("last_event_seq", self.last_event_seq, "newest event");
    visit("jobs_pending", self.jobs_pending, "now");
    visit("jobs_running", self.jobs_running, "now");
    visit("gpus_total", self.gpus_total, "healthy devices");
    visit("gpus_used", self.gpus_used, "given out");
  }
};

struct SessionRequest {
  std::string token;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("token", self.token, "the daemon's token; the answer sets a cookie for reading");
  }
};

}  // namespace rota::api
