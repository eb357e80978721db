// Declares the options of each command and gives what it does. One function a command; the table of
// all is cli/commands.cc.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/context.h"

namespace rota::cli {

Runner declare_submit(CLI::App& app, Context& context);
Runner declare_run(CLI::App& app, Context& context);
Runner declare_ls(CLI::App& app, Context& context);
Runner declare_show(CLI::App& app, Context& context);
Runner declare_why(CLI::App& app, Context& context);
Runner declare_history(CLI::App& app, Context& context);
Runner declare_logs(CLI::App& app, Context& context);
Runner declare_wait(CLI::App& app, Context& context);
Runner declare_cancel(CLI::App& app, Context& context);
Runner declare_hold(CLI::App& app, Context& context);
Runner declare_release(CLI::App& app, Context& context);
Runner declare_requeue(CLI::App& app, Context& context);
Runner declare_update(CLI::App& app, Context& context);
Runner declare_redo(CLI::App& app, Context& context);
Runner declare_nodes(CLI::App& app, Context& context);
Runner declare_gpus(CLI::App& app, Context& context);
Runner declare_drain(CLI::App& app, Context& context);
Runner declare_undrain(CLI::App& app, Context& context);
Runner declare_events(CLI::App& app, Context& context);
Runner declare_queue(CLI::App& app, Context& context);
Runner declare_serve(CLI::App& app, Context& context);
Runner declare_stop(CLI::App& app, Context& context);
Runner declare_doctor(CLI::App& app, Context& context);
Runner declare_demo(CLI::App& app, Context& context);
Runner declare_sim(CLI::App& app, Context& context);
Runner declare_replay(CLI::App& app, Context& context);
Runner declare_import(CLI::App& app, Context& context);
Runner declare_audit(CLI::App& app, Context& context);
Runner declare_study(CLI::App& app, Context& context);
Runner declare_study_sharing(CLI::App& app, Context& context);
Runner declare_forecast(CLI::App& app, Context& context);
Runner declare_capacity(CLI::App& app, Context& context);
Runner declare_whatif(CLI::App& app, Context& context);
Runner declare_report(CLI::App& app, Context& context);
Runner declare_completion(CLI::App& app, Context& context);
Runner declare_version(CLI::App& app, Context& context);

}  // namespace rota::cli
