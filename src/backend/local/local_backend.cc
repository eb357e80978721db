#include "backend/local/local_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "backend/local/cgroups.h"
#include "backend/local/local_impl.h"
#include "backend/local/script_folders.h"
#include "backend/local/shim/system.h"
#include "backend/local/shim_process.h"
#include "base/digest.h"

namespace rota::backend {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kOpenFiles = 65536;

std::string name_of_attempt(AttemptKey key) {
  return "job " + std::to_string(key.first.value()) + " attempt " + std::to_string(key.second);
}

Error system_error(const std::string& what) {
  return Error{ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

/// Other accounts pass through it on the way to what is theirs, and cannot list it.
mode_t passage_mode() { return ::geteuid() == 0 ? 0711 : 0700; }

/// `mode`: of a folder that is made now, whatever the umask; its parents are passages.
Status make_folder(const fs::path& folder, mode_t mode) {
  std::error_code fault;
  if (fs::is_directory(folder, fault)) return {};
  const fs::path parent = folder.parent_path();
  if (!parent.empty() && parent != folder) {
    if (Status made = make_folder(parent, passage_mode()); !made.ok()) return made;
  }
  if (::mkdir(folder.c_str(), mode) == 0 && ::chmod(folder.c_str(), mode) == 0) return {};
  if (errno == EEXIST && fs::is_directory(folder, fault)) return {};
  return Error{ErrorCode::kInvalidArgument,
               "cannot make the folder " + folder.string() + ": " + std::strerror(errno)};
}

fs::path default_shim() {
  std::error_code fault;
  const fs::path self = fs::read_symlink("/proc/self/exe", fault);
  const fs::path beside = self.parent_path() / "rota-shim";
  if (fs::exists(beside, fault)) return beside;
  return self.parent_path().parent_path() / "libexec" / "rota-shim";
}

std::string account_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  const bool known = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 &&
                     found != nullptr;
  return known ? found->pw_name : "uid " + std::to_string(uid);
}

std::string key_of(const std::string& state_dir) {
  constexpr char kDigits[] = "0123456789abcdef";
  Digest digest;
  digest.add(state_dir);
  std::string text;
  for (std::uint64_t value = digest.value(); text.size() < 8; value >>= 4U) {
    text += kDigits[value & 15U];
  }
  return text;
}

std::int64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  const auto before = static_cast<std::int64_t>(limit.rlim_cur);
  const rlim_t wanted = std::min(limit.rlim_max, kOpenFiles);
  if (limit.rlim_cur >= wanted) return before;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

/// A daemon that was killed while it started a shim leaves a copy of the lock for a moment.
bool lock_patiently(int fd) {
  for (int tries = 0; tries < 50; ++tries) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    ::poll(nullptr, 0, 20);
  }
  return false;
}

bool wants_port(const Allocation& allocation) {
  return allocation.tasks.size() > 1 ||
         std::any_of(allocation.tasks.begin(), allocation.tasks.end(),
                     [](const TaskPlace& place) { return !place.devices.empty(); });
}

}  // namespace

// ---- life ----

LocalBackend::Impl::Impl(LocalOptions chosen, std::shared_ptr<telemetry::DeviceDriver> used)
    : options(std::move(chosen)), driver(std::move(used)) {}

LocalBackend::Impl::~Impl() {
  if (watcher.joinable()) {
    const std::uint64_t one = 1;
    if (::write(stop_fd, &one, sizeof one) == sizeof one) watcher.join();
  }
  device_watch.reset();
  for (const auto& [id, watch] : watches) ::close(watch.pidfd);
  for (const int fd : {lock_fd, notify_fd, epoll_fd, stop_fd, script_lock_fd}) {
    if (fd >= 0) ::close(fd);
  }
  if (!script_dir.empty()) ::rmdir(script_dir.c_str());  // stays while there is a script in it
}

