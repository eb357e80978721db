#include "http/server.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "http/connection.h"
#include "http/io_loop.h"
#include "http/listen.h"
#include "http/peer.h"

namespace rota::http {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kAcceptsAtOnce = 64;

std::string too_many(std::string_view version) {
  Response response = problem({.code = ErrorCode::kUnavailable,
                               .message = "too many connections are open; try again"});
  response.headers.emplace_back("Retry-After", "1");
  return render_head(response, version, Connection::kClose) + response.body;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(server::Service& service, ServerOptions options)
      : options_(std::move(options)),
        loop_(std::make_shared<IoLoop>()),
        guard_({.token = options_.token,
                .token_owner = owner(),
                .allowed_hosts = options_.allowed_hosts},
               sessions_),
        context_{.service = service,
                 .loop = loop_,
                 .guard = guard_,
                 .sessions = sessions_,
                 .version = options_.version,
                 .heartbeat = options_.limits.heartbeat},
        dispatcher_(context_, {.answer_time = options_.limits.answer_time,
                               .health_time = options_.limits.health_time}),
        connection_context_{.guard = guard_,
                            .dispatcher = dispatcher_,
                            .limits = options_.limits,
                            .version = options_.version} {}

  ~Impl() { stop(); }

  Status start() {
    if (options_.port && options_.token.empty()) {
      return Error{.code = ErrorCode::kInvalidArgument,
                   .message = "the loopback port needs a token"};
    }
    Status opened = open_doors();
    if (!opened) {
      close_doors();
      doors_.clear();
      return opened;
    }
    work_.emplace(loop_->io().get_executor());
    for (const auto& door : doors_) accept(*door);
    thread_ = std::thread([this] { loop_->io().run(); });
    return {};
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(loop_->io(), [this] {
      close_doors();
      // close() takes a connection out of the table.
      while (!connections_.empty()) connections_.front()->close();
      loop_->close();
      work_.reset();
    });
    thread_.join();
  }

  [[nodiscard]] std::uint16_t port() const { return doors_.empty() ? 0 : port_; }
  [[nodiscard]] std::size_t connections() const { return count_.load(); }

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  using Socket = HttpConnection::Socket;

  struct OpenDoor {
    DoorKind kind;
    asio::generic::stream_protocol protocol;
    Acceptor acceptor;
    asio::steady_timer pause;
  };
  /// Who sits where; the account is -1 where it is not known.
  struct Seat {
    DoorKind door = DoorKind::kUnix;
    std::int64_t uid = -1;
    friend auto operator<=>(const Seat&, const Seat&) = default;
  };
  struct Seats {
    std::size_t of_unix = 0;
    std::size_t of_tcp = 0;
    std::map<Seat, std::size_t> of_user;
  };

  server::Caller owner() {
    server::Caller caller = caller_of({.uid = options_.admin_uid, .gid = -1},
                                      options_.admin_uid, accounts_);
    caller.gid = static_cast<std::int64_t>(::getgid());
    return caller;
  }

  void add_door(DoorKind kind, const asio::generic::stream_protocol& protocol, int descriptor) {
    doors_.push_back(std::make_unique<OpenDoor>(
        OpenDoor{.kind = kind,
                 .protocol = protocol,
                 .acceptor = Acceptor(loop_->io(), protocol, descriptor),
                 .pause = asio::steady_timer(loop_->io())}));
  }

  Status open_doors() {
    if (!options_.socket_path.empty()) {
      const Result<UnixDoor> door = open_unix_door(options_.socket_path);
      if (!door) return door.error();
      unix_door_ = *door;
      add_door(DoorKind::kUnix, asio::local::stream_protocol(), door->descriptor);
    }
    if (!options_.port) return {};
    const Result<TcpDoor> v4 = open_loopback_door(LoopbackFamily::kV4, *options_.port);
    if (!v4) return v4.error();
    port_ = v4->port;
    add_door(DoorKind::kLoopback, asio::ip::tcp::v4(), v4->descriptor);
    return options_.ipv6 ? open_v6() : Status();
  }

  /// "localhost" may mean ::1: another program there would be handed our people's tokens. So a
  /// taken port is an error, unless any port will do and nobody was told this one.
  Status open_v6() {
    const Result<TcpDoor> v6 = open_loopback_door(LoopbackFamily::kV6, port_);
    if (v6) {
      add_door(DoorKind::kLoopback, asio::ip::tcp::v6(), v6->descriptor);
    } else if (v6.error().code == ErrorCode::kConflict && *options_.port != 0) {
      return v6.error();
    }
    return {};
  }

  void close_doors() {
    for (const auto& door : doors_) {
      boost::system::error_code ignored;
      door->acceptor.close(ignored);
      door->pause.cancel();
    }
    if (unix_door_) remove_unix_door(options_.socket_path, *unix_door_);
    unix_door_.reset();
  }

  void accept(OpenDoor& door) {
    door.acceptor.async_wait(Acceptor::wait_read, [this, &door](const boost::system::error_code&) {
      if (!door.acceptor.is_open()) return;
      if (accept_waiting(door)) return accept(door);
      // Out of descriptors, most likely: those in use must go first.
      spdlog::warn("http: cannot accept a connection: {}", std::strerror(errno));
      door.pause.expires_after(kAcceptPause);
      door.pause.async_wait([this, &door](const boost::system::error_code& cancelled) {
        if (!cancelled && door.acceptor.is_open()) accept(door);
      });
    });
  }

  /// By hand, since the descriptor must be closed in every program the daemon starts, from its
  /// first moment on. False: errno says why nobody can be let in.
  bool accept_waiting(OpenDoor& door) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int descriptor = ::accept4(door.acceptor.native_handle(), nullptr, nullptr,
                                       SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (descriptor >= 0) {
        welcome(door, Socket(loop_->io(), door.protocol, descriptor));
      } else if (errno == EAGAIN) {
        return true;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool has_seat(const Seat& seat) const {
    const ServerLimits& limits = options_.limits;
    const bool is_tcp = seat.door == DoorKind::kLoopback;
    const std::size_t all = is_tcp ? limits.tcp_connections : limits.unix_connections;
    const bool trusted = seat.uid == 0 || seat.uid == options_.admin_uid;
    const std::size_t most = trusted ? all - all / 4 : limits.connections_per_user;
    const auto found = seats_.of_user.find(seat);
    const std::size_t own = found == seats_.of_user.end() ? 0 : found->second;
    return (is_tcp ? seats_.of_tcp : seats_.of_unix) < all && own < most;
  }

  void take_seat(const Seat& seat) {
    ++(seat.door == DoorKind::kLoopback ? seats_.of_tcp : seats_.of_unix);
    ++seats_.of_user[seat];
    ++count_;
  }

  void leave_seat(const Seat& seat) {
    --(seat.door == DoorKind::kLoopback ? seats_.of_tcp : seats_.of_unix);
    --count_;
    const auto found = seats_.of_user.find(seat);
    if (--found->second == 0) seats_.of_user.erase(found);
  }

  void welcome(const OpenDoor& open, Socket socket) {
    Door door{.kind = open.kind, .port = port_};
    Seat seat{.door = open.kind};
    boost::system::error_code ignored;
    if (door.kind == DoorKind::kUnix) {
      const std::optional<PeerId> peer = peer_of(socket.native_handle());
      if (!peer) return;
      door.peer = caller_of(*peer, options_.admin_uid, accounts_);
      seat.uid = peer->uid;
    } else {
      seat.uid = loopback_uid(socket.native_handle());
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    socket.non_blocking(true, ignored);
    if (!has_seat(seat)) {
      socket.send(asio::buffer(too_many(options_.version)), 0, ignored);
      return;
    }
    take_seat(seat);
    const auto place = connections_.emplace(connections_.end());
    *place = std::make_shared<HttpConnection>(connection_context_, std::move(socket), door,
                                              [this, place, seat] {
                                                const auto keep = *place;
                                                connections_.erase(place);
                                                leave_seat(seat);
                                              });
    (*place)->start();
  }

  ServerOptions options_;
  Accounts accounts_;
  std::shared_ptr<IoLoop> loop_;
  Sessions sessions_;
  Guard guard_;
  Context context_;
  Dispatcher dispatcher_;
  ConnectionContext connection_context_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::vector<std::unique_ptr<OpenDoor>> doors_;
  std::optional<UnixDoor> unix_door_;
  std::uint16_t port_ = 0;
  std::list<std::shared_ptr<HttpConnection>> connections_;
  Seats seats_;
  std::atomic<std::size_t> count_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(server::Service& service, ServerOptions options)
    : impl_(std::make_unique<Impl>(service, std::move(options))) {}
HttpServer::~HttpServer() = default;

Status HttpServer::start() { return impl_->start(); }
void HttpServer::stop() { impl_->stop(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
std::string HttpServer::url() const {
  return port() == 0 ? "" : fmt::format("http://127.0.0.1:{}", port());
}
std::size_t HttpServer::connections() const { return impl_->connections(); }

}  // namespace rota::http
