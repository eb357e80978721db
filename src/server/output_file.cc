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
  const bool refused = code == EACCES || code == EPERM || code == ELOOP;
  return {.code = missing   ? ErrorCode::kNotFound
                  : refused ? ErrorCode::kDenied
                            : ErrorCode::kUnavailable,
          .message = missing ? "there is no output file " + path
                             : "the output file " + path + " cannot be read: " +
                                   std::strerror(code)};
}

/// Below 0: minus the error. O_NONBLOCK: a FIFO in the file's place must not hold us up.
int open_as(const Account& owner, const std::string& path) {
  const AsAccount rights(owner);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int code = errno;
  return file >= 0 ? file : -code;
}

}  // namespace

Result<OutputPiece> read_output(const std::string& path, const Account& owner,
                                const OutputRange& range) {
  if (Status allowed = AsAccount::may_act_for(owner); !allowed.ok()) return allowed.error();
  const Descriptor file(open_as(owner, path));
  if (file.get() < 0) return failed(path, -file.get());
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{.code = ErrorCode::kDenied, .message = path + " is no regular file"};
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
