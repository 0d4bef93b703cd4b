// The control socket of this process, and its clients.
//
// Idea: one request and one answer per connection, a fixed number of connections, a fixed room and
// a deadline for each. Whoever is too slow, says too much or is another user is dropped. Nobody but
// the service thread is in here, so a client can hold up other clients at most.
//
// Ownership: the file and its descriptors, until Close. Threads: the service thread; Abandon in a
// forked child. Errors: false from Open, and `why` says it. No heap. Units: nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_SOCKET_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_SOCKET_H_

#include <poll.h>

#include <cstddef>
#include <cstdint>

#include "base/clients.h"
#include "base/control.h"
#include "interpose/core/pools/ipc.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

struct ControlClient : Client<kMaxControlRequest, kMaxControlAnswer> {
  int descriptors[kMaxIpcDescriptors] = {};  // that go with the answer's first byte
  int descriptor_count = 0;

  ssize_t SendRest();
  void Release();
};

class ControlSocket {
 public:
  static constexpr int kMaxClients = 8;

  constexpr ControlSocket() = default;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Makes the socket of this process in the folder of `chosen`, or the usual one, and removes there
  // what killed processes left.
  bool Open(const char* chosen, char* why, size_t why_size);
  // Removes the file. Async-signal-safe.
  void Close();
  // In a forked child: the file is the parent's. Async-signal-safe.
  void Abandon();

  // What to wait for: fills in up to 1 + kMaxClients entries, returns how many.
  int Watch(pollfd* polls) const;
  // After poll: takes clients in, reads requests, writes the answers of `verbs`, drops who is too
  // slow.
  void Serve(const pollfd* polls, int count, uint64_t now_ns, const ControlVerbs& verbs);

  const char* path() const { return path_; }
  bool is_open() const { return open_; }

 private:
  static bool Answer(ControlClient* client, const ControlVerbs& verbs);

  // All zero at first, so that the core's data needs no room in its file.
  bool open_ = false;
  int listener_ = 0;
  char path_[kMaxControlPath] = {};
  Clients<ControlClient, kMaxClients> clients_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_SOCKET_H_
