#include "tools/tidy/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "tools/tidy/code_view.h"

namespace rota::tidy {
namespace {

constexpr std::size_t kLineLengthMax = 100;
constexpr std::size_t kFileLinesWarn = 600;
constexpr std::size_t kFileLinesMax = 1000;

// Written in two halves, since this file is checked too.
constexpr std::array<std::string_view, 3> kLeftovers = {"FIX" "ME", "TO" "DO", "XX" "X"};
constexpr std::string_view kForeignRoot = "/wo" "rk/";

struct Ban {
  std::string_view token;
  std::string_view mend;
};

constexpr std::array kBannedWords = {
    Ban{"system_clock", "take the time as an argument (Instant)"},
    Ban{"steady_clock", "take the time as an argument (Instant)"},
    Ban{"high_resolution_clock", "take the time as an argument (Instant)"},
    Ban{"random_device", "take a seeded base/random.h Random as an argument"},
    Ban{"getenv", "take the value as an option"},
    Ban{"cout", "return text; the caller prints it"},
    Ban{"cerr", "return text; the caller prints it"},
    Ban{"stdout", "return text; the caller prints it"},
    Ban{"fopen", "take the content as an argument"},
    Ban{"spdlog", "return facts; the server logs them"},
};

constexpr std::array kBannedCalls = {
    Ban{"rand", "take a seeded base/random.h Random as an argument"},
    Ban{"srand", "take a seeded base/random.h Random as an argument"},
    Ban{"printf", "return text; the caller prints it"},
    Ban{"puts", "return text; the caller prints it"},
    Ban{"putchar", "return text; the caller prints it"},
    Ban{"socket", "move the input and output to server/"},
};

constexpr std::array<std::string_view, 10> kBannedIncludes = {
    "thread", "mutex", "shared_mutex", "condition_variable", "future",
    "semaphore", "fstream", "iostream", "filesystem", "syncstream"};

constexpr std::array<std::string_view, 4> kClockCalls = {"time(nullptr", "time(NULL", "time(0)",
                                                         "time(&"};


bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return text.ends_with(suffix); });
}

