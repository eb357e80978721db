#include "backend/local/output_paths.h"

#include <algorithm>
#include <filesystem>

namespace rota::backend {
namespace {

constexpr std::size_t kPadMax = 10;

/// The value of one pattern letter; false: unknown letter.
bool value_of(char letter, const LaunchSpec& launch, const OutputNames& names, std::string& value) {
  switch (letter) {
    case 'j': value = std::to_string(names.job.value()); return true;
    case 'A':
      value = std::to_string(names.group.valid() ? names.group.value() : names.job.value());
      return true;
    case 'a': value = std::to_string(names.group_index); return true;
    case 'x': value = launch.name; break;
    case 'N': value = names.node; break;
    case 't': value = std::to_string(names.task); return true;
    case 'u': value = launch.user; break;
    case '%': value = "%"; return true;
    default: return false;
  }
  // A name must not lead into another folder.
  std::replace(value.begin(), value.end(), '/', '_');
  return true;
}

std::string absolute(const LaunchSpec& launch, const std::string& path) {
  const std::filesystem::path base = launch.workdir.empty() ? "/" : launch.workdir;
  return (base / path).lexically_normal().string();
}

std::string one_path(const std::string& pattern, const LaunchSpec& launch,
                     const OutputNames& names) {
  std::string path = expand_output_pattern(pattern, launch, names);
  if (names.tasks > 1 && names.task > 0) {
    // Node names cannot tell ranks apart: several ranks may share a node.
    OutputNames first = names;
    first.task = 0;
    if (expand_output_pattern(pattern, launch, first) == path) {
      path += "." + std::to_string(names.task);
    }
  }
  return absolute(launch, path);
}

}  // namespace

std::string expand_output_pattern(const std::string& pattern, const LaunchSpec& launch,
                                  const OutputNames& names) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      result += pattern[i];
      continue;
    }
    std::size_t at = i + 1;
    std::size_t pad = 0;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') {
      pad = std::min<std::size_t>(pad * 10 + static_cast<std::size_t>(pattern[at] - '0'), kPadMax);
      ++at;
    }
    std::string value;
    if (at >= pattern.size() || !value_of(pattern[at], launch, names, value)) {
      result += '%';
      continue;
    }
    const bool is_number = std::all_of(value.begin(), value.end(),
                                       [](char c) { return c >= '0' && c <= '9'; });
    if (is_number && value.size() < pad) result.append(pad - value.size(), '0');
    result += value;
    i = at;
  }
  return result;
}

OutputPaths output_paths(const LaunchSpec& launch, const OutputNames& names) {
  std::string pattern = launch.stdout_path;
  if (pattern.empty()) pattern = names.group.valid() ? "rota-%A_%a.out" : "rota-%j.out";
  OutputPaths paths;
  paths.out = one_path(pattern, launch, names);
  paths.err = launch.stderr_path.empty() ? paths.out : one_path(launch.stderr_path, launch, names);
  return paths;
}

}  // namespace rota::backend
