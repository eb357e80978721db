#include "api/json.h"

#include <gtest/gtest.h>

#include "api/v1.h"

namespace rota::api {
namespace {

JobSpec full_spec() {
  JobSpec spec;
  spec.shape.task.gpus = MilliGpu(500);
  spec.shape.task.gpu_memory = gibibytes(20);
  spec.shape.models = {"h100", "a100"};
  spec.shape.same = TopologyLevel::kIsland;
  spec.shape.labels = {{"zone", "a"}, {"kind", "x"}};
  spec.queue = "team";
  spec.time_limit = Duration::hours(2);
  spec.deadline = Instant(-5);
  spec.dependencies = {{.kind = DependencyKind::kAfterAny, .job = JobId(3)}};
  spec.group = GroupId(9);
  return spec;
}

TEST(Json, EventComesBackEqual) {
  const ::rota::Event event = JobSubmitted{.job = JobId(7), .spec = full_spec()};
  const std::string text = to_text(event);
  EXPECT_TRUE(text.starts_with(R"({"event":"job_submitted","job":7,"spec":{"shape":)")) << text;
  const Result<::rota::Event> back = from_text<::rota::Event>(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(std::get<JobSubmitted>(*back).spec, full_spec());
  EXPECT_EQ(to_text(*back), text);
}

TEST(Json, AnAlternativeWithAFieldCalledKindComesBack) {
  const ::rota::Event event = AttemptEnded{
      .job = JobId(1), .attempt = 2, .kind = EndKind::kExited, .exit_code = 3, .detail = "x"};
  const Result<::rota::Event> back = from_text<::rota::Event>(to_text(event));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(std::get<AttemptEnded>(*back).kind, EndKind::kExited);
  EXPECT_EQ(std::get<AttemptEnded>(*back).exit_code, 3);
}

TEST(Json, DecisionComesBackEqual) {
  StartAttempt start{.job = JobId(4), .attempt = 1};
  start.allocation.tasks = {{.task = 0, .node = "n1", .devices = {{.device = 2}}, .cpus = 4}};
  const Decision decision = start;
  const Result<Decision> back = from_text<Decision>(to_text(decision));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<StartAttempt>(*back).allocation, start.allocation);
}

TEST(Json, EveryAlternativeOfEventAndDecisionHasAForm) {
  const auto check = [](auto variant) {
    using Variant = decltype(variant);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            const Variant value(std::in_place_index<I>);
            const Result<Variant> back = from_text<Variant>(to_text(value));
            ASSERT_TRUE(back.ok()) << to_text(value);
            EXPECT_EQ(back->index(), I);
            EXPECT_EQ(to_text(*back), to_text(value));
          }(),
          ...);
    }(std::make_index_sequence<std::variant_size_v<Variant>>());
  };
  check(::rota::Event());
  check(Decision());
}

TEST(Json, MissingKeysKeepDefaultsAndAbsentOptionalsAreLeftOut) {
  const Result<SubmitRequest> request = from_text<SubmitRequest>(R"({"argv":["true"],"gpus":2})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->tasks, 1);
  EXPECT_EQ(request->stop_signal, 15);
  EXPECT_DOUBLE_EQ(*request->gpus, 2.0);
  EXPECT_FALSE(to_json(*request).contains("charge"));
  EXPECT_TRUE(from_text<SubmitRequest>(R"({"charge":null})").ok());
}

TEST(Json, AnOptionalThatIsEmptiedStaysEmpty) {
  Policy policy;
  ASSERT_TRUE(policy.quarantine_after.has_value());
  policy.quarantine_after.reset();
  const Result<Policy> back = from_text<Policy>(to_text(policy));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, policy);
  EXPECT_TRUE(to_json(policy)["quarantine_after"].is_null());
}

struct BadCase {
  const char* text;
  const char* where;
  const char* says;
};

