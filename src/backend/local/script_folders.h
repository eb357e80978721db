// Folders of scripts, one for each daemon of this machine, side by side. The lock on a folder says
// that its daemon lives.
#pragma once

#include <string>

namespace rota::backend {

/// Locks the folder until the descriptor is closed. -1: it cannot be, or another process has it.
int lock_folder(const std::string& folder);

/// Removes the folders beside `own` whose daemon was killed and whose scripts nobody runs any more.
/// What is not ours, or in use, stays.
void sweep_dead_folders(const std::string& own);

}  // namespace rota::backend
