// The journal's schema as a list of steps, forward only. `PRAGMA user_version` says how many steps
// a file has had. A step that stood in a release is never changed; a new one is added below it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace rota::store {

/// Step i takes a file from version i to i + 1.
[[nodiscard]] std::span<const std::string_view> migrations();

/// How many steps the file has had; 0: it is new. Error: kUnsupported when it is newer than this
/// program.
Result<std::int64_t> schema_version(Database& database);

/// Brings the file to the newest version, each step in a transaction of its own with its number.
/// Error: kUnsupported when the file is newer than this program; the file is left as it is.
Status migrate(Database& database);

}  // namespace rota::store
