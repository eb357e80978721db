#include "audit/metric_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

namespace rota::audit {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

class LineReader {
 public:
  LineReader(std::string_view text, std::string_view file, int line)
      : text_(text), file_(file), line_(line) {}

  Result<MetricLine> read() {
    MetricLine result;
    result.line = line_;
    blanks();
    result.name = name();
    if (result.name.empty()) return expected("the name of a metric");
    blanks();
    if (at_ < text_.size() && text_[at_] == '{') {
      ++at_;
      if (auto status = labels(result); !status) return status.error();
    }
    blanks();
    const auto value = number();
    if (!value) return expected("a value");
    result.value = *value;
    blanks();
    if (at_ < text_.size() && !number()) return expected("the time of the sample, or nothing");
    blanks();
    if (at_ < text_.size()) return expected("the end of the line");
    return result;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Status labels(MetricLine& result) {
    while (true) {
      blanks();
      if (at_ < text_.size() && text_[at_] == '}') {
        ++at_;
        return {};
      }
      std::string label = name();
      if (label.empty()) return expected("a label or }");
      if (!text_.substr(at_).starts_with("=\"")) return expected("=\"VALUE\" behind the label");
      at_ += 2;
      std::string value;
      if (!quoted(value)) return expected("the closing quote");
      result.labels.emplace_back(std::move(label), std::move(value));
      blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
  }

  /// To behind the closing quote; false when there is none.
  bool quoted(std::string& value) {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        value += text_[at_];
        continue;
      }
      ++at_;
      value += text_[at_] == 'n' ? '\n' : text_[at_];
    }
    return false;
  }

  std::optional<double> number() {
    std::size_t end = at_;
    while (end < text_.size() && !is_blank(text_[end])) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || stop != word.data() + word.size()) return std::nullopt;
    if (error != std::errc() && error != std::errc::result_out_of_range) return std::nullopt;
    at_ = end;
    return value;
  }

  Error expected(const std::string& what) const {
    const std::string_view rest = text_.substr(at_, 20);
    return {ErrorCode::kInvalidArgument,
            "expected " + what + (rest.empty() ? "" : " at '" + std::string(rest) + "'"),
            std::string(file_) + ":" + std::to_string(line_) + ":" + std::to_string(at_ + 1)};
  }

  std::string_view text_;
  std::string_view file_;
  int line_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view MetricLine::label(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    for (const auto& [known, value] : labels) {
      if (known == name && !value.empty()) return value;
    }
  }
  return {};
}

Result<std::vector<MetricLine>> parse_metric_text(std::string_view text, std::string_view file) {
  std::vector<MetricLine> result;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    std::size_t first = 0;
    while (first < line.size() && is_blank(line[first])) ++first;
    if (first == line.size() || line[first] == '#') continue;
    while (is_blank(line.back())) line.remove_suffix(1);
    auto read = LineReader(line, file, number).read();
    if (!read) return read.error();
    result.push_back(std::move(*read));
  }
  return result;
}

}  // namespace rota::audit
