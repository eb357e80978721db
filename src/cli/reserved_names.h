// Variables that a submission cannot set, since something else does.
#pragma once

#include <string_view>

namespace rota::cli {

/// Rota sets or removes it for every job: ROTA_JOB_ID, CUDA_VISIBLE_DEVICES, RANK, SLURM_JOB_ID.
/// The list is that of docs/reference/job-environment.md.
[[nodiscard]] bool is_set_by_rota(std::string_view name);

/// A program finds its files and other programs by it: PATH, HOME, ... A parameter of a sweep must
/// not be called so.
[[nodiscard]] bool is_of_account(std::string_view name);

}  // namespace rota::cli
