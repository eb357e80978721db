// Marks of fields in api/v1/, given behind a field's description: visit(name, field, doc, kTime).
#pragma once

namespace rota::api {

/// Text that is left out of a document while it is empty: unknown, or not applicable.
struct MayLack {};
/// The same for a point in time, ISO-8601 in UTC.
struct TimeMark {};

constexpr MayLack kMayLack;
constexpr TimeMark kTime;

}  // namespace rota::api
