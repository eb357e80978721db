#include "history/input_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace rota::history {
namespace {

constexpr std::int64_t kBufferBytes = 1024 * 1024;
constexpr std::int64_t kBufferBytesMin = 4096;
constexpr std::size_t kSampleBytes = 64 * 1024;
constexpr std::size_t kLineBytesMax = 16 * 1024 * 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

InputText::InputText(std::unique_ptr<ByteSource> bytes, std::string name, ImportProgress progress)
    : bytes_(std::move(bytes)), name_(std::move(name)), progress_(std::move(progress)) {
  const std::int64_t whole = bytes_->bytes_whole();
  buffer_.resize(static_cast<std::size_t>(
      whole == 0 ? kBufferBytes : std::clamp(whole + 1, kBufferBytesMin, kBufferBytes)));
}

Error InputText::error_at(std::int64_t column, std::string_view message) const {
  return {ErrorCode::kInvalidArgument, without_control(message),
          name_ + ":" + std::to_string(line_) + ":" + std::to_string(column)};
}

Result<bool> InputText::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const auto got = bytes_->read(buffer_.data() + end_, buffer_.size() - end_);
  if (!got) return got.error();
  at_end_ = *got == 0;
  end_ += *got;
  if (!started_ && end_ >= kByteOrderMark.size()) {
    started_ = true;
    if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) begin_ = 3;
  }
  if (progress_) progress_(bytes_->bytes_taken(), bytes_->bytes_whole());
  return !at_end_;
}

Result<std::string_view> InputText::sample() {
  while (end_ - begin_ < kSampleBytes) {
    const auto more = fill();
    if (!more) return more.error();
    if (!*more) break;
  }
  return std::string_view(buffer_.data() + begin_, end_ - begin_);
}

Result<bool> InputText::next_line(std::string_view& line) {
  std::size_t searched = 0;
  while (true) {
    const char* const from = buffer_.data() + begin_;
    const std::size_t there = end_ - begin_;
    const void* const found =
        there > searched ? std::memchr(from + searched, '\n', there - searched) : nullptr;
    if (found != nullptr || (at_end_ && there > 0)) {
      const std::size_t length =
          found == nullptr ? there
                           : static_cast<std::size_t>(static_cast<const char*>(found) - from);
      begin_ += length + (found == nullptr ? 0 : 1);
      ++line_;
      line = std::string_view(from, length);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      return true;
    }
    if (at_end_) return false;
    if (there > kLineBytesMax) {
      ++line_;
      return error_at(1, "the line is longer than 16 MiB; this is no text with one row a line");
    }
    searched = there;
    const auto more = fill();
    if (!more) return more.error();
  }
}

Result<std::string_view> InputText::more() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    const auto filled = fill();
    if (!filled) return filled.error();
  }
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return text;
}

}  // namespace rota::history
