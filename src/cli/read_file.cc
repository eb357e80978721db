#include "cli/read_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "cli/usage.h"

namespace rota::cli {
namespace {

Error cannot_read(const std::string& file, const std::string& why) {
  return usage_error("cannot read '" + file + "': " + why);
}

std::string system_words(int number) {
  return number != 0 ? std::strerror(number) : "the system does not say why";
}

}  // namespace

Result<std::ifstream> open_to_read(const std::string& file) {
  struct stat facts {};
  if (file.empty()) return usage_error("the name of a file is empty");
  if (::stat(file.c_str(), &facts) != 0) return cannot_read(file, system_words(errno));
  if (S_ISDIR(facts.st_mode)) return cannot_read(file, "it is a folder");
  errno = 0;
  std::ifstream input(file, std::ios::binary);
  if (!input.is_open()) return cannot_read(file, system_words(errno));
  return Result<std::ifstream>(std::move(input));
}

Result<std::string> read_text(const std::string& file) {
  auto input = open_to_read(file);
  if (!input) return input.error();
  errno = 0;
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(*input), {});
  } catch (const std::ios_base::failure&) {
    return cannot_read(file, system_words(errno));
  }
  if (input->bad()) return cannot_read(file, system_words(errno));
  return text;
}

}  // namespace rota::cli
