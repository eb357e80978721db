// The state folder and its lock: one daemon at a time.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace rota::store {

/// Holds an exclusive lock on `<folder>/lock` until destroyed; the file holds the owner's pid. The
/// kernel drops the lock when the process dies, however it dies.
class FolderLock {
 public:
  /// Makes the folder (0700) when missing. Error: kConflict names the owner's pid, kUnavailable.
  static Result<std::unique_ptr<FolderLock>> take(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace rota::store
