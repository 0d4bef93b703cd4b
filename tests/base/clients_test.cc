// Tests the connections of a listening socket in a process that has no descriptors left, or that
// closes descriptors which are not its own.
#include "base/clients.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/local_socket.h"

namespace vramstow {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr int kMaxClients = 4;
using One = Client<64, 64>;

class ClientsTest : public testing::Test {
 protected:
  ClientsTest() {
    char folder[] = "/tmp/vramstow-clients-XXXXXX";
    folder_ = mkdtemp(folder);
    listener_ = MoveDescriptorUp(Listen("ours"));
    clients_->Begin(listener_);
  }
  ~ClientsTest() override {
    clients_->Close(listener_);
    for (const char* const name : {"/ours", "/theirs"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }

  int Listen(const std::string& name) const {
    return ListenLocally((folder_ + "/" + name).c_str(), kMaxClients);
  }

  // Connects to a socket. Returns the descriptor.
  int Connect(const std::string& name) const {
    const sockaddr_un address = LocalAddress((folder_ + "/" + name).c_str());
    const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return descriptor;
  }

  // Does what the owner does in one period, at the time `now_ns`. Returns true if poll waited.
  bool Turn(uint64_t now_ns) {
    pollfd polls[1 + kMaxClients];
    const int count = clients_->Watch(listener_, polls);
    const int ready = poll(polls, static_cast<nfds_t>(count), 0);
    clients_->Serve(
        listener_, polls, count, now_ns, [](int) { return true; }, [](One*) { return false; });
    return ready == 0;
  }

  int Connections() {
    int connections = 0;
    for (int i = 0; i < kMaxClients; ++i) connections += clients_->at(i)->connected ? 1 : 0;
    return connections;
  }

  std::string folder_;
  std::unique_ptr<Clients<One, kMaxClients>> clients_ =
      std::make_unique<Clients<One, kMaxClients>>();
  int listener_ = -1;
};

TEST_F(ClientsTest, AProcessWithoutDescriptorsIsNotAskedAgainAtOnce) {
  const int client = Connect("ours");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  // poll allows no more entries than the limit for descriptors. So it is left out here.
  pollfd polls[1 + kMaxClients];
  int count = clients_->Watch(listener_, polls);
  EXPECT_EQ(polls[0].fd, listener_);
  polls[0].revents = POLLIN;
  const auto serve = [&](uint64_t now_ns) {
    clients_->Serve(
        listener_, polls, count, now_ns, [](int) { return true; }, [](One*) { return false; });
  };
  serve(kSecond);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(Connections(), 0);
  EXPECT_TRUE(Turn(kSecond + 1)) << "poll returns at once, again and again";
  Turn(2 * kSecond);
  EXPECT_FALSE(Turn(2 * kSecond + 1));
  EXPECT_EQ(Connections(), 1);
  EXPECT_GE(clients_->at(0)->descriptor, kLowestDescriptor);
  close(client);
}

TEST_F(ClientsTest, AListenerThatTheProgramHasClosedIsLeftAlone) {
  close(listener_);
  Turn(kSecond);
  EXPECT_TRUE(Turn(kSecond + 1)) << "poll returns at once, again and again";
  EXPECT_TRUE(Turn(9 * kSecond));
}

TEST_F(ClientsTest, ANumberThatTheProgramUsesNowIsLeftToIt) {
  const int theirs = Listen("theirs");
  ASSERT_EQ(dup2(theirs, listener_), listener_);
  const int client = Connect("theirs");
  Turn(kSecond);
  EXPECT_TRUE(Turn(2 * kSecond));
  EXPECT_EQ(Connections(), 0);
  clients_->Close(listener_);
  const int accepted = accept(listener_, nullptr, nullptr);
  EXPECT_GE(accepted, 0) << "the program's client was taken, or its descriptor closed";
  for (const int descriptor : {accepted, client, theirs, listener_}) close(descriptor);
}

}  // namespace
}  // namespace vramstow
