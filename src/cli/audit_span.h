// What commands over a measured history have in common: the span looked at, and what there is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/work.h"
#include "base/result.h"
#include "cli/context.h"

namespace rota::cli {

/// --from and --until as typed; empty: not given.
struct SpanOptions {
  std::string from;
  std::string until;
};

/// The span of the work, cut by the options: points of time, or for traces without dates lengths
/// since their start. Error: kInvalidArgument, also when nothing lies between, or more than 100
/// years.
[[nodiscard]] Result<audit::Window> span_of_work(Context& context, const SpanOptions& options,
                                                 const audit::Work& work);

/// GPUs of the cluster that --on names, in thousandths; absent for an empty text.
[[nodiscard]] Result<std::optional<std::int64_t>> gpus_on(const std::string& on);

}  // namespace rota::cli
