#include "report/table.h"

#include <gtest/gtest.h>

namespace rota::report {
namespace {

Table sample() {
  Table table({{"id", Align::kRight}, {"name", Align::kLeft, true}, {"state"}});
  table.add_row({{"7"}, {"train.sh"}, {"running", Tone::kGood}});
  table.add_row({{"12"}, {"a-name-that-is-long"}, {"pending"}});
  return table;
}

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpace) {
  EXPECT_EQ(sample().text({}),
            "id  name                 state\n"
            " 7  train.sh             running\n"
            "12  a-name-that-is-long  pending\n");
}

TEST(Table, ShrinksOnlyWhatMay) {
  EXPECT_EQ(sample().text({.width_max = 24}),
            "id  name         state\n"
            " 7  train.sh     running\n"
            "12  a-name-tha…  pending\n");
  EXPECT_EQ(sample().text({.width_max = 5, .header = false}),
            " 7  train.sh  running\n"
            "12  a-name-…  pending\n");
}

TEST(Table, ShrinksLongNamesOfAnyColumnButNoNumbers) {
  const std::string name(300, 'n');
  const std::string digits(70, '9');
  Table table({{"TEAM"}, {"JOBS", Align::kRight}, {"NOTE", Align::kLeft, true}});
  table.add_row({{name}, {digits}, {"a longer note"}});
  const std::string cut = name.substr(0, 59) + "…";
  EXPECT_EQ(table.text({.width_max = 80, .header = false}), cut + "  " + digits + "  a longe…\n");
  EXPECT_EQ(table.text({.width_max = 387, .header = false}),
            name + "  " + digits + "  a longer note\n");
  EXPECT_EQ(table.text({.header = false}), name + "  " + digits + "  a longer note\n");
}

TEST(Table, ColoursCellsWithoutChangingWidths) {
  Table table({{"x"}, {"y"}});
  table.add_row({{"a", Tone::kBad}, {"b"}});
  EXPECT_EQ(table.text({.colour = Colour::kOn, .header = false}), "\x1b[31ma\x1b[0m  b\n");
}

TEST(Table, FillsShortRowsCutsLongOnesAndCleansCells) {
  Table table({{"x"}, {"y"}});
  table.add_row({{"a"}});
  table.add_row({{"b"}, {"c"}, {"d"}});
  table.add_row({{"e\x1b[2J\n"}, {""}});
  EXPECT_EQ(table.text({.header = false}), "a\nb      c\ne [2J\n");
  EXPECT_EQ(table.row_count(), 3U);
}

TEST(Text, CountsCharactersNotBytes) {
  EXPECT_EQ(text_width("grün"), 4U);
  EXPECT_EQ(text_width("\xff\xfe"), 2U);
  EXPECT_EQ(shortened("grüner", 4), "grü…");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Bar, IsFullOnlyWhenThePartIsTheWhole) {
  EXPECT_EQ(bar(0, 8, 4), "....");
  EXPECT_EQ(bar(7, 8, 4), "###.");
  EXPECT_EQ(bar(8, 8, 4), "####");
  EXPECT_EQ(bar(9, 8, 4), "####");
  EXPECT_EQ(bar(1, 0, 4), "....");
}

}  // namespace
}  // namespace rota::report
