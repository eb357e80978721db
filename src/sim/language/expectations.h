// `expect` lines: which keys a thing has, how their values are written and compared.
#pragma once

#include <optional>

#include "sim/language/reader.h"

namespace rota::sim {

std::optional<StatementBody> read_expect(const Reader& reader);

}  // namespace rota::sim
