// Stops the process when the program itself is wrong. Always on, also in release builds.
//
// check() is for bugs only: no input, however malformed, may reach a failing check. Input errors
// travel as Result<T> (base/result.h).
#pragma once

namespace rota {

/// Writes nothing; aborts. The message lives in the core dump and in the debugger only, since pure
/// modules have no log. `what` must be a string literal.
[[noreturn]] void check_failed(const char* what, const char* file, int line);

}  // namespace rota

// The macro form keeps file and line without <source_location> in every caller's signature.
#define ROTA_CHECK(condition)                                           \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::rota::check_failed(#condition, __FILE__, __LINE__);             \
  } while (false)
