// completion, version.
#include <memory>

#include "cli/app.h"
#include "cli/commands/declare.h"
#include "cli/completion.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"

namespace rota::cli {

Runner declare_completion(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("bash|zsh|fish");
  const CLI::App* self = &app;
  return [shell, self, &context](const Parsed&) {
    const CLI::App& root = *self->get_parent();
    if (*shell == "bash") {
      context.out << bash_completion(root);
    } else if (*shell == "zsh") {
      context.out << zsh_completion(root);
    } else if (*shell == "fish") {
      context.out << fish_completion(root);
    } else {
      return report_error(context, {ErrorCode::kInvalidArgument,
                                    "no completion for '" + *shell +
                                        "'; there is bash, zsh and fish"});
    }
    return kExitOk;
  };
}

Runner declare_version(CLI::App& app, Context& context) {
  auto common = add_common(app, OutputFlags::kFormats, "table|json|yaml");
  return [common, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      const auto info = client.server_info();
      const Format format = *common->output.format();
      if (format == Format::kJson || format == Format::kYaml) {
        api::Json json = api::Json::object();
        json["client"] = std::string(kVersion);
        json["daemon"] = info ? api::Json(info->version) : api::Json();
        context.out << (format == Format::kJson ? json_of(json) : yaml_of(json));
        return kExitOk;
      }
      context.out << "rota " << kVersion << "\n";
      if (info) {
        context.out << "daemon " << info->version << " at " << client.where() << "\n";
      } else {
        context.out << "no daemon at " << client.where() << "\n";
      }
      return kExitOk;
    });
  };
}

}  // namespace rota::cli
