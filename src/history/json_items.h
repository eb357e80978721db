// The objects of a long JSON list, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "history/input_text.h"

namespace rota::history {

using Json = nlohmann::json;

/// Gets an item and its number, from 1.
using JsonItemVisitor = std::function<void(const Json& item, std::int64_t number)>;

/// Calls `visit` for each object of the list that stands under `list` in the outermost object, or
/// of an outermost list; for an outermost object without such a list with that object. Several
/// documents may follow one another when each begins a line. Memory: one item, and what else the
/// outermost object holds. Error: kInvalidArgument with file:line:column; also for values nested
/// deeper than 200 and for more than 64 MiB or 4,000,000 values without an item.
[[nodiscard]] Status for_each_json_item(InputText& text, std::string_view list,
                                        const JsonItemVisitor& visit);

/// Gets the name of its list, an item and its number there, from 1.
using JsonListVisitor =
    std::function<void(std::string_view list, const Json& item, std::int64_t number)>;

/// Calls `visit` for each object of all lists of the object that stands under `outer` in the
/// outermost one. Otherwise as for_each_json_item.
[[nodiscard]] Status for_each_json_list(InputText& text, std::string_view outer,
                                        const JsonListVisitor& visit);

/// The value at a path of names, like {"time", "start"}; null when something is missing there.
[[nodiscard]] const Json* json_at(const Json& json, std::initializer_list<const char*> path);
/// The text there; empty when there is none.
[[nodiscard]] std::string_view json_text(const Json& json, std::initializer_list<const char*> path);
/// The text there, or the first of a list of texts.
[[nodiscard]] std::string_view json_first_text(const Json& json,
                                               std::initializer_list<const char*> path);
/// The whole number there; also one in Slurm's later form {"set": true, "infinite": false,
/// "number": 5}, and one in quotes. Absent when it is not set or no number.
[[nodiscard]] std::optional<std::int64_t> json_whole(const Json& json,
                                                     std::initializer_list<const char*> path);
/// Whether the number there is Slurm's "infinite".
[[nodiscard]] bool json_infinite(const Json& json, std::initializer_list<const char*> path);

/// Whether `sample` begins like JSON.
[[nodiscard]] bool looks_like_json(std::string_view sample);
/// Whether `sample` holds this name as a key, in quotes with a colon behind it.
[[nodiscard]] bool has_json_key(std::string_view sample, std::string_view key);

}  // namespace rota::history
