#include "server/clock.h"

#include <ctime>

namespace rota::server {

Instant SystemClock::now() const {
  struct timespec time {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return Instant(static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec);
}

}  // namespace rota::server
