// The driver and queues: whose a queue is, into which one a job goes, and changes by people.
#include <algorithm>

#include "api/json.h"
#include "base/text.h"
#include "server/driver.h"
#include "server/names.h"

namespace rota::server {
namespace {

constexpr const char* kPersonalKey = "personal_queues";
constexpr const char* kDefaultQueue = "default";

/// Queues that the daemon made for people, by name.
struct Personal {
  std::map<std::string, std::string> owners;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("owners", self.owners);
  }
};

Error invalid_queue(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = std::move(message),
          .where = std::move(field)};
}

}  // namespace

// ---- into which one a job goes ----

Result<std::string> Driver::pick_queue(const Caller& caller,
                                       const api::SubmitRequest& request) const {
  const engine::Engine& engine = log_->engine();
  const Config& config = options_.config;
  if (!request.queue.empty()) {
    const Status known = check_queue(caller, request.queue);
    if (!known.ok()) return known.error();
    return request.queue;
  }
  const UserConfig* user = config.find_user(caller.user);
  if (user != nullptr && !user->queue.empty()) return user->queue;
  const bool own = config.user_queues == UserQueues::kOn ||
                   (config.user_queues == UserQueues::kAuto && config.queues.empty());
  if (engine.queue(caller.user).ok() || (own && !caller.user.empty())) return caller.user;
  return std::string(kDefaultQueue);
}

Error Driver::no_such_queue(const std::string& name) const {
  const std::vector<std::string> known = log_->engine().queue_names();
  const std::string_view near = nearest_word(name, known);
  return {.code = ErrorCode::kNotFound,
          .message = "there is no queue '" + name + "'; " +
                     (near.empty() ? "see: rota queue ls"
                                   : "did you mean '" + std::string(near) + "'?"),
          .where = "queue"};
}

/// Jobs belong to queues without children, and into a person's own queue goes that person's work.
Status Driver::check_queue(const Caller& caller, const std::string& name) const {
  const engine::Engine& engine = log_->engine();
  if (!engine.queue(name).ok()) return no_such_queue(name);
  const auto personal = personal_queues_.find(name);
  if (personal != personal_queues_.end() && personal->second != caller.user && !caller.admin) {
    return Error{.code = ErrorCode::kDenied,
                 .message = "queue " + name + " is " + personal->second +
                            "'s own; only " + personal->second +
                            " and administrators may put jobs into it. Leave the queue out for "
                            "your own; see: rota queue ls",
                 .where = "queue"};
  }
  std::vector<std::string> children;
  for (const std::string& each : engine.queue_names()) {
    const Result<QueueStatus> queue = engine.queue(each);
    if (queue.ok() && queue->spec.parent == name) children.push_back(each);
  }
  if (children.empty()) return {};
  return invalid_queue("queue", "queue " + name + " has children (" + join(children, ", ") +
                                     "); jobs belong to one of these");
}

Status Driver::ensure_queue(Turn& turn, const Caller& caller, const std::string& queue) {
  if (log_->engine().queue(queue).ok()) return {};
  Status made = apply(turn, QueueSet{{.name = queue}});
  if (!made.ok() || queue != caller.user || queue == kDefaultQueue) return made;
  personal_queues_[queue] = caller.user;
  keep_personal_queues();
  return made;
}

// ---- whose a queue is ----

/// What is durable. A state folder of a version that did not write it down: queues that nobody
/// declared or changed and whose name is that of somebody who has submitted.
Status Driver::load_personal_queues() {
  personal_queues_.clear();
  const Result<std::string> text = options_.store->meta(kPersonalKey);
  if (!text.ok()) return text.error();
  if (!text->empty()) {
    Result<Personal> read = api::from_text<Personal>(*text);
    if (!read.ok()) return read.error();
    personal_queues_ = std::move(read->owners);
    return {};
  }
  const std::vector<QueueSpec> declared = declared_queues();
  for (const std::string& name : log_->engine().queue_names()) {
    const Result<QueueStatus> queue = log_->engine().queue(name);
    const bool is_declared = std::any_of(declared.begin(), declared.end(),
                                         [&](const QueueSpec& q) { return q.name == name; });
    if (!queue.ok() || is_declared || name == kDefaultQueue) continue;
    if (!(queue->spec == QueueSpec{.name = name})) continue;
    const Result<std::optional<store::JobRow>> job = options_.store->recent_job(name, 0);
    if (!job.ok()) return job.error();
    if (job->has_value()) personal_queues_[name] = name;
  }
  return {};
}

void Driver::keep_personal_queues() {
  options_.store->set_meta(kPersonalKey, api::to_text(Personal{personal_queues_}));
}

/// A queue of the configuration is everybody's, whoever has its name.
void Driver::open_declared_queues() {
  for (const QueueSpec& queue : options_.config.queues) personal_queues_.erase(queue.name);
  keep_personal_queues();
}

// ---- changes ----

void Driver::queue_set(const Caller& caller, api::QueueRequest request,
                       Reply<api::Queue> done) {
  call<api::Queue>(std::move(done),
                   [this, caller = ranked(caller), request = std::move(request)](Turn& turn) {
                     return do_queue_set(turn, caller, request);
                   });
}

Result<api::Queue> Driver::do_queue_set(Turn& turn, const Caller& caller,
                                        const api::QueueRequest& request) {
  if (!caller.admin) return admins_only("change queues");
  const Status writable = can_write();
  if (!writable.ok()) return writable.error();
  if (request.name.empty()) return invalid_queue("name", "a queue needs a name");
  QueueSpec spec{.name = request.name};
  const Result<QueueStatus> known = log_->engine().queue(request.name);
  if (const Status name = check_queue_name(request.name); !known.ok() && !name.ok()) {
    return name.error();
  }
  if (known.ok()) spec = known->spec;
  if (request.parent) spec.parent = *request.parent;
  if (request.weight) spec.weight = *request.weight;
  if (request.no_quota) spec.quota.reset();
  if (request.no_limit) spec.limit.reset();
  for (const auto& [from, to, field] :
       {std::tuple(&request.quota, &spec.quota, "quota"),
        std::tuple(&request.limit, &spec.limit, "limit")}) {
    if (!*from) continue;
    const Result<MilliGpu> gpus = milli_gpus_of(**from, field);
    if (!gpus.ok()) return gpus.error();
    *to = *gpus;
  }
  if (const Status amounts = check_queue_amounts(spec); !amounts.ok()) return amounts.error();
  const Status status = apply(turn, QueueSet{spec});
  if (!status.ok()) return status.error();
  keep_event(turn, api::Event{.queue = spec.name},
             {.kind = "queue_set",
              .by = caller.user,
              .message = "queue " + spec.name +
                         (known.ok() ? " is changed by " : " is made by ") + caller.user});
  return views().queue(spec.name);
}

}  // namespace rota::server
