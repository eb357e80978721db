// Small words that every sentence needs: plurals and durations. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/units.h"

namespace rota::report {

/// "1 job", "2 jobs", "0 jobs".
std::string counted(std::int64_t count, std::string_view one, std::string_view many);
/// The same with an s for many.
std::string counted(std::int64_t count, std::string_view one);

/// "2 GPUs", "1 GPU", "0.5 GPU", "0 GPUs".
std::string gpu_words(MilliGpu gpus);

/// The one way durations are shown to people: `0.4s`, `12s`, `4m`, `4m10s`, `3h05m`, `2d04h`: at
/// most two units, cut and not rounded, tenths below ten seconds.
std::string short_duration(double seconds);
std::string short_duration(Duration span);

}  // namespace rota::report
