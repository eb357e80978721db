#include "history/fields.h"

#include <algorithm>

#include "history/words.h"

namespace rota::history {

std::size_t FieldSplitter::column(std::size_t at) const {
  return at < begins_.size() ? begins_[at] + 1 : 1;
}

bool FieldSplitter::quoted(std::string_view line, std::size_t& at) {
  const std::size_t open = at;
  std::size_t from = ++at;
  const std::size_t kept = unquoted_.size();
  bool doubled = false;
  for (;; ++at) {
    if (at >= line.size()) {
      fault_ = open + 1;
      return false;
    }
    if (line[at] != '"') continue;
    if (at + 1 >= line.size() || line[at + 1] != '"') break;
    unquoted_.append(line.substr(from, at + 1 - from));  // one of the two
    doubled = true;
    from = ++at + 1;
  }
  if (doubled) {
    unquoted_.append(line.substr(from, at - from));
    fields_.push_back(std::string_view(unquoted_).substr(kept));
  } else {
    fields_.push_back(line.substr(open + 1, at - open - 1));
  }
  ++at;
  if (at < line.size() && line[at] != separator_) {
    fault_ = at + 1;
    return false;
  }
  return true;
}

bool FieldSplitter::split(std::string_view line) {
  fields_.clear();
  begins_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it stay valid
  std::size_t at = 0;
  while (true) {
    begins_.push_back(at);
    if (quoting_ == Quoting::kDouble && at < line.size() && line[at] == '"') {
      if (!quoted(line, at)) return false;
    } else {
      const std::size_t end = std::min(line.find(separator_, at), line.size());
      fields_.push_back(stripped(line.substr(at, end - at)));
      at = end;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

char separator_of(std::string_view header) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char candidate : {',', ';', '\t', '|'}) {
    const auto count = std::count(header.begin(), header.end(), candidate);
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

int field_named(const std::vector<std::string>& header, std::string_view word) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (same_word(header[i], word)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace rota::history
