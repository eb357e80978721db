// Ports for the rendezvous of gangs.
#pragma once

#include <cstdint>
#include <set>

namespace rota::backend {

/// Hands out TCP ports outside the kernel's range for outgoing connections, each to one user at a
/// time, free at that moment (also of connections that only just ended). Goes round, so that a port
/// rests before it is given again. Not thread-safe.
class PortPool {
 public:
  PortPool();
  PortPool(int low, int high);  // inclusive; for tests
  /// 0: every port is taken.
  int acquire();
  /// Marks a port that a running attempt was given before a restart. 0 is ignored.
  void adopt(int port);
  void release(int port);
  [[nodiscard]] int low() const { return low_; }
  [[nodiscard]] int high() const { return high_; }

 private:
  int low_ = 0;
  int high_ = 0;
  int next_ = 0;
  std::set<int> taken_;
};

}  // namespace rota::backend
