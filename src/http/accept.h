// Content negotiation, as far as the API needs it.
#pragma once

#include <string_view>

#include "http/message.h"
#include "http/route.h"

namespace rota::http {

/// The client's Accept header (absent: anything) allows an answer of this kind.
bool acceptable(const Request& request, Media media);

/// The client names text/event-stream, and application/json not at a higher quality.
bool prefers_stream(const Request& request);

/// The body's Content-Type is JSON (also merge-patch, and with parameters).
bool is_json_body(const Request& request);

}  // namespace rota::http
