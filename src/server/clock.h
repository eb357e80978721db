// Where the server takes the time from. The engine gets it as an argument.
#pragma once

#include "base/time.h"

namespace rota::server {

/// Threads: now() may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since the Unix epoch.
  [[nodiscard]] virtual Instant now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
};

}  // namespace rota::server
