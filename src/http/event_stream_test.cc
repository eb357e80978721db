#include "http/event_stream.h"

#include <gtest/gtest.h>

#include "http/fake_loop.h"
#include "http/fake_service.h"
#include "http/sse_parser.h"

namespace rota::http {
namespace {

class EventStreamTest : public ::testing::Test {
 protected:
  std::shared_ptr<EventStream> open(EventStreamOptions options) {
    auto stream = EventStream::open(service_, loop_, {}, std::move(options));
    stream->start([this] { ++wakes_; });
    loop_->run();
    return stream;
  }
  /// Everything the stream gives now.
  std::vector<SseMessage> read(EventStream& stream) {
    std::vector<SseMessage> out;
    while (true) {
      const std::string text = stream.take();
      loop_->run();
      if (text.empty()) {
        const std::string again = stream.take();
        if (again.empty()) return out;
        for (auto& message : parser_.feed(again)) out.push_back(std::move(message));
        continue;
      }
      for (auto& message : parser_.feed(text)) out.push_back(std::move(message));
    }
  }
  static std::vector<std::string> ids(const std::vector<SseMessage>& messages) {
    std::vector<std::string> out;
    for (const SseMessage& message : messages) {
      if (!message.data.empty()) out.push_back(message.id.value_or(""));
    }
    return out;
  }
  static std::vector<std::string> range(int from, int to) {
    std::vector<std::string> out;
    for (int i = from; i <= to; ++i) out.push_back(std::to_string(i));
    return out;
  }

  FakeService service_{FakeService::Mode::kInline};
  std::shared_ptr<FakeLoop> loop_ = std::make_shared<FakeLoop>();
  SseParser parser_;
  int wakes_ = 0;
};

TEST_F(EventStreamTest, FromNowOnlyNewEventsComeAndThePositionIsTold) {
  service_.emit(5);
  const auto stream = open({});
  const auto first = read(*stream);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].id, "5");
  EXPECT_EQ(first[0].data, "");
  service_.emit(2);
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(6, 7));
}

TEST_F(EventStreamTest, AfterAPositionEveryEventComesOnce) {
  service_.emit(1234);
  const auto stream = open({.after_seq = 10, .page_size = 100});
  service_.emit(3);
  EXPECT_EQ(ids(read(*stream)), range(11, 1237));
  service_.emit(1);
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(1238, 1238));
}

TEST_F(EventStreamTest, AnOverflowIsReadFromTheJournal) {
  const auto stream = open({.after_seq = 0, .inbox_max = 8, .page_size = 10});
  read(*stream);
  service_.emit(100);  // the reader sleeps
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(1, 100));
  service_.emit(8);
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(101, 108));
  service_.emit(9);
  service_.emit(9);
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(109, 126));
}

TEST_F(EventStreamTest, WakesOncePerBurst) {
  const auto stream = open({.after_seq = 0});
  read(*stream);
  wakes_ = 0;
  service_.emit(50);
  loop_->run();
  EXPECT_EQ(wakes_, 1);
}

TEST_F(EventStreamTest, OnlyTheJobAskedFor) {
  const auto stream = open({.after_seq = 0, .job = "12"});
  read(*stream);
  service_.emit(1, "12");
  service_.emit(1, "12.3");
  service_.emit(1, "1");
  service_.emit(1, "121");
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(1, 2));
}

TEST_F(EventStreamTest, AnIdleStreamBeats) {
  const auto stream = open({.after_seq = 0, .heartbeat = std::chrono::seconds(15)});
  read(*stream);
  loop_->advance(std::chrono::seconds(14));
  EXPECT_EQ(stream->take(), "");
  loop_->advance(std::chrono::seconds(1));
  EXPECT_EQ(stream->take(), ": still here\n\n");
  loop_->advance(std::chrono::seconds(15));
  EXPECT_EQ(stream->take(), ": still here\n\n");
}

TEST_F(EventStreamTest, APositionAheadOfAllStartsFromNow) {
  service_.emit(3);
  const auto stream = open({.after_seq = 1000});
  EXPECT_TRUE(ids(read(*stream)).empty());
  service_.emit(1);
  loop_->run();
  EXPECT_EQ(ids(read(*stream)), range(4, 4));
}

TEST_F(EventStreamTest, AFailingServiceEndsIt) {
  service_.failure = Error{.code = ErrorCode::kUnavailable, .message = "stopping"};
  const auto stream = open({.after_seq = 0});
  EXPECT_TRUE(read(*stream).empty());
  EXPECT_TRUE(stream->ended());
}

TEST_F(EventStreamTest, StopUnsubscribes) {
  const auto stream = open({});
  EXPECT_EQ(service_.subscribers.size(), 1U);
  stream->stop();
  stream->stop();
  EXPECT_TRUE(service_.subscribers.empty());
  EXPECT_EQ(loop_->timers(), 0U);
  EXPECT_EQ(stream->take(), "");
}

}  // namespace
}  // namespace rota::http
