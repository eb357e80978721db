#include "tools/tidy/rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/tidy/code_view.h"

namespace rota::tidy {
namespace {

constexpr const char* kLayers = R"(
rota_module(base PURE)
rota_module(model PURE DEPENDS base)
rota_module(engine PURE DEPENDS model TEST_DEPENDS sim)
rota_module(server DEPENDS engine
  LIBS fmt::fmt)
)";

/// The rules that a text breaks, in line order, as "line:rule line:rule".
std::string rules_of(const std::string& path, const std::string& text) {
  std::string out;
  for (const Finding& finding : check_file({path, text}, read_layers(kLayers))) {
    if (!out.empty()) out += ' ';
    out += std::to_string(finding.line) + ":" + finding.rule;
  }
  return out;
}

TEST(Layers, AreReadAndClosed) {
  const Layers layers = read_layers(kLayers);
  ASSERT_EQ(layers.modules.size(), 4U);
  EXPECT_TRUE(layers.find("engine")->pure);
  EXPECT_FALSE(layers.find("server")->pure);
  EXPECT_EQ(layers.find("server")->depends,
            (std::set<std::string>{"base", "model", "engine", "server"}));
  EXPECT_EQ(layers.find("nothing"), nullptr);
}

TEST(CodeView, BlanksCommentsAndLiterals) {
  const std::string text =
      "a(\"x // y\"); // getenv\n/* b\nc */ d\nR\"(e\nf)\" g 1'000 'h' i\n\"\\\"j\" k\n";
  const std::vector<std::string> code = code_only(split_lines(text));
  ASSERT_EQ(code.size(), 6U);
  EXPECT_TRUE(has_call(code[0], "a"));
  EXPECT_FALSE(has_word(code[0], "getenv"));
  EXPECT_FALSE(has_word(code[1], "b"));
  EXPECT_TRUE(has_word(code[2], "d") && !has_word(code[2], "c"));
  EXPECT_FALSE(has_word(code[3], "e"));
  EXPECT_TRUE(has_word(code[4], "g") && has_word(code[4], "i") && !has_word(code[4], "h"));
  EXPECT_TRUE(has_word(code[5], "k") && !has_word(code[5], "j"));
}

struct Row {
  const char* path;
  std::string text;
  const char* rules;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(rules_of(row.path, row.text), row.rules) << row.path << "\n" << row.text;
  }
}

TEST(Rules, PureModules) {
  expect_rows({
      {"src/engine/a.cc", "auto t = std::chrono::system_clock::now();\n", "1:pure"},
      {"src/server/a.cc", "auto t = std::chrono::system_clock::now();\n", ""},
      {"src/engine/a_test.cc", "auto t = std::chrono::system_clock::now();\n", ""},
      {"src/engine/a.cc", "// reads no system_clock\n", ""},
      {"src/base/a.cc", "int x = time(nullptr);\n", "1:pure"},
      {"src/base/a.cc", "int x = std::time(t);\n", "1:pure"},
      {"src/base/a.cc", "Instant time(Row row);\nrow.time(0);\n", ""},
      {"src/base/a.cc", "int x = rand();\nint operand = random.rand(3);\n", "1:pure"},
      {"src/base/a.cc", "#include <thread>\n#include <vector>\n#include <iostream>\n",
       "1:pure 3:pure"},
      {"src/base/a.cc", "#include <unistd.h>\n#include <nlohmann/json.hpp>\n", "1:pure 2:pure"},
      {"src/base/a.cc", "printf(\"x\");\nsnprintf(b, 3, \"x\");\n", "1:pure"},
      {"src/base/a.cc", "std::fprintf(stderr, \"x\");\n", ""},
      {"src/base/a.cc", "std::fprintf(stdout, \"x\");\n", "1:pure"},
  });
}

TEST(Rules, Layers) {
  expect_rows({
      {"src/engine/a.cc", "#include \"model/job.h\"\n#include \"base/id.h\"\n", ""},
      {"src/model/a.cc", "#include \"engine/engine.h\"\n", "1:layer"},
      {"src/engine/a.h", "#include \"server/server.h\"\n", "1:layer"},
      {"src/engine/a.h", "#include \"other.h\"\n", "1:include-path"},
      {"src/nobody/a.h", "int x;\n", "1:layer"},
      {"src/main.cc", "#include \"server/server.h\"\n", ""},
      {"tests/property/a_test.cc", "#include \"engine/engine.h\"\n", ""},
  });
}

TEST(Rules, IntegersAndHashOrder) {
  expect_rows({
      {"src/engine/a.cc", "double x = 0;\n", "1:integers"},
      {"src/base/units.h", "float x = 0;\n", "1:integers"},
      {"src/base/text.h", "double x = 0;\n", ""},
      {"src/engine/a_test.cc", "double x = 0;\n", ""},
      {"src/engine/a.cc", "#include <unordered_map>\nstd::unordered_map<int, int> m_;\n",
       "2:hash-order"},
      {"src/engine/a.cc", "std::unordered_map<int, int> m_;  // lookup only\n", ""},
      {"src/engine/a.cc",
       "std::unordered_map<int, int> m_;  // lookup only\nfor (auto& x : m_) use(x);\n",
       "2:hash-order"},
      {"src/server/a.cc", "std::unordered_map<int, int> m_;\n", ""},
      {"src/engine/a.cc", "if (simulating) return;\n", "1:one-engine"},
  });
}

TEST(Rules, Text) {
  const std::string leftover = std::string("FIX") + "ME";
  const std::string foreign = std::string("/wo") + "rk/x";
  expect_rows({
      {"README.md", "a\tb\n", "1:tab"},
      {"README.md", "a \n", "1:trailing-space"},
      {"README.md", "a", "1:end-of-file"},
      {"README.md", leftover + " later\n", "1:leftover"},
      {"src/server/a.cc", "mkdtemp(\"/tmp/rota.XXXXXX\");\n", ""},
      {"README.md", "see " + foreign + "\n", "1:foreign-path"},
      {"README.md", "see home" + foreign + "\n", ""},
      {"src/server/a.cc", std::string(101, 'a') + "\n", "1:line-length"},
      {"src/server/a.cc", std::string(100, 'a') + "\n", ""},
      {"README.md", "| " + std::string(120, 'a') + " |\n", ""},
      {"tests/scenarios/a/b.scenario", "# only prose\n\n", "1:empty-scenario"},
      {"tests/scenarios/a/b.scenario", "# prose\ncluster nodes=1\n", ""},
      {"tests/scenarios/a/b.scenario", "", "1:empty-scenario"},
  });
}

TEST(Rules, FileLength) {
  std::string text;
  for (int line = 0; line < 601; ++line) text += "x\n";
  const std::vector<Finding> warned = check_file({"src/server/a.cc", text}, read_layers(kLayers));
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_EQ(warned[0].severity, Severity::kWarning);
  EXPECT_EQ(to_string(warned[0]),
            "src/server/a.cc:601: warning: file-length: 601 lines; split the file soon");
  for (int line = 0; line < 400; ++line) text += "x\n";
  EXPECT_EQ(rules_of("src/server/a.cc", text), "1001:file-length");
}

}  // namespace
}  // namespace rota::tidy
