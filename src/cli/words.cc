#include "cli/words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/help.h"
#include "cli/submit_options.h"
#include "cli/usage.h"

namespace rota::cli {
namespace {

const CLI::Option* long_option(const CLI::App& app, std::string_view name) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      if (known == name) return option;
    }
  }
  return nullptr;
}

const CLI::Option* short_option(const CLI::App& app, char letter) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_snames()) {
      if (known.size() == 1 && known[0] == letter) return option;
    }
  }
  return nullptr;
}

/// How many words a command takes besides its options; a large number for "any".
std::size_t positional_room(const CLI::App& app) {
  std::size_t room = 0;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    room += static_cast<std::size_t>(option->get_items_expected_max());
  }
  return room;
}

std::string did_you_mean(std::string_view near, std::string_view prefix) {
  if (near.empty()) return {};
  return "; did you mean '" + std::string(prefix) + std::string(near) + "'?";
}

/// The word is no option of `app`: names the nearest one, or the command that must come first.
Error unknown_option(const CLI::App& app, std::string_view spelled) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  }
  known.emplace_back("help");
  std::string_view bare = spelled;
  while (bare.starts_with("-")) bare.remove_prefix(1);
  bare = bare.substr(0, bare.find('='));
  const std::string_view near = bare.size() > 1 ? nearest_word(bare, known) : std::string_view();
  std::string message = "unknown option '" + std::string(spelled) + "'" + did_you_mean(near, "--");
  const bool runs = app.get_name() == "run";
  if (runs && find_option(bare, kOnSubmit) != nullptr) {
    return usage_error("run starts one job; for '" + std::string(spelled) +
                       "' use `rota submit`, and `rota wait` for its end");
  }
  if (app.get_parent() == nullptr) {
    message += near.empty() ? "; options stand after the command" : "";
  } else if (near.empty()) {
    message += "; see `" + command_path(app) + " --help`";
  }
  return usage_error(std::move(message));
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  const std::string_view foreign =
      app.get_parent() == nullptr ? foreign_command(word) : std::string_view();
  std::string message = "unknown command '" + command_path(app) + " " + word + "'";
  if (!foreign.empty()) {
    message += "; use `" + std::string(foreign) + "`";
  } else {
    message += did_you_mean(nearest_word(word, known), command_path(app) + " ");
  }
  return usage_error(message + "; see `" + command_path(app) + " --help`");
}

class Walker {
 public:
  Walker(const std::vector<std::string>& args, const CLI::App& root) : args_(args) {
    walk_.app = &root;
  }

  Result<Walk> walk() {
    while (at_ < args_.size() && !done_) {
      if (auto status = step(args_[at_]); !status) return status.error();
      ++at_;
    }
    return std::move(walk_);
  }

 private:
  Status step(const std::string& word) {
    if (word == "-h" || word == "--help") {
      walk_.help = true;
      done_ = true;
      return {};
    }
    const bool root = walk_.app->get_parent() == nullptr;
    if (root && word == "help") {
      walk_.help = true;  // what follows names the command
      return {};
    }
    if (root && (word == "--version" || word == "-V")) {
      walk_.version = true;
      done_ = true;
      return {};
    }
    if (walk_.help && walk_.app->get_parent() != nullptr && !has_inner(*walk_.app)) {
      return usage_error("unexpected word '" + word + "'; see `rota --help`");
    }
    if (word == "--") return take_rest_after_mark();
    if (word.size() > 2 && word.starts_with("--")) return take_long(word);
    if (word.size() > 1 && word[0] == '-') return take_short(word);
    return take_word(word);
  }

  static bool has_inner(const CLI::App& app) {
    return !app.get_subcommands([](const CLI::App*) { return true; }).empty();
  }

  [[nodiscard]] bool takes_tail() const {
    const CLI::App* parent = walk_.app->get_parent();
    if (parent == nullptr || parent->get_parent() != nullptr) return false;
    const Command* command = find_command(walk_.app->get_name());
    return command != nullptr && command->takes_tail;
  }

  [[nodiscard]] bool is_offline() const {
    const CLI::App* app = walk_.app;
    while (app->get_parent() != nullptr && app->get_parent()->get_parent() != nullptr) {
      app = app->get_parent();
    }
    const Command* command = find_command(app->get_name());
    return command != nullptr && command->group == kOfflineGroup;
  }

  void take_tail(std::size_t from, TailKind kind) {
    walk_.parsed.tail.assign(args_.begin() + static_cast<std::ptrdiff_t>(from), args_.end());
    walk_.parsed.tail_kind = kind;
    done_ = true;
  }

  Status take_rest_after_mark() {
    if (takes_tail()) {
      take_tail(at_ + 1, TailKind::kCommand);
      return {};
    }
    for (++at_; at_ < args_.size(); ++at_) {
      if (auto status = take_positional(args_[at_]); !status) return status;
    }
    return {};
  }

