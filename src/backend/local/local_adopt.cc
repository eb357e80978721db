// What a daemon finds when it starts: attempts of the one before.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backend/local/local_impl.h"
#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;

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

std::optional<shim::TimeLimit> read_limit(const std::string& dir) {
  std::string text;
  if (!shim::read_file(dir + "/" + shim::limit_file(), text)) return std::nullopt;
  try {
    return shim::limit_from(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
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
  adopt_strays();
  sweep_folders();
}

/// Processes of attempts whose folder is gone: they must not run beside what is begun next.
void LocalBackend::Impl::adopt_strays() {
  for (const auto& [key, processes] : find_strays(stray_places())) {
    if (attempts.contains(key)) continue;
    Attempt attempt;
    attempt.job = key.first;
    attempt.number = key.second;
    attempt.dir = attempts_dir + "/" + std::to_string(key.first.value()) + "." +
                  std::to_string(key.second);
    const std::string why = "its folder " + attempt.dir + " is gone";
    adopt_orphan(std::move(attempt), why);
  }
}

/// An attempt of which nothing can be read. Whatever of it runs is killed, and it counts as running
/// until that is gone, so that its devices go to nobody else.
void LocalBackend::Impl::adopt_orphan(Attempt attempt, const std::string& why) {
  const AttemptKey key{attempt.job, attempt.number};
  const auto before = find_strays(stray_places())[key].size();
  attempt.orphan = true;
  attempt.strays = kill_attempt(stray_places(), key);
  attempt.order.checkpoint_dir = checkpoint_root + "/" + std::to_string(key.first.value());
  attempt.end = {key.first, key.second, EndKind::kLost, 0, 0, {}, why};
  if (before > 0) {
    attempt.end.detail += "; " + std::to_string(before) +
                          (before == 1 ? " process of it was killed" : " processes were killed");
  }
  Attempt& stored = attempts.insert_or_assign(key, std::move(attempt)).first->second;
  check_orphan(stored);
}

/// What a daemon that was killed had no time to remove: scripts and empty folders of jobs that
/// have nothing here any more.
void LocalBackend::Impl::sweep_folders() {
  std::error_code fault;
  for (fs::directory_iterator at(script_dir, fault), end; !fault && at != end;
       at.increment(fault)) {
    // <job>.<attempt>, or <job>.<attempt>.<process> while it is being written.
    const std::string name = at->path().filename().string();
    const std::size_t dots = name.find('.', name.find('.') + 1);
    AttemptKey key;
    const bool is_ours = parse_key(name.substr(0, dots), key);
    if (is_ours && !attempts.contains(key)) ::unlink(at->path().c_str());
  }
  for (const std::int64_t job : shim::numbered_entries(checkpoint_root)) {
    const auto known = attempts.lower_bound({JobId(static_cast<std::uint64_t>(job)), 0});
    if (known != attempts.end() && known->first.first.value() == static_cast<std::uint64_t>(job)) {
      continue;
    }
    ::rmdir((checkpoint_root + "/" + std::to_string(job)).c_str());  // refused when not empty
  }
}

std::uint64_t LocalBackend::Impl::highest_job() {
  const std::lock_guard lock(mutex);
  std::uint64_t highest = attempts.empty() ? 0 : attempts.rbegin()->first.first.value();
  for (const std::int64_t job : shim::numbered_entries(checkpoint_root)) {
    highest = std::max(highest, static_cast<std::uint64_t>(job));
  }
  return highest;
}

void LocalBackend::Impl::adopt(const std::string& dir, AttemptKey key) {
  Attempt attempt;
  attempt.job = key.first;
  attempt.number = key.second;
  attempt.dir = dir;
  std::error_code fault;
  if (!fs::exists(dir + "/" + shim::order_file(), fault)) {
    // A crash between the folder and the order: nothing was begun. Else adopt_strays() finds it.
    fs::remove_all(dir, fault);
    return;
  }
  if (!read_order(dir, attempt.order)) {
    adopt_orphan(std::move(attempt),
                 "the file " + dir + "/" + shim::order_file() + " cannot be read");
    return;
  }
  attempt.limit_ns = read_limit(dir).value_or(shim::TimeLimit{attempt.order.time_limit_ns}).ns;
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
  if (task.gone) return;
  if (task.pidfd >= 0 || adopt_without_lock(attempt, task)) {
    const auto pid = static_cast<pid_t>(task.shim_pid);
    if (!is_shim_of(pid, attempt.dir, task.rank)) end_unreachable(attempt, task);
    return;
  }
  if (!task.has_status) {
    spawn(attempt, task);  // the daemon died before it did
    return;
  }
  const bool rebooted = task.status.boot != boot;
  declare_lost(attempt, task,
               rebooted ? "the machine was restarted while it ran"
                        : "its parent process rota-shim was killed");
}

/// Files that were replaced, as by a copy of the state folder put in its place, are not those that
/// the shim has locked; it works on by their names.
bool LocalBackend::Impl::adopt_without_lock(Attempt& attempt, AttemptTask& task) {
  if (!task.has_status || task.status.boot != boot || !is_alive(task.status.shim)) return false;
  const auto pid = static_cast<pid_t>(task.status.shim.pid);
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return false;
  if (!is_alive(task.status.shim)) {
    ::close(pidfd);
    return false;
  }
  task.shim_pid = pid;
  watch(attempt, task, pidfd);
  return true;
}

/// A shim that knows its folder by a name that leads elsewhere now would be told nothing and could
/// tell nothing. It ends its task with the grace of the order.
void LocalBackend::Impl::end_unreachable(Attempt& attempt, AttemptTask& task) {
  task.lost_detail = "its files were moved or replaced while it ran, so it was ended";
  task.stop_sent = true;
  check_later(attempt, task, attempt.order.grace_ns);
  signal_pidfd(task.pidfd, SIGCONT);
  signal_pidfd(task.pidfd, SIGTERM);
}

void LocalBackend::Impl::declare_lost(Attempt& attempt, AttemptTask& task,
                                      const std::string& why) {
  task.gone = true;
  task.lost = true;
  if (task.lost_detail.empty()) task.lost_detail = why;
  // Nobody saw an exit code: whatever was left of it has been killed, or is now.
  task.status.exit_code = 0;
  task.status.signal = SIGKILL;
  if (task.has_status && task.status.boot != boot) task.lost_ns = shim::booted_ns();
  if (task.status.boot != boot && task.has_status) return;  // nothing of it can be left
  for (const shim::TaskOrder& order : attempt.order.tasks) {
    if (order.rank == task.rank) task.status.leftovers = kill_strays(order, task.status);
  }
}

}  // namespace rota::backend
