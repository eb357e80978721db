#include "report/html.h"

#include <gtest/gtest.h>

namespace rota::report {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Html, NothingOfATextIsMarkup) {
  EXPECT_EQ(html_escaped_text("<a href=\"x\">'&\n\x1b[1m"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;  [1m");
}

TEST(Html, ATableWithBarsBehindPercentages) {
  Table table({{"NAME"}, {"PART", Align::kRight}});
  table.add_row({{"<b>"}, {"12.5 %"}});
  table.add_row({{"none", Tone::kDim}, {"0.0 %"}});
  table.add_row({{"much"}, {"140 %"}});
  table.add_row({{"less"}, {"-3.0 %"}});
  table.add_row({{"short"}});
  table.add_row({{"(all)"}, {"1"}});
  const std::string text = html_table(table);
  EXPECT_TRUE(has(text, "<th scope=\"col\">NAME</th><th scope=\"col\" class=\"r\">PART</th>"));
  EXPECT_TRUE(has(text, "<td>&lt;b&gt;</td>"));
  EXPECT_TRUE(has(text, "#cfe0f2 12.5%"));
  EXPECT_TRUE(has(text, "<td class=\"dim\">none</td><td class=\"r\">0.0 %</td>"));
  EXPECT_TRUE(has(text, "#cfe0f2 100.0%"));
  EXPECT_TRUE(has(text, "<td class=\"r\">-3.0 %</td>"));
  EXPECT_TRUE(has(text, "<td>short</td><td class=\"r\"></td>"));
  EXPECT_TRUE(has(text, "<tr class=\"all\"><td>(all)</td>"));
}

TEST(Html, ABarOfParts) {
  const std::string text =
      html_bar({{"used", "1 h", 1}, {"failed", "0 h", 0}, {"idle <x>", "3 h", 3}});
  EXPECT_TRUE(has(text, "x=\"0\" y=\"0\" width=\"2500\""));
  EXPECT_TRUE(has(text, "x=\"2500\" y=\"0\" width=\"7500\""));
  EXPECT_FALSE(has(text, "failed"));
  EXPECT_TRUE(has(text, "aria-label=\"used 1 h, idle &lt;x&gt; 3 h\""));
  EXPECT_EQ(html_bar({{"none", "0", 0}, {"less", "-1", -1}}), "");
  EXPECT_EQ(html_bar({}), "");
}

TEST(Html, APageNeedsNothingBesideItself) {
  const std::string text = html_page({.title = "A & B",
                                      .facts = {{"Period", "<1d>"}},
                                      .body = "<hr>",
                                      .remarks = {"", "x < y"}});
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(has(text, "<title>A &amp; B</title>"));
  EXPECT_TRUE(has(text, "<dt>Period</dt><dd>&lt;1d&gt;</dd>"));
  EXPECT_TRUE(has(text, "<hr>"));
  EXPECT_TRUE(has(text, "<p>x &lt; y</p>"));
  for (const char* outside : {"http", "<script", "src=", "@import", "url("}) {
    EXPECT_FALSE(has(text, outside)) << outside;
  }
}

TEST(Html, ATableOfManyColumnsIsDense) {
  const auto table_of = [](std::size_t columns) {
    Table table(std::vector<Column>(columns, Column{"A", Align::kRight}));
    table.add_row({{"1"}});
    return html_table(table);
  };
  EXPECT_NE(table_of(11).find("<table class=\"dense\">"), std::string::npos);
  EXPECT_EQ(table_of(10).find("dense"), std::string::npos);
}

}  // namespace
}  // namespace rota::report
