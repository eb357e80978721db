// Splits a scenario file into statements: a verb, plain words and key=value arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/expectation.h"
#include "sim/language/diagnose.h"

namespace rota::sim {

struct Word {
  std::string text;
  std::int64_t column = 0;
};

/// `key<op>value`; quotes around the value are gone.
struct Argument {
  std::string key;
  Operator op = Operator::kEqual;
  std::string value;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::int64_t value_column = 0;
};

struct Line {
  std::int64_t number = 0;
  Word verb;
  std::vector<Word> words;           // before the first argument
  std::vector<Argument> arguments;
  std::int64_t end_column = 0;       // just past the last character
};

struct LexedFile {
  std::string prose;                 // the leading comment block without its `#`
  std::vector<Line> lines;           // blank and comment lines are left out
};

/// Errors (an open quote, a control character, a word after an argument) go to `errors`; such a
/// line is left out.
LexedFile lex(std::string_view text, Errors& errors);

}  // namespace rota::sim
