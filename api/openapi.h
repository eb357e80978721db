// JSON Schema (draft 2020-12, as OpenAPI 3.1 uses it) of every type of the HTTP schema, made from
// the field declarations in api/v1/. Paths are assembled by the HTTP module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"

namespace rota::api {

/// {"SubmitRequest": {...}, ...}: the value of `components.schemas`, a key each of schema_names().
/// A nested type is a `$ref` to "#/components/schemas/NAME".
[[nodiscard]] Json component_schemas();

/// {"$ref": "#/components/schemas/NAME"}; `name` must be one of schema_names().
[[nodiscard]] Json schema_reference(std::string_view name);

[[nodiscard]] std::vector<std::string> schema_names();

}  // namespace rota::api
