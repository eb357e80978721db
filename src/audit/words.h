// Numbers of an audit as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/work.h"

namespace rota::audit {

/// 82247 -> "82,247".
[[nodiscard]] std::string grouped(std::int64_t number);
/// `1 run`, `82,247 runs`.
[[nodiscard]] std::string counted(std::int64_t count, std::string_view one);
/// GPU-hours: three significant digits below 100, whole above: `0.18`, `17.4`, `12,345`.
[[nodiscard]] std::string hours_text(GpuTime gpu_time);
/// GiB-hours of MiB times nanoseconds, as hours_text.
[[nodiscard]] std::string gib_hours_text(Int128 mib_time);
/// `34 %`, `0.4 %`, below a thousandth `<0.1 %`; `n/a` of nothing.
[[nodiscard]] std::string percent_text(Int128 part, Int128 whole);
[[nodiscard]] std::string permille_text(std::int64_t permille);
/// At most three significant digits: `4.52`, `0.031`.
[[nodiscard]] std::string ratio_text(double value);
/// A small probability: `1 in 1,000`, `1 in 1e12`.
[[nodiscard]] std::string chance_text(double chance);
/// `Mon 09:00`, of an hour of the week from 0.
[[nodiscard]] std::string hour_of_week_text(int hour);

}  // namespace rota::audit
