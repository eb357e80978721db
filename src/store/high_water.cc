#include "store/high_water.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "api/json.h"
#include "base/digest.h"
#include "store/folder.h"

namespace rota::store {
namespace {

constexpr std::int64_t kFlushRows = 1000;
// One write to one block: it is there whole, or not at all.
constexpr std::size_t kSize = 256;

std::string digest_of(const std::string& text) {
  Digest digest;
  digest.add(text);
  return std::to_string(digest.value());
}

}  // namespace

Result<std::unique_ptr<HighWater>> HighWater::open(const std::string& folder) {
  const std::string path = folder + "/high-water";
  if (Status made = make_private(path); !made.ok()) return made.error();
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file >= 0) return std::unique_ptr<HighWater>(new HighWater(file));
  return Error{.code = ErrorCode::kUnavailable,
               .message = std::string("the file cannot be opened: ") + std::strerror(errno),
               .where = path};
}

HighWater::~HighWater() {
  ::fdatasync(file_);
  ::close(file_);
}

std::optional<Counters> HighWater::read() const {
  std::array<char, kSize> bytes{};
  const ssize_t size = ::pread(file_, bytes.data(), bytes.size(), 0);
  if (size <= 0) return std::nullopt;
  const std::string line(bytes.data(), static_cast<std::size_t>(size));
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::string text = line.substr(space + 1, line.find_last_not_of(" \n") - space);
  if (digest_of(text) != line.substr(0, space)) return std::nullopt;
  const Result<Counters> counters = api::from_text<Counters>(text);
  if (!counters.ok()) return std::nullopt;
  return *counters;
}

void HighWater::write(const Counters& counters) {
  const std::string text = api::to_text(counters);
  std::string line = digest_of(text) + " " + text;
  if (line.size() >= kSize) return;
  line.resize(kSize - 1, ' ');
  line += '\n';
  if (::pwrite(file_, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) return;
  if (counters.journal - flushed_ < kFlushRows) return;
  flushed_ = counters.journal;
  ::fdatasync(file_);
}

}  // namespace rota::store
