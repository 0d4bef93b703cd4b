#include "simulator/runtime/libraries/nccl/rendezvous.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/descriptor.h"
#include "simulator/runtime/libraries/nccl/shared_segment.h"

namespace vramstow::simulator {
namespace {

using Clock = std::chrono::steady_clock;

// The beginning of an id; the rest of its 128 bytes is zero.
struct IdContents {
  char magic[8];
  uint64_t name[2];
};
constexpr char kIdMagic[8] = {'v', 'r', 'a', 'm', 's', 't', 'o', 'w'};
constexpr int kLookMs = 20;

struct Handshake {
  uint64_t magic;
  int32_t rank;
  int32_t ranks;
};
constexpr uint64_t kHelloMagic = 0x6f6c6c65'686c6363;

IdContents ContentsOf(const ncclUniqueId& id) {
  IdContents contents;
  memcpy(&contents, id.internal, sizeof(contents));
  return contents;
}

socklen_t AddressOf(const ncclUniqueId& id, sockaddr_un* address) {
  const IdContents contents = ContentsOf(id);
  *address = {};
  address->sun_family = AF_UNIX;
  // The name of an abstract socket begins with a zero byte.
  const int length =
      snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "vramstow-nccl-%016llx%016llx",
               static_cast<unsigned long long>(contents.name[0]),
               static_cast<unsigned long long>(contents.name[1]));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1) +
         static_cast<socklen_t>(length);
}

bool IsOurUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

// Waits until `socket` is readable. Returns false at the deadline, or if the attempt to connect the
// ranks is aborted.
bool WaitReadable(int socket, const Rendezvous& rendezvous, Clock::time_point deadline) {
  while (Clock::now() < deadline && !rendezvous.given_up()) {
    pollfd entry = {socket, POLLIN, 0};
    if (poll(&entry, 1, kLookMs) > 0) return true;
  }
  return false;
}

// A message of one byte with space for one descriptor. It cannot be moved, because the message
// points into it.
class DescriptorMessage {
 public:
  DescriptorMessage() {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_;
    message_.msg_controllen = sizeof(control_);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  msghdr* message() { return &message_; }
  cmsghdr* header() { return CMSG_FIRSTHDR(&message_); }

 private:
  char byte_ = 1;
  iovec part_ = {&byte_, 1};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int))] = {};
  msghdr message_ = {};
};

void SendMemory(int socket, int memory) {
  DescriptorMessage out;
  cmsghdr* header = out.header();
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &memory, sizeof(int));
  // A rank that has died in the meantime is detected later, when other ranks wait for it.
  sendmsg(socket, out.message(), MSG_NOSIGNAL);
}

