#include "api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace rota::api {
namespace {

const std::filesystem::path kSchemaFolder = ROTA_SOURCE_DIR "/api/v1";

// The types that a file of the schema declares, each at the start of a line.
std::set<std::string> types_declared_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("struct ") && line.ends_with("{")) {
      out.insert(line.substr(7, line.find(' ', 7) - 7));
    }
  }
  return out;
}

TEST(OpenApi, EveryTypeOfTheSchemaFilesIsListed) {
  std::set<std::string> declared;
  for (const auto& entry : std::filesystem::directory_iterator(kSchemaFolder)) {
    declared.merge(types_declared_in(entry.path()));
  }
  const std::vector<std::string> names = schema_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), declared);
}

TEST(OpenApi, TheHeaderOfAllIncludesEverySchemaFile) {
  std::ifstream file(std::string(ROTA_SOURCE_DIR) + "/api/v1.h");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto& entry : std::filesystem::directory_iterator(kSchemaFolder)) {
    const std::string name = entry.path().filename();
    EXPECT_THAT(text.str(), testing::HasSubstr("#include \"api/v1/" + name + "\"\n"));
  }
}

TEST(OpenApi, PropertiesCarryTypeDefaultAndMeaning) {
  const Json schemas = component_schemas();
  const Json& request = schemas["SubmitRequest"]["properties"];
  EXPECT_EQ(request["tasks"]["type"], "integer");
  EXPECT_EQ(request["tasks"]["default"], 1);
  EXPECT_EQ(request["gpus"]["type"], "number");
  EXPECT_EQ(request["env"]["additionalProperties"]["type"], "string");
  EXPECT_EQ(request["params"]["items"]["additionalProperties"]["type"], "string");
  EXPECT_EQ(request["class"]["description"],
            "named bundle of defaults: debug, interactive, free, ...");
  EXPECT_FALSE(schemas["SubmitRequest"].contains("required"));
  EXPECT_EQ(schemas["SubmitRequest"]["additionalProperties"], false);
}

TEST(OpenApi, NestedTypesAreReferencesThatExist) {
  const Json schemas = component_schemas();
  EXPECT_EQ(schemas["JobPage"]["properties"]["jobs"]["items"]["$ref"], "#/components/schemas/Job");
  const std::string text = schemas.dump();
  const std::string mark = "\"#/components/schemas/";
  std::size_t count = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t from = at + mark.size();
    const std::string name = text.substr(from, text.find('"', from) - from);
    EXPECT_TRUE(schemas.contains(name)) << name;
    ++count;
  }
  EXPECT_GE(count, 6U);
}

TEST(OpenApi, RepliesRequireWhatIsNotOptional) {
  const Json schemas = component_schemas();
  std::set<std::string> required;
  for (const Json& name : schemas["Job"]["required"]) required.insert(name.get<std::string>());
  EXPECT_TRUE(required.contains("id"));
  EXPECT_FALSE(required.contains("exit_code"));
}

}  // namespace
}  // namespace rota::api
