#include "cli/goal.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "report/words.h"

namespace rota::cli {
namespace {

constexpr std::string_view kGoalForms =
    "'p90 wait of debug < 1m' (mean, p50, p90, p99, max; of all, wide, debug, a team or a class), "
    "'delivered of all > 95%' or 'occupancy > 80%'";

Error bad_goal(const std::string& text, const std::string& why) {
  return usage_error("--goal '" + text + "': " + why + "; expected " + std::string(kGoalForms));
}

std::vector<std::string> words_of(const std::string& text) {
  std::string spaced;
  for (const char c : text) {
    if (c == '<' || c == '>') spaced += std::string(" ") + c + " ";
    else spaced += c;
  }
  std::vector<std::string> words;
  for (const std::string_view word : split(spaced, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

struct FigureWord {
  std::string_view word;
  GoalFigure figure;
};
constexpr FigureWord kFigures[] = {
    {"mean", GoalFigure::kMean},           {"p50", GoalFigure::kP50},
    {"p90", GoalFigure::kP90},             {"p99", GoalFigure::kP99},
    {"max", GoalFigure::kMax},             {"delivered", GoalFigure::kDelivered},
    {"occupancy", GoalFigure::kOccupancy},
};

bool is_wait(GoalFigure figure) { return figure <= GoalFigure::kMax; }

Duration figure_in(const sim::Spread& spread, GoalFigure figure) {
  switch (figure) {
    case GoalFigure::kMean: return spread.mean;
    case GoalFigure::kP50: return spread.p50;
    case GoalFigure::kP99: return spread.p99;
    case GoalFigure::kMax: return spread.max;
    default: return spread.p90;
  }
}

/// Waits as if those that never started waited for ever.
std::optional<Duration> wait_in(const sim::JobGroup& group, GoalFigure figure) {
  if (group.started == group.jobs) return figure_in(group.wait, figure);
  switch (figure) {
    case GoalFigure::kP50: return group.wait_of_all.p50;
    case GoalFigure::kP90: return group.wait_of_all.p90;
    case GoalFigure::kP99: return group.wait_of_all.p99;
    default: return std::nullopt;
  }
}

/// A part of nothing is none.
std::optional<double> ratio_of(Int128 part, Int128 whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

const sim::JobGroup* named_in(const std::vector<sim::JobGroup>& groups, const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const sim::JobGroup& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

/// The jobs that the goal is about.
Result<sim::JobGroup> group_of(const Goal& goal, const sim::Outcome& outcome) {
  if (goal.of == "all") {
    sim::JobGroup all{.name = "all", .jobs = outcome.jobs, .started = outcome.started,
                      .wait = outcome.wait, .wait_of_all = outcome.wait_of_all,
                      .owed = outcome.owed, .delivered = outcome.delivered};
    return all;
  }
  if (goal.of == "wide") return outcome.wide;
  if (const auto* team = named_in(outcome.teams, goal.of)) return *team;
  if (const auto* job_class = named_in(outcome.classes, goal.of)) return *job_class;
  if (goal.of == outcome.shorts.name) return outcome.shorts;
  std::vector<std::string> known{"all", "wide", "debug"};
  for (const auto* groups : {&outcome.teams, &outcome.classes}) {
    for (const sim::JobGroup& group : *groups) known.push_back(group.name);
  }
  const std::string_view near = nearest_word(goal.of, known);
  constexpr std::size_t kShownMost = 12;
  if (known.size() > kShownMost) known.resize(kShownMost);
  return usage_error("--goal '" + goal.text + "': no team or class '" + goal.of +
                     "' in the history; there are " + join(known, ", ") +
                     (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
}

Status read_bound(const std::string& word, Goal& goal) {
  if (is_wait(goal.figure)) {
    const auto span = parse_duration(word);
    if (!span || *span <= Duration()) return bad_goal(goal.text, "'" + word + "' is no duration");
    goal.wait = *span;
    return {};
  }
  const bool has_sign = word.ends_with("%");
  const auto part = parse_fixed(std::string_view(word).substr(0, word.size() - 1), 1);
  if (!has_sign || !part || *part <= 0 || *part > 1000) {
    return bad_goal(goal.text, "'" + word + "' is no percentage");
  }
  goal.permille = *part;
  return {};
}

void set_wait(const Goal& goal, const sim::JobGroup& group, GoalStanding& out) {
  const auto wait = wait_in(group, goal.figure);
  out.met = wait && *wait < goal.wait;
  out.value = wait ? static_cast<double>(wait->ns()) / 1e9
                   : std::numeric_limits<double>::infinity();
  out.words = !wait              ? "never"
              : out.value < 100 ? number_text(out.value, 1) + "s"
                                : report::short_duration(*wait);
}

void set_part(const Goal& goal, const sim::JobGroup& group, const sim::Outcome& outcome,
              GoalStanding& out) {
  const auto part = goal.figure == GoalFigure::kOccupancy
                        ? ratio_of(outcome.held, outcome.capacity)
                        : ratio_of(group.delivered, group.owed);
  out.value = part.value_or(std::numeric_limits<double>::infinity());
  out.met = part && out.never == 0 && *part * 1000 > static_cast<double>(goal.permille);
  out.words = part ? number_text(*part * 100, 1) + "%" : "-";
}

}  // namespace

Result<Goal> parse_goal(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  Goal goal{.text = text};
  if (words.size() < 3) return bad_goal(text, "too few words");
  const auto* figure = std::find_if(std::begin(kFigures), std::end(kFigures),
                                    [&](const FigureWord& f) { return f.word == words[0]; });
  if (figure == std::end(kFigures)) {
    std::vector<std::string> known;
    for (const FigureWord& f : kFigures) known.emplace_back(f.word);
    const std::string_view near = nearest_word(words[0], known);
    return bad_goal(text, "'" + words[0] + "' is no figure" +
                              (near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)"));
  }
  goal.figure = figure->figure;
  std::size_t at = 1;
  if (is_wait(goal.figure)) {
    if (words[at] != "wait") return bad_goal(text, "'" + words[at] + "' and not 'wait'");
    ++at;
  }
  if (at + 1 < words.size() && words[at] == "of") {
    goal.of = words[at + 1];
    at += 2;
  }
  if (at + 2 != words.size() || (words[at] != "<" && words[at] != ">")) {
    return bad_goal(text, "no < or > with a bound at the end");
  }
  goal.below = words[at] == "<";
  if (goal.below != is_wait(goal.figure)) {
    return bad_goal(text, is_wait(goal.figure) ? "a wait has an upper bound (<)"
                                               : "a part has a lower bound (>)");
  }
  if (goal.figure == GoalFigure::kOccupancy && goal.of != "all") {
    return bad_goal(text, "occupancy is of the cluster");
  }
  if (auto status = read_bound(words[at + 1], goal); !status) return status.error();
  return goal;
}

Result<GoalStanding> standing_of(const Goal& goal, const sim::Outcome& outcome) {
  const auto group = group_of(goal, outcome);
  if (!group) return group.error();
  if (group->jobs == 0) {
    return usage_error("--goal '" + goal.text + "': the history has no such job");
  }
  GoalStanding out{.never = group->jobs - group->started};
  if (is_wait(goal.figure)) set_wait(goal, *group, out);
  else set_part(goal, *group, outcome, out);
  return out;
}

}  // namespace rota::cli
