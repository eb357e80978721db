#include "backend/local/device_state.h"

#include <gtest/gtest.h>

namespace rota::backend {
namespace {

using telemetry::DeviceHealth;
using telemetry::DeviceReading;

const DeviceKey kDevice{"n1", 3};

class States : public ::testing::Test {
 protected:
  std::vector<DeviceReported> health(DeviceHealth health, std::int64_t xid, int second = 0) {
    DeviceReading reading;
    reading.health = health;
    reading.xid = xid;
    return told([&](Facts& out) {
      states_.health(kDevice, reading, Instant() + Duration::seconds(second), out);
    });
  }
  std::vector<DeviceReported> foreign(const std::vector<ForeignProcess>& use) {
    return told([&](Facts& out) { states_.foreign(kDevice, use, out); });
  }
  std::vector<DeviceReported> held(std::int64_t pid) {
    return told([&](Facts& out) { states_.held(kDevice, pid, out); });
  }
  template <class Do>
  std::vector<DeviceReported> told(Do&& act) {
    Facts facts;
    act(facts);
    std::vector<DeviceReported> result;
    for (const Event& fact : facts) {
      result.push_back(std::get<DeviceReported>(fact));
      EXPECT_EQ(result.back().node, "n1");
      EXPECT_EQ(result.back().device, 3);
    }
    return result;
  }
  DeviceStates states_{Duration::seconds(30)};
};

TEST_F(States, AHealthyDeviceIsNoNews) {
  EXPECT_TRUE(health(DeviceHealth::kOk, 0).empty());
  EXPECT_TRUE(foreign({}).empty());
  EXPECT_TRUE(held(0).empty());
}

TEST_F(States, AFaultIsToldOnceAndItsEndToo) {
  const auto first = health(DeviceHealth::kNeedsReset, 95);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].condition, DeviceCondition::kError);
  EXPECT_EQ(first[0].xid, 95);
  EXPECT_TRUE(health(DeviceHealth::kNeedsReset, 0).empty());
  EXPECT_TRUE(health(DeviceHealth::kNeedsReset, 95).empty());
  EXPECT_EQ(health(DeviceHealth::kLost, 79)[0].xid, 79) << "another fault is news";
  const auto over = health(DeviceHealth::kOk, 0);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].condition, DeviceCondition::kHealthy);
}

TEST_F(States, AnApplicationsFaultIsToldEachTime) {
  EXPECT_EQ(health(DeviceHealth::kOk, 31).size(), 1U);
  EXPECT_TRUE(health(DeviceHealth::kOk, 31).empty()) << "the same event, read again";
  EXPECT_TRUE(health(DeviceHealth::kOk, 0).empty());
  EXPECT_EQ(health(DeviceHealth::kOk, 31).size(), 1U);
  EXPECT_TRUE(health(DeviceHealth::kOk, 43).empty()) << "information only";
}

TEST_F(States, ASuspectDeviceIsGivenTime) {
  EXPECT_TRUE(health(DeviceHealth::kSuspect, 0, 0).empty());
  EXPECT_TRUE(health(DeviceHealth::kSuspect, 0, 29).empty());
  EXPECT_EQ(health(DeviceHealth::kSuspect, 0, 30).size(), 1U);
  EXPECT_EQ(health(DeviceHealth::kOk, 0, 31)[0].condition, DeviceCondition::kHealthy);
  EXPECT_TRUE(health(DeviceHealth::kSuspect, 0, 32).empty()) << "the time starts anew";
}

TEST_F(States, ABrokenDeviceStaysSoWhileNobodyCanTell) {
  health(DeviceHealth::kLost, 0, 0);
  EXPECT_TRUE(health(DeviceHealth::kSuspect, 0, 1).empty());
  EXPECT_EQ(health(DeviceHealth::kOk, 0, 2).size(), 1U);
}

TEST_F(States, TheLargestForeignProcessIsTold) {
  const auto first = foreign({{10, gibibytes(1), "ada"}, {11, gibibytes(12), "eve"}});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].condition, DeviceCondition::kForeign);
  EXPECT_EQ(first[0].pid, 11);
  EXPECT_EQ(first[0].user, "eve");
  EXPECT_EQ(first[0].memory, gibibytes(12));
  EXPECT_TRUE(foreign({{11, gibibytes(12) + mebibytes(255), "eve"}}).empty());
  EXPECT_EQ(foreign({{11, gibibytes(13), "eve"}}).size(), 1U);
  EXPECT_EQ(foreign({{10, gibibytes(13), "ada"}})[0].pid, 10);
  EXPECT_EQ(foreign({})[0].condition, DeviceCondition::kForeignGone);
  EXPECT_TRUE(foreign({}).empty());
}

TEST_F(States, LeftoversHold) {
  EXPECT_EQ(held(77)[0].condition, DeviceCondition::kHeld);
  EXPECT_TRUE(states_.any_held());
  EXPECT_TRUE(held(77).empty());
  EXPECT_EQ(held(0)[0].condition, DeviceCondition::kHeldGone);
  EXPECT_FALSE(states_.any_held());
}

TEST_F(States, AfterARestartEndsAreToldAndFaultsAgain) {
  health(DeviceHealth::kLost, 79);
  foreign({{10, gibibytes(1), "ada"}});
  held(77);
  const std::string saved = states_.save();
  states_ = DeviceStates(Duration::seconds(30));
  states_.load(saved + "rubbish line\n");
  EXPECT_EQ(health(DeviceHealth::kLost, 0).size(), 1U) << "the fact may have been lost";
  EXPECT_TRUE(health(DeviceHealth::kLost, 0).empty());
  EXPECT_EQ(foreign({})[0].condition, DeviceCondition::kForeignGone);
  EXPECT_EQ(held(0)[0].condition, DeviceCondition::kHeldGone);
  states_ = DeviceStates(Duration::seconds(30));
  states_.load(saved);
  EXPECT_EQ(health(DeviceHealth::kOk, 0)[0].condition, DeviceCondition::kHealthy);
  EXPECT_EQ(foreign({{10, gibibytes(1), "ada"}}).size(), 1U);
}

TEST(Activity, TheMeanRoundedUp) {
  EXPECT_EQ(job_activity({{600, true}}), 600);
  EXPECT_EQ(job_activity({{0, true}, {0, true}}), 0);
  EXPECT_EQ(job_activity({{1, true}, {0, true}, {0, true}, {0, true}}), 1) << "any is above 0";
  EXPECT_EQ(job_activity({{1000, true}, {500, true}}), 750);
}

TEST(Activity, WhatCannotBeMeasuredIsAbsent) {
  EXPECT_EQ(job_activity({}), std::nullopt);
  EXPECT_EQ(job_activity({{600, true}, {std::nullopt, true}}), std::nullopt);
  EXPECT_EQ(job_activity({{600, false}}), std::nullopt) << "whose activity is it?";
  EXPECT_EQ(job_activity({{0, false}}), 0) << "nobody's";
}

TEST(Activity, SmallChangesAreNoNews) {
  EXPECT_FALSE(is_material(std::nullopt, std::nullopt));
  EXPECT_TRUE(is_material(std::nullopt, 0));
  EXPECT_TRUE(is_material(500, std::nullopt));
  EXPECT_FALSE(is_material(500, 549));
  EXPECT_TRUE(is_material(500, 550));
  EXPECT_TRUE(is_material(0, 1));
  EXPECT_TRUE(is_material(1, 0));
}

}  // namespace
}  // namespace rota::backend
