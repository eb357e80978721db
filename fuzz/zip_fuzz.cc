// Any bytes as a zip with past jobs in it: opening it gives its one file or an error, reading it
// ends, and what is read goes to the importers like any other text.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "history/read.h"
#include "history/zip_source.h"

namespace {

constexpr std::size_t kUnpackedMax = 4 << 20;  // of a run; keeps bombs from taking its time

std::FILE* file_of(const std::uint8_t* data, std::size_t size) {
  const int place = memfd_create("zip", MFD_CLOEXEC);
  std::FILE* const file = place < 0 ? nullptr : fdopen(place, "w+b");
  if (file == nullptr || std::fwrite(data, 1, size, file) != size) std::abort();
  std::rewind(file);
  return file;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota::history;
  auto source = open_zip(file_of(data, size), "f.zip");
  if (!source) {
    require(!source.error().message.empty());
    return 0;
  }
  std::vector<char> piece(64 * 1024);
  std::string text;
  while (text.size() < kUnpackedMax) {
    const auto got = (*source)->read(piece.data(), piece.size());
    if (!got) {
      require(!got.error().message.empty());
      return 0;
    }
    if (*got == 0) break;
    text.append(piece.data(), *got);
  }
  const auto history = read_history_text(text, "f", {.format = "kai-snapshot", .map = {}});
  require(history.ok() || !history.error().message.empty());
  return 0;
}
