#include "sim/language/lexer.h"

#include <optional>

#include "base/text.h"

namespace rota::sim {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

/// One word of a line, quotes removed. `operator_at` is where its first operator stands outside
/// quotes (npos: none), in `text`.
struct Token {
  std::string text;
  std::size_t column = 0;
  std::size_t operator_at = std::string::npos;
};

class LineLexer {
 public:
  LineLexer(std::string_view text, std::int64_t number, Errors& errors)
      : text_(text), number_(number), errors_(errors) {}

  std::optional<Line> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (at_ == text_.size() || text_[at_] == '#') break;
      auto token = take_token();
      if (!token) return std::nullopt;
      tokens.push_back(std::move(*token));
    }
    if (tokens.empty()) return std::nullopt;
    return line_of(tokens);
  }

 private:
  std::optional<Token> take_token() {
    Token token;
    token.column = at_ + 1;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '#') {
      const char c = text_[at_];
      if (is_control(c)) return fail(at_ + 1, "a control character; only printable text is read");
      if (c == '"') {
        if (!take_quoted(token)) return std::nullopt;
        continue;
      }
      const bool starts_operator = c == '=' || c == '~' || c == '!' || c == '<' || c == '>';
      if (starts_operator && token.operator_at == std::string::npos) {
        token.operator_at = token.text.size();
      }
      token.text += c;
      ++at_;
    }
    return token;
  }

  bool take_quoted(Token& token) {
    const std::size_t open = at_;
    const std::size_t close = text_.find('"', open + 1);
    if (close == std::string_view::npos) {
      fail(open + 1, "a quote is opened and not closed on this line");
      return false;
    }
    token.text += text_.substr(open + 1, close - open - 1);
    at_ = close + 1;
    return true;
  }

  std::nullopt_t fail(std::size_t column, std::string message) {
    errors_.add(number_, static_cast<std::int64_t>(column), std::move(message));
    return std::nullopt;
  }

  std::optional<Line> line_of(const std::vector<Token>& tokens) {
    Line line;
    line.number = number_;
    line.end_column = static_cast<std::int64_t>(at_) + 1;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const auto column = static_cast<std::int64_t>(token.column);
      if (i == 0) {
        line.verb = Word{token.text, column};
        continue;
      }
      if (token.operator_at == std::string::npos) {
        if (!line.arguments.empty()) {
          return fail(token.column, "expected key=value, found " + quoted(token.text) +
                                        "; values with spaces stand in double quotes");
        }
        line.words.push_back(Word{token.text, column});
        continue;
      }
      auto argument = argument_of(token);
      if (!argument) return std::nullopt;
      line.arguments.push_back(std::move(*argument));
    }
    return line;
  }

  std::optional<Argument> argument_of(const Token& token) {
    const std::string_view text = token.text;
    const std::string_view rest = text.substr(token.operator_at);
    std::size_t length = 1;
    Operator op = Operator::kEqual;
    if (rest.starts_with("!=")) op = Operator::kNotEqual, length = 2;
    if (rest.starts_with("<=")) op = Operator::kAtMost, length = 2;
    if (rest.starts_with(">=")) op = Operator::kAtLeast, length = 2;
    if (rest[0] == '~') op = Operator::kContains;
    if (length == 1 && rest[0] != '=' && rest[0] != '~') {
      return fail(token.column + token.operator_at,
                  "unknown operator " + quoted(rest.substr(0, 1)) +
                      ": expected one of =, !=, <=, >=, ~");
    }
    if (token.operator_at == 0) return fail(token.column, "a key is missing before the operator");
    Argument argument;
    argument.key = text.substr(0, token.operator_at);
    argument.op = op;
    argument.value = rest.substr(length);
    argument.line = number_;
    argument.column = static_cast<std::int64_t>(token.column);
    argument.value_column =
        static_cast<std::int64_t>(token.column + token.operator_at + length);
    if (argument.value.empty()) {
      return fail(token.column, "key " + quoted(argument.key) + " has no value");
    }
    return argument;
  }

  std::string_view text_;
  std::int64_t number_;
  Errors& errors_;
  std::size_t at_ = 0;
};

}  // namespace

LexedFile lex(std::string_view text, Errors& errors) {
  LexedFile file;
  bool in_prose = true;
  std::int64_t number = 0;
  for (std::string_view line_text : split(text, '\n')) {
    ++number;
    if (line_text.ends_with('\r')) line_text.remove_suffix(1);
    if (in_prose && line_text.starts_with('#')) {
      line_text.remove_prefix(1);
      if (line_text.starts_with(' ')) line_text.remove_prefix(1);
      if (!file.prose.empty()) file.prose += '\n';
      file.prose += line_text;
      continue;
    }
    in_prose = false;
    auto line = LineLexer(line_text, number, errors).run();
    if (line) file.lines.push_back(std::move(*line));
    if (errors.full()) break;
  }
  return file;
}

}  // namespace rota::sim
