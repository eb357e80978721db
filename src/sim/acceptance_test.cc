// Runs every scenario file below tests/scenarios. ROTA_SCENARIO=text runs only files whose name
// contains the text, and prints their traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "sim/run.h"

namespace rota::sim {
namespace {

std::filesystem::path scenario_folder() {
  const char* source = std::getenv("ROTA_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ROTA_SOURCE_DIR) / "tests/scenarios";
}

std::vector<std::filesystem::path> scenario_files() {
  const char* wanted = std::getenv("ROTA_SCENARIO");
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(scenario_folder())) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scenario_folder())) {
    if (entry.path().extension() != ".scenario") continue;
    const auto name = entry.path().filename().string();
    if (wanted != nullptr && name.find(wanted) == std::string::npos) continue;
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScenarioFile, Passes) {
  std::ifstream file(GetParam());
  std::stringstream text;
  text << file.rdbuf();
  RunOptions options;
  options.trace = std::getenv("ROTA_SCENARIO") != nullptr;
  const auto report = run_scenario_text(text.str(), GetParam().filename().string(), options);
  for (const auto& line : report.trace) std::cout << line << "\n";
  EXPECT_TRUE(report.passed) << report_text(report);
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFile, testing::ValuesIn(scenario_files()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ScenarioFile);

}  // namespace
}  // namespace rota::sim
