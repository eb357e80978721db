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
  /// Makes the folder when missing. As root it is 0711, so that other accounts reach what is theirs
  /// below it and see nothing else; otherwise 0700. A state folder with another mode gets this one;
  /// a folder that holds other things, and one of another account, keep theirs.
  /// Error: kConflict names the owner's pid, kUnavailable.
  static Result<std::unique_ptr<FolderLock>> take(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Makes the file when missing and takes all rights of other accounts from it. Error: kUnavailable.
Status make_private(const std::string& path);

}  // namespace rota::store
