#include "api/openapi.h"

#include <tuple>
#include <type_traits>

#include "api/v1.h"

namespace rota::api {
namespace {

// The one list of what travels. A type that is missing here does not compile as a nested field.
template <class T>
struct Named {
  using Type = T;
  std::string_view name;
};
constexpr auto kTypes = std::tuple(
    Named<SubmitRequest>{"SubmitRequest"}, Named<SubmitReply>{"SubmitReply"},
    Named<Reason>{"Reason"}, Named<Verdict>{"Verdict"}, Named<Attempt>{"Attempt"},
    Named<Place>{"Place"}, Named<Job>{"Job"}, Named<JobPage>{"JobPage"},
    Named<UpdateRequest>{"UpdateRequest"}, Named<Preview>{"Preview"}, Named<Device>{"Device"},
    Named<Node>{"Node"}, Named<Queue>{"Queue"}, Named<QueueRequest>{"QueueRequest"},
    Named<Event>{"Event"}, Named<EventPage>{"EventPage"}, Named<LogChunk>{"LogChunk"},
    Named<Server>{"Server"}, Named<Problem>{"Problem"}, Named<NodeList>{"NodeList"},
    Named<DeviceList>{"DeviceList"}, Named<QueueList>{"QueueList"},
    Named<NodeCommandRequest>{"NodeCommandRequest"}, Named<SignalRequest>{"SignalRequest"},
    Named<SessionRequest>{"SessionRequest"});

template <class T>
constexpr std::string_view type_name() {
  std::string_view name;
  std::apply(
      [&](const auto&... types) {
        ((std::is_same_v<typename std::remove_cvref_t<decltype(types)>::Type, T>
              ? void(name = types.name)
              : void()),
         ...);
      },
      kTypes);
  return name;
}

template <class T>
Json schema_of_value() {
  if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}, {"format", "double"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}, {"format", sizeof(T) == 8 ? "int64" : "int32"}};
  } else if constexpr (detail::IsOptional<T>::value) {
    return schema_of_value<typename T::value_type>();
  } else if constexpr (detail::IsVector<T>::value) {
    return {{"type", "array"}, {"items", schema_of_value<typename T::value_type>()}};
  } else if constexpr (detail::IsMap<T>::value) {
    return {{"type", "object"},
            {"additionalProperties", schema_of_value<typename T::mapped_type>()}};
  } else {
    static_assert(!type_name<T>().empty(), "add the type to kTypes");
    return schema_reference(type_name<T>());
  }
}

/// Replies always carry every field that is not optional and may not lack; requests need none.
template <class T>
Json schema_of_fields() {
  constexpr bool is_request = type_name<T>().ends_with("Request");
  T sample{};
  Json properties = Json::object();
  Json required = Json::array();
  T::fields(sample, [&](std::string_view name, auto& field, std::string_view doc, auto... marks) {
    using Field = std::remove_cvref_t<decltype(field)>;
    constexpr bool may_lack = (detail::kLeavesOut<decltype(marks)> || ...);
    Json property = schema_of_value<Field>();
    if constexpr ((std::is_same_v<decltype(marks), TimeMark> || ...)) {
      property["format"] = "date-time";
    }
    property["description"] = std::string(doc);
    if constexpr (is_request && (std::is_arithmetic_v<Field>)) property["default"] = field;
    if constexpr (!is_request && !may_lack && !detail::IsOptional<Field>::value) {
      required.push_back(std::string(name));
    }
    properties[std::string(name)] = std::move(property);
  });
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace

Json component_schemas() {
  Json out = Json::object();
  std::apply(
      [&](const auto&... types) {
        ((out[std::string(types.name)] =
              schema_of_fields<typename std::remove_cvref_t<decltype(types)>::Type>()),
         ...);
      },
      kTypes);
  return out;
}

Json schema_reference(std::string_view name) {
  return {{"$ref", "#/components/schemas/" + std::string(name)}};
}

std::vector<std::string> schema_names() {
  std::vector<std::string> out;
  std::apply([&](const auto&... types) { (out.emplace_back(types.name), ...); }, kTypes);
  return out;
}

}  // namespace rota::api
