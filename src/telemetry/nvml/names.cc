#include "telemetry/nvml/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <vector>

#include "base/text.h"
#include "telemetry/fake/models.h"

namespace rota::telemetry::nvml {
namespace {

constexpr std::array<std::string_view, 4> kNoise = {"nvidia", "geforce", "tesla", "graphics"};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || std::find(kNoise.begin(), kNoise.end(), word) != kNoise.end();
  });
  return words;
}

}  // namespace

std::string model_of_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  // The longest run of up to three words that is a known model: "rtx pro 6000" before "rtx".
  for (std::size_t length = 3; length >= 1; --length) {
    for (std::size_t i = 0; i + length <= words.size(); ++i) {
      std::string joined;
      for (std::size_t k = i; k < i + length; ++k) joined += words[k];
      if (model_memory(joined)) return joined;
    }
  }
  return join(words, "-");
}

std::string bus_of(const PciInfo& pci) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", pci.domain & 0xFFFFFU,
                pci.bus & 0xFFU, pci.device & 0xFFU);
  return text.data();
}

}  // namespace rota::telemetry::nvml