TEST(Json, ErrorsNameThePathAndWhatWasExpected) {
  const BadCase cases[] = {
      {R"({"gpu":1})", "gpu", "did you mean 'gpus'?"},
      {R"({"tasks":"two"})", "tasks", "'tasks' must be a whole number, not text"},
      {R"({"tasks":1.5})", "tasks", "not a fraction"},
      {R"({"argv":["a",3]})", "argv[1]", "'argv[1]' must be text"},
      {R"({"env":{"A":{}}})", "env.A", "must be text, not an object"},
      {R"({"held":1})", "held", "must be true or false"},
      {R"({"tasks":18446744073709551615})", "tasks", "must lie between"},
      {R"([1])", "", "the document must be an object, not a list"},
  };
  for (const BadCase& bad : cases) {
    const Result<SubmitRequest> result = from_text<SubmitRequest>(bad.text);
    ASSERT_FALSE(result.ok()) << bad.text;
    EXPECT_EQ(result.error().where, bad.where) << bad.text;
    EXPECT_NE(result.error().message.find(bad.says), std::string::npos) << result.error().message;
  }
}

TEST(Json, UnknownVariantAndEnumNamesAreErrorsWithTheNearestWord) {
  const Result<::rota::Event> event = from_text<::rota::Event>(R"({"event":"job_submited"})");
  ASSERT_FALSE(event.ok());
  EXPECT_NE(event.error().message.find("job_submitted"), std::string::npos);
  const Result<Policy> policy = from_text<Policy>(R"({"backfill":"eazy"})");
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.error().message.find("'easy'"), std::string::npos) << policy.error().message;
  EXPECT_FALSE(from_text<::rota::Event>("{}").ok());
  EXPECT_FALSE(from_text<::rota::Event>("3").ok());
}

TEST(Json, WideNumbersKeepEveryDigit) {
  const Int128 big = Int128{170141183460469231} * 1000000000000000000 + 17;
  for (const Int128 value : {Int128{0}, big, -big}) {
    const Result<Int128> back = from_json<Int128>(to_json(value));
    ASSERT_TRUE(back.ok());
    EXPECT_TRUE(*back == value);
  }
  EXPECT_FALSE(from_text<Int128>("\"999999999999999999999999999999999999999\"").ok());
  EXPECT_FALSE(from_text<Int128>("\"1x\"").ok());
  EXPECT_FALSE(from_text<Int128>("\"\"").ok());
  EXPECT_EQ(from_text<JobId>("18446744073709551615")->value(), ~std::uint64_t{0});
  EXPECT_FALSE(from_text<JobId>("-1").ok());
  EXPECT_FALSE(from_text<std::int32_t>("2147483648").ok());
}

TEST(Json, TextThatIsNotJsonSaysWhereItStops) {
  const Result<Json> json = parse_json(R"({"a": tru})");
  ASSERT_FALSE(json.ok());
  EXPECT_NE(json.error().message.find("byte"), std::string::npos);
}

TEST(Json, BytesThatAreNotTextDoNotBreakWriting) {
  LogChunk chunk;
  chunk.path = "\xff\xfe";
  EXPECT_NE(to_text(chunk).find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(Json, AKeyGivenTwiceIsAnErrorInDocumentsOfOthers) {
  const Result<Json> twice = parse_json_once(R"({"a": {"b": 1}, "c": [{"b": 1, "d": 2, "b": 3}]})");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message, "the key 'b' is given twice in one object; keep one");
  EXPECT_EQ(twice.error().where, "b");
  const Result<Json> once = parse_json_once(R"({"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]})");
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(dump_json(*once), R"({"a":{"b":1},"b":[{"b":1},{"b":2}]})");
  EXPECT_EQ(parse_json_once("{\"a\": ").error().message, parse_json("{\"a\": ").error().message);
}

TEST(Json, ANumberBeyondAllIsSaidToBeOne) {
  for (const auto& parse : {parse_json, parse_json_once}) {
    const Result<Json> big = parse(R"({"gpus": 1e999})");
    ASSERT_FALSE(big.ok());
    EXPECT_EQ(big.error().message,
              "the number '1e999' is larger than any that can be counted with");
  }
}

}  // namespace
}  // namespace rota::api
