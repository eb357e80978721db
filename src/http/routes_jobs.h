// Handlers of the calls about jobs; routes.cc lists them.
#pragma once

#include <memory>

#include "http/call.h"

namespace rota::http {

void submit_job(const std::shared_ptr<Call>& call);
void preview_job(const std::shared_ptr<Call>& call);
void list_jobs(const std::shared_ptr<Call>& call);
void show_job(const std::shared_ptr<Call>& call);
void explain_job(const std::shared_ptr<Call>& call);
void show_request(const std::shared_ptr<Call>& call);
void read_log(const std::shared_ptr<Call>& call);
void command_job(const std::shared_ptr<Call>& call);
void signal_job(const std::shared_ptr<Call>& call);
void update_job(const std::shared_ptr<Call>& call);

}  // namespace rota::http
