// Bytes of a file, unpacked on the way when it is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace rota::history {

class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills up to `size` bytes; 0 at the end. Error: kUnavailable when reading fails, kCorruption
  /// when packed data is damaged or ends too early.
  [[nodiscard]] virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
  /// Bytes taken from the file so far, as they lie there.
  [[nodiscard]] virtual std::int64_t bytes_taken() const = 0;
  /// Bytes of the whole file; 0: not known (a pipe).
  [[nodiscard]] virtual std::int64_t bytes_whole() const = 0;
};

/// Opens `path`; `-` is standard input. What it is packed with is seen from its first bytes: gzip
/// (also several members), Zstandard and zip (see open_zip) are unpacked; other packed forms are an
/// error that names the command to unpack them.
/// Errors: kNotFound, kDenied, kUnsupported. One buffer of 256 KiB.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);

}  // namespace rota::history
