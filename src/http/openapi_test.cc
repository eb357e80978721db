#include <set>

#include <gtest/gtest.h>

#include "api/json.h"
#include "api/openapi.h"
#include "http/message.h"
#include "http/route.h"

namespace rota::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void collect_references(const api::Json& json, std::set<std::string>& out) {
  if (json.is_object() && json.contains("$ref")) out.insert(json["$ref"].get<std::string>());
  if (!json.is_structured()) return;
  for (const auto& child : json) collect_references(child, out);
}

TEST(OpenApi, NamesEveryRouteWithItsSchemas) {
  const auto parsed = api::parse_json(openapi_document("0.1.0"));
  ASSERT_TRUE(parsed.ok());
  const api::Json& document = *parsed;
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "0.1.0");
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  EXPECT_EQ(operations, route_table().size());
  for (const Route& route : route_table()) {
    const api::Json& operation =
        document["paths"][std::string(route.path)][lower(method_name(route.method))];
    EXPECT_EQ(operation["operationId"], std::string(route.operation));
    EXPECT_TRUE(operation["responses"].contains(std::to_string(route.status)));
    EXPECT_EQ(operation.contains("requestBody"), !route.request.empty()) << route.path;
    const bool variable = route.path.find('{') != std::string_view::npos;
    const std::size_t parameters =
        operation.contains("parameters") ? operation["parameters"].size() : 0;
    EXPECT_GE(parameters, route.parameters.size() + (variable ? 1 : 0));
  }
}

TEST(OpenApi, EveryReferenceLeadsToASchema) {
  const api::Json document = *api::parse_json(openapi_document("0.1.0"));
  std::set<std::string> references;
  collect_references(document, references);
  EXPECT_GT(references.size(), 15U);
  for (const std::string& reference : references) {
    const std::string name = reference.substr(reference.rfind('/') + 1);
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << reference;
  }
}

TEST(OpenApi, RoutesAreDistinct) {
  std::set<std::string> operations;
  std::set<std::string> places;
  for (const Route& route : route_table()) {
    EXPECT_TRUE(operations.insert(std::string(route.operation)).second) << route.operation;
    EXPECT_TRUE(places.insert(lower(method_name(route.method)) + std::string(route.path)).second);
    EXPECT_NE(route.handler, nullptr);
  }
}

}  // namespace
}  // namespace rota::http
