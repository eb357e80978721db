// A submission while its options are being collected from configuration, script, environment and
// command line, and the step that makes an API request of it.
//
// A later source (Source, rising) replaces what an earlier one said about the same thing; inside
// one source the last word counts, and lists grow.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1/submit.h"
#include "base/result.h"
#include "base/units.h"
#include "cli/context.h"

namespace rota::cli {

enum class Source { kDefault, kDirective, kEnvironment, kFlag };

/// How many devices were asked for, in the asker's own terms.
struct DeviceWish {
  enum class Kind {
    kNone,
    kPlain,       // --gpus n: each task; of the whole job in a Slurm script
    kPerTask,     // --gpus n/node: each task (a task is what runs on one node)
    kPerJob,      // --gpus n/job
    kPerProcess,  // --gpus-per-task: each of Slurm's tasks
    kSlots,       // --gres=shard:n
    kMig,         // --gres=gpu:a100_3g.20gb:1
  };
  Kind kind = Kind::kNone;
  MilliGpu gpus;
  std::int64_t slots = 0;
  std::string mig;
  std::string option;  // that said so, for messages
  Source source = Source::kDefault;
};

struct MemoryWish {
  enum class Kind { kNone, kPerNode, kPerCpu, kPerGpu };
  Kind kind = Kind::kNone;
  Bytes amount;
  Source source = Source::kDefault;
};

struct Draft {
  api::SubmitRequest request;       // what needs no further thought

  DeviceWish devices;
  MemoryWish memory;
  std::optional<std::int64_t> nodes;              // Rota tasks
  std::optional<std::int64_t> processes;          // -n: Slurm's tasks
  std::optional<std::int64_t> processes_per_node;
  std::optional<std::int64_t> cpus_per_process;
  std::optional<std::int64_t> cpus_per_gpu;

  std::vector<std::string> pools;                 // --partition; used where no node is named

  std::optional<std::string> wrap;
  std::string export_spec;                        // --export; empty: everything
  std::vector<std::string> env_settings;          // --env NAME or NAME=VALUE
  std::vector<std::string> params;                // --param lr=.1,.2
  std::vector<std::string> param_files;
  std::string array;

  bool slurm_style = false;                       // the script has #SBATCH lines
  bool dry_run = false;
  bool parsable = false;
  bool wait = false;
  std::string format;                             // -o json and the like, instead of a file
  std::vector<std::string> warnings;
  std::map<std::string_view, Source> said;        // options seen so far, with their latest source
  std::map<std::string_view, std::string> places; // and where: "job.sh:3:9"; empty: command line
};

/// `1-320%40`, `0-15:4`, `1,3,5`: fills `array` and `max_concurrent`. Indices 0 to 4,000,000.
[[nodiscard]] Status parse_array(std::string_view text, api::SubmitRequest& request);

/// `64G`, `64GiB`, `512M`; a bare number counts mebibytes, as in Slurm.
[[nodiscard]] Result<Bytes> parse_memory(std::string_view text);

/// Settles sizes, array and environment. `request` is complete then, but for command or script.
/// Error: kInvalidArgument naming the options that disagree.
[[nodiscard]] Status finish_draft(Draft& draft, const Context& context);

}  // namespace rota::cli
