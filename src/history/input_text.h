// The text of one input: lines with their numbers, or a stream of characters. Memory: one buffer of
// 1 MiB, more only for a longer line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "history/byte_source.h"

namespace rota::history {

/// Called now and then with the bytes taken from the files and their whole number (0: not known).
using ImportProgress = std::function<void(std::int64_t done, std::int64_t whole)>;

class InputText {
 public:
  /// `name` is for messages. `progress` gets the bytes of this input; may be empty.
  InputText(std::unique_ptr<ByteSource> bytes, std::string name, ImportProgress progress);

  /// The first bytes, at least 64 KiB when there are so many; nothing is consumed. Only before
  /// the first call of next_line or more.
  [[nodiscard]] Result<std::string_view> sample();

  /// The next line without its end; absent text and false at the end. A byte order mark and
  /// carriage returns at line ends are left out. Valid until the next call. Error: reading fails,
  /// or a line is longer than 16 MiB.
  [[nodiscard]] Result<bool> next_line(std::string_view& line);
  /// Number of the line that was read last, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }

  /// The next piece of text, whatever it holds; empty at the end. Not together with next_line.
  [[nodiscard]] Result<std::string_view> more();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// An error at the line that was read last.
  [[nodiscard]] Error error_at(std::int64_t column, std::string_view message) const;

 private:
  [[nodiscard]] Result<bool> fill();  // reads behind what is there; false at the end

  std::unique_ptr<ByteSource> bytes_;
  std::string name_;
  ImportProgress progress_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what is not consumed
  std::size_t end_ = 0;
  std::int64_t line_ = 0;
  bool at_end_ = false;
  bool started_ = false;
};

}  // namespace rota::history
