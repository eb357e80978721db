// What the shell sees. Stable: scripts rely on these numbers.
#pragma once

#include "base/result.h"

namespace rota::cli {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;       // it was tried and failed
constexpr int kExitUsage = 2;        // the command line, a script's head or a file is malformed
constexpr int kExitNotFound = 3;     // no such job, node, queue, ...
constexpr int kExitRefused = 4;      // by policy, or this cluster can never hold it
constexpr int kExitUnreachable = 5;  // no daemon answers
constexpr int kExitDenied = 6;
constexpr int kExitScaleUp = 10;     // forecast: the condition of --scale-up-when is met
// run and wait return the job's own code, 128+n when signal n ended it, or:
constexpr int kExitPreempted = 75;   // and not requeued
constexpr int kExitTimeLimit = 124;

constexpr int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return kExitUsage;
    case ErrorCode::kNotFound: return kExitNotFound;
    case ErrorCode::kRefused: return kExitRefused;
    case ErrorCode::kDenied: return kExitDenied;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout: return kExitUnreachable;
    case ErrorCode::kConflict:
    case ErrorCode::kUnsupported:
    case ErrorCode::kUnknownResult:
    case ErrorCode::kCorruption: return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace rota::cli
