// Opens the daemon's doors: a Unix socket file and loopback ports.
//
// Plain descriptors, non-blocking and close-on-exec; the caller owns them. Errors name the address.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rota::http {

struct UnixDoor {
  int descriptor = -1;
  std::uint64_t device = 0;  // of the socket file, so that only our own is removed later
  std::uint64_t inode = 0;
};

/// Makes the folder (0755) when missing, replaces the file of a dead daemon, and lets everybody
/// connect: the credentials decide. Errors: kConflict when a daemon answers there or something else
/// lies there, kInvalidArgument when the path is too long, kDenied, kUnavailable.
Result<UnixDoor> open_unix_door(const std::string& path);
/// Removes the socket file if it still is ours.
void remove_unix_door(const std::string& path, const UnixDoor& door);

enum class LoopbackFamily { kV4, kV6 };
struct TcpDoor {
  int descriptor = -1;
  std::uint16_t port = 0;
};

/// Errors: kConflict when the port is taken, kUnsupported when the machine has no such address,
/// kDenied, kUnavailable.
Result<TcpDoor> open_loopback_door(LoopbackFamily family, std::uint16_t port);

}  // namespace rota::http
