#include "cli/directives.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace rota::cli {
namespace {

struct Line {
  const std::string& file;
  std::size_t number = 0;

  [[nodiscard]] std::string at(std::size_t column) const {
    return file + ":" + std::to_string(number) + ":" + std::to_string(column);
  }
  [[nodiscard]] Error error(std::size_t column, std::string message) const {
    return {ErrorCode::kInvalidArgument, std::move(message), at(column)};
  }
};

constexpr std::array<std::string_view, 2> kMarks{"SBATCH", "ROTA"};

std::string_view first_word(std::string_view line) {
  return line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
}

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The mark of a directive line ("SBATCH", "ROTA"), or empty.
std::string_view mark_of(std::string_view line) {
  if (!line.starts_with("#")) return {};
  const std::string_view word = first_word(line.substr(1));
  for (const std::string_view mark : kMarks) {
    if (word == mark) return mark;
  }
  return {};
}

/// What a comment line was probably meant to be: `# SBATCH --x`, `#sbatch -N1`, `#SBTACH --x`.
std::string_view meant_mark(std::string_view line) {
  std::string_view rest = line.substr(1);
  if (rest.starts_with("#")) return {};  // ##SBATCH is how one switches a line off
  const std::size_t start = rest.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  rest = rest.substr(start);
  const std::string_view word = first_word(rest);
  for (const std::string_view mark : kMarks) {
    if (word.starts_with(mark) && word.substr(mark.size()).starts_with("-")) return mark;
  }
  std::size_t letter = rest.find_first_not_of(" \t", word.size());
  if (letter == std::string_view::npos || rest[letter] != '-') return {};
  letter = rest.find_first_not_of('-', letter);
  if (letter == std::string_view::npos || rest[letter] == ' ') return {};
  return nearest_word(upper(word), kMarks);
}

/// Reads one directive line's words into uses.
class LineReader {
 public:
  LineReader(const Line& line, std::string_view mark, ScriptHead& head)
      : line_(line), place_(mark == "SBATCH" ? kInSbatch : kInRota), mark_(mark), head_(head) {}

  Status read(const std::vector<Word>& words) {
    for (at_ = 0; at_ < words.size(); ++at_) {
      const std::string& text = words[at_].text;
      Status status;
      if (text.size() > 2 && text.starts_with("--")) {
        status = read_long(words);
      } else if (text.size() > 1 && text[0] == '-' && text != "--") {
        status = read_short(words);
      } else {
        status = line_.error(words[at_].column, "unexpected word '" + text + "' in #" +
                                                    std::string(mark_) +
                                                    "; options start with '-'");
      }
      if (!status) return status;
    }
    return {};
  }

 private:
  Error unknown(const Word& word) const {
    return line_.error(word.column, unknown_option_text(word.text, place_));
  }

  void add(const SubmitOption& option, std::string value, std::size_t column) {
    head_.uses.push_back(
        {&option, std::move(value), Source::kDirective, true, line_.at(column)});
  }

  /// The word after the option.
  Status add_with_next(const std::vector<Word>& words, const SubmitOption& option) {
    const Word& word = words[at_];
    if (at_ + 1 >= words.size()) {
      return line_.error(word.column, "option '" + word.text + "' needs a value: " + word.text +
                                          " " + std::string(option.value));
    }
    add(option, words[++at_].text, word.column);
    return {};
  }

  Status read_long(const std::vector<Word>& words) {
    const Word& word = words[at_];
    const std::size_t equals = word.text.find('=');
    const SubmitOption* option = find_option(std::string_view(word.text).substr(2, equals - 2),
                                             place_);
    if (option == nullptr) return unknown(word);
    if (equals != std::string::npos) {
      if (option->takes == Takes::kNothing) {
        return line_.error(word.column, "option '--" + std::string(option->name) +
                                            "' takes no value");
      }
      add(*option, word.text.substr(equals + 1), word.column);
      return {};
    }
    if (option->takes == Takes::kValue) return add_with_next(words, *option);
    add(*option, {}, word.column);
    return {};
  }

  /// `-N2`, `-N 2`, and flags in a row: `-HW`.
  Status read_short(const std::vector<Word>& words) {
    const Word& word = words[at_];
    for (std::size_t i = 1; i < word.text.size(); ++i) {
      const SubmitOption* option = find_option(word.text[i], place_);
      if (option == nullptr) return unknown({"-" + word.text.substr(i, 1), word.column + i});
      if (option->takes == Takes::kNothing) {
        add(*option, {}, word.column);
        continue;
      }
      if (i + 1 < word.text.size()) {
        add(*option, word.text.substr(word.text[i + 1] == '=' ? i + 2 : i + 1), word.column);
        return {};
      }
      if (option->takes == Takes::kValue) return add_with_next(words, *option);
      add(*option, {}, word.column);
    }
    return {};
  }

  const Line& line_;
  unsigned place_;
  std::string_view mark_;
  ScriptHead& head_;
  std::size_t at_ = 0;
};

Status read_line(const Line& line, std::string_view mark, std::string_view text,
                 ScriptHead& head) {
  const std::size_t start = mark.size() + 1;
  const auto words = split_words(text.substr(start), start + 1);
  if (!words) return line.error(start + 2, words.error().message);
  if (mark == "SBATCH") head.has_sbatch = true;
  return LineReader(line, mark, head).read(*words);
}

void warn_of_other_system(const Line& line, std::string_view text, ScriptHead& head) {
  for (const std::string_view other : {"#PBS ", "#BSUB ", "#$ "}) {
    if (!text.starts_with(other)) continue;
    head.warnings.push_back(line.at(1) + ": lines of another system (" +
                            std::string(first_word(text)) + ") are not read");
  }
}

}  // namespace

Result<std::vector<Word>> split_words(std::string_view text, std::size_t column) {
  std::vector<Word> words;
  bool open = false;  // a word is being collected
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (quote == 0 && blank) {
      open = false;
      continue;
    }
    if (quote == 0 && !open && c == '#') break;
    if (!open) words.push_back({{}, column + i});
    open = true;
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back().text += text[++i];
    } else {
      words.back().text += c;
    }
  }
  if (quote != 0) {
    return Error{ErrorCode::kInvalidArgument, std::string("the quote ") + quote +
                                                  " is never closed"};
  }
  return words;
}

Result<ScriptHead> read_directives(std::string_view script, const std::string& file) {
  ScriptHead head;
  Line line{file};
  bool in_head = true;
  for (std::string_view text : split(script, '\n')) {
    ++line.number;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (is_blank(text)) continue;
    if (!text.starts_with("#")) {
      in_head = false;
      continue;
    }
    const std::string_view mark = mark_of(text);
    if (!in_head) {
      if (!mark.empty()) {
        head.warnings.push_back(line.at(1) + ": #" + std::string(mark) +
                                " below the first command is not read; move it up");
      }
      continue;
    }
    if (mark.empty()) {
      const std::string_view meant = meant_mark(text);
      if (!meant.empty()) {
        return line.error(1, "this looks like a misspelt #" + std::string(meant) +
                                 " line; write '#" + std::string(meant) + "', or '##' to switch " +
                                 "the line off");
      }
      warn_of_other_system(line, text, head);
    } else if (auto status = read_line(line, mark, text, head); !status) {
      return status.error();
    }
  }
  return head;
}

}  // namespace rota::cli
