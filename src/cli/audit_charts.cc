#include "cli/audit_charts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/words.h"
#include "report/html.h"
#include "report/table.h"
#include "report/words.h"

namespace rota::cli {
namespace {

using audit::GpuTime;
using audit::Line;

constexpr std::string_view kFree = "#e9ecef";

/// To a tenth, never below zero.
std::string pixels(double value) {
  const auto tenths = std::llround(std::max(0.0, value) * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string begin_svg(int width, int height, std::string_view words) {
  const std::string size = std::to_string(width) + " " + std::to_string(height);
  return "<svg role=\"img\" viewBox=\"0 0 " + size + "\" aria-label=\"" + html_escaped(words) +
         "\">";
}

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

std::string rectangle(const Box& box, std::string_view colour, const std::string& title) {
  return "<rect x=\"" + pixels(box.x) + "\" y=\"" + pixels(box.y) + "\" width=\"" +
         pixels(box.width) + "\" height=\"" + pixels(box.height) + "\" fill=\"" +
         std::string(colour) + "\"><title>" + html_escaped(title) + "</title></rect>";
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\">" + html_escaped(text) + "</text>";
}

/// From nearly white to dark blue.
std::string shade(double part) {
  constexpr std::array<std::array<int, 3>, 2> kEnds{{{0xee, 0xf3, 0xfa}, {0x0b, 0x3c, 0x7d}}};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string colour = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = kEnds[0][i] + (kEnds[1][i] - kEnds[0][i]) * std::clamp(part, 0.0, 1.0);
    const auto byte = static_cast<std::size_t>(std::lround(value));
    colour += kDigits[byte / 16];
    colour += kDigits[byte % 16];
  }
  return colour;
}

}  // namespace

std::string html_escaped(std::string_view text) { return report::html_escaped_text(text); }

std::string_view ledger_colour(Line line) {
  constexpr std::array<std::string_view, audit::kLines> kColours{
      "#1b6e3c", "#f2c14e", "#3f9b5f", "#8ccf9f", "#a4161a", "#7f0e3c",
      "#d9662b", "#b08968", "#6a4c93", "#9d7fc1", "#3d2c52", "#868e96"};
  return kColours[static_cast<std::size_t>(line)];
}

std::string ledger_chart(const audit::Audit& audit) {
  const audit::Ledger& all = audit.ledgers.all;
  const bool placed = audit.timeline.placed > 0;
  const GpuTime whole = all.held + (placed ? audit.timeline.free : 0);
  if (whole <= 0 || all.held <= 0) return {};
  constexpr double kWidth = 960;
  std::string svg = begin_svg(960, 44, "Where GPU time went, as parts of one bar");
  double x = 0;
  const auto part = [&](GpuTime time, std::string_view colour, std::string_view name) {
    const double width = static_cast<double>(time) / static_cast<double>(whole) * kWidth;
    svg += rectangle({x, 0, width, 44}, colour,
                     std::string(name) + ": " + audit::hours_text(time) + " GPU-hours");
    x += width;
  };
  for (int i = 0; i < audit::kLines; ++i) {
    const auto which = static_cast<Line>(i);
    if (all.line(which).runs == 0) continue;
    part(all.line(which).gpu_time, ledger_colour(which), line_name(which));
  }
  if (placed) part(audit.timeline.free, kFree, "not held");
  return svg + "</svg>";
}

std::string week_chart(const audit::Audit& audit) {
  if (audit.timeline.placed == 0 || audit.capacity == 0) return {};
  constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu",
                                                  "Fri", "Sat", "Sun"};
  std::string svg = begin_svg(960, 204, "Occupancy by weekday and hour, UTC: darker is fuller");
  for (int hour = 0; hour < 24; hour += 3) {
    svg += label(48 + hour * 38, 12, "start", std::to_string(hour) + ":00");
  }
  for (int day = 0; day < 7; ++day) {
    svg += label(0, 34 + day * 26, "start", kDays[static_cast<std::size_t>(day)]);
    for (int hour = 0; hour < 24; ++hour) {
      const int hour_of_week = day * 24 + hour;
      const auto slot = static_cast<std::size_t>(hour_of_week);
      const Box box{48.0 + hour * 38, 18.0 + day * 26, 36, 24};
      const std::string name = audit::hour_of_week_text(hour_of_week);
      const std::int64_t length = audit.timeline.length_by_hour[slot];
      if (length == 0) {
        svg += rectangle(box, "#ffffff", name + ": not in the span");
        continue;
      }
      const GpuTime held = audit.timeline.held_by_hour[slot];
      const GpuTime whole = GpuTime{audit.capacity} * length;
      svg += rectangle(box, shade(static_cast<double>(held) / static_cast<double>(whole)),
                       name + ": " + audit::percent_text(held, whole) + " held");
    }
  }
  return svg + "</svg>";
}

std::string wait_chart(const std::vector<WaitBar>& bars) {
  if (bars.empty()) return {};
  constexpr double kLeft = 200;
  constexpr double kDecade = 120;  // pixels; 1 s to 1,000,000 s
  const auto place = [&](std::int64_t wait) {
    const double power = std::log10(std::max(1.0, static_cast<double>(wait) / 1e9));
    return kLeft + std::min(6.0, power) * kDecade;
  };
  const int height = 30 + static_cast<int>(bars.size()) * 22;
  std::string svg = begin_svg(960, height, "Waits: half, nine in ten and 99 in 100 runs started "
                                           "within the end of the dark, middle and light bar");
  constexpr std::array<std::string_view, 7> kMarks{"1s", "10s", "1m40s", "17m",
                                                   "2.8h", "28h", "11.6d"};
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    const double x = kLeft + static_cast<double>(i) * kDecade;
    svg += label(x, 12, "middle", kMarks[i]);
    svg += rectangle({x, 16, 1, static_cast<double>(height) - 16}, "#dee2e6", "");
  }
  double y = 22;
  for (const WaitBar& bar : bars) {
    svg += label(kLeft - 8, y + 12, "end", report::shortened(bar.name, 28));
    const auto draw = [&](std::int64_t wait, std::string_view colour, std::string_view name) {
      svg += rectangle({kLeft, y, place(wait) - kLeft + 2, 14}, colour,
                       bar.name + " " + std::string(name) + ": " +
                           report::short_duration(Duration(wait)));
    };
    draw(bar.p99, "#cfe0f5", "p99");
    draw(bar.p90, "#6fa3dc", "p90");
    draw(bar.p50, "#0b3c7d", "p50");
    y += 22;
  }
  return svg + "</svg>";
}

}  // namespace rota::cli
