#include "server/as_account.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"

namespace rota::server {
namespace {

bool is_own(const Account& account) {
  return account.uid < 0 || static_cast<uid_t>(account.uid) == ::geteuid();
}

std::vector<gid_t> groups_of(const Account& account, gid_t group) {
  if (account.user.empty()) return {group};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(account.user.c_str(), group, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size())) return {group};
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

/// Of this thread alone; the library's function would change all threads.
void set_thread_groups(const std::vector<gid_t>& groups) {
  ROTA_CHECK(::syscall(SYS_setgroups, groups.size(), groups.data()) == 0);
}

/// setfsuid() and setfsgid() report nothing but the value before: asking again tells.
void set_thread_ids(uid_t uid, gid_t gid) {
  constexpr auto kAsk = static_cast<unsigned>(-1);
  ::setfsgid(gid);
  ::setfsuid(uid);
  ROTA_CHECK(static_cast<gid_t>(::setfsgid(kAsk)) == gid);
  ROTA_CHECK(static_cast<uid_t>(::setfsuid(kAsk)) == uid);
}

}  // namespace

Status AsAccount::may_act_for(const Account& account) {
  if (is_own(account) || ::geteuid() == 0) return {};
  return Error{.code = ErrorCode::kDenied,
               .message = "only a daemon that runs as root may read files of another account"};
}

AsAccount::AsAccount(const Account& account) {
  ROTA_CHECK(may_act_for(account).ok());
  if (is_own(account)) return;
  const auto uid = static_cast<uid_t>(account.uid);
  const auto gid = account.gid >= 0 ? static_cast<gid_t>(account.gid) : static_cast<gid_t>(uid);
  const int count = ::getgroups(0, nullptr);
  groups_before_.resize(static_cast<std::size_t>(count > 0 ? count : 0));
  ROTA_CHECK(::getgroups(count, groups_before_.data()) == count);
  const std::vector<gid_t> groups = groups_of(account, gid);
  changed_ = true;
  set_thread_groups(groups);
  set_thread_ids(uid, gid);
}

AsAccount::~AsAccount() {
  if (!changed_) return;
  set_thread_ids(::geteuid(), ::getegid());
  set_thread_groups(groups_before_);
}

}  // namespace rota::server
