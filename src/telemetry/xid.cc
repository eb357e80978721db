#include "telemetry/xid.h"

#include <algorithm>
#include <array>

namespace rota::telemetry {
namespace {

constexpr std::array kIgnored = {43, 44, 63, 68, 92, 121, 137, 160};
constexpr std::array kApplications = {13, 31, 32, 45, 69, 94, 109};
constexpr std::array kResets = {46,  48,  62,  64,  74,  95,  110, 119,
                                120, 136, 140, 143, 155, 156, 158};
constexpr std::array kReboots = {54, 79};

template <class List>
bool holds(const List& list, std::int64_t xid) {
  return std::find(list.begin(), list.end(), xid) != list.end();
}

}  // namespace

XidClass classify_xid(std::int64_t xid) {
  if (holds(kIgnored, xid)) return XidClass::kIgnore;
  if (holds(kApplications, xid)) return XidClass::kApplication;
  if (holds(kResets, xid)) return XidClass::kReset;
  if (holds(kReboots, xid)) return XidClass::kReboot;
  return XidClass::kReview;
}

DeviceHealth health_after_xid(std::int64_t xid) {
  if (xid == 0) return DeviceHealth::kOk;
  switch (classify_xid(xid)) {
    case XidClass::kIgnore:
    case XidClass::kApplication: return DeviceHealth::kOk;
    case XidClass::kReset: return DeviceHealth::kNeedsReset;
    case XidClass::kReboot: return DeviceHealth::kNeedsReboot;
    case XidClass::kReview: return DeviceHealth::kSuspect;
  }
  return DeviceHealth::kSuspect;
}

}  // namespace rota::telemetry
