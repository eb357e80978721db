#include "engine/mig.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace rota::engine {
namespace {

constexpr std::int64_t kGib = 1024LL * 1024 * 1024;
constexpr std::int64_t kA100Memory = 80 * kGib;
constexpr std::int64_t kA30Memory = 24 * kGib;

std::uint8_t mask(const MigProfile& profile, std::int32_t start) {
  return static_cast<std::uint8_t>(((1U << profile.size) - 1U) << start);
}

/// Sets of instances on one device, as pairs of compute slices and start.
using Layout = std::set<std::pair<std::int32_t, std::int32_t>>;

class Enumeration {
 public:
  Enumeration(std::string_view model, std::int64_t memory,
              const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto profile = mig_profile(name, model, memory);
      EXPECT_TRUE(profile.has_value()) << name;
      profiles_.push_back(*profile);
    }
    add({}, 0);
  }
  [[nodiscard]] std::size_t states() const { return states_.size(); }
  [[nodiscard]] std::size_t maximal() const { return maximal_; }

 private:
  void add(const Layout& layout, std::uint8_t used) {
    if (!states_.insert(layout).second) return;
    bool full = true;
    for (const MigProfile& profile : profiles_) {
      for (const std::int32_t start : profile.starts) {
        if ((used & mask(profile, start)) != 0) continue;
        full = false;
        Layout more = layout;
        more.insert({profile.compute, start});
        add(more, used | mask(profile, start));
      }
    }
    maximal_ += full ? 1 : 0;
  }
  std::vector<MigProfile> profiles_;
  std::set<Layout> states_;
  std::size_t maximal_ = 0;
};

TEST(Mig, GeometryAHasAllItsLayouts) {
  const Enumeration all("a100", kA100Memory,
                        {"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"});
  EXPECT_EQ(all.states(), 298u);
  EXPECT_EQ(all.maximal(), 19u);
}

TEST(Mig, GeometryBHasAllItsLayouts) {
  const Enumeration all("a30", kA30Memory, {"1g.6gb", "2g.12gb", "4g.24gb"});
  EXPECT_EQ(all.maximal(), 5u);
}

std::vector<std::int32_t> starts_in_turn(const std::string& name, int count) {
  const auto profile = mig_profile(name, "a100", kA100Memory);
  std::vector<std::int32_t> out;
  std::uint8_t used = 0;
  for (int i = 0; i < count; ++i) {
    const auto start = best_mig_start(*profile, used);
    if (!start) break;
    out.push_back(*start);
    used |= mask(*profile, *start);
  }
  return out;
}

TEST(Mig, SmallInstancesKeepTheLargeOnesPossible) {
  EXPECT_EQ(starts_in_turn("1g.10gb", 3), (std::vector<std::int32_t>{6, 4, 5}));
}

TEST(Mig, ASeventhSmallInstanceFitsAndAnEighthDoesNot) {
  EXPECT_EQ(starts_in_turn("1g.10gb", 9).size(), 7u);
  EXPECT_EQ(starts_in_turn("3g.40gb", 9).size(), 2u);
  EXPECT_EQ(starts_in_turn("4g.40gb", 9), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(starts_in_turn("7g.80gb", 9), (std::vector<std::int32_t>{0}));
}

/// The rule of the rule book, word for word, on every set of used slices.
std::optional<std::int32_t> slow_best(const MigProfile& profile, std::uint8_t used,
                                      const std::vector<MigProfile>& largest_first) {
  std::optional<std::int32_t> best;
  std::vector<int> best_left;
  for (const std::int32_t start : profile.starts) {
    if ((used & mask(profile, start)) != 0) continue;
    std::vector<int> left;
    for (const MigProfile& other : largest_first) {
      int count = 0;
      for (const std::int32_t s : other.starts) {
        count += ((used | mask(profile, start)) & mask(other, s)) == 0 ? 1 : 0;
      }
      left.push_back(count);
    }
    if (!best || left > best_left) {
      best = start;
      best_left = left;
    }
  }
  return best;
}

TEST(Mig, TheBestStartFollowsTheRuleForEverySetOfUsedSlices) {
  std::vector<MigProfile> largest_first;
  for (const char* name : {"7g.80gb", "4g.40gb", "3g.40gb", "2g.20gb", "1g.10gb"}) {
    largest_first.push_back(*mig_profile(name, "a100", kA100Memory));
  }
  for (const MigProfile& profile : largest_first) {
    for (int used = 0; used < 256; ++used) {
      const auto bits = static_cast<std::uint8_t>(used);
      EXPECT_EQ(best_mig_start(profile, bits), slow_best(profile, bits, largest_first));
    }
  }
}

TEST(Mig, NamesAreTakenByTheirFormAndTheDevicesMemory) {
  EXPECT_TRUE(is_mig_name("1g.10gb"));
  EXPECT_TRUE(is_mig_name("1g.10gb+me"));
  for (const char* name : {"", "g.", "1g", "1g.10", "1.10gb", "g.10gb", "1g.gb", "-1g.10gb",
                           "1g.-10gb", "0g.10gb", "1g.10gbx", "99999999999g.10gb",
                           "1g.99999999999999999999gb"}) {
    EXPECT_FALSE(is_mig_name(name)) << name;
  }
  EXPECT_TRUE(mig_profile("1g.5gb", "a100", 40 * kGib));
  EXPECT_TRUE(mig_profile("1g.18gb", "h200", 141 * kGib));
  EXPECT_FALSE(mig_profile("1g.5gb", "a100", kA100Memory));
  EXPECT_FALSE(mig_profile("5g.50gb", "a100", kA100Memory));
  EXPECT_FALSE(mig_profile("1g.9000000000000000000gb", "a100", kA100Memory));
  EXPECT_EQ(mig_profile("1g.20gb", "a100", kA100Memory)->size, 2);
}

}  // namespace
}  // namespace rota::engine
