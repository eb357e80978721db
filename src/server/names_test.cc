#include "server/names.h"

#include <gtest/gtest.h>

namespace rota::server {
namespace {

TEST(Names, WhatChangesTheTextAroundItIsNoPlainText) {
  for (const char* text : {"a\x1b", "a\x7f", "a\xC2\x80", "a\xC2\x9F", "\xE2\x80\xA8",
                           "\xE2\x80\xA9", "x\xE2\x80\xAEy", "\xE2\x80\xAA", "\xE2\x81\xA6",
                           "\xE2\x81\xA9"}) {
    EXPECT_FALSE(is_plain_text(text)) << text;
    EXPECT_FALSE(check_job_name(text).ok());
    EXPECT_FALSE(check_comment(text).ok());
  }
  for (const char* text : {"", "train", "größe 3", "訓練", "\xF0\x9F\x9A\x80", "a\xC2\xA0z"}) {
    EXPECT_TRUE(is_plain_text(text)) << text;
    EXPECT_TRUE(check_job_name(text).ok());
  }
  EXPECT_TRUE(check_comment("two\nlines\tand a tab").ok());
  EXPECT_FALSE(check_job_name("two\nlines").ok());
}

TEST(Names, BlanksAloneAreNoName) {
  for (const char* name : {" ", "   ", "\xC2\xA0", "\xE3\x80\x80 ", "\xE2\x80\x8B"}) {
    EXPECT_FALSE(check_job_name(name).ok()) << "'" << name << "'";
  }
  EXPECT_TRUE(check_job_name(" a ").ok());
  EXPECT_FALSE(check_job_name(std::string(201, 'a')).ok());
}

TEST(Names, ANameThatIsMadeIsPlainAndWhole) {
  EXPECT_EQ(plain_job_name("a\x1b\xC2\x85z"), "a__z");
  EXPECT_EQ(plain_job_name(std::string(199, 'a') + "\xC3\xA4"), std::string(199, 'a'));
  EXPECT_EQ(plain_job_name("\xFFz"), "\xFFz");
}

TEST(Names, QueuesAreWordsInLevels) {
  for (const char* name : {"vision", "team-a", "a.b_c", "research/vision", "R2/d2", ".hidden"}) {
    EXPECT_TRUE(check_queue_name(name).ok()) << name;
  }
  for (const char* name : {"", "../x", "a b", "a/", "/a", "a//b", "..", "a/../b", "-x", "a/-b",
                           "a\x1b", "größe", "a:b"}) {
    EXPECT_FALSE(check_queue_name(name).ok()) << name;
  }
  EXPECT_TRUE(check_queue_name(std::string(128, 'a')).ok());
  EXPECT_FALSE(check_queue_name(std::string(129, 'a')).ok());
}

TEST(Names, AQuotaIsWithinItsLimit) {
  EXPECT_TRUE(check_queue_amounts({.name = "a", .quota = MilliGpu(2000)}).ok());
  EXPECT_TRUE(check_queue_amounts({.name = "a", .quota = kWholeGpu, .limit = kWholeGpu}).ok());
  const Status over =
      check_queue_amounts({.name = "a", .quota = MilliGpu(8000), .limit = MilliGpu(4000)});
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().where, "quota");
}

}  // namespace
}  // namespace rota::server
