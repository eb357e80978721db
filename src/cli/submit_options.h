// The one table of submission options. Command line, #SBATCH and #ROTA lines, environment
// variables, help and shell completion are all made from it, so they cannot disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "cli/submit_draft.h"

namespace rota::cli {

/// Where an option may stand.
enum Place : unsigned {
  kOnSubmit = 1,   // `rota submit --option`
  kOnRun = 2,      // `rota run --option`
  kInRota = 4,     // #ROTA lines and ROTA_* variables
  kInSbatch = 8,   // #SBATCH lines and SBATCH_* variables
};
constexpr unsigned kOnBoth = kOnSubmit | kOnRun;
constexpr unsigned kEverywhere = kOnBoth | kInRota | kInSbatch;
constexpr unsigned kNative = kOnBoth | kInRota;
constexpr unsigned kSlurmOnly = kOnSubmit | kInSbatch;

enum class Takes { kNothing, kValue, kOptionalValue };

struct SubmitOption;

/// One occurrence of an option.
struct OptionUse {
  const SubmitOption* option = nullptr;
  std::string value;
  Source source = Source::kFlag;
  bool first = true;       // of this option in this source: lists begin anew
  std::string where;       // "job.sh:4:9", "SBATCH_GPUS", empty for the command line
};

struct SubmitOption {
  std::string_view name;   // without dashes
  char letter = 0;         // 0: none
  Takes takes = Takes::kValue;
  std::string_view value;  // its name in help: "N"
  std::string_view group;  // heading in help
  std::string_view help;
  unsigned places = kEverywhere;
  Status (*apply)(Draft& draft, const OptionUse& use, const Context& context) = nullptr;
  std::string_view variable = {};  // of the environment, where it is not SBATCH_ + NAME
};

/// Rota's own options first, then those that only sbatch spells so. Built once.
[[nodiscard]] std::span<const SubmitOption> submit_options();

/// The option called `name` (without dashes) or by `letter` at one of `places`; null: none.
[[nodiscard]] const SubmitOption* find_option(std::string_view name, unsigned places);
[[nodiscard]] const SubmitOption* find_option(char letter, unsigned places);

/// "unknown option '--gpsu'; did you mean '--gpus'?"
[[nodiscard]] std::string unknown_option_text(std::string_view spelled, unsigned places);

/// Applies in order; the first error stops, with its place.
[[nodiscard]] Status apply_uses(const std::vector<OptionUse>& uses, Draft& draft,
                                const Context& context);

/// Uses from SBATCH_* and ROTA_* variables. Inside a job ROTA_* are no options: Rota itself set
/// them there (ROTA_GPUS, ROTA_NODELIST).
[[nodiscard]] std::vector<OptionUse> uses_of_environment(const Context& context);

// The two halves of the table.
[[nodiscard]] std::vector<SubmitOption> rota_options();
[[nodiscard]] std::vector<SubmitOption> slurm_options();

/// `[type:]n` with an optional `/node`, `/task` or `/job`: sets draft.devices and models.
[[nodiscard]] Status apply_gpus(Draft& draft, const OptionUse& use, DeviceWish::Kind plain_kind);
/// Comma-separated values into `list`, which begins anew with the first use of a source.
void add_to_list(std::vector<std::string>& list, const OptionUse& use);
/// A whole number from `low` to `high`. The error names the option.
[[nodiscard]] Result<std::int64_t> number_of(const OptionUse& use, std::int64_t low,
                                             std::int64_t high);

}  // namespace rota::cli
