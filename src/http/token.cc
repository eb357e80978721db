#include "http/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace rota::http {
namespace {

constexpr std::size_t kTokenBytes = 32;

Error file_error(std::string_view what, const std::string& path) {
  const int number = errno;
  const ErrorCode code = number == EACCES || number == EPERM ? ErrorCode::kDenied
                         : number == ENOENT                  ? ErrorCode::kNotFound
                                                             : ErrorCode::kUnavailable;
  return {.code = code, .message = fmt::format("{} {}: {}", what, path, std::strerror(number))};
}

Status check_private(int file, const std::string& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return file_error("cannot look at token file", path);
  if (!S_ISREG(info.st_mode)) {
    return Error{.code = ErrorCode::kDenied,
                 .message = fmt::format("token file {} is no regular file; remove it", path)};
  }
  if (info.st_uid != ::geteuid() && ::geteuid() != 0) {
    return Error{.code = ErrorCode::kDenied,
                 .message = fmt::format("token file {} belongs to user id {}, not to you", path,
                                        info.st_uid)};
  }
  if ((info.st_mode & 077U) != 0) {
    return Error{.code = ErrorCode::kDenied,
                 .message = fmt::format("token file {} is open to other people (mode {:04o}): run "
                                        "`chmod 600 {}`, or remove it to get a new token",
                                        path, info.st_mode & 07777U, path)};
  }
  return {};
}

bool is_token(std::string_view text) {
  if (text.size() != 2 * kTokenBytes) return false;
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status write_token(const std::string& path, const std::string& token) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return file_error("cannot make token file", path);
  const std::string line = token + "\n";
  const bool written = ::write(file, line.data(), line.size()) ==
                           static_cast<ssize_t>(line.size()) &&
                       ::fsync(file) == 0;
  const Status status = written ? Status() : Status(file_error("cannot write token file", path));
  ::close(file);
  return status;
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Error{.code = ErrorCode::kUnavailable,
                 .message = "the system's random source gives no token"};
  }
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

Result<std::string> load_token(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return file_error("cannot read token file", path);
  const Status status = check_private(file, path);
  std::array<char, 256> buffer{};
  const ssize_t count = status.ok() ? ::read(file, buffer.data(), buffer.size()) : 0;
  ::close(file);
  if (!status.ok()) return status.error();
  std::string token(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!token.empty() && token.back() == '\n') token.pop_back();
  if (is_token(token)) return token;
  return Error{.code = ErrorCode::kCorruption,
               .message = fmt::format("token file {} holds no token of {} hexadecimal digits; "
                                      "remove it to get a new one",
                                      path, 2 * kTokenBytes)};
}

Result<std::string> load_or_make_token(const std::string& path) {
  Result<std::string> known = load_token(path);
  if (known || known.error().code != ErrorCode::kNotFound) return known;
  const Result<std::string> made = make_token();
  if (!made) return made;
  // A file of its own name first: a reader never meets a half-written token.
  const Result<std::string> unique = make_token();
  if (!unique) return unique;
  const std::string draft = fmt::format("{}.{}", path, unique->substr(0, 16));
  const Status written = write_token(draft, *made);
  if (!written) return written.error();
  const bool linked = ::link(draft.c_str(), path.c_str()) == 0;
  const Error failure = linked || errno == EEXIST ? Error() : file_error("cannot make", path);
  ::unlink(draft.c_str());
  if (!failure.message.empty()) return failure;
  return load_token(path);
}

bool equal_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rota::http