int ReceiveMemory(int socket) {
  DescriptorMessage in;
  if (recvmsg(socket, in.message(), MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = in.header();
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int memory = -1;
  memcpy(&memory, CMSG_DATA(header), sizeof(int));
  return memory;
}

int MakeMemory(const Rendezvous& rendezvous, std::string* problem) {
  Descriptor memory(memfd_create("vramstow-nccl", MFD_CLOEXEC));
  if (memory.get() < 0 ||
      !SharedSegment::Initialize(memory.get(), rendezvous.ranks, rendezvous.slot_bytes)) {
    *problem = std::string("no shared memory for a communicator: ") + strerror(errno);
    return -1;
  }
  return memory.Release();
}

std::string Missing(const Rendezvous& rendezvous, size_t there) {
  return std::to_string(there) + " of " + std::to_string(rendezvous.ranks) +
         " ranks of a communicator have come; the others did not within " +
         std::to_string(rendezvous.timeout_ms / 1000) + " s, or were given up.";
}

int Host(const Rendezvous& rendezvous, Clock::time_point deadline, std::string* problem) {
  sockaddr_un address;
  const socklen_t length = AddressOf(rendezvous.id, &address);
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (listener.get() < 0 ||
      bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener.get(), 1024) != 0) {
    *problem = errno == EADDRINUSE
                   ? "two ranks 0 were given the same unique id."
                   : std::string("no socket for a communicator: ") + strerror(errno);
    return -1;
  }
  std::vector<Descriptor> guests;
  std::vector<bool> seen(static_cast<size_t>(rendezvous.ranks), false);
  while (guests.size() + 1 < static_cast<size_t>(rendezvous.ranks)) {
    if (!WaitReadable(listener.get(), rendezvous, deadline)) {
      *problem = Missing(rendezvous, guests.size() + 1);
      return -1;
    }
    Descriptor guest(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Handshake hello = {};
    if (guest.get() < 0 || !IsOurUser(guest.get()) ||
        !WaitReadable(guest.get(), rendezvous, deadline) ||
        recv(guest.get(), &hello, sizeof(hello), 0) != sizeof(hello) ||
        hello.magic != kHelloMagic) {
      continue;
    }
    if (hello.ranks != rendezvous.ranks || hello.rank <= 0 || hello.rank >= rendezvous.ranks ||
        seen[static_cast<size_t>(hello.rank)]) {
      *problem = "rank " + std::to_string(hello.rank) + " of " + std::to_string(hello.ranks) +
                 " came to a communicator of " + std::to_string(rendezvous.ranks) +
                 " ranks, or came twice.";
      return -1;
    }
    seen[static_cast<size_t>(hello.rank)] = true;
    guests.push_back(std::move(guest));
  }
  const int memory = MakeMemory(rendezvous, problem);
  for (const Descriptor& guest : guests) {
    if (memory >= 0) SendMemory(guest.get(), memory);
  }
  return memory;
}

int Visit(const Rendezvous& rendezvous, Clock::time_point deadline, std::string* problem) {
  sockaddr_un address;
  const socklen_t length = AddressOf(rendezvous.id, &address);
  Descriptor connection;
  for (;;) {
    connection = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) break;
    if (Clock::now() > deadline || rendezvous.given_up()) {
      *problem = "rank 0 of a communicator did not come.";
      return -1;
    }
    usleep(2000);
  }
  const Handshake hello = {kHelloMagic, rendezvous.rank, rendezvous.ranks};
  if (!IsOurUser(connection.get()) ||
      send(connection.get(), &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello) ||
      !WaitReadable(connection.get(), rendezvous, deadline)) {
    *problem = Missing(rendezvous, 1);
    return -1;
  }
  const int memory = ReceiveMemory(connection.get());
  if (memory < 0) *problem = "rank 0 of a communicator went away while the others came.";
  return memory;
}

}  // namespace

bool MakeUniqueId(ncclUniqueId* id) {
  IdContents contents = {};
  memcpy(contents.magic, kIdMagic, sizeof(kIdMagic));
  if (getrandom(contents.name, sizeof(contents.name), 0) != sizeof(contents.name)) return false;
  *id = {};
  memcpy(id->internal, &contents, sizeof(contents));
  return true;
}

bool IsUniqueId(const ncclUniqueId& id) {
  return memcmp(id.internal, kIdMagic, sizeof(kIdMagic)) == 0;
}

// Mixes the number and the color into the id with the finishing step of splitmix64 (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, 2014).
ncclUniqueId DeriveUniqueId(const ncclUniqueId& id, uint64_t number, int64_t color) {
  const auto mix = [](uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  };
  IdContents contents = ContentsOf(id);
  contents.name[0] = mix(contents.name[0] + mix(number + 1));
  contents.name[1] = mix(contents.name[1] + mix(static_cast<uint64_t>(color) + contents.name[0]));
  ncclUniqueId derived = {};
  memcpy(derived.internal, &contents, sizeof(contents));
  return derived;
}

int ConnectRanks(const Rendezvous& rendezvous, std::string* problem) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(rendezvous.timeout_ms);
  if (rendezvous.ranks == 1) return MakeMemory(rendezvous, problem);
  return rendezvous.rank == 0 ? Host(rendezvous, deadline, problem)
                              : Visit(rendezvous, deadline, problem);
}

}  // namespace vramstow::simulator
