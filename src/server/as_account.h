// File accesses with the rights of a job's account, while the daemon itself may be root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rota::server {

/// An account of this machine; uid -1: the daemon's own.
struct Account {
  std::int64_t uid = -1;
  std::int64_t gid = -1;
  std::string user;  // for its further groups; empty: none
};

/// From enter() to destruction the calling thread, and it alone, opens and looks up files as the
/// account would: every folder on the way, every symbolic link and the file itself are judged by
/// its user id, group and further groups. What is open already is not affected.
class AsAccount {
 public:
  /// Error: kDenied, since only root can act for another account.
  [[nodiscard]] static Status may_act_for(const Account& account);
  explicit AsAccount(const Account& account);  // may_act_for() must hold
  ~AsAccount();
  AsAccount(const AsAccount&) = delete;
  AsAccount& operator=(const AsAccount&) = delete;

 private:
  bool changed_ = false;
  std::vector<gid_t> groups_before_;
};

}  // namespace rota::server
