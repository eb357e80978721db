#include "tools/tidy/code_view.h"

#include <cctype>
#include <cstddef>

namespace rota::tidy {
namespace {

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Blanks one line after the other and remembers the block comment or raw string it is in.
class Blanker {
 public:
  std::string blank(std::string_view line) {
    std::string out(line);
    std::size_t i = 0;
    while (i < out.size()) {
      if (in_comment_) {
        i = blank_until(out, i, "*/", in_comment_);
      } else if (in_raw_) {
        i = blank_until(out, i, raw_end_, in_raw_);
      } else {
        i = step(out, i);
      }
    }
    return out;
  }

 private:
  static std::size_t blank_until(std::string& out, std::size_t i, std::string_view end,
                                 bool& state) {
    const std::size_t found = out.find(end, i);
    const std::size_t stop = found == std::string::npos ? out.size() : found + end.size();
    if (found != std::string::npos) state = false;
    out.replace(i, stop - i, stop - i, ' ');
    return stop;
  }

  std::size_t step(std::string& out, std::size_t i) {
    if (out.compare(i, 2, "//") == 0) {
      out.replace(i, out.size() - i, out.size() - i, ' ');
      return out.size();
    }
    if (out.compare(i, 2, "/*") == 0) {
      in_comment_ = true;
      out.replace(i, 2, "  ");
      return i + 2;
    }
    if (out.compare(i, 2, "R\"") == 0 && (i == 0 || !is_identifier(out[i - 1]))) {
      const std::size_t open = out.find('(', i);
      if (open != std::string::npos) {
        raw_end_ = ")" + out.substr(i + 2, open - i - 2) + "\"";
        in_raw_ = true;
        out.replace(i, open + 1 - i, open + 1 - i, ' ');
        return open + 1;
      }
    }
    const bool separator = out[i] == '\'' && i > 0 && is_identifier(out[i - 1]);
    if (out[i] == '"' || (out[i] == '\'' && !separator)) return literal(out, i);
    return i + 1;
  }

  static std::size_t literal(std::string& out, std::size_t start) {
    const char quote = out[start];
    std::size_t i = start + 1;
    while (i < out.size() && out[i] != quote) i += out[i] == '\\' ? 2 : 1;
    const std::size_t end = i < out.size() ? i + 1 : out.size();
    out.replace(start, end - start, end - start, ' ');
    return end;
  }

  bool in_comment_ = false;
  bool in_raw_ = false;
  std::string raw_end_;
};

template <class Accept>
bool find_word(std::string_view line, std::string_view word, Accept accept) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !is_identifier(line[at - 1]);
    const bool ends = end >= line.size() || !is_identifier(line[end]);
    if (starts && ends && accept(at, end)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::vector<std::string> code_only(const std::vector<std::string_view>& lines) {
  Blanker blanker;
  std::vector<std::string> code;
  code.reserve(lines.size());
  for (const std::string_view line : lines) code.push_back(blanker.blank(line));
  return code;
}

bool has_word(std::string_view line, std::string_view word) {
  return find_word(line, word, [](std::size_t, std::size_t) { return true; });
}

bool has_call(std::string_view line, std::string_view name) {
  return find_word(line, name, [&](std::size_t at, std::size_t end) {
    const bool member = at > 0 && (line[at - 1] == '.' || line[at - 1] == '>');
    const std::size_t next = line.find_first_not_of(' ', end);
    return !member && next != std::string_view::npos && line[next] == '(';
  });
}

}  // namespace rota::tidy
