// Result<T>: a value or an Error. Errors name the thing, the rule that was broken and the next
// command to try. A code exists only where a caller reacts differently.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace rota {

enum class ErrorCode {
  kInvalidArgument,  // the request itself is malformed
  kNotFound,         // names an object that does not exist
  kConflict,         // the object's state forbids it now
  kUnsupported,      // understood, but this build or back-end cannot do it
  kRefused,          // against policy, or infeasible on this cluster
  kDenied,           // the caller may not
  kUnavailable,      // try again later; nothing was done
  kTimeout,
  kUnknownResult,    // it may or may not have happened: ask before trying again
  kCorruption,       // stored data fails its check
};

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;
  std::string where = {};  // file:line:column, or a field path; may be empty
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}          // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}      // NOLINT
  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const T& value() const& { ROTA_CHECK(ok()); return std::get<0>(state_); }
  [[nodiscard]] T& value() & { ROTA_CHECK(ok()); return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { ROTA_CHECK(ok()); return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Error& error() const { ROTA_CHECK(!ok()); return std::get<1>(state_); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { ROTA_CHECK(!ok()); return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace rota
