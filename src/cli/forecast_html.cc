// A forecast as one page of HTML, with a chart of its band.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/forecast_report.h"
#include "cli/output.h"
#include "report/html.h"

namespace rota::cli {
namespace {

constexpr double kChartWidth = 960;
constexpr double kChartTop = 8;
constexpr double kChartBottom = 200;
constexpr double kChartLeft = 44;

/// Where hours and GPUs lie in the chart.
class ChartScale {
 public:
  ChartScale(std::size_t hours, std::int64_t most)
      : hours_(std::max<std::size_t>(hours, 2)), most_(std::max<std::int64_t>(most, 1)) {}
  [[nodiscard]] std::string at(std::size_t hour, std::int64_t milli) const {
    return x(hour) + "," + y(milli);
  }
  [[nodiscard]] std::string x(std::size_t hour) const {
    const double part = static_cast<double>(hour) / static_cast<double>(hours_ - 1);
    return number_text(kChartLeft + part * (kChartWidth - kChartLeft), 1);
  }
  [[nodiscard]] std::string y(std::int64_t milli) const {
    const double part = static_cast<double>(milli) / static_cast<double>(most_);
    return number_text(kChartBottom - part * (kChartBottom - kChartTop), 1);
  }

 private:
  std::size_t hours_;
  std::int64_t most_;
};

std::string line_svg(const std::string& x1, const std::string& y1, const std::string& x2,
                     const std::string& y2, const std::string& style) {
  return "<line x1=\"" + x1 + "\" y1=\"" + y1 + "\" x2=\"" + x2 + "\" y2=\"" + y2 + "\" " + style +
         "/>";
}

std::string text_svg(const std::string& x, const std::string& y, const std::string& text,
                     const std::string& anchor) {
  return "<text x=\"" + x + "\" y=\"" + y + "\" text-anchor=\"" + anchor + "\">" +
         report::html_escaped_text(text) + "</text>";
}

/// Days along the bottom, GPUs at the left.
std::string axes_svg(const ForecastReport& report, const ChartScale& scale, std::int64_t most) {
  const std::string left = number_text(kChartLeft, 1);
  const std::string right = number_text(kChartWidth, 1);
  const std::string margin = number_text(kChartLeft - 6, 1);
  std::string svg;
  for (int i = 0; i <= 4; ++i) {
    const std::int64_t milli = most * i / 4;
    svg += line_svg(left, scale.y(milli), right, scale.y(milli), "stroke=\"#dde3ea\"");
    svg += text_svg(margin, scale.y(milli), number_text(static_cast<double>(milli) / 1000, 0),
                    "end");
  }
  const std::size_t every = (report.day_count() + 6) / 7;
  for (std::size_t day = 0; day < report.day_count(); day += every) {
    const std::size_t hour = day * audit::kHoursOfDay;
    const auto at = report.forecast.first_hour + static_cast<std::int64_t>(hour);
    svg += line_svg(scale.x(hour), number_text(kChartTop, 1), scale.x(hour),
                    number_text(kChartBottom, 1), "stroke=\"#dde3ea\"");
    svg += text_svg(scale.x(hour), number_text(kChartBottom + 18, 1), forecast_hour(at), "start");
  }
  return svg;
}

std::string chart_svg(const ForecastReport& report) {
  const std::vector<audit::HourForecast>& hours = report.forecast.hours;
  std::int64_t most = report.capacity_given ? *report.capacity : 0;
  for (const audit::HourForecast& hour : hours) most = std::max(most, hour.high);
  const ChartScale scale(hours.size(), most);
  std::string band;
  std::string middle;
  for (std::size_t i = 0; i < hours.size(); ++i) {
    band += scale.at(i, hours[i].high) + " ";
    middle += scale.at(i, hours[i].expected) + " ";
  }
  for (std::size_t i = hours.size(); i > 0; --i) band += scale.at(i - 1, hours[i - 1].low) + " ";
  std::string svg = "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 960 226\" aria-label=\""
                    "GPUs wanted by the hour: expected, and from P10 to P90\">" +
                    axes_svg(report, scale, most) + "<polygon points=\"" + band +
                    "\" fill=\"#5aa7d6\" fill-opacity=\".35\"/><polyline points=\"" + middle +
                    "\" fill=\"none\" stroke=\"#0b3c7d\" stroke-width=\"2\"/>";
  if (report.capacity_given) {
    const std::string y = scale.y(*report.capacity);
    svg += line_svg(number_text(kChartLeft, 1), y, number_text(kChartWidth, 1), y,
                    "stroke=\"#a31515\" stroke-width=\"2\" stroke-dasharray=\"6 4\"");
  }
  return svg + "</svg></div>\n<p>Line: GPUs expected to be wanted. Band: P10 to P90." +
         (report.capacity_given ? " Dashed: what there is." : "") + "</p>\n";
}

}  // namespace

std::string forecast_html(const ForecastReport& report) {
  return report::html_page(
      {.title = "Forecast of GPU demand",
       .facts = forecast_facts(report),
       .body = chart_svg(report) +
               report::html_table(forecast_days_table(report, Bars::kHidden)) +
               report::html_table(forecast_hours_table(report, Bars::kHidden)),
       .remarks = forecast_foot(report)});
}

}  // namespace rota::cli
