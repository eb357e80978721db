// From a parsed command line to a complete request.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/submit_draft.h"

namespace rota::cli {

/// Declares the options of the table that may stand at `places` (kOnSubmit or kOnRun) on `app`.
void declare_submit_options(CLI::App& app, unsigned places);

/// Reads the script when there is one, then applies script, environment and command line, in this
/// order. Error: kInvalidArgument.
[[nodiscard]] Result<Draft> make_draft(const Parsed& parsed, unsigned places,
                                       const Context& context);

/// A name that no other submission has: a retried submit is recognised by it.
[[nodiscard]] std::string make_idempotency_key();

/// An error of the daemon about a field of a request in the command line's terms: "--grace: ..."
/// instead of "grace_seconds: grace_seconds ...". What no option sets stays as it is.
[[nodiscard]] Error in_option_words(Error error);

/// The same with the place in the script that said so, or the option as it was spelled.
[[nodiscard]] Error with_place(Error error, const Draft& draft);

}  // namespace rota::cli
