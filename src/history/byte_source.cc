#include "history/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "history/zip_source.h"

namespace rota::history {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

class PlainSource : public ByteSource {
 public:
  PlainSource(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {
    struct stat status {};
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)) whole_ = status.st_size;
  }

  Result<std::size_t> read(char* into, std::size_t size) override {
    std::size_t got = std::min(size, ahead_.size() - ahead_at_);
    std::memcpy(into, ahead_.data() + ahead_at_, got);
    ahead_at_ += got;
    if (got == 0) got = std::fread(into, 1, size, file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) return cannot("read");
    taken_ += static_cast<std::int64_t>(got);
    return got;
  }

  /// The first bytes of the file, which are read again afterwards.
  std::string_view look_ahead() {
    ahead_.resize(512);
    ahead_.resize(std::fread(ahead_.data(), 1, ahead_.size(), file_.get()));
    return ahead_;
  }

  /// The same file once more, for readers that move about in it: a pipe is first copied to a
  /// temporary file without a name. Whoever calls closes it.
  Result<std::FILE*> positioned() {
    const bool moves = whole_ > 0 && lseek(fileno(file_.get()), 0, SEEK_CUR) >= 0;
    const int copy = moves ? dup(fileno(file_.get())) : -1;
    std::FILE* const file = moves ? (copy < 0 ? nullptr : fdopen(copy, "rb")) : std::tmpfile();
    if (file == nullptr) return cannot("read");
    std::vector<char> piece(moves ? 0 : kBufferBytes);
    while (!moves) {
      const auto got = read(piece.data(), piece.size());
      if (got && *got == 0) break;
      if (got && std::fwrite(piece.data(), 1, *got, file) == *got) continue;
      const Error failed = got ? cannot("copy") : got.error();
      std::fclose(file);
      return failed;
    }
    std::fflush(file);
    return file;
  }

  [[nodiscard]] std::int64_t bytes_taken() const override { return taken_; }
  [[nodiscard]] std::int64_t bytes_whole() const override { return whole_; }

 private:
  [[nodiscard]] Error cannot(const std::string& verb) const {
    return {ErrorCode::kUnavailable,
            "cannot " + verb + " '" + name_ + "': " + std::strerror(errno)};
  }

  std::unique_ptr<std::FILE, CloseFile> file_;
  std::string name_;
  std::string ahead_;
  std::size_t ahead_at_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t whole_ = 0;
};

/// What unpackers share: packed bytes from another source, through one buffer.
class PackedSource : public ByteSource {
 public:
  PackedSource(std::unique_ptr<PlainSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), buffer_(kBufferBytes) {}
  [[nodiscard]] std::int64_t bytes_taken() const override { return packed_->bytes_taken(); }
  [[nodiscard]] std::int64_t bytes_whole() const override { return packed_->bytes_whole(); }

 protected:
  Result<std::size_t> refill() { return packed_->read(buffer_.data(), buffer_.size()); }
  char* buffer() { return buffer_.data(); }
  [[nodiscard]] Error damaged(std::string_view what) const {
    return {ErrorCode::kCorruption, "'" + name_ + "': the packed data " + std::string(what)};
  }

 private:
  std::unique_ptr<PlainSource> packed_;
  std::string name_;
  std::vector<char> buffer_;
};

class GzipSource : public PackedSource {
 public:
  GzipSource(std::unique_ptr<PlainSource> packed, std::string name)
      : PackedSource(std::move(packed), std::move(name)) {
    inflateInit2(&stream_, 15 + 16);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<std::size_t> read(char* into, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1U << 30));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        const auto got = refill();
        if (!got) return got;
        if (*got == 0 && inside_) return damaged("ends too early");
        if (*got == 0) return std::size_t{0};
        stream_.next_in = reinterpret_cast<Bytef*>(buffer());
        stream_.avail_in = static_cast<uInt>(*got);
      }
      if (!inside_) {
        if (begun_ && *stream_.next_in != 0x1f) return std::size_t{0};  // filling behind the end
        inflateReset(&stream_);
        inside_ = begun_ = true;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) inside_ = false;
      else if (code != Z_OK && code != Z_BUF_ERROR) return damaged("is no sound gzip");
    }
    return std::size_t{room - stream_.avail_out};
  }

 private:
  z_stream stream_{};
  bool inside_ = false;  // a member
  bool begun_ = false;
};

class ZstdSource : public PackedSource {
 public:
  ZstdSource(std::unique_ptr<PlainSource> packed, std::string name)
      : PackedSource(std::move(packed), std::move(name)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<std::size_t> read(char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !more_out_) {
        const auto got = refill();
        if (!got) return got;
        if (*got == 0 && inside_) return damaged("ends too early");
        if (*got == 0) return std::size_t{0};
        in_ = {buffer(), *got, 0};
      }
      const std::size_t left = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(left) != 0) {
        return damaged("is no sound Zstandard: " + std::string(ZSTD_getErrorName(left)));
      }
      inside_ = left != 0;
      more_out_ = inside_ && out.pos == out.size;
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool inside_ = false;    // a frame
  bool more_out_ = false;  // the unpacker may hold more bytes without new input
};

struct PackedForm {
  std::string_view magic;
  std::string_view name;
  std::string_view command;
};
using std::string_view_literals::operator""sv;
constexpr std::array<PackedForm, 3> kForeignForms{{
    {"BZh"sv, "bzip2", "bunzip2"},
    {"\xfd"
     "7zXZ\0"sv, "xz", "unxz"},
    {"\x04\x22\x4d\x18"sv, "lz4", "unlz4"},
}};

Error cannot_open(const std::string& path) {
  const int number = errno;
  const ErrorCode code = number == ENOENT   ? ErrorCode::kNotFound
                         : number == EACCES ? ErrorCode::kDenied
                                            : ErrorCode::kUnavailable;
  return {code, "cannot read '" + path + "': " + std::strerror(number)};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  struct stat status {};
  if (path != "-" && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kNotFound,
                 "cannot read '" + path + "': it is a folder; name the files in it"};
  }
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return cannot_open(path);
  auto plain = std::make_unique<PlainSource>(file, name);
  const std::string_view first = plain->look_ahead();
  if (first.starts_with("\x1f\x8b")) {
    return std::unique_ptr<ByteSource>(new GzipSource(std::move(plain), name));
  }
  if (first.starts_with("\x28\xb5\x2f\xfd")) {
    return std::unique_ptr<ByteSource>(new ZstdSource(std::move(plain), name));
  }
  if (first.starts_with("PK\x03\x04") || first.starts_with("PK\x05\x06")) {
    const auto again = plain->positioned();
    if (!again) return again.error();
    return open_zip(*again, name);
  }
  for (const PackedForm& form : kForeignForms) {
    if (!first.starts_with(form.magic)) continue;
    return Error{ErrorCode::kUnsupported,
                 "'" + name + "' is packed with " + std::string(form.name) +
                     ", which is not read directly; unpack it with `" +
                     std::string(form.command) +
                     "` first (gzip, Zstandard and zip are read as they are)"};
  }
  return std::unique_ptr<ByteSource>(std::move(plain));
}

}  // namespace rota::history
