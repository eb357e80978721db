#include "telemetry/yaml_text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace rota::telemetry {
namespace {

constexpr std::size_t kTextMax = 4U << 20U;
constexpr int kDepthMax = 64;
constexpr std::int64_t kValuesMax = 1'000'000;

Error wrong(const std::string& file, const YAML::Mark& mark, std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), place_of(file, mark)};
}

/// Where byte `at` of the text stands.
std::string place_of_byte(const std::string& file, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n');
  const std::size_t column = begin == std::string_view::npos ? at + 1 : at - begin;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/// Counts values with aliases written out, so a few lines that stand for a billion are noticed, and
/// an alias that stands for something around itself as endless depth.
class Walk {
 public:
  explicit Walk(const std::string& file) : file_(file) {}

  Status check(const YAML::Node& node, int depth) {
    if (depth > kDepthMax) {
      return wrong(file_, node.Mark(),
                   "nested more than " + std::to_string(kDepthMax) +
                       " deep; an alias (*name) may not stand for something that it is part of");
    }
    if (++values_ > kValuesMax) {
      return wrong(file_, node.Mark(), "more than a million values, aliases counted as often as "
                                       "they are used");
    }
    if (!node.IsMap() && !node.IsSequence()) return {};
    for (const auto& item : node) {
      // Of a sequence the item itself is the value, of a mapping its two parts are.
      Status status = node.IsMap() ? check(item.first, depth + 1) : check(item, depth + 1);
      if (status.ok() && node.IsMap()) status = check(item.second, depth + 1);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  const std::string& file_;
  std::int64_t values_ = 0;
};

}  // namespace

std::string place_of(const std::string& file, const YAML::Mark& mark) {
  if (mark.is_null()) return file;
  return file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

Result<YAML::Node> load_yaml(const std::string& text, const std::string& file) {
  if (text.size() > kTextMax) {
    return Error{ErrorCode::kInvalidArgument, "the file is larger than 4 MiB", file};
  }
  const std::size_t good = std::min(utf8_prefix(text), text.find('\0'));
  if (good < text.size()) {
    return Error{ErrorCode::kInvalidArgument, "the file is not UTF-8 text",
                 place_of_byte(file, text, good)};
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node& root = documents.front();
    if (documents.size() > 1) {
      return wrong(file, documents[1].Mark(), "a second document begins here (after a line '---'), "
                                              "and the file may hold one only; join them");
    }
    if (!root.IsDefined()) return root;
    const Status sound = Walk(file).check(root, 0);
    if (!sound.ok()) return sound.error();
    return root;
  } catch (const YAML::Exception& error) {
    return wrong(file, error.mark, "not YAML: " + error.msg);
  }
}

Result<std::string> read_text_file(const std::string& path) {
  std::error_code fault;
  if (std::filesystem::is_directory(path, fault)) {
    return Error{ErrorCode::kInvalidArgument, "a file is expected, and this is a folder", path};
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.good()) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return Error{missing ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                 std::string("the file cannot be read: ") + std::strerror(errno), path};
  }
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return Error{ErrorCode::kUnavailable, "the file cannot be read", path};
  return text;
}

}  // namespace rota::telemetry