  Status take_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CLI::Option* option =
        long_option(*walk_.app, std::string_view(word).substr(2, equals - 2));
    if (option == nullptr) return unknown_option(*walk_.app, word);
    const std::string name = word.substr(0, equals);
    if (equals != std::string::npos) {
      if (option->get_items_expected_max() == 0) {
        return usage_error("option '" + name + "' takes no value");
      }
      return add(*option, name, word.substr(equals + 1));
    }
    return take_value(*option, name);
  }

  /// `-G2`, `-G 2`, and flags in a row: `-wf`.
  Status take_short(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const CLI::Option* option = short_option(*walk_.app, word[i]);
      const std::string name = "-" + word.substr(i, 1);
      if (option == nullptr) {
        return unknown_option(*walk_.app, i == 1 && word.size() > 2 ? word : name);
      }
      const bool value = option->get_items_expected_max() > 0;
      if (value && i + 1 < word.size()) {
        return add(*option, name, word.substr(word[i + 1] == '=' ? i + 2 : i + 1));
      }
      if (auto status = take_value(*option, name); !status) return status;
    }
    return {};
  }

  Status take_value(const CLI::Option& option, const std::string& name) {
    if (option.get_items_expected_min() == 0) {
      walk_.parsed.options.push_back({&option, {}});
      walk_.words.push_back(name);
      return {};
    }
    if (at_ + 1 >= args_.size()) {
      return usage_error("option '" + name + "' needs a value: " + name + " " +
                         option.get_type_name());
    }
    return add(option, name, args_[++at_]);
  }

  /// CLI11 takes the word after an option that needs a value, whatever it looks like.
  Status add(const CLI::Option& option, const std::string& name, std::string value) {
    if (value.empty() && is_offline()) {
      return usage_error("option '" + name + "' has an empty value; leave it out, or give it " +
                         (option.get_type_name().empty() ? "one" : option.get_type_name()));
    }
    if (option.get_items_expected_min() == 0) {
      walk_.words.push_back(name + "=" + value);
    } else {
      walk_.words.push_back(name);
      walk_.words.push_back(value);
    }
    walk_.parsed.options.push_back({&option, std::move(value)});
    return {};
  }

  Status take_word(const std::string& word) {
    const auto inner = walk_.app->get_subcommands([](const CLI::App*) { return true; });
    if (!inner.empty()) {
      for (const CLI::App* command : inner) {
        if (command->get_name() != word) continue;
        walk_.app = command;
        walk_.words.push_back(word);
        return {};
      }
      return unknown_command(*walk_.app, word);
    }
    if (takes_tail()) {
      take_tail(at_, TailKind::kFile);
      return {};
    }
    return take_positional(word);
  }

  Status take_positional(const std::string& word) {
    if (word.empty()) {
      return usage_error("an argument is empty; see `" + command_path(*walk_.app) + " --help`");
    }
    if (++positionals_ > positional_room(*walk_.app)) {
      return usage_error("unexpected word '" + word + "'; see `" + command_path(*walk_.app) +
                         " --help`");
    }
    walk_.words.push_back(word);
    return {};
  }

  const std::vector<std::string>& args_;
  Walk walk_;
  std::size_t at_ = 0;
  std::size_t positionals_ = 0;
  bool done_ = false;
};

}  // namespace

std::string_view foreign_command(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 32> kWords{{
      {"sbatch", "rota submit"},  {"srun", "rota run"},       {"squeue", "rota ls"},
      {"scancel", "rota cancel"}, {"sinfo", "rota nodes"},    {"sacct", "rota history"},
      {"scontrol", "rota show"},  {"sprio", "rota why"},      {"sshare", "rota queue ls"},
      {"salloc", "rota run"},     {"get", "rota ls"},         {"describe", "rota show"},
      {"delete", "rota cancel"},  {"create", "rota submit"},  {"apply", "rota submit"},
      {"kill", "rota cancel"},    {"rm", "rota cancel"},      {"ps", "rota ls"},
      {"list", "rota ls"},        {"jobs", "rota ls"},        {"status", "rota ls"},
      {"log", "rota logs"},       {"tail", "rota logs -f"},   {"cordon", "rota drain"},
      {"uncordon", "rota undrain"}, {"top", "rota gpus"},     {"start", "rota serve"},
      {"queues", "rota queue ls"}, {"sstat", "rota show"},    {"sreport", "rota history"},
      {"sacctmgr", "rota queue set"}, {"seff", "rota show"},
  }};
  for (const auto& [theirs, ours] : kWords) {
    if (theirs == word) return ours;
  }
  return {};
}

Result<Walk> walk_words(const std::vector<std::string>& args, const CLI::App& root) {
  return Walker(args, root).walk();
}

}  // namespace rota::cli
