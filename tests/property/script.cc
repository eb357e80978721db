#include "tests/property/script.h"

namespace rota::property {

std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << "{" << step.kind << ", {";
  for (const std::uint32_t n : step.n) out << n << ",";
  return out << "}}";
}

std::ostream& operator<<(std::ostream& out, const Script& script) {
  out << "Script{{";
  for (const std::uint32_t n : script.stage) out << n << ",";
  out << "}, {\n";
  for (const Step& step : script.steps) out << "  " << step << ",\n";
  return out << "}}";
}

}  // namespace rota::property
