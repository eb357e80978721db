#include "server/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rota::server {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

Error failed(const std::string& path, int code) {
  const bool missing = code == ENOENT || code == ENOTDIR;
  return {.code = missing ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
          .message = missing ? "there is no output file " + path
                             : "the output file " + path + " cannot be read: " +
                                   std::strerror(code)};
}

}  // namespace

Result<OutputPiece> read_output(const std::string& path, std::int64_t owner_uid,
                                const OutputRange& range) {
  // O_NONBLOCK: a FIFO in the file's place must not hold us up.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return failed(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed(path, errno);
  const auto owner = owner_uid < 0 ? ::geteuid() : static_cast<uid_t>(owner_uid);
  const bool readable = info.st_uid == owner || (info.st_mode & S_IROTH) != 0;
  if (!S_ISREG(info.st_mode) || !readable) {
    return Error{.code = ErrorCode::kDenied,
                 .message = path + " is no regular file of the job's owner"};
  }
  OutputPiece piece{.offset = 0, .data = {}, .size = info.st_size};
  piece.offset = range.offset < 0 ? std::max<std::int64_t>(0, piece.size + range.offset)
                                  : range.offset;
  const std::int64_t length =
      std::clamp<std::int64_t>(piece.size - piece.offset, 0, range.limit);
  piece.data.resize(static_cast<std::size_t>(length));
  std::size_t done = 0;
  while (done < piece.data.size()) {
    const ssize_t count = ::pread(file.get(), piece.data.data() + done, piece.data.size() - done,
                                  piece.offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  piece.data.resize(done);
  return piece;
}

}  // namespace rota::server
