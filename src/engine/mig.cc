#include "engine/mig.h"

#include <array>
#include <charconv>

namespace rota::engine {

namespace {

struct Named {
  std::int32_t compute = 0;
  std::int64_t gigabytes = 0;
};

std::optional<Named> parse_name(std::string_view name) {
  if (const auto plus = name.find('+'); plus != std::string_view::npos) {
    name = name.substr(0, plus);
  }
  const auto dot = name.find("g.");
  if (dot == std::string_view::npos || !name.ends_with("gb")) return std::nullopt;
  const std::string_view compute = name.substr(0, dot);
  const std::string_view memory = name.substr(dot + 2, name.size() - dot - 4);
  Named out;
  const auto read = [](std::string_view text, auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value > 0;
  };
  if (!read(compute, out.compute) || !read(memory, out.gigabytes)) return std::nullopt;
  return out;
}

std::optional<MigProfile> geometry_a(std::int32_t compute) {
  switch (compute) {
    case 1: return MigProfile{1, 1, {0, 1, 2, 3, 4, 5, 6}, 7};
    case 2: return MigProfile{2, 2, {0, 2, 4}, 7};
    case 3: return MigProfile{3, 4, {0, 4}, 7};
    case 4: return MigProfile{4, 4, {0}, 7};
    case 7: return MigProfile{7, 8, {0}, 7};
    default: return std::nullopt;
  }
}

std::optional<MigProfile> geometry_b(std::int32_t compute) {
  switch (compute) {
    case 1: return MigProfile{1, 1, {0, 1, 2, 3}, 4};
    case 2: return MigProfile{2, 2, {0, 2}, 4};
    case 4: return MigProfile{4, 4, {0}, 4};
    default: return std::nullopt;
  }
}

/// Vendors round and subtract: the stated size may differ by a fifth from the slices' memory.
bool near(std::int64_t stated_gigabytes, std::int64_t bytes) {
  if (stated_gigabytes > 1'000'000) return false;
  const std::int64_t stated = stated_gigabytes * 1024 * 1024 * 1024;
  return stated * 5 >= bytes * 4 && stated * 5 <= bytes * 6;
}

std::uint8_t mask(std::int32_t start, std::int32_t size) {
  return static_cast<std::uint8_t>(((1U << size) - 1U) << start);
}

std::int32_t starts_left(const MigProfile& profile, std::uint8_t used) {
  std::int32_t left = 0;
  for (const std::int32_t start : profile.starts) {
    left += (used & mask(start, profile.size)) == 0 ? 1 : 0;
  }
  return left;
}

}  // namespace

std::int32_t mig_slices(std::string_view model) { return model == "a30" ? 4 : 8; }

std::int32_t mig_compute_slices(std::string_view name) {
  const auto named = parse_name(name);
  return named ? named->compute : 0;
}

bool is_mig_name(std::string_view name) { return parse_name(name).has_value(); }

std::optional<MigProfile> mig_profile(std::string_view name, std::string_view model,
                                      std::int64_t memory_bytes) {
  const auto named = parse_name(name);
  if (!named) return std::nullopt;
  const bool small = model == "a30";
  auto profile = small ? geometry_b(named->compute) : geometry_a(named->compute);
  if (!profile) return std::nullopt;
  const std::int64_t slices = mig_slices(model);
  if (near(named->gigabytes, memory_bytes * profile->size / slices)) return profile;
  // The 1g profile with double memory exists on geometry A only.
  if (!small && named->compute == 1 && near(named->gigabytes, memory_bytes * 2 / slices)) {
    return MigProfile{1, 2, {0, 2, 4, 6}, 7};
  }
  return std::nullopt;
}

std::optional<std::int32_t> best_mig_start(const MigProfile& profile, std::uint8_t used) {
  constexpr std::array<std::int32_t, 5> kBySize{7, 4, 3, 2, 1};
  std::optional<std::int32_t> best;
  std::array<std::int32_t, 5> best_left{};
  for (const std::int32_t start : profile.starts) {
    if ((used & mask(start, profile.size)) != 0) continue;
    const auto after = static_cast<std::uint8_t>(used | mask(start, profile.size));
    std::array<std::int32_t, 5> left{};
    for (std::size_t i = 0; i < kBySize.size(); ++i) {
      const auto other =
          profile.compute_total == 7 ? geometry_a(kBySize[i]) : geometry_b(kBySize[i]);
      left[i] = other ? starts_left(*other, after) : 0;
    }
    if (!best || left > best_left) {
      best = start;
      best_left = left;
    }
  }
  return best;
}

}  // namespace rota::engine
