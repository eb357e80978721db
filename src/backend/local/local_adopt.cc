// What a daemon finds when it starts: attempts of the one before.
#include <filesystem>
#include <system_error>

#include "backend/local/local_impl.h"
#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"
#include "base/text.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;

/// `7.2` -> job 7, attempt 2.
bool parse_key(const std::string& name, AttemptKey& key) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  const auto job = parse_int(name.substr(0, dot));
  const auto attempt = parse_int(name.substr(dot + 1));
  if (!job.ok() || !attempt.ok() || *job <= 0 || *attempt <= 0) return false;
  key = {JobId(static_cast<std::uint64_t>(*job)), *attempt};
  return true;
}

bool read_order(const std::string& dir, shim::Order& order) {
  std::string text;
  if (!shim::read_file(dir + "/" + shim::order_file(), text)) return false;
  try {
    order = shim::order_from(nlohmann::json::parse(text));
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

bool stop_was_ordered(const std::string& dir, std::int64_t task) {
  std::string text;
  if (!shim::read_file(dir + "/" + shim::task_file(task, "stop"), text)) return false;
  try {
    return !shim::stop_from(nlohmann::json::parse(text)).by_gang;
  } catch (const nlohmann::json::exception&) {
    return true;
  }
}

}  // namespace

void LocalBackend::Impl::adopt_all() {
  const std::lock_guard lock(mutex);
  std::error_code fault;
  std::map<AttemptKey, std::string> found;
  for (fs::directory_iterator at(attempts_dir, fault), end; !fault && at != end;
       at.increment(fault)) {
    AttemptKey key;
    const std::string name = at->path().filename().string();
    if (parse_key(name, key)) found[key] = at->path().string();
    if (name.starts_with("gone-")) janitor.remove(at->path().string());
  }
  for (const auto& [key, dir] : found) adopt(dir, key);
}

void LocalBackend::Impl::adopt(const std::string& dir, AttemptKey key) {
  Attempt attempt;
  attempt.job = key.first;
  attempt.number = key.second;
  attempt.dir = dir;
  std::error_code fault;
  if (!fs::exists(dir + "/" + shim::order_file(), fault)) {
    fs::remove_all(dir, fault);  // a crash between the folder and the order: nothing was begun
    return;
  }
  if (!read_order(dir, attempt.order)) {
    attempt.ended = true;
    attempt.end = {key.first, key.second, EndKind::kLost, 0, 0, {},
                   "the file " + dir + "/" + shim::order_file() + " cannot be read"};
    add_fact(attempt.end);
    attempts.emplace(key, std::move(attempt));
    return;
  }
  ports.adopt(static_cast<int>(attempt.order.port));
  bool every_stop_ordered = !attempt.order.tasks.empty();
  for (const shim::TaskOrder& order : attempt.order.tasks) {
    AttemptTask task;
    task.rank = order.rank;
    task.node = order.node;
    const bool ordered = stop_was_ordered(dir, order.rank);
    task.stop_sent = ordered;
    task.dropped = ordered;
    every_stop_ordered = every_stop_ordered && ordered;
    attempt.tasks.push_back(std::move(task));
  }
  // Orders to stop some tasks of an attempt and all of it leave the same files; all: all of it.
  attempt.stop_ordered = every_stop_ordered;
  if (every_stop_ordered) {
    for (AttemptTask& task : attempt.tasks) task.dropped = false;
  }
  Attempt& stored = attempts.insert_or_assign(key, std::move(attempt)).first->second;
  for (AttemptTask& task : stored.tasks) adopt_task(stored, task);
  evaluate(stored);
}

void LocalBackend::Impl::adopt_task(Attempt& attempt, AttemptTask& task) {
  // The holder may end between two looks: watch it first, then look at it again.
  const pid_t holder = shim_holding(attempt.dir, task.rank);
  if (holder > 0) {
    const int pidfd = open_pidfd(holder);
    if (pidfd >= 0) {
      task.shim_pid = holder;
      watch(attempt, task, pidfd);
    }
  }
  refresh(attempt, task);
  if (task.gone || task.pidfd >= 0) return;
  if (!task.has_status) {
    spawn(attempt, task);  // the daemon died before it did
    return;
  }
  const bool rebooted = task.status.boot != boot;
  declare_lost(attempt, task,
               rebooted ? "the machine was restarted while it ran"
                        : "its parent process rota-shim was killed");
}

void LocalBackend::Impl::declare_lost(Attempt& attempt, AttemptTask& task,
                                      const std::string& why) {
  task.gone = true;
  task.lost = true;
  task.lost_detail = why;
  if (task.status.boot != boot && task.has_status) return;  // nothing of it can be left
  for (const shim::TaskOrder& order : attempt.order.tasks) {
    if (order.rank == task.rank) task.status.leftovers = kill_strays(order, task.status);
  }
}

}  // namespace rota::backend
