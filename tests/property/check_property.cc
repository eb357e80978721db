#include "tests/property/check_property.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace rota::property {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

rc::Gen<std::uint32_t> any_number() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 1U << 20));
}

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind,
                   rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 100))),
      rc::gen::set(&Step::n, rc::gen::container<std::array<std::uint32_t, 6>>(any_number())));
}

rc::Gen<Script> any_script() {
  return rc::gen::build<Script>(
      rc::gen::set(&Script::stage,
                   rc::gen::container<std::array<std::uint32_t, 24>>(any_number())),
      rc::gen::set(&Script::steps, rc::gen::container<std::vector<Step>>(any_step())));
}

bool run_once(const std::string& name, const Amount& amount, const Property& property,
              std::uint64_t seed) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = amount.cases;
  params.maxSize = amount.steps;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  const auto gen = any_script();
  const auto result = rc::detail::checkTestable(
      [&] {
        const Script script = *gen;
        const std::string wrong = property(script);
        if (!wrong.empty()) RC_FAIL(wrong);
      },
      metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) return true;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << name << " (ROTA_SEED=" << seed << ")\n" << text.str();
  return false;
}

}  // namespace

std::int64_t soak_seconds() {
  return static_cast<std::int64_t>(number_from("ROTA_SOAK_SECONDS", 0));
}

std::uint64_t first_seed() { return number_from("ROTA_SEED", 1); }

void check_property(const std::string& name, const Amount& amount, const Property& property) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(soak_seconds());
  std::uint64_t seed = first_seed();
  std::int64_t runs = 0;
  do {
    if (!run_once(name, amount, property, seed++)) return;
    ++runs;
  } while (Clock::now() < end);
  std::cout << name << ": " << runs * amount.cases << " scripts\n";
}

}  // namespace rota::property
