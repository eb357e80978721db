#include "cli/offline.h"

#include "cli/output.h"

namespace rota::cli {

Progress::~Progress() {
  if (context_.err_is_terminal) context_.err << "\r\033[K" << std::flush;
}

void Progress::show(std::int64_t done, std::int64_t whole) {
  if (!context_.err_is_terminal) return;
  context_.err << "\r" << label_ << " [" << report::bar(done, whole, 30) << "] "
               << done * 100 / whole << "%" << std::flush;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace rota::cli
