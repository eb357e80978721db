#include "base/check.h"

#include <cstdlib>

namespace rota {

namespace {
// Read by a debugger or from a core dump after check() stopped the process.
[[gnu::used]] const char* volatile g_check_what = nullptr;
[[gnu::used]] const char* volatile g_check_file = nullptr;
[[gnu::used]] volatile int g_check_line = 0;
}  // namespace

void check_failed(const char* what, const char* file, int line) {
  g_check_what = what;
  g_check_file = file;
  g_check_line = line;
  std::abort();
}

}  // namespace rota
