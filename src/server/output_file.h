// Reads a piece of a job's output file on behalf of a person.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "server/as_account.h"

namespace rota::server {

struct OutputRange {
  std::int64_t offset = 0;   // negative: from the end
  std::int64_t limit = 65536;
};

struct OutputPiece {
  std::int64_t offset = 0;   // of data in the file
  std::string data;
  std::int64_t size = 0;     // of the file
};

/// Only regular files, and only what the job's owner may read: the path was chosen by him, and the
/// daemon may be root. May block as long as the file system does.
/// Error: kNotFound, kDenied, kUnavailable.
[[nodiscard]] Result<OutputPiece> read_output(const std::string& path, const Account& owner,
                                              const OutputRange& range);

}  // namespace rota::server
