#include "history/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "history/read.h"

namespace rota::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

JobHistory read(const std::string& text) {
  auto history = read_history_text(text, "jobs.csv", {});
  EXPECT_TRUE(history) << (history ? "" : history.error().message);
  return std::move(*history);
}

TEST(NameColumn, NumbersNamesAsTheyAreMet) {
  const JobHistory history = read(
      "id,user,queue,submit,run,gpus\n1,ann,vision,1,5,1\n2,bob,,2,5,1\n3,ann,ann,3,5,1\n");
  std::vector<std::string> users{""};
  std::vector<std::string> queues{""};
  NameColumn user_column(history, users);
  NameColumn queue_column(history, queues);
  std::vector<std::uint32_t> numbers;
  for (const JobRecord& job : history.jobs()) {
    numbers.push_back(user_column.number(job.user));
    numbers.push_back(queue_column.number(job.queue));
  }
  EXPECT_THAT(numbers, ElementsAre(1, 1, 2, 0, 1, 2));
  EXPECT_THAT(users, ElementsAre("", "ann", "bob"));
  EXPECT_THAT(queues, ElementsAre("", "vision", "ann"));
}

class NodeListsOfRows : public testing::Test {
 protected:
  /// The nodes of each row, by name.
  std::vector<std::vector<std::string>> nodes_of_rows(const std::string& rows) {
    const JobHistory history = read("id,submit,start,end,gpus,nodes\n" + rows);
    NodeLists node_lists(history, names_, lists_);
    std::vector<std::vector<std::string>> out;
    for (const AttemptRecord& attempt : history.attempts()) {
      std::vector<std::string>& row = out.emplace_back();
      for (const std::uint32_t node : lists_[node_lists.number(attempt.nodes)]) {
        row.push_back(names_[node]);
      }
    }
    return out;
  }

  std::vector<std::string> names_{""};
  std::vector<std::vector<std::uint32_t>> lists_{{}};
};

TEST_F(NodeListsOfRows, EveryFormOfAList) {
  EXPECT_THAT(nodes_of_rows("1,1,1,9,2,h[1-2]\n2,2,2,9,2,\"h2,h3\"\n3,3,3,9,2,h3+h1\n"
                            "4,4,4,9,1,h4\n5,5,5,9,1,\n"),
              ElementsAre(ElementsAre("h1", "h2"), ElementsAre("h2", "h3"),
                          ElementsAre("h3", "h1"), ElementsAre("h4"), IsEmpty()));
  EXPECT_THAT(names_, ElementsAre("", "h1", "h2", "h3", "h4"));
}

TEST_F(NodeListsOfRows, WhatIsNoListIsOneNode) {
  EXPECT_THAT(nodes_of_rows("1,1,1,9,2,h[2-1]\n2,2,2,9,2,a++b\n"),
              ElementsAre(ElementsAre("h[2-1]"), ElementsAre("a++b")));
}

TEST_F(NodeListsOfRows, EqualTextsAreOneList) {
  (void)nodes_of_rows("1,1,1,9,2,h[1-2]\n2,2,2,9,2,h[1-2]\n3,3,3,9,1,h1\n");
  EXPECT_EQ(lists_.size(), 3U);
}

}  // namespace
}  // namespace rota::history