Status LocalBackend::Impl::prepare() {
  if (options.shim.empty()) options.shim = default_shim();
  if (::access(options.shim.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "the program " + options.shim.string() +
                     " is missing or not executable; it belongs beside rota"};
  }
  if (Status made = make_folder(options.state_dir, passage_mode()); !made.ok()) return made;
  state_dir = fs::canonical(options.state_dir).string();
  attempts_dir = state_dir + "/attempts";
  const std::string key = key_of(state_dir);
  const fs::path scripts = options.script_dir.empty() ? "/run/rota/scripts" : options.script_dir;
  script_dir = (fs::absolute(scripts) / key).string();
  checkpoint_root = options.checkpoint_dir.empty()
                        ? state_dir + "/checkpoints"
                        : fs::absolute(options.checkpoint_dir).string();
  if (Status made = make_folder(attempts_dir, 0700); !made.ok()) return made;
  ::chmod(attempts_dir.c_str(), 0700);
  if (Status made = make_folder(checkpoint_root, passage_mode()); !made.ok()) return made;
  if (::geteuid() == 0) {
    if (Status made = make_folder(script_dir, 0711); !made.ok()) return made;
    script_lock_fd = lock_folder(script_dir);
    sweep_dead_folders(script_dir);
    for (const std::string& folder : {script_dir, checkpoint_root}) ::chmod(folder.c_str(), 0711);
  }
  lock_fd = ::open((state_dir + "/local.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd < 0) return system_error("cannot open " + state_dir + "/local.lock");
  if (!lock_patiently(lock_fd)) {
    return Error{ErrorCode::kConflict, "another daemon uses " + state_dir +
                                           "; stop it first, or choose another state folder"};
  }
  const std::string notify = state_dir + "/notify";
  if (::mkfifo(notify.c_str(), 0600) != 0 && errno != EEXIST) {
    return system_error("cannot make " + notify);
  }
  notify_fd = ::open(notify.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  stop_fd = ::eventfd(0, EFD_CLOEXEC);
  if (notify_fd < 0 || epoll_fd < 0 || stop_fd < 0) return system_error("cannot watch " + notify);
  nofile_soft = raise_open_files();
  boot = shim::boot_id();
  if (options.use_cgroups) cgroup_base = usable_cgroup_base(key);
  sweep_cgroups(cgroup_base);
  return learn_uuids();
}

Status LocalBackend::Impl::learn_uuids() {
  const auto nodes = driver->discover();
  if (!nodes.ok()) return nodes.error();
  for (const NodeSpec& node : *nodes) {
    std::vector<std::string>& list = uuids[node.name];
    list.clear();
    for (const DeviceSpec& device : node.devices) list.push_back(device.uuid);
  }
  return {};
}

// ---- orders ----

OrderContext LocalBackend::Impl::context_for(const StartOrder& order) {
  OrderContext context;
  context.attempt_dir = attempts_dir + "/" + std::to_string(order.job.value()) + "." +
                        std::to_string(order.attempt);
  context.script_dir = script_dir;
  context.checkpoint_root = checkpoint_root;
  context.cgroup_base = cgroup_base;
  context.cluster_name = options.cluster_name;
  for (const TaskPlace& place : order.allocation.tasks) {
    for (const DeviceShare& share : place.devices) {
      const auto known = static_cast<std::int32_t>(uuids[place.node].size());
      if (share.device >= known) (void)learn_uuids();  // a node or device that came later
    }
  }
  context.uuids = uuids;
  context.nofile_soft = nofile_soft;
  context.grace_default = options.grace_default;
  context.leftover_grace_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(options.leftover_grace).count();
  if (wants_port(order.allocation)) context.port = ports.acquire();
  return context;
}

Status LocalBackend::Impl::write_order(const Attempt& attempt) {
  if (::mkdir(attempt.dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error("cannot make " + attempt.dir);
  }
  const std::string path = attempt.dir + "/" + shim::order_file();
  if (!shim::replace_file(path, shim::to_json(attempt.order).dump())) {
    return system_error("cannot write " + path);
  }
  return {};
}

Status LocalBackend::Impl::start(const StartOrder& order) {
  const std::lock_guard lock(mutex);
  const AttemptKey key{order.job, order.attempt};
  if (attempts.contains(key)) return {};
  OrderContext context = context_for(order);
  auto built = build_order(order, context);
  if (!built.ok()) {
    ports.release(static_cast<int>(context.port));
    return built.error();
  }
  Attempt attempt;
  attempt.job = order.job;
  attempt.number = order.attempt;
  attempt.dir = context.attempt_dir;
  attempt.order = *std::move(built);
  attempt.limit_ns = attempt.order.time_limit_ns;
  for (const shim::TaskOrder& task : attempt.order.tasks) {
    AttemptTask added;
    added.rank = task.rank;
    added.node = task.node;
    attempt.tasks.push_back(std::move(added));
  }
  if (Status written = write_order(attempt); !written.ok()) {
    ports.release(static_cast<int>(context.port));
    std::error_code ignored;
    fs::remove_all(attempt.dir, ignored);
    return written;
  }
  Attempt& stored = attempts.emplace(key, std::move(attempt)).first->second;
  for (AttemptTask& task : stored.tasks) spawn(stored, task);
  evaluate(stored);
  return {};
}

void LocalBackend::Impl::spawn(Attempt& attempt, AttemptTask& task) {
  const auto pid = spawn_shim(options.shim, attempt.dir, task.rank);
  const int pidfd = pid.ok() ? open_pidfd(*pid) : -1;
  if (pidfd >= 0) {
    task.shim_pid = *pid;
    watch(attempt, task, pidfd);
    return;
  }
  if (pid.ok()) {
    // It cannot be watched (no descriptors left), so it must not go on unseen.
    ::kill(*pid, SIGKILL);
  }
  task.gone = true;
  task.has_status = true;
  task.status.phase = shim::Phase::kEnded;
  task.status.boot = boot;
  task.status.ended_ns = shim::clock_ns(CLOCK_REALTIME);
  task.status.node_fault = true;
  task.status.detail = pid.ok() ? std::string("no file descriptors are left")
                                : pid.error().message;
  // Written down, so that the next daemon does not begin it after all.
  const std::string name = shim::task_file(task.rank, shim::file_of(shim::Phase::kEnded));
  shim::replace_file(attempt.dir + "/" + name, shim::to_json(task.status).dump());
}

Status LocalBackend::Impl::stop(const StopOrder& order) {
  {
    const std::lock_guard lock(mutex);
    const auto found = attempts.find({order.job, order.attempt});
    if (found == attempts.end()) {
      AttemptEnded end;
      end.job = order.job;
      end.attempt = order.attempt;
      end.kind = EndKind::kStopped;
      end.detail = "not known on this machine";
      add_fact(end);
    } else if (found->second.ended) {
      add_fact(found->second.end);
    } else {
      Attempt& attempt = found->second;
      shim::StopRequest request;
      request.signal = attempt.order.stop_signal;
      request.grace_ns = order.grace.ns();
      const auto is_meant = [&](const AttemptTask& task) {
        return order.tasks.empty() || std::find(order.tasks.begin(), order.tasks.end(),
                                                task.rank) != order.tasks.end();
      };
      const bool all = std::all_of(
          attempt.tasks.begin(), attempt.tasks.end(),
          [&](const AttemptTask& task) { return is_meant(task) || task.dropped; });
      if (all) attempt.stop_ordered = true;
      for (AttemptTask& task : attempt.tasks) {
        if (!is_meant(task) || task.gone) continue;
        if (!all) task.dropped = true;
        request_stop(attempt, task, request);
      }
      evaluate(attempt);
    }
  }
  wake_caller();
  return {};
}

void LocalBackend::Impl::request_stop(Attempt& attempt, AttemptTask& task,
                                      const shim::StopRequest& stop) {
  task.stop_sent = true;
  // The file first: a shim that is not listening yet reads it when it is.
  const std::string path = attempt.dir + "/" + shim::task_file(task.rank, "stop");
  const bool written = shim::replace_file(path, shim::to_json(stop).dump());
  check_later(attempt, task, stop.grace_ns);
  if (task.pidfd < 0) return;
  signal_pidfd(task.pidfd, SIGCONT);
  // Without the file (disk full) the shim still knows what SIGTERM means: stop, with its own grace.
  signal_pidfd(task.pidfd, written ? SIGUSR1 : SIGTERM);
}

Status LocalBackend::Impl::send_signal(AttemptKey key, int signal_number) {
  const std::lock_guard lock(mutex);
  const auto found = attempts.find(key);
  if (found == attempts.end() || found->second.ended) {
    return Error{ErrorCode::kNotFound, name_of_attempt(key) + " does not run on this machine"};
  }
  bool sent = false;
  for (const AttemptTask& task : found->second.tasks) {
    if (task.gone || task.shim_pid == 0) continue;
    for (const std::int64_t pid : shim::descendants_of(task.shim_pid)) {
      sent = ::kill(static_cast<pid_t>(pid), signal_number) == 0 || sent;
    }
  }
  if (sent) return {};
  return Error{ErrorCode::kConflict, name_of_attempt(key) + " has no process to signal now"};
}

Status LocalBackend::Impl::set_time_limit(AttemptKey key, std::optional<std::int64_t> limit_ns) {
  const std::lock_guard lock(mutex);
  const auto found = attempts.find(key);
  if (found == attempts.end()) return {};
  Attempt& attempt = found->second;
  if (attempt.ended || attempt.orphan || attempt.limit_ns == limit_ns) return {};
  const std::string path = attempt.dir + "/" + shim::limit_file();
  if (!shim::replace_file(path, shim::to_json(shim::TimeLimit{limit_ns}).dump())) {
    return system_error("cannot write " + path);
  }
  attempt.limit_ns = limit_ns;
  for (const AttemptTask& task : attempt.tasks) {
    if (task.pidfd >= 0) signal_pidfd(task.pidfd, SIGUSR1);
  }
  return {};
}

std::vector<KnownAttempt> LocalBackend::Impl::list() {
  const std::lock_guard lock(mutex);
  std::vector<KnownAttempt> known;
  for (const auto& [key, attempt] : attempts) {
    KnownAttempt entry;
    entry.job = attempt.job;
    entry.attempt = attempt.number;
    entry.alive = !attempt.ended;
    entry.end = attempt.end;
    for (const AttemptTask& task : attempt.tasks) {
      if (!task.gone && task.status.main.pid != 0) entry.pids.push_back(task.status.main.pid);
    }
    for (const shim::Process& stray : attempt.strays) entry.pids.push_back(stray.pid);
    known.push_back(std::move(entry));
  }
  return known;
}

void LocalBackend::Impl::forget(AttemptKey key) {
  const std::lock_guard lock(mutex);
  const auto found = attempts.find(key);
  if (found == attempts.end() || !found->second.ended) return;
  const Attempt attempt = std::move(found->second);
  attempts.erase(found);
  // Under another name it counts as gone, whatever happens before it is deleted.
  const std::string gone = attempts_dir + "/gone-" + std::to_string(key.first.value()) + "." +
                           std::to_string(key.second);
  janitor.remove(::rename(attempt.dir.c_str(), gone.c_str()) == 0 ? gone : attempt.dir);
  const std::string& script = attempt.order.script_path;
  if (!script.empty() && !script.starts_with(attempt.dir)) ::unlink(script.c_str());
  const auto other = attempts.lower_bound({key.first, 0});
  const bool is_last = other == attempts.end() || other->first.first != key.first;
  if (is_last && !attempt.order.checkpoint_dir.empty()) {
    ::rmdir(attempt.order.checkpoint_dir.c_str());  // stays when there is anything in it
  }
}

Facts LocalBackend::Impl::poll() {
  const std::lock_guard lock(mutex);
  return std::exchange(facts, {});
}

// ---- what follows from the tasks ----

void LocalBackend::Impl::add_fact(Event fact) { facts.push_back(std::move(fact)); }

void LocalBackend::Impl::evaluate(Attempt& attempt) {
  if (attempt.ending || attempt.ended || attempt.orphan) return;
  if (!attempt.started_told && attempt.all_begun()) {
    attempt.started_told = true;
    add_fact(AttemptStarted{attempt.job, attempt.number, attempt.begun_at()});
  }
  const bool all_gone = attempt.all_gone();
  const std::vector<std::int64_t> dropped = attempt.dropped_to_tell();
  if (!dropped.empty() && !all_gone) {
    for (AttemptTask& task : attempt.tasks) task.drop_told = task.drop_told || task.dropped;
    add_fact(TasksEnded{attempt.job, attempt.number, dropped});
  }
  if (all_gone) {
    begin_ending(attempt);
  } else if (attempt.first_failure() != nullptr) {
    stop_rest_of_gang(attempt);
  }
}

void LocalBackend::Impl::stop_rest_of_gang(Attempt& attempt) {
  shim::StopRequest request;
  request.signal = attempt.order.stop_signal;
  request.grace_ns = attempt.order.grace_ns;
  request.by_gang = true;
  for (AttemptTask& task : attempt.tasks) {
    if (!task.gone && !task.stop_sent) request_stop(attempt, task, request);
  }
}

void LocalBackend::Impl::begin_ending(Attempt& attempt) {
  attempt.ending = true;
  EndedAttempt ended;
  ended.attempt = {attempt.job, attempt.number};
  ended.leftovers = attempt.leftovers();
  for (const shim::TaskOrder& task : attempt.order.tasks) {
    for (const shim::Share& share : task.devices) {
      ended.devices[task.node].push_back(share.device);
    }
  }
  if (ended.devices.empty() || !device_watch) {
    finish(attempt, {});
    return;
  }
  for (const std::string& entry : attempt.order.tasks.front().env) {
    if (entry.starts_with("ROTA_CHECKPOINT_DIR=") || entry.starts_with("ROTA_ATTEMPT=")) {
      ended.marks.push_back(entry);
    }
  }
  device_watch->verify(std::move(ended));
}

void LocalBackend::Impl::finish(Attempt& attempt, Facts held) {
  attempt.ended = true;
  attempt.end = attempt.compose_end();
  ports.release(static_cast<int>(attempt.order.port));
  for (Event& fact : held) add_fact(std::move(fact));
  add_fact(attempt.end);
}

// ---- the interface ----

LocalBackend::LocalBackend() = default;
LocalBackend::~LocalBackend() = default;

Result<std::unique_ptr<LocalBackend>> LocalBackend::open(
    LocalOptions options, std::shared_ptr<telemetry::DeviceDriver> driver) {
  std::unique_ptr<LocalBackend> backend(new LocalBackend);
  backend->impl_ = std::make_unique<Impl>(std::move(options), driver);
  Impl* impl = backend->impl_.get();
  if (const Status status = impl->prepare(); !status.ok()) return status.error();
  DeviceWatch::Options watch;
  watch.period = impl->options.sample_period;
  watch.suspect_after = Duration::milliseconds(impl->options.suspect_after.count());
  watch.state_file = impl->state_dir + "/devices.told";
  impl->device_watch = std::make_unique<DeviceWatch>(
      std::move(driver), watch,
      DeviceWatch::Callbacks{
          .claims = [impl] { return impl->claims(); },
          .facts = [impl](Facts facts) { impl->take_facts(std::move(facts)); },
          .verified = [impl](AttemptKey key, Facts held) { impl->verified(key, std::move(held)); },
      });
  impl->adopt_all();
  impl->begin_threads();
  return backend;
}

std::vector<DeviceClaim> LocalBackend::Impl::claims() {
  const std::lock_guard lock(mutex);
  std::vector<DeviceClaim> result;
  for (const auto& [key, attempt] : attempts) {
    if (attempt.ended) continue;
    for (std::size_t i = 0; i < attempt.tasks.size(); ++i) {
      const AttemptTask& task = attempt.tasks[i];
      if (task.gone || !task.has_status) continue;
      result.push_back({key, task.node, task.shim_pid, attempt.order.tasks[i].devices});
    }
  }
  return result;
}

void LocalBackend::Impl::take_facts(Facts more) {
  {
    const std::lock_guard lock(mutex);
    for (Event& fact : more) add_fact(std::move(fact));
  }
  wake_caller();
}

void LocalBackend::Impl::verified(AttemptKey key, Facts held) {
  {
    const std::lock_guard lock(mutex);
    const auto found = attempts.find(key);
    if (found != attempts.end() && !found->second.ended) {
      finish(found->second, std::move(held));
    }
  }
  wake_caller();
}

Result<std::vector<NodeSpec>> LocalBackend::discover() { return impl_->driver->discover(); }

Status LocalBackend::start(const StartOrder& order) {
  Status status = impl_->start(order);
  impl_->wake_caller();
  return status;
}

Status LocalBackend::stop(const StopOrder& order) { return impl_->stop(order); }

Status LocalBackend::signal(JobId job, std::int64_t attempt, int signal_number) {
  return impl_->send_signal({job, attempt}, signal_number);
}

Result<std::vector<KnownAttempt>> LocalBackend::list() { return impl_->list(); }

Status LocalBackend::set_time_limit(JobId job, std::int64_t attempt,
                                    std::optional<Duration> limit) {
  return impl_->set_time_limit({job, attempt},
                               limit ? std::optional(limit->ns()) : std::nullopt);
}

Status LocalBackend::check_account(const std::string& user, std::int64_t uid) const {
  const uid_t own = ::geteuid();
  if (own == 0 || uid < 0 || static_cast<uid_t>(uid) == own) return {};
  const std::string name = account_name(own);
  return Error{ErrorCode::kDenied,
               "this daemon runs as " + name + " and not as root, so it can start jobs of " + name +
                   " alone and none of " + user + "; ask " + name +
                   " to have it run by root, or start your own: rota serve"};
}

std::uint64_t LocalBackend::highest_job() { return impl_->highest_job(); }

void LocalBackend::forget(JobId job, std::int64_t attempt) { impl_->forget({job, attempt}); }

Facts LocalBackend::poll() { return impl_->poll(); }

void LocalBackend::on_facts(std::function<void()> wake) {
  {
    const std::lock_guard lock(impl_->wake_mutex);
    impl_->wake = std::move(wake);
  }
  impl_->wake_caller();
}

std::map<std::string, std::vector<telemetry::DeviceReading>> LocalBackend::readings() const {
  return impl_->device_watch->readings();
}

std::vector<LocalTask> LocalBackend::tasks(JobId job, std::int64_t attempt) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<LocalTask> result;
  const auto found = impl_->attempts.find({job, attempt});
  if (found == impl_->attempts.end()) return result;
  for (const AttemptTask& task : found->second.tasks) {
    result.push_back({task.rank, task.node, task.shim_pid, task.status.main.pid});
  }
  return result;
}

const telemetry::DeviceDriver& LocalBackend::driver() const { return *impl_->driver; }

}  // namespace rota::backend
