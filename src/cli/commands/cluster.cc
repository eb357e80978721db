// nodes, gpus, drain, undrain, queue ls, queue set, events.
#include <memory>

#include "cli/commands/declare.h"
#include "cli/connect.h"
#include "cli/exit_codes.h"
#include "cli/submission.h"
#include "cli/usage.h"
#include "cli/views.h"
#include "report/words.h"

namespace rota::cli {
namespace {

template <class T>
int print_once(Context& context, http::Client& client, const OutputOptions& output,
               Result<std::vector<T>> (http::Client::*list)(), const ListView<T>& view) {
  const auto items = (client.*list)();
  if (!items) return report_daemon_error(context, client, items.error());
  print_list(context, output, *items, view);
  context.out.flush();
  return kExitOk;
}

template <class T>
Runner declare_list(CLI::App& app, Context& context, Result<std::vector<T>> (http::Client::*list)(),
                    ListView<T> (*view)()) {
  auto wide = std::make_shared<bool>(false);
  auto watch = std::make_shared<bool>(false);
  app.add_flag("-w,--wide", *wide, "the same as -o wide")->group("Output");
  app.add_flag("--watch", *watch, "look again every two seconds; with -o json a line each time")
      ->group("Output");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, wide, watch, list, view, &context](const Parsed&) {
    if (*wide) common->output.format_text = "wide";
    return with_client(context, *common, [&](http::Client& client) {
      const auto once = [&] {
        return print_once(context, client, common->output, list, view());
      };
      return *watch ? cli::watch(context, common->output, once) : once();
    });
  };
}

/// Drains, or takes back: from a drain, from quarantine, or both.
Result<api::Node> change_node(http::Client& client, const std::string& name,
                              const std::string& verb, const std::string& reason) {
  auto node = client.node_command(name, verb, reason);
  if (!node || verb != "undrain" || node->state == "up") return node;
  // `down` is what the machine says, and only it can take that back.
  return node->state == "quarantined" ? client.node_command(name, "recover", reason) : node;
}

enum class NodeVerb { kDrain, kUndrain };

Runner declare_node_verb(CLI::App& app, Context& context, NodeVerb kind) {
  const std::string verb = kind == NodeVerb::kDrain ? "drain" : "undrain";
  auto nodes = std::make_shared<std::vector<std::string>>();
  auto reason = std::make_shared<std::string>();
  if (kind == NodeVerb::kDrain) {
    app.add_option("--reason", *reason, "shown with the node")->type_name("TEXT")->group("What");
  }
  app.add_option("NODE", *nodes, "nodes: n3, n[1-4]")->required()->type_name("");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, nodes, reason, verb, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      int code = kExitOk;
      for (const std::string& text : *nodes) {
        const auto names = expand_names(text);
        if (!names) return report_error(context, names.error());
        for (const std::string& name : *names) {
          const auto node = change_node(client, name, verb, *reason);
          if (!node) return report_daemon_error(context, client, node.error());
          if (verb == "undrain" && node->state != "up") code = kExitFailed;
          print_object(context, common->output, *node, node->name, [&] {
            return "node " + node->name + " is " + node->state +
                   (node->reason.empty() ? "" : " (" + node->reason + ")") +
                   (node->running > 0 ? ", " + report::counted(node->running, "job") + " on it\n"
                                      : "\n");
          });
        }
      }
      return code;
    });
  };
}

struct QueueOptions {
  std::string name, parent, weight, share, quota, limit;
};

/// GPUs, or "none", which takes the amount away.
Status read_amount(const std::string& option, const std::string& text,
                   std::optional<double>& amount, bool& none) {
  if (text.empty()) return {};
  if (text == "none") {
    none = true;
    return {};
  }
  const auto gpus = parse_gpus(text);
  if (!gpus || *gpus < MilliGpu()) {
    return usage_error(option + " '" + text + "': expected a number of GPUs, or none");
  }
  amount = static_cast<double>(gpus->value()) / 1000;
  return {};
}

Result<api::QueueRequest> queue_request(const QueueOptions& options) {
  api::QueueRequest request;
  request.name = options.name;
  if (!options.parent.empty()) request.parent = options.parent;
  std::string weight = options.weight;
  if (!options.share.empty()) {
    if (!weight.empty()) return usage_error("--weight and --share say the same; give one of them");
    weight = options.share.ends_with('%') ? options.share.substr(0, options.share.size() - 1)
                                          : options.share;
  }
  if (!weight.empty()) {
    const auto number = parse_int(weight);
    if (!number || *number < 0 || *number > 1'000'000) {
      return usage_error("--weight '" + weight + "': expected a whole number from 0 to 1000000");
    }
    request.weight = *number;
  }
  if (auto status = read_amount("--quota", options.quota, request.quota, request.no_quota);
      !status) {
    return status.error();
  }
  if (auto status = read_amount("--limit", options.limit, request.limit, request.no_limit);
      !status) {
    return status.error();
  }
  return request;
}

/// The queue that takes jobs itself until it gets its first child; empty: none.
std::string leaf_to_be_parent(http::Client& client, const api::QueueRequest& request) {
  if (!request.parent || request.parent->empty()) return {};
  const auto queues = client.queues();
  if (!queues) return {};
  bool is_there = false;
  for (const api::Queue& queue : *queues) {
    if (queue.parent == *request.parent) return {};
    is_there = is_there || queue.name == *request.parent;
  }
  return is_there ? *request.parent : std::string();
}

