// Handlers of the calls about nodes, devices, queues, events and the daemon itself; routes.cc lists
// them.
#pragma once

#include <memory>

#include "http/call.h"

namespace rota::http {

void list_nodes(const std::shared_ptr<Call>& call);
void command_node(const std::shared_ptr<Call>& call);
void list_devices(const std::shared_ptr<Call>& call);
void list_queues(const std::shared_ptr<Call>& call);
void set_queue(const std::shared_ptr<Call>& call);
void read_events(const std::shared_ptr<Call>& call);
void show_server(const std::shared_ptr<Call>& call);
void open_session(const std::shared_ptr<Call>& call);
void close_session(const std::shared_ptr<Call>& call);
void show_metrics(const std::shared_ptr<Call>& call);
void show_health(const std::shared_ptr<Call>& call);
void show_openapi(const std::shared_ptr<Call>& call);

}  // namespace rota::http
