// ControlSocket serves the clients of this process's control socket.
//
// Idea: one request and one answer per connection, a fixed number of connections, a fixed buffer
// and a deadline for each. A client that is too slow, sends too much or belongs to another user is
// dropped. Only the service thread runs this code, so a client can delay nothing but other clients.
//
// Ownership: the file and its descriptors, until Close. Threads: the service thread; Abandon in a
// forked child. Errors: false from Open, with the reason in `why`. No heap. Units: nanoseconds.
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
  int descriptors[kMaxIpcDescriptors] = {};  // sent with the answer's first byte
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

  // Makes the socket of this process in the folder `chosen`, or in the default one, and removes the
  // sockets of killed processes from that folder.
  bool Open(const char* chosen, char* why, size_t why_size);
  // Removes the file and closes the descriptors. Async-signal-safe.
  void Close();
  // Removes the file only, because the service thread still uses the descriptors.
  // Async-signal-safe.
  void RemoveFile();
  // Closes the descriptors but leaves the file, which belongs to the parent. Called in a forked
  // child; async-signal-safe.
  void Abandon();

  // Fills in the descriptors to wait for, up to 1 + kMaxClients entries. Returns their number.
  int Watch(pollfd* polls) const;
  // Called after poll: accepts clients, reads requests, writes the answers of `verbs`, and drops
  // clients that are too slow.
  void Serve(const pollfd* polls, int count, uint64_t now_ns, const ControlVerbs& verbs);

  const char* path() const { return path_; }
  bool is_open() const { return open_; }

 private:
  static bool Answer(ControlClient* client, const ControlVerbs& verbs);

  // All of these members start as zero, so that they need no room in the core's file.
  bool open_ = false;
  int listener_ = 0;
  char path_[kMaxControlPath] = {};
  Clients<ControlClient, kMaxClients> clients_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_SOCKET_H_
