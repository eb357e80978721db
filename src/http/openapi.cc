#include <string>

#include "api/openapi.h"
#include "http/problem.h"
#include "http/route.h"

namespace rota::http {
namespace {

using api::Json;

Json schema_of(ParameterType type) {
  switch (type) {
    case ParameterType::kInteger: return {{"type", "integer"}, {"format", "int64"}};
    case ParameterType::kFlag: return {{"type", "boolean"}};
    case ParameterType::kTextList: return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case ParameterType::kText: break;
  }
  return {{"type", "string"}};
}

Json parameter(std::string_view name, std::string_view place, std::string_view meaning,
               Json schema) {
  Json out = {{"name", std::string(name)},
              {"in", std::string(place)},
              {"description", std::string(meaning)}};
  if (place == "path") out["required"] = true;
  out["schema"] = std::move(schema);
  return out;
}

Json parameters_of(const Route& route) {
  Json out = Json::array();
  const std::size_t open = route.path.find('{');
  if (open != std::string_view::npos) {
    const std::string_view name = route.path.substr(open + 1, route.path.find('}') - open - 1);
    out.push_back(parameter(name, "path",
                            name == "id" ? "number, array member (7.3), or @ for the last one"
                                         : "its name",
                            {{"type", "string"}}));
  }
  for (const Parameter& query : route.parameters) {
    out.push_back(parameter(query.name, "query", query.meaning, schema_of(query.type)));
  }
  const Json text = {{"type", "string"}};
  if (route.operation == "submitJob") {
    out.push_back(parameter("Idempotency-Key", "header",
                            "a repeated submit with this key is one job", text));
  }
  if (route.media == Media::kEvents) {
    out.push_back(parameter("Last-Event-ID", "header", "as after, for streams", text));
  }
  return out;
}

Json content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

Json success_of(const Route& route) {
  Json out = {{"description", std::string(route.summary)}};
  const Json text = {{"type", "string"}};
  if (route.media == Media::kText) {
    out["content"] = content("text/plain", text);
  } else if (!route.reply.empty()) {
    out["content"] = content("application/json", api::schema_reference(route.reply));
    if (route.media == Media::kEvents) {
      out["content"]["text/event-stream"] = {{"schema", text}};
    }
  } else if (route.status == 200) {
    out["content"] = content("application/json", {{"type", "object"}});
  }
  return out;
}

Json operation_of(const Route& route) {
  Json out = {{"operationId", std::string(route.operation)},
              {"summary", std::string(route.summary)}};
  Json parameters = parameters_of(route);
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (!route.request.empty()) {
    out["requestBody"] = {
        {"content", content("application/json", api::schema_reference(route.request))}};
  }
  Json responses;
  responses[std::to_string(route.status)] = success_of(route);
  if (route.operation == "submitJob") {
    responses["200"] = success_of(route);
    responses["200"]["description"] = "the key was known: nothing new was made";
  }
  if (route.operation == "getHealth") {
    responses["503"] = {{"description", "it does not schedule"}};
  }
  if (route.operation == "getHealth" || route.operation == "openSession") {
    out["security"] = Json::array();
  }
  responses["default"] = {
      {"description", "a problem"},
      {"content", content("application/problem+json", api::schema_reference("Problem"))}};
  out["responses"] = std::move(responses);
  return out;
}

std::string method_word(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string openapi_document(std::string_view version) {
  Json document = {{"openapi", "3.1.0"}};
  document["info"] = {{"title", "Rota"},
                      {"version", std::string(version)},
                      {"description",
                       "GPU scheduler. Times are ISO-8601 UTC, durations seconds, GPUs decimals, "
                       "memory bytes; an absent field is unknown or does not apply."},
                      {"license", {{"name", "Apache-2.0"}}}};
  document["security"] = Json::array({Json{{"token", Json::array()}}});
  Json paths = Json::object();
  for (const Route& route : route_table()) {
    paths[std::string(route.path)][method_word(method_name(route.method))] = operation_of(route);
  }
  document["paths"] = std::move(paths);
  document["components"] = {{"schemas", api::component_schemas()}};
  document["components"]["securitySchemes"] = {
      {"token",
       {{"type", "http"},
        {"scheme", "bearer"},
        {"description", "on loopback; over the Unix socket the kernel says who calls"}}}};
  return api::dump_json(document) + "\n";
}

}  // namespace rota::http
