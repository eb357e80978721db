#include "base/digest.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

template <class... Values>
std::uint64_t digest_of(Values... values) {
  Digest digest;
  (digest.add(values), ...);
  return digest.value();
}

TEST(Digest, DependsOnValuesAndOrder) {
  const std::uint64_t one = 1;
  const std::uint64_t two = 2;
  EXPECT_EQ(digest_of(one, two), digest_of(one, two));
  EXPECT_NE(digest_of(one, two), digest_of(two, one));
  EXPECT_NE(digest_of(one), digest_of(one, std::uint64_t{0}));
}

TEST(Digest, KeepsTextsApart) {
  using std::string_view_literals::operator""sv;
  EXPECT_NE(digest_of("ab"sv, "c"sv), digest_of("a"sv, "bc"sv));
  EXPECT_NE(digest_of(""sv), digest_of());
  EXPECT_NE(digest_of("a"sv), digest_of("b"sv));
}

}  // namespace
}  // namespace rota
