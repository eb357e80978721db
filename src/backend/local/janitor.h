// Removes folders in the background.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace rota::backend {

/// A thread that deletes what it is given, in order. Deleting costs more than all other disk work
/// of a short job, and nobody waits for it. Destruction finishes what was given.
class Janitor {
 public:
  Janitor();
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  void remove(std::string folder);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> folders_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rota::backend
