// Any bytes as a connection's input: reader, guard, routing and handlers over a service in memory.
//
// The first byte says how the rest is cut into pieces and through which door it comes. Checked
// beyond "no crash": each request is answered exactly once, with a sane status, and no input gets a
// line break into a header of the answer.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/dispatcher.h"
#include "http/event_stream.h"
#include "http/fake_loop.h"
#include "http/fake_service.h"
#include "http/request_reader.h"
#include "http/sse_parser.h"

namespace {

using namespace rota;
using namespace rota::http;

constexpr const char* kToken = "t";

void require(bool holds) {
  if (!holds) std::abort();
}

struct World {
  FakeService service{FakeService::Mode::kInline};
  std::shared_ptr<FakeLoop> loop = std::make_shared<FakeLoop>();
  Sessions sessions;
  Guard guard{{.token = kToken, .token_owner = {}, .allowed_hosts = {}}, sessions};
  Context context{.service = service,
                  .loop = loop,
                  .guard = guard,
                  .sessions = sessions,
                  .version = "0"};
  Dispatcher dispatcher{context, {}};
};

void check_answer(const Response& response) {
  require(response.status >= 200 && response.status < 600);
  const std::string head = render_head(response, "0", Connection::kKeepAlive);
  std::size_t lines = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\n') ++lines;
    require(head[i] != '\0');
    require(head[i] != '\n' || (i > 0 && head[i - 1] == '\r'));
  }
  // Status line, two of ours, cache, sniffing, connection, the empty line; type and length.
  require(lines <= response.headers.size() + 9);
}

void serve(World& world, const Door& door, Request request) {
  auto admitted = world.guard.admit(door, request, {});
  if (const auto* refused = std::get_if<Response>(&admitted)) return check_answer(*refused);
  int answers = 0;
  std::shared_ptr<EventStream> stream;
  world.dispatcher.handle(std::get<server::Caller>(admitted), std::move(request),
                          [&](const Response& response) {
                            ++answers;
                            check_answer(response);
                            stream = response.stream;
                          });
  world.loop->advance(std::chrono::seconds(61));
  require(answers == 1);
  if (!stream) return;
  stream->start([] {});
  world.service.emit(3);
  world.loop->run();
  SseParser parser;
  while (true) {
    const std::string text = stream->take();
    world.loop->run();
    if (text.empty()) break;
    parser.feed(text);
  }
  stream->stop();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t cut = 1 + data[0] / 2;
  Door door;
  if (data[0] % 2 == 1) door = {.kind = DoorKind::kLoopback, .port = 1};
  World world;
  world.service.log_final = true;
  RequestReader reader({.header_bytes = 4096, .body_bytes = 8192});
  std::string input;
  for (std::size_t at = 1; at < size; at += cut) {
    input.append(reinterpret_cast<const char*>(data) + at, std::min(cut, size - at));
    while (true) {
      const RequestReader::Step step = reader.feed(input);
      if (step == RequestReader::Step::kMore) break;
      if (step == RequestReader::Step::kFailed) {
        check_answer(reader.problem());
        return 0;
      }
      if (step == RequestReader::Step::kHead) continue;
      serve(world, door, reader.take());
    }
    require(input.size() <= 4096 + cut);
  }
  return 0;
}
