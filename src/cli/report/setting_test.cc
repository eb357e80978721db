#include "cli/report/setting.h"

#include <gtest/gtest.h>

#include <fstream>

namespace rota::cli::reports {
namespace {

Instant day(std::int64_t n) { return Instant() + Duration::days(n); }

constexpr std::int64_t kOctober = 20727;  // 2026-10-01, in days since the epoch

TEST(ReportPeriod, AMonthIsAllOfIt) {
  const auto period = period_of({.month = "2026-10"}, std::nullopt);
  ASSERT_TRUE(period.ok()) << period.error().message;
  EXPECT_EQ(period->begin, day(kOctober));
  EXPECT_EQ(period->end, day(kOctober + 31));
  const auto december = period_of({.month = "2026-12"}, std::nullopt);
  ASSERT_TRUE(december.ok());
  EXPECT_EQ(december->length(), Duration::days(31));
}

TEST(ReportPeriod, WhatIsNotSaidIsAsTold) {
  const Period told{day(kOctober), day(kOctober + 9)};
  EXPECT_EQ(period_of({}, told)->end, told.end);
  const auto later = period_of({.from = "2026-10-03"}, told);
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ(later->begin, day(kOctober + 2));
  EXPECT_EQ(later->end, told.end);
  const auto hours = period_of({.until = "2026-10-01T06:00:00+02:00"}, told);
  ASSERT_TRUE(hours.ok()) << hours.error().message;
  EXPECT_EQ(hours->length(), Duration::hours(4));
}

TEST(ReportPeriod, WhatIsNoPeriod) {
  const Period told{day(kOctober), day(kOctober + 9)};
  EXPECT_FALSE(period_of({}, std::nullopt).ok());
  EXPECT_FALSE(period_of({.month = "2026-1"}, told).ok());
  EXPECT_FALSE(period_of({.month = "2026-10", .until = "2026-11-01"}, told).ok());
  EXPECT_FALSE(period_of({.from = "2026-10-10"}, told).ok());
  EXPECT_FALSE(period_of({.from = "monday"}, told).ok());
  EXPECT_FALSE(period_of({.from = "1900-01-01", .until = "2199-01-01"}, told).ok());
}

TEST(ReportPeriod, ATraceWithoutDatesCountsFromItsStart) {
  EXPECT_EQ(period_text({Instant(), Instant() + Duration::hours(4)}),
            "0s to 4h since the start (4h)");
  EXPECT_EQ(period_text({day(kOctober), day(kOctober + 1)}),
            "2026-10-01T00:00:00Z to 2026-10-02T00:00:00Z (1d)");
}

TEST(ReportNames, AmountsByName) {
  const auto amounts = named_amounts("--shares", "a=3,b=c=1.5", 3);
  ASSERT_TRUE(amounts.ok()) << amounts.error().message;
  EXPECT_EQ(amounts->at("a"), 3000);
  EXPECT_EQ(amounts->at("b=c"), 1500);
  for (const char* wrong : {"a", "=1", "a=", "a=-1", "a=1,a=2", "a=1.2345", "a=1,", "a=x"}) {
    EXPECT_FALSE(named_amounts("--shares", wrong, 3).ok()) << wrong;
  }
}

TEST(ReportPrices, OneForAllAndSomeByModel) {
  const auto prices = prices_of("2.5,h100=4");
  ASSERT_TRUE(prices.ok()) << prices.error().message;
  EXPECT_EQ(prices->of("H100"), MicroMoney(4'000'000));
  EXPECT_EQ(prices->of(""), MicroMoney(2'500'000));
  EXPECT_FALSE(prices->is_list);
  EXPECT_EQ(prices_of("h100=4")->of("a100"), std::nullopt);
  EXPECT_FALSE(prices_of("1,2").ok());
  EXPECT_FALSE(prices_of("h100=-1").ok());
  EXPECT_FALSE(prices_of("/no/such/file").ok());
}

TEST(ReportPrices, FromATable) {
  const std::string file = testing::TempDir() + "report-prices.csv";
  std::ofstream(file) << "# list\nmodel;price\nh100;4\n\na100;1.25\n";
  const auto prices = prices_of(file);
  ASSERT_TRUE(prices.ok()) << prices.error().message;
  EXPECT_TRUE(prices->is_list);
  EXPECT_EQ(prices->of("a100"), MicroMoney(1'250'000));
  std::ofstream(file) << "model,price\nh100,cheap\n";
  EXPECT_EQ(prices_of(file).error().where, file + ":2");
}

TEST(ReportBudgets, ByTheNameOfTheColumn) {
  const std::string file = testing::TempDir() + "report-budgets.csv";
  std::ofstream(file) << "user,budget\nann,12.5\nbob,0\n";
  const auto budgets = budgets_of(file, "user");
  ASSERT_TRUE(budgets.ok()) << budgets.error().message;
  EXPECT_EQ(budgets->at("ann").amount, 1250);
  EXPECT_FALSE(budgets_of(file, "queue").ok());
  std::ofstream(file) << "user,budget\nann,1\nann,2\n";
  EXPECT_EQ(budgets_of(file, "user").error().where, file + ":3");
}

TEST(ReportBudgets, PartsOfAParentAddUpToIt) {
  const std::string file = testing::TempDir() + "report-parts.csv";
  std::ofstream(file) << "queue,parent,budget\nlab,,100.00\na,lab,33.333%\nb,lab,33.333%\n"
                         "c,lab,33.334 %\na1,a,50%\na2,a,25%\nother,lab,7\n";
  const auto budgets = budgets_of(file, "queue");
  ASSERT_TRUE(budgets.ok()) << budgets.error().message;
  EXPECT_EQ(budgets->at("a").amount + budgets->at("b").amount + budgets->at("c").amount, 10'000);
  EXPECT_EQ(budgets->at("c").amount, 3334);
  EXPECT_EQ(budgets->at("a").amount, 3333);
  EXPECT_EQ(budgets->at("a1").amount, 1667);  // 16.665 and 8.3325, the rest 8.3325
  EXPECT_EQ(budgets->at("a2").amount, 833);
  EXPECT_EQ(budgets->at("other").amount, 700);
  EXPECT_EQ(budgets->at("a1").parent, "a");
}

TEST(ReportBudgets, SayWhatIsWrongWithAPart) {
  const std::string file = testing::TempDir() + "report-wrong.csv";
  const auto why = [&](const std::string& rows) {
    std::ofstream(file) << "queue,parent,budget\n" << rows;
    const auto budgets = budgets_of(file, "queue");
    return budgets.ok() ? "accepted" : budgets.error().where + " " + budgets.error().message;
  };
  EXPECT_NE(why("a,,40%\n").find(":2 '40%' of what?"), std::string::npos);
  EXPECT_NE(why("lab,,10\na,lb,40%\n").find("did you mean 'lab'"), std::string::npos);
  EXPECT_NE(why("lab,,10\na,lab,60%\nb,lab,40.001%\n").find("more than 100 %"),
            std::string::npos);
  EXPECT_NE(why("a,b,10%\nb,a,10%\n").find("a parent of itself"), std::string::npos);
  EXPECT_NE(why("lab,,10\na,lab,101%\n").find("is no budget"), std::string::npos);
}

ReportOptions energy_options(std::string price, std::string watts, std::string pue) {
  ReportOptions options;
  options.energy_price = std::move(price);
  options.watts = std::move(watts);
  options.pue = std::move(pue);
  return options;
}

TEST(ReportEnergy, PowerByModelWithTheOverhead) {
  EXPECT_FALSE(energy_of({}).value().has_value());
  const auto energy = energy_of(energy_options("0.25", "h100=700/120.5,60/10", "1.3"));
  ASSERT_TRUE(energy.ok()) << energy.error().message;
  const auto named = (*energy)->of("h100");
  EXPECT_EQ(named->held_milliwatts, 910'000);
  EXPECT_EQ(named->unheld_milliwatts, 156'650);
  EXPECT_EQ((*energy)->of("a100")->held_milliwatts, 78'000);
  const auto only = energy_of(energy_options("0.25", "h100=700/120", ""));
  EXPECT_FALSE((*only)->of("a100"));
  EXPECT_EQ((*only)->of("h100")->held_milliwatts, 700'000);
}

TEST(ReportEnergy, IsNotGuessed) {
  for (const auto& options :
       {energy_options("0.25", "", ""), energy_options("", "700/100", ""),
        energy_options("", "", "1.2"), energy_options("dear", "700/100", ""),
        energy_options("0.25", "700", ""), energy_options("0.25", "100/700", ""),
        energy_options("0.25", "=700/1", ""), energy_options("0.25", "a=7/1,a=7/1", ""),
        energy_options("0.25", "7/1", "0.9")}) {
    EXPECT_FALSE(energy_of(options).ok()) << options.watts;
  }
}

TEST(ReportNumbers, Decimals) {
  EXPECT_EQ(fixed_text(1'234'567, 3), "1,234.567");
  EXPECT_EQ(fixed_text(-5, 2), "-0.05");
  EXPECT_EQ(fixed_text(7, 0), "7");
  EXPECT_EQ(decimal_text(1'250'000, 6), "1.25");
  EXPECT_EQ(decimal_text(0, 6), "0");
  EXPECT_EQ(decimal_text(-1'000'000, 6), "-1");
  EXPECT_EQ(decimal_value(250'000, 6), 0.25);
}

}  // namespace
}  // namespace rota::cli::reports
