// Where a task of a job is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/marks.h"

namespace rota::api {

struct Place {
  std::int64_t task = 0;
  std::string node;
  std::string devices;
  std::vector<std::string> uuids;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("task", self.task, "rank, from 0");
    visit("node", self.node, "where");
    visit("devices", self.devices, "device indices: 0-3, 5; MIG 0@4", kMayLack);
    visit("uuids", self.uuids, "the devices' identities");
  }
};

}  // namespace rota::api
