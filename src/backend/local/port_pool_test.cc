#include "backend/local/port_pool.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "backend/local/shim/system.h"

namespace rota::backend {
namespace {

int listen_on(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  ::listen(fd, 1);
  return fd;
}

TEST(PortPool, PortsAreDifferentFreeAndOutsideTheEphemeralRange) {
  std::string text;
  shim::read_file("/proc/sys/net/ipv4/ip_local_port_range", text);
  const auto range = shim::numbers_in(text);
  PortPool pool;
  std::set<int> ports;
  for (int round = 0; round < 100; ++round) {
    const int port = pool.acquire();
    ASSERT_NE(port, 0);
    EXPECT_TRUE(ports.insert(port).second);
    EXPECT_TRUE(port < range[0] || port > range[1]) << port;
    const int fd = listen_on(port);
    EXPECT_GE(fd, 0) << port;
    ::close(fd);
  }
}

TEST(PortPool, SkipsWhatSomebodyElseUses) {
  PortPool wide;
  const int base = wide.acquire();
  const int fd = listen_on(base);
  ASSERT_GE(fd, 0);
  PortPool pool(base, base);
  EXPECT_EQ(pool.acquire(), 0);
  ::close(fd);
  EXPECT_EQ(pool.acquire(), base);
  EXPECT_EQ(pool.acquire(), 0) << "given out already";
  pool.release(base);
  EXPECT_EQ(pool.acquire(), base);
}

TEST(PortPool, PortsOfAdoptedGangsAreTaken) {
  PortPool wide;
  const int base = wide.acquire();
  PortPool pool(base, base);
  pool.adopt(base);
  pool.adopt(0);
  EXPECT_EQ(pool.acquire(), 0);
}

}  // namespace
}  // namespace rota::backend
