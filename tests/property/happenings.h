// The generator room, second half: steps of a script as requests of people and faults of machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/property/backend_world.h"
#include "tests/property/stage.h"

namespace rota::property {

/// What one step asks for. Events are given to the engine at one instant, in this order; then the
/// time goes on by `pass`.
struct Happening {
  std::vector<Event> events;
  std::vector<std::pair<JobId, Work>> work;      // of newly submitted jobs
  std::optional<std::pair<JobId, std::int64_t>> finish;  // this job ends with this exit code
  std::optional<std::string> lose_node;
  Duration pass;
  bool any_order = false;   // the events are independent: their order does not matter
};

class Happenings {
 public:
  Happenings(const Stage& stage, const Names& names) : stage_(stage), names_(names) {}

  Happening read(const Step& step, const engine::Engine& engine, const BackendWorld& world,
                 Instant now);

 private:
  Happening submit(const Step& step, Instant now);
  Happening submit_group(const Step& step, Instant now);
  Happening command(const Step& step, const engine::Engine& engine);
  Happening update(const Step& step, const engine::Engine& engine);
  Happening node_trouble(const Step& step, const engine::Engine& engine);
  Happening device_trouble(const Step& step);
  Happening owners(const Step& step);
  Happening new_policy(const Step& step);
  Happening repeat_fact(const Step& step, const BackendWorld& world);
  Happening stale_fact(const Step& step);
  JobSpec spec_from(const Step& step, Instant now);
  TaskShape task_from(std::uint32_t number);
  void shape_from(const Step& step, JobShape& shape);
  void add_job(Happening& out, const JobSpec& spec, const Step& step);
  [[nodiscard]] std::optional<JobId> some_job(std::uint32_t number) const;

  const Stage& stage_;
  const Names& names_;
  std::uint64_t last_id_ = 0;
  std::vector<GroupId> groups_;
};

}  // namespace rota::property
