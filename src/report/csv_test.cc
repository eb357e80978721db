#include "report/csv.h"

#include <gtest/gtest.h>

namespace rota::report {
namespace {

TEST(Csv, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(" edge"), "\" edge\"");
}

TEST(Csv, ANameIsNoFormula) {
  EXPECT_EQ(csv_name("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  EXPECT_EQ(csv_name("+1"), "'+1");
  EXPECT_EQ(csv_name("-2+cmd|x"), "'-2+cmd|x");
  EXPECT_EQ(csv_name("@SUM"), "'@SUM");
  EXPECT_EQ(csv_name("a=b"), "a=b");
  EXPECT_EQ(csv_name(""), "");
}

TEST(Csv, RowsEndWithANewline) {
  EXPECT_EQ(csv_row({"a", "b,c", ""}), "a,\"b,c\",\n");
  EXPECT_EQ(csv_row({}), "\n");
}

}  // namespace
}  // namespace rota::report