/// Code points, not bytes: a line with umlauts is as long as it looks.
std::size_t width(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

/// The module a file belongs to: the folder below src/, or api; empty outside.
std::string_view module_of(std::string_view path) {
  if (path.starts_with("api/")) return "api";
  if (!path.starts_with("src/")) return {};
  const std::string_view rest = path.substr(4);
  const std::size_t slash = rest.find('/');
  return slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
}

/// The target of `#include <x>` or `#include "x"` with its first quote; empty for other lines.
std::string_view include_of(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(' ');
  if (hash == std::string_view::npos || line[hash] != '#') return {};
  const std::size_t open = line.find_first_of("<\"", hash);
  if (line.find("include", hash) == std::string_view::npos || open == std::string_view::npos) {
    return {};
  }
  const std::size_t close = line.find_first_of(">\"", open + 1);
  return close == std::string_view::npos ? std::string_view() : line.substr(open, close - open);
}

class FileCheck {
 public:
  FileCheck(const SourceFile& file, const Layers& layers)
      : path_(file.path),
        text_(file.text),
        layers_(layers),
        lines_(split_lines(file.text)),
        is_cpp_(ends_with_any(path_, {".cc", ".h"})),
        is_test_(ends_with_any(path_, {"_test.cc"})),
        module_(module_of(path_)) {}

  std::vector<Finding> run() {
    check_text();
    check_length();
    if (is_cpp_) check_code();
    if (path_.starts_with("tests/scenarios/") && path_.ends_with(".scenario")) check_scenario();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.line < b.line; });
    return std::move(findings_);
  }

 private:
  void report(std::size_t line, std::string rule, std::string message,
              Severity severity = Severity::kError) {
    findings_.push_back({.file = std::string(path_),
                         .line = line,
                         .rule = std::move(rule),
                         .message = std::move(message),
                         .severity = severity});
  }

  void check_text() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = lines_[i];
      if (line.find('\t') != std::string_view::npos) {
        report(i + 1, "tab", "the line holds a tab; write spaces");
      }
      if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
        report(i + 1, "trailing-space", "the line ends with white space; delete it");
      }
      for (const std::string_view word : kLeftovers) {
        if (has_word(line, word)) {
          report(i + 1, "leftover", std::string(word) + " is left; do it now or delete the note");
        }
      }
      check_foreign_path(i + 1, line);
    }
    if (!text_.empty() && text_.back() != '\n') {
      report(lines_.size(), "end-of-file", "the last line has no line end; add one");
    }
  }

  void check_foreign_path(std::size_t number, std::string_view line) {
    const std::size_t at = line.find(kForeignRoot);
    if (at == std::string_view::npos) return;
    const bool is_tail = at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) ||
                                    std::string_view("._-}*~").find(line[at - 1]) !=
                                        std::string_view::npos);
    if (!is_tail) {
      report(number, "foreign-path", "a path of one machine; use a path inside the project");
    }
  }

  void check_length() {
    const bool is_markdown = path_.ends_with(".md");
    const bool is_code =
        is_cpp_ || is_markdown || ends_with_any(path_, {".sh", ".cmake", "CMakeLists.txt"});
    if (!is_code || path_ == "LICENSE") return;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      // A table row or a bare link cannot be broken.
      const std::string_view line = lines_[i];
      const bool unbreakable =
          is_markdown && (line.starts_with("|") || line.find("://") != std::string_view::npos);
      if (!unbreakable && width(line) > kLineLengthMax) {
        report(i + 1, "line-length",
               std::to_string(width(line)) + " columns; break the line at " +
                   std::to_string(kLineLengthMax));
      }
    }
    const std::string count = std::to_string(lines_.size()) + " lines; ";
    if (is_markdown) return;
    if (lines_.size() > kFileLinesMax) {
      report(lines_.size(), "file-length", count + "split the file below " +
                                               std::to_string(kFileLinesMax));
    } else if (lines_.size() > kFileLinesWarn) {
      report(lines_.size(), "file-length", count + "split the file soon", Severity::kWarning);
    }
  }

  void check_code() {
    code_ = code_only(lines_);
    const Module* module = layers_.find(module_);
    if (!module_.empty() && module == nullptr) {
      report(1, "layer", "module '" + std::string(module_) +
                             "' is unknown; declare it with rota_module() in CMakeLists.txt");
      return;
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view include = include_of(lines_[i]);
      if (module != nullptr && !include.empty()) check_include(i + 1, include, *module);
      if (module != nullptr && module->pure && !is_test_) check_pure(i + 1, code_[i]);
      if (module_ == "engine" || path_.starts_with("src/base/units")) {
        // A test may compare with a sum in floating point; the code under test may not use one.
        if (!is_test_) check_floating(i + 1, code_[i]);
      }
      if (module_ == "engine" || module_ == "sim") check_hash_order(i + 1, include);
      if ((module_ == "engine" || module_ == "server") && has_word(code_[i], "simulating")) {
        report(i + 1, "one-engine", "code that asks whether it is simulated; pass the difference "
                                    "in as an event or an interface");
      }
    }
  }

  void check_include(std::size_t number, std::string_view include, const Module& module) {
    const std::string_view target = include.substr(1);
    if (include.front() == '<') {
      if (module.pure && !is_test_) check_pure_include(number, target);
      return;
    }
    const std::string first(target.substr(0, target.find('/')));
    if (target.find('/') == std::string_view::npos || layers_.find(first) == nullptr) {
      report(number, "include-path", "\"" + std::string(target) +
                                         "\" names no module; write the path from src/, or <> for "
                                         "a library");
    } else if (!module.depends.contains(first) &&
               !(is_test_ && module.test_depends.contains(first))) {
      report(number, "layer", std::string(module_) + " must not include " + first +
                                  "; move the code down, or pass what is needed as an argument");
    }
  }

  void check_pure_include(std::size_t number, std::string_view target) {
    if (target.find('/') != std::string_view::npos || target.ends_with(".h")) {
      report(number, "pure", "<" + std::string(target) +
                                 "> is not of the C++ library; move its user out of " +
                                 std::string(module_));
    } else if (std::find(kBannedIncludes.begin(), kBannedIncludes.end(), target) !=
               kBannedIncludes.end()) {
      report(number, "pure", "<" + std::string(target) +
                                 "> in a pure module; leave threads, files and printing to server/ "
                                 "and cli/");
    }
  }

  void check_pure(std::size_t number, std::string_view code) {
    const auto refuse = [&](const Ban& ban) {
      report(number, "pure", std::string(ban.token) + " in pure module " + std::string(module_) +
                                 "; " + std::string(ban.mend));
    };
    for (const Ban& ban : kBannedWords) {
      if (has_word(code, ban.token)) refuse(ban);
    }
    for (const Ban& ban : kBannedCalls) {
      if (has_call(code, ban.token)) refuse(ban);
    }
    const bool reads_clock =
        has_call(code, "time") &&
        (code.find("std::time") != std::string_view::npos ||
         std::any_of(kClockCalls.begin(), kClockCalls.end(), [&](std::string_view call) {
           return code.find(call) != std::string_view::npos;
         }));
    if (reads_clock) refuse({"time()", "take the time as an argument (Instant)"});
  }

  void check_floating(std::size_t number, std::string_view code) {
    for (const std::string_view type : {"float", "double"}) {
      if (has_word(code, type)) {
        report(number, "integers", std::string(type) +
                                       " in an exact module; count in integer units and "
                                       "cross-multiply in 128 bits");
      }
    }
  }

  /// A hash container needs the mark, and what carries the mark may not be iterated here.
  void check_hash_order(std::size_t number, std::string_view include) {
    const std::string_view code = code_[number - 1];
    const std::size_t type = code.find("unordered_");
    if (type != std::string_view::npos && include.empty()) {
      if (lines_[number - 1].find("lookup only") == std::string_view::npos) {
        report(number, "hash-order", "a hash container without the mark; use std::map, or say "
                                     "'// lookup only' on this line and never iterate it");
      }
      remember_name(code.substr(type));
    }
    if (!has_word(code, "for")) return;
    for (const std::string& name : hash_names_) {
      const std::size_t colon = code.find(" : ");
      if (colon != std::string_view::npos && has_word(code.substr(colon), name)) {
        report(number, "hash-order", "a loop over hash container '" + name +
                                         "'; its order differs between runs, use std::map");
      }
    }
  }

  void remember_name(std::string_view declaration) {
    const std::size_t close = declaration.rfind('>');
    if (close == std::string_view::npos) return;
    std::string name;
    for (const char c : declaration.substr(close + 1)) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        name += c;
      } else if (!name.empty()) {
        break;
      }
    }
    if (!name.empty()) hash_names_.push_back(name);
  }

  void check_scenario() {
    const bool has_step = std::any_of(lines_.begin(), lines_.end(), [](std::string_view line) {
      const std::size_t first = line.find_first_not_of(' ');
      return first != std::string_view::npos && line[first] != '#';
    });
    if (!has_step) report(1, "empty-scenario", "no step in this scenario; write it or delete it");
  }

  std::string_view path_;
  std::string_view text_;
  const Layers& layers_;
  std::vector<std::string_view> lines_;
  std::vector<std::string> code_;
  bool is_cpp_;
  bool is_test_;
  std::string_view module_;
  std::vector<std::string> hash_names_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_file(const SourceFile& file, const Layers& layers) {
  return FileCheck(file, layers).run();
}

std::string to_string(const Finding& finding) {
  return finding.file + ":" + std::to_string(finding.line) + ": " +
         (finding.severity == Severity::kWarning ? "warning: " : "") + finding.rule + ": " +
         finding.message;
}

}  // namespace rota::tidy
