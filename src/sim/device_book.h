// Who holds what of every device and node: chooses places for jobs that run at the start, and
// notices when something is given out twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/allocation.h"
#include "model/cluster.h"
#include "model/job.h"
#include "sim/scenario.h"

namespace rota::sim {

class DeviceBook {
 public:
  void add_node(const NodeSpec& node);

  /// A place for one task on the node, and takes it: whole GPUs and parts on the lowest indices
  /// with room (parts on the fullest device that holds them). Nothing when there is no room.
  std::optional<TaskPlace> place_task(const std::string& node, const JobShape& shape,
                                      std::int64_t task);
  /// The same on exactly these devices, one for each unit asked for.
  std::optional<TaskPlace> place_on(const std::string& node, const JobShape& shape,
                                    std::int64_t task, const std::vector<DeviceName>& devices);

  /// Takes the places. Returns, in words, everything that was already taken or does not exist.
  std::vector<std::string> take(const std::vector<TaskPlace>& places);
  void release(const std::vector<TaskPlace>& places);

 private:
  struct Device {
    DeviceSpec spec;
    std::int64_t milli_used = 0;
    std::int64_t memory_used = 0;
    std::int32_t slots_used = 0;
    std::uint32_t mig_used = 0;   // a bit per memory slice
    std::int32_t shares = 0;      // how many hold a part of it
  };
  struct Node {
    NodeSpec spec;
    std::vector<Device> devices;
    std::int64_t cpus_used = 0;
    std::int64_t memory_used = 0;
  };

  static bool has_room(const Node& node, const DeviceShare& share);
  static void add(Device& device, const DeviceShare& share, int sign);
  static std::optional<DeviceShare> part_of(const Node& node, std::int32_t device,
                                            const TaskShape& task);
  static bool is_wanted(const DeviceSpec& device, const JobShape& shape);
  static std::vector<DeviceShare> pick(const Node& node, const JobShape& shape);
  static std::vector<DeviceShare> pick_slots(const Node& node, const JobShape& shape);
  static std::optional<TaskPlace> room_beside(const Node& node, const JobShape& shape,
                                              std::int64_t task);

  std::map<std::string, Node> nodes_;
};

}  // namespace rota::sim
