// YAML that people write: read whole, checked before anybody walks it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "base/result.h"

namespace rota::telemetry {

/// The document; undefined or null when the text is empty. `file` is for messages only. Refused
/// with file:line:column: what is not YAML, not UTF-8, larger than 4 MiB, nested more than 64 deep
/// (as an alias is that stands for something it is part of), or of more than a million values once
/// its aliases are written out. Error: kInvalidArgument. Cost: one pass over all values.
[[nodiscard]] Result<YAML::Node> load_yaml(const std::string& text, const std::string& file);

/// All of a file. Error: kNotFound; kInvalidArgument for a folder; kUnavailable.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

/// "file:line:column"; without the latter where YAML does not know.
[[nodiscard]] std::string place_of(const std::string& file, const YAML::Mark& mark);

}  // namespace rota::telemetry