Runner declare_queue_set(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueueOptions>();
  const auto add = [&](const char* name, std::string& field, const char* help, const char* type) {
    app.add_option(name, field, help)->type_name(type)->group("Changes");
  };
  add("--parent", options->parent, "the queue above, for a new queue", "NAME");
  add("--weight", options->weight, "part of the parent's GPU time; 0: only leftovers", "N");
  add("--share", options->share, "the same in percent: 35%", "PERCENT");
  add("--quota", options->quota, "GPUs guaranteed at every moment; none", "GPUS");
  add("--limit", options->limit, "hard cap in GPUs; none", "GPUS");
  app.add_option("NAME", options->name, "queue; a new name makes a new queue")
      ->required()
      ->type_name("");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, options, &context](const Parsed&) {
    const auto request = queue_request(*options);
    if (!request) return report_error(context, request.error());
    return with_client(context, *common, [&](http::Client& client) {
      const std::string parent = leaf_to_be_parent(client, *request);
      const auto queue = client.queue_set(*request);
      if (!queue) return report_daemon_error(context, client, in_option_words(queue.error()));
      if (!parent.empty()) {
        print_warnings(context, {"queue " + parent + " takes no jobs itself from now on; they go "
                                 "to " + queue->name});
      }
      print_object(context, common->output, *queue, queue->name, [&] {
        return table_of(context, common->output, std::vector<api::Queue>{*queue}, queue_view());
      });
      return kExitOk;
    });
  };
}

constexpr std::int64_t kLastEvents = 50;

struct EventOptions {
  bool follow = false;
  std::string job;
  std::int64_t after = -1;
  std::int64_t last = -1;  // not given
};

void print_event(Context& context, Format format, const api::Event& event) {
  switch (format) {
    case Format::kJson: context.out << api::to_text(event) << "\n"; break;
    case Format::kYaml: context.out << "---\n" << yaml_of(api::to_json(event)); break;
    case Format::kCsv:
      context.out << csv_of(field_names<api::Event>(), {api::to_json(event)}, false);
      break;
    case Format::kName: context.out << event.seq << "\n"; break;
    case Format::kTable:
    case Format::kWide:
    case Format::kHtml: context.out << event_line(event) << "\n"; break;
  }
  context.out.flush();
}

/// One event a line also in json: a stream has no end.
int print_events(Context& context, http::Client& client, const Common& common,
                 const EventOptions& options) {
  const Format format = *common.output.format();
  if (format == Format::kCsv && !common.output.no_headers) {
    context.out << csv_of(field_names<api::Event>(), {}, true);
  }
  const auto info = client.server_info();
  if (!info) return report_daemon_error(context, client, info.error());
  std::int64_t seen = options.after;
  // Of one job or array all are shown: how far back they lie nobody can know.
  if (seen < 0 && !options.job.empty() && options.last < 0) seen = 0;
  const std::int64_t last = options.last < 0 ? kLastEvents : options.last;
  if (seen < 0) seen = std::max<std::int64_t>(0, info->last_event_seq - last);
  while (true) {
    const auto page =
        client.events({.after_seq = seen, .limit = 1000, .job = options.job});
    if (!page) return report_daemon_error(context, client, page.error());
    for (const api::Event& event : page->events) print_event(context, format, event);
    if (page->events.empty()) break;
    seen = page->events.back().seq;
  }
  if (!options.follow) return kExitOk;
  const auto status = client.follow_events(
      {.after_seq = seen, .job = options.job}, [&](const api::Event& event) {
        print_event(context, format, event);
        return context.out.good() ? http::Follow::kGoOn : http::Follow::kStop;
      });
  return status ? kExitOk : report_daemon_error(context, client, status.error());
}

}  // namespace

Runner declare_nodes(CLI::App& app, Context& context) {
  return declare_list<api::Node>(app, context, &http::Client::nodes, node_view);
}

Runner declare_gpus(CLI::App& app, Context& context) {
  return declare_list<api::Device>(app, context, &http::Client::devices, device_view);
}

Runner declare_drain(CLI::App& app, Context& context) {
  return declare_node_verb(app, context, NodeVerb::kDrain);
}

Runner declare_undrain(CLI::App& app, Context& context) {
  return declare_node_verb(app, context, NodeVerb::kUndrain);
}

Runner declare_queue(CLI::App& app, Context& context) {
  CLI::App* list = app.add_subcommand("ls", "all queues with their shares and use");
  CLI::App* set = app.add_subcommand("set", "make a queue, or change one (administrators)");
  list->set_help_flag();
  set->set_help_flag();
  list->footer(
      "QUOTA is guaranteed at every moment, LIMIT a hard cap. FAIR is how many GPUs the queue\n"
      "may hold by weight and demand, GPUS what it holds. OWED H are the GPU hours it was\n"
      "entitled to and asked for, GOT H what it got of them. With -o wide: USAGE H is what\n"
      "fairness counts now, LOST H what evictions and failures lost, EVICTIONS how many.");
  Runner run_list = declare_list<api::Queue>(*list, context, &http::Client::queues, queue_view);
  Runner run_set = declare_queue_set(*set, context);
  return [run_list, run_set, set](const Parsed& parsed) {
    return set->parsed() ? run_set(parsed) : run_list(parsed);
  };
}

Runner declare_events(CLI::App& app, Context& context) {
  auto options = std::make_shared<EventOptions>();
  app.add_flag("-f,--follow", options->follow, "go on with what comes")->group("Which");
  app.add_option("--job", options->job, "only about this job or array (all of its past)")
      ->type_name("ID")
      ->group("Which");
  app.add_option("--after", options->after, "only after this sequence number")
      ->type_name("SEQ")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000'000'000}).description(""))
      ->group("Which");
  app.add_option("--last", options->last, "look back so many events (default 50)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
      ->group("Which");
  auto common = add_common(app, OutputFlags::kFormats);
  return [common, options, &context](const Parsed&) {
    return with_client(context, *common, [&](http::Client& client) {
      return print_events(context, client, *common, *options);
    });
  };
}

}  // namespace rota::cli
