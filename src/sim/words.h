// Events, decisions and states in the words of scenario files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/allocation.h"
#include "model/decision.h"
#include "model/event.h"
#include "model/verdict.h"
#include "report/sentence.h"
#include "sim/scenario.h"

namespace rota::sim {

/// An instant as scenarios write it: "10m30s", "-13h".
std::string instant_words(Instant at);

/// How sentences call this scenario's jobs and instants. Keeps a reference to the scenario.
report::Wording wording_of(const Scenario& scenario);

/// The state as scenarios name it: a starting job is pending, a stopping one running.
std::string_view state_word(JobState state);

/// Nodes of the places, sorted, each once.
std::vector<std::string> nodes_of(const std::vector<TaskPlace>& places);
/// Devices one by one, sorted: `n1:0`, MIG `n1:0@4`, a device once per time slice.
std::vector<std::string> devices_of(const std::vector<TaskPlace>& places);
/// The same with ranges: `n1:0-3`.
std::string devices_words(const std::vector<TaskPlace>& places);

/// `insufficient_free need=4 free=2 short=2`
std::string reason_words(const Reason& reason, const Scenario& scenario);

/// One line of a trace, without its instant.
std::string event_words(const Event& event, const Scenario& scenario);
std::string decision_words(const Decision& decision, const Scenario& scenario);

}  // namespace rota::sim
